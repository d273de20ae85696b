// tests/render/strict_normals_test.cpp: light that only the normals of shading let through.
#include "support/scenes.h"
#include <fstream>
#include <unistd.h>

namespace umbel {
using namespace test;

// A floor whose normals lean towards a light that is below it.
TEST(StrictNormals, KeepLightOfTheOtherSideOut) {
    VariantScope scope(find_variant("interp_rgb"));
    std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("umbel_strict_{}.obj", getpid());
    std::ofstream(file) << "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nvn .8 0 .6\n"
                           "f 1//1 2//1 3//1\nf 1//1 3//1 4//1\n";
    auto brightness = [&](const char *integrator, bool is_strict) {
        std::string xml = scene_xml(
            fmt::format("<shape type='obj'><string name='filename' value='{}'/></shape><emitter "
                        "type='point'><point name='position' x='4' y='0' z='-.5'/></emitter>",
                        file.string()),
            4, 16, integrator);
        std::string whole = fmt::format("<integrator type='{}'", integrator);
        size_t at = xml.find(whole) + whole.size();
        xml.replace(
            at, 2,
            fmt::format("><boolean name='strict_normals' value='{}'/></integrator>", is_strict));
        return channel_mean(render_image(*scene_from(xml)), 0).mean;
    };
    for (const char *integrator :
         { "path", "ad", "prb", "rb", "prb_projective", "direct", "volpath", "volpathmis" }) {
        EXPECT_GT(brightness(integrator, false), 1e-3) << integrator;
        EXPECT_EQ(brightness(integrator, true), 0) << integrator;
    }
    std::filesystem::remove(file);
}

} // namespace umbel
