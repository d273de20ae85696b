// tests/render/gradient_test.cpp: derivatives of images with respect to parameters of their scenes.
#include "render/render_image.h"
#include "support/scenes.h"
#include <cmath>
#include <map>

namespace umbel {
using namespace test;

namespace {

// A box with a red and a white part, a light, and whatever else there is to see.
std::string box_xml(const std::string &inside, int max_depth = 5, const char *light = "8,7,5",
                    int size = 12) {
    return fmt::format(R"(<scene version='3.0.0'>
        <integrator type='prb'><integer name='max_depth' value='{}'/><integer name='rr_depth' value='100'/></integrator>
        <sensor type='perspective'><float name='fov' value='50'/>
          <transform name='to_world'><lookat origin='0,0,3.5' target='0,0,0' up='0,1,0'/></transform>
          <sampler type='independent'><integer name='sample_count' value='32'/></sampler>
          <film type='hdrfilm'><integer name='width' value='{}'/><integer name='height' value='{}'/>
            <rfilter type='box'/></film></sensor>
        <bsdf type='diffuse' id='red'><rgb name='reflectance' value='0.6,0.2,0.1'/></bsdf>
        <bsdf type='diffuse' id='white'><rgb name='reflectance' value='0.7,0.7,0.6'/></bsdf>
        <shape type='rectangle'><transform name='to_world'><translate z='-1'/></transform><ref id='white'/></shape>
        <shape type='rectangle'><transform name='to_world'><rotate y='1' angle='90'/><translate x='-1'/></transform><ref id='red'/></shape>
        <shape type='rectangle'><transform name='to_world'><rotate x='1' angle='-90'/><translate y='-1'/></transform><ref id='white'/></shape>
        <shape type='rectangle' id='light'><transform name='to_world'><rotate x='1' angle='90'/><scale value='0.5'/><translate y='0.98'/></transform>
          <emitter type='area'><rgb name='radiance' value='{}'/></emitter></shape>
        {}</scene>)",
                       max_depth, size, size, light, inside);
}

Float *component(const SceneParameters &params, const std::string &key, size_t i) {
    const Slot &slot = params.at(key).param.slot;
    if (auto *c = std::get_if<std::array<Float *, 3>>(&slot))
        return (*c)[i];
    return std::get<Float *>(slot);
}

double mean_of(const Float &image) {
    double sum = 0;
    for (double v : read_floats(image))
        sum += v;
    return sum / image.size();
}

struct Derivatives { // of the mean of the image
    double forward, backward, difference;
};

// All three with the same random numbers for each.
Derivatives derivatives(const Ref<Scene> &scene, const std::string &key, size_t i, uint32_t seed,
                        double step, int spp = 0) {
    SceneParameters params(scene);
    Float *v = component(params, key, i), original = *v;
    RenderOptions options{ .spp = spp, .seed = seed };
    auto shifted = [&](double by) {
        *v = opaque_float(read_floats(original)[0] + by);
        params.update({ key });
        return mean_of(render_image(scene, nullptr, options, options));
    };
    Derivatives d{};
    d.difference = (shifted(step) - shifted(-step)) / (2 * step);

    auto follow = [&] {
        *v = original;
        ad::enable_grad(*v, key);
        params.update({ key });
        return render_image(scene, &params, options, options);
    };
    Float image = follow();
    ad::set_grad(image, Float(1.0 / image.size()));
    ad::backward_from(image);
    d.backward = read_floats(Float(ad::grad(*v)))[0];
    image = follow();
    ad::forward(*v);
    d.forward = mean_of(Float(ad::grad(image)));
    *v = original;
    params.update({ key });
    return d;
}

} // namespace

class Gradients : public VariantTest {
protected:
    // Where sampling does not depend on the parameter, the derivative of the estimate is the estimate of the
    // derivative: central differences agree to their own error.
    void expect_exact(const std::string &inside, const std::string &key, size_t i = 0) {
        Ref<Scene> scene = scene_from(box_xml(inside));
        Derivatives d = derivatives(scene, key, i, 7, 1e-4);
        EXPECT_GT(std::abs(d.difference), 1e-4) << key << ": nothing to see";
        EXPECT_NEAR(d.backward, d.difference, 1e-6 * std::abs(d.difference)) << key;
        EXPECT_NEAR(d.forward, d.backward, 1e-9 * std::abs(d.difference)) << key;
        EXPECT_EQ(ad::live_nodes(), 0u) << ad::listing();
    }
    // Elsewhere both are compared over many seeds.
    void expect_agreement(const Ref<Scene> &scene, const std::string &key, double step, int spp) {
        const int n = 24;
        double sum = 0, sum2 = 0, size = 0;
        for (int seed = 0; seed < n; ++seed) {
            Derivatives d = derivatives(scene, key, 0, uint32_t(seed), step, spp);
            EXPECT_NEAR(d.forward, d.backward, 1e-3 * std::abs(d.backward) + 1e-7) << key;
            double e = d.backward - d.difference;
            sum += e;
            sum2 += e * e;
            size += d.difference;
        }
        double mean = sum / n, deviation = std::sqrt((sum2 / n - mean * mean) / (n - 1));
        EXPECT_GT(std::abs(size / n), 1e-5) << key << ": nothing to see";
        EXPECT_LT(std::abs(mean), 3 * deviation) << key << ", derivative " << size / n;
        EXPECT_LT(deviation, 0.15 * std::abs(size / n)) << key << ": too noisy to tell";
    }
};

class ExactGradients : public Gradients {};
UMBEL_VARIANTS(ExactGradients, "llvm_ad_rgb_double", "interp_ad_rgb_double", "llvm_ad_mono_double")

TEST_P(ExactGradients, OfReflectances) {
    expect_exact("", "red.reflectance.value");
    expect_exact("", "white.reflectance.value", 0);
}
TEST_P(ExactGradients, OfEmission) {
    expect_exact("", "light.emitter.radiance.value");
    expect_exact("<emitter type='point' id='lamp'><point name='position' x='0' y='0.5' z='0'/>"
                 "<rgb name='intensity' value='1,2,3'/></emitter>",
                 "lamp.intensity.value");
    expect_exact("<emitter type='constant' id='sky'><rgb name='radiance' value='1,2,3'/></emitter>",
                 "sky.radiance.value");
}
TEST_P(ExactGradients, ThroughDeltaLobes) {
    std::string ball = "<shape type='sphere'><point name='center' x='0.2' y='-0.4' z='0'/>"
                       "<float name='radius' value='0.5'/>";
    expect_exact(ball + "<bsdf type='conductor' id='mirror'><rgb name='specular_reflectance' "
                        "value='0.9,0.8,0.7'/></bsdf></shape>",
                 "mirror.specular_reflectance.value");
    expect_exact(ball + "<bsdf type='dielectric' id='glass'><rgb name='specular_transmittance' "
                        "value='0.9,0.8,0.7'/></bsdf></shape>",
                 "glass.specular_transmittance.value");
    expect_exact(ball + "<bsdf type='twosided' id='both'><bsdf type='diffuse'><rgb "
                        "name='reflectance' value='0.3,0.2,0.1'/></bsdf></bsdf></shape>",
                 "both.brdf_0.reflectance.value");
}
TEST_P(ExactGradients, OfIndicesOfASmoothMetal) {
    expect_exact("<shape type='sphere'><float name='radius' value='0.5'/>"
                 "<bsdf type='conductor' id='metal'><float name='eta' value='0.2'/>"
                 "<float name='k' value='3'/></bsdf></shape>",
                 "metal.k.value");
}

// Of a closed room: what the first walk has not kept of a path is found again.
TEST_P(ExactGradients, OfPathsLongerThanWhatIsKeptOfThem) {
    auto expect = [](int max_depth, const char *albedo) {
        SCOPED_TRACE(max_depth);
        std::string room =
            fmt::format("<shape type='sphere'><float name='radius' value='8'/><boolean "
                        "name='flip_normals' value='true'/><bsdf type='diffuse' id='room'>"
                        "<rgb name='reflectance' value='{0},{0},{0}'/></bsdf></shape>",
                        albedo);
        Ref<Scene> scene = scene_from(box_xml(room, max_depth));
        Derivatives d = derivatives(scene, "room.reflectance.value", 0, 7, 1e-5);
        EXPECT_GT(std::abs(d.difference), 1e-4);
        EXPECT_NEAR(d.backward, d.difference, 1e-6 * std::abs(d.difference));
        EXPECT_NEAR(d.forward, d.backward, 1e-9 * std::abs(d.difference));
    };
    expect(16, "0.95");
    expect(24, "0.95");
    expect(-1, "0.6");
}

// Of an integrator inside another one, and of the channels that the outer one adds.
TEST_P(ExactGradients, OfChannelsBesideTheColour) {
    std::string xml = box_xml(""), begin = "<integrator type='prb'>", end = "</integrator>";
    xml.replace(xml.find(end), end.size(), end + end);
    xml.replace(xml.find(begin), begin.size(),
                "<integrator type='aov'><string name='aovs' value='a:albedo,d:depth'/>" + begin);
    Ref<Scene> scene = scene_from(xml);
    Derivatives inside = derivatives(scene_from(box_xml("")), "red.reflectance.value", 0, 7, 1e-4);
    Derivatives d = derivatives(scene, "red.reflectance.value", 0, 7, 1e-4);
    EXPECT_NEAR(d.backward, d.difference, 1e-6 * std::abs(d.difference));
    EXPECT_NEAR(d.forward, d.backward, 1e-9 * std::abs(d.difference));
    double colours = variant().colour == Colour::Mono ? 1 : 3, all = colours + 4;
    EXPECT_GT(d.backward, inside.backward * colours / all * 1.01) << "the albedo counts, too";
}

// However many there are, and whatever is made of what they see: each one differentiates itself.
TEST_P(ExactGradients, OfIntegratorsInsideOthers) {
    std::string xml = box_xml(""), end = "</integrator>", inner = "<integrator type='prb'>";
    size_t first = xml.find(inner);
    inner = xml.substr(first, xml.find(end) + end.size() - first);
    auto expect = [&](const std::string &outer) {
        SCOPED_TRACE(outer);
        std::string nested = xml;
        nested.replace(first, inner.size(), outer);
        Derivatives d = derivatives(scene_from(nested), "red.reflectance.value", 0, 7, 1e-4);
        EXPECT_GT(std::abs(d.difference), 1e-4);
        EXPECT_NEAR(d.backward, d.difference, 2e-6 * std::abs(d.difference));
        EXPECT_NEAR(d.forward, d.backward, 1e-9 * std::abs(d.difference));
        EXPECT_EQ(ad::live_nodes(), 0u) << ad::listing();
    };
    std::string aov = "<integrator type='aov'><string name='aovs' value='a:albedo'/>",
                direct = "<integrator type='direct' name='direct'/>";
    expect("<integrator type='moment'>" + inner + end);
    expect("<integrator type='multichannel'>" + inner + direct + end);
    expect(aov + direct + inner + end);
    expect("<integrator type='multichannel'>" + aov + inner + end + "<integrator type='moment'>" +
           inner + end + end);
}

TEST(Replay, TracesNoRayASecondTime) {
    VariantScope scope(find_variant("llvm_ad_rgb"));
    Ref<Scene> scene = scene_from(box_xml(""));
    SceneParameters params(scene);
    ad::enable_grad(*component(params, "red.reflectance.value", 0));
    params.update({ "red.reflectance.value" });
    std::map<std::string, int> traced; // by the kernel of both walks
    auto look = [&] { // between launches: what comes last tells of derivatives that are not finite
        traced.clear();
        for (const jit::ExternSite &site : variant().context().last_program().externs)
            ++traced[site.text];
        return true;
    };
    Float image = render_image(scene, &params, {}, { .launch_pixels = 8, .go_on = look });
    ad::set_grad(image, Float(1));
    ad::backward_from(image);
    EXPECT_EQ(traced["embree intersect"], 1) << "the second walk knows what the first one met";
    EXPECT_EQ(traced["embree occluded"], 1) << "and whether it saw the light";
}

TEST(NestedGradients, ThatCannotBeGivenAreErrors) {
    VariantScope scope(find_variant("llvm_ad_rgb"));
    std::string xml = box_xml(""), end = "</integrator>";
    size_t first = xml.find("<integrator");
    xml.replace(first, xml.find(end) + end.size() - first,
                "<integrator type='moment'><integrator type='volpath'/></integrator>");
    std::string m =
        user_error([&] { derivatives(scene_from(xml), "red.reflectance.value", 0, 7, 1e-4, 1); });
    EXPECT_NE(m.find("has no derivatives"), std::string::npos) << m;
    jit::eval(); // what was recorded by then
}

class SpectralGradients : public Gradients {};
UMBEL_VARIANTS(SpectralGradients, "llvm_ad_spectral_double")

TEST_P(SpectralGradients, OfColoursGoThroughTheirSpectra) {
    // The derivative of the table that maps colours to spectra is piecewise linear; the values are a fit
    Ref<Scene> scene = scene_from(box_xml(""));
    for (const char *key : { "red.reflectance.value", "light.emitter.radiance.value" }) {
        Derivatives d = derivatives(scene, key, 0, 7, 1e-2);
        EXPECT_NEAR(d.backward, d.difference, 0.1 * std::abs(d.difference)) << key;
        EXPECT_NEAR(d.forward, d.backward, 1e-9 * std::abs(d.difference)) << key;
    }
}
TEST_P(SpectralGradients, OfTabulatedIndices) {
    Ref<Scene> scene = scene_from(box_xml(
        "<shape type='sphere'><float name='radius' value='0.5'/>"
        "<bsdf type='conductor' id='metal'><string name='material' value='Cu'/></bsdf></shape>"));
    SceneParameters params(scene);
    Float *k = std::get<Float *>(params.at("metal.k.values").param.slot), before = *k;
    RenderOptions o{ .seed = 3 };
    auto scaled = [&](double by) {
        *k = before * opaque_float(by);
        params.update({ "metal.k.values" });
        return mean_of(render_image(scene, nullptr, o, o));
    };
    double difference = (scaled(1.001) - scaled(0.999)) / 0.002;
    Float factor = opaque_float(1);
    ad::enable_grad(factor);
    *k = before * factor;
    params.update({ "metal.k.values" });
    Float image = render_image(scene, &params, o, o);
    ad::set_grad(image, Float(1.0 / image.size()));
    ad::backward_from(image);
    EXPECT_NEAR(read_floats(Float(ad::grad(factor)))[0], difference, 1e-5 * std::abs(difference));
}

class SampledGradients : public Gradients {};
UMBEL_VARIANTS(SampledGradients, "llvm_ad_rgb", "llvm_ad_spectral")

TEST_P(SampledGradients, OfTheRoughnessOfAMetal) {
    Ref<Scene> scene = scene_from(
        box_xml("<shape type='sphere'><float name='radius' value='0.6'/>"
                "<bsdf type='roughconductor' id='metal'><float name='alpha' value='0.4'/>"
                "<string name='distribution' value='ggx'/></bsdf></shape>",
                4));
    expect_agreement(scene, "metal.alpha.value", 0.02, 32);
}
TEST_P(SampledGradients, OfTheIndexAndRoughnessOfGroundGlass) {
    // A pane in front of the back wall, which shows the light's reflection and the wall behind it
    Ref<Scene> scene = scene_from(box_xml(
        "<emitter type='point'><point name='position' x='0' y='0.3' z='2.5'/></emitter>"
        "<shape type='rectangle'><transform name='to_world'><translate z='-0.5'/></transform>"
        "<bsdf type='roughdielectric' id='glass'><float name='alpha' value='0.4'/>"
        "<float name='int_ior' value='1.4'/></bsdf></shape>",
        4, "0.1,0.1,0.1", 48));
    expect_agreement(scene, "glass.eta", 0.02, 32);
    expect_agreement(scene, "glass.alpha.value", 0.02, 32);
}

class ChangingParameters : public VariantTest {};
UMBEL_VARIANTS(ChangingParameters, "llvm_rgb", "llvm_ad_rgb", "llvm_spectral")

TEST_P(ChangingParameters, CompilesNothingAndShowsInTheImage) {
    Ref<Scene> scene = scene_from(box_xml(""));
    SceneParameters params(scene);
    RenderOptions o;
    double before = mean_of(render_image(scene, nullptr, o, o));
    auto once = [&](double red, double z) {
        Float colour(red);
        params.assign("red.reflectance.value",
                      std::array<Value, 3>{ colour, Float(0.5), Float(0.5) });
        auto &camera = *std::get<TransformSlot>(params.at("perspective.to_world").param.slot).host;
        camera = *TransformData::look_at({ 0, 0, z }, { 0, 0, 0 }, { 0, 1, 0 });
        params.update({ "red.reflectance.value", "perspective.to_world" });
        return mean_of(render_image(scene, nullptr, o, o));
    };
    double first = once(0.9, 3);
    EXPECT_NE(first, before);
    jit::Context &c = variant().context();
    jit::FlagScope history(jit::Flag::History, true);
    c.take_history();
    EXPECT_NE(once(0.1, 4), first);
    EXPECT_NE(once(0.2, 3.2), first);
    for (const jit::KernelRecord &k : c.take_history())
        EXPECT_TRUE(k.backend == "builtin" || k.memory_hit) << k.name;
}

// What a loss says about an image is often not computed yet. Were it computed by whoever reads it in the middle of a
// launch, samples that were recorded by then would be followed once for that, and again for their derivatives.
TEST_P(ChangingParameters, DerivativesFollowSamplesInOneLaunch) {
    Ref<Scene> scene = scene_from(box_xml(""));
    SceneParameters params(scene);
    Float *v = component(params, "red.reflectance.value", 0);
    *v = opaque_float(0.5);
    ad::enable_grad(*v);
    params.update({ "red.reflectance.value" });
    RenderOptions options{ .spp = 32 };
    Float image = render_image(scene, &params, options, options);
    Float loss(jit::reduce(jit::ReduceOp::Add, image * image));
    jit::Context &c = variant().context();
    jit::FlagScope history(jit::Flag::History, true);
    c.take_history();
    ad::backward(loss);
    EXPECT_NE(read_floats(Float(ad::grad(*v)))[0], 0);
    std::vector<uint64_t> followed; // groups of samples are not traced one by one, either
    for (const jit::KernelRecord &k : c.take_history())
        if (k.size > image.size())
            followed.push_back(k.size);
    EXPECT_EQ(followed, std::vector<uint64_t>{ 12 * 12 * 32 });
}

TEST_P(ChangingParameters, SmallImagesFollowSamplesInOneLaunch) {
    Ref<Scene> scene = scene_from(box_xml(""));
    RenderOptions options{ .spp = 1 };
    jit::Context &c = variant().context();
    jit::FlagScope history(jit::Flag::History, true);
    c.take_history();
    read_floats(render_image(scene, nullptr, options, options));
    std::vector<jit::KernelRecord> kernels = c.take_history();
    std::erase_if(kernels, [](const jit::KernelRecord &k) { return k.backend == "builtin"; });
    EXPECT_EQ(kernels.size(), 1u);
}

TEST_P(ChangingParameters, MovesShapes) {
    Ref<Scene> scene = scene_from(
        box_xml("<shape type='sphere' id='ball'><float name='radius' value='0.5'/></shape>"
                "<shape type='cube' id='cube'><transform name='to_world'><scale "
                "value='0.2'/></transform></shape>"));
    SceneParameters params(scene);
    RenderOptions o;
    double before = mean_of(render_image(scene, nullptr, o, o));
    *std::get<TransformSlot>(params.at("ball.to_world").param.slot).host =
        TransformData::translate({ 100, 0, 0 });
    params.update({ "ball.to_world" });
    double away = mean_of(render_image(scene, nullptr, o, o));
    EXPECT_NE(before, away);
    auto positions = std::get<BufferSlot>(params.at("cube.vertex_positions").param.slot);
    *positions.data = Float(positions.read()) + 50;
    params.update({ "cube.vertex_positions" });
    EXPECT_NE(mean_of(render_image(scene, nullptr, o, o)), away);
    *positions.data = float_array(std::vector<double>(71));
    EXPECT_THROW(params.update({ "cube.vertex_positions" }), UserError);
    EXPECT_THROW(params.update({ "cube.vertex_position" }), UserError);
}

} // namespace umbel
