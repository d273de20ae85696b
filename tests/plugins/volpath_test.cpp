// tests/plugins/volpath_test.cpp: light in media: closed forms, energy, and paths where there is nothing.
#include "core/file_text.h"
#include "core/traverse.h"
#include "render/subsurface.h"
#include "support/media.h"
#include "support/same_image.h"

#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

const char *Room =
    "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='.7,.6,.5'/></bsdf>"
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform>"
    "<ref id='white'/></shape>"
    "<shape type='sphere'><float name='radius' value='0.4'/><point name='center' x='.5' z='.5'/>"
    "<bsdf type='roughdielectric'><float name='alpha' value='.3'/></bsdf></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='.6'/><rotate x='1' "
    "angle='160'/><translate x='1.6' z='2'/></transform><bsdf type='diffuse'/>"
    "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>";

std::string medium(const std::string &inside, const std::string &type = "homogeneous") {
    return fmt::format("<medium type='{}' id='filling'>{}</medium>", type, inside);
}
std::string absorbing(double sigma) {
    return medium(fmt::format("<float name='sigma_t' value='{}'/><float name='albedo' "
                              "value='0'/>",
                              sigma));
}

// ---- media and the like that only tests know

/// Extinction that grows with z: sigma_t = slope (z + 1), up to z = 1. The bound is a multiple of what it need be.
class Ramp final : public Medium {
public:
    void declare(Params &p) override {
        Medium::declare(p);
        p.volume("albedo", m_albedo, 1, SpectrumData::Intent::Reflectance).doc("As it says");
        p.volume("slope", m_slope, 1).doc("Likewise");
        p.scalar("radiance", m_radiance, 0).doc("Light that it absorbs, and emits");
        p.boolean("boxed", m_boxed, false).doc("Ends at z = 0");
        declare_spectral_extinction(p);
        m_glows = p.loading() && p.properties()->has("radiance");
    }
    Spectrum majorant(const MediumInteraction &mei, const Mask &active) const override {
        return m_slope->eval(mei, active) * 3;
    }
    Coefficients scattering_coefficients(const MediumInteraction &mei,
                                         const Mask &active) const override {
        Spectrum all = majorant(mei, active), sigma_t = all * ((clamp(mei.p.z, -1, 1) + 1) / 3);
        return { sigma_t * m_albedo->eval(mei, active), all - sigma_t, sigma_t };
    }
    Extent extent(const Ray &ray) const override {
        return m_boxed ? Extent{ ray.o.z < 0, Float(0), -ray.o.z / ray.d.z } : Medium::extent(ray);
    }
    Spectrum emission(const MediumInteraction &mei, const Mask &) const override {
        return (mei.sigma_t - mei.sigma_s) * m_radiance;
    }
    bool is_emissive() const override { return m_glows; }

private:
    Ref<Volume> m_albedo, m_slope;
    Float m_radiance;
    bool m_boxed = false, m_glows = false;
};
UMBEL_PLUGIN(Medium, Ramp, "test_ramp")

/// Leaves the surface with as much light as it has shapes in its scene, and half as much at the back.
class Glow final : public Subsurface {
public:
    void prepare(const Scene &scene, const Shape &shape) override {
        m_radiance = opaque_float(double(scene.shapes().size()));
        m_shape = &shape;
    }
    Spectrum eval(const Scene &, const SurfaceInteraction &si, SampleStream &,
                  const Mask &) const override {
        return Spectrum(select(si.wi.z > 0, m_radiance, m_radiance * 0.5));
    }
    const Shape *m_shape = nullptr;

private:
    Float m_radiance;
};
UMBEL_PLUGIN(Subsurface, Glow, "test_glow")

} // namespace

// ---- energy, in every variant

class VolPathFurnace : public VariantTest {};
static std::vector<const char *> every_variant() {
    std::vector<const char *> names;
    for (const Variant &v : all_variants())
        names.push_back(v.name.c_str());
    return names;
}
INSTANTIATE_TEST_SUITE_P(Variants, VolPathFurnace, testing::ValuesIn(every_variant()),
                         [](auto &info) { return std::string(info.param); });

// A medium that absorbs nothing cannot be told from the uniform light around it.
TEST_P(VolPathFurnace, ACloudOfAlbedoOneIsInvisible) {
    std::string cloud = medium("<rgb name='sigma_t' value='.5,1,2'/><float name='albedo' "
                               "value='1'/>");
    Image image =
        render_image(*scene_from(scene_xml(filled_sphere(cloud) + Sky, 12, 64, "volpath")));
    for (size_t c = 0; c < image.channel_count(); ++c) {
        Estimate e = channel_mean(image, c);
        EXPECT_GT(e.error, 0);
        EXPECT_LT(e.error, 0.03);
        EXPECT_LT(std::abs(e.mean - 1), 3 * e.error) << e.mean << " +- " << e.error;
    }
}

// ---- closed forms

class BackendVolPath : public VariantTest {};
UMBEL_VARIANTS(BackendVolPath, "llvm_rgb", "llvm_spectral", "llvm_rgb_polarized",
               "llvm_mono_double", "interp_rgb")

TEST_P(BackendVolPath, AbsorbsAsBeerAndLambertSay) {
    Ref<Scene> scene = scene_from(scene_inside(absorbing(0.7), 2, Sky, 16, 64));
    expect_mean(render_image(*scene), std::exp(-1.4));
}

// The light's rays pass 0.5 of the medium, wherever they go: each pixel is darker by the same factor.
TEST_P(BackendVolPath, RaysTowardsLightsPassMediaAndNullSurfaces) {
    std::string lit = "<emitter type='point'><point name='position' x='0' y='0' z='1'/></emitter>"
                      "<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                      "</transform><bsdf type='diffuse'/></shape>",
                cloud = "<shape type='sphere'><float name='radius' value='.5'/><point "
                        "name='center' z='1'/><bsdf type='null'/><ref name='interior' "
                        "id='filling'/></shape>" +
                        absorbing(1.3),
                camera = "<lookat origin='0,0,.3' target='1,0,.1' up='0,0,1'/>";
    Image bare = render_image(*scene_from(scene_xml(lit, 8, 4, "volpath", camera))),
          dim = render_image(*scene_from(scene_xml(lit + cloud, 8, 4, "volpath", camera)));
    double factor = std::exp(-1.3 * 0.5);
    size_t lit_pixels = 0;
    for (size_t y = 0; y < 8; ++y)
        for (size_t x = 0; x < 8; ++x) {
            EXPECT_NEAR(dim.get(x, y, 0), factor * bare.get(x, y, 0), 2e-4 * bare.get(x, y, 0));
            lit_pixels += bare.get(x, y, 0) > 0;
        }
    EXPECT_GT(lit_pixels, 16u);
}

TEST_P(BackendVolPath, NestedMediaAreLeftInTheOrderOfTheirSurfaces) {
    // From the centre: 1 of the inner medium, then 1 of the outer one
    std::string inner = absorbing(0.4),
                outer = "<medium type='homogeneous' id='outer'><float name='sigma_t' value='.9'/>"
                        "<float name='albedo' value='0'/></medium>"
                        "<shape type='sphere'><float name='radius' value='2'/><bsdf type='null'/>"
                        "<ref name='interior' id='outer'/></shape>";
    std::string xml = scene_inside(inner, 1, Sky + outer, 16, 64);
    xml.insert(xml.find("<ref name='interior'"), "<ref name='exterior' id='outer'/>");
    expect_mean(render_image(*scene_from(xml)), std::exp(-1.3));
}

// What a number of light means depends on the colours that there are.
class BackendVolPathLight : public VariantTest {};
UMBEL_VARIANTS(BackendVolPathLight, "llvm_rgb", "llvm_rgb_polarized", "llvm_mono_double",
               "interp_rgb")

TEST_P(BackendVolPathLight, AGlowingMediumIsAsBrightAsItIsOpaque) {
    std::string glow = medium("<float name='albedo' value='0'/><float name='slope' value='.5'/>"
                              "<float name='radiance' value='3'/>",
                              "test_ramp");
    // Seen along -z from the origin, where extinction falls from 0.5 to 0: narrow, so that cos is 1
    std::string xml = scene_inside(glow, 1, "", 12, 256);
    std::string fov = "value='40'";
    xml.replace(xml.find(fov), fov.size(), "value='2'");
    expect_mean(render_image(*scene_from(xml)), 3 * (1 - std::exp(-0.25)));
}

TEST_P(BackendVolPath, SpaceFilledWithoutEndHidesTheSky) {
    std::string fog = medium("<float name='sigma_t' value='.5'/><float name='albedo' value='.8'/>"),
                xml = scene_xml(fog + Sky, 8, 16, "volpath");
    xml.insert(xml.find("<film"), "<ref id='filling'/>");
    Image image = render_image(*scene_from(xml));
    for (size_t c = 0; c < image.channel_count(); ++c)
        EXPECT_EQ(channel_mean(image, c).mean, 0);
}

// ---- media that vary in space

TEST_P(BackendVolPath, NullCollisionsLeaveDistancesUnbiased) {
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    for (const char *more : { "", "<boolean name='boxed' value='true'/>",
                              "<boolean name='has_spectral_extinction' value='false'/>" }) {
        Ref<Medium> ramp = medium_from(medium(
            std::string("<rgb name='slope' value='.3,.6,.9'/><float name='albedo' value='.5'/>") +
                more,
            "test_ramp"));
        bool boxed = std::string(more).find("boxed") != std::string::npos;
        double depth = boxed ? 0.5 : 2; // the integral of z + 1 from -1 to 0, or to 1
        Ray ray = ray_from(-1, 2);
        SampleStream stream = sample_stream(*sampler, 1 << 16);
        Spectrum passes = ramp->transmittance(ray, stream, true);
        MediumSample s = ramp->sample(ray, stream, true);
        stream.state = s.state;
        Mask collides = s.mei.is_valid();
        Spectrum bound = ramp->majorant(s.mei, true);
        for (size_t c = 0; c < passes.c.size(); ++c) {
            double want = std::exp(-read_floats(bound[c])[0] / 3 * depth);
            expect_estimate(passes[c], want, "transmittance");
            expect_estimate(select(collides, Float(0), s.weight[c]), want, "passes");
            expect_estimate(select(collides, s.weight[c] * s.mei.sigma_s[c], Float(0)),
                            0.5 * (1 - want), "scatters");
        }
    }
}

TEST_P(BackendVolPath, ACloudOfAnyShapeAndAlbedoOneIsInvisible) {
    std::string cloud = medium("<rgb name='slope' value='.5,1,1.5'/>", "test_ramp");
    expect_mean(render_image(*scene_from(scene_xml(filled_sphere(cloud) + Sky, 12, 64, "volpath"))),
                1);
}

// ---- beside paths

TEST_P(BackendVolPath, WithoutMediaIsPath) {
    for (const char *depth : { "-1", "3" }) {
        auto image = [&](const std::string &name) {
            std::string xml = scene_xml(std::string(Room) + Sky, 16, 16, name),
                        plain = "<integrator type='" + name + "'/>";
            xml.replace(xml.find(plain), plain.size(),
                        fmt::format("<integrator type='{}'><integer name='max_depth' "
                                    "value='{}'/></integrator>",
                                    name, depth));
            return render_image(*scene_from(xml));
        };
        EXPECT_TRUE(same_pixels(image("path"), image("volpath"))) << "depth " << depth;
    }
}

// Under light from all sides, on a white plane whose shading normal leans by 60 degrees: (1 + cos 60) / 2 of it comes from
// above the plane.
TEST_P(BackendVolPath, StrictNormalsDropLightFromBelowTheSurface) {
    std::string file = testing::TempDir() + fmt::format("umbel_leaning_{}.obj", getpid());
    write_file(file, "v -9 -9 0\nv 9 -9 0\nv 9 9 0\nv -9 9 0\nvn 0.8660254 0 0.5\n"
                     "f 1//1 2//1 3//1 4//1\n");
    for (const char *name : { "path", "volpath", "volpath_simple", "volpathmis", "prbvolpath" })
        for (bool strict : { false, true }) {
            std::string xml = scene_xml("<shape type='obj'><string name='filename' value='" + file +
                                            "'/><bsdf type='diffuse'><rgb name='reflectance' "
                                            "value='1,1,1'/></bsdf></shape>" +
                                            Sky,
                                        8, 64, name,
                                        "<lookat origin='0,0,3' target='0,0,0' up='0,1,0'/>"),
                        plain = fmt::format("<integrator type='{}'/>", name);
            xml.replace(xml.find(plain), plain.size(),
                        fmt::format("<integrator type='{}'><boolean name='strict_normals' "
                                    "value='{}'/></integrator>",
                                    name, strict));
            SCOPED_TRACE(name);
            expect_mean(render_image(*scene_from(xml)), strict ? 0.75 : 1);
        }
    std::filesystem::remove(file);
}

TEST_P(BackendVolPath, EmptyMediaAreNotThere) {
    std::string box =
        "<shape type='cube'><transform name='to_world'><scale value='.8'/></transform>"
        "<bsdf type='null'/>";
    std::string empty = box + "<ref name='interior' id='filling'/></shape>" +
                        medium("<float name='sigma_t' value='0'/>");
    expect_same_image(scene_xml(std::string(Room) + Sky + empty, 16, 64, "volpath"),
                      scene_xml(std::string(Room) + Sky, 16, 64, "path"));
}

// Paths meet lights behind such surfaces by chance, rays towards lights pass them.
TEST_P(BackendVolPath, PolarizersArePassedByRaysTowardsLights) {
    std::string plate = "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/>"
                        "<translate z='1'/></transform><bsdf type='polarizer'/></shape>";
    expect_same_image(scene_xml(std::string(Room) + plate + Sky, 16, 64, "volpath"),
                      scene_xml(std::string(Room) + plate + Sky, 16, 64, "path"));
}

TEST_P(BackendVolPath, EmitterSamplingChangesTheNoiseOnly) {
    std::string inside = "<float name='sigma_t' value='2'/><rgb name='albedo' value='.9,.7,.5'/>",
                off = "<boolean name='sample_emitters' value='false'/>";
    auto xml = [&](const std::string &more) {
        return scene_xml(std::string(Room) + Sky + filled_sphere(medium(inside + more), 0.9), 16,
                         64, "volpath");
    };
    expect_same_image(xml(""), xml(off));
}

TEST_P(BackendVolPath, LightsAreSeenThroughNullSurfacesWhateverTheDepth) {
    std::string xml = scene_xml(filled_sphere(absorbing(0)) + Sky, 8, 4, "volpath"),
                plain = "<integrator type='volpath'/>";
    auto with = [&](const std::string &inside) {
        std::string text = xml;
        return text.replace(text.find(plain), plain.size(),
                            "<integrator type='volpath'>" + inside + "</integrator>");
    };
    expect_mean(render_image(*scene_from(with("<integer name='max_depth' value='1'/>"))), 1);
    Image hidden = render_image(*scene_from(with("<boolean name='hide_emitters' value='true'/>")));
    for (size_t c = 0; c < hidden.channel_count(); ++c)
        EXPECT_EQ(channel_mean(hidden, c).mean, 0);
}

// ---- parameters

TEST(VolPath, FollowsItsMediaWithoutCompilingAgain) {
    VariantScope scope(find_variant("llvm_rgb"));
    Ref<Scene> scene = scene_from(scene_inside(absorbing(0.7), 2, Sky, 8, 256));
    render_image(*scene);
    SceneParameters params(scene);
    std::string key;
    for (const SceneParameter &p : params.all())
        if (p.key.ends_with("sigma_t.value.value"))
            key = p.key;
    ASSERT_FALSE(key.empty());
    std::vector<Value> two = { opaque_float(0.2) };
    params.assign(key, two);
    params.update({ key });
    jit::Context &c = variant().context();
    c.set(jit::Flag::History, true);
    c.take_history();
    expect_mean(render_image(*scene), std::exp(-0.4));
    for (const jit::KernelRecord &k : c.take_history())
        EXPECT_EQ(k.backend_seconds, 0) << k.name;
    c.set(jit::Flag::History, false);
}

TEST(VolPath, OldScenesHaveNoSurfaceWhereMediaMeetWithoutABsdf) {
    VariantScope scope(find_variant("llvm_rgb"));
    auto bsdf_of = [](const char *version, const std::string &inside) {
        std::string xml = scene_xml("<bsdf type='diffuse' id='white'/><shape type='sphere'>" +
                                        inside + "</shape>" + Sky,
                                    4, 1),
                    now = "version='3.0.0'";
        xml.replace(xml.find(now), now.size(), std::string("version='") + version + "'");
        return scene_from(xml)->shapes()[0]->bsdf()->plugin();
    };
    std::string fog = "<medium name='interior' type='homogeneous'/>";
    EXPECT_EQ(bsdf_of("0.6.0", fog), "null");
    EXPECT_EQ(bsdf_of("0.6.0", fog + "<ref id='white'/>"), "diffuse");
    EXPECT_EQ(bsdf_of("0.6.0", ""), "diffuse");
    EXPECT_EQ(bsdf_of("3.0.0", fog), "diffuse"); // as in Mitsuba 3
}

TEST(VolPath, SaysWhatItCannotDo) {
    VariantScope scope(find_variant("llvm_ad_rgb"));
    auto expect_error = [](auto &&fn, const std::string &words) {
        try {
            fn();
            ADD_FAILURE() << "no error: " << words;
        } catch (const UserError &e) {
            EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
        }
    };
    Ref<Scene> scene = scene_from(scene_inside(absorbing(0.7), 2, Sky, 4, 1));
    expect_error([&] { Render(*scene).backward(Float(jit::full(variant().float_type(), 1, 48))); },
                 "derivatives");
    auto load = [](const std::string &body) {
        return [=] { scene_from(scene_xml(body, 4, 1, "volpath")); };
    };
    expect_error(load("<shape type='sphere'><medium name='inside' type='homogeneous'/></shape>"),
                 "interior");
    expect_error(load("<shape type='sphere'><bsdf name='interior' type='null'/></shape>"),
                 "must be a medium");
    expect_error(load("<shape type='sphere'><medium name='interior' type='fog'/></shape>"),
                 "unknown medium plugin");
    expect_error(load("<shape type='sphere'><subsurface type='tripole'/></shape>"),
                 "unknown subsurface plugin");
    // A camera of another scene
    Ref<Scene> other = scene_from(scene_inside(absorbing(1), 1, Sky, 4, 1));
    expect_error([&] { render_image(*scene, { .from = other->sensors()[0] }); }, "none of the");
}

// ---- below surfaces

TEST_P(BackendVolPathLight, SubsurfaceModelsAddWhatTheySay) {
    std::string ball =
        "<shape type='sphere'><float name='radius' value='9'/><boolean "
        "name='flip_normals' value='true'/><bsdf type='diffuse'><float "
        "name='reflectance' value='0'/></bsdf><subsurface type='test_glow'/></shape>";
    for (const char *integrator : { "path", "volpath" }) {
        Ref<Scene> scene = scene_from(scene_xml(ball, 4, 4, integrator));
        auto *glow = dynamic_cast<Glow *>(scene->shapes()[0]->subsurface());
        ASSERT_TRUE(glow);
        EXPECT_EQ(glow->m_shape, scene->shapes()[0].get());
        Image image = render_image(*scene);
        for (size_t c = 0; c < image.channel_count(); ++c)
            EXPECT_EQ(channel_mean(image, c).mean, 1) << integrator;
    }
}

} // namespace umbel
