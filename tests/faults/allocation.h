// faults/allocation.h: memory that runs out at a chosen moment.
#pragma once
#include <cstdint>

namespace umbel::test {

/// The k-th request for memory of Umbel's own code from now on fails, and no other; 0: none does. Requests are those of `new`,
/// of arrays and of tables, on all threads. Libraries are served: oneTBB and Embree are not ours to mend.
void fail_allocation(uint64_t k);
/// Requests since the last call of `fail_allocation`.
uint64_t allocations();
/// Before the first of them.
void find_own_code();

} // namespace umbel::test
