// tests/plugins/irawan_test.cpp: woven cloth: values by the model's own formulas, its mean, colours of parameters, and files that
// are no weaves.
#include "core/warp.h"
#include "render/weave_file.h"
#include "support/bsdf_fixture.h"
#include "support/scattering.h"
#include "support/surface.h"
#include "support/weave_files.h"
#include <cmath>
#include <fstream>
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendIrawan : public BsdfTest {
protected:
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("umbel_irawan_{}.wv", getpid());

    void TearDown() override {
        std::filesystem::remove(path);
        BsdfTest::TearDown();
    }
    std::string xml(const std::string &weave, const std::string &more = "") {
        std::ofstream(path) << weave;
        return "<bsdf type='irawan'><string name='filename' value='" + path.string() + "'/>" +
               more + "</bsdf>";
    }
    static SurfaceInteraction hit_at(const Vector3 &wi, const Vector2 &uv) {
        SurfaceInteraction si = hit_from(wi);
        si.uv = uv;
        return si;
    }
    static double first(const Spectrum &s) { return read_floats(unpolarized(s)[0])[0]; }
    /// One yarn that fills the tile.
    static std::string one_yarn(const std::string &yarn, const std::string &more = "") {
        return "weave { tileWidth = 1, tileHeight = 1, alpha = 0.3, beta = 2, hWidth = 1,"
               "warpArea = 1, weftArea = 1, pattern { 1 }," +
               more + "yarn { width = 1, length = 2, centerU = .5, centerV = .5, " + yarn + " } }";
    }
};
UMBEL_BSDF_VARIANTS(BackendIrawan)

namespace {

constexpr double Degree = Pi / 180;
using Vec = std::array<double, 3>;

Vec unit(const Vec &v) {
    double n = std::hypot(v[0], v[1], v[2]);
    return { v[0] / n, v[1] / n, v[2] / n };
}
double dot3(const Vec &a, const Vec &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Radii of curvature by the three kinds of conics, as the thesis has them: section 5.3.
double radius(double u, double umax, double kappa, double w, double l) {
    double r = 1 + kappa * (1 + 1 / std::tan(umax)), half = l / 2 - w / 2 * std::sin(umax);
    if (r > 0) {
        double b = half / std::sin(std::atan(r * std::tan(umax))), a = b / r,
               t = std::atan(r * std::tan(u));
        return std::pow(std::pow(b * std::cos(t), 2) + std::pow(a * std::sin(t), 2), 1.5) / (a * b);
    }
    double b = half / std::sinh(std::atanh(-r * std::tan(umax))), a = -b / r,
           t = std::atanh(-r * std::tan(u));
    return std::pow(std::pow(b * std::cosh(t), 2) + std::pow(a * std::sinh(t), 2), 1.5) / (a * b);
}
double von_mises(double cosine, double b) {
    return std::exp(b * cosine) / (2 * Pi * std::cyl_bessel_i(0, b));
}
double seeliger(double a, double b) { return a > 0 && b > 0 ? a * b / (a + b) / (4 * Pi) : 0; }

// A filament's highlight with hWidth 1, where v is 0.
double filament(const Vec &wi, const Vec &wo, double umax, double kappa) {
    Vec sum{ wi[0] + wo[0], wi[1] + wo[1], wi[2] + wo[2] }, h = unit(sum);
    double u = std::atan(h[1] / h[2]);
    if (!(std::abs(u) < umax))
        return 0;
    Vec n{ 0, std::sin(u), std::cos(u) };
    double g = 0.5 * (radius(std::abs(u), umax, kappa, 1, 2) + 0.5) /
               (std::hypot(sum[0], sum[1], sum[2]) * std::hypot(h[1], h[2]));
    return g * (0.3 + von_mises(-dot3(wi, wo), 2)) * seeliger(dot3(n, wi), dot3(n, wo)) * Pi;
}

} // namespace

// Up to the factor that makes it reflect all on average, which is the same everywhere.
TEST_P(BackendIrawan, HighlightsOfFilamentsAreTheModels) {
    for (double kappa : { 0.0, 0.4, -0.2, -0.9 }) {
        Ref<BSDF> bsdf = make(xml(
            one_yarn(fmt::format("type = warp, umax = 40, kappa = {}, ks = {{1, 1, 1}}", kappa))));
        double factor = 0;
        for (auto [wi, wo] : { std::pair<Vec, Vec>{ { 0, 0, 1 }, { 0, 0, 1 } },
                               { { 0.2, 0.1, 0.9 }, { -0.3, 0.5, 0.6 } },
                               { { 0.5, -0.4, 0.7 }, { 0.1, -0.3, 0.9 } },
                               { { 0.5, 0.8, 0.1 }, { 0.1, 0.9, 0.2 } } }) { // too steep
            wi = unit(wi);
            wo = unit(wo);
            double got = first(bsdf->eval(
                       {}, hit_at(opaque_direction(wi), { opaque_float(0.5), opaque_float(0.5) }),
                       opaque_direction(wo), true)),
                   want = filament(wi, wo, 40 * Degree, kappa) * wo[2];
            if (factor == 0)
                factor = got / want;
            EXPECT_NEAR(got, want * factor, 2e-4 * factor * want + 1e-6) << "kappa " << kappa;
        }
        EXPECT_GT(factor, 0);
    }
}

// Wefts are warps that are turned by a right angle.
TEST_P(BackendIrawan, WeftsAreTurnedWarps) {
    for (const char *psi : { "0", "-25" }) {
        // Relative to another value of it: how bright all is on average is estimated
        auto eval = [&](const char *type, const Vec &wi, const Vec &wo, double u, double v) {
            Ref<BSDF> bsdf = make(xml(one_yarn(
                fmt::format("type = {}, psi = {}, umax = 40, ks = {{1, 1, 1}}", type, psi))));
            auto at = [&](const Vec &i, const Vec &o, double x, double y) {
                return first(bsdf->eval(
                    {}, hit_at(opaque_direction(i), { opaque_float(x), opaque_float(y) }),
                    opaque_direction(o), true));
            };
            return at(wi, wo, u, v) / at({ 0, 0, 1 }, { 0, 0, 1 }, 0.5, 0.5);
        };
        // A quarter turn of everything: what was at x is at y
        double warp = eval("warp", { 0.2, 0.1, 0.9 }, { -0.1, 0.3, 0.8 }, 0.5 + 0.1, 0.5 + 0.2),
               weft = eval("weft", { 0.1, -0.2, 0.9 }, { 0.3, 0.1, 0.8 }, 0.5 + 0.2, 0.5 - 0.1);
        EXPECT_NEAR(warp, weft, 1e-5 * warp) << psi;
        EXPECT_GT(warp, 0) << psi;
    }
}

// Of places and directions alike; Monte Carlo with other numbers than the plugin's.
TEST_P(BackendIrawan, ReflectsItsColoursOnAverage) {
    const size_t n = 200000;
    std::string grey = "<rgb name='warp_kd' value='0'/><rgb name='gloss' value='1'/>";
    for (const auto &[weave, more] :
         { std::pair(staple_weave(), grey),
           std::pair(filament_weave(), std::string("<float name='umax' value='30'/>")) }) {
        Ref<BSDF> bsdf = make(xml(weave, more + "<float name='repeat_u' value='50'/>"
                                                "<float name='repeat_v' value='50'/>"
                                                "<float name='kd_multiplier' value='0'/>"));
        double ks = weave == staple_weave() ? 1 : 0.1;
        auto numbers = [&](uint64_t seed) { return test::make(uniform_numbers(seed, n)); };
        Vector3 wi = square_to_cosine_hemisphere({ numbers(1), numbers(2) });
        SurfaceInteraction si = hit_at(wi, { numbers(3), numbers(4) });
        BSDFSample s = bsdf->sample({}, si, numbers(5), { numbers(6), numbers(7) }, true);
        double sum = 0;
        for (double v : read_floats(unpolarized(s.weight)[0]))
            sum += v;
        EXPECT_NEAR(sum / n, ks, 0.05 * ks) << weave;
    }
}

TEST_P(BackendIrawan, YarnsHaveTheColoursOfParameters) {
    Ref<BSDF> bsdf = make(xml(staple_weave(), "<rgb name='warp_kd' value='.25,.25,.25'/>"
                                              "<rgb name='gloss' value='0'/>"));
    auto diffuse = [&](double u, double v) {
        return first(bsdf->eval_diffuse_reflectance(
            hit_at(Vector3(0, 0, 1), { opaque_float(u), opaque_float(v) }), true));
    };
    EXPECT_NEAR(diffuse(0.2, 0.9), 0.25, 1e-3); // top left
    EXPECT_NEAR(diffuse(0.9, 0.1), 0.25, 1e-3);
    EXPECT_NEAR(diffuse(1.2, -0.1), 0.25, 1e-3); // tiles repeat
    if (variant().colour == Colour::Rgb) {
        EXPECT_NEAR(diffuse(0.9, 0.9), 0.3, 1e-5);
        EXPECT_NEAR(diffuse(0.1, 0.1), 0.3, 1e-5);
    }
}

TEST_P(BackendIrawan, OldFilesNameParametersInTheirWay) {
    std::ofstream(path) << one_yarn("type = warp, umax = $yarnAngle, kd = $yarnColor");
    Properties root = parse_scene_string(
        "<scene version='0.5.0'><bsdf type='irawan'><string name='filename' value='" +
        path.string() +
        "'/><float name='repeatU' value='3'/><float name='repeatV' value='2'/><float "
        "name='yarnAngle' value='30'/><rgb name='yarnColor' value='.5'/></bsdf></scene>");
    Loader loader;
    Ref<BSDF> bsdf = loader.load_as<BSDF>(root.objects("bsdf")[0]);
    EXPECT_NEAR(first(bsdf->eval_diffuse_reflectance(hit_from(Vector3(0, 0, 1)), true)), 0.5, 2e-3);
}

TEST_P(BackendIrawan, MessagesSayWhereAndWhatToDo) {
    auto refused = [&](const std::string &weave, std::initializer_list<const char *> parts) {
        expect_refused("<shape type='sphere'>" + xml(weave) + "</shape>", parts);
    };
    std::string name = path.filename().string();
    refused(staple_weave(), { "asks for the parameter \"warp_kd\"", "not given" });
    refused("weave {\n tileWidth = 1,\n size = 3 }", { (name + ":3").c_str(), "no \"size\"" });
    refused("weave {\n tileWidth = x }", { ":2", "expected a number in place of \"x\"" });
    refused("weave {\n tileWidth = 1.5 }", { ":2", "whole number" });
    refused("weave {\n tileWidth = 1 tileHeight = 2 }", { ":2", "expected \",\"" });
    refused("weave { /* no end", { ":1", "comment" });
    refused("weave { name = \"no end\n", { ":1", "quote" });
    refused("weave { name = ", { "the file's end" });
    refused("cloth", { "expected \"weave\"" });
    refused("weave {\n yarn { type = wool } }", { ":2", "\"warp\" or \"weft\"" });
    refused("weave { yarn {\n colour = 1 } }", { ":2", "no \"colour\"" });
    refused("weave { yarn { umax = 20 } }", { "0 wide" });
    refused(one_yarn("umax = 95"), { "umax of the yarn is 95" });
    refused(one_yarn("umax = 20, kappa = -2"), { "kappa" });
    refused(one_yarn("umax = 20, kd = {1, 2}"), { "three numbers" });
    refused(one_yarn("umax = 20", "ss = 1,"), { "ss is 1" });
    refused(one_yarn("umax = 20", "hWidth = 0,"), { "hWidth is 0" });
    refused(one_yarn("umax = 20", "pattern { 1, 1 },"), { "3 numbers" });
    refused(one_yarn("umax = 20", "tileWidth = 2, pattern { 2 },"), { "yarn 2 of 1" });
    refused(one_yarn("umax = 20") + "weave", { "after the end" });
}

TEST(Weave, TheExampleIsATwill) {
    WeavePattern w = read_weave("scenes/twill.wv", [](const std::string &) { return 0.0; });
    EXPECT_EQ(w.name, "Twill");
    EXPECT_EQ(w.width * w.height, 16);
    for (size_t i = 0; i < 16; ++i) // over two, under two, one further in each row
        EXPECT_EQ(w.yarns[w.pattern[i] - 1].is_weft, (i % 4 + i / 4) % 4 >= 2) << i;
    EXPECT_EQ(std::get<std::string>(w.yarns[0].kd), "warp_kd");
}

} // namespace umbel
