// tests/fuzz/samples.cpp: undamaged files of all kinds.
#include "fuzz/samples.h"
#include "core/image_io.h"
#include "core/scene_file.h"
#include "render/driver.h"
#include "render/scene.h"
#include "support/gltf_file.h"
#include "support/image_samples.h"
#include "support/serialized_file.h"
#include "support/tensor_files.h"
#include "support/volume_file.h"
#include "support/weave_files.h"
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace umbel::test {

namespace fs = std::filesystem;

static const char *NewScene = R"(<scene version="3.0.0">
    <default name="spp" value="16"/>
    <integrator type="path"><integer name="max_depth" value="6"/></integrator>
    <sensor type="perspective">
        <float name="fov" value="40"/>
        <string name="fov_axis" value="smaller"/>
        <transform name="to_world"><lookat origin="0, 1, 4" target="0, 1, 0" up="0, 1, 0"/></transform>
        <sampler type="sobol"><integer name="sample_count" value="$spp"/></sampler>
        <film type="hdrfilm">
            <integer name="width" value="64"/><integer name="height" value="32"/>
            <integer name="crop_offset_x" value="8"/><integer name="crop_width" value="16"/>
            <rfilter type="gaussian"><float name="stddev" value="0.5"/></rfilter>
        </film>
    </sensor>
    <bsdf type="twosided" id="box"><bsdf type="diffuse">
        <texture type="bitmap" name="reflectance">
            <string name="filename" value="good.png"/>
            <string name="wrap_mode" value="mirror"/>
            <transform name="to_uv"><scale x="2" y="3"/></transform>
        </texture>
    </bsdf></bsdf>
    <alias id="box" as="crate"/>
    <shape type="obj">
        <string name="filename" value="good.obj"/>
        <transform name="to_world"><scale value="2"/><rotate y="1" angle="30"/></transform>
        <ref id="crate"/>
    </shape>
    <shape type="ply">
        <string name="filename" value="good.ply"/>
        <bsdf type="roughconductor">
            <string name="material" value="Au"/><float name="alpha" value="0.2"/>
            <string name="distribution" value="ggx"/>
        </bsdf>
    </shape>
    <shape type="sphere">
        <point name="center" x="0" y="1" z="0"/><float name="radius" value="0.5"/>
        <bsdf type="roughdielectric"><float name="int_ior" value="1.5"/></bsdf>
    </shape>
    <shape type="rectangle">
        <emitter type="area">
            <spectrum name="radiance" value="400:1, 500:8.5, 600:15.6, 700:18.4"/>
        </emitter>
    </shape>
    <emitter type="constant"><rgb name="radiance" value="0.1, 0.2, 0.3"/></emitter>
</scene>)";

static const char *OldScene = R"(<?xml version="1.0" encoding="utf-8"?>
<!-- an interior -->
<scene version="0.6.0">
    <integrator type="direct"><boolean name="hideEmitters" value="true"/></integrator>
    <sensor type="perspective">
        <float name="fov" value="35"/>
        <transform name="toWorld">
            <matrix value="-1 0 0 0 0 1 0 1 0 0 -1 6.8 0 0 0 1"/>
        </transform>
        <sampler type="stratified"><integer name="sampleCount" value="16"/></sampler>
        <film type="hdrfilm"><integer name="width" value="32"/><rfilter type="tent"/></film>
    </sensor>
    <bsdf type="twosided" id="box">
        <bsdf type="roughconductor">
            <float name="alpha" value="0.1"/>
            <srgb name="specularReflectance" value="#ff8040"/>
            <spectrum name="eta" value="400:1.65, 500:0.88, 600:0.52"/>
            <spectrum name="k" value="400:9.2, 500:6.2, 600:4.8"/>
        </bsdf>
    </bsdf>
    <shape type="cube">
        <transform name="toWorld">
            <scale x="0.5" y="2" z="1"/><rotate x="1" angle="45"/><translate x="1" y="0" z="3"/>
        </transform>
        <ref id="box"/>
    </shape>
    <shape type="obj">
        <string name="filename" value="good.obj"/>
        <boolean name="faceNormals" value="true"/>
        <bsdf type="diffuse"><texture name="reflectance" type="checkerboard">
            <rgb name="color0" value="0.1, 0.2, 0.3"/><float name="uscale" value="4"/>
        </texture></bsdf>
        <emitter type="area"><blackbody name="radiance" temperature="5000K"/></emitter>
    </shape>
    <emitter type="point"><point name="position" x="0" y="2" z="1"/>
        <spectrum name="intensity" value="10"/></emitter>
</scene>)";

const char *const ObjMesh =
    "# two squares\no a\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nv 0 1 1\nv 2 1 1.5\nvt 0 0\n"
    "vt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\nvn 0 0.6 0.8\ng b\nusemtl m\n"
    "f 1/1/1 2/2/1 3/3/1 -3/-1/-1\nf 4//2 3//2 6//2\nf 4 6 5\ns off\n";

std::string ply_mesh(const char *format) {
    std::string s = fmt::format("ply\nformat {} 1.0\ncomment a square\nelement vertex 4\nproperty "
                                "float x\nproperty float y\n"
                                "property double z\nproperty float nx\nproperty float ny\nproperty "
                                "float nz\nproperty float u\n"
                                "property float v\nproperty uchar red\nelement face 2\nproperty "
                                "list uchar int vertex_indices\n"
                                "element edge 1\nproperty list short ushort other\nend_header\n",
                                format);
    bool ascii = std::string(format) == "ascii", big = std::string(format) == "binary_big_endian";
    auto put = [&](auto v) {
        char b[sizeof v];
        std::memcpy(b, &v, sizeof v);
        if (big)
            std::reverse(b, b + sizeof v);
        ascii ? void(s += fmt::format("{} ", v)) : void(s.append(b, sizeof v));
    };
    for (int i = 0; i < 4; ++i) {
        put(float(i % 2 * 2));
        put(float(i / 2));
        put(double(0.25 * i));
        for (float v : { 0.f, 0.f, 1.f, 0.1f * float(i), 0.5f })
            put(v);
        put(uint8_t(7));
        if (ascii)
            s += "\n";
    }
    for (std::array<int32_t, 3> t : { std::array{ 0, 1, 2 }, std::array{ 1, 3, 2 } }) {
        put(uint8_t(3));
        for (int32_t i : t)
            put(i);
    }
    put(int16_t(2));
    put(uint16_t(1));
    put(uint16_t(2));
    return s;
}

std::string reading(const char *kind, const char *type, const char *more) {
    return fmt::format("<{0} type='{1}'><string name='filename' value='NAME'/>{2}</{0}>", kind,
                       type, more);
}
/// A surface with a material, or with a texture as its colour.
std::string with_bsdf(const std::string &bsdf) {
    return "<shape type='rectangle'>" + bsdf + "</shape>";
}
std::string with_texture(std::string texture) {
    texture.insert(texture.find(' '), " name='reflectance'");
    return with_bsdf("<bsdf type='diffuse'>" + texture + "</bsdf>");
}

/// A triangle with all that a binary file can have: a picture, a camera, a light, rows that replace others.
static std::string glb_sample(const Image &picture) {
    const float corners[] = { -1, -1, 0, 1, -1, 0, 0, 1, 0, 0, 0, 1, 0, .5f, 1, .25f };
    const uint16_t indices[] = { 0, 1, 2, 1 };
    std::string bytes(reinterpret_cast<const char *>(corners), sizeof corners);
    bytes.append(reinterpret_cast<const char *>(indices), sizeof indices);
    std::string png = encode_image("png", picture);
    std::string text = fmt::format(
        R"({{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0, 1]}}],
"nodes": [{{"mesh": 0, "scale": [2, 1, 1], "children": [2]}}, {{"camera": 0, "translation": [0, 0, 5]}},
{{"rotation": [0, 0, 0, 1], "extensions": {{"KHR_lights_punctual": {{"light": 0}}}}}}],
"cameras": [{{"type": "perspective", "perspective": {{"yfov": 0.5, "znear": 0.1}}}}],
"extensions": {{"KHR_lights_punctual": {{"lights": [{{"type": "spot", "intensity": 2, "spot": {{"outerConeAngle": 0.5}}}}]}}}},
"meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0, "TEXCOORD_0": 1, "NORMAL": 3}}, "indices": 2, "material": 0}}]}}],
"materials": [{{"doubleSided": true, "alphaMode": "MASK", "emissiveFactor": [1, 0.5, 0],
"normalTexture": {{"index": 0, "scale": 0.5}}, "pbrMetallicRoughness": {{"roughnessFactor": 0.5,
"baseColorTexture": {{"index": 0}}, "metallicRoughnessTexture": {{"index": 0}}}}}}],
"textures": [{{"source": 0, "sampler": 0}}], "samplers": [{{"wrapS": 33071}}], "images": [{{"bufferView": 3}}],
"accessors": [{{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [-1, -1, 0], "max": [1, 1, 0]}},
{{"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"}},
{{"bufferView": 2, "componentType": 5123, "count": 3, "type": "SCALAR"}},
{{"componentType": 5126, "count": 3, "type": "VEC3", "sparse": {{"count": 1, "indices": {{"bufferView": 2, "byteOffset": 6,
"componentType": 5123}}, "values": {{"bufferView": 1, "byteOffset": 8}}}}}}],
"bufferViews": [{{"buffer": 0, "byteLength": 36}}, {{"buffer": 0, "byteOffset": 36, "byteLength": 28}},
{{"buffer": 0, "byteOffset": 64, "byteLength": 8}}, {{"buffer": 0, "byteOffset": 72, "byteLength": {}}}],
"buffers": [{{"byteLength": {}}}]}})",
        png.size(), bytes.size() + png.size());
    return test::glb(text, bytes + png);
}

static std::string binary_hair() {
    std::string out = "BINARY_HAIR" + test::bytes_of(uint32_t(5));
    float infinity = std::numeric_limits<float>::infinity();
    for (float v : { -1.f, -.3f, 0.f, 0.f, .2f, .2f, 1.f, -.2f, 0.f, infinity, -1.f, .5f, 0.f, 1.f,
                     .4f, .1f })
        out += test::bytes_of(v);
    return out;
}

// Of a scene that a test of the driver could have: its state in the middle of a render.
static std::string checkpoint() {
    VariantScope scope(find_variant("interp_rgb"));
    Ref<Scene> scene = load_scene(parse_scene_string(checkpoint_scene()));
    Render render(*scene, { .launch_pixels = 64 });
    for (int i = 0; i < 3; ++i)
        render.step();
    return render.save();
}

static std::string kernel_file(bool is_long) {
    fs::path folder = fs::temp_directory_path() / fmt::format("umbel-fuzz-kernels-{}", getpid());
    jit::KernelFiles files(folder.string(), 1 << 30);
    files.write(FuzzKey, FuzzFingerprint, kernel_blob(is_long));
    std::string bytes = read_whole(files.path(FuzzKey));
    fs::remove_all(folder);
    return bytes;
}

std::string read_whole(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    return { std::istreambuf_iterator<char>(in), {} };
}

std::vector<Sample> samples(bool with_vdb) {
    Image u8 = test::random_image(21, 13, 9, { "R", "G", "B", "A" }, Component::U8, true);
    for (size_t x = 2; x < 11; ++x) // something for run-length encoders
        for (size_t c = 0; c < 4; ++c)
            u8.set(x, 5, c, 0.5);
    Image f = test::random_image(22, 13, 9, { "R", "G", "B" }, Component::F16);
    test::VolumeFile volume{ { 3, 2, 4 }, 3 };
    for (int i = 0; i < 72; ++i)
        volume.values.push_back(0.1f + float(i * 37 % 100) / 300);
    test::VolumeFile bytes = volume;
    bytes.encoding = 3;
    const char *curves = "-1 -.3 0 .3\n-.3 .2 .2 .35\n.3 -.2 0 .4\n1 .3 .1 .3\n\n"
                         "-1 .7 0 .1\n-.3 .8 -.2 .1\n.3 .8 0 .2\n1 .6 .1 .1\n";
    std::string grid = with_texture("<texture type='volume'><volume type='gridvolume' "
                                    "name='volume'><string name='filename' value='NAME'/>"
                                    "</volume></texture>"),
                spectrum = with_bsdf("<bsdf type='diffuse'><spectrum name='reflectance' "
                                     "filename='NAME'/></bsdf>");
    std::vector<Sample> out = {
        { "new.xml", NewScene },
        { "old.xml", OldScene },
        { "a.obj", ObjMesh, reading("shape", "obj") },
        { "ascii.ply", ply_mesh("ascii"), reading("shape", "ply") },
        { "little.ply", ply_mesh("binary_little_endian"), reading("shape", "ply") },
        { "big.ply", ply_mesh("binary_big_endian"), reading("shape", "ply") },
        { "a.serialized", test::serialized_file({ test::folded_sheet() }),
          reading("shape", "serialized") },
        { "b.serialized", test::serialized_file({ test::folded_sheet(), test::folded_sheet() }, 3),
          reading("shape", "serialized",
                  "<integer name='shape_index' value='1'/><float name='max_smooth_angle' "
                  "value='30'/>") },
        { "a.gltf", test::gltf_triangle(), reading("shape", "gltf") },
        { "b.glb", glb_sample(u8) },
        { "c.glb", glb_sample(u8), reading("shape", "gltf") },
        { "linear.txt", curves, reading("shape", "linearcurve") },
        { "spline.txt", curves, reading("shape", "bsplinecurve") },
        { "hair.txt", "-1 -.3 0\n0 .2 .2\n1 -.2 0\n\n-1 .5 0\n1 .4 .1\n",
          reading("shape", "hair") },
        { "binary.hair", binary_hair(), reading("shape", "hair") },
        { "a.bsdf", test::measured_file({ 0 }), with_bsdf(reading("bsdf", "measured")) },
        { "b.bsdf", test::measured_file({ -Pi, -Pi / 2, 0 }),
          with_bsdf(reading("bsdf", "measured")) },
        { "a.pbsdf", test::measured_polarized_file(),
          with_bsdf(
              reading("bsdf", "measured_polarized", "<float name='wavelength' value='520'/>")) },
        { "a.vol", volume.bytes(), grid },
        { "b.vol", bytes.bytes(), grid },
        { "staple.wv", test::staple_weave(),
          with_bsdf(
              reading("bsdf", "irawan",
                      "<float name='repeat_u' value='10'/><float name='repeat_v' value='10'/>"
                      "<rgb name='warp_kd' value='.1, .2, .3'/><rgb name='gloss' value='.2'/>")) },
        { "filament.wv", test::filament_weave(),
          with_bsdf(reading("bsdf", "irawan",
                            "<float name='repeat_u' value='4'/><float name='repeat_v' value='4'/>"
                            "<float name='umax' value='20'/>")) },
        { "a.checkpoint", checkpoint(), {}, Sample::Checkpoint },
        { "short.kernel", kernel_file(false), {}, Sample::Kernel },
        { "long.kernel", kernel_file(true), {}, Sample::Kernel },
        { "a.spd", "# a comment\n400 0.3\n500.5 0.6\n555 0.62\n700 0.8\n", spectrum },
    };
    for (const char *e : { "png", "jpg", "tga", "bmp", "ppm", "pfm", "hdr" })
        out.push_back({ std::string("x.") + e, encode_image(e, u8),
                        with_texture(reading("texture", "bitmap")) });
    for (const char *c : { "none", "rle", "zip", "piz", "dwaa" })
        out.push_back({ std::string(c) + ".exr", encode_image("exr", f, { .compression = c }),
                        std::string(c) == "zip"   ? reading("emitter", "envmap")
                        : std::string(c) == "rle" ? reading("shape", "heightfield")
                                                  : with_texture(reading("texture", "bitmap")) });
#ifdef UMBEL_VDB_FILES
    for (const char *name : { "grids.vdb", "plain.vdb" })
        if (with_vdb)
            out.push_back({ name, read_whole(fs::path(UMBEL_VDB_FILES) / name), grid });
#endif
    return out;
}

Sample program_sample() { return { "random.program", "1", {}, Sample::Program }; }

std::string checkpoint_scene() {
    return R"(<scene version='3.0.0'><sensor type='perspective'>
    <transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>
    <film type='hdrfilm'><integer name='width' value='16'/><integer name='height' value='8'/></film>
    <sampler type='independent'><integer name='sample_count' value='4'/></sampler></sensor>
    <shape type='sphere'/><emitter type='constant'/></scene>)";
}

std::string kernel_blob(bool is_long) {
    std::string out;
    for (int i = 0; i < (is_long ? 20000 : 200); ++i)
        out += char(i * i >> 3 & 0x5f);
    return out;
}

} // namespace umbel::test
