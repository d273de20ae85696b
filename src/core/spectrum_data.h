// core/spectrum_data.h: a colour or spectrum as written in a scene, before any colour mode is known.
#pragma once
#include <array>
#include <string>
#include <vector>

namespace umbel {

struct SpectrumData {
    enum class Kind {
        Uniform,   // `value` at every wavelength; as an illuminant, `value` times D65
        Rgb,       // `rgb`, linear, sRGB primaries; <srgb> has been linearized
        Tabulated, // `values` at increasing `wavelengths` in nm, linear in between, 0 outside
        Blackbody, // `scale` times Planck's law at `temperature` K, in W / (m^2 sr nm)
    };
    /// What a colour that is not a measured spectrum stands for when it is made spectral.
    enum class Intent { Unspecified, Reflectance, Illuminant };

    Kind kind = Kind::Uniform;
    Intent intent = Intent::Unspecified;
    double value = 0;
    std::array<double, 3> rgb = {};
    std::vector<double> wavelengths, values;
    std::string filename; // Tabulated: where the table came from, as written; may be empty
    double temperature = 0;
    double scale = 1;

    static SpectrumData uniform(double value, Intent intent = Intent::Unspecified) {
        SpectrumData s;
        s.value = value;
        s.intent = intent;
        return s;
    }
    static SpectrumData from_rgb(const std::array<double, 3> &rgb,
                                 Intent intent = Intent::Unspecified) {
        SpectrumData s;
        s.kind = Kind::Rgb;
        s.rgb = rgb;
        s.intent = intent;
        return s;
    }

    bool operator==(const SpectrumData &) const = default;
};

} // namespace umbel
