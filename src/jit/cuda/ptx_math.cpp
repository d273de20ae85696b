// jit/cuda/ptx_math.cpp: transcendental functions, instantiated from jit/math.h.
#include "jit/cuda/ptx_math.h"
#include "jit/math.h"

namespace umbel::jit::ptx {

namespace {

/// So often a function is written out in one module; used more often, it is called. A call costs some dozen cycles and
/// what lives across it moves to other registers; an expansion costs time of the assembler.
constexpr uint32_t MostExpanded = 4;

template <class F> F evaluate(Op op, const F &a, const F &c) {
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

Operand expand(Writer &w, Op op, Type t, const Operand &a, const Operand &c) {
    Writing writing(w);
    // Functions look at bits of their arguments: in registers these cost nothing
    auto in_register = [&](const Operand &v) {
        if (v.empty() || v[0] == '%')
            return v;
        return w.make(register_class(t), t == Type::F64 ? "mov.b64" : "mov.b32", v);
    };
    Operand x = in_register(a), y = in_register(c);
    if (t == Type::F64)
        return evaluate(op, made<double>(x), made<double>(y)).v;
    return evaluate(op, made<float>(x), made<float>(y)).v;
}

std::string shared_function(Module &module, Op op, Type t, bool binary) {
    std::string key = fmt::format("math_{}_{}", name(op), name(t));
    if (auto it = module.helpers.find(key); it != module.helpers.end())
        return it->second;
    Writer w(module);
    const char *bits = bits_suffix(t);
    Operand a = w.fresh(t), b = binary ? w.fresh(t) : Operand();
    w.line("ld.param.{} {}, [a]", bits, a);
    if (binary)
        w.line("ld.param.{} {}, [b]", bits, b);
    w.set_exact(true);
    Operand r = expand(w, op, t, a, b);
    w.line("st.param.{} [r], {}", bits, r);
    w.line("ret");
    module.head += fmt::format(".func (.param .{0} r) {1}(.param .{0} a{2})\n{{\n{3}}}\n\n", bits,
                               key, binary ? fmt::format(", .param .{} b", bits) : "", w.finish());
    return module.helpers[key] = key;
}

} // namespace

Operand table_element(const uint32_t *table, size_t size, const Operand &index) {
    Writer &w = out();
    std::string text;
    for (size_t i = 0; i < size; ++i)
        text += fmt::format("{}{:#x}", i ? ", " : "", table[i]);
    std::string &name = w.module().helpers[text];
    if (name.empty()) {
        name = fmt::format("table{}", w.module().helpers.size());
        w.module().head +=
            fmt::format(".global .align 4 .b32 {}[{}] = {{ {} }};\n\n", name, size, text);
    }
    Operand base = w.make('d', "mov.u64", name), at = w.element_address(base, index, 4);
    return w.make('r', "ld.global.b32", "[" + at + "]");
}

Operand Writer::math(Op op, Type t, const Operand &a, const Operand &b) {
    if (t == Type::F16) {
        auto wide = [&](const Operand &v) { return v.empty() ? v : cast(Type::F32, t, v); };
        Operand x = wide(a), y = wide(b);
        return cast(t, Type::F32, math(op, Type::F32, x, y));
    }
    if (m_module.math_uses[{ op, t }] <= MostExpanded) {
        set_exact(true); // their error bounds rest on it
        Operand r = expand(*this, op, t, a, b);
        set_exact(false);
        return r;
    }
    std::string function = shared_function(m_module, op, t, !b.empty());
    Operand r = fresh(t);
    const char *bits = bits_suffix(t);
    raw("    {\n");
    line(".param .{} a", bits);
    line("st.param.{} [a], {}", bits, a);
    if (!b.empty()) {
        line(".param .{} b", bits);
        line("st.param.{} [b], {}", bits, b);
    }
    line(".param .{} r", bits);
    line("call (r), {}, (a{})", function, b.empty() ? "" : ", b");
    line("ld.param.{} {}, [r]", bits, r);
    raw("    }\n");
    return r;
}

} // namespace umbel::jit::ptx
