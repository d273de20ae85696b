// core/warning.h: what users should know although work goes on.
#pragma once
#include <functional>
#include <string>

namespace umbel {

/// A line on standard error, after "umbel: "; what commands terminals in it is shown. Never throws, from any thread.
void warn(const std::string &text) noexcept;
/// Where warnings go instead, those of the layers below too; null: standard error.
void set_warning_sink(std::function<void(const std::string &)> sink);

} // namespace umbel
