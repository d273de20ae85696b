// tests/plugins/singlescatter_test.cpp: light that is scattered once below surfaces.
#include "ad/ad.h"
#include "core/quadrature.h"
#include "core/traverse.h"
#include "core/warp.h"
#include "support/media.h"
#include "support/mesh_files.h"

namespace umbel {
using namespace test;

namespace {

constexpr double SigmaT = 1.5, Albedo = 0.6, Glass = 1.5;

std::string medium(double eta, bool fast, int depth, const std::string &more = "") {
    return fmt::format(
        "<bsdf type='diffuse'><float name='reflectance' value='0'/></bsdf><subsurface "
        "type='singlescatter'><spectrum name='sigma_t' value='{}'/><spectrum name='albedo' "
        "value='{}'/><float name='int_ior' value='{}'/><float name='ext_ior' value='1'/><boolean "
        "name='fast_single_scatter' value='{}'/><integer name='single_scatter_depth' value='{}'/>"
        "<integer name='fss_samples' value='1'/>{}</subsurface>",
        SigmaT, Albedo, eta, fast ? "true" : "false", depth, more);
}
Ref<Scene> ball(const std::string &inside, const std::string &lights) {
    return scene_from(
        scene_xml("<shape type='sphere'>" + inside + "</shape>" + lights, 4, 1, "volpath"));
}

double reflected(double cos_i, double eta) { // from outside
    if (eta == 1)
        return 0;
    double cos_t = std::sqrt(1 - (1 - cos_i * cos_i) / (eta * eta));
    double s = (cos_i - eta * cos_t) / (cos_i + eta * cos_t),
           p = (eta * cos_i - cos_t) / (eta * cos_i + cos_t);
    return (s * s + p * p) / 2;
}

/// The integral of f over [a, b].
template <class F> double integral(double a, double b, F &&f) {
    static const Quadrature rule = gauss_legendre(200);
    double sum = 0;
    for (size_t i = 0; i < rule.nodes.size(); ++i)
        sum += rule.weights[i] * f(a + (b - a) / 2 * (1 + rule.nodes[i]));
    return sum * (b - a) / 2;
}

/// Radiance of a unit ball towards a ray at distance b of its centre, under light that depends on the sine of its angle to the
/// surface's normal, and may be reflected inside before it is scattered, as often as there are parts of its way but one.
template <class Light>
double ball_radiance(double b, double eta, int depth, Light &&light, double sigma = SigmaT,
                     int parts = 1) {
    // What arrives at a distance r of the centre, as a mean over all directions. Angles beyond that of total reflection see nothing
    auto arriving = [&](double r) {
        auto from = [&](double mu) {
            double sine = r * std::sqrt(1 - mu * mu), cosine = std::sqrt(1 - sine * sine);
            double outside = eta * sine;
            if (outside >= 1)
                return 0.0;
            double F = reflected(std::sqrt(1 - outside * outside), eta),
                   once = F * std::exp(-2 * sigma * cosine);
            double ways = (1 - std::pow(once, parts)) / (1 - once);
            return (1 - F) * ways * std::exp(-sigma * (cosine - r * mu)) * light(outside);
        };
        double edge = r * eta > 1 ? std::sqrt(1 - 1 / (r * r * eta * eta)) : 0;
        return (integral(edge, 1, from) + integral(-1, -edge, from)) / 2;
    };
    double inside = b / eta, half = std::sqrt(1 - inside * inside),
           F = reflected(std::sqrt(1 - b * b), eta);
    double chord = integral(0, 2 * half, [&](double s) {
        return sigma * Albedo * std::exp(-sigma * s) * arriving(std::hypot(inside, s - half));
    });
    double sum = 0, weight = 1 - F;
    for (int k = 0; k < depth; ++k, weight *= F * std::exp(-sigma * 2 * half))
        sum += weight * chord;
    return sum;
}

/// Towards rays at distance b of the centre, from all sides.
Float from_all_sides(const Scene &scene, double b, uint32_t lanes, uint32_t seed = 1) {
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    SampleStream stream = sample_stream(*sampler, lanes, seed);
    Frame frame(square_to_uniform_sphere(stream.next_2d()));
    Float phi = stream.next_1d() * (2 * Pi);
    Vector3 side = frame.s * cos(phi) + frame.t * sin(phi);
    Ray ray = ray_from(0, 1e9);
    ray.o = side * b - frame.n * 4;
    ray.d = frame.n;
    SurfaceInteraction si = scene.ray_intersect(ray, true);
    return unpolarized(scene.eval_subsurface(si, stream, true))[0];
}

/// The same in all channels, or wavelengths.
std::string one(const char *name) {
    return variant().colour == Colour::Rgb ? fmt::format("<rgb name='{}' value='1,1,1'/>", name)
                                           : fmt::format("<spectrum name='{}' value='1'/>", name);
}
std::string sun(const char *direction) {
    return fmt::format(
        "<emitter type='directional'><vector name='direction' value='{}'/>{}</emitter>", direction,
        one("irradiance"));
}
std::string white() { return "<emitter type='constant'>" + one("radiance") + "</emitter>"; }
double sky(double) { return 1; }

} // namespace

class BackendSingleScatter : public VariantTest {
protected:
    uint32_t lanes() const { return variant().backend == "interp" ? 1 << 10 : 1 << 15; }
};
UMBEL_VARIANTS(BackendSingleScatter, "llvm_rgb", "llvm_spectral", "llvm_mono_double",
               "llvm_rgb_polarized", "interp_mono")

TEST_P(BackendSingleScatter, WithoutRefractionTheFastFormIsExact) {
    Ref<Scene> scene = ball(medium(1, true, 4), white());
    for (double b : { 0.0, 0.7 })
        expect_estimate(from_all_sides(*scene, b, lanes()), ball_radiance(b, 1, 4, sky),
                        fmt::format("b = {}", b));
}

TEST_P(BackendSingleScatter, LightOfTheSkyTakesItsTrueWay) {
    for (int depth : { 1, 4 }) {
        Ref<Scene> scene = ball(medium(Glass, false, depth), white());
        for (double b : { 0.0, 0.8 })
            expect_estimate(from_all_sides(*scene, b, lanes()),
                            ball_radiance(b, Glass, depth, sky, SigmaT, depth),
                            fmt::format("b = {}, depth {}", b, depth));
    }
}

// In a thin medium, light that was reflected before it is scattered makes a tenth of it all.
TEST_P(BackendSingleScatter, LightIsReflectedInsideOnItsWayIn) {
    Ref<Scene> scene = ball(medium(Glass, false, 3, "<float name='scale' value='.1'/>"), white());
    for (double b : { 0.2, 0.9 }) {
        double want = ball_radiance(b, Glass, 3, sky, 0.1 * SigmaT, 3);
        EXPECT_GT(want, 1.04 * ball_radiance(b, Glass, 3, sky, 0.1 * SigmaT, 1));
        expect_estimate(from_all_sides(*scene, b, lanes()), want, fmt::format("b = {}", b));
    }
}

// Seen from all sides, a light is one from all sides: all ways count, those through caustics among them.
TEST_P(BackendSingleScatter, TheSunFromAllSidesIsTheSky) {
    Ref<Scene> scene = ball(medium(Glass, false, 2), sun("0,0,1"));
    for (double b : { 0.2, 0.8 })
        expect_estimate(from_all_sides(*scene, b, lanes()) * (4 * Pi),
                        ball_radiance(b, Glass, 2, sky), fmt::format("b = {}", b));
}

TEST_P(BackendSingleScatter, PointsFromAllSidesAreAShell) {
    Ref<Scene> scene = ball(medium(Glass, false, 2),
                            "<emitter type='point'><point name='position' value='0,0,2'/>" +
                                one("intensity") + "</emitter>");
    auto shell = [](double sine) {
        return 1 / (4 * Pi * 4) / std::sqrt(1 - sine * sine / 4); // of radius 2
    };
    expect_estimate(from_all_sides(*scene, 0.5, lanes()), ball_radiance(0.5, Glass, 2, shell),
                    "point");
}

// Below a plane under light from far away, both forms are the same: without end, and seen along the normal.
TEST_P(BackendSingleScatter, APlaneHasAClosedForm) {
    for (bool fast : { true, false }) {
        Ref<Scene> scene = scene_from(scene_xml(
            "<shape type='rectangle'><transform name='to_world'><scale value='100'/></transform>" +
                medium(Glass, fast, 1) + "</shape>" + sun("1,0,-1"),
            4, 1, "volpath"));
        auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
        SampleStream stream = sample_stream(*sampler, lanes());
        Ray ray = ray_from(0, 1e9);
        ray.o = { Float(0), Float(0), Float(3) };
        ray.d = { Float(0), Float(0), Float(-1) };
        SurfaceInteraction si = scene->ray_intersect(ray, true);
        double cos_o = std::sqrt(0.5), cos_t = std::sqrt(1 - 0.5 / (Glass * Glass));
        double want = (1 - reflected(1, Glass)) * (1 - reflected(cos_o, Glass)) * Albedo /
                      (4 * Pi) * cos_o / (Glass * Glass * cos_t) / (1 + 1 / cos_t);
        expect_estimate(unpolarized(scene->eval_subsurface(si, stream, true))[0], want,
                        fast ? "fast" : "slow");
    }
}

// Of light from a to b: the same as of light from b to a.
TEST_P(BackendSingleScatter, EyeAndLightMayChangePlaces) {
    std::string forward = "<phase type='hg'><float name='g' value='.6'/></phase>";
    auto seen = [&](const char *light, const Vector3 &d) {
        Ref<Scene> scene = ball(medium(Glass, false, 1, forward), sun(light));
        auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
        SampleStream stream = sample_stream(*sampler, lanes(), 3);
        Frame frame(d);
        Vector2 disk = square_to_uniform_disk_concentric(stream.next_2d());
        Ray ray = ray_from(0, 1e9);
        ray.o = frame.s * disk.x + frame.t * disk.y - d * 4;
        ray.d = d;
        SurfaceInteraction si = scene->ray_intersect(ray, true);
        return estimate(unpolarized(scene->eval_subsurface(si, stream, si.is_valid()))[0]);
    };
    // The eye looks along where light would go, were it the lamp
    Estimate a = seen("0,0,1", { Float(0.6), Float(0), Float(-0.8) }),
             b = seen("0.6,0,-0.8", { Float(0), Float(0), Float(1) });
    EXPECT_GT(a.mean, 10 * a.error);
    EXPECT_LT(std::abs(a.mean - b.mean), 4 * std::hypot(a.error, b.error));
}

// The cube's faces are flat, and light passes them unchanged: the medium as others know it.
TEST(SingleScatter, AgreesWithVolumetricPathsOfOneCollision) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string hg = "<phase type='hg'><float name='g' value='.5'/></phase>",
                lamp = "<emitter type='point'><point name='position' value='1,2,3'/></emitter>"
                       "<shape type='sphere'><point name='center' value='.6,1.2,1.8'/><float "
                       "name='radius' value='.2'/><bsdf type='diffuse'><float name='reflectance' "
                       "value='0'/></bsdf></shape>",
                turned = "<shape type='cube'><transform name='to_world'><rotate x='1' y='2' "
                         "angle='40'/></transform>";
    std::string colours = "<rgb name='sigma_s' value='.5,1,.2'/><rgb name='sigma_a' "
                          "value='.1,.5,2'/>";
    std::string below =
        turned +
        "<bsdf type='diffuse'><float name='reflectance' value='0'/></bsdf><subsurface "
        "type='singlescatter'>" +
        colours + hg +
        "<float name='int_ior' value='1'/><float name='ext_ior' value='1'/></subsurface></shape>";
    std::string through = turned +
                          "<bsdf type='null'/><medium name='interior' type='homogeneous'>" +
                          colours + hg + "</medium></shape>";
    auto image = [&](const std::string &shape) {
        std::string xml = scene_xml(shape + lamp, 16, 256, "volpath"),
                    was = "<integrator type='volpath'/>";
        xml.replace(
            xml.find(was), was.size(),
            "<integrator type='volpath'><integer name='max_depth' value='2'/></integrator>");
        return render_image(*scene_from(xml));
    };
    Image a = image(below), b = image(through);
    for (size_t c = 0; c < 3; ++c) {
        // Pixels differ by noise alone: the mean difference over its own error
        double sum = 0, squares = 0, total = 0, n = double(a.pixels());
        for (size_t y = 0; y < a.height(); ++y)
            for (size_t x = 0; x < a.width(); ++x) {
                double d = a.get(x, y, c) - b.get(x, y, c);
                sum += d, squares += d * d, total += a.get(x, y, c);
            }
        EXPECT_GT(total, 0);
        EXPECT_LT(std::abs(sum), 4 * std::sqrt(squares)) << c << " of " << total / n;
        EXPECT_LT(std::sqrt(squares), 0.02 * total) << c;
    }
}

/// A ball of triangles, with normals as of the ball.
class SingleScatterMesh : public MeshFileTest {
protected:
    std::string write_ball(int rings) {
        std::string obj;
        for (int i = 0; i <= rings; ++i)
            for (int j = 0; j < 2 * rings; ++j) {
                double theta = Pi * i / rings, phi = Pi * j / rings;
                std::string p = fmt::format("{:.7f} {:.7f} {:.7f}", std::sin(theta) * std::cos(phi),
                                            std::sin(theta) * std::sin(phi), std::cos(theta));
                obj += fmt::format("v {}\nvn {}\n", p, p);
            }
        auto corner = [&](int i, int j) {
            int k = 1 + i * 2 * rings + j % (2 * rings);
            return fmt::format("{}//{}", k, k);
        };
        for (int i = 0; i < rings; ++i)
            for (int j = 0; j < 2 * rings; ++j) {
                if (i > 0)
                    obj += fmt::format("f {} {} {}\n", corner(i, j), corner(i + 1, j),
                                       corner(i, j + 1));
                if (i + 1 < rings)
                    obj += fmt::format("f {} {} {}\n", corner(i, j + 1), corner(i + 1, j),
                                       corner(i + 1, j + 1));
            }
        return write("ball.obj", obj);
    }
};

TEST_F(SingleScatterMesh, OfABallIsNearToIt) {
    VariantScope scope(find_variant("llvm_mono"));
    Ref<Scene> scene = scene_from(
        scene_xml(fmt::format("<shape type='obj'><string name='filename' value='{}'/>{}</shape>{}",
                              write_ball(64), medium(Glass, false, 2), sun("0,0,1")),
                  4, 1, "volpath"));
    Estimate e = estimate(from_all_sides(*scene, 0.4, 1 << 16) * (4 * Pi));
    double want = ball_radiance(0.4, Glass, 2, sky);
    EXPECT_LT(std::abs(e.mean - want), 4 * e.error + 0.01 * want) << e.mean << " for " << want;
}

TEST(SingleScatter, DerivativesAreThoseByTheExtinction) {
    VariantScope scope(find_variant("llvm_ad_mono_double"));
    for (double eta : { 1.0, Glass }) {
        Ref<Scene> scene = ball(medium(eta, eta == 1, 2), white());
        SceneParameters params(scene);
        int found = 0;
        for (const SceneParameter &p : params.all()) {
            if (p.key.find("sigma_t") == std::string::npos)
                continue;
            ++found;
            Float *sigma = std::get<Float *>(p.param.slot);
            ad::enable_grad(*sigma, p.key);
            params.update({ p.key });
            Float L = from_all_sides(*scene, 0.3, 1 << 15) * 1;
            ad::set_grad(*sigma, Float(1));
            ad::enqueue(ad::Mode::Forward, *sigma);
            ad::traverse(ad::Mode::Forward);
            double h = 1e-3, more = ball_radiance(0.3, eta, 2, sky, SigmaT + h, 2),
                   less = ball_radiance(0.3, eta, 2, sky, SigmaT - h, 2);
            expect_estimate(Float(ad::grad(L)), (more - less) / (2 * h), p.key);
        }
        EXPECT_EQ(found, 1);
    }
}

TEST(SingleScatter, SurfacesOutsideCastShadows) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string lid = "<shape type='rectangle'><transform name='to_world'><scale value='5'/>"
                      "<translate z='-2'/></transform></shape>";
    auto mean = [&](bool fast, const char *shadows) {
        std::string more =
            fmt::format("<boolean name='single_scatter_shadow_rays' value='{}'/>", shadows);
        Ref<Scene> scene = ball(medium(Glass, fast, 1, more), sun("0,0,1") + lid);
        return channel_mean(render_image(*scene), 0).mean;
    };
    for (bool fast : { true, false }) {
        EXPECT_EQ(mean(fast, "true"), 0);
        EXPECT_GT(mean(fast, "false"), 0.001);
    }
}

TEST(SingleScatter, WithoutTransmittanceMoreLightArrives) {
    VariantScope scope(find_variant("llvm_mono"));
    auto mean = [&](const char *value) {
        std::string more =
            fmt::format("<boolean name='single_scatter_transmittance' value='{}'/>", value);
        Ref<Scene> scene = ball(medium(1, true, 1, more), white());
        return estimate(from_all_sides(*scene, 0, 1 << 12)).mean;
    };
    EXPECT_NEAR(mean("false"), Albedo * (1 - std::exp(-2 * SigmaT)), 1e-3);
    EXPECT_LT(mean("true"), 0.8 * mean("false"));
}

TEST(SingleScatter, ScenesOfVersion05AreRead) {
    VariantScope scope(find_variant("llvm_rgb"));
    Ref<Scene> scene = scene_from(
        "<scene version='0.5.0'><sensor type='perspective'/><shape type='sphere'><subsurface "
        "type='singlescatter'><boolean name='fastSingleScatter' value='false'/><integer "
        "name='fssSamples' value='3'/><boolean name='singleScatterShadowRays' value='true'/>"
        "<boolean name='singleScatterTransmittance' value='true'/><integer "
        "name='singleScatterDepth' value='2'/><string name='intIOR' value='water'/><rgb "
        "name='sigmaS' value='1,1,1'/><rgb name='sigmaA' "
        "value='0,0,0'/></subsurface></shape></scene>");
    EXPECT_TRUE(scene->shapes()[0]->subsurface());
}

} // namespace umbel
