// core/scene_xml_values.cpp: numbers, colours, spectra and matrices out of attribute values.
#include "core/scene_xml.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace umbel::scene_xml {
namespace {

constexpr std::string_view Blank = " \t\r\n";

std::string_view trim(std::string_view text) {
    size_t first = text.find_first_not_of(Blank);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(Blank) - first + 1);
}

template <class F> void for_each_token(std::string_view text, F f) {
    constexpr std::string_view separators = ", \t\r\n";
    for (size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string_view::npos;) {
        size_t end = std::min(text.find_first_of(separators, at), text.size());
        f(text.substr(at, end - at));
        at = end;
    }
}

double srgb_to_linear(double v) { // IEC 61966-2-1
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

void check_table(const SpectrumData &s) {
    if (s.wavelengths.empty())
        throw Problem{ "the spectrum is empty; give wavelength and value pairs" };
    for (size_t i = 0; i < s.wavelengths.size(); ++i) {
        if (s.wavelengths[i] <= 0)
            throw Problem{ fmt::format("the wavelength {} is not positive; wavelengths are in "
                                       "nanometers",
                                       s.wavelengths[i]) };
        if (i && s.wavelengths[i] <= s.wavelengths[i - 1])
            throw Problem{ fmt::format("the wavelength {} follows {}; put them in increasing order",
                                       s.wavelengths[i], s.wavelengths[i - 1]) };
    }
}

} // namespace

// ---- Numbers

Version parse_version(std::string_view text) {
    Version v;
    int *parts[] = { &v.major, &v.minor, &v.patch };
    std::string_view rest = trim(text);
    for (int i = 0; i < 3 && !rest.empty(); ++i) {
        auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *parts[i]);
        if (error != std::errc() || *parts[i] < 0)
            break;
        rest.remove_prefix(size_t(end - rest.data()));
        if (rest.empty())
            return v;
        if (rest[0] != '.')
            break;
        rest.remove_prefix(1);
    }
    throw Problem{ fmt::format("{} is not a version; write e.g. version=\"3.0.0\"", quote(text)) };
}

bool parse_boolean(std::string_view text) {
    std::string lower;
    for (char c : trim(text))
        lower += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    if (lower == "true")
        return true;
    if (lower == "false")
        return false;
    throw Problem{ fmt::format("{} is not a boolean; write true or false", quote(text)) };
}

int64_t parse_integer(std::string_view text) {
    std::string_view t = trim(text);
    if (t.size() > 1 && t[0] == '+' && t[1] != '-')
        t.remove_prefix(1);
    int64_t value = 0;
    auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
    if (error == std::errc::result_out_of_range)
        throw Problem{ fmt::format("the integer {} is too large; it must fit in 64 bits",
                                   quote(text)) };
    if (error != std::errc() || end != t.data() + t.size())
        throw Problem{ fmt::format("{} is not an integer; write e.g. 16", quote(text)) };
    return value;
}

double parse_float(std::string_view text) {
    std::string_view t = trim(text);
    if (t.size() > 1 && t[0] == '+' && t[1] != '-')
        t.remove_prefix(1);
    double value = 0;
    auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
    if (error == std::errc::result_out_of_range && end == t.data() + t.size()) {
        // Underflow and overflow are told apart by the exponent's sign: a tiny number is a zero.
        size_t exponent = t.find_first_of("eE");
        bool tiny =
            exponent == std::string_view::npos ? t.find('.') <= 2 : t.find('-', exponent) != t.npos;
        if (tiny)
            return t[0] == '-' ? -0.0 : 0.0;
        throw Problem{ fmt::format("the number {} is too large for a double", quote(text)) };
    }
    if (error != std::errc() || end != t.data() + t.size() || std::isnan(value))
        throw Problem{ fmt::format("{} is not a number; write e.g. 0.5", quote(text)) };
    return value;
}

double parse_number(std::string_view text) {
    double value = parse_float(text);
    if (!std::isfinite(value))
        throw Problem{ fmt::format("{} is not finite; write a finite number", quote(text)) };
    return value;
}

std::vector<double> parse_numbers(std::string_view text) {
    std::vector<double> result;
    for_each_token(text, [&](std::string_view token) { result.push_back(parse_number(token)); });
    return result;
}

std::array<double, 3> parse_triple(std::string_view text, bool one_is_enough) {
    std::vector<double> v = parse_numbers(text);
    if (v.size() == 1 && one_is_enough)
        return { v[0], v[0], v[0] };
    if (v.size() != 3)
        throw Problem{ fmt::format("{} holds {} numbers; give {}three", quote(text), v.size(),
                                   one_is_enough ? "one or " : "") };
    return { v[0], v[1], v[2] };
}

// ---- Colours and spectra

std::array<double, 3> parse_color(std::string_view text, bool srgb, bool old_form) {
    std::string_view t = trim(text);
    std::array<double, 3> rgb;
    if (!t.empty() && t[0] == '#') {
        uint32_t bits = 0;
        auto [end, error] = std::from_chars(t.data() + 1, t.data() + t.size(), bits, 16);
        if (t.size() != 7 || error != std::errc() || end != t.data() + 7)
            throw Problem{ fmt::format("{} is not a color; write e.g. #f9aa34", quote(text)) };
        if (!srgb && !old_form)
            throw Problem{ fmt::format("{} is in sRGB encoding; write it as <srgb>", quote(text)) };
        rgb = { (bits >> 16) / 255.0, ((bits >> 8) & 255) / 255.0, (bits & 255) / 255.0 };
    } else {
        rgb = parse_triple(text, true);
    }
    if (srgb)
        for (double &c : rgb)
            c = srgb_to_linear(c);
    return rgb;
}

SpectrumData parse_spectrum(std::string_view text, bool old_form) {
    SpectrumData s;
    if (old_form && trim(text).starts_with('#'))
        return SpectrumData::from_rgb(parse_color(text, false, true));

    // wavelength:value pairs. Blanks beside the colon belong to the pair.
    if (text.find(':') != std::string_view::npos) {
        s.kind = SpectrumData::Kind::Tabulated;
        std::string tidy;
        for (char c : text) {
            if (c == ':')
                while (!tidy.empty() && Blank.find(tidy.back()) != std::string_view::npos)
                    tidy.pop_back();
            else if (Blank.find(c) != std::string_view::npos && !tidy.empty() && tidy.back() == ':')
                continue;
            tidy += c;
        }
        for_each_token(tidy, [&](std::string_view token) {
            size_t colon = token.find(':');
            if (colon == std::string_view::npos || token.find(':', colon + 1) != token.npos)
                throw Problem{ fmt::format("{} is not a wavelength:value pair; write e.g. "
                                           "400:0.56, 500:0.18",
                                           quote(token)) };
            s.wavelengths.push_back(parse_number(token.substr(0, colon)));
            s.values.push_back(parse_number(token.substr(colon + 1)));
        });
        check_table(s);
        return s;
    }

    std::vector<double> v = parse_numbers(text);
    if (v.size() == 1) {
        s.value = v[0];
        return s;
    }
    if (v.empty() || !old_form)
        throw Problem{ fmt::format("{} is not a spectrum; give one number, or pairs such as "
                                   "400:0.56, 500:0.18",
                                   quote(text)) };
    // The 0.6 renderer's own representation: RGB as it was shipped, else equal bins of 360-830 nm.
    if (v.size() == 3)
        return SpectrumData::from_rgb({ v[0], v[1], v[2] });
    s.kind = SpectrumData::Kind::Tabulated;
    s.values = v;
    for (size_t i = 0; i < v.size(); ++i)
        s.wavelengths.push_back(360 + 470 * (double(i) + 0.5) / double(v.size()));
    return s;
}

SpectrumData parse_spectrum_table(std::string_view text) {
    SpectrumData s;
    s.kind = SpectrumData::Kind::Tabulated;
    int line = 0;
    while (!text.empty()) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view row = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++line;
        row = trim(row.substr(0, row.find('#')));
        if (row.empty())
            continue;
        std::vector<double> v;
        try {
            v = parse_numbers(row);
        } catch (const Problem &problem) {
            throw Problem{ fmt::format("line {}: {}", line, problem.what) };
        }
        if (v.size() != 2)
            throw Problem{ fmt::format(
                "line {}: {} holds {} numbers; give a wavelength and a value", line, quote(row),
                v.size()) };
        s.wavelengths.push_back(v[0]);
        s.values.push_back(v[1]);
    }
    check_table(s);
    return s;
}

double parse_temperature(std::string_view text) {
    std::string_view t = trim(text);
    if (!t.empty() && (t.back() == 'K' || t.back() == 'k'))
        t.remove_suffix(1);
    double value = parse_number(t);
    if (value <= 0)
        throw Problem{ fmt::format("the temperature {} is not positive; it is in Kelvin",
                                   quote(text)) };
    return value;
}

SpectrumData::Intent parse_intent(std::string_view text) {
    if (text == "reflectance")
        return SpectrumData::Intent::Reflectance;
    if (text == "illuminant")
        return SpectrumData::Intent::Illuminant;
    throw Problem{ fmt::format("the intent {} is unknown; write reflectance or illuminant",
                               quote(text)) };
}

TransformData parse_matrix(std::string_view text) {
    std::vector<double> v = parse_numbers(text);
    TransformData t;
    if (v.size() == 16)
        std::copy(v.begin(), v.end(), t.m.begin());
    else if (v.size() == 9)
        for (int i = 0; i < 9; ++i)
            t(i / 3, i % 3) = v[size_t(i)];
    else
        throw Problem{ fmt::format("the matrix holds {} numbers; give 16, or 9 without translation",
                                   v.size()) };
    return t;
}

} // namespace umbel::scene_xml
