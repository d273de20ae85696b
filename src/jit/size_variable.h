// jit/size_variable.h: sizes in variables of the environment.
#pragma once
#include <cstdint>
#include <optional>

namespace umbel::jit {

/// The bytes that a variable says, such as 500M or 2G; none where it is not set or empty. UserError for a size that is none.
std::optional<uint64_t> size_variable(const char *name);

} // namespace umbel::jit
