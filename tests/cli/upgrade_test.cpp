// tests/cli/upgrade_test.cpp: `umbel upgrade` as users run it.
#include "cli/program.h"

namespace umbel::test {

namespace {

const char *Old = R"(<?xml version='1.0'?>
<scene version='0.6.0'>
  <default name='depth' value='4'/>
  <integrator type='mlt'><integer name='maxDepth' value='$depth'/></integrator>
  <sensor type='perspective'><float name='fov' value='41.3'/><string name='fovAxis' value='y'/>
    <transform name='toWorld'><lookAt origin='0.3,0.1,4' target='0,0,0.1' up='0,1,0'/></transform>
    <film type='hdrfilm'><integer name='width' value='12'/><integer name='height' value='10'/>
      <boolean name='banner' value='false'/></film>
    <sampler type='independent'><integer name='sampleCount' value='8'/></sampler></sensor>
  <bsdf type='roughconductor' id='metal'><float name='alphaU' value='0.1'/>
    <float name='alphaV' value='0.37'/><float name='extEta' value='1.2'/>
    <string name='distribution' value='as'/></bsdf>
  <include filename='parts/more.xml'/>
  <shape type='sphere'><ref id='paint'/><transform name='toWorld'><scale value='0.31'/>
    <rotate x='1' y='0.3' angle='33.3'/><translate x='0.7'/></transform></shape>
  <shape type='sphere'><ref id='metal'/><float name='radius' value='0.7'/></shape>
  <emitter type='constant'><spectrum name='radiance' value='0.7'/></emitter>
</scene>)";

const char *More = R"(<scene version='0.6.0'>
  <bsdf type='plastic' id='paint'><srgb name='diffuseReflectance' value='#f9aa34'/>
    <spectrum name='specularReflectance' filename='parts/gloss.spd'/>
    <boolean name='unheardOf' value='true'/></bsdf>
</scene>)";

} // namespace

class CliUpgrade : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        std::filesystem::create_directories(folder / "parts");
        std::filesystem::create_directories(folder / "new");
        file("parts/more.xml", More);
        file("parts/gloss.spd", "400 0.3\n700 0.8\n");
        old = file("old.xml", Old);
    }
    std::string image(const std::string &scene) {
        Ran r = umbel(fmt::format("render {} -q -m interp_rgb -o {}", scene, path("i.pfm")));
        EXPECT_EQ(r.code, 0) << r.output;
        return contents(path("i.pfm"));
    }
    std::string old;
};

TEST_F(CliUpgrade, ImagesKeepTheirBits) {
    std::string reference = image(old);
    ASSERT_FALSE(reference.empty());
    for (const char *name : { "new.xml", "new/new.xml" }) {
        Ran r = umbel(fmt::format("upgrade {} {}", old, path(name)));
        expect_output(r, 0, "integrator (mlt)");
        expect_output(r, 0, "bsdf (plastic): unheard_of");
        EXPECT_EQ(image(path(name)), reference) << name;
        // It is one of version 3: what nothing reads would be refused
        std::string text = contents(path(name));
        EXPECT_NE(text.find("version=\"3.0.0\""), std::string::npos) << text;
        EXPECT_EQ(text.find("banner"), std::string::npos) << text;
        expect_output(
            umbel(fmt::format("render {} -q -w -m interp_rgb -o {}", path(name), path("j.pfm"))), 0,
            "");
    }
    EXPECT_NE(contents(path("new/new.xml")).find("../parts/gloss.spd"), std::string::npos);
}

TEST_F(CliUpgrade, DefinitionsAreWritten) {
    expect_output(umbel(fmt::format("upgrade -q -D depth=7 {} {}", old, path("n.xml"))), 0, "");
    EXPECT_NE(contents(path("n.xml")).find("name=\"max_depth\" value=\"7\""), std::string::npos);
}

TEST_F(CliUpgrade, ComplainsAboutFiles) {
    expect_output(umbel(fmt::format("upgrade {} {}", path("none.xml"), path("n.xml"))), 1,
                  "none.xml");
    expect_output(umbel(fmt::format("upgrade {} {}", old, path("no/n.xml"))), 1, "no/n.xml");
}

} // namespace umbel::test
