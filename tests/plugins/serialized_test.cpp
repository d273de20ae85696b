// tests/plugins/serialized_test.cpp: what is particular to Mitsuba's compressed meshes; see also tests/render/mesh_test.cpp.
#include "support/mesh_files.h"
#include "support/mutator.h"
#include "support/serialized_file.h"

namespace umbel {
using namespace test;

class SerializedFiles : public MeshFileTest {
protected:
    static Properties shape(const std::string &file, int index = 0) {
        return Properties("shape", "serialized")
            .set("filename", file)
            .set("shape_index", int64_t(index));
    }
    Ref<Shape> load_mesh(const std::string &bytes, int index = 0) {
        return make_object<Shape>(shape(write("x.serialized", bytes), index));
    }
    std::string complaint(const std::string &bytes, int index = 0) {
        return user_error([&] { load_mesh(bytes, index); });
    }
    void expect_complaint(const std::string &bytes, std::initializer_list<const char *> parts,
                          int index = 0) {
        std::string message = complaint(bytes, index);
        EXPECT_NE(message.find("x.serialized"), std::string::npos) << message;
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos)
                << quote(part) << " is not in: " << message;
    }

    static SerializedMesh triangle() {
        SerializedMesh m;
        m.positions = { 0, 0, 0, 2, 0, 0, 0, 2, 0 };
        m.normals = { 0, 0, 1, 0, 0.6, 0.8, 0, 0, 1 };
        m.uvs = { 0.25, 0.5, 1, 0, 0, 1 };
        m.colours = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
        m.triangles = { 0, 1, 2 };
        return m;
    }
};

TEST_F(SerializedFiles, HoldWhatTheyHoldInEitherVersionAndPrecision) {
    for (int version : { 3, 4 })
        for (bool wide : { false, true }) {
            SerializedMesh m = triangle();
            m.wide = wide;
            Ref<Shape> s = load_mesh(serialized_file({ m }, version));
            EXPECT_DOUBLE_EQ(s->area(), 2);
            EXPECT_EQ(mesh(s).positions, m.positions);
            EXPECT_EQ(mesh(s).uvs, m.uvs) << "v is not turned over";
            for (size_t i = 0; i < 9; ++i)
                EXPECT_NEAR(mesh(s).normals[i], m.normals[i], wide ? 1e-15 : 1e-7);
            EXPECT_EQ(mesh(s).indices, m.triangles);
            auto colour = mesh(s).attributes().find("vertex_color");
            ASSERT_NE(colour, mesh(s).attributes().end());
            EXPECT_EQ(read_floats(colour->second.values), m.colours);
        }
}

TEST_F(SerializedFiles, HoldSeveralMeshes) {
    SerializedMesh small = triangle(), nameless = folded_sheet();
    small.positions[3] = 1;
    nameless.name = "";
    for (int version : { 3, 4 }) {
        std::string bytes = serialized_file({ triangle(), small, nameless }, version);
        EXPECT_DOUBLE_EQ(load_mesh(bytes, 0)->area(), 2);
        EXPECT_DOUBLE_EQ(load_mesh(bytes, 1)->area(), 1);
        EXPECT_DOUBLE_EQ(load_mesh(bytes, 2)->area(), 4);
        expect_complaint(bytes, { "has 3 meshes", "shape_index is 3", "at most 2" }, 3);
    }
}

TEST_F(SerializedFiles, SayWhetherTheyAreFaceted) {
    SerializedMesh m = triangle();
    m.face_normals = true;
    EXPECT_TRUE(mesh(load_mesh(serialized_file({ m }))).normals.empty());
    Ref<Shape> s = make_object<Shape>(
        shape(write("x.serialized", serialized_file({ triangle() }))).set("face_normals", true));
    EXPECT_TRUE(mesh(s).normals.empty());
}

TEST_F(SerializedFiles, KeepCreasesSharp) {
    std::string file = write("x.serialized", serialized_file({ folded_sheet() }));
    auto bent = [&](double angle) {
        return make_object<Shape>(shape(file).set("max_smooth_angle", angle));
    };
    // Smooth without it: the vertices at the fold are shared
    Ref<Shape> smooth = make_object<Shape>(shape(file));
    EXPECT_EQ(mesh(smooth).vertex_count(), 6u);
    Ref<Shape> sharp = bent(30);
    EXPECT_EQ(mesh(sharp).vertex_count(), 8u);
    EXPECT_EQ(mesh(sharp).uvs.size(), 16u);
    for (size_t t = 0; t < 4; ++t)
        for (uint32_t k = 0; k < 3; ++k) {
            uint32_t i = mesh(sharp).corner(t, size_t(k));
            EXPECT_NEAR(mesh(sharp).normals[3 * i + (t < 2 ? 2 : 0)], 1, 1e-12) << "triangle " << t;
        }
    // The fold is 90 degrees
    Ref<Shape> round = bent(91);
    EXPECT_EQ(mesh(round).vertex_count(), 6u);
    double most = 0;
    for (size_t i = 0; i < 6; ++i)
        most = std::max(most, std::min(mesh(round).normals[3 * i], mesh(round).normals[3 * i + 2]));
    EXPECT_GT(most, 0.4);
}

TEST_F(SerializedFiles, OfOldScenesAreFound) {
    std::string file = write("x.serialized", serialized_file({ folded_sheet(), triangle() }));
    Ref<Scene> scene = scene_from(
        "<scene version='0.5.0'><shape type='serialized'><string name='filename' value='" + file +
        "'/><integer name='shapeIndex' value='1'/><boolean name='faceNormals' value='true'/>"
        "<float name='maxSmoothAngle' value='20'/></shape></scene>");
    EXPECT_EQ(mesh(scene->shapes()[0]).vertex_count(), 3u);
    EXPECT_TRUE(mesh(scene->shapes()[0]).normals.empty());
}

TEST_F(SerializedFiles, SayWhatIsWrong) {
    std::string good = serialized_file({ triangle() }), bytes = good;
    expect_complaint("", { "offset 0", "ends too early" });
    expect_complaint("ply\nformat", { "offset 0", "0x041c", "is this a .serialized file" });
    bytes[2] = 5;
    expect_complaint(bytes, { "offset 2", "version 5", "3 and 4" });
    bytes = good;
    bytes[bytes.size() - 4] = 100;
    expect_complaint(bytes, { "a table of 100 meshes", "again" });
    bytes = good;
    bytes[bytes.size() - 12] = 100; // where the mesh begins
    expect_complaint(bytes, { "offset 100", "no mesh begins here" });
    bytes = good;
    bytes[4] = 0;
    expect_complaint(bytes, { "the compressed data is invalid", "while reading flags" });
    SerializedMesh m = triangle();
    m.triangles[1] = 7;
    expect_complaint(serialized_file({ m }), { "triangle 0 refers to vertex 7 of 3" });
    m = triangle();
    m.triangles.clear();
    expect_complaint(serialized_file({ m }), { "no triangles" });
    m = triangle();
    m.uvs[3] = std::nan("");
    expect_complaint(serialized_file({ m }), { "texture coordinate", "not a finite number" });
    m = triangle();
    m.positions[3] = std::nan("");
    EXPECT_NE(complaint(serialized_file({ m })).find("position"), std::string::npos);
    m = triangle();
    m.normals.resize(3); // and all else comes too early
    expect_complaint(serialized_file({ m }), { "ends too early", "while reading" });
}

// Also where the damage is in what was compressed.
TEST_F(SerializedFiles, AreReadOrRefusedWhenDamaged) {
    std::string good = serialized_file({ triangle(), folded_sheet() });
    int accepted = 0, refused = 0;
    for (uint32_t seed = 0; seed < 4000; ++seed) {
        Mutator mutator(seed);
        std::string bytes = mutator.damage_bytes(good);
        auto p = shape(write("x.serialized", bytes), int(seed % 2));
        p.set("max_smooth_angle", seed % 3 ? 0.0 : 30.0);
        try {
            make_object<Shape>(p);
            ++accepted;
        } catch (const UserError &e) {
            ++refused;
            EXPECT_NE(std::string(e.what()), "");
        }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 100);
}

TEST_F(SerializedFiles, OfSampleScenesAreRead) {
    const char *set = std::getenv("UMBEL_SCENES");
    std::filesystem::path scenes = set ? set : "../shared/scenes";
    if (!std::filesystem::exists(scenes / "matpreview"))
        GTEST_SKIP() << "set UMBEL_SCENES to a folder of scenes";
    size_t triangles = 0;
    for (int i = 0; i < 3; ++i)
        triangles += mesh(make_object<Shape>(shape(scenes / "matpreview/matpreview.serialized", i)))
                         .triangle_count();
    EXPECT_GT(triangles, 50000u);
    for (int i = 0; i < 11; ++i)
        EXPECT_GT(make_object<Shape>(shape(scenes / "veach-bidir/bidir.serialized", i))->area(), 0);
}

} // namespace umbel
