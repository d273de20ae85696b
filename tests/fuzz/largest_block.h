// fuzz/largest_block.h: what the program asked for at once: a file of a few kilobytes has no reason to need much.
#pragma once
#include <atomic>
#include <cstddef>

namespace umbel::test {

/// The size of the largest block of `new` so far; may be set back to 0.
extern std::atomic<size_t> largest_block;

} // namespace umbel::test
