// jit/remark.h: what users should know although work goes on.
#pragma once
#include <string>

namespace umbel::jit {

/// A line on standard error, after "umbel: ", or what the layers above make of it. Never throws, from any thread.
void remark(const std::string &text) noexcept;
/// Null: standard error.
void set_remark_sink(void (*sink)(const std::string &text) noexcept) noexcept;

} // namespace umbel::jit
