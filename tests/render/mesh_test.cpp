// tests/render/mesh_test.cpp: obj and ply files: the same in every format, and damaged ones refused.
#include "support/mesh_files.h"
#include <random>

namespace umbel {
using namespace test;

class MeshFiles : public MeshFileTest {};

const char *ObjQuad =
    "# a square\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
    "vn 0 0 1\nf 1/1/1 2/2/1 3/3/1 -1/-1/-1\n";
const char *PlyQuad =
    "ply\nformat ascii 1.0\ncomment a square\nelement vertex 4\nproperty float x\nproperty float "
    "y\n"
    "property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
    "0 0 0\n2 0 0\n2 1 0\n0 1 0\n4 0 1 2 3\n";

std::string binary_ply(bool big) {
    std::string s = fmt::format(
        "ply\nformat binary_{}_endian 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
        "property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n",
        big ? "big" : "little");
    auto put = [&](auto v) {
        char b[sizeof v];
        std::memcpy(b, &v, sizeof v);
        if (big)
            std::reverse(b, b + sizeof v);
        s.append(b, sizeof v);
    };
    for (float v : { 0.f, 0.f, 0.f, 2.f, 0.f, 0.f, 2.f, 1.f, 0.f, 0.f, 1.f, 0.f })
        put(v);
    for (std::array<int32_t, 3> t : { std::array{ 0, 1, 2 }, std::array{ 0, 2, 3 } }) {
        put(uint8_t(3));
        for (int32_t i : t)
            put(i);
    }
    return s;
}

TEST_F(MeshFiles, TheSameSquareFromEveryFormat) {
    for (auto &[type, file] : std::vector<std::pair<const char *, std::string>>{
             { "obj", write("a.obj", ObjQuad) },
             { "ply", write("a.ply", PlyQuad) },
             { "ply", write("b.ply", binary_ply(false)) },
             { "ply", write("c.ply", binary_ply(true)) } }) {
        Ref<Shape> s = load(type, file);
        EXPECT_EQ(mesh(s).triangle_count(), 2u) << file;
        EXPECT_EQ(mesh(s).vertex_count(), 4u) << file;
        EXPECT_DOUBLE_EQ(s->area(), 2) << file;
        EXPECT_EQ(s->bounds().max, (std::array<double, 3>{ 2, 1, 0 })) << file;
        EXPECT_GT(mesh(s).area_normal(0)[2], 0) << file;
    }
    Ref<Shape> s = load("obj", (folder / "a.obj").string());
    EXPECT_EQ(mesh(s).normals.size(), 12u);
    EXPECT_EQ(mesh(s).uvs[1], 1) << "v counts from the top";
}

TEST_F(MeshFiles, DamagedFilesGiveAnErrorOrAMeshAndNeverACrash) {
    std::mt19937 random(1);
    auto pick = [&](size_t n) { return size_t(random() % std::max<size_t>(n, 1)); };
    const std::pair<const char *, std::string> samples[] = { { "obj", ObjQuad },
                                                             { "ply", PlyQuad },
                                                             { "ply", binary_ply(false) },
                                                             { "ply", binary_ply(true) } };
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        auto [type, bytes] = samples[pick(4)];
        for (size_t i = 0, n = 1 + pick(4); i < n; ++i)
            switch (bytes.size() < 2 ? 4 : pick(4)) {
            case 0: bytes[pick(bytes.size())] = char(random()); break;
            case 1: bytes.resize(1 + pick(bytes.size())); break;
            case 2:
                bytes.insert(pick(bytes.size()), bytes.substr(pick(bytes.size()), pick(20)));
                break;
            case 3: bytes.erase(pick(bytes.size()), 1 + pick(8)); break;
            }
        if (bytes.empty())
            continue;
        try {
            Ref<Shape> s = load(type, write(std::string("x.") + type, bytes));
            EXPECT_LT(mesh(s).vertex_count(), 100u);
        } catch (const UserError &) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
}

} // namespace umbel
