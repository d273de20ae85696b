// jit/llvm/arith.cpp: element-wise operations, on scalars and vectors alike, to the letter of op.h.
#include "jit/llvm/emit.h"
#include <cmath>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

namespace umbel::jit::llvm_ir {

namespace {

using llvm::Intrinsic::ID;

/// The same shape (scalar or vector) with another element.
llvm::Type *shaped(Value *like, llvm::Type *element) {
    if (auto *v = llvm::dyn_cast<llvm::VectorType>(like->getType()))
        return llvm::VectorType::get(element, v->getElementCount());
    return element;
}

llvm::Type *shaped(Value *like, Type t) {
    return shaped(like, element_type(like->getContext(), t));
}

Value *integer(Value *like, uint64_t v) { return llvm::ConstantInt::get(like->getType(), v); }
Value *number(Value *like, double v) { return llvm::ConstantFP::get(like->getType(), v); }

Value *less(Builder &b, Type t, Value *a, Value *c) {
    return is_float(t)    ? b.CreateFCmpOLT(a, c)
           : is_signed(t) ? b.CreateICmpSLT(a, c)
                          : b.CreateICmpULT(a, c);
}

Value *minimum(Builder &b, Type t, Value *a, Value *c) {
    return b.CreateSelect(less(b, t, a, c), a, c);
}
Value *maximum(Builder &b, Type t, Value *a, Value *c) {
    return b.CreateSelect(less(b, t, c, a), a, c);
}

/// Two integers to the float that represents them exactly, divided, and back: vector units divide
/// no integers. Exact because the quotient of b-bit integers is further than 2^-(b+1), relatively,
/// from the next integer above it. The divisor is neither 0 nor -1.
Value *divide_through_float(Builder &b, Type t, Value *a, Value *c) {
    llvm::Type *f = shaped(a, bits(t) == 32 ? Type::F64 : Type::F32), *i = a->getType();
    // Narrow types go through i32, which has conversions of its own.
    if (bits(t) < 32) {
        llvm::Type *i32 = shaped(a, Type::I32);
        a = b.CreateIntCast(a, i32, is_signed(t));
        c = b.CreateIntCast(c, i32, is_signed(t));
        Value *q = b.CreateFDiv(b.CreateSIToFP(a, f), b.CreateSIToFP(c, f));
        return b.CreateTrunc(b.CreateFPToSI(q, i32), i);
    }
    if (is_signed(t))
        return b.CreateFPToSI(b.CreateFDiv(b.CreateSIToFP(a, f), b.CreateSIToFP(c, f)), i);
    return b.CreateFPToUI(b.CreateFDiv(b.CreateUIToFP(a, f), b.CreateUIToFP(c, f)), i);
}

Value *divide(Builder &b, Type t, Value *a, Value *c) {
    Value *ones = integer(a, ~0ull);
    llvm::Constant *literal = llvm::dyn_cast<llvm::Constant>(c);
    if (literal && literal->getType()->isVectorTy())
        literal = literal->getSplatValue();
    if (auto *n = llvm::dyn_cast_or_null<llvm::ConstantInt>(literal)) {
        // LLVM turns a division by a constant into a multiplication.
        if (n->isZero())
            return ones;
        if (is_signed(t) && n->isMinusOne())
            return b.CreateNeg(a);
        return is_signed(t) ? b.CreateSDiv(a, c) : b.CreateUDiv(a, c);
    }
    Value *by_zero = b.CreateICmpEQ(c, integer(c, 0)), *bad = by_zero, *negated = nullptr;
    if (is_signed(t)) {
        negated = b.CreateICmpEQ(c, ones);
        bad = b.CreateOr(by_zero, negated);
    }
    Value *d = b.CreateSelect(bad, integer(c, 1), c);
    bool scalar = !a->getType()->isVectorTy();
    Value *q = !scalar && bits(t) < 64 ? divide_through_float(b, t, a, d)
               : is_signed(t)          ? b.CreateSDiv(a, d)
                                       : b.CreateUDiv(a, d);
    if (negated)
        q = b.CreateSelect(negated, b.CreateNeg(a), q);
    return b.CreateSelect(by_zero, ones, q);
}

Value *multiply_high(Builder &b, Type t, Value *a, Value *c) {
    unsigned n = unsigned(bits(t));
    if (n < 64) {
        llvm::Type *wide = shaped(a, n == 32 ? Type::I64 : Type::I32);
        Value *p = b.CreateMul(b.CreateIntCast(a, wide, is_signed(t)),
                               b.CreateIntCast(c, wide, is_signed(t)));
        return b.CreateTrunc(b.CreateLShr(p, integer(p, n)), a->getType());
    }
    // By halves: (ah 2^32 + al) (ch 2^32 + cl)
    Value *low = integer(a, 0xffffffffu), *s = integer(a, 32);
    Value *al = b.CreateAnd(a, low), *ah = b.CreateLShr(a, s);
    Value *cl = b.CreateAnd(c, low), *ch = b.CreateLShr(c, s);
    Value *ll = b.CreateMul(al, cl), *lh = b.CreateMul(al, ch), *hl = b.CreateMul(ah, cl);
    Value *middle =
        b.CreateAdd(b.CreateLShr(ll, s), b.CreateAdd(b.CreateAnd(lh, low), b.CreateAnd(hl, low)));
    Value *high =
        b.CreateAdd(b.CreateMul(ah, ch), b.CreateAdd(b.CreateLShr(lh, s), b.CreateLShr(hl, s)));
    high = b.CreateAdd(high, b.CreateLShr(middle, s));
    if (is_signed(t)) {
        Value *sign = integer(a, 63);
        high = b.CreateSub(high, b.CreateAnd(b.CreateAShr(a, sign), c));
        high = b.CreateSub(high, b.CreateAnd(b.CreateAShr(c, sign), a));
    }
    return high;
}

// ---- Casts

/// f64 to f16 in one rounding: through an f32 rounded to odd, which keeps what the second needs.
Value *narrow_to_half(Builder &b, Value *a) {
    Value *f = b.CreateFPTrunc(a, shaped(a, Type::F32));
    Value *back = b.CreateFPExt(f, a->getType());
    Value *i = b.CreateBitCast(f, shaped(a, Type::I32));
    Value *exact_or_odd =
        b.CreateOr(b.CreateFCmpUEQ(back, a), b.CreateTrunc(i, shaped(a, Type::Bool)));
    Value *above = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                   b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a));
    Value *odd =
        b.CreateSelect(above, b.CreateSub(i, integer(i, 1)), b.CreateAdd(i, integer(i, 1)));
    i = b.CreateSelect(exact_or_odd, i, odd);
    return b.CreateFPTrunc(b.CreateBitCast(i, f->getType()), shaped(a, Type::F16));
}

/// Saturating; NaN gives 0. LLVM's own conversion is undefined outside the range, hence the clamps.
Value *float_to_int(Builder &b, Type t, Type from, Value *a) {
    if (from == Type::F16) {
        a = b.CreateFPExt(a, shaped(a, Type::F32));
        from = Type::F32;
    }
    unsigned n = unsigned(bits(t));
    bool sign = is_signed(t);
    double low = sign ? -std::ldexp(1.0, int(n) - 1) : 0, high = std::ldexp(1.0, int(n) - sign);
    Value *nan = sign ? b.CreateFCmpUNO(a, a) : nullptr; // unsigned: the lower clamp makes it 0
    Value *clamped = maximum(b, from, a, number(a, low));
    Value *r;
    if (n < 32) {
        clamped = minimum(b, from, clamped, number(a, high - 1));
        r = b.CreateTrunc(b.CreateFPToSI(clamped, shaped(a, Type::I32)), shaped(a, t));
    } else {
        llvm::Type *i = shaped(a, t);
        r = sign ? b.CreateFPToSI(clamped, i) : b.CreateFPToUI(clamped, i);
        uint64_t most = sign ? (1ull << (n - 1)) - 1 : ~0ull >> (64 - n);
        r = b.CreateSelect(b.CreateFCmpOGE(a, number(a, high)), integer(r, most), r);
    }
    return nan ? b.CreateSelect(nan, llvm::Constant::getNullValue(r->getType()), r) : r;
}

Value *cast(Builder &b, Type t, Type from, Value *a) {
    llvm::Type *to = shaped(a, t);
    if (t == from)
        return a;
    if (t == Type::Bool)
        return is_float(from) ? b.CreateFCmpUNE(a, number(a, 0)) : b.CreateICmpNE(a, integer(a, 0));
    if (is_float(from)) {
        if (!is_float(t))
            return float_to_int(b, t, from, a);
        if (from == Type::F64 && t == Type::F16)
            return narrow_to_half(b, a);
        return b.CreateFPCast(a, to);
    }
    if (is_float(t)) {
        // f16 through f32: integers that f32 would round are all beyond the largest f16.
        llvm::Type *f = t == Type::F16 ? shaped(a, Type::F32) : to;
        if (from == Type::Bool)
            return b.CreateSelect(a, llvm::ConstantFP::get(to, 1), llvm::ConstantFP::get(to, 0));
        return b.CreateFPCast(is_signed(from) ? b.CreateSIToFP(a, f) : b.CreateUIToFP(a, f), to);
    }
    return from == Type::Bool ? widen_mask(b, a, to) : b.CreateIntCast(a, to, is_signed(from));
}

Value *bitcast(Builder &b, Type t, Type from, Value *a) {
    if (t == Type::Ptr && from != Type::Ptr)
        return b.CreateIntToPtr(b.CreateBitCast(a, shaped(a, Type::U64)), shaped(a, t));
    if (from == Type::Ptr && t != Type::Ptr)
        return b.CreateBitCast(b.CreatePtrToInt(a, shaped(a, Type::U64)), shaped(a, t));
    return b.CreateBitCast(a, shaped(a, t));
}

Value *compare(Builder &b, Op op, Type from, Value *a, Value *c) {
    if (is_float(from))
        return op == Op::Eq   ? b.CreateFCmpOEQ(a, c)
               : op == Op::Ne ? b.CreateFCmpUNE(a, c)
               : op == Op::Lt ? b.CreateFCmpOLT(a, c)
                              : b.CreateFCmpOLE(a, c);
    if (from == Type::Bool)
        return op == Op::Eq ? b.CreateNot(b.CreateXor(a, c)) : b.CreateXor(a, c);
    if (op == Op::Eq)
        return b.CreateICmpEQ(a, c);
    if (op == Op::Ne)
        return b.CreateICmpNE(a, c);
    if (op == Op::Lt)
        return less(b, from, a, c);
    return is_signed(from) ? b.CreateICmpSLE(a, c) : b.CreateICmpULE(a, c);
}

// ---- By class of type

Value *float_op(Builder &b, Op op, Type t, Value *a, Value *c, Value *d) {
    auto intrinsic = [&](ID id) { return b.CreateUnaryIntrinsic(id, a); };
    switch (op) {
    case Op::Neg: return b.CreateFNeg(a);
    case Op::Abs: return intrinsic(llvm::Intrinsic::fabs);
    case Op::Sqrt: return intrinsic(llvm::Intrinsic::sqrt);
    case Op::Rcp: return b.CreateFDiv(number(a, 1), a);
    case Op::Rsqrt: return b.CreateFDiv(number(a, 1), intrinsic(llvm::Intrinsic::sqrt));
    case Op::Floor: return intrinsic(llvm::Intrinsic::floor);
    case Op::Ceil: return intrinsic(llvm::Intrinsic::ceil);
    case Op::Trunc: return intrinsic(llvm::Intrinsic::trunc);
    case Op::Round: return intrinsic(llvm::Intrinsic::nearbyint);
    case Op::Add: return b.CreateFAdd(a, c);
    case Op::Sub: return b.CreateFSub(a, c);
    case Op::Mul: return b.CreateFMul(a, c);
    case Op::Div: return b.CreateFDiv(a, c);
    case Op::Min: return minimum(b, t, a, c);
    case Op::Max: return maximum(b, t, a, c);
    case Op::Fma: return b.CreateIntrinsic(a->getType(), llvm::Intrinsic::fma, { a, c, d });
    default: return nullptr;
    }
}

Value *int_op(Builder &b, Op op, Type t, Value *a, Value *c, Value *d) {
    Value *top = t == Type::Bool ? nullptr : integer(a, bits(t) - 1); // shifts: modulo the width
    auto funnel = [&](ID id) { return b.CreateIntrinsic(a->getType(), id, { a, a, c }); };
    auto count = [&](ID id) { return b.CreateIntrinsic(a->getType(), id, { a, b.getFalse() }); };
    switch (op) {
    case Op::Neg: return b.CreateNeg(a);
    case Op::Abs: return is_signed(t) ? count(llvm::Intrinsic::abs) : a;
    case Op::Not: return b.CreateNot(a);
    case Op::Popcount: return b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a);
    case Op::Clz: return count(llvm::Intrinsic::ctlz);
    case Op::Ctz: return count(llvm::Intrinsic::cttz);
    case Op::Add: return b.CreateAdd(a, c);
    case Op::Sub: return b.CreateSub(a, c);
    case Op::Mul: return b.CreateMul(a, c);
    case Op::Div: return divide(b, t, a, c);
    case Op::Mod: return b.CreateSub(a, b.CreateMul(divide(b, t, a, c), c)); // x % 0 = x - ones * 0
    case Op::MulHi: return multiply_high(b, t, a, c);
    case Op::Min: return minimum(b, t, a, c);
    case Op::Max: return maximum(b, t, a, c);
    case Op::And: return b.CreateAnd(a, c);
    case Op::Or: return b.CreateOr(a, c);
    case Op::Xor: return b.CreateXor(a, c);
    case Op::Shl: return b.CreateShl(a, b.CreateAnd(c, top));
    case Op::Shr:
        c = b.CreateAnd(c, top);
        return is_signed(t) ? b.CreateAShr(a, c) : b.CreateLShr(a, c);
    case Op::Rotl: return funnel(llvm::Intrinsic::fshl);
    case Op::Rotr: return funnel(llvm::Intrinsic::fshr);
    case Op::Fma: return b.CreateAdd(b.CreateMul(a, c), d);
    default: return nullptr;
    }
}

} // namespace

Value *widen_mask(Builder &b, Value *mask, llvm::Type *to) {
    llvm::GlobalVariable *one = b.GetInsertBlock()->getModule()->getNamedGlobal(OpaqueOne);
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(to);
    if (!one || !vector)
        return b.CreateZExt(mask, to);
    Value *v = b.CreateAlignedLoad(to->getScalarType(), one, llvm::Align(8));
    v = b.CreateVectorSplat(vector->getNumElements(), v);
    return b.CreateSelect(mask, v, llvm::Constant::getNullValue(to));
}

Value *emit_elementwise(Builder &b, Op op, Type t, Type from, Value *a, Value *c, Value *d) {
    switch (op) {
    case Op::Select: return b.CreateSelect(a, c, d);
    case Op::Cast: return cast(b, t, from, a);
    case Op::Bitcast: return bitcast(b, t, from, a);
    default: break;
    }
    bool comparison = op >= Op::Eq && op <= Op::Le;
    // Half precision is for storage: compute in f32, round once. Sign operations only touch a bit.
    if (from == Type::F16 && op != Op::Neg && op != Op::Abs) {
        for (Value **v : { &a, &c, &d })
            if (*v)
                *v = b.CreateFPExt(*v, shaped(*v, Type::F32));
        if (comparison)
            return compare(b, op, Type::F32, a, c);
        return b.CreateFPTrunc(float_op(b, op, Type::F32, a, c, d), shaped(a, Type::F16));
    }
    if (comparison)
        return compare(b, op, from, a, c);
    return is_float(t) ? float_op(b, op, t, a, c, d) : int_op(b, op, t, a, c, d);
}

} // namespace umbel::jit::llvm_ir
