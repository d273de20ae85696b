// tests/cli/plugin_library_test.cpp: plugins in shared libraries, in folders that UMBEL_PLUGINS names.
#include "cli/program.h"
#include <cmath>

namespace umbel::test {

class CliPlugins : public Cli {
protected:
    /// Where the build has put examples/plugins.
    std::string libraries = (program().parent_path() / "example-plugins").string();
    // Dust under uniform light: at normal incidence, w/2 times the integral of mu / (1 + mu), which is 1 - ln 2.
    std::string scene = R"(<scene version='3.0.0'>
  <sensor type='perspective'><float name='fov' value='1'/>
    <transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>
    <film type='hdrfilm'><integer name='width' value='16'/><integer name='height' value='16'/></film>
    <sampler type='independent'><integer name='sample_count' value='1024'/></sampler></sensor>
  <shape type='rectangle'><bsdf type='lommel_seeliger'><float name='albedo' value='0.8'/></bsdf></shape>
  <emitter type='constant'><rgb name='radiance' value='1'/></emitter>
</scene>)";
};

TEST_F(CliPlugins, AreRenderedWith) {
    std::string s = file("s.xml", scene);
    for (const char *variant : { "llvm_rgb", "interp_mono_double", "llvm_spectral_polarized" }) {
        std::string out = path(std::string(variant) + ".pfm");
        Ran r = umbel(fmt::format("render {} -q -m {} -o {}", s, variant, out),
                      "UMBEL_PLUGINS=/:" + libraries);
        ASSERT_EQ(r.code, 0) << variant << ": " << r.output;
        std::string bytes = contents(out);
        size_t channels = bytes[1] == 'F' ? 3 : 1, count = 16 * 16 * channels;
        const char *pixels = bytes.data() + bytes.size() - 4 * count;
        double mean = 0;
        for (size_t i = 0; i < count; ++i) {
            float v;
            std::memcpy(&v, pixels + 4 * i, 4);
            mean += v / double(count);
        }
        EXPECT_NEAR(mean, 0.8 / 2 * (1 - std::log(2.0)), 0.001) << variant;
    }
}

TEST_F(CliPlugins, AreListedAndDescribed) {
    expect_output(umbel("help bsdf", "UMBEL_PLUGINS=" + libraries), 0, " lommel_seeliger");
    expect_output(umbel("help bsdf/lommel_seeliger", "UMBEL_PLUGINS=" + libraries), 0,
                  "grain of dust");
    expect_output(umbel("help bsdf/lommel_seeliger"), 1, "there is no bsdf");
}

TEST_F(CliPlugins, ThatCannotBeOpenedAreNamed) {
    file("broken.so", "not a library");
    Ran r = umbel("help", "UMBEL_PLUGINS=" + folder.string());
    expect_output(r, 1, "broken.so");
    expect_output(r, 1, "UMBEL_PLUGINS: cannot load a plugin");
    expect_output(umbel("help", "UMBEL_PLUGINS=/nowhere/at/all"), 1,
                  "cannot list the folder \"/nowhere/at/all\"");
}

} // namespace umbel::test
