// tests/render/openings_test.cpp: surfaces around media that are not closed.
#include "core/file_text.h"
#include "core/load_warnings.h"
#include "render/openings.h"
#include "support/media.h"

namespace umbel {
using namespace test;

class Openings : public VariantTest {
protected:
    static std::vector<std::string> warnings(const std::string &shapes) {
        LoadWarnings loading;
        scene_from(scene_xml("<medium type='homogeneous' id='fog'/><medium type='homogeneous' "
                             "id='haze'/>" +
                                 shapes + Sky,
                             4, 4, "volpath"));
        return loading.texts;
    }
    static std::string shape(const std::string &type, const std::string &media) {
        return "<shape type='" + type + "' id='jar'><bsdf type='null'/>" + media + "</shape>";
    }
};
UMBEL_VARIANTS(Openings, "llvm_rgb")

static const char *Inside = "<ref name='interior' id='fog'/>";

TEST_P(Openings, ClosedShapesAreNoneOfThem) {
    for (const char *type : { "sphere", "cube" })
        EXPECT_TRUE(warnings(shape(type, Inside)).empty()) << type;
}

TEST_P(Openings, FlatShapesAndTubesAreNamed) {
    for (auto [type, why] : { std::pair("rectangle", "4 edges border an odd number of triangles"),
                              { "disk", "it is flat" },
                              { "cylinder", "it has no ends" } }) {
        std::vector<std::string> found = warnings(shape(type, Inside));
        ASSERT_EQ(found.size(), 1u) << type;
        EXPECT_NE(found[0].find("shape \"jar\""), std::string::npos) << found[0];
        EXPECT_NE(found[0].find(why), std::string::npos) << found[0];
    }
}

// Six squares make a box, and five do not.
TEST_P(Openings, ShapesAreClosedTogether) {
    std::string box;
    for (const char *turn : { "x='1' angle='0'", "x='1' angle='90'", "x='1' angle='180'",
                              "x='1' angle='270'", "y='1' angle='90'", "y='1' angle='270'" }) {
        EXPECT_EQ(warnings(box).empty(), box.empty()) << turn;
        box += "<shape type='rectangle'><bsdf type='null'/><transform name='to_world'>"
               "<translate z='1'/><rotate " +
               std::string(turn) + "/><scale value='.7'/></transform>" + Inside + "</shape>";
    }
    EXPECT_TRUE(warnings(box).empty());
}

// The ground in a fog, and surfaces with the same on both sides, are no ends of anything.
TEST_P(Openings, OnlyMediaThatEndThereCount) {
    EXPECT_TRUE(warnings(shape("rectangle", "")).empty());
    EXPECT_TRUE(warnings(shape("rectangle", "<ref name='exterior' id='fog'/>")).empty());
    EXPECT_TRUE(
        warnings(shape("rectangle", std::string(Inside) + "<ref name='exterior' id='fog'/>"))
            .empty());
    EXPECT_EQ(warnings(shape("rectangle", std::string(Inside) + "<ref name='exterior' id='haze'/>"))
                  .size(),
              1u);
}

TEST_P(Openings, ThoseOfGroupsAreFound) {
    std::vector<std::string> found =
        warnings("<shape type='shapegroup' id='jars'>" + shape("disk", Inside) +
                 "</shape><shape type='instance'><ref id='jars'/></shape>"
                 "<shape type='instance'><ref id='jars'/></shape>");
    EXPECT_EQ(found.size(), 1u);
}

// A pyramid whose faces share no vertices, with and without its base; and one with a face of no area.
TEST_P(Openings, EdgesOfMeshesAreCounted) {
    auto pyramid = [](const std::string &faces) {
        std::string path = testing::TempDir() + "umbel_pyramid.obj";
        write_file(path, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv -0 0 0\n" + faces);
        return warnings(shape("obj", "<string name='filename' value='" + path + "'/>" + Inside));
    };
    EXPECT_TRUE(pyramid("f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 5 4\n").empty());
    EXPECT_TRUE(pyramid("f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 5 4\nf 1 5 2\n").empty());
    std::vector<std::string> open = pyramid("f 1 2 4\nf 2 3 4\nf 3 5 4\n");
    ASSERT_EQ(open.size(), 1u);
    EXPECT_NE(open[0].find("3 edges border"), std::string::npos) << open[0];
}

} // namespace umbel
