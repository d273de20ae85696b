// jit/llvm/reduce.cpp: scatters that combine with what is in memory, atomically.
//
// Each kind is a helper function of the module: the code is long and runs at the pace of memory
// anyway. If all lanes meet at one address, they are combined first, in lane order, and memory is
// touched once.
#include "jit/llvm/emit.h"
#include <llvm/IR/Intrinsics.h>

namespace umbel::jit::llvm_ir {

namespace {

constexpr auto Relaxed = llvm::AtomicOrdering::Monotonic;

Op elementwise(ReduceOp op) {
    switch (op) {
    case ReduceOp::Add: return Op::Add;
    case ReduceOp::Mul: return Op::Mul;
    case ReduceOp::Min: return Op::Min;
    case ReduceOp::Max: return Op::Max;
    case ReduceOp::And: return Op::And;
    default: return Op::Or;
    }
}

/// The instruction that does it in one go, where there is one.
llvm::AtomicRMWInst::BinOp native(ReduceOp op, Type t) {
    using A = llvm::AtomicRMWInst;
    if (is_float(t))
        return A::BAD_BINOP;
    switch (op) {
    case ReduceOp::Add: return A::Add;
    case ReduceOp::And: return A::And;
    case ReduceOp::Or: return A::Or;
    default: return A::BAD_BINOP;
    }
}

llvm::BasicBlock *new_block(Builder &b, const char *name) {
    return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent());
}

/// op(old, v); extrema keep the old one where v is NaN or equal.
Value *combine(Builder &b, ReduceOp op, Type t, Value *old, Value *v) {
    if (op == ReduceOp::Min || op == ReduceOp::Max)
        std::swap(old, v);
    return emit_elementwise(b, elementwise(op), t, t, old, v, nullptr);
}

/// *p = op(*p, v)
void atomic(Builder &b, ReduceOp op, Type t, Value *p, Value *v) {
    unsigned size = unsigned(bytes(t));
    llvm::Align align(size);
    if (auto rmw = native(op, t); rmw != llvm::AtomicRMWInst::BAD_BINOP) {
        b.CreateAtomicRMW(rmw, p, v, align, Relaxed);
        return;
    }
    llvm::Type *bits = b.getIntNTy(8 * size);
    llvm::LoadInst *seen = b.CreateAlignedLoad(bits, p, align);
    seen->setAtomic(Relaxed);
    llvm::BasicBlock *before = b.GetInsertBlock(), *retry = new_block(b, "retry"),
                     *write = new_block(b, "write"), *done = new_block(b, "done");
    b.CreateBr(retry);
    b.SetInsertPoint(retry);
    llvm::PHINode *old = b.CreatePHI(bits, 2);
    old->addIncoming(seen, before);
    Value *now = combine(b, op, t, b.CreateBitCast(old, v->getType()), v);
    now = b.CreateBitCast(now, bits);
    // Extrema rarely change: spare the bus.
    b.CreateCondBr(b.CreateICmpEQ(now, old), done, write);
    b.SetInsertPoint(write);
    Value *pair = b.CreateAtomicCmpXchg(p, old, now, align, Relaxed, Relaxed);
    old->addIncoming(b.CreateExtractValue(pair, 0), write);
    b.CreateCondBr(b.CreateExtractValue(pair, 1), done, retry);
    b.SetInsertPoint(done);
}

/// Runs body(lane) for each set bit of `bits`, lowest first; `bits` is not 0. `state` is carried
/// along.
template <class F> Value *for_lanes(Builder &b, Value *bits, Value *state, F body) {
    llvm::BasicBlock *before = b.GetInsertBlock(), *loop = new_block(b, "lanes"),
                     *after = new_block(b, "after");
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode *left = b.CreatePHI(bits->getType(), 2);
    left->addIncoming(bits, before);
    llvm::PHINode *carried = state ? b.CreatePHI(state->getType(), 2) : nullptr;
    if (carried)
        carried->addIncoming(state, before);
    Value *lane = b.CreateZExt(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b.getTrue()),
                               b.getInt64Ty());
    Value *next = body(lane, carried);
    Value *rest = b.CreateAnd(left, b.CreateSub(left, llvm::ConstantInt::get(left->getType(), 1)));
    left->addIncoming(rest, b.GetInsertBlock());
    if (carried)
        carried->addIncoming(next, b.GetInsertBlock());
    b.CreateCondBr(b.CreateIsNotNull(rest), loop, after);
    b.SetInsertPoint(after);
    return next;
}

/// Lanes of `bits` whose address is that of the lowest one.
struct SameAddress {
    Value *first, *all; // the address; whether all lanes have it

    SameAddress(Builder &b, Value *pointers, Value *bits, Value *spilled) {
        Value *lane = b.CreateZExt(
            b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue()), b.getInt64Ty());
        first = b.CreateAlignedLoad(b.getPtrTy(), b.CreateGEP(b.getPtrTy(), spilled, lane),
                                    llvm::Align(8));
        auto *type = llvm::cast<llvm::FixedVectorType>(pointers->getType());
        Value *equal = b.CreateICmpEQ(pointers, b.CreateVectorSplat(type->getNumElements(), first));
        Value *others = b.CreateAnd(b.CreateNot(b.CreateBitCast(equal, bits->getType())), bits);
        all = b.CreateIsNull(others);
    }
};

Value *spill(Builder &b, Value *v, uint64_t bytes) {
    llvm::AllocaInst *a = b.CreateAlloca(b.getInt8Ty(), b.getInt64(bytes));
    a->setAlignment(llvm::Align(64));
    b.CreateAlignedStore(v, a, llvm::Align(64));
    return a;
}

llvm::Function *helper(Scope &scope, const std::string &name, llvm::Type *result,
                       std::vector<llvm::Type *> params, Builder &b) {
    auto *f = llvm::Function::Create(llvm::FunctionType::get(result, params, false),
                                     llvm::Function::InternalLinkage, name, scope.module);
    scope.set_attributes(f);
    f->addFnAttr(llvm::Attribute::NoInline);
    b.SetInsertPoint(llvm::BasicBlock::Create(scope.context(), "entry", f));
    scope.helpers[name] = f;
    return f;
}

} // namespace

/// void (addresses, values, mask)
llvm::Function *Emitter::reduce_helper(ReduceOp op, Type t) {
    // Masks are bytes in memory.
    Type stored = t == Type::Bool ? Type::U8 : t;
    std::string key = std::string("scatter_") + name(op) + "_" + name(stored);
    if (auto it = m_scope.helpers.find(key); it != m_scope.helpers.end())
        return it->second;
    Builder b(m_context);
    llvm::Function *f =
        helper(m_scope, key, b.getVoidTy(), { wide(Type::Ptr), wide(stored), bits_type() }, b);
    Value *pointers = f->getArg(0), *values = f->getArg(1), *bits = f->getArg(2);

    // Lanes are picked by number, which only memory can do.
    Value *p = spill(b, pointers, 8 * m_width), *v = spill(b, values, bytes(stored) * m_width);
    llvm::BasicBlock *some = new_block(b, "some"), *together = new_block(b, "together"),
                     *apart = new_block(b, "apart"), *done = new_block(b, "end");
    b.CreateCondBr(b.CreateIsNull(bits), done, some);
    b.SetInsertPoint(some);
    SameAddress same(b, pointers, bits, p);
    b.CreateCondBr(same.all, together, apart);

    llvm::Type *element = element_type(m_context, stored);
    auto value_at = [&](Value *lane) {
        return b.CreateAlignedLoad(element, b.CreateGEP(element, v, lane),
                                   llvm::Align(bytes(stored)));
    };
    b.SetInsertPoint(together);
    Value *identity = reduce_identity(op, stored);
    Value *total = for_lanes(b, bits, identity, [&](Value *lane, Value *sum) {
        return combine(b, op, stored, sum, value_at(lane));
    });
    atomic(b, op, stored, same.first, total);
    b.CreateBr(done);

    b.SetInsertPoint(apart);
    for_lanes(b, bits, nullptr, [&](Value *lane, Value *) -> Value * {
        Value *at =
            b.CreateAlignedLoad(b.getPtrTy(), b.CreateGEP(b.getPtrTy(), p, lane), llvm::Align(8));
        atomic(b, op, stored, at, value_at(lane));
        return nullptr;
    });
    b.CreateBr(done);
    b.SetInsertPoint(done);
    b.CreateRetVoid();
    return f;
}

/// x such that op(x, y) = y for every y.
Value *Emitter::reduce_identity(ReduceOp op, Type t) const {
    llvm::Type *e = element_type(m_context, t);
    unsigned n = unsigned(bits(t));
    switch (op) {
    case ReduceOp::Add:
        return is_float(t) ? llvm::ConstantFP::get(e, -0.0) : llvm::ConstantInt::get(e, 0);
    case ReduceOp::Mul:
        return is_float(t) ? llvm::ConstantFP::get(e, 1.0) : llvm::ConstantInt::get(e, 1);
    case ReduceOp::Min:
        return is_float(t)    ? llvm::ConstantFP::getInfinity(e, false)
               : is_signed(t) ? llvm::ConstantInt::get(e, llvm::APInt::getSignedMaxValue(n))
                              : llvm::ConstantInt::get(e, llvm::APInt::getMaxValue(n));
    case ReduceOp::Max:
        return is_float(t)    ? llvm::ConstantFP::getInfinity(e, true)
               : is_signed(t) ? llvm::ConstantInt::get(e, llvm::APInt::getSignedMinValue(n))
                              : llvm::ConstantInt::get(e, 0);
    case ReduceOp::And: return llvm::ConstantInt::get(e, llvm::APInt::getMaxValue(n));
    default: return llvm::ConstantInt::get(e, 0);
    }
}

/// <W x i32> (addresses, mask): counters before their increment, 0 for other lanes.
llvm::Function *Emitter::increment_helper() {
    std::string key = "scatter_inc";
    if (auto it = m_scope.helpers.find(key); it != m_scope.helpers.end())
        return it->second;
    Builder b(m_context);
    llvm::FixedVectorType *counts = wide(Type::U32);
    llvm::Function *f = helper(m_scope, key, counts, { wide(Type::Ptr), bits_type() }, b);
    Value *pointers = f->getArg(0), *bits = f->getArg(1),
          *zeros = llvm::Constant::getNullValue(counts);
    Value *p = spill(b, pointers, 8 * m_width), *out = spill(b, zeros, 4 * m_width);
    llvm::BasicBlock *some = new_block(b, "some"), *together = new_block(b, "together"),
                     *apart = new_block(b, "apart"), *none = new_block(b, "none");
    b.CreateCondBr(b.CreateIsNull(bits), none, some);
    b.SetInsertPoint(none);
    b.CreateRet(zeros);
    b.SetInsertPoint(some);
    SameAddress same(b, pointers, bits, p);
    b.CreateCondBr(same.all, together, apart);

    // One counter: reserve as many numbers as there are lanes, handed out in lane order.
    b.SetInsertPoint(together);
    Value *wide_bits = b.CreateZExt(bits, b.getInt32Ty());
    Value *total = b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, wide_bits);
    Value *first =
        b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, same.first, total, llvm::Align(4), Relaxed);
    Value *one = llvm::ConstantInt::get(counts, 1);
    Value *below = b.CreateSub(b.CreateShl(one, b.CreateStepVector(counts)), one);
    Value *before = b.CreateUnaryIntrinsic(
        llvm::Intrinsic::ctpop, b.CreateAnd(below, b.CreateVectorSplat(m_width, wide_bits)));
    Value *numbers = b.CreateAdd(before, b.CreateVectorSplat(m_width, first));
    b.CreateRet(b.CreateSelect(b.CreateBitCast(bits, wide(Type::Bool)), numbers, zeros));

    b.SetInsertPoint(apart);
    for_lanes(b, bits, nullptr, [&](Value *lane, Value *) -> Value * {
        Value *at =
            b.CreateAlignedLoad(b.getPtrTy(), b.CreateGEP(b.getPtrTy(), p, lane), llvm::Align(8));
        Value *old =
            b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at, b.getInt32(1), llvm::Align(4), Relaxed);
        b.CreateAlignedStore(old, b.CreateGEP(b.getInt32Ty(), out, lane), llvm::Align(4));
        return nullptr;
    });
    b.CreateRet(b.CreateAlignedLoad(counts, out, llvm::Align(64)));
    return f;
}

} // namespace umbel::jit::llvm_ir
