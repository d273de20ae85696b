// core/nearest_name.h: "did you mean": the known name closest to a misspelt one.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace umbel {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`; upper and
/// lower case count as equal, and so do `_` and nothing (`toWorld` is 0 from `to_world`).
int name_distance(std::string_view a, std::string_view b);

/// The closest of `known`, or empty if none is near enough to be what was meant.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

/// `; did you mean "x"?`, or a list of `known`, or nothing if that is empty too.
std::string suggestion(std::string_view name, std::span<const std::string> known,
                       std::string_view plural);

} // namespace umbel
