// tests/core/scene_fuzz_test.cpp: damaged scene files give a scene or a UserError, nothing else.
//
// UMBEL_SCENES names a folder of larger scenes (default: ../shared/scenes); without it only the two below are damaged.
#include "core/scene_file.h"
#include "core/scene_xml.h"
#include "jit/error.h"
#include "support/mutator.h"
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <utility>

namespace umbel {
namespace {

namespace fs = std::filesystem;

const char *NewForm = R"(<scene version="3.0.0">
    <default name="spp" value="128"/>
    <integrator type="path"><integer name="max_depth" value="6"/></integrator>
    <sensor type="perspective">
        <string name="fov_axis" value="smaller"/>
        <transform name="to_world">
            <lookat origin="278, 273, -800" target="278, 273, -799" up="0, 1, 0"/>
        </transform>
        <sampler type="independent"><integer name="sample_count" value="$spp"/></sampler>
        <film type="hdrfilm"><integer name="width" value="64"/><rfilter type="gaussian"/></film>
    </sensor>
    <bsdf type="diffuse" id="box">
        <spectrum name="reflectance" value="400:0.343, 404:0.445, 408:0.551"/>
    </bsdf>
    <alias id="box" as="crate"/>
    <shape type="obj">
        <string name="filename" value="meshes/cbox_luminaire.obj"/>
        <animation name="to_world">
            <transform time="0"><translate x="0" y="-0.5" z="0"/></transform>
            <transform time="1"><scale value="2"/><rotate y="1" angle="30"/></transform>
        </animation>
        <ref id="crate"/>
        <emitter type="area"><blackbody name="radiance" temperature="5000K"/></emitter>
    </shape>
</scene>)";

const char *OldForm = R"(<?xml version="1.0" encoding="utf-8"?>
<!-- an interior -->
<scene version="0.6.0" >
    <bsdf type="bumpmap" >
        <texture name="map" type="bitmap" >
            <float name="gamma" value="1.0"/>
            <float name="uscale" value="4"/>
            <string name="filename" value="textures/a.jpg" />
        </texture>
        <bsdf type="twosided" id="Aluminium" >
            <bsdf type="roughconductor" >
                <float name="alpha" value="0.1" />
                <float name="extEta" value="1" />
                <srgb name="specularReflectance" value="#ff8040"/>
                <rgb name="eta" value="1.65746, 0.880369, 0.521229"/>
            </bsdf>
        </bsdf>
    </bsdf>
    <shape type="rectangle" >
        <transform name="toWorld" >
            <matrix value="-0.5 0 0 1 0 0.25 0 2 0 0 1e-008 3 0 0 0 1"/>
        </transform>
        <ref id="Aluminium" />
    </shape>
</scene>)";

std::string read(const fs::path &path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

// Returns how many were still scenes.
int damage_and_parse(const std::string &text, const SceneFileOptions &options, uint32_t first_seed,
                     int count) {
    int scenes = 0;
    for (int i = 0; i < count; ++i) {
        uint32_t seed = first_seed + uint32_t(i);
        std::string damaged = test::Mutator(seed).damage_xml(text);
        auto start = std::chrono::steady_clock::now();
        try {
            Properties p = parse_scene_string(damaged, options);
            ++scenes;
            // Whatever was read can be written and read again.
            Properties again = parse_scene_string(to_xml(p), options);
            EXPECT_TRUE(same_content(p, again)) << "seed " << seed << "\n" << to_xml(p);
        } catch (const UserError &e) {
            EXPECT_GT(std::string(e.what()).size(), 10u) << "seed " << seed;
        } catch (const std::exception &e) {
            ADD_FAILURE() << "seed " << seed << ": " << e.what();
        }
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        EXPECT_LT(seconds.count(), 5) << "seed " << seed;
    }
    return scenes;
}

TEST(SceneFuzz, DamagedScenesParseOrSayWhatIsWrong) {
    for (const char *text : { NewForm, OldForm }) {
        ASSERT_NO_THROW(parse_scene_string(text));
        int scenes = damage_and_parse(text, {}, 1, 2000);
        EXPECT_GT(scenes, 50); // the damage is not all of one kind
        EXPECT_LT(scenes, 1950);
    }
}

// Reads all that is large a few elements at a time, and everything is large.
struct StreamsAll {
    size_t before = std::exchange(scene_xml::stream_from, 0);
    ~StreamsAll() { scene_xml::stream_from = before; }
};

std::optional<Properties> parsed(const std::string &text, const SceneFileOptions &options,
                                 std::string &message) {
    try {
        return parse_scene_string(text, options);
    } catch (const UserError &e) {
        message = e.what();
        return {};
    }
}

// Returns how many were scenes.
int compare_streamed(const std::string &text, const SceneFileOptions &options, uint32_t first_seed,
                     int count) {
    int scenes = 0;
    for (int i = 0; i < count; ++i) {
        uint32_t seed = first_seed + uint32_t(i);
        std::string damaged = i ? test::Mutator(seed).damage_xml(text) : text, whole, piecewise;
        std::optional<Properties> a = parsed(damaged, options, whole), b;
        {
            StreamsAll all;
            b = parsed(damaged, options, piecewise);
        }
        EXPECT_EQ(a.has_value(), b.has_value()) << "seed " << seed << "\n"
                                                << whole << "\n"
                                                << piecewise << "\n"
                                                << damaged;
        if (a && b) {
            EXPECT_TRUE(same_content(*a, *b)) << "seed " << seed;
            ++scenes;
        }
    }
    return scenes;
}

TEST(SceneFuzz, ReadPieceByPieceScenesAreTheSame) {
    for (const char *text : { NewForm, OldForm })
        EXPECT_GT(compare_streamed(text, {}, 1, 3000), 50);
}

std::vector<fs::path> larger_scenes() {
    std::vector<fs::path> result;
    const char *set = std::getenv("UMBEL_SCENES");
    std::error_code ignored; // where there is no such folder, there are no scenes
    for (const auto &entry :
         fs::recursive_directory_iterator(set ? set : "../shared/scenes", ignored))
        if (entry.path().extension() == ".xml" &&
            entry.path().parent_path().filename() != "fragments")
            result.push_back(entry.path());
    return result;
}

TEST(SceneFuzz, LargerScenesAreReadAndWrittenBack) {
    if (larger_scenes().empty())
        GTEST_SKIP() << "set UMBEL_SCENES to a folder of scenes";
    for (const fs::path &path : larger_scenes()) {
        std::vector<std::string> warnings;
        SceneFileOptions options;
        options.base_folder = path.parent_path();
        options.warnings = &warnings;
        Properties p = parse_scene_file(path, options);
        EXPECT_GT(p.objects("shape").size(), 2u) << path;
        EXPECT_EQ(p.objects("sensor").size(), 1u) << path;
        EXPECT_EQ(p.objects("integrator").size(), 1u) << path;
        EXPECT_TRUE(warnings.empty()) << path;
        for (const PropertiesPtr &shape : p.objects("shape"))
            if (shape->has("filename")) {
                EXPECT_TRUE(fs::exists(shape->get_file("filename"))) << path;
            }
        EXPECT_TRUE(same_content(p, parse_scene_string(to_xml(p), options))) << path;
        EXPECT_EQ(compare_streamed(read(path), options, 1, 1), 1) << path;
    }
}

TEST(SceneFuzz, DamagedLargerScenesParseOrSayWhatIsWrong) {
    if (larger_scenes().empty())
        GTEST_SKIP() << "set UMBEL_SCENES to a folder of scenes";
    for (const fs::path &path : larger_scenes()) {
        SceneFileOptions options;
        options.base_folder = path.parent_path();
        std::string text = read(path);
        damage_and_parse(text, options, 1000, text.size() > 100'000 ? 30 : 300);
    }
}

} // namespace
} // namespace umbel
