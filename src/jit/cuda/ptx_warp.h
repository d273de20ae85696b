// jit/cuda/ptx_warp.h: lanes of a warp that come to one place in memory together: one of them goes there for all.
//
// Memory serves lanes that meet in one word one by one. So those of a warp that add to the same integer first add up what they have.
#pragma once
#include "jit/cuda/ptx_text.h"

namespace umbel::jit::ptx {

/// Sets of lanes are bits of a register.
struct Peers {
    Operand active; // lanes that are here
    Operand lanes;  // those of them with this one's address
    Operand before; // those of these that come before this one
    Operand leads;  // whether there are none: a mask
};
Peers find_peers(Writer &w, const Operand &address);

/// The sum of all peers, whole numbers in registers of 32 or 64 bits, in the leader's register; those of others are lost. Of several
/// registers, each by itself.
void add_up(Writer &w, const Peers &peers, const std::vector<Operand> &sums);

/// The name of the function (address, v) that adds an integer to memory; with a literal, (address). Made when first asked for.
std::string add_function(Module &module, Type t, const uint64_t *literal = nullptr);
/// That of the function (address) that adds 1 and returns the number before, another one for each lane.
std::string increment_function(Module &module);

} // namespace umbel::jit::ptx
