// tests/plugins/bumpmap_test.cpp: normals from a texture of heights.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

/// Heights that rise by a slope along u.
class Ramp final : public Texture {
public:
    explicit Ramp(double slope) : m_slope(slope) {}
    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        return Spectrum(si.uv.x * m_slope);
    }
    Vector2 eval_1_grad(const SurfaceInteraction &, const Mask &) const override {
        return { Float(m_slope), Float(0) };
    }
    bool is_spatially_varying() const override { return true; }

private:
    double m_slope;
};

} // namespace

class BackendBumpMap : public BsdfTest {
protected:
    static double value(const Ref<BSDF> &bsdf, const SurfaceInteraction &si, const Vector3 &wo) {
        return read_floats(unpolarized(bsdf->eval({}, si, wo, true))[0])[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendBumpMap)

TEST_P(BackendBumpMap, FlatHeightsDoNothing) {
    const char *inside = "<bsdf type='roughconductor'><float name='alpha' value='.3'/></bsdf>";
    Ref<BSDF> bsdf = make(fmt::format("<bsdf type='bumpmap'><texture type='uniform'><float "
                                      "name='value' value='.7'/></texture>{}</bsdf>",
                                      inside));
    Vector3 wi = normalize({ Float(0.3), Float(-0.2), Float(0.8) }),
            wo = normalize({ Float(-0.4), Float(0.1), Float(0.7) });
    EXPECT_NEAR(value(bsdf, hit_from(wi), wo), value(make(inside), hit_from(wi), wo), 1e-5);
}

// A height of 3/4 for each unit along u tilts the normal to (-0.6, 0, 0.8); where a unit of u is longer, it tilts less.
TEST_P(BackendBumpMap, NormalsFollowTheSlope) {
    PluginRegistry::instance().add({ "texture", "ramp_of_test", [](const Properties &) {
                                        return std::static_pointer_cast<Object>(
                                            std::make_shared<Ramp>(0.25));
                                    } });
    Ref<BSDF> bsdf = make("<bsdf type='bumpmap'><texture type='ramp_of_test'/><float name='scale' "
                          "value='3'/><bsdf type='diffuse'/><boolean "
                          "name='use_shadowing_function' value='false'/></bsdf>");
    PluginRegistry::instance().remove("texture", "ramp_of_test");
    Vector3 up(0, 0, 1);
    SurfaceInteraction si = hit_from(up);
    EXPECT_NEAR(value(bsdf, si, up), 0.5 * InvPi * 0.8, 1e-6);
    Vector3 along(-0.6, 0, 0.8);
    EXPECT_NEAR(value(bsdf, si, along), 0.5 * InvPi, 1e-6);
    si.dp_du = si.dp_du * Float(2);
    EXPECT_NEAR(value(bsdf, si, up), 0.5 * InvPi / std::hypot(1, 0.375), 1e-6);
}

TEST(BumpMap, NeedsBothOfItsParts) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused(
        "<shape type='sphere'><bsdf type='bumpmap'><bsdf type='diffuse'/></bsdf></shape>",
        { "bumpmap", "needs a texture" });
    expect_refused("<shape type='sphere'><bsdf type='bumpmap'><texture type='checkerboard'/></bsdf>"
                   "</shape>",
                   { "bumpmap", "needs a BSDF" });
}

} // namespace umbel
