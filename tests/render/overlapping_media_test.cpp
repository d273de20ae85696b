// tests/render/overlapping_media_test.cpp: media of shapes that overlap, are nested without saying so, or hold each other.
#include "render/overlapping_media.h"
#include "support/media.h"
#include "support/volume_file.h"
#include "support/warnings.h"
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

std::string medium(const std::string &id, double sigma, double albedo = 0,
                   const std::string &phase = "") {
    return fmt::format("<medium type='homogeneous' id='{}'><float name='sigma_t' value='{}'/>"
                       "<float name='albedo' value='{}'/>{}</medium>",
                       id, sigma, albedo, phase);
}
std::string inside(const std::string &id) {
    return fmt::format("<ref name='interior' id='{}'/>", id);
}
std::string outside(const std::string &id) {
    return fmt::format("<ref name='exterior' id='{}'/>", id);
}
// Wide along x and y, from one z to another.
std::string slab(double from, double to, const std::string &media,
                 const std::string &bsdf = "<bsdf type='null'/>", double width = 2) {
    return fmt::format("<shape type='cube'><transform name='to_world'><scale x='{}' y='{}' "
                       "z='{}'/><translate z='{}'/></transform>{}{}</shape>",
                       width, width, (to - from) / 2, (from + to) / 2, bsdf, media);
}
// Light goes straight through, and bends nothing.
const char *Clear = "<bsdf type='dielectric'><float name='int_ior' value='1'/><float "
                    "name='ext_ior' value='1'/></bsdf>";

// Along z, from one side or the other.
std::string along_z(const std::string &body, double from = 40, const std::string &in = "",
                    const char *integrator = "volpath") {
    std::string xml = scene_xml(body + Sky, 8, 64, integrator,
                                fmt::format("<lookat origin='0,0,{}' target='0,0,{}' up='0,1,0'/>",
                                            from, from > 0 ? from - 1 : from + 1));
    std::string fov = "value='40'";
    xml.replace(xml.find(fov), fov.size(), "value='.5'");
    if (!in.empty())
        xml.insert(xml.find("<film"), fmt::format("<ref id='{}'/>", in));
    return xml;
}
void expect_depth(const std::string &body, double depth, double from = 40,
                  const std::string &in = "", const char *integrator = "volpath") {
    expect_mean(render_image(*scene_from(along_z(body, from, in, integrator))), std::exp(-depth));
}
size_t media_of(const std::string &body) {
    return scene_from(along_z(body))->media().objects().size();
}

} // namespace

class BackendOverlappingMedia : public VariantTest {};
UMBEL_VARIANTS(BackendOverlappingMedia, "llvm_rgb", "llvm_spectral", "llvm_rgb_polarized",
               "llvm_mono_double", "interp_rgb")

// ---- closed forms

TEST_P(BackendOverlappingMedia, AddUpFromWhereverTheyAreSeen) {
    std::string both =
        medium("a", 0.3) + medium("b", 0.5) + slab(0, 2, inside("a")) + slab(1, 3, inside("b"));
    for (double from : { 40.0, -40.0 })
        for (const char *integrator : { "volpath", "volpathmis", "volpath_simple" })
            expect_depth(both, 0.3 * 2 + 0.5 * 2, from, "", integrator);
}

TEST_P(BackendOverlappingMedia, GoOnBehindWhatTheyContain) {
    std::string nested = medium("a", 0.3) + medium("b", 0.5) + slab(0, 3, inside("a")) +
                         slab(1, 2, inside("b"), "<bsdf type='null'/>", 1);
    for (double from : { 40.0, -40.0 })
        expect_depth(nested, 0.3 * 3 + 0.5, from);
}

TEST_P(BackendOverlappingMedia, TheSameOneCountsOnceForEachShape) {
    expect_depth(medium("a", 0.3) + slab(0, 2, inside("a")) + slab(1, 3, inside("a")), 0.3 * 4);
}

TEST_P(BackendOverlappingMedia, ThreeAreAddedUp) {
    std::string three = medium("a", 0.3) + medium("b", 0.5) + medium("c", 0.2) +
                        slab(0, 3, inside("a")) + slab(1, 4, inside("b")) + slab(2, 5, inside("c"));
    expect_depth(three, 3 * (0.3 + 0.5 + 0.2));
}

// What a shape names as its exterior ends at its surface; the third one knows nothing of that.
TEST_P(BackendOverlappingMedia, AnExteriorIsDisplaced) {
    std::string media =
        medium("a", 0.3) + medium("b", 0.5) + medium("c", 0.2) + slab(0, 4, inside("a")) +
        slab(1, 3, inside("b") + outside("a"), "<bsdf type='null'/>", 1) + slab(2, 5, inside("c"));
    for (double from : { 40.0, -40.0 })
        expect_depth(media, 0.3 * 2 + 0.5 * 2 + 0.2 * 3, from);
}

TEST_P(BackendOverlappingMedia, BodiesDisplaceWhatIsAroundThemAndHoldWhatIsInside) {
    std::string media = medium("a", 0.3) + medium("b", 0.5) + medium("c", 0.2) +
                        slab(0, 5, inside("a")) + slab(1, 4, inside("b"), Clear, 1) +
                        slab(2, 3, inside("c"), "<bsdf type='null'/>", 0.5);
    for (double from : { 40.0, -40.0 })
        expect_depth(media, 0.3 * 2 + 0.5 * 3 + 0.2, from);
}

TEST_P(BackendOverlappingMedia, CamerasMayBeInSeveral) {
    std::string both =
        medium("a", 0.3) + medium("b", 0.5) + slab(0, 2, inside("a")) + slab(1, 3, inside("b"));
    expect_depth(both, 0.3 * 1.5 + 0.5 * 0.5, 1.5, "a");
    expect_depth(both, 0.3 * 1.5 + 0.5 * 0.5, 1.5, "b");
    expect_depth(both, 0.3 * 2 + 0.5 * 1.5, 2.5, "b");
    std::string balls = medium("a", 0.3) + medium("b", 0.5) +
                        "<shape type='sphere'><float name='radius' value='2'/><bsdf "
                        "type='null'/>" +
                        inside("a") +
                        "</shape><shape type='sphere'><point name='center' z='-1'/><float "
                        "name='radius' value='3'/><bsdf type='null'/>" +
                        inside("b") + "</shape>";
    expect_depth(balls, 0.3 * 3 + 0.5 * 5, 1, "a");
}

// Space that is filled without end, as cameras and exteriors say.
TEST_P(BackendOverlappingMedia, FogWithoutEndIsOneOfThem) {
    std::string lamp = "<shape type='rectangle'><transform name='to_world'><translate z='-1'/>"
                       "</transform><bsdf type='diffuse'><float name='reflectance' value='0'/>"
                       "</bsdf><emitter type='area'><rgb name='radiance' value='1'/></emitter>"
                       "</shape>",
                media = medium("fog", 0.1) + medium("a", 0.3) + medium("b", 0.5) + lamp +
                        slab(0, 2, inside("a") + outside("fog")) + slab(1, 3, inside("b"));
    expect_depth(media, 0.1 * 3 + 0.3 * 2 + 0.5 * 2, 4, "fog");
}

// Six rectangles around a space are one region.
TEST_P(BackendOverlappingMedia, ShapesThatAreClosedTogetherAreOne) {
    std::string walls, media = medium("a", 0.3) + medium("b", 0.5) + slab(0.5, 3, inside("b"));
    for (const char *turn : { "", "<rotate x='1' angle='90'/>", "<rotate x='1' angle='180'/>",
                              "<rotate x='1' angle='270'/>", "<rotate y='1' angle='90'/>",
                              "<rotate y='1' angle='270'/>" })
        walls += fmt::format("<shape type='rectangle'><transform name='to_world'><translate "
                             "z='1'/>{}</transform><bsdf type='null'/>{}</shape>",
                             turn, inside("a"));
    expect_depth(media + walls, 0.3 * 2 + 0.5 * 2.5);
    expect_depth(media + walls, 0.3 * 1.75 + 0.5 * 0.25, 0.75, "a");
}

TEST_P(BackendOverlappingMedia, InstancesOfOneGroupAreApart) {
    std::string media = medium("a", 0.3) + "<shape type='shapegroup' id='group'>" +
                        slab(0, 2, inside("a")) + "</shape>";
    for (double z : { 0.0, 1.0, 1.5 })
        media += fmt::format("<shape type='instance'><ref id='group'/><transform name='to_world'>"
                             "<translate z='{}'/></transform></shape>",
                             z);
    for (double from : { 40.0, -40.0 })
        expect_depth(media, 0.3 * 6, from);
}

// Wherever the moving one is, light passes 2 of either.
TEST_P(BackendOverlappingMedia, OneMayMoveThroughAnother) {
    std::string still = "<transform name='to_world'><scale x='2' y='2' z='1'/><translate "
                        "z='2'/></transform>",
                moving = "<animation name='to_world'><transform time='0'><scale x='2' y='2' z='1'/>"
                         "<translate z='0'/></transform><transform time='1'><scale x='2' y='2' "
                         "z='1'/><translate z='5'/></transform></animation>",
                both = medium("a", 0.3) + medium("b", 0.5) + slab(0, 2, inside("a")) +
                       slab(1, 3, inside("b"));
    size_t at = both.find(still);
    ASSERT_NE(at, std::string::npos) << both;
    std::string xml = along_z(both.replace(at, still.size(), moving));
    xml.insert(xml.find("<film"), "<float name='shutter_open' value='0'/><float "
                                  "name='shutter_close' value='1'/>");
    expect_mean(render_image(*scene_from(xml)), std::exp(-0.3 * 2 - 0.5 * 2));
}

TEST_P(BackendOverlappingMedia, RaysTowardsLightsPassThemAll) {
    std::string lit = "<emitter type='point'><point name='position' z='4'/></emitter><shape "
                      "type='rectangle'><transform name='to_world'><scale value='.2'/></transform>"
                      "<bsdf type='diffuse'/></shape>",
                both = medium("a", 0.3) + medium("b", 0.5) +
                       "<shape type='sphere'><point name='center' z='4'/><float name='radius' "
                       "value='2'/><bsdf type='null'/>" +
                       inside("a") +
                       "</shape><shape type='sphere'><point name='center' z='4'/><float "
                       "name='radius' value='1'/><bsdf type='mask'><float name='opacity' "
                       "value='0'/><bsdf type='diffuse'/></bsdf>" +
                       inside("b") + "</shape>";
    const char *camera = "<lookat origin='0,-1,.5' target='0,0,0' up='0,0,1'/>";
    Image bare = render_image(*scene_from(scene_xml(lit, 8, 4, "volpath", camera))),
          dim = render_image(*scene_from(scene_xml(lit + both, 8, 4, "volpath", camera)));
    double factor = std::exp(-0.3 * 2 - 0.5);
    for (size_t y = 0; y < 8; ++y)
        for (size_t x = 0; x < 8; ++x)
            EXPECT_NEAR(dim.get(x, y, 0), factor * bare.get(x, y, 0), 2e-4 * bare.get(x, y, 0));
    EXPECT_GT(bare.get(4, 4, 0), 0);
}

// ---- scattering

// A cloud of a grid in a mist, both of albedo 1, cannot be told from the light around them.
TEST_P(BackendOverlappingMedia, OfAlbedoOneAreInvisible) {
    VolumeFile grid{ { 3, 2, 2 }, 3, {} };
    for (int i = 0; i < 36; ++i)
        grid.values.push_back(float(i % 7) / 3);
    std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("umbel_overlap_{}.vol", getpid());
    std::string bytes = grid.bytes();
    std::ofstream(file, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    std::string cloud = fmt::format(
                    "<medium type='heterogeneous' id='cloud'><volume type='gridvolume' "
                    "name='sigma_t'><string name='filename' value='{}'/><transform "
                    "name='to_world'><translate x='-.5' y='-.5' z='-.5'/></transform></volume>"
                    "<float name='albedo' value='1'/><phase type='hg'><float name='g' "
                    "value='.6'/></phase></medium>",
                    file.string()),
                mist = "<medium type='homogeneous' id='mist'><rgb name='sigma_t' value='1,.5,.2'/>"
                       "<float name='albedo' value='1'/><phase type='hg'><float name='g' "
                       "value='-.4'/></phase></medium>",
                body = cloud + mist +
                       "<shape type='sphere'><point name='center' x='.3'/><bsdf type='null'/>" +
                       inside("cloud") +
                       "</shape><shape type='sphere'><point name='center' x='-.4'/><bsdf "
                       "type='null'/>" +
                       inside("mist") + "</shape>" + Sky;
    for (const char *integrator : { "volpath", "volpathmis" }) {
        Image image = render_image(*scene_from(scene_xml(body, 12, 64, integrator)));
        for (size_t c = 0; c < image.channel_count(); ++c) {
            Estimate e = channel_mean(image, c);
            EXPECT_GT(e.error, 0);
            EXPECT_LT(e.error, 0.03);
            EXPECT_LT(std::abs(e.mean - 1), 4 * e.error) << e.mean << " +- " << e.error;
        }
    }
    std::filesystem::remove(file);
}

// One medium in another looks like one of both's coefficients that displaces it.
TEST_P(BackendOverlappingMedia, LookLikeTheirMixture) {
    std::string forward = "<phase type='hg'><float name='g' value='.7'/></phase>",
                back = "<phase type='hg'><float name='g' value='-.5'/></phase>",
                light = "<emitter type='point'><point name='position' x='3' z='2'/><rgb "
                        "name='intensity' value='20'/></emitter>",
                outer = medium("a", 0.4, 0.5, forward) + light +
                        "<shape type='sphere'><float name='radius' value='1.5'/><bsdf "
                        "type='null'/>" +
                        inside("a") + "</shape>";
    auto inner = [](const std::string &media) {
        return "<shape type='sphere'><bsdf type='null'/>" + media + "</shape>";
    };
    // sigma_s is 0.2 of the one and 0.6 of the other
    std::string mixed = "<medium type='homogeneous' id='m'><float name='sigma_t' value='1'/><float "
                        "name='albedo' value='.8'/><phase type='mixturephase'><string "
                        "name='weights' value='.25,.75'/>" +
                        forward + back + "</phase></medium>";
    auto image = [&](const std::string &rest) {
        return render_image(*scene_from(scene_xml(outer + rest, 16, 256, "volpath")));
    };
    Image sum = image(medium("b", 0.6, 1, back) + inner(inside("b"))),
          one = image(mixed + inner(inside("m") + outside("a")));
    // The same random numbers take the same ways
    for (size_t c = 0; c < sum.channel_count(); ++c) {
        double difference = 0, level = 0;
        for (size_t y = 0; y < 16; ++y)
            for (size_t x = 0; x < 16; ++x) {
                difference += std::abs(sum.get(x, y, c) - one.get(x, y, c));
                level += one.get(x, y, c);
            }
        EXPECT_GT(level / 256, 0.02);
        EXPECT_LT(difference, 1e-3 * level);
    }
}

// ---- what they cost

TEST(OverlappingMedia, ArePaidForWhereThereAreAny) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string media = medium("a", 0.3) + medium("b", 0.5);
    EXPECT_EQ(media_of(media + slab(0, 1, inside("a")) + slab(1, 2, inside("b"))), 2u); // touch
    EXPECT_EQ(media_of(media + slab(0, 3, inside("a")) +
                       slab(1, 2, inside("b") + outside("a"), Clear, 1)),
              2u);
    auto ball = [](double x, double y, const std::string &media) {
        return fmt::format("<shape type='sphere'><point name='center' x='{}' y='{}'/><bsdf "
                           "type='null'/>{}</shape>",
                           x, y, media);
    };
    EXPECT_EQ(media_of(media + ball(0, 0, inside("a")) + ball(1.5, 1.5, inside("b"))), 2u);
    EXPECT_GT(media_of(media + ball(0, 0, inside("a")) + ball(1.3, 1.3, inside("b"))), 2u);
    // A thousand others that overlap nothing do not multiply what there is
    std::string many = media + ball(0, 0, inside("a")) + ball(1.3, 1.3, inside("b"));
    size_t few = media_of(many + ball(10, 3, inside("a")));
    for (int i = 0; i < 1000; ++i)
        many += ball(10 + 3 * i, 3, inside("a"));
    EXPECT_EQ(media_of(many), few);
}

TEST(OverlappingMedia, TooManyAreRemarkedOn) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string many;
    for (int i = 0; i < 14; ++i)
        many += medium(fmt::format("m{}", i), 0.1) +
                slab(0, 2 + i, inside(fmt::format("m{}", i)), "<bsdf type='null'/>", 1 + i);
    Warnings warnings;
    EXPECT_EQ(media_of(many), 14u);
    EXPECT_TRUE(warnings.tell("14 shapes with media may overlap")) << warnings.text;
}

} // namespace umbel
