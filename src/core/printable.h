// core/printable.h: text of files in messages.
#pragma once
#include <string>
#include <string_view>

namespace umbel {

/// The text with what could command a terminal written as `\x1b`: control characters, save for line feeds and tabs, and bytes that
/// are no UTF-8.
std::string printable(std::string_view text);

} // namespace umbel
