// core/scene_xml.h: what the parts of the scene parser share. Not for other users.
#pragma once
#include "core/scene_file.h"
#include <array>
#include <compare>

namespace umbel::scene_xml {

/// What is wrong with a value; the parser adds where it stands.
struct Problem {
    std::string what;
};

struct Version {
    int major = 0, minor = 0, patch = 0;

    auto operator<=>(const Version &) const = default;
    /// The camelCase form.
    bool is_old() const { return major < 2; }
};

// ---- Text to values: scene_xml_values.cpp. They throw Problem.

Version parse_version(std::string_view text);
bool parse_boolean(std::string_view text);
int64_t parse_integer(std::string_view text);
/// May be infinite, never NaN.
double parse_float(std::string_view text);
/// Finite.
double parse_number(std::string_view text);
/// Finite numbers separated by commas and spaces.
std::vector<double> parse_numbers(std::string_view text);
/// Three numbers, or one for all three.
std::array<double, 3> parse_triple(std::string_view text, bool one_is_enough);
/// `0.5`, `1 0.5 0`; for <srgb> also `#ff8000`, and the result is linearized.
std::array<double, 3> parse_color(std::string_view text, bool srgb);
/// One number, `wavelength:value` pairs, or (old form) bins of a fixed width.
SpectrumData parse_spectrum(std::string_view text, bool old_form);
/// Lines of wavelength and value; `#` starts a comment.
SpectrumData parse_spectrum_table(std::string_view text);
/// Kelvin, with or without the letter.
double parse_temperature(std::string_view text);
SpectrumData::Intent parse_intent(std::string_view text);
TransformData parse_matrix(std::string_view text);

// ---- Old to new: scene_xml_upgrade.cpp

/// luminaire is emitter, camera is sensor.
std::string_view canonical_kind(std::string_view tag);
/// Renames plugins and parameters and converts values, once all children have been read.
/// Parameters have been through snake_case() already.
void upgrade_object(Properties &object, const Version &version);

} // namespace umbel::scene_xml
