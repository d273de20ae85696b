// jit/llvm/math.cpp: transcendental functions, instantiated from jit/math.h.
#include "jit/math.h"
#include "jit/llvm/math_ir.h"
#include <llvm/IR/Constants.h>

namespace umbel::jit::llvm_ir {

bool is_math(Op op) { return is_transcendental(op) || op == Op::Atan2 || op == Op::Pow; }

Value *emit_lookup(const uint32_t *table, size_t size, Value *index) {
    Writer &w = writer();
    // Tables are told apart by their contents; there are few.
    llvm::Constant *data =
        llvm::ConstantDataArray::get(w.b.getContext(), llvm::ArrayRef(table, size));
    llvm::GlobalVariable *global = nullptr;
    for (llvm::GlobalVariable &g : w.scope.module.globals())
        if (g.hasInitializer() && g.getInitializer() == data)
            global = &g;
    if (!global)
        global = new llvm::GlobalVariable(w.scope.module, data->getType(), true,
                                          llvm::GlobalValue::InternalLinkage, data, "table");
    Value *p = w.b.CreateGEP(w.b.getInt32Ty(), global, index);
    llvm::Type *t = w.shaped(Type::U32);
    if (!w.width)
        return w.b.CreateAlignedLoad(t, p, llvm::Align(4));
    return w.b.CreateMaskedGather(t, p, llvm::Align(4));
}

namespace {

/// So often a function is expanded in one module; used more often, it is shared. Measured: a call
/// costs 10 to 30 % of the run time of a short function, an expansion 1 to 2 ms of compile time;
/// the trigonometric functions have a long way for huge arguments, 8 ms each (f64: 30 ms).
uint32_t most_expanded(Op op, Type t) {
    bool trigonometric = op == Op::Sin || op == Op::Cos || op == Op::Tan;
    if (t == Type::F64 || op == Op::Lgamma)
        return trigonometric ? 1 : 2;
    return trigonometric ? 2 : 8;
}

template <class F> F evaluate(Op op, F a, const F &c) {
    switch (op) {
    case Op::Sin: return math::sin(a);
    case Op::Cos: return math::cos(a);
    case Op::Tan: return math::tan(a);
    case Op::Asin: return math::asin(a);
    case Op::Acos: return math::acos(a);
    case Op::Atan: return math::atan(a);
    case Op::Sinh: return math::sinh(a);
    case Op::Cosh: return math::cosh(a);
    case Op::Tanh: return math::tanh(a);
    case Op::Asinh: return math::asinh(a);
    case Op::Acosh: return math::acosh(a);
    case Op::Atanh: return math::atanh(a);
    case Op::Exp: return math::exp(a);
    case Op::Exp2: return math::exp2(a);
    case Op::Log: return math::log(a);
    case Op::Log2: return math::log2(a);
    case Op::Cbrt: return math::cbrt(a);
    case Op::Erf: return math::erf(a);
    case Op::Erfinv: return math::erfinv(a);
    case Op::Lgamma: return math::lgamma(a);
    case Op::Atan2: return math::atan2(a, c);
    default: return math::pow(a, c);
    }
}

Value *expand(Scope &scope, Builder &b, Op op, Type t, Value *a, Value *c) {
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
    Writer writer(scope, b, vector ? vector->getNumElements() : 0);
    if (t == Type::F64)
        return evaluate(op, made<double>(a), made<double>(c)).v;
    return evaluate(op, made<float>(a), made<float>(c)).v;
}

llvm::Function *shared_function(Scope &scope, Op op, Type t, llvm::Type *type, bool binary) {
    std::string key =
        std::string("math_") + name(op) + "_" + name(t) + (type->isVectorTy() ? "" : "_scalar");
    if (auto it = scope.helpers.find(key); it != scope.helpers.end())
        return it->second;
    std::vector<llvm::Type *> params(binary ? 2 : 1, type);
    auto *f = llvm::Function::Create(llvm::FunctionType::get(type, params, false),
                                     llvm::Function::InternalLinkage, key, scope.module);
    scope.set_attributes(f);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->setDoesNotAccessMemory(); // so that equal calls are merged
    scope.helpers[key] = f;
    Builder b(llvm::BasicBlock::Create(scope.context(), "entry", f));
    b.CreateRet(expand(scope, b, op, t, f->getArg(0), binary ? f->getArg(1) : nullptr));
    return f;
}

} // namespace

Value *emit_math(Scope &scope, Builder &b, Op op, Type t, Value *a, Value *c) {
    if (t == Type::F16) {
        auto wide = [&](Value *v) {
            return v ? b.CreateFPExt(v, v->getType()->getWithNewType(b.getFloatTy())) : nullptr;
        };
        llvm::Type *half = a->getType();
        return b.CreateFPTrunc(emit_math(scope, b, op, Type::F32, wide(a), wide(c)), half);
    }
    if (scope.math_uses[{ op, t }] <= most_expanded(op, t))
        return expand(scope, b, op, t, a, c);
    llvm::Function *f = shared_function(scope, op, t, a->getType(), c != nullptr);
    std::vector<Value *> args = { a };
    if (c)
        args.push_back(c);
    return b.CreateCall(f, args);
}

} // namespace umbel::jit::llvm_ir
