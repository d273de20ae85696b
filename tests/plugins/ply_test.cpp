// tests/plugins/ply_test.cpp: what is particular to Stanford's files; see also tests/render/mesh_test.cpp.
#include "support/mesh_files.h"

namespace umbel {
using namespace test;

class PlyFiles : public MeshFileTest {
protected:
    // Three vertices with further properties, and a face.
    Ref<Shape> read(const std::string &properties, const std::vector<std::string> &values,
                    const std::string &face_properties = "", const std::string &face = "") {
        std::string text = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty "
                           "float y\nproperty float z\n" +
                           properties + "element face 1\nproperty list uchar int vertex_indices\n" +
                           face_properties + "end_header\n";
        const char *corners[] = { "0 0 0 ", "2 0 0 ", "0 2 0 " };
        for (size_t i = 0; i < 3; ++i)
            text += corners[i] + (values.empty() ? "" : values[i]) + "\n";
        return load("ply", write("x.ply", text + "3 0 1 2 " + face + "\n"));
    }
    static std::vector<double> attribute(const Ref<Shape> &s, const std::string &name) {
        EXPECT_TRUE(mesh(s).attributes().count(name)) << name;
        auto it = mesh(s).attributes().find(name);
        return it == mesh(s).attributes().end() ? std::vector<double>()
                                                : read_floats(it->second.values);
    }
};

TEST_F(PlyFiles, PropertiesOfOtherNamesArePassedOver) {
    Ref<Shape> s = read("property uchar quality\n", { "7", "8", "9" });
    EXPECT_DOUBLE_EQ(s->area(), 2);
    EXPECT_TRUE(mesh(s).attributes().empty());
}

TEST_F(PlyFiles, TextureCoordinatesHaveSeveralNames) {
    for (const char *names :
         { "property float u\nproperty float v\n", "property float s\nproperty float t\n",
           "property float texture_u\nproperty float texture_v\n" }) {
        Ref<Shape> s = read(names, { "0.25 0.5", "1 0", "0 1" });
        ASSERT_EQ(mesh(s).uvs.size(), 6u) << names;
        EXPECT_EQ(mesh(s).uvs[0], 0.25);
        EXPECT_EQ(mesh(s).uvs[1], 0.5);
    }
}

TEST_F(PlyFiles, GroupsOfPropertiesBecomeAttributes) {
    Ref<Shape> s = read("property float r\nproperty float g\nproperty float b\nproperty float "
                        "heat_0\n",
                        { "1 2 3 10", "4 5 6 11", "7 8 9 12" },
                        "property float tint_r\nproperty float tint_g\nproperty float tint_b\n",
                        "0.5 0.25 0.125");
    EXPECT_EQ(attribute(s, "vertex_color"), (std::vector<double>{ 1, 2, 3, 4, 5, 6, 7, 8, 9 }));
    EXPECT_EQ(attribute(s, "vertex_heat"), (std::vector<double>{ 10, 11, 12 }));
    EXPECT_EQ(attribute(s, "face_tint_color"), (std::vector<double>{ 0.5, 0.25, 0.125 }));
}

TEST_F(PlyFiles, SaysWhatIsWrong) {
    auto complaint = [&](const std::string &text) {
        return user_error([&] { load("ply", write("x.ply", text)); });
    };
    EXPECT_NE(complaint("plum\n").find("x.ply"), std::string::npos);
    std::string head = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float "
                       "y\nproperty float z\n";
    EXPECT_NE(complaint(head + "end_header\n0 0 0\n").find("no faces"), std::string::npos);
    std::string face = "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    EXPECT_NE(complaint(head + face + "0 0 0\n3 0 0 5\n").find("5"), std::string::npos);
    EXPECT_NE(complaint(head + face + "0 0\n").find("x.ply"), std::string::npos);
}

} // namespace umbel
