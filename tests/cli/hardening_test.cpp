// tests/cli/hardening_test.cpp: the program says what is wrong with numbers and memory, and goes on where it can.
#include "program.h"

namespace umbel::test {
namespace {

class Hardening : public Cli {
protected:
    std::string scene(const std::string &origin, const std::string &body) const {
        return file(
            "scene.xml",
            "<scene version='3.0.0'><integrator type='direct'/><sensor type='perspective'>"
            "<transform name='to_world'><lookat origin='" +
                origin +
                "' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer "
                "name='width' value='8'/><integer name='height' value='8'/></film></sensor>" +
                body + "</scene>");
    }
    Ran render(const std::string &xml, const std::string &options = "",
               const std::string &setting = "") const {
        return umbel(fmt::format("render '{}' --spp 4 -o '{}' {}", xml, path("out.exr"), options),
                     setting);
    }
};

const char *Lit = "<shape type='cube'/><shape type='sphere'/><emitter type='constant'/>";

TEST_F(Hardening, ACameraFarAwayIsNamed) {
    expect_output(render(scene("0,0,1e25", Lit)), 0, "sensor (perspective): it is at 1e+25");
}

TEST_F(Hardening, SamplesThatAreNotFiniteAreToldAndSkippedOnRequest) {
    std::string bright = scene(
        "0,0,4", "<shape type='rectangle'/><emitter type='point'><point name='position' x='0' "
                 "y='0' z='0.02'/><rgb name='intensity' value='1e37'/></emitter>");
    expect_output(render(bright), 0, "are part of the image");
    expect_output(render(bright, "--skip-invalid"), 0, "left out");
}

TEST_F(Hardening, EveryIndexCanBeChecked) {
    Ran r = render(scene("0,0,4", Lit), "", "UMBEL_BACKEND=check UMBEL_CHECK_NAN=0");
    EXPECT_EQ(r.code, 0) << r.output;
}

TEST_F(Hardening, LackOfMemoryIsNoBug) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "address space is the sanitizer's";
#endif
    std::string xml = scene("0,0,4", Lit);
    for (int megabytes : { 300, 400, 600 }) {
        Ran r = render(xml, "", fmt::format("ulimit -v {};", megabytes * 1000));
        EXPECT_TRUE(r.code == 0 || r.code == 2) << megabytes << " MB: " << r.output;
        EXPECT_TRUE(r.code == 0 || r.output.find("out of memory") != r.output.npos) << r.output;
    }
}

} // namespace
} // namespace umbel::test
