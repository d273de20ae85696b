// support/phases.h: phase functions on their own.
#pragma once
#include "render/phase.h"
#include "support/media.h"

namespace umbel::test {

inline Ref<PhaseFunction> phase_from(const std::string &xml) {
    return medium_from("<medium type='homogeneous'>" + xml + "</medium>")->phase_ref();
}

/// Light that goes along z is scattered, somewhere.
inline MediumInteraction collision_along_z() {
    MediumInteraction mei;
    mei.p = Vector3(Float(0.3), Float(0.6), Float(0.2));
    mei.n = Vector3(Float(0));
    mei.t = Float(1);
    mei.time = Float(0);
    mei.wavelengths = ray_from(0, 1).wavelengths;
    mei.wi = { Float(0), Float(0), Float(-1) };
    mei.sh_frame = Frame(mei.wi);
    return mei;
}

/// In directions drawn from it: the cosine of the angle by which light is turned.
inline Float sampled_cosines(const PhaseFunction &phase, size_t n) {
    Vector2 u{ make(uniform_numbers(5, n)), make(uniform_numbers(6, n)) };
    return phase.sample({}, collision_along_z(), make(uniform_numbers(7, n)), u, true).wo.z;
}

/// The first channel, for a cosine of that angle.
inline double phase_value(const PhaseFunction &phase, double cosine) {
    double sine = std::sqrt(1 - cosine * cosine);
    Vector3 wo{ Float(0.6 * sine), Float(-0.8 * sine), Float(cosine) };
    auto [value, pdf] = phase.eval_pdf({}, collision_along_z(), wo, true);
    return read_floats(unpolarized(value)[0])[0];
}

} // namespace umbel::test
