// tests/render/calls_test.cpp: what programs of whole scenes look like, however many objects they have.
#include "support/scenes.h"

using namespace umbel;
using namespace umbel::test;

namespace {

class Calls : public VariantTest {
protected:
    static size_t functions(const std::string &body, const std::string &integrator = "path") {
        Ref<Scene> scene = scene_from(scene_xml(body, 8, 1, integrator));
        render_image(*scene);
        return variant().context().last_program().functions.size();
    }
    static std::string cube(int i, const std::string &bsdf) {
        return fmt::format("<shape type='cube'><transform name='to_world'><scale value='0.1'/>"
                           "<translate x='{}' y='{}'/></transform>{}</shape>",
                           0.3 * (i % 7) - 1, 0.3 * (i / 7) - 1, bsdf);
    }
    static std::string diffuse(int i) {
        return fmt::format(
            "<bsdf type='diffuse'><rgb name='reflectance' value='0.{},0.5,0.5'/></bsdf>",
            i % 9 + 1);
    }
    static std::string rough(int i) {
        return fmt::format("<bsdf type='roughconductor'><float name='alpha' value='{}'/></bsdf>",
                           0.1 + 0.01 * i);
    }
    static constexpr const char *Sky = "<emitter type='constant'/>";
};

TEST_P(Calls, HaveOneSubroutineAClass) {
    std::string few = Sky, many = Sky;
    for (int i = 0; i < 4; ++i)
        few += cube(i, i % 2 ? diffuse(i) : rough(i));
    for (int i = 0; i < 40; ++i)
        many += cube(i, i % 2 ? diffuse(i) : rough(i));
    size_t n = functions(few);
    EXPECT_LE(n, 3u);
    EXPECT_EQ(functions(many), n);
}

TEST_P(Calls, OfEqualMaterialsAreOneSubroutine) {
    std::string scene = Sky;
    for (int i = 0; i < 30; ++i)
        scene += cube(i, "");
    EXPECT_LE(functions(scene), 2u);
}

TEST_P(Calls, OfLightsAndShapesHaveOneSubroutineAClass) {
    auto lights = [](int n) {
        std::string s = cube(0, diffuse(1));
        for (int i = 0; i < n; ++i)
            s += fmt::format(
                "<emitter type='point'><point name='position' x='{}' y='1' z='3'/>"
                "</emitter><shape type='sphere'><float name='radius' value='0.1'/>"
                "<point name='center' x='{}' y='0' z='0'/><emitter type='area'/></shape>",
                0.1 * i, 0.1 * i);
        return s;
    };
    EXPECT_EQ(functions(lights(20)), functions(lights(2)));
}

// Each texture has the one before it for both colours: 2^40 ways through them.
TEST_P(Calls, OfSharedTexturesAreTracedOnce) {
    std::string s = Sky;
    s += "<texture type='checkerboard' id='t0'><rgb name='color0' value='0.1,0.2,0.3'/></texture>";
    for (int i = 1; i < 40; ++i)
        s += fmt::format("<texture type='checkerboard' id='t{}'><ref name='color0' id='t{}'/>"
                         "<ref name='color1' id='t{}'/><transform name='to_uv'><scale value='{}'/>"
                         "</transform></texture>",
                         i, i - 1, i - 1, i + 1);
    s += cube(0, "<bsdf type='diffuse'><ref name='reflectance' id='t39'/></bsdf>");
    EXPECT_GT(functions(s), 0u);
}

TEST_P(Calls, OfSharedMaterialsAreTracedOnce) {
    std::string s = Sky;
    s += "<bsdf type='diffuse' id='t0'/>";
    for (int i = 1; i < 40; ++i)
        s += fmt::format("<bsdf type='twosided' id='t{}'><ref id='t{}'/><ref id='t{}'/></bsdf>", i,
                         i - 1, i - 1);
    s += cube(0, "<ref id='t39'/>");
    EXPECT_GT(functions(s), 0u);
}

UMBEL_VARIANTS(Calls, "llvm_rgb", "llvm_spectral", "interp_rgb")

} // namespace
