// jit/available_memory.h: how much memory there is to be had.
#pragma once
#include <cstdint>
#include <string>

namespace umbel::jit {

/// What this process could still take: of the machine's memory and swap, of its control groups', of its own limits. Files that the
/// system tells this by are looked for below `root`, which is for tests.
uint64_t available_memory(const std::string &root = "");
/// The same for messages: `12.5 MiB of memory are left`.
std::string memory_left();

} // namespace umbel::jit
