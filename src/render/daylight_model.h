// render/daylight_model.h: how the sky and the sun of a clear day look: the interface of models, which `sunsky` and its kin show.
//
// Tables of a model have a row for each height of the sun that it is asked about: a single one, or some from the horizon to
// the zenith. Radiance is in W / (m^2 sr nm). The zenith is +z.
#pragma once
#include "core/colour.h"
#include "core/params.h"
#include "core/spectrum.h"
#include "render/texture.h"
#include <cmath>
#include <memory>
#include <vector>

namespace umbel {

constexpr double SunAperture = 0.5358; // of the real sun, in degrees

struct Air {
    double turbidity;
    const Texture *ground; // its albedo; null where only the sun is asked for
    std::vector<double> sun_zeniths;
};
/// What is asked, of recorded code.
struct DaylightQuery {
    Vector3 direction, sun;
    Float row;
    const Wavelengths &wavelengths;
    Mask active;
};

class SkyModel {
public:
    virtual ~SkyModel() = default;
    virtual void prepare(const Air &air) = 0;
    /// On the host, of a row: in a direction above the horizon at an angle theta from the zenith and gamma from the sun.
    virtual double luminance(size_t row, double cos_theta, double gamma) const = 0;
    /// Above the horizon.
    virtual Spectrum eval(const DaylightQuery &q) const = 0;
    /// While a scene's parameters are collected.
    virtual void expose(Params &) {}
};

class SunModel {
public:
    virtual ~SunModel() = default;
    /// See sun_dilution().
    virtual void prepare(const Air &air, double half_aperture) = 0;
    /// Of the disk on average, of a row.
    virtual double luminance(size_t row) const = 0;
    /// In a direction inside the disk.
    virtual Spectrum eval(const DaylightQuery &q) const = 0;
};

/// What a disk of another size than the real one's is multiplied by, so that it has the same power; in radians.
inline double sun_dilution(double half_aperture) {
    double real = std::sin(0.25 * SunAperture * Pi / 180), s = std::sin(0.5 * half_aperture);
    return real * real / (s * s);
}

std::unique_ptr<SkyModel> make_preetham_sky();
std::unique_ptr<SunModel> make_preetham_sun();
std::unique_ptr<SkyModel> make_hosek_sky();
/// The disk of a detailed one is darker towards its limb and towards the horizon.
std::unique_ptr<SunModel> make_hosek_sun(bool is_detailed);

} // namespace umbel
