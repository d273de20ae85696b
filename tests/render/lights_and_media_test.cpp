// tests/render/lights_and_media_test.cpp: light of each kind that reaches a floor through a slab of a medium, or from inside it.
//
// The slab absorbs and scatters nothing, and lies between heights of 1 and 2. Below it, a camera looks at the floor right under the light,
// which comes straight down: what arrives is what it was without the slab times exp(-extinction * way), which is all that is checked.
#include "core/file_text.h"
#include "core/quadrature.h"
#include "support/media.h"
#include "support/volume_file.h"

#include <tbb/global_control.h>
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

constexpr double Extinction = 0.8;

std::string slab(const std::string &place = "", const std::string &bsdf = "<bsdf type='null'/>",
                 const char *name = "to_world", const char *type = "homogeneous") {
    return fmt::format("<shape type='cube'>{}{}<medium name='interior' type='{}'><float "
                       "name='sigma_t' value='{}'/><float name='albedo' value='0'/></medium>"
                       "</shape>",
                       place.empty() ? fmt::format("<transform name='{}'><scale x='200' y='200' "
                                                   "z='.5'/><translate z='1.5'/></transform>",
                                                   name)
                                     : place,
                       bsdf, type, Extinction);
}
/// Down from a height.
std::string lookat(double height) {
    return fmt::format("<transform name='to_world'><lookat origin='0,0,{}' target='0,0,0' "
                       "up='0,1,0'/></transform>",
                       height);
}
std::string lamp(double height) {
    return fmt::format(
        "<shape type='rectangle'><transform name='to_world'><scale value='.02'/><rotate x='1' "
        "angle='180'/><translate z='{}'/></transform><bsdf type='diffuse'><float "
        "name='reflectance' value='0'/></bsdf><emitter type='area'><rgb name='radiance' "
        "value='900'/></emitter></shape>",
        height);
}
std::string emitter(const std::string &type, const std::string &inside = "") {
    return fmt::format("<emitter type='{}'>{}</emitter>", type, inside);
}

Image image_of(const std::string &body, const std::string &camera_extra = "") {
    std::string xml = scene_xml("<shape type='rectangle'><transform name='to_world'><scale "
                                "value='9'/></transform><bsdf type='diffuse'/></shape>" +
                                    body,
                                8, 64, "volpath",
                                "<lookat origin='0,-.3,.5' target='0,0,0' up='0,0,1'/>"),
                fov = "value='40'";
    xml.replace(xml.find(fov), fov.size(), "value='.5'");
    xml.insert(xml.find("<film"), camera_extra);
    return render_image(*scene_from(xml));
}
void expect_factor(const std::string &light, const std::string &media, double want,
                   const std::string &what, const std::string &camera_extra = "") {
    Image bare = image_of(light, camera_extra), dim = image_of(light + media, camera_extra);
    for (size_t c = 0; c < bare.channel_count(); ++c) {
        Estimate a = channel_mean(bare, c), b = channel_mean(dim, c);
        ASSERT_GT(a.mean, 1e-3) << what << ": no light";
        double ratio = b.mean / a.mean,
               error = ratio * std::hypot(a.error / a.mean, b.error / std::max(b.mean, 1e-9));
        EXPECT_LE(std::abs(ratio - want), 4 * error + 2e-3 * want)
            << what << ": " << ratio << " +- " << error << " instead of " << want << ", "
            << variant().name;
    }
}

/// Of light from all sides: 2 E_3.
double through_slab() {
    Quadrature rule = gauss_legendre(64);
    double sum = 0;
    for (size_t i = 0; i < rule.nodes.size(); ++i) {
        double c = 0.5 * (1 + rule.nodes[i]);
        sum += rule.weights[i] * c * std::exp(-Extinction / c);
    }
    return sum;
}

} // namespace

class BackendLightsAndMedia : public VariantTest {};
UMBEL_VARIANTS(BackendLightsAndMedia, "llvm_rgb", "llvm_spectral", "llvm_rgb_polarized",
               "llvm_mono_double", "interp_rgb")

TEST_P(BackendLightsAndMedia, LightsOutsideShineThrough) {
    double whole = std::exp(-Extinction);
    for (const char *type : { "point", "spot", "projector" })
        expect_factor(emitter(type, lookat(3)), slab(), whole, type);
    expect_factor(emitter("directional", "<vector name='direction' x='0' y='0' z='-1'/>"), slab(),
                  whole, "directional");
    expect_factor(lamp(3), slab(), whole, "area");
    expect_factor(Sky, slab(), through_slab(), "constant");
}

TEST_P(BackendLightsAndMedia, LightsInsideShineOut) {
    double half = std::exp(-Extinction / 2);
    for (const char *type : { "point", "spot", "projector" })
        expect_factor(emitter(type, lookat(1.5)), slab(), half, type);
    expect_factor(lamp(1.5), slab(), half, "area");
}

TEST_P(BackendLightsAndMedia, MasksAndPlatesOfNothingAreOnTheWay) {
    std::string light = emitter("point", lookat(3)),
                mask = "<bsdf type='mask'><float name='opacity' value='.3'/><bsdf type='diffuse'>"
                       "<float name='reflectance' value='0'/></bsdf></bsdf>",
                plate = "<shape type='rectangle'><transform name='to_world'><scale value='5'/>"
                        "<translate z='1.4'/></transform>";
    double whole = std::exp(-Extinction);
    expect_factor(light, slab("", mask), 0.49 * whole, "both sides");
    expect_factor(light, slab() + plate + mask + "</shape>", 0.7 * whole, "a masked plate inside");
    expect_factor(light, slab() + plate + "<bsdf type='null'/></shape>", whole, "a plate of none");
    expect_factor(light, slab() + plate + "<bsdf type='diffuse'/></shape>", 0, "a wall");
}

TEST_P(BackendLightsAndMedia, InstancesOfMediaAreOnTheWay) {
    std::string group = "<shape type='shapegroup' id='group'><shape type='cube'><bsdf "
                        "type='null'/><medium name='interior' type='homogeneous'><float "
                        "name='sigma_t' value='.8'/><float name='albedo' value='0'/></medium>"
                        "</shape></shape>";
    auto instance = [](double z, double height) {
        return fmt::format("<shape type='instance'><ref id='group'/><transform name='to_world'>"
                           "<scale x='3' y='3' z='{}'/><translate z='{}'/></transform></shape>",
                           height / 2, z);
    };
    for (double height : { 3.0, 1.5 })
        expect_factor(emitter("point", lookat(height)),
                      group + instance(1.2, 0.4) + instance(2.2, 0.5),
                      std::exp(-0.8 * (height > 2 ? 0.9 : 0.4)), "instances");
    expect_factor(emitter("point", lookat(2.2)), group + instance(1.2, 0.4) + instance(2.2, 0.5),
                  std::exp(-0.8 * 0.65), "inside of one");
}

// It is over the floor for a half of the time.
TEST_P(BackendLightsAndMedia, MediaMoveWhileTheShutterIsOpen) {
    auto at = [](double time, double x) {
        return fmt::format("<transform time='{}'><scale value='.5'/><translate x='{}' "
                           "z='1.5'/></transform>",
                           time, x);
    };
    std::string moving = slab("<animation name='to_world'>" + at(0, 0) + at(1, 1) + "</animation>"),
                shutter = "<float name='shutter_open' value='0'/><float name='shutter_close' "
                          "value='1'/>";
    expect_factor(emitter("point", lookat(3)), moving, 0.5 * (1 + std::exp(-Extinction)), "moving",
                  shutter);
}

// Tracked, where the density is in a grid or might be.
TEST_P(BackendLightsAndMedia, TrackedMediaLetPassAsMuch) {
    expect_factor(emitter("point", lookat(3)),
                  slab("", "<bsdf type='null'/>", "to_world", "heterogeneous"),
                  std::exp(-Extinction), "point");
    expect_factor(lamp(1.5), slab("", "<bsdf type='null'/>", "to_world", "heterogeneous"),
                  std::exp(-Extinction / 2), "area");
}

// Smoke in fog, what is in a glass ball, and light below a surface: by any number of threads, in one go or in parts that go on from
// what was saved.
TEST_P(BackendLightsAndMedia, ImagesDoNotDependOnHowTheyAreComputed) {
    std::string file = testing::TempDir() + fmt::format("umbel_smoke_{}.vol", getpid());
    VolumeFile smoke{ { 6, 6, 6 }, 1 };
    for (double u : uniform_numbers(4, 216))
        smoke.values.push_back(float(4 * u * u * u));
    write_file(file, smoke.bytes());
    std::string body =
        "<shape type='cube'><bsdf type='null'/><medium name='interior' type='heterogeneous'>"
        "<volume name='sigma_t' type='gridvolume'><string name='filename' value='" +
        file +
        "'/><transform name='to_world'><scale value='2'/><translate value='-1,-1,-1'/></transform>"
        "</volume></medium></shape><shape type='sphere'><float name='radius' value='1.5'/><bsdf "
        "type='null'/><medium name='interior' type='homogeneous'><rgb name='sigma_t' "
        "value='.1,.2,.4'/></medium></shape><shape type='sphere'><float name='radius' value='.3'/>"
        "<point name='center' value='1.2,0,0'/><bsdf type='dielectric'/><medium name='interior' "
        "type='homogeneous'/></shape><shape type='rectangle'><bsdf type='diffuse'/><subsurface "
        "type='singlescatter'/></shape>" +
        emitter("point", lookat(3)) + Sky;
    for (const char *integrator : { "volpath", "volpathmis" }) {
        Ref<Scene> scene = scene_from(scene_xml(body, 9, 64, integrator));
        Image reference = render_image(*scene);
        EXPECT_GT(channel_mean(reference, 0).error, 0);
        for (size_t threads : { 1, 3 }) {
            tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
            EXPECT_TRUE(same_pixels(reference, render_image(*scene))) << threads << " threads";
        }
        EXPECT_TRUE(same_pixels(reference, render_image(*scene, { .launch_pixels = 20 })));
        std::string state;
        for (bool done = false; !done;) { // each as a program of its own would do it
            Render part(*scene);
            if (!state.empty())
                part.restore(state);
            part.step();
            state = part.save();
            done = part.done();
            if (done) {
                EXPECT_TRUE(same_pixels(reference, part.image())) << integrator;
            }
        }
    }
    std::filesystem::remove(file);
}

} // namespace umbel
