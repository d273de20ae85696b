// tests/plugins/gltf_test.cpp: shapes and scenes of glTF files.
#include "core/gltf.h"
#include "core/image_io.h"
#include "support/gltf_file.h"
#include "support/mesh_files.h"
#include "support/surface.h"
#include <cstring>
#include <sys/stat.h>

namespace umbel {
using namespace test;

class GltfFiles : public MeshFileTest {
protected:
    std::string body(const std::string &text, const std::string &more = "") {
        return fmt::format("<shape type='gltf'><string name='filename' value='{}'/>{}</shape>",
                           write("x.gltf", text), more);
    }
    Properties scene(const std::string &text) { return parse_scene_file(write("x.gltf", text)); }
    /// What the triangle is made of.
    PropertiesPtr material(const std::string &says, const std::string &more = "") {
        return scene(gltf_triangle(R"({"mesh": 0})", says, more))
            .objects("shape")[0]
            ->objects("bsdf")[0];
    }
    static PropertiesPtr inside(const PropertiesPtr &object, const char *name) {
        const Property *p = object->find(name);
        EXPECT_TRUE(p && p->object()) << name;
        return p && p->object() ? *p->object() : std::make_shared<Properties>();
    }
    /// Two by two pixels, as image 0 of a file, and textures with this text.
    std::string picture(const std::string &textures, const std::string &more = "") {
        Image image(2, 2, { "R", "G", "B" }, Component::U8, true);
        for (size_t i = 0; i < 12; ++i)
            image.bytes()[i] = uint8_t(20 * i);
        write("p.png", encode_image("png", image));
        return R"(, "images": [{"uri": "p.png"}], "textures": [)" + textures + "]" + more;
    }
};

TEST_F(GltfFiles, NodesPutMeshesInTheirPlaces) {
    VariantScope scope(find_variant("interp_rgb_double"));
    std::string text = gltf_triangle(
        R"({"children": [1], "translation": [10, 0, 0]}, {"mesh": 0, "scale": [2, 2, 2],
            "rotation": [0, 0, 0.7071067811865476, 0.7071067811865476]})");
    // Turned by a right angle, the tip points to -x. The child is also a node of its own here.
    EXPECT_NEAR(seen_along(body(text), { 8.1, 0, 5 }, { 0, 0, -1 }).t, 5, 1e-9);
    EXPECT_NEAR(seen_along(body(text), { -1.9, 0, 5 }, { 0, 0, -1 }).t, 5, 1e-9);
    EXPECT_FALSE(seen_along(body(text), { 8.1, .5, 5 }, { 0, 0, -1 }).is_hit) << "beside the tip";
    EXPECT_TRUE(seen_along(body(text), { 11.9, 1.5, 5 }, { 0, 0, -1 }).is_hit);
    SurfacePoint p = seen_along(body(gltf_triangle()), { 0, -1 + 1e-9, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(p.uv[0], 0.5, 1e-6);
    expect_vector(p.n, { 0, 0, 1 });
    // One mesh, and all of it elsewhere
    EXPECT_NEAR(
        seen_along(body(text, "<integer name='mesh' value='0'/>"), { 0, 0, 5 }, { 0, 0, -1 }).t, 5,
        1e-9);
    EXPECT_NEAR(seen_along(body(gltf_triangle(), "<transform name='to_world'><translate z='2'/>"
                                                 "</transform>"),
                           { 0, 0, 5 }, { 0, 0, -1 })
                    .t,
                3, 1e-9);
}

// They became smooth, as those of other formats do
TEST_F(GltfFiles, MeshesWithoutNormalsAreFaceted) {
    Ref<Shape> s = make_object<Shape>(
        Properties("shape", "gltf").set("filename", write("x.gltf", gltf_triangle()))
            .set("mesh", int64_t(0)));
    EXPECT_TRUE(mesh(s).normals.empty());
    EXPECT_TRUE(mesh(s).has_face_normals());
}

TEST_F(GltfFiles, MirrorsLeaveTheOutsideOutside) {
    VariantScope scope(find_variant("interp_rgb_double"));
    std::string text = body(gltf_triangle(R"({"mesh": 0, "scale": [-2, 1, 1]})"));
    SurfacePoint p = seen_along(text, { 0, 0, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(p.t, 5, 1e-9);
    expect_vector(p.n, { 0, 0, 1 });
}

TEST_F(GltfFiles, TextAndBinaryAreTheSame) {
    std::string text = gltf_triangle();
    GltfFile a(write("a.gltf", text)), b(write("b.glb", glb(text)));
    EXPECT_EQ(a.primitive(0, 0)->positions, b.primitive(0, 0)->positions);
    EXPECT_EQ(a.primitive(0, 0)->indices, (std::vector<uint32_t>{ 0, 1, 2 }));
}

TEST_F(GltfFiles, AreScenesWithCamerasAndLights) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string text = gltf_triangle(
        R"({"mesh": 0, "scale": [9, 9, 1]}, {"camera": 0, "translation": [0, 0, 5]},
           {"extensions": {"KHR_lights_punctual": {"light": 0}}, "translation": [0, 0, 3]},
           {"extensions": {"KHR_lights_punctual": {"light": 1}}})",
        R"("pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 0, 1], "metallicFactor": 0})",
        R"(, "cameras": [{"type": "perspective", "perspective": {"yfov": 0.01, "znear": 0.1}}],
           "extensions": {"KHR_lights_punctual": {"lights": [
             {"type": "point", "intensity": 0},
             {"type": "directional", "intensity": 3.141592653589793, "color": [1, 1, 1]}]}})");
    Properties root = scene(text);
    EXPECT_EQ(root.objects("sensor").size(), 1u);
    EXPECT_EQ(root.objects("emitter").size(), 2u);
    EXPECT_NEAR(root.objects("sensor")[0]->get<double>("fov"), 0.01 * 180 / Pi, 1e-9);
    Ref<Scene> loaded = load_scene(std::move(root));
    // The directional light shines along -z, as the camera looks: head on
    Render render(*loaded, { .spp = 16 });
    render.run();
    Image image = render.image();
    double red = image.get(image.width() / 2, image.height() / 2, 0),
           green = image.get(image.width() / 2, image.height() / 2, 1),
           blue = image.get(image.width() / 2, image.height() / 2, 2);
    EXPECT_GT(red, 0.3);
    EXPECT_GT(red, green);
    EXPECT_GT(green, blue);
}

TEST_F(GltfFiles, GetACameraAndASkyWhereTheyHaveNone) {
    VariantScope scope(find_variant("llvm_rgb"));
    Properties root = scene(gltf_triangle());
    ASSERT_EQ(root.objects("sensor").size(), 1u);
    ASSERT_EQ(root.objects("emitter").size(), 1u);
    load_scene(std::move(root));
}

TEST_F(GltfFiles, MaterialsMayEmitLightAndHaveHoles) {
    Properties glow = scene(gltf_triangle(R"({"mesh": 0})", R"("emissiveFactor": [1, 0.5, 0])"));
    EXPECT_EQ(glow.objects("shape")[0]->objects("emitter").size(), 1u);
    Properties holes = scene(gltf_triangle(
        R"({"mesh": 0})",
        R"("alphaMode": "BLEND", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.25]})"));
    PropertiesPtr mask = holes.objects("shape")[0]->objects("bsdf")[0];
    EXPECT_EQ(mask->type, "mask");
    EXPECT_EQ(mask->get<double>("opacity"), 0.25);
}

TEST_F(GltfFiles, TexturesWrapAlongEachAxisAsTheirSamplersSay) {
    PropertiesPtr bsdf =
        material(R"("pbrMetallicRoughness": {"baseColorTexture": {"index": 0}})",
                 picture(R"({"source": 0, "sampler": 0})",
                         R"(, "samplers": [{"wrapS": 33071, "wrapT": 33648}])"));
    PropertiesPtr colour = inside(bsdf, "base_color");
    EXPECT_EQ(colour->get<std::string>("wrap_mode_u"), "clamp");
    EXPECT_EQ(colour->get<std::string>("wrap_mode_v"), "mirror");
}

// Each parameter of each material decoded its image, and had a texture of its own
TEST_F(GltfFiles, TexturesThatAreTheSameAreOneObject) {
    std::string pbr = R"("pbrMetallicRoughness": {"baseColorTexture": {"index": 0},
        "metallicRoughnessTexture": {"index": 1}})",
                text = gltf_triangle(R"({"mesh": 0}, {"mesh": 1})", pbr + "}, {" + pbr,
                                     picture(R"({"source": 0}, {"source": 0})"));
    std::string first = R"("indices": 2, "material": 0}]})",
                second = R"({"primitives": [{"attributes": {"POSITION": 0}, "material": 1}]})";
    text.replace(text.find(first), first.size(), first + ", " + second);
    std::vector<PropertiesPtr> shapes = scene(text).objects("shape");
    ASSERT_EQ(shapes.size(), 2u);
    PropertiesPtr a = shapes[0]->objects("bsdf")[0], b = shapes[1]->objects("bsdf")[0];
    EXPECT_NE(a, b);
    for (const char *name : { "base_color", "roughness", "metallic" })
        EXPECT_EQ(inside(a, name), inside(b, name)) << name;
    EXPECT_NE(inside(a, "roughness"), inside(a, "metallic"));
}

TEST_F(GltfFiles, SayWhatIsWrong) {
    auto says = [&](std::string text, const std::string &from, const std::string &to,
                    const char *what) {
        text.replace(text.find(from), from.size(), to);
        std::string complaint = user_error([&] { scene_from(scene_xml(body(text), 4, 1)); });
        EXPECT_NE(complaint.find("x.gltf"), std::string::npos) << complaint;
        EXPECT_NE(complaint.find(what), std::string::npos) << complaint;
    };
    std::string good = gltf_triangle();
    says(good, "\"asset\"", "asset", "offset 2");
    says(good, "\"2.0\"", "\"1.0\"", "version 2");
    says(good, "\"POSITION\": 0", "\"POSITION\": 7", "element 7");
    says(good, "\"byteLength\": 36", "\"byteLength\": 35", "beyond its view");
    says(good, "\"scene\": 0", "\"extensionsRequired\": [\"KHR_draco_mesh_compression\"]", "draco");
    says(good, "\"mesh\": 0}", "\"children\": [0]}", "themselves");
    says(good, "\"byteLength\": 66", "\"byteLength\": 99", "should have 99");
}

// A pipe without a writer kept the reader waiting for ever, and a device may have no end
TEST_F(GltfFiles, OnlyRegularFilesAreRead) {
    std::string name = write("bytes.bin", "");
    std::filesystem::remove(name);
    ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
    for (const std::string &uri : { std::string("bytes.bin"), std::string("/dev/zero"),
                                    std::string(".") }) {
        std::string text = gltf_triangle(), from = "data:application/octet-stream;base64,";
        size_t at = text.find(from);
        text.replace(at, text.find('"', at) - at, uri);
        std::string complaint = user_error([&] { GltfFile(write("x.gltf", text)); });
        EXPECT_NE(complaint.find("x.gltf: names \"" + uri), std::string::npos) << complaint;
        EXPECT_NE(complaint.find("name a regular file"), std::string::npos) << complaint;
    }
    std::string complaint = user_error([&] { GltfFile file(name); });
    EXPECT_NE(complaint.find("it is a device or a pipe"), std::string::npos) << complaint;
}

// What damaged files did: read or ask for memory that is not there
TEST_F(GltfFiles, NumbersOutOfRangeAreRefused) {
    auto refused = [&](const std::string &from, const std::string &to, const char *what) {
        std::string text = gltf_triangle();
        ASSERT_NE(text.find(from), std::string::npos) << from;
        text.replace(text.find(from), from.size(), to);
        std::string complaint = user_error([&] { scene_from(scene_xml(body(text), 4, 1)); });
        EXPECT_NE(complaint.find(what), std::string::npos) << to << ": " << complaint;
    };
    refused("\"material\": 0", "\"material\": -5", "\"material\" is -5");
    refused("\"mesh\": 0", "\"mesh\": 4294967296", "\"mesh\" is 4294967296");
    refused("\"byteLength\": 36}", "\"byteLength\": 36, \"byteStride\": 9223372036854775816}",
            "beyond its view"); // times two rows, it is 16
    refused("\"byteLength\": 36}", "\"byteLength\": 36, \"byteStride\": 1e300}", "another type");
    refused("\"byteLength\": 36}", "\"byteLength\": -36}", "another type");
    refused("\"bufferView\": 0, \"componentType\": 5126, \"count\": 3",
            "\"componentType\": 5126, \"count\": 2147483647", "all buffers have 68 bytes");
    refused("\"primitives\": [", "\"primitives\": 1, \"others\": [", "must be a list");
    refused("\"bufferView\": 2, \"componentType\": 5123", // signed bytes of a float
            "\"bufferView\": 0, \"byteOffset\": 2, \"componentType\": 5120", "vertex -128 of 3");
    // 30 nodes, each of which has the next one twice
    std::string nodes;
    for (int i = 0; i < 30; ++i)
        nodes += fmt::format(R"({{"mesh": 0, "children": [{0}, {0}]}}, )", i + 1);
    std::string complaint = user_error(
        [&] { scene_from(scene_xml(body(gltf_triangle(nodes + R"({"mesh": 0})")), 4, 1)); });
    EXPECT_NE(complaint.find("very many places"), std::string::npos) << complaint;
}

TEST_F(GltfFiles, WithoutAScenePlaceEachNodeOnce) {
    std::string text = gltf_triangle(R"({"children": [1]}, {"mesh": 0})"),
                scenes = R"("scene": 0, "scenes": [{"nodes": [0, 1]}], )";
    EXPECT_EQ(GltfFile(write("x.gltf", text)).nodes().size(), 3u); // as its scene says
    text.replace(text.find(scenes), scenes.size(), "");
    EXPECT_EQ(GltfFile(write("x.gltf", text)).nodes().size(), 2u);
}

} // namespace umbel
