// tests/cli/untrusted_test.cpp: scenes of others: the fence around files, and limits.
#include "cli/program.h"
#include "core/image_io.h"
#include "support/gltf_file.h"
#include <chrono>

namespace umbel::test {

class CliUntrusted : public Cli {
protected:
    void SetUp() override {
#ifdef UMBEL_SANITIZED
        GTEST_SKIP() << "the sanitizer's shadow takes more address space than --untrusted allows";
#endif
        Cli::SetUp();
    }
    std::string scene_with(const std::string &more) const {
        return file("a.xml", fmt::format(R"(<scene version='3.0.0'>
  <sensor type='perspective'><film type='hdrfilm'><integer name='width' value='12'/>
    <integer name='height' value='10'/></film>
    <sampler type='independent'><integer name='sample_count' value='4'/></sampler></sensor>
  {}<emitter type='constant'/></scene>)",
                                         more));
    }
    std::string mesh(const std::string &name) const {
        return fmt::format("<shape type='obj'><string name='filename' value='{}'/></shape>", name);
    }
    std::string texture(const std::string &name) const {
        return fmt::format("<shape type='sphere'><bsdf type='diffuse'><texture type='bitmap' "
                           "name='reflectance'><string name='filename' value='{}'/></texture>"
                           "</bsdf></shape>",
                           name);
    }
    /// Commands that read a scene.
    std::vector<std::string> commands(const std::string &scene) const {
        return { fmt::format("render -q -m interp_rgb {} -o {}", scene, path("i.pfm")),
                 "info " + scene, fmt::format("upgrade {} {}", scene, path("new.xml")) };
    }
};

TEST_F(CliUntrusted, EveryCommandThatReadsScenesHasTheFence) {
    std::filesystem::create_directory(folder / "in");
    std::string included = file("other.xml", "<scene version='3.0.0'/>");
    std::string s =
        file("in/a.xml",
             fmt::format("<scene version='3.0.0'><include filename='{}'/></scene>", included));
    for (const std::string &c : commands(s)) {
        expect_output(umbel(fmt::format("{} --restrict-paths {}", c, path("in"))), 1,
                      "is outside the allowed folders");
        expect_output(umbel(c + " --untrusted"), 1, "is outside the allowed folders");
        for (const char *fence : { "''", "\"$NOT_SET\"" })
            expect_output(umbel(fmt::format("{} --restrict-paths {}", c, fence)), 1,
                          "--restrict-paths: the name of a folder is empty");
        EXPECT_NE(umbel(c + " --restrict-paths ';'").code, 0);
    }
    for (const std::string &c : { "info " + s, fmt::format("upgrade {} {}", s, path("new.xml")) })
        EXPECT_EQ(umbel(fmt::format("{} --untrusted --restrict-paths {}", c, path("."))).code, 0)
            << c;
}

// The folder of the file itself was always allowed.
TEST_F(CliUntrusted, GltfFilesHaveTheSameFence) {
    std::filesystem::create_directory(folder / "in");
    std::filesystem::create_directory(folder / "other");
    std::string apart = gltf_triangle(), whole = apart, from = "data:application";
    size_t at = apart.find(from);
    apart.replace(at, apart.find('"', at) - at, "t.bin");
    const float rows[] = { -1, -1, 0, 1, -1, 0, 0, 1, 0, 0, 0, 1, 0, 0.5f, 1 };
    const uint16_t corners[] = { 0, 1, 2 };
    file("in/t.bin", std::string(reinterpret_cast<const char *>(rows), sizeof rows) +
                         std::string(reinterpret_cast<const char *>(corners), sizeof corners));
    std::string s = file("in/a.gltf", apart), alone = file("in/whole.gltf", whole);
    std::string elsewhere = "info --restrict-paths " + path("other") + " ";
    expect_output(umbel(elsewhere + s), 1,
                  "names \"t.bin\", which lies outside of the allowed folders");
    expect_output(umbel("info --restrict-paths " + path("in") + " " + s), 0, "shapes      1");
    // The scene file itself is the caller's choice, also where its shapes name it
    expect_output(umbel(elsewhere + alone), 0, "shapes      1");
    expect_output(umbel("info --untrusted " + s), 0, "shapes      1");
}

TEST_F(CliUntrusted, OrdinaryScenesRenderAsEver) {
    file("t.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    std::string s = scene_with(mesh("t.obj"));
    for (const char *variant : { "interp_rgb", "llvm_rgb" }) {
        std::string command = fmt::format("render -q {} -m {} -o ", s, variant);
        expect_output(umbel(command + path("a.pfm")), 0, "");
        expect_output(umbel(command + path("b.pfm") + " --untrusted"), 0, "");
        EXPECT_EQ(contents(path("a.pfm")), contents(path("b.pfm")));
    }
}

TEST_F(CliUntrusted, ImagesAndScenesHaveLimitsThatOptionsRaise) {
    write_image(path("t.png"), Image(1024, 1024, { "R", "G", "B" }, Component::U8, true)); // 3 MiB
    std::string s = scene_with(texture("t.png"));
    Ran r = umbel("info --max-image 2M " + s);
    expect_output(r, 1, "1024 x 1024 pixels of 3 channels take 3.0 MiB; up to 2.0 MiB are allowed");
    expect_output(r, 1, "--max-image or UMBEL_MAX_IMAGE");
    expect_output(umbel("info --max-image 4M " + s), 0, "shapes      1");
    expect_output(umbel("info " + s, "UMBEL_MAX_IMAGE=2M"), 1, "up to 2.0 MiB");
    expect_output(umbel("info --max-image 4M " + s, "UMBEL_MAX_IMAGE=2M"), 0, "shapes      1");
    expect_output(umbel("tonemap --max-image 2M " + path("t.png") + " -o " + path("u.png")), 1,
                  "up to 2.0 MiB");
    expect_output(umbel("info --max-image much " + s), 1, "--max-image: \"much\" is no size");

    std::string large = scene_with(fmt::format("<!-- {} -->", std::string(100000, 'x')));
    expect_output(umbel("info --max-scene 90K " + large), 1, "--max-scene or UMBEL_MAX_SCENE");
    expect_output(umbel("info --max-scene 0.1M " + large), 0, "emitters    1");
    std::string gltf = file("a.gltf", gltf_triangle() + std::string(100000, ' '));
    expect_output(umbel("info --max-scene 90K " + gltf), 1, "--max-scene or UMBEL_MAX_SCENE");
    expect_output(umbel("info --max-scene 0.1M " + gltf), 0, "shapes      1");
    std::string huge = scene_with(fmt::format("<!-- {} -->", std::string(65 << 20, 'x')));
    expect_output(umbel("info --untrusted " + huge), 1, "more than the limit of 67108864");
    expect_output(umbel("info " + huge), 0, "emitters    1");
}

// What a file claims is compared with what there is before anything is taken.
TEST_F(CliUntrusted, MemoryIsAskedForBeforeImagesAreDecoded) {
    write_image(path("t.png"), Image(2000, 2000, { "Y" }, Component::U8, true));
    std::string png = contents(path("t.png"));
    png.append(30000, '\0');                  // so that it could hold what it claims
    const char side[] = { 0, 0, 0x75, 0x30 }; // 30,000, big endian
    std::memcpy(&png[16], side, 4);
    std::memcpy(&png[20], side, 4);
    uint32_t crc = ~0u; // of the header
    for (size_t i = 12; i < 29; ++i) {
        crc ^= uint8_t(png[i]);
        for (int k = 0; k < 8; ++k)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    for (int k = 0; k < 4; ++k)
        png[size_t(29 + k)] = char(~crc >> (24 - 8 * k));
    std::string s = scene_with(texture(file("t.png", png)));
    expect_output(umbel("info --max-memory 500M " + s), 2,
                  "30000 x 30000 pixels: 858.3 MiB of memory are needed, and ");
    expect_output(umbel("info --untrusted " + s), 1, "take 858.3 MiB; up to 256.0 MiB are allowed");
}

// Each level has all components of the one below, twice: 5 KB of XML took 12 GB.
TEST_F(CliUntrusted, MixturesOfMixturesStaySmall) {
    auto levels = [](const char *type, const char *leaf, int count) {
        std::string kind = std::string_view(type) == "blendbsdf" ? "bsdf" : "phase",
                    out = fmt::format("<{} type='{}' id='t0'/>", kind, leaf);
        for (int i = 1; i <= count; ++i)
            out += fmt::format("<{0} type='{1}' id='t{2}'><float name='weight' value='.5'/>"
                               "<ref id='t{3}'/><ref id='t{3}'/></{0}>",
                               kind, type, i, i - 1);
        return out;
    };
    auto info = [&](const std::string &more) {
        return umbel("info --max-memory 2G " + scene_with(more));
    };
    for (int n : { 39, 28, 13 }) {
        std::string surface = fmt::format("<shape type='sphere'><ref id='t{}'/></shape>", n),
                    inside = fmt::format("<shape type='sphere'><bsdf type='null'/><medium "
                                         "type='homogeneous' name='interior'><ref id='t{}'/>"
                                         "</medium></shape>",
                                         n);
        expect_output(info(levels("blendbsdf", "diffuse", n) + surface), 1,
                      "(blendbsdf): has more than 4096 components");
        expect_output(info(levels("blendphase", "hg", n) + inside), 1,
                      "(blendphase): has more than 4096 components");
    }
    expect_output(
        info(levels("blendbsdf", "diffuse", 12) + "<shape type='sphere'><ref id='t12'/></shape>"),
        0, "shapes      1");
}

// The name ended there, and the message with it.
TEST_F(CliUntrusted, NamesOfFilesHaveNoNul) {
    std::string gltf = gltf_triangle(), from = "data:application";
    for (const char *name : { "a\\u0000b", "a%00b" }) {
        std::string text = gltf;
        size_t at = text.find(from);
        text.replace(at, text.find('"', at) - at, name);
        expect_output(umbel("info " + file("n.gltf", text)), 1,
                      R"(names "a\x00b", and names of files have no NUL)");
    }
}

TEST_F(CliUntrusted, PixelsAreLimited) {
    std::string s = scene_with("<shape type='sphere'/>");
    std::string command =
        fmt::format("render {} -q -m interp_rgb -o {} --spp 1 ", s, path("i.pfm"));
    expect_output(umbel(command + "--untrusted --size 20000x20000"), 1,
                  "the image has 20000 x 20000 = 400000000 pixels, more than the 67108864");
    expect_output(umbel(command + "--max-pixels 100"), 1,
                  "12 x 10 = 120 pixels, more than the 100");
    expect_output(umbel(command + "--untrusted --max-pixels 120"), 0, "");
}

TEST_F(CliUntrusted, TimeIsLimitedWhateverTheProcessDoes) {
    std::string s = scene_with("<shape type='sphere'/>");
    auto start = std::chrono::steady_clock::now();
    expect_output(
        umbel(fmt::format("render {} -q -m interp_rgb --spp 100000000 --max-time 0.5 -o {}", s,
                          path("i.pfm"))),
        2, "stopped by --max-time");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(CliUntrusted, NoPluginsAreOpened) {
    file("broken.so", "not a library");
    std::string s = scene_with("<shape type='sphere'/>"),
                setting = "UMBEL_PLUGINS=" + folder.string();
    for (const std::string &c : commands(s)) {
        if (!c.starts_with("upgrade"))
            expect_output(umbel(c, setting), 1, "broken.so");
        EXPECT_EQ(umbel(c + " --untrusted", setting).code, 0) << c;
    }
}

} // namespace umbel::test
