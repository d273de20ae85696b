// tests/plugins/obj_test.cpp: what is particular to Wavefront's files; see also tests/render/mesh_test.cpp.
#include "core/load_warnings.h"
#include "support/mesh_files.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class ObjFiles : public MeshFileTest {
protected:
    Ref<Shape> read(const std::string &text) { return load("obj", write("x.obj", text)); }
    std::string complaint(const std::string &text) {
        return user_error([&] { read(text); });
    }
};

TEST_F(ObjFiles, PolygonsBecomeFans) {
    Ref<Shape> s = read("v 0 0 0\nv 2 0 0\nv 3 1 0\nv 2 2 0\nv 0 2 0\nf 1 2 3 4 5\n");
    EXPECT_EQ(mesh(s).triangle_count(), 3u);
    EXPECT_DOUBLE_EQ(s->area(), 5);
}

TEST_F(ObjFiles, NegativeIndicesCountFromTheEnd) {
    Ref<Shape> s = read("v 0 0 0\nv 2 0 0\nv 0 2 0\nf -3 -2 -1\nv 9 9 9\n");
    EXPECT_DOUBLE_EQ(s->area(), 2);
}

// A corner with two texture coordinates is two vertices.
TEST_F(ObjFiles, VerticesAreSplitAtSeams) {
    Ref<Shape> s = read("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nvt .5 .5\n"
                        "f 1/1 2/2 3/3\nf 2/4 4/1 3/3\n");
    EXPECT_EQ(mesh(s).triangle_count(), 2u);
    EXPECT_EQ(mesh(s).vertex_count(), 5u);
}

TEST_F(ObjFiles, MaterialsGroupsAndWindowsLinesArePassedOver) {
    Ref<Shape> s = read("mtllib a.mtl\r\no thing\r\ng part\r\nv 0 0 0\r\nv 2 0 0\r\nv 0 2 0\r\n"
                        "usemtl red\r\ns off\r\nl 1 2\r\nf 1 2 3 # a face\r\n");
    EXPECT_EQ(mesh(s).triangle_count(), 1u);
}

// They were errors, or polygons without their last corners
TEST_F(ObjFiles, BackslashesContinueLines) {
    Ref<Shape> s = read("# a comment \\\nv 0 0 \\\n0\nv 2 0 0\r\nv 2 2\\\r\n 0\r\nv 0 2 0\n"
                        "f 1 2 \\\n  3\\\n 4 # all of it \\\nv 9 9 9\n");
    EXPECT_EQ(mesh(s).triangle_count(), 2u);
    EXPECT_DOUBLE_EQ(s->area(), 4);
    // A comment ends with its line wherever it begins, and may follow what is not read
    s = read("v 0 0 0 1 # C:\\\\\nv 2 0 0\ns 1 # \\\nv 0 2 0\nusemtl a#b \\\n\nf 1 2 3\n");
    EXPECT_DOUBLE_EQ(s->area(), 2);
    // A piece ends behind a line, however long that is
    std::string text;
    const int n = 60000; // 2 pieces
    for (int i = 0; i < n; ++i)
        text += fmt::format("v {} \\\n{} 0\n", i, i % 2);
    text += "f 1 2 3\nf 59998 59999 60000\n";
    s = read(text);
    EXPECT_EQ(mesh(s).triangle_count(), 2u);
    EXPECT_EQ(mesh(s).vertex(5), (std::array<double, 3>{ n - 1, 1, 0 }));
    EXPECT_NE(complaint("v 0 0 0\nv 1 \\\n0 0\nv 0 1 0\nf 1 2 x\n").find("x.obj:5"),
              std::string::npos);
}

// Three triangles of the areas 2, 0.5 and 8 in two materials.
const char *const Parts =
    "mtllib parts.mtl\nv 0 0 0\nv 2 0 0\nv 0 2 0\nv 1 0 0\nv 0 1 0\nv 4 0 0\nv 0 4 0\n"
    "usemtl Dark Red\nf 1 2 3\nusemtl glass\nf 1 4 5\nusemtl Dark Red\nf 1 6 7\n";
const char *const Library =
    "# two\nnewmtl Dark Red\r\nKd 0.5 0.1 0\nKs 0 0 0\nnewmtl glass\nillum 7\nNi 1.4\n";

TEST_F(ObjFiles, OfOldScenesHaveAShapeForEachMaterial) {
    write("parts.mtl", Library);
    std::string file = write("parts.obj", Parts);
    auto shapes = [&](const std::string &inside) {
        return scene_from("<scene version='0.5.0'><shape type='obj'><string name='filename' "
                          "value='" +
                          file + "'/>" + inside + "</shape></scene>")
            ->shapes();
    };
    auto all = shapes("<transform name='toWorld'><scale value='2'/></transform>");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_DOUBLE_EQ(all[0]->area(), 40);
    EXPECT_DOUBLE_EQ(all[1]->area(), 2);
    EXPECT_EQ(all[0]->bsdf()->plugin(), "twosided");
    EXPECT_EQ(all[1]->bsdf()->plugin(), "dielectric");
    // Materials of the scene that have the name of one, and lights for each
    all = shapes("<bsdf name='Dark Red' type='plastic'/><emitter type='area'/>");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]->bsdf()->plugin(), "plastic");
    EXPECT_EQ(all[1]->bsdf()->plugin(), "dielectric");
    EXPECT_NE(all[0]->emitter(), nullptr);
    EXPECT_NE(all[0]->emitter(), all[1]->emitter());
    // One for all
    all = shapes("<bsdf type='plastic'/>");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_DOUBLE_EQ(all[0]->area(), 10.5);
}

TEST_F(ObjFiles, DoWithoutLibrariesAndTexturesThatAreMissing) {
    std::string file = write("x.obj", "mtllib none.mtl\nv 0 0 0\nv 2 0 0\nv 0 2 0\nf 1 2 3\n"
                                      "usemtl a\nf 1 3 2\n");
    auto load = [&](const char *bsdf, const char *missing) {
        LoadWarnings warnings;
        Ref<Scene> s =
            scene_from("<scene version='0.5.0'><shape type='obj'><string name='filename' value='" +
                       file + "'/></shape></scene>");
        ASSERT_EQ(s->shapes().size(), 2u);
        EXPECT_EQ(s->shapes()[1]->bsdf()->plugin(), bsdf);
        ASSERT_EQ(warnings.texts.size(), 1u);
        EXPECT_NE(warnings.texts[0].find(missing), std::string::npos) << warnings.texts[0];
    };
    load("diffuse", "none.mtl");
    write("none.mtl",
          "newmtl a\nmap_Kd -s 2 2 1 -clamp on some folder\\wood.png\nd 0.5\nKd\nNs x\n");
    load("mask", "some folder/wood.png");
}

TEST_F(ObjFiles, HavePartsByMaterial) {
    std::string file = write("parts.obj", Parts);
    auto part = [&](const char *name) {
        return make_object<Shape>(Properties("shape", "obj")
                                      .set("filename", file)
                                      .set("material_name", std::string(name)));
    };
    EXPECT_DOUBLE_EQ(part("Dark Red")->area(), 10);
    EXPECT_DOUBLE_EQ(part("glass")->area(), 0.5);
    EXPECT_NE(user_error([&] { part("water"); }).find("no faces of the material \"water\""),
              std::string::npos);
}

// Two squares that meet in a right angle.
TEST_F(ObjFiles, KeepCreasesSharp) {
    std::string file = write("x.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 1 0 -1\nv 1 1 -1\n"
                                      "f 1 2 3 4\nf 2 5 6 3\n");
    auto bent = [&](double angle) {
        return make_object<Shape>(
            Properties("shape", "obj").set("filename", file).set("max_smooth_angle", angle));
    };
    EXPECT_EQ(mesh(bent(30)).vertex_count(), 8u);
    EXPECT_EQ(mesh(bent(91)).vertex_count(), 6u);
    EXPECT_EQ(mesh(bent(0)).vertex_count(), 6u);
}

TEST_F(ObjFiles, NormalsAreSmoothedUnlessTheyComeAlong) {
    const char *roof = "v -1 0 0\nv 0 0 1\nv 0 1 1\nv 1 0 0\nf 1 2 3\nf 2 4 3\n";
    Ref<Shape> s = read(roof);
    ASSERT_EQ(mesh(s).normals.size(), 12u);
    EXPECT_NEAR(std::abs(mesh(s).normals[5]), 1, 1e-6) << "the ridge looks straight up";
    auto flat = make_object<Shape>(
        Properties("shape", "obj").set("filename", write("x.obj", roof)).set("face_normals", true));
    EXPECT_TRUE(mesh(flat).normals.empty());
}

// Long files are parsed in pieces: a fan whose vertices and faces are in all of them.
TEST_F(ObjFiles, PiecesOfLongFilesFitTogether) {
    std::string text = "v 0 0 0\n";
    const int n = 40000;
    for (int i = 0; i < n; ++i) {
        text += fmt::format("v 1 {} 0\n", double(i) / (n - 1));
        if (i)
            text += i % 2 ? fmt::format("f 1 {} {}\n", i + 1, i + 2)
                          : fmt::format("f {} -2 -1\n", -i - 2);
    }
    Ref<Shape> s = read(text);
    ASSERT_EQ(mesh(s).triangle_count(), size_t(n - 1));
    EXPECT_EQ(mesh(s).vertex_count(), size_t(n + 1));
    EXPECT_NEAR(s->area(), 0.5, 1e-9);
    for (uint32_t t = 0; t < n - 1; ++t)
        ASSERT_EQ(mesh(s).indices[3 * t + 2], t + 2) << "in the order of the file";
    EXPECT_NE(complaint(text + "f 1 2 90000\n").find(fmt::format("x.obj:{}: ", 2 * n + 1)),
              std::string::npos);
    EXPECT_NE(complaint(text + "\nv 1 2 nothing\n").find(fmt::format("x.obj:{}: ", 2 * n + 2)),
              std::string::npos);
}

TEST_F(ObjFiles, SaysInWhichLineWhatIsWrong) {
    EXPECT_NE(complaint("v 0 0 0\nv 1 0 0\nf 1 2 7\n").find("x.obj:3"), std::string::npos);
    EXPECT_NE(complaint("v 0 0 zero\n").find("x.obj:1"), std::string::npos);
    EXPECT_NE(complaint("v 0 0 0\n").find("holds no faces"), std::string::npos);
    expect_refused("<shape type='obj'><string name='filename' value='nowhere.obj'/></shape>",
                   { "nowhere.obj" });
}

} // namespace umbel
