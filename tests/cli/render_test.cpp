// tests/cli/render_test.cpp: `umbel render` as users run it.
#include "cli/program.h"
#include "core/image_io.h"
#include "jit/cuda/present.h"
#include "support/gltf_file.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <pty.h>
#include <set>
#include <thread>

namespace umbel::test {

namespace {

const char *Scene = R"(<scene version='3.0.0'>
  <default name='light' value='1'/><default name='file' value=''/>
  <sensor type='perspective'><float name='fov' value='40'/>
    <transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>
    <film type='hdrfilm'><integer name='width' value='24'/><integer name='height' value='20'/>
      <string name='component_format' value='float32'/></film>
    <sampler type='independent'><integer name='sample_count' value='40'/></sampler></sensor>
  <shape type='sphere'/>
  <emitter type='constant'><rgb name='radiance' value='$light'/></emitter>
</scene>)";

} // namespace

class CliRender : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        scene = file("a.xml", Scene);
    }
    /// The image's bytes; PFM has neither dates nor compression.
    std::string image(const std::string &options) {
        Ran r = umbel(
            fmt::format("render {} -q -m interp_rgb -o {} {}", scene, path("i.pfm"), options));
        EXPECT_EQ(r.code, 0) << options << ": " << r.output;
        EXPECT_EQ(r.output, "") << options;
        std::string bytes = contents(path("i.pfm"));
        EXPECT_FALSE(bytes.empty()) << options;
        return bytes;
    }
    std::string scene;
};

class SlowCliRender : public CliRender {};
TEST_F(SlowCliRender, WorksInEveryVariant) {
    std::string list = umbel("variants").output;
    int count = 0;
    for (size_t at = 0, end; (end = list.find('\n', at)) != std::string::npos;
         at = end + 1, ++count) {
        std::string variant = list.substr(at, end - at);
        Ran r = umbel(fmt::format("render {} -q -m {} --spp 4 -o {} --target-error 0.5", scene,
                                  variant, path(variant)));
        EXPECT_EQ(r.code, 0) << variant << ": " << r.output;
        EXPECT_TRUE(std::filesystem::exists(path(variant + ".exr"))) << variant;
    }
    EXPECT_GE(count, 48);
}

TEST_F(CliRender, ImagesAreTheSameForAnyThreadsAndBlocks) {
    std::string reference = image("");
    for (const char *o : { "-p 1", "-p 2", "-p 7", "-b 4", "-b 16 -p 3" })
        EXPECT_EQ(image(o), reference) << o;
    EXPECT_NE(image("--seed 1"), reference);
}

TEST_F(CliRender, DefinitionsMayBeAttachedOrNot) {
    EXPECT_EQ(image("-Dlight=2"), image("-D light=2"));
    EXPECT_NE(image("-Dlight=2"), image(""));
    // They do not swallow what follows
    expect_output(umbel("render -D light=2 -q -m interp_rgb " + scene), 0, "");
    expect_output(umbel("render -D light " + scene), 1, "expected name=value");
}

TEST_F(CliRender, FilesOutsideOfAllowedFoldersAreRefused) {
    std::string outside = file("b.xml", "<scene version='3.0.0'><shape type='obj'><string "
                                        "name='filename' value='/etc/passwd'/></shape></scene>");
    Ran r = umbel(fmt::format("render {} --restrict-paths {}", outside, path("")));
    EXPECT_NE(r.code, 0);
    EXPECT_NE(r.output.find("/etc/passwd"), std::string::npos) << r.output;
    EXPECT_NE(r.output.find("folder"), std::string::npos) << r.output;
    EXPECT_EQ(image("--restrict-paths " + path("")), image(""));
}

TEST_F(CliRender, ACropWindowIsThatPartOfTheImage) {
    std::string whole = image("--crop 0,0,24,20"), part = image("--crop 2,3,8,4");
    EXPECT_EQ(whole, image(""));
    EXPECT_NE(part.find("8 4\n"), std::string::npos);
    expect_output(umbel("render --crop 20,0,8,8 " + scene), 1, "does not lie in the image");
    expect_output(umbel("render --crop 1,2,3 " + scene), 1, "X,Y,WIDTH,HEIGHT");
    expect_output(umbel("render --size 12by9 " + scene), 1, "WIDTHxHEIGHT");
}

TEST_F(CliRender, SeveralScenesAtATimeGiveTheImagesOfOneAtATime) {
    std::string b = file("b.xml", Scene), c = file("c.xml", Scene);
    std::string all = scene + " " + b + " " + c;
    expect_output(umbel("render -q -m interp_rgb -j 3 " + all), 0, "");
    std::string first = contents(path("a.exr"));
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(contents(path("b.exr")), first);
    EXPECT_EQ(contents(path("c.exr")), first);
    expect_output(umbel("render -o x.exr " + all), 1, "-o names one file, and there are 3 scenes");
    expect_output(umbel("render --checkpoint x " + all), 1, "--checkpoint names one file");
}

TEST_F(CliRender, ASceneThatFailsDoesNotKeepOthersFromBeingRendered) {
    std::string bad = file("bad.xml", "<scene version='3.0.0'><shape type='spher'/></scene>"),
                c = file("c.xml", Scene);
    for (const char *jobs : { "-j 1", "-j 2" }) {
        std::filesystem::remove(path("a.exr"));
        std::filesystem::remove(path("c.exr"));
        Ran r = umbel(
            fmt::format("render -q -m interp_rgb {} missing.xml {} {} {}", jobs, scene, bad, c));
        expect_output(r, 1, "did you mean \"sphere\"");
        expect_output(r, 1, fmt::format("2 of 4 scenes failed:\n  missing.xml\n  {}\n", bad));
        EXPECT_TRUE(std::filesystem::exists(path("a.exr"))) << r.output;
        EXPECT_TRUE(std::filesystem::exists(path("c.exr"))) << r.output;
    }
    EXPECT_EQ(umbel("render -q missing.xml").output.find("scenes failed"), std::string::npos);
}

TEST_F(CliRender, ExistingImagesAreSkippedOnDemand) {
    expect_output(umbel("render -q -m interp_rgb " + scene), 0, "");
    file("a.exr", "kept");
    expect_output(umbel("render -x -q -m interp_rgb " + scene), 0, "");
    EXPECT_EQ(contents(path("a.exr")), "kept");
    expect_output(umbel("render -q -m interp_rgb " + scene), 0, "");
    EXPECT_NE(contents(path("a.exr")), "kept");
}

TEST_F(CliRender, QuietPrintsNothingAndVerboseSaysWhatIsLoadedAndCompiled) {
    EXPECT_EQ(umbel("render -q -m interp_rgb " + scene).output, "");
    Ran v = umbel("render -v -m llvm_rgb " + scene, "UMBEL_CACHE=");
    expect_output(v, 0, "1 shapes of 0 triangles, 0 instances, 1 bsdfs, 1 emitters");
    expect_output(v, 0, "compiled in");
    expect_output(umbel("render -q -v " + scene), 1, "excludes");
}

TEST_F(CliRender, WarningsAreErrorsOnDemand) {
    expect_output(umbel("render -m interp_rgb -D unknown=1 " + scene), 0, "unknown");
    expect_output(umbel("render -m interp_rgb -w -D unknown=1 " + scene), 1, "warnings are errors");
    // Of shapes, too, once they are loaded
    std::string open = path("open.xml");
    std::ofstream(open)
        << R"(<scene version="3.0.0"><sensor type="perspective"><film type="hdrfilm">
        <integer name="width" value="4"/><integer name="height" value="4"/></film></sensor>
        <shape type="disk" id="lid"><medium type="homogeneous" name="interior"/></shape></scene>)";
    expect_output(umbel("render -m interp_rgb " + open), 0, "shape \"lid\" (disk): has a medium");
    expect_output(umbel("render -m interp_rgb -w " + open), 1, "warnings are errors");
}

TEST_F(CliRender, FilesAreFoundInSearchFolders) {
    std::filesystem::create_directory(folder / "meshes");
    file("meshes/t.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    std::string text = Scene;
    text.replace(text.find("<shape type='sphere'/>"), 22,
                 "<shape type='obj'><string name='filename' value='t.obj'/></shape>");
    std::string s = file("m.xml", text);
    expect_output(umbel("render -m interp_rgb " + s), 1, "t.obj");
    expect_output(
        umbel(fmt::format("render -q -m interp_rgb -a '/nowhere;{}' {}", path("meshes"), s)), 0,
        "");
}

TEST_F(SlowCliRender, PutsPartsTogether) {
    std::string options = fmt::format("render {} -q -m interp_rgb --spp 48 ", scene), parts;
    for (int k = 1; k <= 3; ++k) {
        expect_output(umbel(fmt::format("{} --part {}/3 --checkpoint {} -o {}", options, k,
                                        path(fmt::format("s{}", k)), path("p.pfm"))),
                      0, "");
        parts += " " + path(fmt::format("s{}", k));
    }
    expect_output(umbel(options + "-o " + path("i.pfm") + " --merge" + parts), 0, "");
    expect_output(umbel(options + "-o " + path("w.pfm")), 0, "");
    Image merged = read_image(path("i.pfm")), whole = read_image(path("w.pfm"));
    ASSERT_EQ(merged.width(), whole.width());
    for (size_t y = 0; y < whole.height(); ++y)
        for (size_t x = 0; x < whole.width(); ++x)
            EXPECT_NEAR(merged.get(x, y, 0), whole.get(x, y, 0), 1e-5 * (1 + whole.get(x, y, 0)));
    expect_output(umbel(options + "--merge " + path("s2")), 1, "the first is not");
    expect_output(umbel(options + "--merge " + path("s1") + " -o " + path("i.pfm")), 0,
                  "16 of 48 samples");
    expect_output(umbel(options + "--part 1/2"), 1, "--checkpoint");
    expect_output(umbel(options + "--part 3/2 --checkpoint x"), 1, "expected K/N");
}

TEST_F(SlowCliRender, StopsAtTheTargetErrorAlsoAfterAnInterruption) {
    auto run = [&](const std::string &options) {
        return umbel(
            fmt::format("render {} -z -m interp_rgb --spp 100000 --target-error 0.05 -o {} {}",
                        scene, path("i.pfm"), options));
    };
    Ran r = run("");
    expect_output(r, 0, "relative error 0.0");
    std::string reference = contents(path("i.pfm"));
    // Stopped at once, and resumed, it ends with the same image
    Ran first = run("--time 1e-9 --checkpoint " + path("c"));
    expect_output(first, 0, "goes on from");
    Ran second = run("--checkpoint " + path("c"));
    expect_output(second, 0, "going on from");
    EXPECT_EQ(contents(path("i.pfm")), reference);
    EXPECT_FALSE(std::filesystem::exists(path("c")));
    // The limit belongs to the command, not to the state
    expect_output(run("--time 1e-9 --checkpoint " + path("c")), 0, "stopped");
    expect_output(umbel(fmt::format("render {} -m interp_rgb --spp 100000 --time 1e-9 "
                                    "--checkpoint {}",
                                    scene, path("c"))),
                  0, "going on from");
}

TEST_F(CliRender, TheErrorIsStatedFromTheSecondGroupOfSamplesOn) {
    auto run = [&](const char *options) {
        return umbel(fmt::format("render {} -z -m interp_rgb {}", scene, options)).output;
    };
    EXPECT_NE(run("--spp 16").find("relative error unknown for so few samples"), std::string::npos);
    for (const char *measure : { "image", "median" }) {
        std::string output =
            run(fmt::format("--spp 32 --target-error 1e-9 --error-measure {}", measure).c_str());
        EXPECT_NE(output.find("32 samples a pixel in "), std::string::npos) << output;
        EXPECT_NE(output.find("relative error 0."), std::string::npos) << output;
        EXPECT_NE(output.find("(median pixel 0."), std::string::npos) << output;
        EXPECT_NE(output.find("the error is still above 1e-09: "), std::string::npos);
    }
    std::string near = run("--spp 32 --target-error 0.02");
    EXPECT_NE(near.find("about --spp "), std::string::npos) << near;
    // Half of this image is a sky without noise, which does not count as a pixel that is good already
    std::string stopped = run("--spp 100000 --target-error 0.02 --error-measure median");
    size_t at = stopped.find("median pixel ");
    ASSERT_NE(at, std::string::npos) << stopped;
    double median = std::stod(stopped.substr(at + 13));
    EXPECT_LE(median, 0.02) << stopped;
    EXPECT_GT(median, 0.005) << stopped;
}

TEST_F(CliRender, EndsWithALineThatTellsWhatItTook) {
    Ran r = umbel(fmt::format("render {} -m llvm_rgb", scene), "UMBEL_CACHE=");
    for (const char *part : { "a.xml: ", "a.exr: 40 samples a pixel in ", " samples/s, ",
                              "relative error 0.0", " MB, ", " compiled in " })
        expect_output(r, 0, part);
    EXPECT_EQ(std::count(r.output.begin(), r.output.end(), '\n'), 1) << r.output;
}

TEST_F(CliRender, WhatCannotBeWrittenIsFoundBeforeTheFirstSample) {
    auto start = std::chrono::steady_clock::now();
    auto refused = [&](const std::string &out, const char *why) {
        expect_output(umbel(fmt::format("render {} -m interp_rgb --spp 100000000 --time 60 -o {}",
                                        scene, out)),
                      1, why);
    };
    refused(path("no/a.exr"), "check the folder");
    refused(path("a.gif"), "no image format has the extension \"gif\"; use one of .exr");
    refused(path("a.webp"), "no image format has the extension \"webp\"");
    std::filesystem::create_directory(folder / "b.exr");
    refused(path("b.exr"), "this is a folder");
    expect_output(umbel(fmt::format("render {} -m interp_rgb --spp 100000000 --time 60 "
                                    "--part 1/2 --checkpoint {}",
                                    scene, path("no/c"))),
                  1, "check the folder"); // it would be the result
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
    // A dot alone makes no format
    expect_output(umbel(fmt::format("render {} -q -m interp_rgb -o {}", scene, path("frame.0001"))),
                  0, "");
    EXPECT_TRUE(std::filesystem::exists(path("frame.0001.exr")));
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
}

TEST_F(CliRender, ScenesThatAreNoneAreCalledWhatTheyAre) {
    expect_output(umbel("render " + path("")), 1, "this is a folder; name a scene file: " + scene);
    std::string image = path("i.exr");
    write_image(image, Image(2, 2, { "R", "G", "B" }));
    expect_output(umbel("render " + image), 1, "this is an image");
}

TEST_F(CliRender, VariantsOfMitsubaAreUnderstood) {
    expect_output(umbel(fmt::format("render {} -q -m scalar_rgb -o {}", scene, path("s.pfm"))), 0,
                  "");
    EXPECT_EQ(contents(path("s.pfm")), image(""));
    if (!jit::cuda_is_present())
        expect_output(umbel("render -m cuda_ad_rgb " + scene), 2, "the llvm variants need no GPU");
    expect_output(umbel("render -m lvm_rgb " + scene), 1, "unknown variant");
}

// Both hit the same triangles, spheres and instances but for rays that rounding sends elsewhere.
TEST_F(CliRender, TreesOfRecordedCodeShowWhatEmbreeShows) {
    for (const char *name : { "cbox", "forest", "glass", "hair" }) {
        auto show = [&](const char *accelerator) {
            std::string file = path("t.pfm");
            expect_output(umbel(fmt::format("render scenes/{}.xml -q -m llvm_rgb --size 24x16 "
                                            "--spp 16 -o {}",
                                            name, file),
                                fmt::format("UMBEL_ACCELERATOR={}", accelerator)),
                          0, "");
            return read_image(file);
        };
        Image a = show("embree"), b = show("bvh");
        double sum = 0, difference = 0;
        for (size_t i = 0; i < a.width() * a.height() * 3; ++i) {
            sum += a.data<float>()[i];
            difference += std::abs(a.data<float>()[i] - b.data<float>()[i]);
        }
        EXPECT_GT(sum, 0) << name;
        EXPECT_LT(difference, 0.05 * sum) << name;
    }
    expect_output(umbel("render -q " + scene, "UMBEL_ACCELERATOR=oak"), 1, "embree and bvh");
}

TEST_F(CliRender, MoreSamplesGoOnFromAKeptCheckpoint) {
    for (int spp : { 32, 40 }) {
        std::string state = fmt::format("--checkpoint {} --keep-checkpoint", path("c"));
        std::string few = image(fmt::format("--spp {}", spp));
        EXPECT_EQ(image(fmt::format("--spp {} {}", spp, state)), few);
        EXPECT_EQ(image(fmt::format("--spp {} {}", spp, state)), few); // nothing is left to do
        Ran r = umbel(fmt::format("render {} -m interp_rgb --spp 100 -o {} --checkpoint {}", scene,
                                  path("i.pfm"), path("c")));
        expect_output(r, 0, "going on from");
        std::string extended = contents(path("i.pfm"));
        EXPECT_EQ(extended, image("--spp 100"));
        EXPECT_FALSE(std::filesystem::exists(path("c")));
    }
    expect_output(umbel("render --keep-checkpoint " + scene), 1, "name the file with --checkpoint");
}

TEST_F(CliRender, ADamagedCheckpointGivesWayToThePreviousOne) {
    std::string whole = image("--spp 64");
    auto run = [&](const std::string &more) {
        return umbel(fmt::format("render {} -m interp_rgb --spp 64 -b 8 -o {} --checkpoint {} {}",
                                 scene, path("i.pfm"), path("c"), more));
    };
    auto damage = [&](const std::string &name) {
        std::string state = contents(path(name));
        state[state.size() / 2] ^= 4;
        file(name, state);
    };
    // Two checkpoints, a launch between them
    expect_output(run("--time 1e-9"), 0, "stopped");
    EXPECT_FALSE(std::filesystem::exists(path("c.previous")));
    std::string first = contents(path("c"));
    expect_output(run("--time 1e-9"), 0, "stopped");
    EXPECT_EQ(contents(path("c.previous")), first);
    EXPECT_NE(contents(path("c")), first);

    damage("c");
    Ran r = run("");
    expect_output(r, 0,
                  fmt::format("{} is damaged; {} takes its place", path("c"), path("c.previous")));
    expect_output(r, 0, "going on from");
    EXPECT_EQ(contents(path("i.pfm")), whole);
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        EXPECT_NE(entry.path().filename().string()[0], 'c') << entry.path();

    // Beside what a link points to
    std::filesystem::create_directory(folder / "states");
    std::filesystem::create_symlink("states/c", folder / "c");
    for (int i = 0; i < 2; ++i)
        expect_output(run("--time 1e-9"), 0, "stopped");
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "c"));
    EXPECT_EQ(contents(path("states/c.previous")), first);
    EXPECT_NE(contents(path("states/c")), first);
    std::filesystem::remove(folder / "c");

    // What is damaged is never kept, and both can be
    expect_output(run("--time 1e-9"), 0, "stopped");
    expect_output(run("--time 1e-9"), 0, "stopped");
    damage("c");
    expect_output(run("--time 1e-9"), 0, "takes its place");
    EXPECT_EQ(contents(path("c.previous")), first);
    damage("c");
    damage("c.previous");
    expect_output(run(""), 1, "a checkpoint is damaged");
}

TEST_F(CliRender, ACheckpointThatCannotBeWrittenCostsNoImage) {
    std::string whole = image("");
    Ran r = umbel(fmt::format("render {} -m interp_rgb --checkpoint-every 0 -b 8 -o {} "
                              "--checkpoint {}",
                              scene, path("j.pfm"), path("no/c")));
    expect_output(r, 0, "no checkpoint can be saved");
    expect_output(r, 0, "the checkpoint is not saved: ");
    EXPECT_EQ(contents(path("j.pfm")), whole);
}

// The image was written, and then removed as a checkpoint that is not needed any more.
TEST_F(CliRender, ACheckpointIsNeitherTheImageNorReadByTheScene) {
    namespace fs = std::filesystem;
    std::string xml = Scene;
    xml.insert(xml.rfind("</scene>"),
               "<shape type='obj'><string name='filename' value='t.previous'/></shape>");
    std::string named = file("mesh.xml", xml),
                mesh = file("t.previous", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    fs::create_directory(folder / "d");
    fs::create_symlink("../i.pfm", folder / "d" / "link");
    std::set<fs::path> before;
    for (const auto &entry : fs::directory_iterator(folder))
        before.insert(entry.path());
    auto refused = [&](const std::string &checkpoint, const std::string &why) {
        Ran r = shell(fmt::format("cd {} && '{}' render mesh.xml -m interp_rgb -o i.pfm "
                                  "--checkpoint {} 2>&1",
                                  folder.string(), program().string(), checkpoint));
        expect_output(r, 1, why);
        expect_output(r, 1, "; name another file");
        for (const auto &entry : fs::directory_iterator(folder))
            EXPECT_TRUE(before.contains(entry.path())) << checkpoint << ": " << entry.path();
        EXPECT_EQ(contents(named), xml) << checkpoint;
        EXPECT_NE(contents(mesh), "") << checkpoint;
    };
    for (const std::string &image :
         { std::string("i.pfm"), std::string("d/../i.pfm"), std::string("d/link"), path("i.pfm") })
        refused(image, fmt::format("--checkpoint {}: this is the image", image));
    refused("mesh.xml", "--checkpoint mesh.xml: this is the scene");
    refused("t.previous", "--checkpoint t.previous: this is a file that the scene reads");
    refused("t", "--checkpoint t: the one before it is kept as");
    expect_output(umbel(fmt::format("render {} -q -m interp_rgb -o {} --checkpoint {}", named,
                                    path("i.pfm"), path("d/state"))),
                  0, "");
}

// What had been sampled without --skip-invalid stayed in the image, and was said to be left out.
TEST_F(CliRender, ACheckpointWithInvalidSamplesIsRefusedWhereTheseAreSkipped) {
    std::string options = fmt::format("render {} -q -m interp_rgb -b 8 --time 1e-9 -o {} "
                                      "--checkpoint {}",
                                      scene, path("i.pfm"), path("c"));
    expect_output(umbel(options), 0, "stopped");
    expect_output(umbel(options + " --skip-invalid"), 1, "belongs to another render");
    expect_output(umbel(options), 0, "stopped");
}

TEST_F(CliRender, APartThatIsNotThereIsNamedOnce) {
    Ran r = umbel(fmt::format("render {} -m interp_rgb -o {} --merge {}", scene, path("i.pfm"),
                              path("nope")));
    expect_output(r, 1, fmt::format("umbel: {}: cannot be read", path("nope")));
}

// The trial before the first sample, and the place for images that cannot be written elsewhere.
TEST_F(CliRender, WithoutAFolderForTemporaryFilesThereIsAnImage) {
    Ran r = umbel(fmt::format("render {} -q -m interp_rgb -o {}", scene, path("i.pfm")),
                  "TMPDIR=" + path("none"));
    expect_output(r, 0, "");
    EXPECT_EQ(read_image(path("i.pfm")).width(), 24u);
}

TEST_F(CliRender, AnImageNeedsAName) {
    for (const std::string &name : { path("none/"), folder.string() + "/", path("."), path(".."),
                                     std::string("/"), std::string("."), std::string("..") })
        expect_output(umbel(fmt::format("render {} -m interp_rgb --checkpoint {} -o {}", scene,
                                        path("c"), name)),
                      1, fmt::format("umbel: {}: this is a folder; name a file in it", name));
    EXPECT_FALSE(std::filesystem::exists(path("c"))); // the first sample was never taken
    for (const char *hidden : { "..exr", "...exr" })
        EXPECT_FALSE(std::filesystem::exists(hidden)) << hidden;
}

// A thread that the system refused ended the process, with all that the others had done.
TEST_F(CliRender, JobsGoOnWithTheThreadsThatThereAre) {
#ifdef UMBEL_SANITIZED
    GTEST_SKIP() << "address space is the sanitizer's";
#endif
    std::string scenes;
    for (int i = 0; i < 40; ++i)
        scenes += " " + file(fmt::format("q{}.xml", i), Scene);
    Ran r = umbel(fmt::format("render {} -z -m interp_rgb -j 40 --spp 64", scenes),
                  "ulimit -v 3000000; ulimit -s 200000;");
    EXPECT_TRUE(r.code == 0 || r.code == 2) << r.output;
    expect_output(r, r.code, " of 40 jobs run at a time: ");
}

TEST_F(CliRender, ACheckpointOfAnotherSceneIsRefused) {
    std::string options = " -q -m interp_rgb --time 1e-9 --checkpoint " + path("c");
    expect_output(umbel("render " + scene + options), 0, "stopped");
    expect_output(umbel("render " + scene + options + " -Dlight=3"), 1,
                  "belongs to another render");
}

// Only the scene file itself was looked at.
TEST_F(CliRender, ACheckpointOfOtherFilesIsRefused) {
    auto picture = [](double value) {
        Image image(2, 2, { "R", "G", "B" }, Component::U8, true);
        for (size_t c = 0; c < 3; ++c)
            image.set(1, 1, c, value);
        return image;
    };
    write_image(path("t.bmp"), picture(0.5)); // of one size whatever it shows
    std::string text = gltf_triangle(
        R"({"mesh": 0})", R"("pbrMetallicRoughness": {"baseColorTexture": {"index": 0}})",
        R"(, "textures": [{"source": 0}], "images": [{"uri": "t.png"}])");
    write_image(path("t.png"), picture(0.5));
    std::string library = "newmtl m\nmap_Kd t.bmp\n", mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    file("t.mtl", library);
    file("t.obj", "mtllib t.mtl\n" + mesh + "usemtl m\nf 1 2 3\n");
    std::string xml = Scene;
    xml.insert(xml.rfind("</scene>"), "<shape type='obj'><string name='filename' value='t.obj'/>"
                                      "<boolean name='load_materials' value='true'/></shape>");
    std::string named = file("files.xml", xml), gltf = file("a.gltf", text);
    auto run = [&](const std::string &name) {
        return umbel(fmt::format("render {} -q -m interp_rgb --size 24x20 --spp 200 --time 1e-9 "
                                 "--checkpoint {}.state",
                                 name, name));
    };
    for (const std::string &name : { named, gltf }) {
        expect_output(run(name), 0, "stopped");
        expect_output(run(name), 0, "stopped"); // and goes on
    }
    std::filesystem::path other = std::filesystem::path(gltf).parent_path() / "." / "a.gltf";
    std::filesystem::rename(gltf + ".state", other.string() + ".state");
    expect_output(run(other.string()), 0, "stopped"); // the same by another name
    std::filesystem::rename(other.string() + ".state", gltf + ".state");
    write_image(path("t.png"), picture(0.6));
    expect_output(run(gltf), 1, "belongs to another render");
    write_image(path("t.bmp"), picture(0.6));
    expect_output(run(named), 1, "belongs to another render");
    write_image(path("t.bmp"), picture(0.5)); // what is in it counts, not when it was written
    expect_output(run(named), 0, "stopped");
    file("t.mtl", library + "Ns 3\n");
    expect_output(run(named), 1, "belongs to another render");
}

namespace {

[[noreturn]] void become(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program().string());
    std::vector<char *> argv;
    for (std::string &a : arguments)
        argv.push_back(a.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
}
/// Runs the program without a shell, so that signals reach it. What it says goes to the file `log`, if given.
pid_t start(const std::vector<std::string> &arguments, const std::string &log = "") {
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (!log.empty() && !freopen(log.c_str(), "w", stderr))
        _exit(127);
    become(arguments);
}
/// All that it says on a terminal.
std::string on_terminal(const std::vector<std::string> &arguments) {
    int terminal = -1;
    pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0)
        become(arguments);
    std::string output;
    char buffer[4096];
    for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;)
        output.append(buffer, size_t(n));
    close(terminal);
    waitpid(pid, nullptr, 0);
    return output;
}
/// The numbers before " %", in order.
std::vector<int> percents(const std::string &text) {
    std::vector<int> out;
    for (size_t at = 0; (at = text.find(" %", at)) != std::string::npos; ++at) {
        size_t first = text.find_last_not_of("0123456789", at - 1) + 1;
        out.push_back(std::stoi(text.substr(first, at - first)));
    }
    return out;
}
int end(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
}
bool appears(const std::string &path) {
    for (int i = 0; i < 6000 && !std::filesystem::exists(path); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return std::filesystem::exists(path);
}

} // namespace

TEST_F(SlowCliRender, AfterAKillTheSameCommandEndsWithTheSameImage) {
    auto arguments = [&](const std::string &out) {
        return std::vector<std::string>{ "render", scene,   "-q",   "-m", "llvm_rgb", "--size",
                                         "96x96",  "--spp", "4096", "-o", path(out) };
    };
    ASSERT_EQ(end(start(arguments("whole.pfm"))), 0);

    std::vector<std::string> list = arguments("resumed.pfm");
    list.insert(list.end(), { "--checkpoint", path("c"), "--checkpoint-every", "0.01" });
    pid_t pid = start(list);
    ASSERT_TRUE(appears(path("c")));
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_TRUE(WIFSIGNALED(end(pid))) << "ended before it was killed: take more samples";
    ASSERT_FALSE(std::filesystem::exists(path("resumed.pfm")));

    ASSERT_EQ(end(start(list)), 0);
    EXPECT_EQ(contents(path("resumed.pfm")), contents(path("whole.pfm")));
    EXPECT_FALSE(std::filesystem::exists(path("c")));
}

TEST_F(SlowCliRender, AHangUpWritesTheUnfinishedImageAndAnInterruptEnds) {
    pid_t pid = start({ "render", scene, "-q", "-m", "llvm_rgb", "--spp", "100000000", "-o",
                        path("i.pfm"), "--checkpoint", path("c"), "--checkpoint-every", "0.01" });
    ASSERT_TRUE(appears(path("c"))); // it is under way
    EXPECT_FALSE(std::filesystem::exists(path("i.pfm")));
    kill(pid, SIGHUP);
    EXPECT_TRUE(appears(path("i.pfm")));
    std::filesystem::remove(path("i.pfm"));
    kill(pid, SIGINT);
    int status = end(pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_TRUE(std::filesystem::exists(path("i.pfm")));
    EXPECT_TRUE(std::filesystem::exists(path("c")));
}

TEST_F(SlowCliRender, SeveralTermsAtOnceAreOne) {
    pid_t pid =
        start({ "render", scene, "-q", "-m", "llvm_rgb", "--spp", "100000000", "--size", "512x512",
                "-o", path("i.pfm"), "--checkpoint", path("c"), "--checkpoint-every", "0.01" });
    ASSERT_TRUE(appears(path("c")));
    std::filesystem::remove(path("c"));
    for (int i = 0; i < 20; ++i) {
        kill(pid, SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    int status = end(pid);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_TRUE(std::filesystem::exists(path("i.pfm")));
    EXPECT_TRUE(std::filesystem::exists(path("c")));
}

TEST_F(SlowCliRender, AnInterruptWaitsForNoLongLaunch) {
    // Paths of 20,000 segments: the first launch takes minutes, and there is nothing to save before its end
    std::string closed = file("closed.xml", R"(<scene version='3.0.0'>
  <integrator type='path'><integer name='max_depth' value='20000'/>
    <integer name='rr_depth' value='20000'/></integrator>
  <sensor type='perspective'><film type='hdrfilm'/></sensor>
  <shape type='sphere'><bsdf type='twosided'><bsdf type='diffuse'>
    <rgb name='reflectance' value='1'/></bsdf></bsdf></shape></scene>)");
    pid_t pid = start({ "render", closed, "-q", "-m", "interp_rgb", "-o", path("i.pfm") });
    std::this_thread::sleep_for(std::chrono::seconds(2));
    kill(pid, SIGINT);
    auto begin = std::chrono::steady_clock::now();
    int status = end(pid);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_FALSE(std::filesystem::exists(path("i.pfm")));
}

TEST_F(SlowCliRender, AnInterruptLeavesNoPartOfAFile) {
    std::string tiled = file("t.xml", R"(<scene version='3.0.0'>
  <sensor type='perspective'><film type='tiledhdrfilm'><integer name='width' value='512'/>
    <integer name='height' value='4096'/></film></sensor>
  <emitter type='constant'/><shape type='sphere'/></scene>)");
    pid_t pid =
        start({ "render", tiled, "-q", "-m", "llvm_rgb", "--spp", "4096", "-o", path("i.exr") });
    auto parts = [&] {
        int count = 0;
        for (const auto &entry : std::filesystem::directory_iterator(folder))
            count += entry.path().extension() == ".part";
        return count;
    };
    for (int i = 0; i < 6000 && parts() == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(parts(), 1);
    kill(pid, SIGINT);
    EXPECT_EQ(WEXITSTATUS(end(pid)), 130);
    EXPECT_EQ(parts(), 0);
    EXPECT_FALSE(std::filesystem::exists(path("i.exr")));
}

TEST_F(SlowCliRender, TheBarKnowsItsLimit) {
    auto shown = [&](std::vector<std::string> limit) {
        limit.insert(limit.begin(), { "render", scene, "-m", "llvm_rgb", "--spp", "100000000" });
        return on_terminal(limit);
    };
    std::string timed = shown({ "--time", "2" });
    std::vector<int> all = percents(timed);
    ASSERT_FALSE(all.empty()) << timed;
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << timed;
    EXPECT_GE(all.back(), 80) << timed;
    EXPECT_EQ(timed.find(" min left"), std::string::npos) << timed;

    std::string good = shown({ "--time", "60", "--target-error", "0.002" });
    ASSERT_FALSE(percents(good).empty()) << good;
    EXPECT_GE(percents(good).back(), 60) << good;
    EXPECT_NE(good.find("error 0.00"), std::string::npos) << good;
}

TEST_F(SlowCliRender, SeveralScenesShareALine) {
    std::string b = file("b.xml", Scene);
    std::string shown = on_terminal(
        { "render", scene, b, "-j", "2", "-m", "llvm_rgb", "--spp", "100000000", "--time", "3" });
    size_t at = shown.find(" % | ");
    ASSERT_NE(at, std::string::npos) << shown;
    size_t first = shown.rfind('\r', at);
    std::string line = shown.substr(first, shown.find('\r', at) - first);
    EXPECT_NE(line.find("a.xml"), std::string::npos) << shown;
    EXPECT_NE(line.find("b.xml"), std::string::npos) << shown;
    for (const char *name : { "a.exr: ", "b.exr: " })
        EXPECT_NE(shown.find(name), std::string::npos) << shown;
}

TEST_F(SlowCliRender, AnImageWhoseFolderIsGoneIsSavedElsewhere) {
    std::filesystem::create_directories(folder / "temporary");
    // In the current folder where there is none for temporary files
    for (const std::string &temporary : { path("temporary"), path("none") }) {
        std::filesystem::create_directories(folder / "out");
        setenv("TMPDIR", temporary.c_str(), 1);
        pid_t pid =
            start({ "render", scene, "-m", "llvm_rgb", "--spp", "100000000", "-o",
                    path("out/i.png"), "--checkpoint", path("c"), "--checkpoint-every", "0.01" },
                  path("log"));
        unsetenv("TMPDIR");
        ASSERT_TRUE(appears(path("c"))); // it is under way
        std::filesystem::remove_all(folder / "out");
        kill(pid, SIGINT);
        int status = end(pid);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_NE(WEXITSTATUS(status), 0);
        std::string log = contents(path("log")), mark = "the image is saved as ";
        size_t at = log.find(mark);
        ASSERT_NE(at, std::string::npos) << log;
        std::string saved = log.substr(at + mark.size());
        saved.resize(saved.find('\n'));
        EXPECT_EQ(saved.find(temporary == path("none") ? "./umbel-" : temporary), 0u) << saved;
        EXPECT_EQ(read_image(saved).width(), 24u);
        EXPECT_TRUE(std::filesystem::exists(path("c"))) << "the same command goes on from it";
        std::filesystem::remove(saved);
        std::filesystem::remove(path("c"));
    }
}

} // namespace umbel::test
