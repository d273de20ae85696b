// jit/interp/fold.cpp: runs a loop over one element.
#include "jit/interp/fold.h"
#include "jit/interp/lifetime.h"
#include "jit/interp/loops.h"
#include <bit>

namespace umbel::jit {

static_assert(std::endian::native == std::endian::little,
              "literals hold their value in the low bytes");

bool fold(Op op, Type t, Type operand_type, const uint64_t *operand_bits, uint64_t &result_bits) {
    if (!is_pure(op))
        return false;
    LoopFn fn = find_loop(loops(), op, t, operand_type, 0);
    if (!fn)
        return false;
    uint64_t result = 0;
    int n = operands(op);
    const uint64_t *a = operand_bits, *b = a + (n > 1 ? 1 : 0), *c = a + (n > 2 ? 2 : 0);
    fn(&result, a, b, c, 1);
    result_bits = result;
    return true;
}

} // namespace umbel::jit
