// tests/plugins/principledthin_test.cpp: thin sheets: two equal sides, and where light goes.
#include "support/bsdf_fixture.h"
#include "support/scattering.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendPrincipledThin : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendPrincipledThin)

TEST_P(BackendPrincipledThin, BothSidesAreAlike) {
    Ref<BSDF> bsdf = make("<bsdf type='principledthin'><float name='spec_trans' value='.5'/><float "
                          "name='diff_trans' value='.6'/><float name='anisotropic' value='.8'/>"
                          "</bsdf>");
    const size_t n = 300;
    Vector3 wi = many_directions(5, n), wo = many_directions(11, n);
    auto value = [&](const Vector3 &from, const Vector3 &to) {
        auto [f, pdf] = bsdf->eval_pdf({}, hit_from(from), to, true);
        std::vector<double> out = all_numbers(unpolarized(f), n);
        std::vector<double> p = read_floats(pdf);
        out.insert(out.end(), p.begin(), p.end());
        return out;
    };
    expect_equal("from behind", value(-wi, -wo), value(wi, wo), 1e-6);
}

// 2 is all of it.
TEST_P(BackendPrincipledThin, DiffuseLightPassesAsToldTo) {
    auto through = [&](double diff_trans, bool below) {
        Ref<BSDF> bsdf = make(
            fmt::format("<bsdf type='principledthin'><float name='diff_trans' value='{}'/><float "
                        "name='base_color' value='.8'/></bsdf>",
                        diff_trans));
        Vector3 wo(0, 0, below ? -1 : 1);
        return read_floats(unpolarized(bsdf->eval({}, hit_from(Vector3(0, 0, 1)), wo, true))[0])[0];
    };
    for (double d : { 0.0, 0.5, 2.0 }) {
        EXPECT_NEAR(through(d, true), 0.8 * InvPi * d / 2, 1e-6) << d;
        EXPECT_NEAR(through(d, false), 0.8 * InvPi * (1 - d / 2), 1e-6) << d;
    }
}

TEST(PrincipledThin, RefusesWhatMakesNoSense) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refused = [](const std::string &inside, std::initializer_list<const char *> parts) {
        expect_refused("<shape type='sphere'><bsdf type='principledthin'>" + inside +
                           "</bsdf></shape>",
                       parts);
    };
    refused("<float name='diff_trans' value='2.5'/>", { "diff_trans", "2.5", "between 0 and 2" });
    refused("<float name='roughness' value='2'/>", { "roughness", "2" });
    refused("<float name='eta' value='-1'/>", { "eta", "-1" });
}

} // namespace umbel
