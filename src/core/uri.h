// core/uri.h: text that stands for other bytes, as glTF files name others or have them inside.
#pragma once
#include <string>
#include <string_view>

namespace umbel {

/// UserError that begins with `where` if it is none.
std::string decode_base64(std::string_view text, const std::string &where);
/// With the characters that a % and two digits stand for.
std::string decode_uri(std::string_view uri);

} // namespace umbel
