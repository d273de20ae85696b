// tests/plugins/gltf_test.cpp: shapes and scenes of glTF files.
#include "core/gltf.h"
#include "core/image_io.h"
#include "support/gltf_file.h"
#include "support/mesh_files.h"
#include "support/surface.h"
#include "support/warnings.h"
#include <cmath>
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
    /// The triangle, of a material that says this; all of it can be loaded.
    PropertiesPtr shape(const std::string &says, const std::string &more = "") {
        std::string text = gltf_triangle(R"({"mesh": 0})", says, more);
        load_scene(scene(text));
        return scene(text).objects("shape")[0];
    }
    PropertiesPtr material(const std::string &says, const std::string &more = "") {
        return shape(says, more)->objects("bsdf")[0];
    }
    /// An extension of materials, with text inside.
    static std::string extension(const char *name, const char *says) {
        return fmt::format(R"("KHR_materials_{}": {{{}}})", name, says);
    }
    static std::string extensions(const std::vector<std::string> &all) {
        return fmt::format(R"("extensions": {{{}}})", fmt::join(all, ", "));
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
    Ref<Shape> s = make_object<Shape>(Properties("shape", "gltf")
                                          .set("filename", write("x.gltf", gltf_triangle()))
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
    PropertiesPtr bsdf = material(R"("pbrMetallicRoughness": {"baseColorTexture": {"index": 0}})",
                                  picture(R"({"source": 0, "sampler": 0})",
                                          R"(, "samplers": [{"wrapS": 33071, "wrapT": 33648}])"));
    PropertiesPtr colour = inside(bsdf, "base_color");
    EXPECT_EQ(colour->get<std::string>("wrap_mode_u"), "clamp");
    EXPECT_EQ(colour->get<std::string>("wrap_mode_v"), "mirror");
}

// All textures were looked up with the first set
TEST_F(GltfFiles, MaterialsSayWhichTextureCoordinatesCount) {
    std::string text =
        gltf_triangle(R"({"mesh": 0})",
                      R"("pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 1}},
           "normalTexture": {"index": 0, "extensions": {"KHR_texture_transform": {"texCoord": 1}}},
           "emissiveTexture": {"index": 0}, "emissiveFactor": [1, 1, 1])",
                      picture(R"({"source": 0})"));
    std::string from = R"("TEXCOORD_0": 1)"; // the others are x and y of its places
    text.replace(text.find(from), from.size(), from + R"(, "TEXCOORD_1": 3)");
    text.replace(text.find("}],\n           \"bufferViews\""), 3,
                 R"(}, {"bufferView": 3, "componentType": 5126, "count": 3, "type": "VEC2"}],)");
    from = R"("byteOffset": 60, "byteLength": 6})";
    text.replace(text.find(from), from.size(),
                 from + R"(, {"buffer": 0, "byteLength": 36, "byteStride": 12})");
    std::vector<std::string> warnings;
    PropertiesPtr shape =
        parse_scene_file(write("x.gltf", text), { .warnings = &warnings }).objects("shape")[0];
    EXPECT_EQ(shape->get<int64_t>("uv_set"), 1);
    EXPECT_EQ(shape->objects("bsdf")[0]->type, "normalmap");
    EXPECT_TRUE(shape->objects("emitter").empty()) << "its texture is for other coordinates";
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("emissiveTexture: it is for TEXCOORD_0"), std::string::npos)
        << warnings[0];
    auto load = [&](int64_t set) {
        return make_object<Shape>(Properties("shape", "gltf")
                                      .set("filename", write("x.gltf", text))
                                      .set("mesh", int64_t(0))
                                      .set("uv_set", set));
    };
    EXPECT_EQ(mesh(load(1)).uvs, (std::vector<double>{ -1, -1, 1, -1, 0, 1 }));
    EXPECT_EQ(mesh(load(0)).uvs[4], 0.5);
    EXPECT_NE(user_error([&] { load(2); }).find("TEXCOORD_2"), std::string::npos);
}

TEST_F(GltfFiles, WarningsNameImagesOfOtherFormats) {
    std::vector<std::string> warnings;
    auto warned = [&](const std::string &more, const char *what) {
        warnings.clear();
        std::string text =
            gltf_triangle(R"({"mesh": 0})",
                          R"("pbrMetallicRoughness": {"baseColorTexture": {"index": 0}})", more);
        Properties root = parse_scene_file(write("x.gltf", text), { .warnings = &warnings });
        ASSERT_EQ(warnings.size(), 1u) << what;
        EXPECT_NE(warnings[0].find("baseColorTexture: "), std::string::npos) << warnings[0];
        EXPECT_NE(warnings[0].find(what), std::string::npos) << warnings[0];
        load_scene(std::move(root));
    };
    warned(R"(, "images": [{"uri": "p.webp"}],
              "textures": [{"extensions": {"EXT_texture_webp": {"source": 0}}}])",
           "EXT_texture_webp");
    warned(R"(, "images": [{"uri": "p.ktx2"}], "textures": [{"source": 0}])", "ktx2");
    warned(R"(, "images": [{"bufferView": 0, "mimeType": "image/webp"}],
              "textures": [{"source": 0}])",
           "image/webp");
    warned(R"(, "images": [{"uri": "data:image/webp;base64,AAAA"}], "textures": [{"source": 0}])",
           "image/webp");
}

// They were attributes that no material asked for
TEST_F(GltfFiles, ColoursOfVerticesMultiplyThoseOfMaterials) {
    std::string text = gltf_triangle(
        R"({"mesh": 0})",
        R"("alphaMode": "BLEND", "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.5, 1, 0.5]})");
    auto insert = [&](const std::string &behind, const std::string &more) {
        text.insert(text.find(behind) + behind.size(), more);
    };
    insert(R"("TEXCOORD_0": 1)", R"(, "COLOR_0": 3)");
    insert(R"("count": 3, "type": "SCALAR"})",
           R"(, {"bufferView": 3, "componentType": 5121, "normalized": true, "count": 3,
                 "type": "VEC4"})");
    insert(R"("byteOffset": 60, "byteLength": 6})", R"(, {"buffer": 1, "byteLength": 12})");
    insert(
        R"(AAABAAIAAAA="})", // 51, 102, 204 and 255 for each vertex
        R"(, {"byteLength": 12, "uri": "data:application/octet-stream;base64,M2bM/zNmzP8zZsz/"})");
    Ref<Scene> loaded = scene_from(scene_xml(body(text), 4, 1));
    SurfaceInteraction si =
        loaded->ray_intersect(Ray{ Vector3(opaque_float(0), opaque_float(-0.5), opaque_float(5)),
                                   Vector3(0, 0, -1),
                                   Float(std::numeric_limits<double>::infinity()),
                                   Float(0),
                                   {} },
                              true);
    Spectrum seen = loaded->shapes()[0]->bsdf()->eval_diffuse_reflectance(si, true);
    const double opacity_there = 0.5, expected[] = { 0.5 * 0.2, 0.5 * 0.4, 0.8 };
    for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(read_floats(seen[i])[0], opacity_there * expected[i], 1e-6) << i; // f32
    PropertiesPtr opacity = inside(scene(text).objects("shape")[0]->objects("bsdf")[0], "opacity");
    EXPECT_EQ(opacity->get<std::string>("name"), "vertex_alpha");
    EXPECT_EQ(opacity->get<double>("factor"), 0.5);
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

// They were opaque
TEST_F(GltfFiles, ClearMaterialsLetLightThrough) {
    std::string dielectric = R"("pbrMetallicRoughness": {"metallicFactor": 0}, )",
                clear = extension("transmission", R"("transmissionFactor": 0.75)"),
                all_clear = extension("transmission", R"("transmissionFactor": 1)"),
                ior = extension("ior", R"("ior": 1.25)"),
                volume = extension("volume", R"("thicknessFactor": 2, "attenuationDistance": 3,
                    "attenuationColor": [1, 0.5, 0.25])");
    PropertiesPtr solid = shape(dielectric + R"("doubleSided": true, )" +
                                extensions({ clear, ior, volume })),
                  bsdf = solid->objects("bsdf")[0], medium = inside(solid, "interior");
    EXPECT_EQ(bsdf->type, "principled");
    EXPECT_EQ(bsdf->get<double>("spec_trans"), 0.75);
    EXPECT_NEAR(bsdf->get<double>("eta"), 1.25, 1e-12);
    auto sigma_t = medium->get<SpectrumData>("sigma_t").rgb;
    EXPECT_NEAR(sigma_t[0], 0, 1e-12);
    EXPECT_NEAR(sigma_t[1], std::log(2) / 3, 1e-12); // half of it is left after a distance of 3
    EXPECT_NEAR(sigma_t[2], std::log(4) / 3, 1e-12);
    // Without a volume light is not bent
    bsdf = material(dielectric + extensions({ all_clear, ior }));
    EXPECT_EQ(bsdf->type, "principledthin");
    EXPECT_EQ(bsdf->get<double>("eta"), 1.25);
    bsdf = material(dielectric + extensions({ clear }));
    EXPECT_EQ(bsdf->type, "blendbsdf");
    EXPECT_EQ(bsdf->get<double>("weight"), 0.75);
    EXPECT_EQ(bsdf->objects("bsdf")[0]->type, "twosided");
    EXPECT_EQ(bsdf->objects("bsdf")[1]->type, "principledthin");
    // Metal is opaque
    bsdf = material(R"("pbrMetallicRoughness": {"metallicFactor": 0.5}, )" +
                    extensions({ all_clear }));
    EXPECT_EQ(bsdf->get<double>("weight"), 0.5);
    EXPECT_EQ(bsdf->objects("bsdf")[0]->type, "principledthin");
}

TEST_F(GltfFiles, MediaInsideOfMaterialsAreFollowed) {
    Properties root = scene(gltf_triangle(
        R"({"mesh": 0})", extensions({ extension("transmission", R"("transmissionFactor": 1)"),
                                       extension("volume", R"("thicknessFactor": 1,
                  "attenuationDistance": 1, "attenuationColor": [1, 0.5, 1])") })));
    ASSERT_EQ(root.objects("integrator").size(), 1u);
    EXPECT_EQ(root.objects("integrator")[0]->type, "volpath");
    EXPECT_TRUE(scene(gltf_triangle()).objects("integrator").empty());
}

// They were left out without a word
TEST_F(GltfFiles, ExtensionsOfMaterialsBecomeParametersOfPrincipled) {
    PropertiesPtr bsdf =
        material(R"("pbrMetallicRoughness": {"metallicFactor": 0, "roughnessFactor": 0.5}, )" +
                 extensions({ extension("clearcoat", R"("clearcoatFactor": 0.5,
                         "clearcoatRoughnessFactor": 0.1)"),
                              extension("sheen", R"("sheenColorFactor": [0.3, 0.3, 0.3])"),
                              extension("specular", R"("specularFactor": 0.25)"),
                              extension("anisotropy", R"("anisotropyStrength": 0.5)") }));
    EXPECT_EQ(bsdf->get<double>("clearcoat"), 0.5);
    EXPECT_NEAR(bsdf->get<double>("clearcoat_gloss"), 0.09 / 0.099, 1e-12); // a slope of 0.01
    EXPECT_EQ(bsdf->get<double>("sheen"), 0.3);
    // A quarter of the reflectance of 0.04: 0.1^2
    EXPECT_NEAR(bsdf->get<double>("eta"), 1.1 / 0.9, 1e-12);
    // Slopes of 1/4 across and 1/4 + 3/4 / 4 along the tangent
    double stretch = 1 - 0.9 * bsdf->get<double>("anisotropic"),
           alpha = std::pow(bsdf->get<double>("roughness"), 2);
    EXPECT_NEAR(alpha * std::sqrt(stretch), 0.25, 1e-12);
    EXPECT_NEAR(alpha / std::sqrt(stretch), 0.4375, 1e-12);
}

TEST_F(GltfFiles, UnlitMaterialsShine) {
    PropertiesPtr s = shape(R"("pbrMetallicRoughness": {"baseColorFactor": [0.25, 0.5, 1, 1]}, )" +
                            extensions({ extension("unlit", "") }));
    ASSERT_EQ(s->objects("emitter").size(), 1u);
    EXPECT_EQ(s->objects("emitter")[0]->get<SpectrumData>("radiance").rgb,
              (std::array{ 0.25, 0.5, 1.0 }));
    EXPECT_EQ(s->objects("bsdf")[0]->get<double>("reflectance"), 0);
}

// Emitters know nothing of masks: what was cut out shone
TEST_F(GltfFiles, HolesDoNotShine) {
    auto radiance = [&](const std::string &says, const std::string &more = "") {
        return inside(shape(says, more)->objects("emitter")[0], "radiance");
    };
    auto light = [&](const std::string &says) {
        PropertiesPtr s = shape(says);
        return s->objects("emitter").empty()
                   ? 0.0
                   : s->objects("emitter")[0]->get<SpectrumData>("radiance").rgb[0];
    };
    std::string unlit = ", " + extensions({ extension("unlit", "") });
    std::string quarter = R"("pbrMetallicRoughness": {"baseColorFactor": [0.5, 1, 1, 0.25]})";
    EXPECT_EQ(light(quarter + unlit), 0.5);
    EXPECT_EQ(light(R"("alphaMode": "BLEND", )" + quarter + unlit), 0.125);
    EXPECT_EQ(light(R"("alphaMode": "MASK", )" + quarter + unlit), 0);
    EXPECT_EQ(light(R"("alphaMode": "MASK", "alphaCutoff": 0.2, )" + quarter + unlit), 0.5);
    EXPECT_EQ(light(R"("alphaMode": "BLEND", "emissiveFactor": [1, 1, 1], )" + quarter), 0.25);

    Image image(1, 2, { "R", "G", "B", "A" }, Component::U8, true);
    for (size_t i = 0; i < 8; ++i)
        image.bytes()[i] = i < 7 ? 255 : 0; // the second pixel is a hole
    write("holes.png", encode_image("png", image));
    std::string picture = R"(, "images": [{"uri": "holes.png"}], "textures": [{"source": 0}])",
                colours = R"("pbrMetallicRoughness": {"baseColorTexture": {"index": 0}})";
    for (const std::string &shines : { unlit, std::string(R"(, "emissiveFactor": [1, 1, 1])") }) {
        PropertiesPtr t = radiance(R"("alphaMode": "BLEND", )" + colours + shines, picture);
        auto shown = std::get<std::shared_ptr<const Image>>(t->find("bitmap")->value);
        EXPECT_EQ(shown->get(0, 0, 0), 1) << shines;
        EXPECT_EQ(shown->get(0, 1, 0), 0) << shines;
    }
}

TEST_F(GltfFiles, WhatIsUnlitIsNotTheLightOfTheScene) {
    auto lights = [&](const std::string &says) {
        return scene(gltf_triangle(R"({"mesh": 0})", says)).objects("emitter").size();
    };
    EXPECT_EQ(lights(extensions({ extension("unlit", "") })), 1u); // the sky
    EXPECT_EQ(lights(R"("emissiveFactor": [1, 1, 1])"), 0u);
}

TEST_F(GltfFiles, WarningsNameWhatIsLeftOut) {
    std::string text = gltf_triangle(
        R"({"mesh": 0})",
        R"("name": "soap", )" + extensions({ extension("iridescence", R"("iridescenceFactor": 1)"),
                                             extension("sheen", R"("sheenColorFactor": [1, 0, 0])"),
                                             extension("clearcoat", R"("clearcoatFactor": 1,
                                               "clearcoatNormalTexture": {"index": 0})") }));
    std::vector<std::string> warnings;
    parse_scene_file(write("x.gltf", text), { .warnings = &warnings });
    ASSERT_EQ(warnings.size(), 1u);
    for (const char *part : { "x.gltf: material \"soap\"", "KHR_materials_iridescence",
                              "the hue of sheenColorFactor", "clearcoatNormalTexture" })
        EXPECT_NE(warnings[0].find(part), std::string::npos) << warnings[0];
    Warnings heard; // from the shape
    scene_from(scene_xml(body(text), 4, 1));
    EXPECT_TRUE(heard.tell("KHR_materials_iridescence")) << heard.text;
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
    for (const std::string &uri :
         { std::string("bytes.bin"), std::string("/dev/zero"), std::string(".") }) {
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
