// jit/op.h: every operation of the recorded program: meaning, operand types, corner cases.
//
// Backends must agree on these meanings to the bit for integers, masks, arithmetic and sqrt. `t` is the
// result type, `m` a mask (Bool). Operands a, b, c, d have type t unless said otherwise.
#pragma once
#include <cstdint>

namespace umbel::jit {

// X(name, operands, meaning)
// clang-format off
#define UMBEL_OPS(X)                                                                               \
    /* ---- leaves */                                                                              \
    X(Literal,  0, "constant; bits in imm")                                                        \
    X(Lane,     0, "index of the lane, u32")                                                       \
    X(Active,   0, "mask of the lanes that run the region in imm; includes the kernel's tail")     \
    X(Buffer,   0, "graph only: an evaluated array, read at the lane (size 1: broadcast)")         \
    X(Address,  1, "graph only: the address of buffer a, ptr")                                     \
    /* ---- one operand: numbers */                                                                \
    X(Neg,      1, "-a; floats flip the sign bit, integers wrap")                                  \
    X(Abs,      1, "|a|; floats clear the sign bit, the least integer stays")                      \
    X(Not,      1, "bitwise complement of integers and masks")                                     \
    X(Sqrt,     1, "float; correctly rounded; NaN below 0")                                        \
    X(Rcp,      1, "float; 1 / a, correctly rounded")                                              \
    X(Rsqrt,    1, "float; 1 / sqrt(a), two roundings")                                            \
    X(Floor,    1, "float; toward -inf")                                                           \
    X(Ceil,     1, "float; toward +inf")                                                           \
    X(Trunc,    1, "float; toward 0")                                                              \
    X(Round,    1, "float; to nearest, ties to even")                                              \
    X(Popcount, 1, "integer; set bits")                                                            \
    X(Clz,      1, "integer; leading zeros, width for 0")                                          \
    X(Ctz,      1, "integer; trailing zeros, width for 0")                                         \
    X(Cast,     1, "a of any number type or mask to t; float to int truncates, saturates, NaN is 0; int to int wraps; to bool: a != 0") \
    X(Bitcast,  1, "same bits, a of any type of the same width")                                   \
    /* ---- one operand: transcendental, float only; bounds in docs/jit.md */                      \
    X(Sin, 1, "")  X(Cos, 1, "")  X(Tan, 1, "")  X(Asin, 1, "")  X(Acos, 1, "")  X(Atan, 1, "")      \
    X(Sinh, 1, "") X(Cosh, 1, "") X(Tanh, 1, "") X(Asinh, 1, "") X(Acosh, 1, "") X(Atanh, 1, "")     \
    X(Exp, 1, "")  X(Exp2, 1, "") X(Log, 1, "")  X(Log2, 1, "")  X(Cbrt, 1, "")                      \
    X(Erf, 1, "")  X(Erfinv, 1, "") X(Lgamma, 1, "log |gamma(a)|")                                 \
    /* ---- two operands */                                                                        \
    X(Add,      2, "a + b; integers wrap")                                                         \
    X(Sub,      2, "a - b; integers wrap")                                                         \
    X(Mul,      2, "a * b; integers wrap")                                                         \
    X(Div,      2, "a / b; integers truncate, x / 0 has all bits set, min / -1 = min")             \
    X(Mod,      2, "integer; remainder with the sign of a, x % 0 = x, min % -1 = 0")               \
    X(MulHi,    2, "integer; upper half of the double-width product")                              \
    X(Min,      2, "a < b ? a : b, so b where either is NaN")                                      \
    X(Max,      2, "a > b ? a : b, so b where either is NaN")                                      \
    X(And,      2, "bitwise, integers and masks")                                                  \
    X(Or,       2, "bitwise, integers and masks")                                                  \
    X(Xor,      2, "bitwise, integers and masks")                                                  \
    X(Shl,      2, "integer; shift amount b modulo the width")                                     \
    X(Shr,      2, "integer; arithmetic for signed types; b modulo the width")                     \
    X(Rotl,     2, "integer; rotate left by b modulo the width")                                   \
    X(Rotr,     2, "integer; rotate right by b modulo the width")                                  \
    X(Eq,       2, "mask; a == b for any common type; false for NaN")                              \
    X(Ne,       2, "mask; a != b for any common type; true for NaN")                               \
    X(Lt,       2, "mask; a < b for numbers; false for NaN")                                       \
    X(Le,       2, "mask; a <= b for numbers; false for NaN")                                      \
    X(Atan2,    2, "float; angle of the point (b, a)")                                             \
    X(Pow,      2, "float; a to the power b, IEEE's special cases")                                \
    /* ---- three operands */                                                                      \
    X(Fma,      3, "a * b + c; floats round once (f16: rounded from f32), integers wrap")          \
    X(Select,   3, "a (mask) ? b : c, any type")                                                   \
    /* ---- memory; lanes outside the mask touch nothing and read 0 */                             \
    X(Gather,   3, "element b (u32) of the array at a (ptr), mask c")                              \
    X(Packet,   3, "imm consecutive elements from index b * imm (b u32) of the array at a, mask c; read by PacketGet") \
    X(PacketGet,1, "element imm of packet a")                                                      \
    X(Scatter,  4, "no result; array at a (ptr), index b (u32), value c, mask d; imm is a ReduceOp") \
    X(ScatterInc,3,"u32; adds 1 to element b of the u32 array at a under mask c, gives its previous value (order unspecified)") \
    X(ArrayNew, 1, "local array of `length` elements, all a")                                      \
    X(ArrayGet, 3, "element b (u32) of array a under mask c; 0 out of range")                      \
    X(ArraySet, 4, "array a with element b (u32) replaced by c under mask d; out of range: unchanged") \
    /* ---- control flow and calls in the graph */                                                 \
    X(Phi,      0, "loop state at the head of an iteration; after the loop, its final value")      \
    X(Loop,     0, "graph only: a recorded loop; record in imm")                                   \
    X(LoopOut,  1, "graph only: state imm of loop a after its end")                                \
    X(If,       1, "graph only: a recorded conditional; record in imm")                            \
    X(IfOut,    1, "graph only: result imm of conditional a")                                      \
    X(Param,    0, "argument imm of the enclosing subroutine")                                     \
    X(Call,     1, "call of one of several subroutines; record in imm")                            \
    X(CallOut,  1, "result imm of call a; 0 for lanes that called nothing")                        \
    X(Extern,   0, "call of a host function; record in imm")                                       \
    X(ExternOut,1, "result imm of host function call a")                                           \
    /* ---- in programs only (jit/program.h) */                                                    \
    X(LoadLane,   0, "element of argument imm at the lane")                                        \
    X(LoadScalar, 0, "the one element of argument imm, uniform")                                   \
    X(ArgPtr,     0, "pointer argument imm, uniform")                                              \
    X(Data,       0, "field of the instance's record at byte offset imm")                          \
    X(StoreLane,  1, "a to element `lane` of argument imm")                                        \
    X(LoopBegin,  0, "head of an iteration; its Phis follow")                                      \
    X(LoopWhile,  1, "lanes where a (mask) is false leave the loop; it ends when none is left")    \
    X(LoopEnd,    0, "back to the head, Phis take their next values")                              \
    X(IfBegin,    1, "lanes where a (mask) holds run up to Else")                                  \
    X(Else,       0, "the other lanes run up to EndIf")                                            \
    X(EndIf,      0, "all lanes go on")                                                            \
    X(Merge,      3, "after EndIf: a (mask of IfBegin) ? b : c")
// clang-format on

enum class Op : uint16_t {
#define X(n, a, d) n,
    UMBEL_OPS(X)
#undef X
};

enum class ReduceOp : uint8_t { Store, Add, Mul, Min, Max, And, Or };

namespace detail {
struct OpInfo {
    const char *name;
    uint8_t operands;
    const char *meaning;
};
inline constexpr OpInfo op_info[] = {
#define X(n, a, d) { #n, a, d },
    UMBEL_OPS(X)
#undef X
};
} // namespace detail

constexpr int OpCount = int(sizeof(detail::op_info) / sizeof(detail::op_info[0]));
constexpr const char *name(Op op) { return detail::op_info[int(op)].name; }
constexpr int operands(Op op) { return detail::op_info[int(op)].operands; }
constexpr bool is_elementwise(Op op) { return op >= Op::Neg && op <= Op::Select; }
constexpr bool is_transcendental(Op op) { return op >= Op::Sin && op <= Op::Lgamma; }
/// Whether a and b may change places.
constexpr bool commutes(Op op) {
    return op == Op::Add || op == Op::Mul || op == Op::And || op == Op::Or || op == Op::Xor ||
           op == Op::Eq || op == Op::Ne || op == Op::MulHi;
}
constexpr const char *name(ReduceOp op) {
    constexpr const char *names[] = { "store", "add", "mul", "min", "max", "and", "or" };
    return names[int(op)];
}

} // namespace umbel::jit
