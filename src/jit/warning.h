// jit/warning.h: what users should know although work goes on; the one place where it comes out.
#pragma once
#include <functional>
#include <string>

namespace umbel::jit {

/// A line on standard error, after "umbel: ". Never throws, from any thread: nobody may be there to read it.
void warn(const std::string &text) noexcept;
/// Where warnings go instead; null: standard error.
void set_warning_sink(std::function<void(const std::string &)> sink);

} // namespace umbel::jit
