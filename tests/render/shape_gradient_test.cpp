// tests/render/shape_gradient_test.cpp: derivatives of images with respect to vertices and transforms, where nothing comes
// into sight or goes out of it.
#include "render/render_image.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {

const char *Lamp = "<emitter type='point'><point name='position' x='0.3' y='0.4' z='1.5'/>"
                   "<rgb name='intensity' value='3, 2, 1'/></emitter>";
const char *Panel = // above the floor, its back to the camera
    "<shape type='rectangle' id='panel'><transform name='to_world'><scale value='0.6'/>"
    "<rotate y='1' angle='180'/><translate x='1.6' z='2'/></transform>"
    "<emitter type='area'><rgb name='radiance' value='3, 2, 1'/></emitter></shape>";
const char *Ball = "<shape type='sphere' id='panel'><transform name='to_world'>"
                   "<scale value='0.4'/><translate x='2.2' z='1.5'/></transform>"
                   "<emitter type='area'><rgb name='radiance' value='3, 2, 1'/></emitter></shape>";

/// A floor that fills the view, and beyond; what lights it is out of sight.
std::string scene_of(const std::string &floor, const std::string &rest, int max_depth = 2,
                     const char *integrator = "prb", int size = 8) {
    std::string xml = scene_xml(floor + rest, size, 16, integrator);
    std::string begin = fmt::format("<integrator type='{}'/>", integrator);
    xml.replace(xml.find(begin), begin.size(),
                fmt::format("<integrator type='{}'><integer name='max_depth' value='{}'/>"
                            "<integer name='rr_depth' value='100'/></integrator>",
                            integrator, max_depth));
    return xml;
}
std::string floor_of(const char *type, const std::string &bsdf = "<bsdf type='diffuse'/>",
                     const char *place = "<scale x='8' y='8' z='1'/><rotate x='1' y='0.5' "
                                         "angle='12'/><translate z='-1'/>") {
    return fmt::format("<shape type='{}' id='floor'><transform name='to_world'>{}</transform>{}"
                       "</shape>",
                       type, place, bsdf);
}
double mean_of(const Float &image) {
    double sum = 0;
    for (double v : read_floats(image))
        sum += v;
    return sum / image.size();
}

/// How a parameter changes with a number: by which direction its numbers move.
struct Motion {
    std::string key;
    std::vector<double> direction;
};

struct Derivatives { // of the mean of the image
    double forward, backward, difference;
};

Derivatives derivatives(const Ref<Scene> &scene, const Motion &m, uint32_t seed, double step,
                        int spp) {
    SceneParameters params(scene);
    const Slot &slot = params.at(m.key).param.slot;
    std::vector<double> original;
    if (auto *t = std::get_if<TransformSlot>(&slot))
        original.assign(t->host->m.begin(), t->host->m.end());
    else
        original = read_floats(Float(std::get<BufferSlot>(slot).read().detached()));
    Float start = float_array(original), direction = float_array(m.direction);
    RenderOptions options{ .spp = spp, .seed = seed };
    auto put = [&](const Float &by) {
        params.assign(m.key, std::array<Value, 1>{ start + direction * by });
        params.update({ m.key });
    };
    auto shifted = [&](double by) {
        put(opaque_float(by));
        return mean_of(render_image(scene, nullptr, options, options));
    };
    Derivatives d{};
    d.difference = (shifted(step) - shifted(-step)) / (2 * step);
    Float by = opaque_float(0);
    ad::enable_grad(by);
    put(by);
    Float image = render_image(scene, &params, options, options);
    ad::set_grad(image, Float(1.0 / image.size()));
    ad::backward_from(image);
    d.backward = read_floats(Float(ad::grad(by)))[0];
    put(by);
    image = render_image(scene, &params, options, options);
    ad::forward(by);
    d.forward = mean_of(Float(ad::grad(image)));
    ad::disable_grad(by);
    put(opaque_float(0));
    return d;
}

// Directions of a transform's 16 numbers.
Motion translation(const std::string &key, double x, double y, double z) {
    return { key + ".to_world", { 0, 0, 0, x, 0, 0, 0, y, 0, 0, 0, z, 0, 0, 0, 0 } };
}
Motion linear(const std::string &key, std::array<double, 9> m) {
    return { key + ".to_world",
             { m[0], m[1], m[2], 0, m[3], m[4], m[5], 0, m[6], m[7], m[8], 0, 0, 0, 0, 0 } };
}

} // namespace

class ShapeGradients : public VariantTest {
protected:
    // Over several seeds; both estimates have noise of their own where sampling depends on the shape.
    void expect_agreement(const std::string &xml, const Motion &m, double step = 1e-3,
                          int spp = 64) {
        Ref<Scene> scene = scene_from(xml);
        const int n = 12;
        double sum = 0, sum2 = 0, size = 0;
        for (int seed = 0; seed < n; ++seed) {
            Derivatives d = derivatives(scene, m, uint32_t(seed), step, spp);
            EXPECT_NEAR(d.forward, d.backward, 1e-3 * std::abs(d.backward) + 1e-6) << m.key;
            double e = d.backward - d.difference;
            sum += e, sum2 += e * e, size += d.difference / n;
        }
        double mean = sum / n, deviation = std::sqrt((sum2 / n - mean * mean) / (n - 1));
        EXPECT_GT(std::abs(size), 1e-4) << m.key << ": nothing to see";
        EXPECT_LT(std::abs(mean), 3.5 * deviation + 1e-3 * std::abs(size))
            << m.key << ", derivative " << size << " +- " << deviation;
        EXPECT_LT(deviation, 0.15 * std::abs(size)) << m.key << ": too noisy to tell";
        EXPECT_EQ(ad::live_nodes(), 0u) << ad::listing();
    }
};
UMBEL_VARIANTS(ShapeGradients, "llvm_ad_rgb_double", "interp_ad_mono_double")

TEST_P(ShapeGradients, OfASurfaceUnderAPointLight) {
    for (const char *type : { "rectangle", "disk" }) {
        std::string xml = scene_of(floor_of(type), Lamp);
        expect_agreement(xml, translation("floor", 0.3, 0.2, 1));
        expect_agreement(
            xml, Motion{ "floor.to_world",
                         { 0.3, 0.1, 0.2, 0.1, 0.2, 0.4, 0.1, 0.2, 2, 3, 0.1, 0.5, 0, 0, 0, 0 } });
    }
}

TEST_P(ShapeGradients, OfVertices) {
    // The front of a cube; all of its corners move in ways of their own
    std::string xml = scene_of(floor_of("cube", "<bsdf type='diffuse'/>",
                                        "<scale x='8' y='8' z='0.5'/><rotate x='1' angle='9'/>"
                                        "<translate z='-1.5'/>"),
                               Lamp);
    Motion m{ "floor.vertex_positions", {} };
    for (int i = 0; i < 72; ++i)
        m.direction.push_back(std::sin(1.0 + i * i));
    expect_agreement(xml, m, 1e-3);
    // Normals alone, as scripts set them
    m.key = "floor.vertex_normals";
    expect_agreement(xml, m, 1e-3);
}

TEST_P(ShapeGradients, OfAnAreaLight) {
    // Sampled by its points and met by chance, seen from a floor that stands still
    for (const char *light : { Panel, Ball }) {
        std::string xml = scene_of(floor_of("rectangle"), light);
        expect_agreement(xml, translation("panel", 0.3, 0.2, 1), 1e-3, 256);
        expect_agreement(xml, linear("panel", { 0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5 }), 1e-3, 256);
    }
}

TEST_P(ShapeGradients, OfAFloorUnderAnAreaLight) {
    expect_agreement(scene_of(floor_of("rectangle"), Panel), translation("floor", 0.3, 0.2, 1),
                     1e-3, 256);
}

// Between two walls that see each other whole, light goes back and forth.
TEST_P(ShapeGradients, OfSurfacesThatLightEachOther) {
    std::string ceiling = "<shape type='rectangle' id='ceiling'><transform name='to_world'>"
                          "<scale value='6'/><rotate y='1' angle='180'/><translate x='7' z='3'/>"
                          "</transform></shape>";
    std::string lamp = "<emitter type='point'><point name='position' x='3' y='0' z='1'/>"
                       "<rgb name='intensity' value='9, 9, 9'/></emitter>";
    std::string xml = scene_of(floor_of("rectangle"), ceiling + lamp, 4);
    expect_agreement(xml, translation("ceiling", 0.2, 0.1, 1), 1e-3, 256);
    expect_agreement(xml, translation("floor", 0.2, 0.1, 1), 1e-3, 256);
}

TEST_P(ShapeGradients, OfAnInstance) {
    std::string xml = scene_of("<shape type='shapegroup' id='g'>" + floor_of("rectangle") +
                                   "</shape><shape type='instance' id='placed'><ref id='g'/>"
                                   "</shape>",
                               Lamp);
    expect_agreement(xml, translation("placed", 0.3, 0.2, 1));
}

// Integrators inside another one follow shapes as they do alone.
TEST_P(ShapeGradients, OfSeveralIntegratorsAtOnce) {
    std::string xml = scene_of(floor_of("rectangle"), Lamp), begin = "<integrator",
                end = "</integrator>";
    size_t first = xml.find(begin), size = xml.find(end) + end.size() - first;
    xml.replace(
        first, size,
        "<integrator type='multichannel'><integrator type='depth' name='far'/>" +
            xml.substr(first, size) +
            "<integrator type='field'><string name='field' value='position'/></integrator>" + end);
    expect_agreement(xml, translation("floor", 0.3, 0.2, 1));
}

// Where gradients have been passed on once, they are found again without an update.
TEST_P(ShapeGradients, OfSeveralImagesAddUp) {
    Ref<Scene> scene = scene_from(scene_of(floor_of("rectangle"), Lamp));
    SceneParameters params(scene);
    RenderOptions o{ .seed = 2 };
    Motion m = translation("floor", 0, 0, 1);
    std::vector<double> original;
    for (double v : std::get<TransformSlot>(params.at(m.key).param.slot).host->m)
        original.push_back(v);
    Float numbers = float_array(original);
    ad::enable_grad(numbers);
    params.assign(m.key, std::array<Value, 1>{ numbers });
    params.update({ m.key });
    double height[2];
    for (double &h : height) {
        Float image = render_image(scene, &params, o, o);
        ad::backward(image);
        h = read_floats(Float(ad::grad(numbers)))[11];
    }
    EXPECT_NE(height[0], 0);
    EXPECT_NEAR(height[1], 2 * height[0], 1e-6 * std::abs(height[0]));
}

// ---- the second pass

namespace {

/// Radiance of nothing; its boundaries bring 3 times the image's gradient, summed, to what it follows.
class OnlyBoundary final : public Integrator {
public:
    Radiance sample(const Scene &, SampleStream &, const Ray &ray, const Medium *,
                    const Mask &) const override {
        return { Spectrum(ray.time * 0), Mask(false), {} };
    }
    Float boundary(const BoundaryPass &pass) const override {
        EXPECT_EQ(pass.sampler.sample_count() > 0, true);
        uint32_t n = uint32_t(pass.shape[0] * pass.shape[1] * pass.shape[2]);
        UInt32 lane(jit::lane_index(n));
        SampleStream numbers = pass.stream(lane, UInt32(0u));
        Float half = select(numbers.next_1d() < 2, Float(3), Float(0)); // always 3
        Float value = Float(followed) * half;
        if (pass.mode == ad::Mode::Backward) {
            ad::accumulate_grad(value, pass.gradient);
            ad::enqueue(ad::Mode::Backward, value);
            ad::traverse(ad::Mode::Backward);
            return {};
        }
        ad::enqueue(ad::Mode::Backward, value);
        ad::traverse(ad::Mode::Forward);
        return Float(ad::grad(value));
    }
    bool has_boundary() const override { return true; }
    Float followed;
};

} // namespace

TEST_P(ShapeGradients, HaveASecondPassForBoundaries) {
    Ref<Scene> scene = scene_from(scene_of(floor_of("rectangle"), Lamp));
    auto integrator = std::make_shared<OnlyBoundary>();
    integrator->followed = opaque_float(1);
    ad::enable_grad(integrator->followed);
    RenderOptions o{ .integrator = integrator };
    Render render(*scene, o);
    auto [rows, columns, channels] = render.tensor_shape();
    uint32_t n = uint32_t(rows * columns * channels);
    render.backward(float_array(std::vector<double>(n, 0.5)));
    EXPECT_NEAR(read_floats(Float(ad::grad(integrator->followed)))[0], 1.5 * n, 1e-6 * n);

    ad::set_grad(integrator->followed, Float(2));
    std::vector<double> tangent = read_floats(Render(*scene, o).forward());
    ASSERT_EQ(tangent.size(), n);
    for (double v : tangent)
        EXPECT_NEAR(v, 6, 1e-6);
}

// Of an integrator inside another one that shows its image as it is.
TEST_P(ShapeGradients, HaveASecondPassInsideOthers) {
    std::string floor = floor_of("rectangle"),
                ball = "<shape type='sphere' id='ball'><float name='radius' value='0.4'/>"
                       "<bsdf type='diffuse'/></shape>";
    auto tangent_by = [&](const std::string &outer, size_t further) {
        std::string xml = scene_of(floor + ball, Lamp, 2, "prb_projective"), end = "</integrator>";
        size_t first = xml.find("<integrator"), size = xml.find(end) + end.size() - first;
        xml.replace(first, size, outer + xml.substr(first, size) + (outer.empty() ? "" : end));
        Ref<Scene> scene = scene_from(xml);
        SceneParameters params(scene);
        Motion m = translation("ball", 1, 0, 0);
        std::vector<double> original;
        for (double v : std::get<TransformSlot>(params.at(m.key).param.slot).host->m)
            original.push_back(v);
        Float by = opaque_float(0);
        ad::enable_grad(by);
        params.assign(
            m.key, std::array<Value, 1>{ float_array(original) + float_array(m.direction) * by });
        params.update({ m.key });
        RenderOptions o{ .spp = 4, .seed = 3 };
        Float image = render_image(scene, &params, o, o);
        ad::forward(by);
        std::vector<double> all = read_floats(Float(ad::grad(image))), colours;
        ad::disable_grad(by);
        size_t base = variant().colour == Colour::Mono ? 1 : 3;
        EXPECT_EQ(all.size(), 64 * (base + further));
        for (size_t i = 0; i < all.size(); ++i)
            if (i % (base + further) < base)
                colours.push_back(all[i]);
        return colours;
    };
    std::vector<double> alone = tangent_by("", 0),
                        inside = tangent_by("<integrator type='aov'><string name='aovs' "
                                            "value='d:depth'/>",
                                            1);
    ASSERT_EQ(alone.size(), inside.size());
    double size = 0;
    for (size_t i = 0; i < alone.size(); ++i) {
        EXPECT_NEAR(alone[i], inside[i], 1e-9) << i;
        size += std::abs(alone[i]);
    }
    EXPECT_GT(size, 1);
    std::string m = user_error([&] { tangent_by("<integrator type='moment'>", 3); });
    EXPECT_NE(m.find("what comes into sight"), std::string::npos) << m;
}

} // namespace umbel
