// tests/plugins/bsdf_test.cpp: BSDFs: samples follow their density, weights agree with values.
#include "render/bsdf.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendBsdf : public VariantTest {
protected:
    static SurfaceInteraction hit_from(const Vector3 &wi) {
        SurfaceInteraction si;
        si.t = Float(1);
        si.time = Float(0);
        si.p = Vector3(Float(0));
        si.n = Vector3(0, 0, 1);
        si.sh_frame = Frame(si.n);
        si.uv = { Float(0.3), Float(0.6) };
        si.dp_du = si.sh_frame.s;
        si.dp_dv = si.sh_frame.t;
        if (variant().colour == Colour::Spectral)
            si.wavelengths = Spectrum(std::vector<Float>{ 420, 500, 580, 660 });
        si.wi = wi;
        return si;
    }

    static Ref<BSDF> make(const std::string &xml) {
        Properties root = parse_scene_string("<scene version='3.0.0'><shape type='sphere'>" + xml +
                                             "</shape></scene>");
        Loader loader;
        for (const PropertiesPtr &shape : root.objects("shape"))
            for (const PropertiesPtr &b : shape->objects("bsdf"))
                return loader.load_as<BSDF>(b);
        return nullptr;
    }

    // What is above the horizon (and below, where `both`) of samples from wi, against pdf().
    static void expect_samples(const std::string &xml, const std::array<double, 3> &w,
                               uint32_t lobes = BSDFFlags::All, bool below = false) {
        Ref<BSDF> bsdf = make(xml);
        BSDFContext ctx;
        ctx.type_mask = lobes;
        SurfaceInteraction si = hit_from(normalize({ Float(w[0]), Float(w[1]), Float(w[2]) }));
        // Directions that a sample may not take count as one more bin, beyond the horizon.
        double sign = (below ? -1 : 1) * (w[2] > 0 ? 1 : -1);
        auto draw = [&](const Vector2 &u) {
            BSDFSample s = bsdf->sample(ctx, si, Float(0.5), u, true);
            return select(s.pdf > 0, s.wo, Vector3(0, 0, -sign));
        };
        std::vector<double> u = uniform_numbers(7, 400000), v = uniform_numbers(8, 400000);
        std::vector<double> z = read_floats(draw({ test::make(u), test::make(v) }).z);
        double valid = 0;
        for (double x : z)
            valid += x * sign > 0;

        Chi2 o;
        o.y0 = sign > 0 ? 0 : -1;
        o.y1 = sign > 0 ? 1 : 0;
        o.nx = 32;
        o.ny = 48;
        o.mass = valid / double(z.size());
        expect_chi2_sphere(
            xml, draw, [&](const Vector3 &wo) { return bsdf->pdf(ctx, si, wo, true); }, o);

        // weight = f cos / pdf
        BSDFSample s = bsdf->sample(
            ctx, si, Float(0.5),
            { test::make(uniform_numbers(3, 400)), test::make(uniform_numbers(4, 400)) }, true);
        auto [f, pdf] = bsdf->eval_pdf(ctx, si, s.wo, true);
        std::vector<double> got = read_floats(unpolarized(s.weight)[0] * s.pdf),
                            want = read_floats(unpolarized(f)[0]), density = read_floats(s.pdf),
                            again = read_floats(pdf);
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i) {
            EXPECT_NEAR(got[i], want[i], 2e-3 * std::abs(want[i]) + 1e-5)
                << xml << ", sample " << i;
            EXPECT_NEAR(density[i], again[i], 2e-3 * again[i] + 1e-5) << xml << ", sample " << i;
        }
    }
};
UMBEL_VARIANTS(BackendBsdf, "interp_rgb", "llvm_rgb", "llvm_spectral_double", "llvm_rgb_polarized")

TEST_P(BackendBsdf, DiffuseSamplesFollowTheirDensity) {
    expect_samples("<bsdf type='diffuse'/>", { 0.3, -0.2, 0.8 });
}
TEST_P(BackendBsdf, TwoSidedSurfacesReflectFromBehind) {
    expect_samples("<bsdf type='twosided'><bsdf type='diffuse'/></bsdf>", { 0.3, -0.2, -0.8 });
}
TEST_P(BackendBsdf, TwoSidedSurfacesNumberTheirComponents) {
    for (const char *back : { "<bsdf type='diffuse'/>", "" }) {
        Ref<BSDF> bsdf =
            make(fmt::format("<bsdf type='twosided'><bsdf type='roughconductor'/>{}</bsdf>", back));
        ASSERT_EQ(bsdf->components().size(), 2u);
        for (double side : { 1.0, -1.0 })
            for (uint32_t component : { ~0u, 0u, 1u }) {
                BSDFContext ctx;
                ctx.component = component;
                SurfaceInteraction si = hit_from(normalize(Vector3(0.1, 0.05, side)));
                uint32_t here = side > 0 ? 0 : 1;
                Vector3 wo(Float(0), Float(0.1), Float(side));
                double value = read_floats(unpolarized(bsdf->eval(ctx, si, wo, true))[0])[0];
                BSDFSample s = bsdf->sample(ctx, si, Float(0.5), { Float(0.3), Float(0.4) }, true);
                bool wanted = component == ~0u || component == here;
                EXPECT_EQ(value > 0, wanted) << back << side << " " << component;
                EXPECT_EQ(read_floats(s.pdf)[0] > 0, wanted) << back << side << " " << component;
                if (wanted) {
                    EXPECT_EQ(jit::item(s.sampled_component), here);
                }
            }
    }
}
TEST_P(BackendBsdf, RoughMetalSamplesFollowTheirDensity) {
    for (const char *d : { "beckmann", "ggx" })
        for (const char *visible : { "true", "false" })
            expect_samples(
                fmt::format("<bsdf type='roughconductor'><string name='distribution' value='{}'/>"
                            "<boolean name='sample_visible' value='{}'/><float name='alpha' "
                            "value='{}'/></bsdf>",
                            d, visible, d[0] == 'g' ? 0.1 : 0.3),
                { 0.1, 0.05, 1 });
}
TEST_P(BackendBsdf, AnisotropicMetalSamplesFollowTheirDensity) {
    expect_samples("<bsdf type='roughconductor'><string name='distribution' value='ggx'/>"
                   "<float name='alpha_u' value='0.05'/><float name='alpha_v' value='0.2'/></bsdf>",
                   { 0.1, 0.05, 1 });
}
TEST_P(BackendBsdf, RoughGlassSamplesFollowTheirDensityOnBothSides) {
    for (double side : { 1.0, -1.0 })
        for (uint32_t lobe : { BSDFFlags::GlossyReflection, BSDFFlags::GlossyTransmission })
            expect_samples("<bsdf type='roughdielectric'><float name='alpha' value='0.4'/></bsdf>",
                           { 0.6, 0.2, 0.75 * side }, lobe, lobe == BSDFFlags::GlossyTransmission);
}

TEST_P(BackendBsdf, DiffuseReflectsItsAlbedoOverPi) {
    Ref<BSDF> bsdf =
        make("<bsdf type='diffuse'><spectrum name='reflectance' value='0.25'/></bsdf>");
    Vector3 wo = normalize({ Float(0.3), Float(-0.2), Float(0.8) });
    Spectrum f = bsdf->eval({}, hit_from(Vector3(0, 0, 1)), wo, true);
    double cosine = 0.8 / std::sqrt(0.3 * 0.3 + 0.2 * 0.2 + 0.8 * 0.8);
    EXPECT_NEAR(read_floats(unpolarized(f)[0])[0], 0.25 * InvPi * cosine, 1e-6);
}

} // namespace umbel
