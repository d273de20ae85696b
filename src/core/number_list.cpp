// core/number_list.cpp: lists of numbers.
#include "core/number_list.h"
#include "jit/error.h"
#include <charconv>

namespace umbel {

std::vector<double> parse_number_list(const std::string &text, const char *name,
                                      const Properties &owner) {
    std::vector<double> out;
    const char *at = text.data(), *end = at + text.size();
    while (true) {
        while (at < end && std::string_view(" ,;\n\r\t").find(*at) != std::string_view::npos)
            ++at;
        if (at == end)
            return out;
        double v;
        auto [next, error] = std::from_chars(at, end, v);
        if (error != std::errc())
            fail("{}: {}: {} is not a number; expected numbers separated by commas",
                 owner.describe(), name, quote(std::string_view(at, size_t(end - at))));
        out.push_back(v);
        at = next;
    }
}

} // namespace umbel
