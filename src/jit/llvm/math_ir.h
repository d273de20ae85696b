// jit/llvm/math_ir.h: the vocabulary of jit/math_scalar.h for values that emit LLVM IR.
//
// An Ir<float> stands for an IR value: a float, or a vector of them. Operators append
// instructions at the position of the writer that is in force on this thread.
#pragma once
#include "jit/llvm/emit.h"
#include "jit/math_scalar.h"

namespace umbel::jit::llvm_ir {

/// Where operators of this thread write; `width` 0 stands for scalars.
struct Writer {
    Scope &scope;
    Builder &b;
    uint32_t width;
    Writer *outer;

    Writer(Scope &scope, Builder &b, uint32_t width)
        : scope(scope), b(b), width(width), outer(current()) {
        current() = this;
    }
    ~Writer() { current() = outer; }
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;

    static Writer *&current() {
        thread_local Writer *writer = nullptr;
        return writer;
    }
    llvm::Type *shaped(llvm::Type *t) const {
        return width ? llvm::FixedVectorType::get(t, width) : t;
    }
    llvm::Type *shaped(Type t) const { return shaped(element_type(b.getContext(), t)); }
};

inline Writer &writer() { return *Writer::current(); }
inline Builder &ir() { return writer().b; }

struct Mask {
    Value *v;
};
inline Mask operator&(Mask a, Mask b) { return { ir().CreateAnd(a.v, b.v) }; }
inline Mask operator|(Mask a, Mask b) { return { ir().CreateOr(a.v, b.v) }; }
inline Mask operator!(Mask a) { return { ir().CreateNot(a.v) }; }

/// S: float, double, or an integer type of 32 or 64 bits.
template <class S> struct Ir {
    Value *v;

    explicit Ir(Value *value, std::nullptr_t) : v(value) {}
    Ir(S s) {
        llvm::Type *t = writer().shaped(type_of_v<S>);
        if constexpr (std::is_floating_point_v<S>) {
            // By its bits, so that a NaN keeps its payload.
            using U = std::conditional_t<sizeof(S) == 4, uint32_t, uint64_t>;
            llvm::APInt bits(8 * sizeof(S), std::bit_cast<U>(s));
            v = llvm::ConstantFP::get(t,
                                      llvm::APFloat(t->getScalarType()->getFltSemantics(), bits));
        } else {
            v = llvm::ConstantInt::get(t, uint64_t(s), std::is_signed_v<S>);
        }
    }
};

template <class S> Ir<S> made(Value *v) { return Ir<S>(v, nullptr); }
template <class S> Ir<S> apply(Op op, Ir<S> a, Ir<S> b) {
    return made<S>(emit_elementwise(ir(), op, type_of_v<S>, type_of_v<S>, a.v, b.v, nullptr));
}
template <class S> Ir<S> apply(Op op, Ir<S> a) {
    return made<S>(emit_elementwise(ir(), op, type_of_v<S>, type_of_v<S>, a.v, nullptr, nullptr));
}
template <class S> Mask compare(Op op, Ir<S> a, Ir<S> b) {
    return { emit_elementwise(ir(), op, Type::Bool, type_of_v<S>, a.v, b.v, nullptr) };
}

// Friends would be found by conversions, too; these take any Ir and a scalar on either side.
#define UMBEL_IR_BINARY(symbol, op)                                                                \
    template <class S> Ir<S> operator symbol(Ir<S> a, Ir<S> b) { return apply(Op::op, a, b); }     \
    template <class S> Ir<S> operator symbol(Ir<S> a, std::type_identity_t<S> b) {                 \
        return apply(Op::op, a, Ir<S>(b));                                                         \
    }                                                                                              \
    template <class S> Ir<S> operator symbol(std::type_identity_t<S> a, Ir<S> b) {                 \
        return apply(Op::op, Ir<S>(a), b);                                                         \
    }
UMBEL_IR_BINARY(+, Add)
UMBEL_IR_BINARY(-, Sub)
UMBEL_IR_BINARY(*, Mul)
UMBEL_IR_BINARY(/, Div)
UMBEL_IR_BINARY(&, And)
UMBEL_IR_BINARY(|, Or)
UMBEL_IR_BINARY(^, Xor)
#undef UMBEL_IR_BINARY
template <class S> Ir<S> operator-(Ir<S> a) { return apply(Op::Neg, a); }
template <class S> Ir<S> operator~(Ir<S> a) { return apply(Op::Not, a); }
// Amounts below the width only, so no masking.
template <class S> Ir<S> operator<<(Ir<S> a, int n) {
    return made<S>(ir().CreateShl(a.v, Ir<S>(S(n)).v));
}
template <class S> Ir<S> operator<<(Ir<S> a, Ir<S> n) { return apply(Op::Shl, a, n); }
template <class S> Ir<S> operator>>(Ir<S> a, int n) { return apply(Op::Shr, a, Ir<S>(S(n))); }
template <class S> Ir<S> operator>>(Ir<S> a, Ir<S> n) { return apply(Op::Shr, a, n); }
template <class S> Mask operator<(Ir<S> a, Ir<S> b) { return compare(Op::Lt, a, b); }
template <class S> Mask operator<=(Ir<S> a, Ir<S> b) { return compare(Op::Le, a, b); }
template <class S> Mask operator>(Ir<S> a, Ir<S> b) { return compare(Op::Lt, b, a); }
template <class S> Mask operator>=(Ir<S> a, Ir<S> b) { return compare(Op::Le, b, a); }
template <class S> Mask operator==(Ir<S> a, Ir<S> b) { return compare(Op::Eq, a, b); }
template <class S> Mask operator!=(Ir<S> a, Ir<S> b) { return compare(Op::Ne, a, b); }

template <class S> Ir<S> fma(Ir<S> a, Ir<S> b, Ir<S> c) {
    return made<S>(emit_elementwise(ir(), Op::Fma, type_of_v<S>, type_of_v<S>, a.v, b.v, c.v));
}
template <class S> Ir<S> sqrt(Ir<S> a) { return apply(Op::Sqrt, a); }
template <class S> Ir<S> abs(Ir<S> a) { return apply(Op::Abs, a); }
template <class S> Ir<S> floor(Ir<S> a) { return apply(Op::Floor, a); }
template <class S> Ir<S> trunc(Ir<S> a) { return apply(Op::Trunc, a); }
template <class S> Ir<S> round_even(Ir<S> a) { return apply(Op::Round, a); }
template <class S> Ir<S> min(Ir<S> a, Ir<S> b) { return apply(Op::Min, a, b); }
template <class S> Ir<S> max(Ir<S> a, Ir<S> b) { return apply(Op::Max, a, b); }
template <class S> Ir<S> mul_hi(Ir<S> a, Ir<S> b) { return apply(Op::MulHi, a, b); }
template <class S> Ir<S> select(Mask m, Ir<S> a, Ir<S> b) {
    return made<S>(ir().CreateSelect(m.v, a.v, b.v));
}
inline Mask select(Mask m, Mask a, Mask b) { return { ir().CreateSelect(m.v, a.v, b.v) }; }

inline Ir<double> to_double(Ir<float> a) {
    return made<double>(ir().CreateFPExt(a.v, writer().shaped(Type::F64)));
}
inline Ir<float> to_single(Ir<double> a) {
    return made<float>(ir().CreateFPTrunc(a.v, writer().shaped(Type::F32)));
}
inline Ir<uint32_t> to_bits(Ir<float> a) {
    return made<uint32_t>(ir().CreateBitCast(a.v, writer().shaped(Type::U32)));
}
inline Ir<uint64_t> to_bits(Ir<double> a) {
    return made<uint64_t>(ir().CreateBitCast(a.v, writer().shaped(Type::U64)));
}
template <class F> F from_bits(Ir<uint32_t> a) {
    return made<float>(ir().CreateBitCast(a.v, writer().shaped(Type::F32)));
}
template <class F> F from_bits(Ir<uint64_t> a) {
    return made<double>(ir().CreateBitCast(a.v, writer().shaped(Type::F64)));
}
inline Ir<int32_t> as_signed(Ir<uint32_t> a) { return made<int32_t>(a.v); }
inline Ir<int64_t> as_signed(Ir<uint64_t> a) { return made<int64_t>(a.v); }
inline Ir<uint32_t> as_unsigned(Ir<int32_t> a) { return made<uint32_t>(a.v); }
inline Ir<uint64_t> as_unsigned(Ir<int64_t> a) { return made<uint64_t>(a.v); }

// Lanes out of range get some number, the same at each use: they are discarded.
inline Ir<int32_t> to_int(Ir<float> a) {
    return made<int32_t>(ir().CreateFreeze(ir().CreateFPToSI(a.v, writer().shaped(Type::I32))));
}
inline Ir<int64_t> to_int(Ir<double> a) {
    return made<int64_t>(ir().CreateFreeze(ir().CreateFPToSI(a.v, writer().shaped(Type::I64))));
}
template <class F> F to_float(Ir<int32_t> a) {
    return made<float>(ir().CreateSIToFP(a.v, writer().shaped(Type::F32)));
}
template <class F> F to_float(Ir<int64_t> a) {
    return made<double>(ir().CreateSIToFP(a.v, writer().shaped(Type::F64)));
}

/// Elements of a constant table, which the module gets a copy of (jit/llvm/math.cpp).
Value *emit_lookup(const uint32_t *table, size_t size, Value *index);
template <size_t N> Ir<uint32_t> lookup(const uint32_t (&table)[N], Ir<int32_t> i) {
    return made<uint32_t>(emit_lookup(table, N, i.v));
}
template <size_t N> Ir<uint64_t> lookup(const uint32_t (&table)[N], Ir<int64_t> i) {
    return made<uint64_t>(ir().CreateZExt(emit_lookup(table, N, i.v), writer().shaped(Type::U64)));
}

/// A branch around what no lane needs.
template <class S, class Fn> Ir<S> if_any(Mask m, Ir<S> otherwise, Fn fn) {
    Builder &b = ir();
    llvm::Function *f = b.GetInsertBlock()->getParent();
    Value *any = m.v;
    if (uint32_t w = writer().width)
        any = b.CreateIsNotNull(b.CreateBitCast(any, b.getIntNTy(w)));
    auto *rare = llvm::BasicBlock::Create(b.getContext(), "rare", f);
    auto *after = llvm::BasicBlock::Create(b.getContext(), "usual", f);
    b.CreateCondBr(any, rare, after);
    llvm::BasicBlock *before = b.GetInsertBlock();
    b.SetInsertPoint(rare);
    Value *v = b.CreateSelect(m.v, Ir<S>(fn()).v, otherwise.v);
    llvm::BasicBlock *end = b.GetInsertBlock();
    b.CreateBr(after);
    b.SetInsertPoint(after);
    llvm::PHINode *phi = b.CreatePHI(v->getType(), 2);
    phi->addIncoming(otherwise.v, before);
    phi->addIncoming(v, end);
    return made<S>(phi);
}

} // namespace umbel::jit::llvm_ir

namespace umbel::jit::math {

template <> struct Traits<llvm_ir::Ir<float>> {
    using S = float;
    using I = llvm_ir::Ir<int32_t>;
    using U = llvm_ir::Ir<uint32_t>;
    using M = llvm_ir::Mask;
};
template <> struct Traits<llvm_ir::Ir<double>> {
    using S = double;
    using I = llvm_ir::Ir<int64_t>;
    using U = llvm_ir::Ir<uint64_t>;
    using M = llvm_ir::Mask;
};

} // namespace umbel::jit::math
