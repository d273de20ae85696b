// tests/plugins/dipole_test.cpp: diffusion below surfaces.
#include "support/media.h"

namespace umbel {
using namespace test;

namespace {

/// Of a plane without end under light from all sides, per channel: the integral of the profile.
double diffuse_reflectance(double albedo, double A = 1) {
    double s = std::sqrt(3 * (1 - albedo));
    return albedo / 2 * (1 + std::exp(-4.0 / 3 * A * s)) * std::exp(-s);
}

/// A plane of 60 by 60 mean free paths, seen in its middle, where all of it counts.
std::string plane(const std::string &dipole) {
    return scene_xml(
        "<shape type='rectangle'><transform name='to_world'><scale value='3'/></transform>"
        "<bsdf type='diffuse'><rgb name='reflectance' value='0,0,0'/></bsdf><subsurface "
        "type='dipole'>" +
            dipole + "</subsurface></shape>" + Sky,
        4, 16, "volpath", "<lookat origin='0,0,1' target='0,0,0' up='0,1,0'/>");
}

} // namespace

class BackendDipole : public VariantTest {};
UMBEL_VARIANTS(BackendDipole, "llvm_rgb", "llvm_spectral", "llvm_mono", "llvm_rgb_double",
               "interp_rgb")

// Without refraction all light enters, and what leaves is the same in all directions.
TEST_P(BackendDipole, APlaneReflectsTheIntegralOfTheProfile) {
    for (double albedo : { 0.5, 0.95 }) {
        Image image = render_image(*scene_from(plane(fmt::format(
            "<spectrum name='sigma_t' value='10'/><spectrum name='albedo' value='{}'/><float "
            "name='int_ior' value='1'/><float name='ext_ior' value='1'/>",
            albedo))));
        // Points stand for patches of a mean free path, nodes for more
        double want = diffuse_reflectance(albedo);
        for (size_t c = 0; c < image.channel_count(); ++c)
            EXPECT_NEAR(channel_mean(image, c).mean, want, 0.04 * want) << albedo;
    }
}

TEST_P(BackendDipole, ColoursAreThoseOfTheirCoefficients) {
    if (variant().channels() != 3)
        GTEST_SKIP() << "of three channels";
    Image image = render_image(*scene_from(
        plane("<rgb name='sigma_s' value='18,10,6'/><rgb name='sigma_a' value='.2,1,6'/><float "
              "name='int_ior' value='1'/><float name='ext_ior' value='1'/>")));
    double albedo[] = { 18 / 18.2, 10 / 11.0, 0.5 };
    for (size_t c = 0; c < 3; ++c) {
        double want = diffuse_reflectance(albedo[c]);
        EXPECT_NEAR(channel_mean(image, c).mean, want, 0.06 * want);
    }
}

// Where light is scattered many times, diffusion is near to the truth: for an albedo of 0.99 it is 6 % below the exact
// reflectance of a half-space under light from all sides [Hapke 1981].
TEST(Dipole, IsNearToAMediumOfHighAlbedo) {
    VariantScope scope(find_variant("llvm_mono"));
    Image diffusion = render_image(*scene_from(
        plane("<spectrum name='sigma_t' value='10'/><spectrum name='albedo' value='.99'/><float "
              "name='int_ior' value='1'/><float name='ext_ior' value='1'/>")));
    Image medium = render_image(*scene_from(scene_xml(
        "<shape type='cube'><transform name='to_world'><scale x='6' y='6' z='6'/><translate "
        "z='-6'/>"
        "</transform><bsdf type='null'/><medium name='interior' type='homogeneous'><float "
        "name='sigma_t' value='10'/><float name='albedo' value='.99'/></medium></shape>" +
            std::string(Sky),
        4, 512, "volpath", "<lookat origin='0,0,1' target='0,0,0' up='0,1,0'/>")));
    double a = channel_mean(diffusion, 0).mean, b = channel_mean(medium, 0).mean;
    EXPECT_LT(a, b);
    EXPECT_NEAR(a, b, 0.1 * b);
}

// Light on one place leaves it around: beyond a few mean free paths next to nothing.
TEST(Dipole, SpreadsLight) {
    VariantScope scope(find_variant("llvm_mono"));
    std::string lamp = "<emitter type='spot'><transform name='to_world'><lookat origin='0,0,2' "
                       "target='0,0,0' up='0,1,0'/></transform><float name='cutoff_angle' "
                       "value='2'/></emitter>";
    std::string xml = plane("<spectrum name='sigma_t' value='10'/><spectrum name='albedo' "
                            "value='.9'/><integer name='irr_samples' value='1'/>");
    xml.replace(xml.find(Sky), std::string(Sky).size(), lamp);
    auto at = [&](const char *x) {
        std::string moved = xml;
        std::string from =
            fmt::format("<lookat origin='{},0,.2' target='{},0,0' up='0,1,0'/>", x, x);
        std::string was = "<lookat origin='0,0,1' target='0,0,0' up='0,1,0'/>";
        moved.replace(moved.find(was), was.size(), from);
        return channel_mean(render_image(*scene_from(moved)), 0).mean;
    };
    double centre = at("0"), near = at("0.25"), far = at("1.5");
    EXPECT_GT(near, 0);
    EXPECT_GT(centre, 3 * near);
    EXPECT_GT(near, 50 * far);
}

TEST(Dipole, CoefficientsOfAnotherUnitAreAnError) {
    VariantScope scope(find_variant("llvm_rgb"));
    try {
        scene_from(
            plane("<string name='material' value='skin1'/><float name='scale' value='10000'/>"));
        FAIL() << "no error";
    } catch (const UserError &e) {
        EXPECT_NE(std::string(e.what()).find("scale"), std::string::npos) << e.what();
    }
}

} // namespace umbel
