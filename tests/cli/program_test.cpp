// tests/cli/program_test.cpp: commands other than `umbel render`, as users run them.
#include "cli/program.h"
#include "core/image_io.h"

namespace umbel::test {

class CliProgram : public Cli {};

TEST_F(CliProgram, AMisspeltCommandIsNamedWithTheNearestOne) {
    expect_output(umbel("rendr scene.xml"), 1,
                  "there is no command \"rendr\"; did you mean \"render\"?");
    expect_output(umbel("--help"), 0, "render");
}

TEST_F(CliProgram, InfoDescribesImages) {
    Image image(3, 2, { "R", "G", "B", "depth.Z" });
    image.set(1, 1, 3, 8);
    image.metadata["author"] = std::string("nobody");
    write_image(path("a.exr"), image);
    Ran r = umbel("info " + path("a.exr"));
    for (const char *line : { "format      EXR", "size        3 x 2",
                              "channels    R, G, B, depth.Z", "components  f32, linear",
                              "depth.Z     0 to 8, mean 1.33333", "author      \"nobody\"" })
        expect_output(r, 0, line);
    expect_output(umbel("info " + path("")), 1, "this is a folder");
    expect_output(umbel("info " + path("missing.xml")), 1, "missing.xml");
}

TEST_F(CliProgram, CompareSaysWhereImagesDiffer) {
    Image image(3, 2, { "R", "G", "B" });
    write_image(path("a.exr"), image);
    image.set(2, 1, 1, 0.5);
    write_image(path("b.exr"), image);
    expect_output(umbel(fmt::format("compare {} {}", path("a.exr"), path("a.exr"))), 0,
                  "largest        0: the images are the same\n");
    expect_output(umbel(fmt::format("compare {} {}", path("a.exr"), path("b.exr"))), 0,
                  "largest        0.5 at (2, 1), channel G\n");
}

TEST_F(CliProgram, APictureNeverReplacesTheImageThatItIsMadeOf) {
    write_image(path("a.png"), Image(2, 2, { "R", "G", "B" }, Component::U8, true));
    std::string before = contents(path("a.png"));
    expect_output(umbel("tonemap " + path("a.png")), 1, "would replace the image");
    expect_output(umbel(fmt::format("tonemap {} -o {}", path("a.png"), path("./a.png"))), 1,
                  "would replace the image");
    EXPECT_EQ(contents(path("a.png")), before);
    expect_output(umbel(fmt::format("tonemap {} -o {}", path("a.png"), path("b.png"))), 0, "b.png");
}

TEST_F(CliProgram, InfoDescribesTheMachine) {
    Ran r = umbel("info");
    EXPECT_EQ(r.code, 0);
    for (const char *line :
         { "umbel       ", "\nllvm        llvm", "\ninterp      ", "\ncuda        " })
        EXPECT_NE(r.output.find(line), std::string::npos) << r.output;
}

TEST_F(CliProgram, DevicesAreForVariantsThatHaveSome) {
    expect_output(umbel("selftest -m llvm_rgb --device 1"), 1,
                  "--device: llvm_rgb computes on the host");
}

} // namespace umbel::test
