// jit/cuda/ptx_text.h: writes instructions of PTX, one function at a time.
//
// A value is the text of an operand: a register or an immediate. Registers have a class by their width, whatever is in them:
//
//     %p  masks          %h  f16          %r  32 bits and narrower integers          %d  64 bits
//
// Integers of 8 and 16 bits are held in 32, extended by their sign or by zeros, and brought back to that form after each
// operation. Masks that are known are the operands True and False: instructions around them disappear.
#pragma once
#include "jit/error.h"
#include "jit/op.h"
#include "jit/type.h"
#include <map>
#include <string>
#include <vector>

namespace umbel::jit::ptx {

using Operand = std::string;
inline const Operand True = "T", False = "F";

/// What the functions of one module share.
struct Module {
    std::string head;                           // tables and helper functions, before all others
    std::map<std::string, std::string> helpers; // names by key, once made
    std::map<std::pair<Op, Type>, uint32_t> math_uses; // transcendentals: how often
    bool is_fast = false;                              // single precision as Flag::FastMath says
};

/// The letter of the register class that holds a type.
constexpr char register_class(Type t) {
    return t == Type::Bool ? 'p' : t == Type::F16 ? 'h' : bytes(t) == 8 ? 'd' : 'r';
}
/// Of a type as moves and selections see it: .b16, .b32 or .b64.
const char *bits_suffix(Type t);
/// As arithmetic sees it: .f32, .s32, .u64; integers below 32 bits count as 32.
const char *number_suffix(Type t);
/// As memory holds it: .u8, .s16, .b32.
const char *memory_suffix(Type t);
/// An immediate; masks are True and False. F16 has none: see Writer::literal.
Operand immediate(Type t, uint64_t bits);

class Writer {
public:
    explicit Writer(Module &module) : m_module(module) {}

    Module &module() { return m_module; }
    Operand fresh(char register_class) {
        return fmt::format("%{}{}", register_class, m_count[index(register_class)]++);
    }
    Operand fresh(Type t) { return fresh(register_class(t)); }
    std::string label() { return fmt::format("L{}", m_labels++); }

    /// A line of text; the arguments are operands.
    template <class... A> void line(fmt::format_string<A...> format, A &&...args) {
        m_text += "    ";
        fmt::format_to(std::back_inserter(m_text), format, std::forward<A>(args)...);
        m_text += ";\n";
    }
    void place(const std::string &label) { m_text += label + ":\n"; }
    void raw(const std::string &text) { m_text += text; }
    /// A new register with the result of `instruction` on the operands.
    Operand make(char register_class, std::string_view instruction, const Operand &a,
                 const Operand &b = {}, const Operand &c = {}, const Operand &d = {});

    // ---- masks
    Operand mask_and(const Operand &a, const Operand &b);
    Operand mask_or(const Operand &a, const Operand &b);
    Operand mask_xor(const Operand &a, const Operand &b);
    Operand mask_not(const Operand &a);
    /// In a register, also where it is known.
    Operand as_register(const Operand &mask);
    /// "@%p1 " or "", to stand before an instruction; a mask that is False must not come here.
    static std::string when(const Operand &mask) { return mask == True ? "" : "@" + mask + " "; }
    /// Jumps where the mask does not hold.
    void jump_unless(const Operand &mask, const std::string &to);
    void jump(const std::string &to) { line("bra {}", to); }

    // ---- values
    Operand literal(Type t, uint64_t bits);
    void move(Type t, const Operand &to, const Operand &from);
    Operand select(Type t, const Operand &mask, const Operand &a, const Operand &b);
    /// One operation of jit/op.h; `from` is the type of a.
    Operand elementwise(Op op, Type t, Type from, const Operand &a, const Operand &b,
                        const Operand &c);
    Operand math(Op op, Type t, const Operand &a, const Operand &b);
    /// Whether operations are to the letter of op.h from now on, whatever the module's are.
    void set_exact(bool is_exact) { m_is_exact = is_exact; }
    Operand cast(Type t, Type from, const Operand &a);

    // ---- memory; `address` is a register of 64 bits and an offset, without brackets
    /// Zeros outside of the mask.
    std::vector<Operand> load(Type t, const char *space, const std::string &address, uint32_t count,
                              uint32_t align, const Operand &mask);
    void store(Type t, const char *space, const std::string &address, const Operand &value,
               const Operand &mask);
    /// base + index * size for an index of 32 bits
    Operand element_address(const Operand &base, const Operand &index, uint64_t size);
    void reduce(ReduceOp op, Type t, const Operand &address, const Operand &value,
                const Operand &mask);

    /// Declarations of all registers used, then the text.
    std::string finish() const;

private:
    static int index(char c) { return c == 'p' ? 0 : c == 'h' ? 1 : c == 'r' ? 2 : 3; }
    Operand integer_op(Op op, Type t, const Operand &a, const Operand &b, const Operand &c);
    Operand float_op(Op op, Type t, const Operand &a, const Operand &b, const Operand &c);
    Operand divide(Type t, const Operand &a, const Operand &b);
    Operand count_bits(Op op, Type t, const Operand &a);
    Operand rotate(Op op, Type t, const Operand &a, const Operand &b);
    Operand absolute(Type t, const Operand &a);
    Operand multiply_high(Type t, const Operand &a, const Operand &b);
    Operand compare(Op op, Type from, const Operand &a, const Operand &b);
    Operand minimum(Type t, const Operand &a, const Operand &b, bool greatest);
    Operand float_to_int(Type t, Type from, const Operand &a);
    /// Bits of a 32-bit register as a narrow integer should be.
    Operand narrow(Type t, const Operand &a);
    void compare_and_swap(ReduceOp op, Type t, const Operand &address, const Operand &value);

    Module &m_module;
    std::string m_text;
    uint32_t m_count[4] = {}; // registers by class
    uint32_t m_labels = 0;
    bool m_is_exact = false;
};

} // namespace umbel::jit::ptx
