// tests/render/load_test.cpp: bad scenes are refused with what, where and a remedy.
#include "support/scenes.h"
#include <fstream>
#include <malloc.h>
#include <unistd.h>

namespace umbel {
using namespace test;

class Loading : public testing::Test {
protected:
    VariantScope scope{ find_variant("interp_rgb") };

    static void expect_error(const std::string &body, std::initializer_list<const char *> parts) {
        std::string message = user_error([&] { scene_from(scene_xml(body, 8, 1)); });
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos)
                << quote(part) << " is not in: " << message;
    }
};

TEST_F(Loading, AnUnknownParameterIsNamedWithTheNearestKnownOne) {
    expect_error("<shape type='sphere'><bsdf type='diffuse' id='floor'><rgb name='reflectence' "
                 "value='1,1,1'/></bsdf></shape>",
                 { "diffuse", "floor", "reflectence", "did you mean \"reflectance\"" });
}
TEST_F(Loading, AnUnknownPluginIsNamedWithTheNearestKnownOne) {
    expect_error("<shape type='sphere'><bsdf type='difuse'/></shape>", { "difuse", "diffuse" });
}
TEST_F(Loading, AWrongTypeIsRefused) {
    expect_error("<shape type='sphere'><string name='radius' value='big'/></shape>",
                 { "radius", "sphere" });
}
TEST_F(Loading, AValueOutOfRangeIsRefused) {
    expect_error("<shape type='sphere'><float name='radius' value='-1'/></shape>",
                 { "radius", "-1" });
}
TEST_F(Loading, AReflectanceAboveOneIsRefused) {
    expect_error("<shape type='sphere'><bsdf type='diffuse'><rgb name='reflectance' "
                 "value='2,1,1'/></bsdf></shape>",
                 { "reflectance", "between 0 and 1" });
}

// A shape that looks, when it is made, whether the record of the first one is still there.
TEST_F(Loading, WhatAShapeWasReadAsGoesWhenItIsMade) {
    PluginRegistry &registry = PluginRegistry::instance();
    std::weak_ptr<Properties> first;
    bool was_gone = false;
    registry.add({ "shape", "witness", [&](const Properties &p) {
                      was_gone = first.expired();
                      return registry.find("shape", "sphere")->make(p);
                  } });
    // The group is needed by what comes after it: of that there must be one
    Properties root = parse_scene_string(
        "<scene version='3.0.0'><shape type='sphere'/><shape type='shapegroup' id='group'><shape "
        "type='sphere'/></shape><shape type='instance'><ref id='group'/></shape><ref id='group'/>"
        "<shape type='witness'/><shape type='instance'><ref id='group'/></shape></scene>");
    first = *root.all()[0].object();
    ASSERT_EQ(root.all()[0].object()->use_count(), 1);
    Ref<Scene> scene = load_scene(std::move(root));
    registry.remove("shape", "witness");
    EXPECT_TRUE(was_gone);
    ASSERT_EQ(scene->shapes().size(), 6u);
    EXPECT_EQ(scene->shapes()[1], scene->shapes()[3]);
    EXPECT_EQ(scene->instance_count(), 2u);
}

#if defined(__GLIBC__) && !defined(UMBEL_SANITIZED)
TEST_F(Loading, ReadingAShapeTakesLittleMemory) {
    constexpr size_t Count = 2000;
    std::string shapes = "<scene version='3.0.0'><shape type='shapegroup' id='g'/>";
    for (size_t i = 0; i < Count; ++i)
        shapes += "<shape type='instance'><ref id='g'/><transform name='to_world'><translate "
                  "x='1'/></transform></shape>";
    size_t before = mallinfo2().uordblks;
    Properties root = parse_scene_string(shapes + "</scene>");
    EXPECT_LE((mallinfo2().uordblks - before) / Count,
              740u); // 1,072 with transforms in their place
    EXPECT_EQ(root.all().size(), Count + 1);
}

// Of the machine's memory, by a scene that has been rendered; without what every scene takes.
TEST_F(Loading, ShapesOfARenderedSceneTakeLittleMemory) {
    VariantScope fast(find_variant("llvm_rgb"));
    auto resident = [] {
        malloc_trim(0);
        uint64_t size = 0, pages = 0;
        std::ifstream("/proc/self/statm") >> size >> pages;
        return double(pages * uint64_t(sysconf(_SC_PAGESIZE)));
    };
    const char *group = "<shape type='shapegroup' id='g'><shape type='sphere'/></shape>";
    for (const char *shape : { "<shape type='sphere'><float name='radius' value='0.01'/>",
                               "<shape type='instance'><ref id='g'/>" }) {
        auto taken = [&](int count) {
            std::string shapes = group;
            for (int i = 0; i < count; ++i)
                shapes += fmt::format("{}<transform name='to_world'><translate x='{}' y='{}'/>"
                                      "</transform></shape>",
                                      shape, i % 100 * 0.02 - 1, i / 100 * 0.02 - 1);
            std::string xml = scene_xml(shapes, 4, 1);
            double before = resident();
            Ref<Scene> scene = scene_from(xml);
            render_image(*scene);
            return resident() - before;
        };
        taken(2000); // kernels, and what is kept for later scenes
        EXPECT_LE((taken(12000) - taken(2000)) / 10000, 1024) << shape;
    }
}
#endif

// ---- Scenes of version 0.x

class OldScenes : public testing::Test {
protected:
    VariantScope scope{ find_variant("interp_rgb") };
    std::vector<std::string> warnings;

    /// A scene's image, in the old form where the version says so.
    static std::string scene(const std::string &version, const std::string &integrator,
                             const std::string &film, const std::string &body) {
        bool old = version[0] == '0';
        return fmt::format(
            "<scene version='{}'>{}<sensor type='perspective'><float name='fov' value='40'/>"
            "<transform name='{}'><{} origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>{}"
            "<sampler type='{}'><integer name='{}' value='4'/></sampler></sensor>{}</scene>",
            version, integrator, old ? "toWorld" : "to_world", old ? "lookAt" : "lookat", film,
            "ldsampler", old ? "sampleCount" : "sample_count", body);
    }
    Image image(const std::string &xml) {
        warnings.clear();
        return render_image(*load_scene(parse_scene_string(xml, { .warnings = &warnings })));
    }
    static std::string film(const std::string &type, const std::string &more = "") {
        return fmt::format("<film type='{}'><integer name='width' value='8'/><integer "
                           "name='height' value='8'/><rfilter type='box'/>{}</film>",
                           type, more);
    }
    void expect_warning(size_t i, std::initializer_list<const char *> parts) {
        ASSERT_LT(i, warnings.size());
        for (const char *part : parts)
            EXPECT_NE(warnings[i].find(part), std::string::npos)
                << quote(part) << " is not in: " << warnings[i];
    }
};

TEST_F(OldScenes, RenderAsTheirNewForm) {
    Image old = image(
        scene("0.6.0",
              "<integrator type='bdpt'><integer name='maxDepth' value='3'/>"
              "<boolean name='lightImage' value='true'/></integrator>",
              film("ldrfilm", "<string name='fileFormat' value='jpeg'/><boolean name='banner' "
                              "value='false'/><float name='exposure' value='2'/>"),
              "<shape type='sphere'><bsdf type='ward'><float name='alpha' value='.3'/>"
              "<rgb name='diffuseReflectance' value='#336699'/><float name='gloss' value='3'/>"
              "</bsdf></shape><emitter type='constant'><spectrum name='radiance' value='2'/>"
              "<float name='samplingWeight' value='1'/></emitter>"));
    ASSERT_EQ(warnings.size(), 2u);
    expect_warning(0, { "integrator (bdpt)", "\"path\"" });
    expect_warning(1, { "nothing reads", "bsdf (ward): gloss", "scene:1" });
    Image now = image(scene("3.0.0",
                            "<integrator type='path'><integer name='max_depth' value='3'/>"
                            "</integrator>",
                            film("ldrfilm", "<string name='file_format' value='jpeg'/>"
                                            "<float name='exposure' value='2'/>"),
                            "<shape type='sphere'><bsdf type='ward'><float name='alpha' "
                            "value='.3'/><rgb name='diffuse_reflectance' value='.2,.4,.6'/>"
                            "</bsdf></shape><emitter type='constant'><rgb name='radiance' "
                            "value='2'/></emitter>"));
    EXPECT_TRUE(warnings.empty());
    EXPECT_TRUE(same_pixels(old, now));
}

TEST_F(OldScenes, ThatHaveMediaGetAnIntegratorThatSeesThem) {
    const char *body = "<shape type='sphere'><medium type='homogeneous' name='interior'>"
                       "<rgb name='sigmaT' value='1'/></medium></shape><emitter type='constant'/>";
    image(scene("0.5.0",
                "<integrator type='photonmapper'><integer name='globalPhotons' "
                "value='10'/></integrator>",
                film("hdrfilm"), body));
    expect_warning(0, { "photonmapper", "volpath" });
}

TEST_F(OldScenes, LetNestedIntegratorsDoTheirWork) {
    image(scene("0.5.0",
                "<integrator type='adaptive'><float name='maxError' value='.1'/>"
                "<integrator type='direct'/></integrator>",
                film("hdrfilm"), "<shape type='sphere'/>"));
    expect_warning(0, { "adaptive", "\"direct\"" });
}

TEST_F(OldScenes, ShowFieldsBesideTheImage) {
    Image all = image(scene("0.5.0",
                            "<integrator type='multichannel'><integrator type='direct'/>"
                            "<integrator type='field'><string name='field' value='distance'/>"
                            "</integrator></integrator>",
                            film("hdrfilm", "<string name='pixelFormat' value='rgb, luminance'/>"
                                            "<string name='channelNames' value='image, depth'/>"),
                            "<shape type='sphere'/><emitter type='constant'/>"));
    EXPECT_TRUE(warnings.empty()) << warnings.at(0);
    ASSERT_EQ(all.channel_count(), 6u);
    EXPECT_NEAR(all.get(4, 4, 3), 3, 0.05); // the nearest point of the sphere is 3 away
}

// Parameters of new files are refused, as are words that have no substitute.
TEST_F(OldScenes, AreTheOnlyOnesToBeForgiven) {
    std::string body = "<shape type='sphere'><float name='gloss' value='3'/></shape>";
    EXPECT_NO_THROW(image(scene("0.6.0", "", film("hdrfilm"), body)));
    EXPECT_NE(user_error([&] { image(scene("2.0.0", "", film("hdrfilm"), body)); }).find("gloss"),
              std::string::npos);
    EXPECT_NE(user_error([&] {
                  image(scene("0.6.0", "", film("hdrfilm"),
                              "<shape type='sphere'><bsdf type='ward'><string name='variant' "
                              "value='best'/></bsdf></shape>"));
              }).find("best"),
              std::string::npos);
}

} // namespace umbel
