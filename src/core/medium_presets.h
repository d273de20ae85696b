// core/medium_presets.h: measured scattering of food and other things, by name.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace umbel {

/// Coefficients per millimeter for red, green and blue.
struct MediumPreset {
    const char *name;
    std::array<double, 3> sigma_s, sigma_a;
    std::array<double, 3>
        g;      // mean cosine of the scattering angle; 0 where sigma_s is the reduced one
    double eta; // index of refraction
};
/// Such as "skin1", in any case; a UserError suggests the nearest.
const MediumPreset &medium_preset(std::string_view name);
std::vector<std::string> medium_preset_names();

} // namespace umbel
