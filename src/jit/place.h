// jit/place.h: where in the user's source an access to memory was recorded, for the checking mode's messages.
//
// The number of a place is in the upper half of the access's `imm`, in nodes and in programs: kernels of different places are then
// different ones, and accesses of different places never one. All other backends see zeros there.
#pragma once
#include "jit/context.h"
#include <string>

namespace umbel::jit {

/// Says which line is being executed, such as `script.py:12`; empty where it does not know. Scripting languages set it.
using FindPlace = std::string (*)();
void set_find_place(FindPlace find);

/// For the `imm` of an access that is recorded now; 0 unless the context checks accesses and the place is known.
uint64_t place_bits(const Context &c);
/// The place of such an `imm`; empty if it has none.
std::string place_text(uint64_t imm);

} // namespace umbel::jit
