// tests/plugins/ad_test.cpp: the derivative of a recorded path loop is that of path replay, random number by random number.
#include "render/render_image.h"
#include "support/scenes.h"
#include <cmath>

namespace umbel {
using namespace test;

namespace {

/// Gradients of the image's weighted sum by all numbers of a parameter, or tangents of the image along them.
std::vector<double> derivatives(const char *integrator, const std::string &key, ad::Mode mode) {
    Ref<Scene> scene = scene_from(fmt::format(
        R"(<scene version='3.0.0'>
        <integrator type='{}'><integer name='max_depth' value='4'/><integer name='rr_depth' value='3'/></integrator>
        <sensor type='perspective'><float name='fov' value='50'/>
          <transform name='to_world'><lookat origin='0,0,3.5' target='0,0,0' up='0,1,0'/></transform>
          <sampler type='independent'><integer name='sample_count' value='8'/></sampler>
          <film type='hdrfilm'><integer name='width' value='8'/><integer name='height' value='8'/>
            <rfilter type='box'/></film></sensor>
        <bsdf type='diffuse' id='red'><rgb name='reflectance' value='0.6,0.2,0.1'/></bsdf>
        <shape type='rectangle' id='wall'><transform name='to_world'><translate z='-1'/></transform>
          <bsdf type='roughplastic' id='plastic'><float name='alpha' value='0.3'/></bsdf></shape>
        <shape type='rectangle'><transform name='to_world'><rotate y='1' angle='90'/><translate x='-1'/></transform><ref id='red'/></shape>
        <shape type='sphere'><float name='radius' value='0.5'/>
          <bsdf type='dielectric' id='glass'><rgb name='specular_transmittance' value='0.9,0.8,0.7'/></bsdf></shape>
        <shape type='rectangle' id='light'><transform name='to_world'><rotate x='1' angle='90'/><translate y='0.98'/></transform>
          <emitter type='area'><rgb name='radiance' value='8,7,5'/></emitter></shape></scene>)",
        integrator));
    SceneParameters params(scene);
    std::vector<Float *> slots;
    const Slot &slot = params.at(key).param.slot;
    if (auto *c = std::get_if<std::array<Float *, 3>>(&slot))
        slots.assign(c->begin(), c->end());
    else
        slots = { std::get<Float *>(slot) };
    for (Float *v : slots)
        ad::enable_grad(*v, key);
    params.update({ key });
    RenderOptions o{ .seed = 5 };
    Float image = render_image(scene, &params, o, o);
    std::vector<double> out;
    if (mode == ad::Mode::Backward) {
        std::vector<double> weights(image.size());
        for (size_t i = 0; i < weights.size(); ++i)
            weights[i] = std::cos(double(i));
        ad::set_grad(image, float_array(weights));
        ad::backward_from(image);
        for (Float *v : slots)
            for (double g : read_floats(Float(ad::grad(*v))))
                out.push_back(g);
    } else {
        for (Float *v : slots) {
            ad::set_grad(*v, Float(1));
            ad::enqueue(ad::Mode::Forward, *v);
        }
        ad::traverse(ad::Mode::Forward);
        out = read_floats(Float(ad::grad(image)));
    }
    for (Float *v : slots)
        *v = Float(v->detached());
    params.update({ key });
    return out;
}

} // namespace

class BackendAd : public VariantTest {};
UMBEL_VARIANTS(BackendAd, "llvm_ad_rgb_double", "interp_ad_rgb_double", "llvm_ad_spectral_double")

TEST_P(BackendAd, HasTheDerivativeOfPathReplay) {
    for (const char *key : { "red.reflectance.value", "plastic.alpha",
                             "glass.specular_transmittance.value", "light.emitter.radiance.value" })
        for (ad::Mode mode : { ad::Mode::Backward, ad::Mode::Forward }) {
            if (std::string(GetParam()) == "llvm_ad_spectral_double" && mode == ad::Mode::Forward)
                continue; // takes a second to compile
            std::vector<double> a = derivatives("prb", key, mode), b = derivatives("ad", key, mode);
            ASSERT_EQ(a.size(), b.size());
            double largest = 0;
            for (double x : a)
                largest = std::max(largest, std::abs(x));
            EXPECT_GT(largest, 1e-6) << key << ": nothing to see";
            for (size_t i = 0; i < a.size(); ++i)
                EXPECT_NEAR(a[i], b[i], 1e-9 * largest) << key << ", number " << i;
        }
}

TEST_P(BackendAd, RendersWhatPathDoes) {
    auto seen = [](const char *integrator) {
        Ref<Scene> scene = scene_from(
            scene_xml("<shape type='sphere'/><emitter type='constant'/>", 8, 4, integrator));
        RenderOptions o;
        return read_floats(render_image(scene, nullptr, o, o));
    };
    EXPECT_EQ(seen("ad"), seen("prb"));
    EXPECT_EQ(seen("rb"), seen("prb"));
}

} // namespace umbel
