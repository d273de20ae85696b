// tests/cli/hardening_test.cpp: the program says what is wrong with numbers and memory, and goes on where it can.
#include "program.h"
#include <cmath>
#include <cstring>
#include <regex>

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
    int failed = 0;
    auto expect_amount = [&](const std::string &options, const std::string &setting) {
        Ran r = render(xml, options, setting);
        EXPECT_TRUE(r.code == 0 || r.code == 2) << options << setting << r.output;
        failed += r.code != 0;
        std::smatch found;
        EXPECT_TRUE(r.code == 0 || std::regex_search(r.output, found,
                                                     std::regex("[0-9] (bytes|[KMGT]iB).*"
                                                                "memory|memory.*[0-9] "
                                                                "(bytes|[KMGT]iB)")))
            << options << setting << r.output;
    };
    for (int megabytes : { 300, 400, 500, 600, 800, 1000 })
        expect_amount("", fmt::format("ulimit -v {};", megabytes * 1000));
    EXPECT_GT(failed, 0);
    failed = 0;
    for (int megabytes : { 1, 10, 30, 100 })
        expect_amount(fmt::format("--max-memory {}M", megabytes), "");
    EXPECT_GT(failed, 0);
}

// A grid of 1.3 GB, nearly all of which is a hole on the disk, is rendered with 500 MB of memory for data.
TEST_F(Hardening, GridsThatDoNotFitAreReadAsTheyAreUsed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "memory is the sanitizer's";
#endif
    constexpr int32_t N = 1100;
    std::string head = "VOL\x03";
    auto add = [&](const auto &v) { head.append(reinterpret_cast<const char *>(&v), sizeof(v)); };
    add(std::array<int32_t, 5>{ 3, N, N, N, 1 }); // bytes
    add(std::array<float, 6>{ 0, 0, 0, 1, 1, 1 });
    std::string smoke = file("smoke.vol", head);
    std::filesystem::resize_file(smoke, head.size() + size_t(N) * N * N);
    {
        std::fstream out(smoke, std::ios::binary | std::ios::in | std::ios::out);
        std::string row(600, char(255));
        for (int z = N / 2 - 30; z < N / 2 + 30; ++z)
            for (int y = N / 2 - 300; y < N / 2 + 300; ++y) {
                out.seekp(std::streamoff(head.size()) + (std::streamoff(z) * N + y) * N + N / 2 -
                          100);
                out.write(row.data(), std::streamsize(row.size()));
            }
    }
    std::string xml = scene(
        "0,0,4", "<emitter type='constant'/><shape type='cube'><bsdf type='null'/><medium "
                 "type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'>"
                 "<string name='filename' value='" +
                     smoke +
                     "'/><transform name='to_world'><translate x='-.5' y='-.5' z='-.5'/><scale "
                     "value='2'/></transform></volume><float name='scale' value='20'/><float "
                     "name='albedo' value='0'/></medium></shape>");
    std::string text = contents(xml), name = "'direct'";
    text.replace(text.find(name), name.size(), "'volpath'");
    file("scene.xml", text);
    std::string image = path("out.pfm");
    Ran r = umbel(fmt::format("render '{}' --spp 256 -o '{}'", xml, image), "ulimit -d 500000;");
    ASSERT_EQ(r.code, 0) << r.output;
    // In the middle light passes 60 of 1100 voxels, of a way of 2
    std::string numbers = contents(image);
    float middle;
    std::memcpy(&middle, numbers.data() + numbers.size() - 4 * 3 * (8 * 4 + 4), 4);
    EXPECT_NEAR(middle, std::exp(-20 * 2 * 60 / 1100.0), 0.06);
}

} // namespace
} // namespace umbel::test
