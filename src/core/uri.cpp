// core/uri.cpp: see core/uri.h.
#include "core/uri.h"
#include "jit/error.h"
#include <cstdint>
#include <cstdlib>

namespace umbel {

std::string decode_base64(std::string_view text, const std::string &where) {
    std::string out;
    uint32_t bits = 0;
    int count = 0;
    for (char c : text) {
        if (c == '=')
            break;
        int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                : c >= 'a' && c <= 'z' ? c - 'a' + 26
                : c >= '0' && c <= '9' ? c - '0' + 52
                : c == '+'             ? 62
                : c == '/'             ? 63
                                       : -1;
        if (v < 0)
            fail("{}: data in the file is not base64", where);
        bits = bits << 6 | uint32_t(v);
        if (++count == 4) {
            out += { char(bits >> 16), char(bits >> 8), char(bits) };
            bits = 0, count = 0;
        }
    }
    if (count >= 2)
        out += char(bits >> (count == 3 ? 10 : 4));
    if (count == 3)
        out += char(bits >> 2);
    return out;
}

std::string decode_uri(std::string_view uri) {
    std::string out;
    for (size_t i = 0; i < uri.size(); ++i)
        if (uri[i] == '%' && i + 2 < uri.size()) {
            out += char(std::strtol(std::string(uri.substr(i + 1, 2)).c_str(), nullptr, 16));
            i += 2;
        } else
            out += uri[i];
    return out;
}

} // namespace umbel
