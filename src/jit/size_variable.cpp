// jit/size_variable.cpp: see jit/size_variable.h.
#include "jit/size_variable.h"
#include "jit/error.h"
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace umbel::jit {

std::optional<uint64_t> size_variable(const char *name) {
    const char *text = std::getenv(name);
    if (!text || !*text)
        return std::nullopt;
    const char *end = text + std::strlen(text);
    double number = 0;
    auto [rest, error] = std::from_chars(text, end, number, std::chars_format::fixed);
    double unit = 1;
    if (error == std::errc() && rest != end) {
        constexpr std::string_view units = "KMGT";
        size_t k = units.find(char(std::toupper(uint8_t(*rest))));
        unit = k == units.npos ? 0 : double(1ull << 10 * (k + 1));
        std::string_view tail(rest + 1, size_t(end - rest - 1));
        if (!(tail.empty() || tail == "B" || tail == "iB"))
            unit = 0;
    }
    double bytes = number * unit;
    if (error != std::errc() || unit == 0 || !(bytes >= 0 && bytes < 0x1p62))
        fail("{}: \"{}\" is not a size; write bytes, or a number with K, M, G or T, such as 500M",
             name, text);
    return uint64_t(bytes);
}

} // namespace umbel::jit
