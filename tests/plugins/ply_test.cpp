// tests/plugins/ply_test.cpp: what is particular to Stanford's files; see also tests/render/mesh_test.cpp.
#include "support/mesh_files.h"
#include <algorithm>
#include <cmath>

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

TEST_F(PlyFiles, PropertiesOfOtherNamesAreAttributesOfTheirOwn) {
    Ref<Shape> s = read("property uchar quality\nproperty list uchar int friends\n",
                        { "7 1 0", "8 0", "9 2 0 0" });
    EXPECT_DOUBLE_EQ(s->area(), 2);
    EXPECT_EQ(attribute(s, "vertex_quality"), (std::vector<double>{ 7, 8, 9 }));
    EXPECT_EQ(mesh(s).attributes().size(), 1u);
}

// A strip of 9,000 squares in both byte orders, as triangles and as squares, with a pentagon at its end or without one.
TEST_F(PlyFiles, BinaryFilesAreTheSameInAnyOrder) {
    const uint32_t n = 9000;
    auto strip = [&](bool big, uint32_t corners, bool pentagon) {
        std::string f = fmt::format(
            "ply\nformat binary_{}_endian 1.0\nelement vertex {}\nproperty float x\nproperty "
            "double y\nproperty float z\nproperty short heat\nelement face {}\nproperty uchar a\n"
            "property list uchar uint vertex_indices\nproperty float b\nend_header\n",
            big ? "big" : "little", 2 * n + 2, n * (corners == 3 ? 2 : 1) + pentagon);
        auto put = [&](auto v) {
            std::string bytes(reinterpret_cast<const char *>(&v), sizeof v);
            if (big)
                std::reverse(bytes.begin(), bytes.end());
            f += bytes;
        };
        for (uint32_t i = 0; i < 2 * n + 2; ++i)
            put(float(i / 2)), put(double(i % 2) / 3), put(0.f), put(int16_t(i % 100));
        auto face = [&](std::vector<uint32_t> list, uint32_t number) {
            put(uint8_t(number % 200)), put(uint8_t(list.size()));
            for (uint32_t v : list)
                put(v);
            put(float(number));
        };
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t a = 2 * i;
            if (corners == 4)
                face({ a, a + 2, a + 3, a + 1 }, i);
            else
                face({ a, a + 2, a + 3 }, i), face({ a, a + 3, a + 1 }, i);
        }
        if (pentagon)
            face({ 0, 2, 4, 5, 1 }, 77);
        return f;
    };
    Ref<Shape> first = load("ply", write("x.ply", strip(false, 3, false)));
    EXPECT_NEAR(first->area(), n / 3.0, 1e-9);
    std::vector<double> heat = attribute(first, "vertex_heat"), b = attribute(first, "face_b");
    EXPECT_EQ(heat[205], 5);
    EXPECT_EQ(b[2 * 8000 + 1], 8000);
    EXPECT_EQ(attribute(first, "face_a")[2 * 8000], 0);
    for (bool big : { false, true })
        for (uint32_t corners : { 3u, 4u })
            for (bool pentagon : { false, true }) {
                Ref<Shape> s = load("ply", write("x.ply", strip(big, corners, pentagon)));
                ASSERT_EQ(mesh(s).triangle_count(), 2 * n + (pentagon ? 3 : 0));
                EXPECT_EQ(mesh(s).positions, mesh(first).positions);
                for (size_t i = 0; i < 6 * n; ++i)
                    ASSERT_EQ(mesh(s).indices[i], mesh(first).indices[i]) << i;
                EXPECT_EQ(attribute(s, "vertex_heat"), heat);
                std::vector<double> own = attribute(s, "face_b");
                own.resize(b.size());
                EXPECT_EQ(own, b);
            }
    // The first bad index, where it is
    std::string bad = strip(false, 3, false);
    for (size_t number : { 17000u, 5000u }) // records of 18 bytes
        bad.replace(bad.size() - 18 * (2 * n - number) + 2, 4, "\xff\xff\xff\x7f");
    std::string complaint = user_error([&] { load("ply", write("x.ply", bad)); });
    EXPECT_NE(complaint.find("face 5000 refers to vertex 2147483647"), std::string::npos)
        << complaint;
    EXPECT_NE(complaint.find(fmt::format("offset {}", bad.size() - 18 * (2 * n - 5000) + 2)),
              std::string::npos)
        << complaint;
    bad.resize(bad.size() - 7);
    EXPECT_NE(user_error([&] { load("ply", write("x.ply", bad)); }).find("x.ply: offset"),
              std::string::npos);
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

// They were taken as they are: white was a reflectance of 255
TEST_F(PlyFiles, ColoursOfBytesArePartsOf255InSrgb) {
    const char *rgb = "property uchar red\nproperty uchar green\nproperty uchar blue\n";
    Ref<Shape> s = read(rgb, { "255 0 188", "255 255 255", "0 0 0" },
                        "property uchar r\nproperty uchar g\nproperty uchar b\n", "0 188 255");
    std::vector<double> colours = attribute(s, "vertex_color"), face = attribute(s, "face_color");
    double grey = std::pow((188 / 255.0 + 0.055) / 1.055, 2.4);
    const double expected[] = { 1, 0, grey, 1, 1, 1, 0, 0, 0 };
    ASSERT_EQ(colours.size(), 9u);
    for (size_t i = 0; i < 9; ++i)
        EXPECT_NEAR(colours[i], expected[i], 1e-6) << i; // of single precision
    ASSERT_EQ(face.size(), 3u);
    EXPECT_NEAR(face[1], grey, 1e-6);
    // What is no colour stays
    EXPECT_EQ(attribute(read("property uchar heat_0\n", { "7", "8", "9" }), "vertex_heat"),
              (std::vector<double>{ 7, 8, 9 }));
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
    EXPECT_NE(
        complaint(head + face + "0 0 0\n3 0 0 5\n").find("x.ply:11: face 0 refers to vertex 5"),
        std::string::npos);
    EXPECT_NE(complaint(head + face + "0 0\n").find("x.ply"), std::string::npos);
}

} // namespace umbel
