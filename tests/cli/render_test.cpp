// tests/cli/render_test.cpp: `umbel render` as users run it.
#include "cli/program.h"
#include "core/image_io.h"
#include <chrono>
#include <csignal>
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
    expect_output(umbel("render -q -m interp_rgb -j 2 missing.xml " + all), 1, "missing.xml");
    expect_output(umbel("render -o x.exr " + all), 1, "-o names one file, and there are 3 scenes");
    expect_output(umbel("render --checkpoint x " + all), 1, "--checkpoint names one file");
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
    expect_output(umbel("render -q -v " + scene), 108, "excludes");
}

TEST_F(CliRender, WarningsAreErrorsOnDemand) {
    expect_output(umbel("render -m interp_rgb -D unknown=1 " + scene), 0, "unknown");
    expect_output(umbel("render -m interp_rgb -w -D unknown=1 " + scene), 1, "warnings are errors");
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
    // A checkpoint without what the error needs is another render's
    expect_output(run("--time 1e-9 --checkpoint " + path("c")), 0, "stopped");
    expect_output(umbel(fmt::format("render {} -m interp_rgb --spp 100000 --checkpoint {}", scene,
                                    path("c"))),
                  1, "belongs to another render");
}

TEST_F(CliRender, ACheckpointOfAnotherSceneIsRefused) {
    std::string options = " -q -m interp_rgb --time 1e-9 --checkpoint " + path("c");
    expect_output(umbel("render " + scene + options), 0, "stopped");
    expect_output(umbel("render " + scene + options + " -Dlight=3"), 1,
                  "belongs to another render");
}

namespace {

/// Runs the program without a shell, so that signals reach it.
pid_t start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program().string());
    std::vector<char *> argv;
    for (std::string &a : arguments)
        argv.push_back(a.data());
    argv.push_back(nullptr);
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], argv.data());
        _exit(127);
    }
    return pid;
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

} // namespace umbel::test
