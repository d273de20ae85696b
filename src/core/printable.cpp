// core/printable.cpp: which bytes a terminal may see.
#include "core/printable.h"
#include <fmt/format.h>

namespace umbel {

namespace {

/// Bytes of the character that a text begins with; 0 where these are no UTF-8, in its shortest form.
size_t character_length(std::string_view text) {
    auto at = [&](size_t i) { return i < text.size() ? (unsigned char)text[i] : 0u; };
    unsigned first = at(0), second = at(1);
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first > 0xf4 || (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90))
        return 0;
    for (size_t i = 1; i < n; ++i)
        if ((at(i) & 0xc0) != 0x80)
            return 0;
    return n;
}

} // namespace

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        size_t n = character_length(text);
        unsigned char c = (unsigned char)text[0];
        bool is_control = (c < 32 && c != '\n' && c != '\t') || c == 127 ||
                          (n == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0);
        size_t used = n == 0 ? 1 : n;
        if (n == 0 || is_control)
            for (unsigned char byte : text.substr(0, used))
                out += fmt::format("\\x{:02x}", byte);
        else
            out += text.substr(0, used);
        text.remove_prefix(used);
    }
    return out;
}

} // namespace umbel
