// tests/plugins/obj_test.cpp: what is particular to Wavefront's files; see also tests/render/mesh_test.cpp.
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
