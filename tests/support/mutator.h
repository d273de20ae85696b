// support/mutator.h: damage to files, the same for the same seed.
#pragma once
#include <algorithm>
#include <random>
#include <string>

namespace umbel::test {

class Mutator {
public:
    explicit Mutator(uint32_t seed) : m_random(seed) {}

    /// Bytes and tags of a scene file changed, cut out, repeated or swapped.
    std::string damage_xml(std::string text) {
        for (size_t n = 1 + below(4); n > 0 && !text.empty(); --n)
            damage_xml_once(text);
        return text;
    }

    /// Bits and bytes changed, parts cut out, repeated or swapped. Half of it goes to the beginning: headers are where it
    /// does most harm.
    std::string damage_bytes(std::string s) {
        for (size_t n = 1 + below(4); n > 0 && !s.empty(); --n) {
            size_t a = below(below(2) ? s.size() : std::min<size_t>(s.size(), 400));
            size_t length = std::min(s.size() - a, 1 + below(16));
            switch (below(7)) {
            case 0: s.resize(a); break;
            case 1: s[a] = char(s[a] ^ (1 << below(8))); break;
            case 2: s[a] = char(below(3) ? below(256) : below(2) ? 0xff : 0); break;
            case 3: s.erase(a, length); break;
            case 4: s.insert(a, s.substr(a, length)); break;
            case 5: swap_lines(s, a); break;
            default: replace_number(s, a);
            }
        }
        return s;
    }

private:
    size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(m_random); }

    // The line after `at` changes places with another one.
    void swap_lines(std::string &s, size_t at) {
        size_t a = s.find('\n', at), b = s.find('\n', below(s.size()));
        if (a > b)
            std::swap(a, b);
        size_t a_end = s.find('\n', a + 1), b_end = s.find('\n', b + 1);
        if (b == s.npos || b_end == s.npos || a_end > b)
            return;
        std::string first = s.substr(a, a_end - a), second = s.substr(b, b_end - b);
        s.replace(b, second.size(), first);
        s.replace(a, first.size(), second);
    }

    // The number after `at` becomes one that programs like least.
    void replace_number(std::string &s, size_t at) {
        static const std::string numbers[] = {
            "-1",         "0",      "4294967295", "18446744073709551615", "1e308", "nan", "-inf",
            "2147483648", "1e-320", "0.5"
        };
        size_t first = s.find_first_of("0123456789", at);
        if (first == s.npos)
            return;
        size_t last = std::min(s.find_first_not_of("0123456789.", first), s.size());
        s.replace(first, last - first, numbers[below(std::size(numbers))]);
    }

    void damage_xml_once(std::string &text) {
        static const std::string fragments[] = { "<",
                                                 ">",
                                                 "\"",
                                                 "/>",
                                                 "$",
                                                 "${",
                                                 "&#0;",
                                                 "<![CDATA[",
                                                 "1e999",
                                                 "-nan",
                                                 "<ref id=\"box\"/>",
                                                 "</bsdf>",
                                                 "<scene>",
                                                 "<!DOCTYPE a [",
                                                 "<include filename=\"x\"/>",
                                                 "id=\"box\" ",
                                                 "99999999999999999999999",
                                                 "\xff\xfe",
                                                 "::",
                                                 "2147483647",
                                                 "-1",
                                                 "0" };
        size_t at = below(text.size()), length = std::min(text.size() - at, 1 + below(40));
        switch (below(8)) {
        case 0: text[at] = char(below(256)); break;
        case 1: text[at] ^= char(1 << below(8)); break;
        case 2: text.erase(at, length); break;
        case 3: text.resize(at); break;
        case 4: text.insert(at, fragments[below(std::size(fragments))]); break;
        case 5: text.insert(below(text.size()), text.substr(at, length)); break;
        case 6: { // two elements change places
            size_t a = text.find('<', at), b = text.find('<', below(text.size()));
            size_t a_end = text.find('>', a), b_end = text.find('>', b);
            if (a_end == text.npos || b_end == text.npos || a_end >= b)
                break;
            std::string first = text.substr(a, a_end - a + 1);
            std::string second = text.substr(b, b_end - b + 1);
            text.replace(b, second.size(), first);
            text.replace(a, first.size(), second);
            break;
        }
        default: { // a value becomes another
            size_t quote = text.find('"', at), end = text.find('"', quote + 1);
            if (end != text.npos)
                text.replace(quote + 1, end - quote - 1, fragments[below(std::size(fragments))]);
        }
        }
    }

    std::mt19937 m_random;
};

} // namespace umbel::test
