// tests/cli/faults_test.cpp: what shells, disks and hands do wrong.
#include "cli/program.h"
#include "core/image_io.h"

namespace umbel::test {

class CliFaults : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        scene = file("a.xml", R"(<scene version='3.0.0'>
  <sensor type='perspective'><float name='fov' value='40'/>
    <transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>
    <film type='hdrfilm'><integer name='width' value='12'/><integer name='height' value='10'/></film>
    <sampler type='independent'><integer name='sample_count' value='4'/></sampler></sensor>
  <shape type='sphere'/><emitter type='constant'/>
</scene>)");
    }
    std::string render(const std::string &out) const {
        return fmt::format("'{}' render {} -m interp_rgb -o {}", program().string(), scene,
                           path(out));
    }
    std::string scene;
};

TEST_F(CliFaults, ANumberOfThreadsThatIsNoneIsAMessage) {
    for (const char *command : { "render", "info" })
        expect_output(umbel(fmt::format("{} {}", command, scene), "UMBEL_THREADS=abc"), 1,
                      "UMBEL_THREADS=\"abc\": expected a number of threads");
}

TEST_F(CliFaults, OptionsThatAreNoneAreMistakes) {
    for (const char *options :
         { "render --no-such", "render", "info --restrict-paths", "render a b c --spp x" })
        EXPECT_EQ(umbel(options).code, 1) << options;
    EXPECT_EQ(umbel("render --help").code, 0);
}

TEST_F(CliFaults, StreamsThatAreClosedOrFullCostNoImage) {
    ASSERT_EQ(shell(render("a.pfm") + " 2>&1").code, 0);
    std::string reference = contents(path("a.pfm"));
    ASSERT_FALSE(reference.empty());
    for (const char *streams : { "2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-" }) {
        // -v says something before, while and after files are written
        Ran r = shell(fmt::format("{} -v --checkpoint {} --checkpoint-every 0 -b 4 {}",
                                  render("b.pfm"), path("c"), streams));
        EXPECT_EQ(r.code, 0) << streams;
        EXPECT_EQ(contents(path("b.pfm")), reference) << streams;
        std::filesystem::remove(path("b.pfm"));
    }
    // The cache complains
    EXPECT_EQ(
        shell(fmt::format("UMBEL_CACHE=/proc/none '{}' render {} -m llvm_rgb -o {} 2>/dev/full",
                          program().string(), scene, path("l.pfm")))
            .code,
        0);
    EXPECT_TRUE(std::filesystem::exists(path("l.pfm")));
    std::string old = file("old.xml", "<scene version='0.5.0'><shape type='sphere'><float "
                                      "name='nonsense' value='3'/></shape></scene>");
    EXPECT_EQ(shell(fmt::format("'{}' upgrade {} {} 2>/dev/full", program().string(), old,
                                path("new.xml")))
                  .code,
              0);
}

TEST_F(CliFaults, OutputThatCannotBeWrittenIsAFailure) {
    for (const std::string &command :
         { "info " + scene, std::string("variants"), std::string("help --markdown") }) {
        Ran r = shell(fmt::format("'{}' {} 2>&1 >/dev/full", program().string(), command));
        EXPECT_EQ(r.code, 2) << command << ": " << r.output;
        EXPECT_NE(r.output.find("No space left"), std::string::npos) << r.output;
    }
}

// `umbel help | head`, and a render whose messages nobody reads any more: the signal for it ended the program.
TEST_F(CliFaults, AReaderThatIsGoneCostsNoImage) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    ASSERT_EQ(dup2(ends[1], 9), 9); // a number that every shell takes
    close(ends[1]);
    for (const char *command : { "variants", "help --markdown", "--help" }) {
        Ran r = shell(fmt::format("'{}' {} 2>&1 >&9", program().string(), command));
        EXPECT_EQ(r.code, 0) << command << ": " << r.output;
        EXPECT_EQ(r.output, "") << command;
    }
    EXPECT_EQ(shell(render("p.pfm") + " -v >&9 2>&9").code, 0);
    EXPECT_TRUE(std::filesystem::exists(path("p.pfm")));
    EXPECT_EQ(shell(fmt::format("'{}' nonsense >&9 2>&9", program().string())).code, 1);
    close(9);
}

// Found by `./umbel soak`: the signal for it ended the program.
TEST_F(CliFaults, FilesThatMayNotGrowAreToldAndLeaveNothing) {
    Ran r = shell(fmt::format("ulimit -f 1; UMBEL_CACHE= {} 2>&1", render("large.pfm")));
    EXPECT_EQ(r.code, 1) << r.output;
    EXPECT_NE(r.output.find("large.pfm"), std::string::npos) << r.output;
    EXPECT_FALSE(std::filesystem::exists(path("large.pfm")));
}

TEST_F(CliFaults, FilesThatAreCutShortMeanwhileAreTold) {
#ifdef UMBEL_SANITIZED
    GTEST_SKIP() << "the sanitizer must be the first library";
#endif
    std::string mesh; // large enough to be mapped
    while (mesh.size() < 2 << 20)
        mesh += "v 0.25 0.5 0.75\n";
    std::string xml = fmt::format("<scene version='3.0.0'><shape type='obj'><string "
                                  "name='filename' value='{}'/></shape></scene>",
                                  file("t.obj", mesh)),
                library = (program().parent_path() / "tests" / "write_faults.so").string();
    Ran r = umbel("info " + file("cut.xml", xml),
                  fmt::format("LD_PRELOAD='{}' UMBEL_CUT_FILE='{}'", library, path("t.obj")));
    expect_output(r, 2, "has been cut short by another program");
    EXPECT_EQ(std::filesystem::file_size(path("t.obj")), 1u);
}

TEST_F(CliFaults, NumbersThatAreNoneAreRefused) {
    auto refused = [&](const std::string &options) {
        Ran r =
            umbel(fmt::format("render {} -m interp_rgb -o {} {}", scene, path("i.pfm"), options));
        EXPECT_NE(r.code, 0) << options << ": " << r.output;
        EXPECT_FALSE(std::filesystem::exists(path("i.pfm"))) << options;
    };
    for (const char *o :
         { "--size 4294967304x8", "--size 8x8x8", "--size x8", "--size 8x", "--size -8x8",
           "--crop 0,0,4294967300,4", "--crop 0,0,4,4,", "--part 1/4294967297 --checkpoint c",
           "--time nan", "--time inf", "--time -1", "--target-error nan", "--refresh nan",
           "--refresh 1x", "--checkpoint-every nan", "--spp 4294967297", "--seed -1" })
        refused(o);
    write_image(path("a.pfm"), Image(2, 2, { "R", "G", "B" }));
    EXPECT_NE(umbel(fmt::format("compare {0} {0} --tolerance nan", path("a.pfm"))).code, 0);
}

TEST_F(CliFaults, EmptyNamesAreRefused) {
    for (const char *o : { "-o ''", "--checkpoint ''", "--restrict-paths ''", "--size ''" }) {
        Ran r = umbel(fmt::format("render {} -m interp_rgb {}", scene, o));
        EXPECT_NE(r.code, 0) << o;
        EXPECT_NE(r.output.find("empty; is a variable of the shell not set?"), std::string::npos)
            << o << ": " << r.output;
    }
    EXPECT_FALSE(std::filesystem::exists(path("a.exr")));
    EXPECT_NE(umbel(fmt::format("upgrade {} ''", scene)).code, 0);
}

TEST_F(CliFaults, LinksAreFollowedAndStay) {
    namespace fs = std::filesystem;
    fs::create_directory(folder / "images");
    fs::create_symlink("images/real.pfm", folder / "link.pfm"); // to nothing yet
    fs::create_symlink("link.pfm", folder / "chain.pfm");
    fs::create_symlink("/dev/null", folder / "device.pfm");
    for (int i = 0; i < 2; ++i) { // a new file, and one that is there
        expect_output(shell(render("chain.pfm") + " -q 2>&1"), 0, "");
        EXPECT_TRUE(fs::is_symlink(folder / "chain.pfm") && fs::is_symlink(folder / "link.pfm"));
        EXPECT_EQ(read_image(path("images/real.pfm")).width(), 12u);
    }
    // A device is written to, and never replaced
    expect_output(shell(render("device.pfm") + " -q 2>&1"), 0, "");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_TRUE(fs::is_symlink(folder / "device.pfm"));
    for (const auto &entry : fs::recursive_directory_iterator(folder))
        EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
}

// The last link of a circle was replaced by the image.
TEST_F(CliFaults, LinksInACircleAreRefused) {
    namespace fs = std::filesystem;
    fs::create_symlink("b.pfm", folder / "a.pfm");
    fs::create_symlink("a.pfm", folder / "b.pfm");
    expect_output(shell(render("a.pfm") + " -q 2>&1"), 1, "a.pfm: links lead in a circle");
    expect_output(shell(render("c.pfm") + " -q --checkpoint " + path("b.pfm") + " 2>&1"), 1,
                  "b.pfm: links lead in a circle");
    EXPECT_TRUE(fs::is_symlink(folder / "a.pfm") && fs::is_symlink(folder / "b.pfm"));
    EXPECT_FALSE(fs::exists(folder / "c.pfm"));
}

// Files that others may not read became such that they may.
TEST_F(CliFaults, FilesThatAreReplacedKeepTheirModes) {
    namespace fs = std::filesystem;
    std::string tiled = contents(scene), film = "'hdrfilm'";
    tiled.replace(tiled.find(film), film.size(), "'tiledhdrfilm'");
    file("t.xml", tiled);
    for (const char *name : { "i.pfm", "t.exr", "c" }) {
        file(name, "");
        fs::permissions(path(name), fs::perms(0600));
    }
    auto mode = [&](const char *name) { return fs::status(path(name)).permissions(); };
    expect_output(shell(render("i.pfm") + " -q 2>&1"), 0, "");
    EXPECT_EQ(mode("i.pfm"), fs::perms(0600));
    expect_output(
        umbel(fmt::format("render {} -q -m interp_rgb -o {}", path("t.xml"), path("t.exr"))), 0,
        "");
    EXPECT_EQ(mode("t.exr"), fs::perms(0600));
    fs::remove(path("c"));
    std::string stopped = render("i.pfm") + " -q -b 4 --time 1e-9 --checkpoint " + path("c");
    expect_output(shell(stopped + " 2>&1"), 0, "stopped");
    fs::permissions(path("c"), fs::perms(0600));
    expect_output(shell(stopped + " 2>&1"), 0, "stopped");
    EXPECT_EQ(mode("c"), fs::perms(0600));
}

TEST_F(CliFaults, ARelativeHomeIsNone) {
    Ran r =
        shell(fmt::format("cd {} && env -u UMBEL_CACHE -u XDG_CACHE_HOME HOME=rel '{}' render {} "
                          "-q -m llvm_rgb 2>&1",
                          path(""), program().string(), scene));
    expect_output(r, 0, "");
    EXPECT_FALSE(std::filesystem::exists(path("rel")));
}

// Warnings of lower layers took a way of their own, past -q and into the bar.
TEST_F(CliFaults, QuietHoldsForAllWarnings) {
    std::string far = contents(scene), near = "origin='0,0,4'";
    far.replace(far.find(near), near.size(), "origin='0,0,1e25'");
    std::string command = fmt::format("render {} -m llvm_rgb -z --spp 1 -o {}",
                                      file("far.xml", far), path("far.pfm")),
                cache = "UMBEL_CACHE=/proc/none";
    EXPECT_EQ(umbel(command + " -q", cache).output, "");
    Ran r = umbel(command, cache);
    expect_output(r, 0, "sensor (perspective): it is at 1e+25");
    expect_output(r, 0, "umbel: kernel cache \"/proc/none\": ");
}

TEST_F(CliFaults, BytesThatCommandTerminalsAreShown) {
    std::string bad = file("b.xml", "<scene version='3.0.0'><shape type='sph\x1b[31mere'>"
                                    "<float name='\xc2\x9b' value='\x07'/></shape></scene>");
    for (const Ran &r : { umbel("render " + bad), umbel("info " + bad),
                          umbel("render '" + path("\x1b]0;title\x07.xml") + "'") }) {
        EXPECT_EQ(r.code, 1);
        EXPECT_NE(r.output.find("\\x1b"), std::string::npos) << r.output;
        for (unsigned char c : r.output)
            EXPECT_TRUE(c >= 32 || c == '\n') << int(c);
    }
    Image image(2, 2, { "R", "G", "B" });
    image.metadata["\x1b[2J"] = std::string("\x1b[31mred");
    write_image(path("i.exr"), image);
    Ran r = umbel("info " + path("i.exr"));
    EXPECT_EQ(r.output.find('\x1b'), std::string::npos);
    expect_output(r, 0, "\\x1b[31mred");
}

} // namespace umbel::test
