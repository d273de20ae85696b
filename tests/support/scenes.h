// support/scenes.h: small scenes for tests of the renderer, and what images of them say.
#pragma once
#include "core/host_array.h"
#include "core/scene_file.h"
#include "render/driver.h"
#include "support/variant_fixture.h"
#include <cmath>

namespace umbel::test {

/// A scene with a camera of `size` x `size` pixels at the origin of `body`'s space, looking along -z.
inline std::string
scene_xml(const std::string &body, int size, int spp, const std::string &integrator = "path",
          const std::string &camera = "<lookat origin='0,0,4' target='0,0,0' up='0,1,0'/>") {
    return fmt::format(
        "<scene version='3.0.0'><integrator type='{}'/><sensor type='perspective'>"
        "<float name='fov' value='40'/><transform name='to_world'>{}</transform>"
        "<film type='hdrfilm'><integer name='width' value='{}'/><integer name='height' value='{}'/>"
        "<rfilter type='box'/></film><sampler type='independent'>"
        "<integer name='sample_count' value='{}'/></sampler></sensor>{}</scene>",
        integrator, camera, size, size, spp, body);
}

inline Ref<Scene> scene_from(const std::string &xml) { return load_scene(parse_scene_string(xml)); }

inline Image render_image(const Scene &scene, const RenderOptions &options = {}) {
    Render render(scene, options);
    render.run();
    return render.image();
}

/// Mean of a channel over all pixels, with its standard error from the pixels' own spread, which must all
/// estimate the same.
struct Estimate {
    double mean, error;
};
inline Estimate channel_mean(const Image &image, size_t channel) {
    double sum = 0, squares = 0, n = double(image.pixels());
    for (size_t y = 0; y < image.height(); ++y)
        for (size_t x = 0; x < image.width(); ++x) {
            double v = image.get(x, y, channel);
            sum += v;
            squares += v * v;
        }
    double mean = sum / n;
    return { mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1)) };
}

/// Each channel's mean is `want`: within 4 standard errors, plus rounding.
inline void expect_mean(const Image &image, double want) {
    for (size_t c = 0; c < image.channel_count(); ++c) {
        Estimate e = channel_mean(image, c);
        EXPECT_LT(std::abs(e.mean - want), 4 * e.error + 1e-3 * want)
            << "channel " << image.channels()[c] << ": " << e.mean << " +- " << e.error
            << " instead of " << want << ", variant " << variant().name;
    }
}

inline bool same_pixels(const Image &a, const Image &b) {
    return a.byte_count() == b.byte_count() &&
           std::memcmp(a.bytes(), b.bytes(), a.byte_count()) == 0;
}

/// Computes all values of a record, or of several, in one launch.
template <class... T> void compute(const T &...records) {
    auto note = [](const Value &v) {
        if (v.valid())
            jit::schedule(v);
    };
    (jit::visit_values(records, note), ...);
    jit::eval();
}

/// A place on a plane z = 0 where light comes from the direction `wi`.
inline SurfaceInteraction hit_from(const Vector3 &wi) {
    SurfaceInteraction si;
    si.t = Float(1);
    si.time = Float(0);
    si.p = Vector3(Float(0));
    si.n = Vector3(0, 0, 1);
    si.sh_frame = Frame(si.n);
    si.uv = { opaque_float(0.3), opaque_float(0.6) };
    si.dp_du = si.sh_frame.s;
    si.dp_dv = si.sh_frame.t;
    if (variant().colour == Colour::Spectral)
        si.wavelengths = Spectrum(std::vector<Float>{ 420, 500, 580, 660 });
    si.wi = wi;
    return si;
}

} // namespace umbel::test
