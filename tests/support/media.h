// support/media.h: small scenes with media, and one medium that only tests know.
#pragma once
#include "render/medium.h"
#include "support/scenes.h"

namespace umbel::test {

/// `count` lanes of a sampler of their own.
inline SampleStream sample_stream(const Sampler &sampler, uint32_t count, uint32_t seed = 0) {
    UInt32 lane(jit::lane_index(count));
    return { &sampler, sampler.begin(jit::opaque(seed), lane, UInt32(0u)) };
}

inline Ref<Medium> medium_from(const std::string &xml) {
    Properties root = parse_scene_string("<scene version='3.0.0'><sensor type='perspective'>" +
                                         xml + "</sensor></scene>");
    Loader loader;
    return loader.load_as<Medium>(root.objects("sensor").at(0)->objects("medium").at(0));
}

/// Along z from `z`.
inline Ray ray_from(double z, double maxt) {
    Ray ray{ { Float(0), Float(0), Float(z) },
             { Float(0), Float(0), Float(1) },
             Float(maxt),
             Float(0),
             {} };
    if (variant().colour == Colour::Spectral)
        ray.wavelengths = Spectrum(std::vector<Float>{ 420, 500, 580, 660 });
    return ray;
}

/// Mean and standard error of numbers.
inline Estimate estimate(const Float &numbers) {
    std::vector<double> v = read_floats(numbers);
    double sum = 0, squares = 0, n = double(v.size());
    for (double x : v)
        sum += x, squares += x * x;
    return { sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * sum / n) / (n - 1)) };
}
inline void expect_estimate(const Float &numbers, double want, const std::string &what) {
    Estimate e = estimate(numbers);
    EXPECT_LT(std::abs(e.mean - want), 4 * e.error + 1e-5)
        << what << ": " << e.mean << " +- " << e.error << " instead of " << want << ", "
        << variant().name;
}

/// A sphere of air's surface with a medium inside.
inline std::string filled_sphere(const std::string &medium, double radius = 1) {
    return fmt::format("<shape type='sphere'><float name='radius' value='{}'/><bsdf type='null'/>"
                       "<ref name='interior' id='filling'/></shape>{}",
                       radius, medium);
}
/// The same, and the camera in its centre, so that all rays are as long as the radius.
inline std::string scene_inside(const std::string &medium, double radius, const std::string &body,
                                int size, int spp) {
    std::string xml = scene_xml(filled_sphere(medium, radius) + body, size, spp, "volpath",
                                "<lookat origin='0,0,0' target='0,0,-1' up='0,1,0'/>");
    return xml.replace(xml.find("<film"), 0, "<ref id='filling'/>");
}
inline const char *Sky = "<emitter type='constant'><rgb name='radiance' value='1,1,1'/></emitter>";

} // namespace umbel::test
