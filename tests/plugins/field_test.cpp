// tests/plugins/field_test.cpp: quantities of surfaces as colours.
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {
/// The three numbers at the middle of a plane at z = 1, or at the corner, where there is nothing.
std::array<double, 3> field(const std::string &name, const std::string &more = "",
                            size_t pixel = 4) {
    std::string xml = scene_xml(
        "<shape type='sphere'><point name='center' x='40' y='0' z='0'/></shape><shape "
        "type='rectangle'><transform name='to_world'><scale value='.3'/><translate z='1'/>"
        "</transform><bsdf type='diffuse'><rgb name='reflectance' value='.2,.4,.6'/></bsdf>"
        "</shape>",
        9, 64, "field", "<lookat origin='0,0,4' target='0,0,0' up='0,1,0'/>");
    std::string tag = "<integrator type='field'/>";
    Image image = render_image(
        *scene_from(xml.replace(xml.find(tag), tag.size(),
                                "<integrator type='field'><string name='field' value='" + name +
                                    "'/>" + more + "</integrator>")));
    size_t first = variant().colour == Colour::Rgb ? 0 : image.channel_count() - 3;
    return { image.get(pixel, pixel, first), image.get(pixel, pixel, first + 1),
             image.get(pixel, pixel, first + 2) };
}
void expect(const std::array<double, 3> &got, const std::array<double, 3> &want,
            double tolerance = 0.02) {
    for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(got[i], want[i], tolerance) << i;
}
} // namespace

class BackendField : public VariantTest {};
UMBEL_VARIANTS(BackendField, "interp_rgb", "llvm_rgb_polarized", "llvm_mono", "llvm_spectral")

TEST_P(BackendField, ShowsTheFirstSurface) {
    expect(field("position"), { 0, 0, 1 });
    expect(field("rel_position"), { 0, 0, 3 });
    expect(field("distance"), { 3, 3, 3 });
    expect(field("shNormal"), { 0, 0, 1 });
    expect(field("geo_normal"), { 0, 0, 1 });
    expect(field("uv"), { 0.5, 0.5, 0 }, 0.05);
    expect(field("shapeIndex"), { 1, 1, 1 });
    expect(field("position", "<rgb name='undefined' value='7,8,9'/>", 0), { 7, 8, 9 });
    expect(field("position", "<float name='undefined' value='-1'/>", 0), { -1, -1, -1 });
    if (variant().colour == Colour::Rgb)
        expect(field("albedo"), { 0.2, 0.4, 0.6 }, 1e-5);
}

TEST(Field, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string m = user_error([] { field("height"); });
    EXPECT_NE(m.find("height"), std::string::npos) << m;
}

} // namespace umbel
