// tests/plugins/rb_test.cpp: radiative backpropagation: agrees with path replay; its biased forms are off by what theory says.
#include "render/render_image.h"
#include "support/scenes.h"
#include <cmath>

namespace umbel {
using namespace test;

namespace {

double mean_of(const Float &image) {
    double sum = 0;
    for (double v : read_floats(image))
        sum += v;
    return sum / double(image.size());
}

struct Both {
    double backward, forward;
};

/// Derivatives of the image's mean by a number, all of whose components move together.
Both derivatives(const Ref<Scene> &scene, const std::string &key, uint32_t seed) {
    SceneParameters params(scene);
    std::vector<Float *> slots;
    const Slot &slot = params.at(key).param.slot;
    if (auto *c = std::get_if<std::array<Float *, 3>>(&slot))
        slots.assign(c->begin(), c->end());
    else
        slots = { std::get<Float *>(slot) };
    RenderOptions o{ .seed = seed };
    auto follow = [&] {
        for (Float *v : slots) {
            *v = Float(v->detached());
            ad::enable_grad(*v, key);
        }
        params.update({ key });
        return render_image(scene, &params, o, o);
    };
    Both d{};
    Float image = follow();
    ad::set_grad(image, Float(1.0 / double(image.size())));
    ad::backward_from(image);
    for (Float *v : slots)
        d.backward += read_floats(Float(ad::grad(*v)))[0];
    image = follow();
    for (Float *v : slots) {
        ad::set_grad(*v, Float(1));
        ad::enqueue(ad::Mode::Forward, *v);
    }
    ad::traverse(ad::Mode::Forward);
    d.forward = mean_of(Float(ad::grad(image)));
    for (Float *v : slots)
        *v = Float(v->detached());
    params.update({ key });
    return d;
}

/// Its mean over seeds, with both directions of one seed compared on the way.
Estimate derivative(const Ref<Scene> &scene, const std::string &key, int seeds = 12) {
    double sum = 0, sum2 = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        Both d = derivatives(scene, key, uint32_t(seed));
        EXPECT_NEAR(d.forward, d.backward, 2e-4 * std::abs(d.backward) + 1e-7) << key;
        sum += d.backward;
        sum2 += d.backward * d.backward;
    }
    double mean = sum / seeds;
    return { mean, std::sqrt(std::max(sum2 / seeds - mean * mean, 0.0) / (seeds - 1)) };
}

std::string integrator(const std::string &type, int depth, const std::string &more = {}) {
    return fmt::format("<integrator type='{}'><integer name='max_depth' value='{}'/>"
                       "<integer name='rr_depth' value='3'/>{}</integrator>",
                       type, depth, more);
}

std::string number(const char *name, int value) {
    return fmt::format("<integer name='{}' value='{}'/>", name, value);
}

std::string camera(int size, int spp) {
    return fmt::format(
        "<sensor type='perspective'><float name='fov' value='50'/><transform name='to_world'>"
        "<lookat origin='0,0,3.5' target='0,0,0' up='0,1,0'/></transform><sampler "
        "type='independent'><integer name='sample_count' value='{}'/></sampler><film "
        "type='hdrfilm'><integer name='width' value='{}'/><integer name='height' value='{}'/>"
        "<rfilter type='box'/></film></sensor>",
        spp, size, size);
}

/// Walls, a lamp with something in its way, a sky.
Ref<Scene> room(const std::string &how, const std::string &inside) {
    return scene_from("<scene version='3.0.0'>" + how + camera(12, 48) + R"(
        <bsdf type='diffuse' id='red'><rgb name='reflectance' value='0.6,0.2,0.1'/></bsdf>
        <bsdf type='diffuse' id='white'><rgb name='reflectance' value='0.7,0.7,0.6'/></bsdf>
        <shape type='rectangle'><transform name='to_world'><translate z='-1'/></transform><ref id='white'/></shape>
        <shape type='rectangle'><transform name='to_world'><rotate y='1' angle='90'/><translate x='-1'/></transform><ref id='red'/></shape>
        <shape type='rectangle'><transform name='to_world'><rotate x='1' angle='-90'/><translate y='-1'/></transform><ref id='white'/></shape>
        <shape type='rectangle' id='light'><transform name='to_world'><rotate x='1' angle='90'/><scale value='0.5'/><translate y='0.98'/></transform>
          <emitter type='area'><rgb name='radiance' value='8,7,5'/></emitter></shape>
        <emitter type='constant' id='sky'><rgb name='radiance' value='0.2,0.3,0.4'/></emitter>)" +
                      inside + "</scene>");
}

const char *metal = "<shape type='sphere'><float name='radius' value='0.5'/>"
                    "<bsdf type='roughconductor' id='metal'><float name='alpha' value='0.4'/>"
                    "<string name='distribution' value='ggx'/></bsdf></shape>";

} // namespace

class BackendRb : public VariantTest {};
UMBEL_VARIANTS(BackendRb, "llvm_ad_rgb", "llvm_ad_spectral", "interp_ad_rgb")

TEST_P(BackendRb, AgreesWithPathReplay) {
    bool slow = std::string(GetParam()).starts_with("interp");
    for (const char *key : { "red.reflectance.value", "light.emitter.radiance.value",
                             "sky.radiance.value", "metal.alpha.value" }) {
        if (slow && key[0] != 'r')
            continue;
        int n = slow ? 4 : 8;
        Estimate a = derivative(room(integrator("prb", 5), metal), key, n),
                 b = derivative(room(integrator("rb", 5), metal), key, n);
        double error = std::hypot(a.error, b.error);
        EXPECT_NEAR(a.mean, b.mean, 3.5 * error) << key;
        EXPECT_LT(error, 0.2 * std::abs(a.mean)) << key << ": too noisy to tell";
    }
}

// Inside a sphere that emits 1 and reflects r, paths of n segments see 1 + r + ... + r^(n-1). The derivative of the j-th vertex is
// r^j times what arrives there.
class RbInAFurnace : public VariantTest {
protected:
    static constexpr double r = 0.5;
    static constexpr int n = 5;

    double found(const std::string &type, const std::string &more) {
        std::string inside =
            "<shape type='sphere'><float name='radius' value='9'/><boolean name='flip_normals' "
            "value='true'/><bsdf type='diffuse' id='wall'><float name='reflectance' value='0.5'/>"
            "</bsdf><emitter type='area'><float name='radiance' value='1'/></emitter></shape>";
        Ref<Scene> scene = scene_from("<scene version='3.0.0'>" + integrator(type, n, more) +
                                      camera(16, 64) + inside + "</scene>");
        Estimate e = derivative(scene, "wall.reflectance.value", 4);
        EXPECT_LT(e.error, 0.01 * e.mean);
        return e.mean;
    }
    /// With what arrives at vertex j, of which there are `vertices`.
    static double expected(int vertices, const std::function<double(int)> &arrives) {
        double sum = 0;
        for (int j = 0; j < vertices; ++j)
            sum += std::pow(r, j) * arrives(j);
        return sum;
    }
    static double light(int segments) { return (1 - std::pow(r, segments)) / (1 - r); }
};
UMBEL_VARIANTS(RbInAFurnace, "llvm_ad_mono_double")

TEST_P(RbInAFurnace, HasTheDerivativeOrTheBiasThatTheorySays) {
    double right = expected(n - 1, [](int j) { return light(n - 1 - j); });
    EXPECT_NEAR(right, 1 + 2 * r + 3 * r * r + 4 * r * r * r, 1e-12);
    EXPECT_NEAR(found("prb", ""), right, 0.02 * right);
    EXPECT_NEAR(found("rb", ""), right, 0.02 * right);
    // Biased: 1 arrives from everywhere
    double one = expected(n - 1, [](int) { return 1.0; });
    EXPECT_LT(one, 0.6 * right);
    EXPECT_NEAR(found("rb", number("incident_depth", 0)), one, 0.02 * one);
    // Biased: what arrives is told by paths of two segments
    double two = expected(n - 1, [](int j) { return light(std::min(2, n - 1 - j)); });
    EXPECT_LT(two, 0.9 * right);
    EXPECT_NEAR(found("rb", number("incident_depth", 2)), two, 0.02 * two);
    // Biased: only what the camera sees is differentiated
    double first = expected(1, [](int) { return light(n - 1); });
    EXPECT_LT(first, 0.7 * right);
    EXPECT_NEAR(found("rb", number("adjoint_depth", 1)), first, 0.02 * first);
}

TEST_P(RbInAFurnace, RefusesToDifferentiateNothing) {
    EXPECT_THROW(found("rb", number("adjoint_depth", 0)), UserError);
}

} // namespace umbel
