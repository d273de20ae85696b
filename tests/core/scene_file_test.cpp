// tests/core/scene_file_test.cpp: scene files of both forms, their errors, and writing them back; large ones are in large_scene_test.cpp.
#include "core/scene_file.h"
#include "core/scene_xml.h"
#include "jit/error.h"
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace umbel {
namespace {

namespace fs = std::filesystem;

Properties scene(const std::string &body, const SceneFileOptions &options = {},
                 const std::string &version = "3.0.0") {
    return parse_scene_string("<scene version=\"" + version + "\">\n" + body + "\n</scene>",
                              options, "room.xml");
}

Properties old_scene(const std::string &body) { return scene(body, {}, "0.6.0"); }

std::string error_of(auto f) {
    try {
        f();
    } catch (const UserError &e) {
        return e.what();
    }
    return "no error";
}

std::string scene_error(const std::string &body, const SceneFileOptions &options = {}) {
    return error_of([&] { scene(body, options); });
}

PropertiesPtr child(const Properties &p, size_t i = 0) { return p.objects().at(i); }

void expect_contains(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << "in:  " << text << "\nnot: " << part;
}

// Files in a folder of its own that goes away with the test.
class SceneFolder : public testing::Test {
protected:
    void SetUp() override {
        auto info = testing::UnitTest::GetInstance()->current_test_info();
        m_folder = fs::temp_directory_path() / fmt::format("umbel-{}-{}", info->name(), ::getpid());
        fs::create_directories(m_folder / "sub");
    }
    void TearDown() override { fs::remove_all(m_folder); }

    fs::path write(const std::string &name, const std::string &text) {
        std::ofstream(m_folder / name, std::ios::binary) << text;
        return m_folder / name;
    }

    fs::path m_folder;
};

// ---- Values

TEST(SceneFile, ReadsEveryTypeOfValue) {
    Properties s = scene(R"(<shape type="sphere" id="ball">
        <boolean name="flip" value="True"/>
        <integer name="count" value="-12"/>
        <float name="radius" value="+1.5e3"/>
        <string name="label" value="a &lt; b"/>
        <point name="center" x="3" z="5"/>
        <vector name="up" value="0, 1, 0"/>
    </shape>)");
    EXPECT_EQ(s.kind, "scene");
    PropertiesPtr p = child(s);
    EXPECT_EQ(p->kind, "shape");
    EXPECT_EQ(p->type, "sphere");
    EXPECT_EQ(p->id, "ball");
    EXPECT_EQ(p->where.str(), "room.xml:2");
    EXPECT_EQ(p->get<bool>("flip"), true);
    EXPECT_EQ(p->get<int64_t>("count"), -12);
    EXPECT_EQ(p->get<double>("radius"), 1500);
    EXPECT_EQ(p->get<std::string>("label"), "a < b");
    EXPECT_EQ(p->get<VectorData>("center"), (VectorData{ 3, 0, 5, true }));
    EXPECT_EQ(p->get<VectorData>("up"), (VectorData{ 0, 1, 0, false }));
    EXPECT_EQ(p->find("radius")->where.line, 5);
    EXPECT_NO_THROW(p->finish());
}

TEST(SceneFile, ReadsColorsAndSpectraInAllForms) {
    using Kind = SpectrumData::Kind;
    Properties s = old_scene(R"(<bsdf type="x">
        <rgb name="a" value="0.2, 0.8, 0.4"/>
        <rgb name="b" value="0.75"/>
        <srgb name="c" value="#ff0080"/>
        <spectrum name="d" value="0.56"/>
        <spectrum name="e" value="400:0.56, 500 : 0.18 600:0.58"/>
        <spectrum name="f" value=".2, .2, .8, .4, .6, .5, .1, .9, .4, .2"/>
        <spectrum name="g" value="1 2 3" intent="illuminant"/>
        <blackbody name="h" temperature="5000K" scale="1e-3"/>
    </bsdf>)");
    PropertiesPtr p = child(s);
    auto get = [&](const char *name) { return p->get<SpectrumData>(name); };
    EXPECT_EQ(get("a").rgb, (std::array<double, 3>{ 0.2, 0.8, 0.4 }));
    EXPECT_EQ(get("b").rgb, (std::array<double, 3>{ 0.75, 0.75, 0.75 }));
    EXPECT_NEAR(get("c").rgb[2], 0.2158605, 1e-6); // 128/255, linearized
    EXPECT_EQ(get("c").rgb[0], 1);
    EXPECT_EQ(get("d").kind, Kind::Uniform);
    EXPECT_EQ(get("d").value, 0.56);
    EXPECT_EQ(get("e").wavelengths, (std::vector<double>{ 400, 500, 600 }));
    EXPECT_EQ(get("e").values, (std::vector<double>{ 0.56, 0.18, 0.58 }));
    EXPECT_EQ(get("f").wavelengths.size(), 10u);
    EXPECT_EQ(get("f").wavelengths[0], 383.5); // the middle of the first bin of 47 nm
    EXPECT_EQ(get("g").kind, Kind::Rgb);
    EXPECT_EQ(get("g").intent, SpectrumData::Intent::Illuminant);
    EXPECT_EQ(get("h").kind, Kind::Blackbody);
    EXPECT_EQ(get("h").temperature, 5000);
    EXPECT_EQ(get("h").scale, 1e-3);
}

TEST(SceneFile, ColorsInEmittersAreIlluminants) {
    Properties s = scene(R"(
        <emitter type="area"><rgb name="radiance" value="1"/></emitter>
        <emitter type="envmap"><texture type="t" name="x">
            <spectrum name="y" value="2"/></texture></emitter>
        <bsdf type="diffuse"><rgb name="reflectance" value="1"/></bsdf>)");
    using Intent = SpectrumData::Intent;
    EXPECT_EQ(child(s, 0)->get<SpectrumData>("radiance").intent, Intent::Illuminant);
    EXPECT_EQ(child(*child(s, 1))->get<SpectrumData>("y").intent, Intent::Illuminant);
    EXPECT_EQ(child(s, 2)->get<SpectrumData>("reflectance").intent, Intent::Reflectance);
}

TEST(SceneFile, SpectrumWithATypeIsAnObject) {
    Properties s = scene(R"(<emitter type="area"><spectrum name="radiance" type="d65">
        <float name="scale" value="2"/></spectrum></emitter>)");
    PropertiesPtr spectrum = child(s)->get<PropertiesPtr>("radiance");
    EXPECT_EQ(spectrum->kind, "spectrum");
    EXPECT_EQ(spectrum->get<double>("scale"), 2);
}

// ---- Transforms

TEST(SceneFile, TransformStepsApplyInTheirOrder) {
    Properties s = scene(R"(<shape type="x"><transform name="to_world">
        <scale value="2"/><rotate z="1" angle="90"/><translate x="10"/>
        </transform></shape>)");
    auto t = child(s)->get<TransformData>("to_world");
    EXPECT_EQ(t.apply_point({ 1, 0, 0 }), (TransformData::Vec{ 10, 2, 0 }));
}

TEST(SceneFile, LookAtPutsTheCameraAtTheOrigin) {
    Properties s = scene(R"(<sensor type="x">
        <transform name="a"><lookat origin="1, 2, 3" target="1, 2, 13" up="0, 5, 1"/></transform>
        <transform name="b"><lookAt origin="0 0 0" target="1 1 1"/></transform>
        <transform name="c"><lookAt ox="1" oy="2" oz="3" tx="1" ty="2" tz="4"
            ux="0" uy="1" uz="0"/></transform>
        </sensor>)");
    auto t = child(s)->get<TransformData>("a");
    EXPECT_EQ(t, TransformData::translate({ 1, 2, 3 }));
    EXPECT_EQ(child(s)->get<TransformData>("c"), t);
    auto p = child(s)->get<TransformData>("b").apply_point({ 0, 0, std::sqrt(3.0) });
    for (double c : p)
        EXPECT_NEAR(c, 1, 1e-12);
}

TEST(SceneFile, MatricesMayHaveNineOrSixteenNumbers) {
    Properties s = scene(R"(<shape type="x">
        <transform name="a"><matrix value="1 0 0 4, 0 1 0 5, 0 0 1 6, 0 0 0 1"/></transform>
        <transform name="b"><matrix value="2 0 0 0 2 0 0 0 2"/></transform></shape>)");
    EXPECT_EQ(child(s)->get<TransformData>("a"), TransformData::translate({ 4, 5, 6 }));
    EXPECT_EQ(child(s)->get<TransformData>("b"), TransformData::scale({ 2, 2, 2 }));
}

TEST(SceneFile, AnimationsKeepTheirKeys) {
    Properties s = scene(R"(<shape type="x"><animation name="to_world">
        <transform time="0"/><transform time="1"><translate x="3"/></transform>
        </animation></shape>)");
    auto a = child(s)->get<AnimationData>("to_world");
    EXPECT_EQ(a.times, (std::vector<double>{ 0, 1 }));
    EXPECT_EQ(a.transforms[1], TransformData::translate({ 3, 0, 0 }));
}

// ---- References, defaults, includes

TEST(SceneFile, ReferencesShareOneObjectWhereverItStands) {
    Properties s = scene(R"(<shape type="x"><ref name="bsdf" id="late"/></shape>
        <bsdf type="diffuse" id="late"/>
        <alias id="late" as="again"/>
        <shape type="x"><ref id="again"/></shape>)");
    PropertiesPtr bsdf = child(s, 1);
    EXPECT_EQ(child(s, 0)->get<PropertiesPtr>("bsdf"), bsdf);
    EXPECT_EQ(child(*child(s, 2)), bsdf);
}

TEST(SceneFile, DefinitionsOverrideDefaults) {
    std::string body = R"(<default name="spp" value="16"/><default name="kind" value="in$spp"/>
        <sampler type="${kind}x"><integer name="n" value="$spp"/>
        <string name="cost" value="$$5 $ 6"/></sampler>)";
    Properties s = scene(body);
    EXPECT_EQ(child(s)->type, "in16x");
    EXPECT_EQ(child(s)->get<int64_t>("n"), 16);
    EXPECT_EQ(child(s)->get<std::string>("cost"), "$5 $ 6");
    std::vector<std::string> warnings;
    s = scene(body, { .definitions = { { "spp", "4" }, { "sp", "1" } }, .warnings = &warnings });
    EXPECT_EQ(child(s)->get<int64_t>("n"), 4);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0], "-D sp=1: the scene does not use $sp; did you mean \"spp\"?");
}

TEST_F(SceneFolder, IncludesSeeTheSameNamesAndSearchTheMainFolder) {
    write("mesh.obj", "");
    write("sub/inner.xml", R"(<scene version="0.6.0"><shape type="obj" id="s">
        <string name="filename" value="mesh.obj"/><float name="toWorld" value="$size"/></shape>
        </scene>)");
    write("sub/bsdf.xml", R"(<bsdf version="3.0.0" type="diffuse" id="b"/>)");
    write("sub/chain.xml", R"(<scene><include filename="inner.xml"/></scene>)");
    fs::path main = write("main.xml", R"(<scene version="3.0.0"><default name="size" value="2"/>
        <include filename="sub/chain.xml"/><include filename="sub/bsdf.xml"/></scene>)");
    Properties s = parse_scene_file(main);
    ASSERT_EQ(s.objects().size(), 2u);
    EXPECT_EQ(child(s)->get<double>("to_world"), 2); // the inner file's version decides
    EXPECT_EQ(child(s)->get_file("filename"), m_folder / "mesh.obj");
    EXPECT_EQ(child(s)->where.str(), (m_folder / "sub/inner.xml").string() + ":1");
    EXPECT_EQ(child(s, 1)->type, "diffuse");
}

// They were refused
TEST_F(SceneFolder, IncludesMayStandInsideOfObjects) {
    write("texture.xml", R"(<texture version="3.0.0" type="bitmap" name="reflectance"/>)");
    write("sub/parts.xml", R"(<scene version="3.0.0"><float name="alpha" value="$a"/>
        <bsdf type="diffuse"><include filename="../texture.xml"/></bsdf></scene>)");
    fs::path main = write("main.xml", R"(<scene version="3.0.0"><default name="a" value="0.25"/>
        <shape type="sphere"><bsdf type="twosided"><include filename="sub/parts.xml"/>
        <include filename="texture.xml" name="opacity"/></bsdf></shape></scene>)");
    PropertiesPtr outer = child(*child(parse_scene_file(main)));
    EXPECT_EQ(outer->get<double>("alpha"), 0.25);
    ASSERT_TRUE(outer->find("opacity"));
    PropertiesPtr inner = child(*outer);
    EXPECT_EQ(inner->type, "diffuse");
    const Property *texture = inner->find("reflectance");
    ASSERT_TRUE(texture && texture->object());
    EXPECT_EQ((*texture->object())->type, "bitmap");
}

TEST_F(SceneFolder, PathAddsAFolderToTheSearch) {
    write("sub/data.spd", "# measured\n400 0.5\n500 0.25 # comment\n\n");
    Properties s = scene(
        R"(<path value="sub"/><bsdf type="x"><spectrum name="a" filename="data.spd"/></bsdf>)",
        { .base_folder = m_folder });
    auto spectrum = child(s)->get<SpectrumData>("a");
    EXPECT_EQ(spectrum.wavelengths, (std::vector<double>{ 400, 500 }));
    EXPECT_EQ(spectrum.filename, "data.spd");
}

// ---- The 0.6 form

TEST(SceneFile, OldNamesBecomeNewOnes) {
    EXPECT_EQ(snake_case("toWorld"), "to_world");
    EXPECT_EQ(snake_case("intIOR"), "int_ior");
    EXPECT_EQ(snake_case("conductorIORScale"), "conductor_ior_scale");
    EXPECT_EQ(snake_case("reconstructL1"), "reconstruct_l1");
    EXPECT_EQ(snake_case("cropOffsetX"), "crop_offset_x");
    EXPECT_EQ(snake_case("B"), "B");
    Properties s = old_scene(R"(
        <camera type="perspective"><float name="nearClip" value="1"/>
            <film type="exrfilm"><boolean name="highQualityEdges" value="true"/>
            <string name="pixelFormat" value="luminanceAlpha"/></film></camera>
        <bsdf type="conductor"><float name="extEta" value="1"/>
            <texture name="specularReflectance" type="ldrtexture">
                <float name="gamma" value="1"/><float name="uscale" value="2"/>
                <float name="voffset" value="3"/>
            </texture></bsdf>
        <luminaire type="area"/>)");
    PropertiesPtr sensor = child(s, 0), film = child(*sensor), bsdf = child(s, 1);
    EXPECT_EQ(sensor->kind, "sensor");
    EXPECT_EQ(sensor->get<double>("near_clip"), 1);
    EXPECT_EQ(film->type, "hdrfilm");
    EXPECT_EQ(film->get<bool>("sample_border"), true);
    EXPECT_EQ(film->get<std::string>("pixel_format"), "luminance_alpha");
    EXPECT_EQ(bsdf->get<double>("ext_eta"), 1);
    PropertiesPtr texture = bsdf->get<PropertiesPtr>("specular_reflectance");
    EXPECT_EQ(texture->type, "bitmap");
    EXPECT_EQ(texture->get<bool>("raw"), true);
    EXPECT_EQ(texture->get<TransformData>("to_uv").apply_point({ 1, 1, 0 }),
              (TransformData::Vec{ 2, 4, 0 }));
    EXPECT_EQ(texture->unqueried(), std::vector<std::string>());
    EXPECT_EQ(child(s, 2)->kind, "emitter");
}

TEST(SceneFile, OldColorsMayBeHexadecimal) {
    Properties s = old_scene(R"(<bsdf type="x"><rgb name="a" value="#ff0033"/>
        <spectrum name="b" value="#ff0033"/><srgb name="c" value="#ff0033"/></bsdf>)");
    std::array<double, 3> linear = { 1, 0, 0.2 };
    EXPECT_EQ(child(s)->get<SpectrumData>("a").rgb, linear);
    EXPECT_EQ(child(s)->get<SpectrumData>("b").rgb, linear);
    EXPECT_NEAR(child(s)->get<SpectrumData>("c").rgb[2], 0.0331048, 1e-6);
    expect_contains(scene_error(R"(<bsdf type="x"><rgb name="a" value="#ff0033"/></bsdf>)"),
                    "<srgb>");
}

TEST(SceneFile, OneNumberOfOldLightIsWhite) {
    Properties s = old_scene(R"(<emitter type="x"><spectrum name="a" value="5"/>
        <spectrum name="b" value="5" intent="reflectance"/></emitter>
        <bsdf type="y"><spectrum name="a" value="0.5"/></bsdf>)");
    auto a = child(s)->get<SpectrumData>("a");
    EXPECT_EQ(a.kind, SpectrumData::Kind::Rgb);
    EXPECT_EQ(a.rgb, (std::array<double, 3>{ 5, 5, 5 }));
    EXPECT_EQ(a.intent, SpectrumData::Intent::Illuminant);
    EXPECT_EQ(child(s)->get<SpectrumData>("b").kind, SpectrumData::Kind::Uniform);
    EXPECT_EQ(child(s, 1)->get<SpectrumData>("a").kind, SpectrumData::Kind::Uniform);
}

TEST(SceneFile, OldTexturesWithoutATypeAreBitmaps) {
    const char *body = R"(<bsdf type="x"><texture name="a"><float name="uscale" value="2"/>
        </texture></bsdf>)";
    EXPECT_EQ(child(old_scene(body))->get<PropertiesPtr>("a")->type, "bitmap");
    expect_contains(scene_error(body), "lacks the attribute \"type\"");
}

// What was left unsaid was another thing then.
TEST(SceneFile, OldDefaultsAreKept) {
    Properties s = old_scene(R"(<bsdf type="conductor"/><bsdf type="roughconductor">
        <string name="material" value="Au"/><string name="extIOR" value="water"/></bsdf>
        <bsdf type="mirror"/><bsdf type="diffuse"><rgb name="diffuseReflectance" value="1"/></bsdf>
        <bsdf type="normalmap"><texture type="bitmap"/></bsdf>)");
    auto word = [&](size_t i, const char *name) { return child(s, i)->get<std::string>(name); };
    EXPECT_EQ(word(0, "material"), "Cu");
    EXPECT_EQ(word(0, "ext_eta"), "air");
    EXPECT_EQ(word(1, "material"), "Au");
    EXPECT_EQ(word(1, "ext_eta"), "water");
    EXPECT_EQ(child(s, 2)->type, "conductor");
    EXPECT_EQ(word(2, "material"), "none");
    EXPECT_TRUE(child(s, 3)->has("reflectance"));
    EXPECT_TRUE(child(s, 4)->has("normalmap"));
    EXPECT_FALSE(child(scene(R"(<bsdf type="conductor"/>)"))->has("material"));
    // What eta and k left out was copper's, or that of the material that was named.
    s = old_scene(R"(<bsdf type="conductor"><float name="eta" value="2"/></bsdf>
        <bsdf type="conductor"><string name="material" value="Au"/><float name="k" value="2"/></bsdf>
        <bsdf type="conductor"><string name="material" value="Au"/><float name="eta" value="1"/>
            <float name="k" value="2"/></bsdf>)");
    EXPECT_EQ(word(0, "material"), "Cu");
    EXPECT_EQ(word(1, "material"), "Au");
    EXPECT_FALSE(child(s, 2)->has("material"));
}

// As in the manual's example of `multichannel`.
TEST(SceneFile, OldNamesOfChannelsAreThoseOfIntegrators) {
    Properties s = old_scene(R"(<integrator type="multichannel"><integrator type="path"/>
        <integrator type="field"><string name="field" value="shNormal"/></integrator>
        <integrator type="field"><string name="field" value="distance"/></integrator></integrator>
        <sensor type="perspective"><film type="hdrfilm">
            <string name="pixelFormat" value="rgb, rgb, luminance"/>
            <string name="channelNames" value="color, normal, distance"/></film></sensor>)");
    std::vector<std::string> names;
    for (const Property &p : child(s)->all())
        if (p.object())
            names.push_back(p.name);
    EXPECT_EQ(names, (std::vector<std::string>{ "color", "normal", "distance" }));
    PropertiesPtr film = child(*child(s, 1));
    EXPECT_EQ(film->get<std::string>("pixel_format"), "rgb");
    EXPECT_FALSE(film->has("channel_names"));
}

TEST(SceneFile, OldTexturesToBeScaledHaveAnyName) {
    Properties s = old_scene(R"(<texture type="scale"><texture name="alpha" type="bitmap"/>
        <float name="scale" value="0.6"/></texture>)");
    EXPECT_EQ(child(s)->get<PropertiesPtr>("value")->type, "bitmap");
    EXPECT_FALSE(child(s)->has("alpha"));
}

TEST(SceneFile, OldScalesOfBothCoordinatesAreScales) {
    Properties s =
        old_scene(R"(<texture type="checkerboard"><float name="uvscale" value="6"/></texture>
        <texture type="checkerboard"><float name="vscale" value="2"/><float name="uvscale" value="6"/>
        </texture>)");
    auto scale = [&](size_t i, int axis) {
        return child(s, i)->get<TransformData>("to_uv")(axis, axis);
    };
    EXPECT_EQ(scale(0, 0), 6);
    EXPECT_EQ(scale(0, 1), 6);
    EXPECT_EQ(scale(1, 0), 6);
    EXPECT_EQ(scale(1, 1), 2);
    EXPECT_FALSE(child(s)->has("uvscale"));
}

// What 0.5 wrote into images is no name of a value.
TEST(SceneFile, OldAnnotationsKeepTheirKeywords) {
    const char *body = R"(<film type="x">
        <string name="label[10, 20]" value="$spp samples, $scene['renderTime']"/></film>)";
    Properties s = scene(body, { .definitions = { { "spp", "4" } } }, "0.6.0");
    EXPECT_EQ(child(s)->get<std::string>("label[10, 20]"), "4 samples, $scene['renderTime']");
    expect_contains(error_of([&] { scene(body, { .definitions = { { "spp", "4" } } }, "3.0.0"); }),
                    "$scene is not defined");
}

TEST(SceneFile, OldSunsFollowTheirDirection) {
    Properties s = old_scene(R"(<emitter type="sunsky"><float name="hour" value="9"/>
        <vector name="sunDirection" x="1" y="1" z="0"/></emitter><emitter type="sun">
        <float name="hour" value="9"/></emitter>)");
    EXPECT_FALSE(child(s, 0)->has("hour"));
    EXPECT_TRUE(child(s, 0)->has("sun_direction"));
    EXPECT_TRUE(child(s, 1)->has("hour"));
}

// Unless one material is given for all.
TEST(SceneFile, OldObjFilesBringTheirMaterials) {
    Properties s = old_scene(R"(<bsdf type="diffuse" id="m"/>
        <shape type="obj"><string name="filename" value="a.obj"/></shape>
        <shape type="obj"><string name="filename" value="a.obj"/><bsdf type="diffuse"/></shape>
        <shape type="obj"><string name="filename" value="a.obj"/><ref id="m"/></shape>
        <shape type="obj"><string name="filename" value="a.obj"/><ref name="Glass" id="m"/></shape>
        <shape type="obj"><string name="filename" value="a.obj"/>
            <boolean name="loadMaterials" value="false"/></shape>)");
    for (size_t i = 1; i <= 5; ++i)
        EXPECT_EQ(child(s, i)->has("load_materials"), i == 1 || i == 4) << i;
}

TEST(SceneFile, OldMediaAreOfSkinUnlessTheySay) {
    Properties scene = parse_scene_string(R"(<scene version="0.5.0">
        <medium type="heterogeneous" id="cloth"><volume name="density" type="constvolume"/>
            <phase type="microflake"/></medium>
        <medium type="homogeneous" id="skin"/>
        <medium type="homogeneous" id="fog"><spectrum name="sigmaT" value="1"/></medium></scene>)");
    auto media = scene.objects("medium");
    EXPECT_TRUE(media.at(0)->has("sigma_t"));
    EXPECT_EQ(media.at(1)->get<std::string>("material"), "skin1");
    EXPECT_FALSE(media.at(2)->has("material"));
}

TEST(SceneFile, NewFilesKeepTheirNames) {
    Properties s = scene(R"(<bsdf type="x"><float name="intIOR" value="1"/></bsdf>)");
    EXPECT_TRUE(child(s)->has("intIOR"));
}

// ---- Errors

TEST(SceneFile, ErrorsSayWhereWhatAndWhatToDo) {
    EXPECT_EQ(
        scene_error("<bsdf type=\"diffuse\" id=\"floor\">\n<float name=\"a\" value=\"x\"/></bsdf>"),
        "room.xml:3: bsdf \"floor\" (diffuse): parameter \"a\": \"x\" is not a number; write "
        "e.g. 0.5");
    EXPECT_EQ(scene_error("<shap type=\"x\"/>"),
              "room.xml:2: scene: the element <shap> is unknown here; did you mean \"shape\"?");
    EXPECT_EQ(scene_error("<bsdf id=\"a\"/>"),
              "room.xml:2: scene: <bsdf> lacks the attribute \"type\"; add it");
    EXPECT_EQ(scene_error("<integer name=\"a\" valeu=\"1\"/>"),
              "room.xml:2: scene: <integer> has no attribute \"valeu\"; did you mean \"value\"?");
    EXPECT_EQ(
        scene_error("\n\n<sampler type=\"x\"><integer name=\"n\" value=\"$spq\"/></sampler>",
                    { .definitions = { { "spp", "1" } } }),
        "room.xml:4: sampler (x): $spq is not defined; did you mean $spp? Else pass -D spq=... "
        "or put <default name=\"spq\" value=\"...\"/> before it");
    EXPECT_EQ(
        scene_error("<ref id=\"flor\"/><bsdf type=\"x\" id=\"floor\"/>"),
        "room.xml:2: scene: there is no object with the id \"flor\"; did you mean \"floor\"?");
    EXPECT_EQ(
        scene_error("<bsdf type=\"x\" id=\"a\"/>\n<bsdf type=\"x\" id=\"a\"/>"),
        "room.xml:3: bsdf \"a\" (x): the id \"a\" is already taken at room.xml:2; choose another");
    EXPECT_EQ(
        scene_error("<bsdf type=\"x\"><float name=\"a\" value=\"1\"/>\n<rgb name=\"a\" "
                    "value=\"1\"/></bsdf>"),
        "room.xml:3: bsdf (x): parameter \"a\" is given twice, first at room.xml:2; remove one");
    EXPECT_EQ(error_of([] { parse_scene_string("<scene/>", {}, "room.xml"); }),
              "room.xml:1: <scene> has no version; write e.g. version=\"3.0.0\"");
}

TEST(SceneFile, BadValuesAreErrors) {
    auto value = [](const std::string &element) {
        return scene_error("<bsdf type=\"x\">" + element + "</bsdf>");
    };
    expect_contains(value("<integer name='a' value='1.5'/>"), "is not an integer");
    expect_contains(value("<integer name='a' value='99999999999999999999'/>"), "too large");
    expect_contains(value("<float name='a' value='1e999'/>"), "too large");
    expect_contains(value("<float name='a' value='nan'/>"), "is not a number");
    expect_contains(value("<float name='a' value='1 2'/>"), "is not a number");
    expect_contains(value("<float name='' value='1'/>"), "empty name");
    expect_contains(value("<boolean name='a' value='yes'/>"), "is not a boolean");
    expect_contains(value("<rgb name='a' value='1 2'/>"), "holds 2 numbers");
    expect_contains(value("<rgb name='a' value='#102030'/>"), "write it as <srgb>");
    expect_contains(value("<srgb name='a' value='#10203'/>"), "is not a color");
    expect_contains(value("<spectrum name='a' value='500:1, 400:1'/>"), "increasing order");
    expect_contains(value("<spectrum name='a' value='400:1, 500'/>"), "wavelength:value pair");
    expect_contains(value("<spectrum name='a' value='1 2 3 4'/>"), "is not a spectrum");
    expect_contains(value("<spectrum name='a'/>"), "neither value, filename nor type");
    expect_contains(value("<spectrum name='a' filename='none.spd'/>"), "cannot find the file");
    expect_contains(value("<blackbody name='a' temperature='-1K'/>"), "is not positive");
    expect_contains(value("<point name='a'/>"), "no coordinates");
    expect_contains(value("<point name='a' x='inf'/>"), "not finite");
    expect_contains(value("<transform name='a'><rotate angle='1' x='0'/></transform>"),
                    "no direction");
    expect_contains(
        value("<transform name='a'><lookat origin='1 1 1' target='1 1 1'/></transform>"),
        "do not define a direction");
    expect_contains(value("<transform name='a'><matrix value='1 2 3'/></transform>"), "give 16");
    expect_contains(value("<transform name='a'><rotat/></transform>"), "did you mean \"rotate\"?");
    expect_contains(value("<animation name='a'/>"), "no keys");
    expect_contains(value("<float name='a' value='1'><float name='b' value='1'/></float>"),
                    "contains other elements");
    expect_contains(value("text"), "contains the text \"text\"");
    EXPECT_EQ(value("<float name='a' value='1e-999'/>"), "no error");
    EXPECT_EQ(value("<float name='a' value='inf'/>"), "no error");
}

TEST(SceneFile, CirclesOfReferencesAreErrors) {
    expect_contains(scene_error("<bsdf type='x' id='a'><ref id='b'/></bsdf>"
                                "<bsdf type='y' id='b'><ref id='a'/></bsdf>"),
                    "the object contains itself");
    expect_contains(scene_error("<alias id='a' as='b'/>"), "there is no object with the id \"a\"");
    expect_contains(scene_error("<bsdf type='x' id='a'/><alias id='a' as='a'/>"), "already taken");
}

TEST(SceneFile, DeepNestingIsAnErrorAndNotACrash) {
    std::string open, close, chain = "<bsdf type='x' id='b0'/>";
    for (int i = 1; i < 5000; ++i) {
        open += "<bsdf type='x'>";
        close += "</bsdf>";
        chain += fmt::format("<bsdf type='x' id='b{}'><ref id='b{}'/></bsdf>", i, i - 1);
    }
    expect_contains(scene_error(open + close), "nested more than 100 deep");
    expect_contains(scene_error(chain), "nested more than 100 deep");
}

TEST(SceneFile, BombsAreErrors) {
    std::string entities = R"(<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>
        <scene version="3.0.0"><string name="x" value="&b;"/></scene>)";
    expect_contains(error_of([&] { parse_scene_string(entities, {}, "room.xml"); }),
                    "room.xml:1: document type declarations");
    std::string defaults = "<default name='a0' value='0123456789'/>";
    for (int i = 1; i < 60; ++i)
        defaults += fmt::format("<default name='a{}' value='$a{}$a{}'/>", i, i - 1, i - 1);
    expect_contains(scene_error(defaults, { .max_bytes = 1 << 20 }), "more than 1048576 bytes");
    expect_contains(scene_error(std::string(2000, ' '), { .max_bytes = 1000 }), "more than 1000");
}

TEST(SceneFile, MalformedXmlIsAnErrorWithItsLine) {
    auto error = [](std::string text) {
        return error_of([&] { parse_scene_string(text, {}, "room.xml"); });
    };
    expect_contains(error("<scene version='3.0.0'>\n<bsdf></scene>"), "room.xml:2: this is not");
    expect_contains(error(""), "room.xml:1: this is not well-formed XML");
    expect_contains(error("<a/>"), "has no version");
    expect_contains(error("<a version='3'/>"), "the root element <a> is unknown");
    expect_contains(error("<scene version='three'/>"), "is not a version");
    expect_contains(error("<scene version='3'/><scene version='3'/>"), "second root");
    expect_contains(error(std::string("<scene \0 version='3'/>", 22)), "not text in UTF-8");
    EXPECT_EQ(error("\xef\xbb\xbf<scene version='3'/>"), "no error");
}

TEST(SceneFile, Latin1KeepsItsLettersAndLines) {
    Properties s = parse_scene_string("<?xml version='1.0' encoding='ISO-8859-1'?>\n<scene "
                                      "version='3'>\n<string name='a' value='\xe4\xf6'/>\n<string "
                                      "name='b' value='x'/></scene>");
    EXPECT_EQ(s.get<std::string>("a"), "\xc3\xa4\xc3\xb6");
    EXPECT_EQ(s.find("b")->where.line, 4);
}

TEST_F(SceneFolder, BadIncludesAreErrors) {
    auto error = [&](const char *text, SceneFileOptions options = {}) {
        fs::path main = write("main.xml", text);
        return error_of([&] { parse_scene_file(main, options); });
    };
    write("a.xml", R"(<scene version="3.0.0"><include filename="b.xml"/></scene>)");
    write("b.xml", R"(<scene version="3.0.0"><include filename="a.xml"/></scene>)");
    expect_contains(error("<scene version='3'>\n<include filename='a.xml'/></scene>"),
                    "includes itself");
    expect_contains(error("<scene version='3'>\n<include filename='main.xml'/></scene>"),
                    "main.xml:2: scene: \"main.xml\" includes itself");
    expect_contains(error("<scene version='3'><include filename='none.xml'/></scene>"),
                    "cannot find the file \"none.xml\"");
    expect_contains(error("<scene version='3'><include filename='/dev/zero'/></scene>"),
                    "cannot find the file");
    write("scene.xml", "<scene version='3'><float name='a' value='1'/></scene>");
    expect_contains(error("<scene version='3'><shape type='x'><include filename='scene.xml' "
                          "name='b'/></shape></scene>"),
                    "remove it");
    expect_contains(error("<scene version='3'><shape type='x'><float name='a' value='1'/><include "
                          "filename='scene.xml'/></shape></scene>"),
                    "\"a\" is given twice");
    write("old.xml", "<scene version='0.6.0'><float name='alphaU' value='1'/></scene>");
    expect_contains(
        error("<scene version='3'><shape type='x'><include filename='old.xml'/></shape></scene>"),
        "another version");
    expect_contains(
        error("<scene version='3'><shape type='x'><include filename='a.xml'/></shape></scene>"),
        "includes itself");
    expect_contains(error("<scene version='3'><path value='nowhere'/></scene>"),
                    "cannot find the folder \"nowhere\"");
    expect_contains(error_of([&] { parse_scene_file(m_folder / "none.xml"); }), "cannot find");
    expect_contains(error_of([&] { parse_scene_file(m_folder); }), "this is a folder");

    // Doubling at every level: 2^12 files.
    for (int i = 0; i < 12; ++i)
        write(fmt::format("d{}.xml", i),
              fmt::format("<scene version='3'><include filename='d{0}.xml'/><include "
                          "filename='d{0}.xml'/></scene>",
                          i + 1));
    write("d12.xml", "<scene version='3'/>");
    expect_contains(error("<scene version='3'><include filename='d0.xml'/></scene>"),
                    "more than 1000 files");
}

TEST_F(SceneFolder, RestrictedScenesStayInTheirFolders) {
    SceneFileOptions options{ .allowed_folders = { m_folder / "sub" },
                              .base_folder = m_folder / "sub" };
    write("secret.spd", "400 1\n");
    write("sub/open.spd", "400 1\n");
    fs::create_symlink(m_folder / "secret.spd", m_folder / "sub/link.spd");
    auto error = [&](const std::string &name) {
        return scene_error("<spectrum name='a' filename='" + name + "'/>", options);
    };
    EXPECT_EQ(error("open.spd"), "no error");
    EXPECT_EQ(error("../sub/open.spd"), "no error");
    for (std::string name : { "../secret.spd", "../missing.spd", "link.spd", "/etc/passwd" })
        expect_contains(error(name), "is outside the allowed folders");
    expect_contains(scene_error("<path value='..'/>", options), "is outside the allowed folders");
    expect_contains(scene_error("<include filename='../x.xml'/>", options), "is outside");
    Properties s =
        scene("<shape type='obj'><string name='filename' value='../secret.spd'/></shape>", options);
    expect_contains(error_of([&] { child(s)->get_file("filename"); }), "is outside");
}

// ---- Writing

TEST(SceneFile, WritingAndReadingGivesTheSameScene) {
    Properties s = scene(R"(
        <integer name="i" value="-3"/><float name="f" value="0.1"/><float name="inf" value="inf"/>
        <string name="s" value="&quot;&lt;$$x&#10;&#9;é"/><boolean name="b" value="false"/>
        <point name="p" x="1" y="2" z="3"/><vector name="v" x="0.3" y="2" z="3"/>
        <shape type="x"><ref id="m"/>
            <transform name="t"><rotate x="1" y="2" z="3" angle="33"/></transform></shape>
        <bsdf type="diffuse" id="m"><srgb name="r" value="0.3 0.4 0.5"/></bsdf>
        <shape type="y"><ref name="bsdf" id="m"/><animation name="a"><transform time="0.1"/>
            <transform time="2"><scale value="3"/></transform></animation></shape>
        <emitter type="area"><spectrum name="a" value="400:0.1, 500:0.2"/>
            <spectrum name="b" value="3" intent="reflectance"/>
            <blackbody name="c" temperature="6504.25" scale="0.1"/></emitter>)");
    std::string text = to_xml(s);
    Properties again = parse_scene_string(text);
    EXPECT_TRUE(same_content(s, again)) << text;
    EXPECT_EQ(to_xml(again), text);
    EXPECT_EQ(child(again, 1), child(*child(again, 0))); // still shared
    EXPECT_EQ(child(again, 1), child(*child(again, 2)));
}

TEST(SceneFile, SharedObjectsWithoutAnIdGetOne) {
    Properties s("scene", "scene");
    auto bsdf = std::make_shared<Properties>("bsdf", "diffuse");
    s.set("a", bsdf).set("b", bsdf).set("c", Properties("bsdf", "x", "bsdf-1"));
    Properties again = parse_scene_string(to_xml(s));
    EXPECT_EQ(again.get<PropertiesPtr>("a"), again.get<PropertiesPtr>("b"));
    EXPECT_EQ(again.get<PropertiesPtr>("a")->id, "bsdf-2");
}

// ---- Reading in steps, writing for people

void upgrade_all(Properties &p, const std::string &version) {
    upgrade(p, version);
    for (const PropertiesPtr &o : p.objects())
        upgrade_all(*o, version);
}

TEST(SceneFile, ReadingInStepsGivesTheSameScene) {
    const std::string text = R"(<scene version="0.6.0">
        <shape type="x"><ref id="n"/><transform name="toWorld"><scale value="2"/></transform></shape>
        <bsdf type="lambertian" id="m"><texture type="bitmap" name="diffuseReflectance">
            <float name="gamma" value="1"/><float name="uscale" value="3"/></texture></bsdf>
        <alias id="m" as="n"/></scene>)";
    SceneFileNotes notes;
    SceneFileOptions options;
    options.notes = &notes;
    Properties raw = parse_scene_string(text, options), whole = parse_scene_string(text);
    EXPECT_FALSE(same_content(raw, whole));
    EXPECT_TRUE(child(raw)->has("toWorld"));
    EXPECT_EQ(notes.versions, std::vector<std::string>{ "0.6.0" });
    upgrade_all(raw, notes.versions.at(0));
    resolve_references(raw, 100, notes.aliases);
    EXPECT_TRUE(same_content(raw, whole)) << to_xml(raw);
    expect_contains(error_of([] {
                        Properties twice("bsdf", "x");
                        twice.set("aB", 1.0).set("a_b", 2.0);
                        upgrade(twice, "0.5.0");
                    }),
                    "is given twice");
}

TEST(SceneFile, ReadableTransformsAreTheSame) {
    using T = TransformData;
    const struct {
        TransformData t;
        const char *steps;
    } cases[] = {
        { T::translate({ 1, 2, 0 }), "<translate x=\"1\" y=\"2\" />" },
        { T::scale({ -1, 2, 3 }), "<scale value=\"-1 2 3\" />" },
        { T::translate({ 0, 0, 4 }) * T::rotate({ 0, 0, 1 }, -120) * T::scale({ 2, 2, 2 }),
          "<scale value=\"2\" />|<rotate z=\"1\" angle=\"-120\" />|<translate z=\"4\" />" },
        { *T::look_at({ 1, 2, 3 }, { 4, 4, 4 }, { 0, 1, 0 }), "<lookat origin=\"1 2 3\"" },
        { T::rotate({ 1, 2, 3 }, 50) * T::scale({ 1, 2, 1 }), "<matrix" },
    };
    for (const auto &c : cases) {
        Properties s("scene", "scene");
        s.set("", Properties("sensor", "x").set("to_world", c.t));
        std::string text = to_xml(s, { .is_readable = true });
        for (std::string_view left = c.steps; !left.empty();) {
            std::string step(left.substr(0, left.find('|')));
            left.remove_prefix(std::min(left.size(), step.size() + 1));
            expect_contains(text, step);
        }
        TransformData read = child(parse_scene_string(text))->get<TransformData>("to_world");
        for (size_t i = 0; i < 16; ++i) // six digits
            EXPECT_NEAR(read.m[i], c.t.m[i], 5e-6) << text;
    }
}

TEST_F(SceneFolder, ASceneInSeveralFilesIsTheSame) {
    Properties s = scene("<integrator type='path'/><bsdf type='diffuse' id='m'/>"
                         "<shape type='sphere'><ref id='m'/></shape><emitter type='constant'/>");
    fs::create_directories(m_folder / "fragments");
    auto files = to_xml_files(s, "room");
    EXPECT_EQ(files.size(), 5u);
    for (const auto &[name, text] : files)
        write(name, text);
    Properties read = parse_scene_file(m_folder / "room.xml");
    for (const char *kind : { "integrator", "bsdf", "shape", "emitter" }) {
        ASSERT_EQ(read.objects(kind).size(), 1u) << kind;
        EXPECT_TRUE(same_content(*read.objects(kind)[0], *s.objects(kind)[0])) << kind;
    }
}

} // namespace
} // namespace umbel
