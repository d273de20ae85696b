// tests/render/files_of_scenes_test.cpp: what scenes read is read once, in any order, and kept once.
#include "core/image_io.h"
#include "render/texel_file.h"
#include "support/mesh_files.h"

namespace umbel {
using namespace test;

class FilesOfScenes : public MeshFileTest {};

TEST_F(FilesOfScenes, ReadsAnImageOnceForAllTextures) {
    Image image(4, 4, { "R", "G", "B" }, Component::U8, true);
    write_image(folder / "a.png", image);
    auto a = read_texels(folder / "a.png", {}), b = read_texels(folder / "a.png", {}),
         raw = read_texels(folder / "a.png", { .raw = true });
    EXPECT_EQ(a, b);
    EXPECT_NE(a, raw);
    EXPECT_TRUE(a->srgb);
    EXPECT_FALSE(raw->srgb);
    // Another file of that name is another image
    write_image(folder / "a.png", Image(5, 4, { "R", "G", "B" }, Component::U8, true));
    EXPECT_EQ(read_texels(folder / "a.png", {})->width, 5u);
}

// The first mistake of the file is reported, whichever is found first.
TEST_F(FilesOfScenes, ReportsTheFirstOfSeveralMistakes) {
    std::string shapes;
    for (int i = 0; i < 40; ++i)
        shapes +=
            fmt::format("<shape type='obj'><string name='filename' value='{}'/></shape>",
                        write(fmt::format("{}.obj", i),
                              i % 2 ? "v 0 0 zero\n" : "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"));
    for (int i = 0; i < 5; ++i)
        EXPECT_NE(user_error([&] { scene_from(scene_xml(shapes, 4, 1)); }).find("/1.obj:1:"),
                  std::string::npos);
}

// Who names a file wants it, even where nothing refers to the texture.
TEST_F(FilesOfScenes, FilesOfUnusedDefinitionsMustExist) {
    auto scene = [](const std::string &file) {
        return scene_xml("<bsdf type='diffuse' id='unused'><texture type='bitmap' "
                         "name='reflectance'><string name='filename' value='" +
                             file + "'/></texture></bsdf><shape type='sphere'/>",
                         4, 1);
    };
    std::string m = user_error([&] { scene_from(scene("nowhere.png")); });
    EXPECT_NE(m.find("nowhere.png"), std::string::npos) << m;
    write_image(folder / "a.png", Image(4, 4, { "R", "G", "B" }, Component::U8, true));
    scene_from(scene((folder / "a.png").string()));
}

TEST_F(FilesOfScenes, LargeMeshesComeBackWhenTheyAreAskedFor) {
    const int n = 300; // 180,000 triangles
    std::string text;
    for (int y = 0; y <= n; ++y)
        for (int x = 0; x <= n; ++x)
            text += fmt::format("v {} {} {}\nvt {} {}\n", x, y, (x * 7 + y * 3) % 5, x / 512.0,
                                y / 512.0);
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            int a = y * (n + 1) + x + 1, b = a + n + 1;
            text += fmt::format("f {0}/{0} {1}/{1} {3}/{3} {2}/{2}\n", a, a + 1, b, b + 1);
        }
    std::string file = write("large.obj", text);
    for (bool flip : { false, true }) {
        auto properties =
            Properties("shape", "obj").set("filename", file).set("flip_normals", flip);
        Ref<Shape> alone = make_object<Shape>(properties);
        Ref<Scene> scene = load_scene(Properties("scene", "scene").set("", properties));
        auto &mesh = dynamic_cast<const Mesh &>(*scene->shapes()[0]), &own = this->mesh(alone);
        EXPECT_TRUE(mesh.positions.is_away());
        EXPECT_EQ(mesh.vertex_count(), own.vertex_count());
        EXPECT_EQ(mesh.triangle_count(), size_t(2 * n * n));
        EXPECT_EQ(mesh.area(), own.area());
        EXPECT_EQ(mesh.indices, own.indices);
        EXPECT_FALSE(mesh.indices.is_away());
        EXPECT_EQ(mesh.positions, own.positions) << "they are floats";
        EXPECT_EQ(mesh.uvs, own.uvs);
        for (size_t i = 0; i < own.normals.size(); ++i)
            ASSERT_NEAR(mesh.normals[i], own.normals[i], 1e-7);
    }
}

} // namespace umbel
