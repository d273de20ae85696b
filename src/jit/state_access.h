// jit/state_access.h: an access by index to an array that a loop being recorded has in its state.
#pragma once
#include "jit/error.h"
#include <cstdint>

namespace umbel::jit {

/// Lanes own the state of a loop; it has no elements to gather or to scatter to. Who records on behalf of a
/// script can leave the array out of the state and try again.
struct StateAccess : UserError {
    StateAccess(const std::string &message, uint32_t node) : UserError(message), node(node) {}
    uint32_t node; // the state, as the body sees it
};

} // namespace umbel::jit
