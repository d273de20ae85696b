// tests/fuzz/fuzz_test.cpp: damaged scenes, meshes and images, loaded all the way: each gives an error or a scene.
//
// UMBEL_FUZZ_COUNT says how many files are damaged (default: 400), UMBEL_FUZZ_FIRST with which seed to begin. A case that
// ends the program, or that takes more than a minute, is named on stderr; UMBEL_FUZZ_FIRST=seed UMBEL_FUZZ_COUNT=1 runs it
// alone.
#include "core/image_io.h"
#include "core/scene_file.h"
#include "fuzz/largest_block.h"
#include "jit/buffer.h"
#include "render/scene.h"
#include "render/texture.h"
#include "support/image_samples.h"
#include "support/mutator.h"
#include "support/serialized_file.h"
#include <csignal>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace umbel {
namespace {

namespace fs = std::filesystem;
using test::largest_block, test::Mutator;

constexpr size_t BlockLimit = size_t(128) << 20, ResidentLimit = size_t(512) << 20;
constexpr unsigned SecondsLimit = 60;

char current_case[200];

void report_and_die(int signal) {
    [[maybe_unused]] auto ignored = write(2, current_case, std::strlen(current_case));
    std::signal(signal, SIG_DFL);
    raise(signal);
}

size_t resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return size_t(usage.ru_maxrss) * 1024;
}

const char *NewScene = R"(<scene version="3.0.0">
    <default name="spp" value="16"/>
    <integrator type="path"><integer name="max_depth" value="6"/></integrator>
    <sensor type="perspective">
        <float name="fov" value="40"/>
        <string name="fov_axis" value="smaller"/>
        <transform name="to_world"><lookat origin="0, 1, 4" target="0, 1, 0" up="0, 1, 0"/></transform>
        <sampler type="sobol"><integer name="sample_count" value="$spp"/></sampler>
        <film type="hdrfilm">
            <integer name="width" value="64"/><integer name="height" value="32"/>
            <integer name="crop_offset_x" value="8"/><integer name="crop_width" value="16"/>
            <rfilter type="gaussian"><float name="stddev" value="0.5"/></rfilter>
        </film>
    </sensor>
    <bsdf type="twosided" id="box"><bsdf type="diffuse">
        <texture type="bitmap" name="reflectance">
            <string name="filename" value="good.png"/>
            <string name="wrap_mode" value="mirror"/>
            <transform name="to_uv"><scale x="2" y="3"/></transform>
        </texture>
    </bsdf></bsdf>
    <alias id="box" as="crate"/>
    <shape type="obj">
        <string name="filename" value="good.obj"/>
        <transform name="to_world"><scale value="2"/><rotate y="1" angle="30"/></transform>
        <ref id="crate"/>
    </shape>
    <shape type="ply">
        <string name="filename" value="good.ply"/>
        <bsdf type="roughconductor">
            <string name="material" value="Au"/><float name="alpha" value="0.2"/>
            <string name="distribution" value="ggx"/>
        </bsdf>
    </shape>
    <shape type="sphere">
        <point name="center" x="0" y="1" z="0"/><float name="radius" value="0.5"/>
        <bsdf type="roughdielectric"><float name="int_ior" value="1.5"/></bsdf>
    </shape>
    <shape type="rectangle">
        <emitter type="area">
            <spectrum name="radiance" value="400:1, 500:8.5, 600:15.6, 700:18.4"/>
        </emitter>
    </shape>
    <emitter type="constant"><rgb name="radiance" value="0.1, 0.2, 0.3"/></emitter>
</scene>)";

const char *OldScene = R"(<?xml version="1.0" encoding="utf-8"?>
<!-- an interior -->
<scene version="0.6.0">
    <integrator type="direct"><boolean name="hideEmitters" value="true"/></integrator>
    <sensor type="perspective">
        <float name="fov" value="35"/>
        <transform name="toWorld">
            <matrix value="-1 0 0 0 0 1 0 1 0 0 -1 6.8 0 0 0 1"/>
        </transform>
        <sampler type="stratified"><integer name="sampleCount" value="16"/></sampler>
        <film type="hdrfilm"><integer name="width" value="32"/><rfilter type="tent"/></film>
    </sensor>
    <bsdf type="twosided" id="box">
        <bsdf type="roughconductor">
            <float name="alpha" value="0.1"/>
            <srgb name="specularReflectance" value="#ff8040"/>
            <spectrum name="eta" value="400:1.65, 500:0.88, 600:0.52"/>
            <spectrum name="k" value="400:9.2, 500:6.2, 600:4.8"/>
        </bsdf>
    </bsdf>
    <shape type="cube">
        <transform name="toWorld">
            <scale x="0.5" y="2" z="1"/><rotate x="1" angle="45"/><translate x="1" y="0" z="3"/>
        </transform>
        <ref id="box"/>
    </shape>
    <shape type="obj">
        <string name="filename" value="good.obj"/>
        <boolean name="faceNormals" value="true"/>
        <bsdf type="diffuse"><texture name="reflectance" type="checkerboard">
            <rgb name="color0" value="0.1, 0.2, 0.3"/><float name="uscale" value="4"/>
        </texture></bsdf>
        <emitter type="area"><blackbody name="radiance" temperature="5000K"/></emitter>
    </shape>
    <emitter type="point"><point name="position" x="0" y="2" z="1"/>
        <spectrum name="intensity" value="10"/></emitter>
</scene>)";

const char *ObjMesh =
    "# two squares\no a\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nv 0 1 1\nv 2 1 1.5\nvt 0 0\n"
    "vt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\nvn 0 0.6 0.8\ng b\nusemtl m\n"
    "f 1/1/1 2/2/1 3/3/1 -3/-1/-1\nf 4//2 3//2 6//2\nf 4 6 5\ns off\n";

std::string ply_mesh(const char *format) {
    std::string s = fmt::format("ply\nformat {} 1.0\ncomment a square\nelement vertex 4\nproperty "
                                "float x\nproperty float y\n"
                                "property double z\nproperty float nx\nproperty float ny\nproperty "
                                "float nz\nproperty float u\n"
                                "property float v\nproperty uchar red\nelement face 2\nproperty "
                                "list uchar int vertex_indices\n"
                                "element edge 1\nproperty list short ushort other\nend_header\n",
                                format);
    bool ascii = std::string(format) == "ascii", big = std::string(format) == "binary_big_endian";
    auto put = [&](auto v) {
        char b[sizeof v];
        std::memcpy(b, &v, sizeof v);
        if (big)
            std::reverse(b, b + sizeof v);
        ascii ? void(s += fmt::format("{} ", v)) : void(s.append(b, sizeof v));
    };
    for (int i = 0; i < 4; ++i) {
        put(float(i % 2 * 2));
        put(float(i / 2));
        put(double(0.25 * i));
        for (float v : { 0.f, 0.f, 1.f, 0.1f * float(i), 0.5f })
            put(v);
        put(uint8_t(7));
        if (ascii)
            s += "\n";
    }
    for (std::array<int32_t, 3> t : { std::array{ 0, 1, 2 }, std::array{ 1, 3, 2 } }) {
        put(uint8_t(3));
        for (int32_t i : t)
            put(i);
    }
    put(int16_t(2));
    put(uint16_t(1));
    put(uint16_t(2));
    return s;
}

struct Sample {
    enum Kind { Scene, Mesh, Picture } kind;
    std::string name, bytes;
};

std::vector<Sample> samples() {
    Image u8 = test::random_image(21, 13, 9, { "R", "G", "B", "A" }, Component::U8, true);
    for (size_t x = 2; x < 11; ++x) // something for run-length encoders
        for (size_t c = 0; c < 4; ++c)
            u8.set(x, 5, c, 0.5);
    Image f = test::random_image(22, 13, 9, { "R", "G", "B" }, Component::F16);
    std::vector<Sample> out = {
        { Sample::Scene, "new.xml", NewScene },
        { Sample::Scene, "old.xml", OldScene },
        { Sample::Mesh, "a.obj", ObjMesh },
        { Sample::Scene, "new.xml", NewScene },
        { Sample::Mesh, "ascii.ply", ply_mesh("ascii") },
        { Sample::Scene, "old.xml", OldScene },
        { Sample::Mesh, "little.ply", ply_mesh("binary_little_endian") },
        { Sample::Mesh, "big.ply", ply_mesh("binary_big_endian") },
        { Sample::Mesh, "a.serialized", test::serialized_file({ test::folded_sheet() }) },
    };
    for (const char *e : { "png", "jpg", "tga", "bmp", "ppm", "pfm", "hdr" })
        out.push_back({ Sample::Picture, std::string("x.") + e, encode_image(e, u8) });
    for (const char *c : { "none", "rle", "zip", "piz", "dwaa" })
        out.push_back({ Sample::Picture, std::string(c) + ".exr",
                        encode_image("exr", f, { .compression = c }) });
    return out;
}

class Fuzz : public testing::Test {
protected:
    Fuzz() {
        folder = fs::temp_directory_path() / fmt::format("umbel-fuzz-{}", getpid());
        fs::create_directories(folder);
        Image image = test::random_image(1, 8, 8, { "R", "G", "B" }, Component::U8, true);
        save("good.png", encode_image("png", image));
        save("good.obj", ObjMesh);
        save("good.ply", ply_mesh("binary_little_endian"));
        for (int s : { SIGALRM, SIGSEGV, SIGFPE, SIGABRT })
            std::signal(s, report_and_die);
    }
    ~Fuzz() override {
        alarm(0);
        for (int s : { SIGALRM, SIGSEGV, SIGFPE, SIGABRT })
            std::signal(s, SIG_DFL);
        fs::remove_all(folder);
    }

    std::string save(const std::string &name, const std::string &bytes) const {
        std::ofstream(folder / name, std::ios::binary) << bytes;
        return (folder / name).string();
    }

    /// All the way to what a renderer would use. Whether there was nothing to object to.
    bool load(const Sample &s, const std::string &bytes) {
        try {
            if (s.kind == Sample::Scene) {
                SceneFileOptions options;
                options.base_folder = folder;
                load_scene(parse_scene_string(bytes, options));
            } else if (s.kind == Sample::Mesh) {
                std::string type = s.name.substr(s.name.find('.') + 1);
                make_object<Shape>(Properties("shape", type).set("filename", save(s.name, bytes)));
            } else
                make_object<Texture>(
                    Properties("texture", "bitmap").set("filename", save(s.name, bytes)));
            return true;
        } catch (const UserError &e) {
            error = e.what();
            EXPECT_GT(error.size(), 10u) << current_case;
        } catch (const std::exception &e) {
            ADD_FAILURE() << current_case << e.what();
        }
        return false;
    }

    fs::path folder;
    std::string error; // the last one
};

uint32_t setting(const char *name, uint32_t otherwise) {
    const char *text = std::getenv(name);
    return text ? uint32_t(std::strtoul(text, nullptr, 10)) : otherwise;
}

// Found by the test below: a table of as many entries as rows was allocated before the file's end was noticed.
TEST_F(Fuzz, AnExrFileThatClaimsManyRowsOrTilesAllocatesNothing) {
    VariantScope scope(find_variant("interp_rgb"));
    Image f = test::random_image(22, 13, 9, { "R", "G", "B" }, Component::F16);
    for (size_t tile : { 0, 8 }) {
        std::string bytes = encode_image("exr", f, { .compression = "none", .tile = tile });
        size_t window = bytes.find("dataWindow") + sizeof "dataWindow" + sizeof "box2i" + 4;
        bytes[window + 12 + 3] = 0x0e; // the last row's highest byte
        largest_block = 0;
        EXPECT_FALSE(load({ Sample::Picture, "rows.exr", {} }, bytes));
        bytes[window + 12 + 3] = 0;
        bytes[window + 12 + 2] = 0x07; // within the largest side
        bytes[window + 8 + 2] = 0x07;
        EXPECT_FALSE(load({ Sample::Picture, "rows.exr", {} }, bytes));
        EXPECT_LT(largest_block, size_t(16) << 20);
    }
}

// Likewise: elements without properties take no bytes, so that any number of them fits a file.
TEST_F(Fuzz, APlyFileOfCountlessEmptyElementsEnds) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string good = ply_mesh("ascii"), bytes = good;
    bytes.insert(bytes.find("element face"), "element nothing 18446744073709551615\n");
    EXPECT_TRUE(load({ Sample::Mesh, "x.ply", {} }, bytes)) << error;
    bytes = good;
    bytes.replace(bytes.find("element face 2\nproperty list uchar int vertex_indices"),
                  sizeof "element face 2\nproperty list uchar int vertex_indices" - 1,
                  "element face 18446744073709551615");
    EXPECT_FALSE(load({ Sample::Mesh, "x.ply", {} }, bytes));
    bytes = good; // the second list of vertices is shorter than what faces refer to
    bytes.insert(bytes.find("end_header"), "element vertex 1\nproperty float x\n");
    EXPECT_FALSE(load({ Sample::Mesh, "x.ply", {} }, bytes));
}

TEST_F(Fuzz, DamagedFilesGiveAnErrorOrAScene) {
    const char *variants[] = { "interp_rgb", "interp_spectral", "interp_mono_polarized_double" };
    std::vector<Sample> all = samples();
    for (const Sample &s : all) { // the undamaged ones are all right
        VariantScope scope(find_variant("interp_rgb"));
        std::snprintf(current_case, sizeof current_case, "%s, undamaged\n", s.name.c_str());
        ASSERT_TRUE(load(s, s.bytes)) << s.name << ": " << error;
    }
    size_t resident = resident_bytes();
    largest_block = 0;
    uint32_t first = setting("UMBEL_FUZZ_FIRST", 0), count = setting("UMBEL_FUZZ_COUNT", 400);
    uint32_t accepted = 0;
    for (uint32_t seed = first; seed < first + count && !HasFailure(); ++seed) {
        const Sample &s = all[seed % all.size()];
        Mutator mutator(seed);
        std::string bytes =
            s.kind == Sample::Scene ? mutator.damage_xml(s.bytes) : mutator.damage_bytes(s.bytes);
        VariantScope scope(find_variant(variants[seed / all.size() % std::size(variants)]));
        std::snprintf(current_case, sizeof current_case, "seed %u, %s, %s: ", seed, s.name.c_str(),
                      variant().name.c_str());
        alarm(SecondsLimit);
        accepted += load(s, bytes);
        alarm(0);
        EXPECT_LT(largest_block, BlockLimit)
            << current_case << "asked for that much memory at once";
        EXPECT_LT(jit::memory_stats().peak, BlockLimit) << current_case;
        EXPECT_LT(resident_bytes(), resident + ResidentLimit) << current_case;
    }
    if (count >= 100) { // the damage is not all of one kind
        EXPECT_GT(accepted, count / 50);
        EXPECT_LT(accepted, count - count / 50);
    }
}

} // namespace
} // namespace umbel
