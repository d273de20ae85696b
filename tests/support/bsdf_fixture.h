// support/bsdf_fixture.h: tests of one BSDF, in several variants.
#pragma once
#include "render/bsdf.h"
#include "support/scenes.h"

namespace umbel::test {

class BsdfTest : public VariantTest {
protected:
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

} // namespace umbel::test

#define UMBEL_BSDF_VARIANTS(suite)                                                                 \
    UMBEL_VARIANTS(suite, "interp_rgb", "llvm_rgb", "llvm_spectral_double", "llvm_rgb_polarized")
