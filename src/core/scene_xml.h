// core/scene_xml.h: what the parts of the scene parser share. Not for other users.
#pragma once
#include "core/scene_file.h"
#include <array>
#include <compare>
#include <map>

namespace umbel::scene_xml {

/// Files and objects of so many bytes are read a few elements at a time: never is all of them a tree in memory. Tests lower it.
extern size_t stream_from;

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
/// `0.5`, `1 0.5 0`; for <srgb> also `#ff8000`, and the result is linearized. In old files, <rgb> has that as well, and
/// means linear values by it.
std::array<double, 3> parse_color(std::string_view text, bool srgb, bool old_form);
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
/// What the user is told about old files, all at once at the end.
struct Remarks {
    struct Places {
        SourceLocation first;
        int count = 0;

        void note(const SourceLocation &where) {
            if (count++ == 0)
                first = where;
        }
    };
    struct Replaced {
        std::string what, by;
        Properties *object; // null where it is gone
    };
    std::vector<Replaced> replaced;
    std::map<std::string, Places> words, unread;
    bool has_media = false;
    std::vector<std::string> channels; // that the film names
};

/// Renames plugins and parameters and converts values, once all children have been read.
/// Parameters have been through snake_case() already.
void upgrade_object(Properties &object, const Version &version, Remarks &remarks);

// ---- scene_xml_adapt.cpp

/// Of an old file: replaces a plugin that does not exist by the nearest, and takes out parameters that nothing reads.
void adapt_object(Properties &object, Remarks &remarks);
/// Once all objects have been read.
void finish_remarks(Remarks &remarks, std::vector<std::string> &warnings);

} // namespace umbel::scene_xml
