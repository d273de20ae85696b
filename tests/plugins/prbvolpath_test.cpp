// tests/plugins/prbvolpath_test.cpp: derivatives of light in media: forward, in reverse, against differences and closed forms.
#include "core/file_text.h"
#include "render/render_image.h"
#include "support/gradient_check.h"
#include "support/media.h"
#include "support/same_image.h"
#include "support/volume_file.h"
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

double mean_of(const Float &image) {
    double sum = 0;
    for (double v : read_floats(image))
        sum += v;
    return sum / double(image.size());
}

/// The mean of a scene's image as a function of one of its parameters, all of whose numbers grow in proportion.
class Followed {
public:
    Followed(const Ref<Scene> &scene, const std::string &ending, int spp)
        : m_scene(scene), m_params(scene), m_spp(spp) {
        for (const SceneParameter &p : m_params.all())
            if (p.key.ends_with(ending))
                m_key = p.key;
        check(!m_key.empty());
        const Slot &slot = m_params.at(m_key).param.slot;
        if (auto *c = std::get_if<std::array<Float *, 3>>(&slot))
            m_slots.assign(c->begin(), c->end());
        else if (auto *t = std::get_if<TensorSlot>(&slot))
            m_slots = { t->data };
        else
            m_slots = { std::get<Float *>(slot) };
        for (size_t k = 0; k < m_slots.size(); ++k) {
            List at = read_floats(Float(m_slots[k]->detached()));
            List d = random_points(k + 1, at.size(), 0.5, 1.5);
            for (size_t i = 0; i < at.size(); ++i)
                d[i] *= at[i];
            m_originals.push_back(at);
            m_direction.push_back(d);
        }
    }
    ~Followed() { move(0); }

    double difference(double step, uint32_t seed) {
        return (at(step, seed) - at(-step, seed)) / (2 * step);
    }
    double backward(uint32_t seed) {
        Float image = follow(seed);
        ad::set_grad(image, Float(1.0 / double(image.size())));
        ad::backward_from(image);
        double sum = 0;
        for (size_t k = 0; k < m_slots.size(); ++k) {
            List g = read_floats(Float(ad::grad(*m_slots[k])));
            for (size_t i = 0; i < g.size(); ++i)
                sum += g[i] * m_direction[k][i];
        }
        return sum;
    }
    double forward(uint32_t seed) {
        Float image = follow(seed);
        for (size_t k = 0; k < m_slots.size(); ++k) {
            ad::set_grad(*m_slots[k], float_array(m_direction[k]));
            ad::enqueue(ad::Mode::Forward, *m_slots[k]);
        }
        ad::traverse(ad::Mode::Forward);
        return mean_of(Float(ad::grad(image)));
    }
    /// The same everywhere, in place of numbers that grow in proportion.
    void move_all_alike() {
        for (List &d : m_direction)
            std::fill(d.begin(), d.end(), 1);
    }

private:
    void move(double t) {
        for (size_t k = 0; k < m_slots.size(); ++k) {
            List moved = m_originals[k];
            for (size_t i = 0; i < moved.size(); ++i)
                moved[i] += t * m_direction[k][i];
            *m_slots[k] = float_array(moved);
        }
        m_params.update({ m_key });
    }
    double at(double t, uint32_t seed) {
        move(t);
        RenderOptions o{ .spp = m_spp, .seed = seed };
        return mean_of(render_image(m_scene, nullptr, o, o));
    }
    Float follow(uint32_t seed) {
        for (size_t k = 0; k < m_slots.size(); ++k) {
            *m_slots[k] = float_array(m_originals[k]);
            ad::enable_grad(*m_slots[k], m_key);
        }
        m_params.update({ m_key });
        RenderOptions o{ .spp = m_spp, .seed = seed };
        return render_image(m_scene, &m_params, o, o);
    }

    Ref<Scene> m_scene;
    SceneParameters m_params;
    int m_spp;
    std::string m_key;
    std::vector<Value *> m_slots;
    std::vector<List> m_originals, m_direction;
};

const char *Lights =
    "<emitter type='constant'><rgb name='radiance' value='.3,.4,.5'/></emitter>"
    "<emitter type='point'><point name='position' x='1' y='2' z='2'/><rgb name='intensity' "
    "value='6,5,4'/></emitter>";
const char *Floor = "<shape type='rectangle'><transform name='to_world'><scale value='3'/><rotate "
                    "x='1' angle='-90'/><translate y='-1.2'/></transform><bsdf type='diffuse' "
                    "id='floor'><rgb name='reflectance' value='.7,.5,.4'/></bsdf></shape>";

/// A cube of it before a floor, seen from aside.
std::string cloud_xml(const std::string &medium, const std::string &more = "", int size = 8) {
    std::string cube = "<shape type='cube'><bsdf type='null'/><ref name='interior' id='filling'/>"
                       "</shape>";
    std::string xml = scene_xml(medium + cube + Floor + Lights + more, size, 64, "prbvolpath",
                                "<lookat origin='1,1.5,4.5' target='0,0,0' up='0,1,0'/>"),
                plain = "<integrator type='prbvolpath'/>";
    return xml.replace(xml.find(plain), plain.size(),
                       "<integrator type='prbvolpath'><integer name='max_depth' value='5'/>"
                       "<integer name='rr_depth' value='100'/></integrator>");
}
std::string medium(const std::string &type, const std::string &inside) {
    return fmt::format("<medium type='{}' id='filling'>{}</medium>", type, inside);
}

} // namespace

class BackendPrbVolPath : public VariantTest {
protected:
    BackendPrbVolPath()
        : m_grey(write("grey", { { 4, 3, 5 }, 1, random_floats(60, 0.1, 1) })),
          m_colour(write("colour", { { 3, 4, 3 }, 3, random_floats(108, 0.3, 0.9) })) {}
    ~BackendPrbVolPath() override {
        std::filesystem::remove(m_grey);
        std::filesystem::remove(m_colour);
    }
    static std::vector<float> random_floats(size_t n, double low, double high) {
        List v = random_points(n, n, low, high);
        return { v.begin(), v.end() };
    }
    static std::string write(const char *name, const VolumeFile &volume) {
        std::string file = testing::TempDir() + fmt::format("umbel_prb_{}_{}.vol", name, getpid());
        write_file(file, volume.bytes());
        return file;
    }
    static std::string grid(const char *name, const std::string &file) {
        return fmt::format("<volume type='gridvolume' name='{}'><string name='filename' "
                           "value='{}'/><transform name='to_world'><scale value='2'/><translate "
                           "x='-1' y='-1' z='-1'/></transform></volume>",
                           name, file);
    }
    std::string smoke(const std::string &more = "") const {
        return medium("heterogeneous", grid("sigma_t", m_grey) + grid("albedo", m_colour) +
                                           "<float name='scale' value='2'/><phase type='hg'>"
                                           "<float name='g' value='.4'/></phase>" +
                                           more);
    }

    /// Over many seeds; the step is relative.
    static void expect_derivative(const std::string &xml, const std::string &ending,
                                  double step = 0.1, int spp = 64, int seeds = 16) {
        SCOPED_TRACE(ending + ", " + variant().name);
        {
            Followed f(scene_from(xml), ending, spp);
            double sum = 0, squares = 0, size = 0;
            for (int i = 0; i < seeds; ++i) {
                auto seed = uint32_t(i);
                double backward = f.backward(seed);
                if (i < 2) {
                    EXPECT_NEAR(f.forward(seed), backward, 1e-3 * std::abs(backward) + 1e-6);
                }
                double wanted = f.difference(step, seed), error = backward - wanted;
                sum += error;
                squares += error * error;
                size += wanted / seeds;
            }
            double mean = sum / seeds,
                   deviation = std::sqrt((squares / seeds - mean * mean) / (seeds - 1));
            EXPECT_GT(std::abs(size), 1e-4) << "nothing to see";
            // Three standard deviations of a normal distribution are 3.6 of a mean of 16. Colours become spectra by a table,
            // whose derivative has steps
            double tolerance = variant().colour == Colour::Spectral ? 5e-3 : 1e-3;
            EXPECT_LT(std::abs(mean), 3.6 * deviation + tolerance * std::abs(size))
                << "derivative " << size;
            EXPECT_LT(deviation, 0.1 * std::abs(size)) << "too noisy to tell; derivative " << size;
        }
        EXPECT_EQ(ad::live_nodes(), 0u) << ad::listing();
    }

    std::string m_grey, m_colour;
};
UMBEL_VARIANTS(BackendPrbVolPath, "llvm_ad_rgb", "llvm_ad_spectral")
class SlowPrbVolPath : public BackendPrbVolPath {};
UMBEL_VARIANTS(SlowPrbVolPath, "llvm_ad_rgb", "llvm_ad_spectral")

// ---- closed forms

// Light that passes a distance of 2, of extinction 0.7: the derivative is known.
TEST_P(BackendPrbVolPath, KnowsBeerAndLambert) {
    std::string fog =
                    medium("homogeneous", "<float name='sigma_t' value='.7'/><float name='albedo' "
                                          "value='0'/>"),
                xml = scene_inside(fog, 2, Sky, 4, 512), name = "'volpath'";
    xml.replace(xml.find(name), name.size(), "'prbvolpath'");
    Followed f(scene_from(xml), "sigma_t.value.value", 512);
    f.move_all_alike();
    EXPECT_NEAR(f.backward(1), -2 * std::exp(-1.4), 0.05);
    EXPECT_NEAR(f.forward(1), -2 * std::exp(-1.4), 0.05);
}

// Where media overlap, light passes 2 of either: it does not matter which of them grows.
TEST_P(BackendPrbVolPath, KnowsMediaThatOverlap) {
    auto slab = [](const char *id, double sigma, double z) {
        return fmt::format("<shape type='cube'><transform name='to_world'><scale x='2' y='2'/>"
                           "<translate z='{}'/></transform><bsdf type='null'/><medium "
                           "type='homogeneous' name='interior' id='{}'><float name='sigma_t' "
                           "value='{}'/><float name='albedo' value='0'/></medium></shape>",
                           z, id, sigma);
    };
    std::string xml =
        scene_xml(slab("near", 0.2, 0.5) + slab("far", 0.3, -0.5) + Sky, 4, 512, "prbvolpath",
                  "<lookat origin='0,0,40' target='0,0,0' up='0,1,0'/>");
    std::string fov = "value='40'";
    xml.replace(xml.find(fov), fov.size(), "value='1'"); // straight through
    for (const char *which : { "near.sigma_t.value.value", "far.sigma_t.value.value" }) {
        Followed f(scene_from(xml), which, 512);
        f.move_all_alike();
        EXPECT_NEAR(f.backward(1), -2 * std::exp(-1.0), 0.05);
        EXPECT_NEAR(f.forward(1), -2 * std::exp(-1.0), 0.05);
    }
}

// Likewise, of a grid in fog: what is uniform has a closed form, the rest is tracked.
TEST_P(BackendPrbVolPath, KnowsAGridInFog) {
    std::string file = write("even", { { 2, 2, 2 }, 1, std::vector<float>(8, 0.3f) }),
                cube = "<shape type='cube'><transform name='to_world'><scale x='2' y='2'/>"
                       "<translate z='.5'/></transform><bsdf type='null'/><medium "
                       "type='homogeneous' name='interior' id='fog'><float name='sigma_t' "
                       "value='.2'/><float name='albedo' value='0'/></medium></shape><shape "
                       "type='cube'><bsdf type='null'/><ref name='interior' id='filling'/></shape>",
                smoke = medium("heterogeneous", grid("sigma_t", file) + "<float name='albedo' "
                                                                        "value='0'/>"),
                xml = scene_xml(smoke + cube + Sky, 4, 512, "prbvolpath",
                                "<lookat origin='0,0,40' target='0,0,0' up='0,1,0'/>");
    std::string fov = "value='40'";
    xml.replace(xml.find(fov), fov.size(), "value='1'"); // straight through
    for (const char *which : { "fog.sigma_t.value.value", "filling.sigma_t.data" }) {
        Followed f(scene_from(xml), which, 512);
        f.move_all_alike();
        EXPECT_NEAR(f.backward(1), -2 * std::exp(-1.0), 0.05) << which;
        EXPECT_NEAR(f.forward(1), -2 * std::exp(-1.0), 0.05) << which;
    }
    std::filesystem::remove(file);
}

// A plane of 60 by 60 mean free paths under light from all sides reflects the integral of the profile.
TEST_P(BackendPrbVolPath, KnowsDiffusionBelowSurfaces) {
    std::string xml = scene_xml(
        fmt::format(
            "<shape type='rectangle'><transform name='to_world'><scale value='3'/></transform>"
            "<bsdf type='diffuse'><rgb name='reflectance' value='0,0,0'/></bsdf><subsurface "
            "type='dipole'><spectrum name='sigma_t' value='10'/><spectrum name='albedo' "
            "value='.9'/>"
            "<float name='int_ior' value='1'/><float name='ext_ior' value='1'/></subsurface>"
            "</shape>{}",
            Sky),
        4, 16, "prbvolpath", "<lookat origin='0,0,1' target='0,0,0' up='0,1,0'/>");
    auto reflectance = [](double albedo) {
        double s = std::sqrt(3 * (1 - albedo));
        return albedo / 2 * (1 + std::exp(-4.0 / 3 * s)) * std::exp(-s);
    };
    double want = (reflectance(0.901) - reflectance(0.899)) / 0.002;
    Followed f(scene_from(xml), "albedo.value", 16);
    f.move_all_alike();
    // As near as points and nodes are to the integral
    EXPECT_NEAR(f.forward(1), want, 0.06 * want);
    EXPECT_NEAR(f.backward(1), want, 0.06 * want);
    EXPECT_NEAR(f.difference(1e-3, 1), f.forward(1), 1e-2 * want);
}

// Where there is nothing yet, light still knows what it would lose.
TEST_P(BackendPrbVolPath, KnowsWhatEmptySpaceWouldAbsorb) {
    std::string file = write("empty", { { 4, 4, 4 }, 1, std::vector<float>(64, 0) });
    std::string fog = medium("heterogeneous", grid("sigma_t", file) + "<float name='albedo' "
                                                                      "value='0'/>"),
                cube = "<shape type='cube'><bsdf type='null'/><ref name='interior' id='filling'/>"
                       "</shape>",
                xml = scene_xml(fog + cube + Sky, 4, 1024, "prbvolpath",
                                "<lookat origin='0,0,40' target='0,0,0' up='0,1,0'/>");
    std::string fov = "value='40'";
    xml.replace(xml.find(fov), fov.size(), "value='1'"); // straight through
    Followed f(scene_from(xml), "sigma_t.data", 1024);
    f.move_all_alike();
    EXPECT_NEAR(f.backward(1), -2, 0.1);
    std::filesystem::remove(file);
}

// ---- differences

TEST_P(SlowPrbVolPath, DerivativesInFogMatchDifferences) {
    std::string fog = cloud_xml(medium(
        "homogeneous", "<float name='sigma_t' value='.8'/><rgb name='albedo' value='.9,.7,.5'/>"
                       "<phase type='hg'><float name='g' value='.4'/></phase>"));
    expect_derivative(fog, "sigma_t.value.value");
    expect_derivative(fog, "filling.scale");
    expect_derivative(fog, "albedo.value.value", 0.05);
    expect_derivative(fog, "phase_function.g", 0.1, 256);
    expect_derivative(fog, "floor.reflectance.value", 0.05);
}

// The place of a collision depends on the extinction, and stays where it is.
TEST_P(SlowPrbVolPath, DerivativesInFogOfVaryingAlbedoMatchDifferences) {
    std::string fog = cloud_xml(
        medium("homogeneous", "<float name='sigma_t' value='.8'/>" + grid("albedo", m_grey)));
    expect_derivative(fog, "sigma_t.value.value");
    expect_derivative(fog, "albedo.data", 0.05);
}

TEST_P(SlowPrbVolPath, DerivativesInColouredFogMatchDifferences) {
    std::string fog = cloud_xml(medium("homogeneous",
                                       "<rgb name='sigma_s' value='.4,.8,1.2'/><rgb name='sigma_a' "
                                       "value='.3,.2,.1'/>"));
    expect_derivative(fog, "sigma_a.value.value");
}

TEST_P(SlowPrbVolPath, DerivativesInSmokeMatchDifferences) {
    std::string xml = cloud_xml(smoke());
    expect_derivative(xml, "sigma_t.data", 0.1, 256);
    expect_derivative(xml, "filling.scale", 0.1, 256);
    expect_derivative(xml, "albedo.data", 0.05);
    expect_derivative(xml, "phase_function.g", 0.1, 256);
    expect_derivative(xml, "floor.reflectance.value", 0.05);
}

TEST_P(SlowPrbVolPath, DerivativesInFireMatchDifferences) {
    std::string xml = cloud_xml(smoke(grid("emission", m_colour)));
    expect_derivative(xml, "emission.data");
    expect_derivative(xml, "sigma_t.data", 0.1, 256);
}

// The bound of what is the same everywhere is what it is.
TEST_P(SlowPrbVolPath, NullCollisionsHappenWhereTheExtinctionIsItsBound) {
    std::string xml =
        cloud_xml(medium("heterogeneous", "<float name='sigma_t' value='.8'/><float name='albedo' "
                                          "value='.8'/>"));
    expect_derivative(xml, "sigma_t.value.value", 0.1, 512);
}

// ---- beside others

TEST_P(BackendPrbVolPath, ShowsWhatVolpathShows) {
    std::string mine = cloud_xml(smoke()), other = mine, name = "'prbvolpath'";
    other.replace(other.find(name), name.size(), "'volpath'");
    expect_same_image(mine, other);
}

// Without media all that is left of it is `prb`.
TEST_P(BackendPrbVolPath, WithoutMediaDifferentiatesAsPrbDoes) {
    std::string mine = scene_xml(std::string(Floor) + Lights, 8, 16, "prbvolpath"), other = mine,
                name = "'prbvolpath'";
    other.replace(other.find(name), name.size(), "'prb'");
    Followed a(scene_from(mine), "floor.reflectance.value", 16),
        b(scene_from(other), "floor.reflectance.value", 16);
    double d = b.backward(3);
    EXPECT_NEAR(a.backward(3), d, 1e-4 * std::abs(d));
    EXPECT_GT(std::abs(d), 1e-3);
}

// ---- optimizations

TEST_P(BackendPrbVolPath, CompilesNothingAfterTheFirstStep) {
    Ref<Scene> scene = scene_from(cloud_xml(smoke()));
    SceneParameters params(scene);
    std::string key;
    for (const SceneParameter &p : params.all())
        if (p.key.ends_with("sigma_t.data"))
            key = p.key;
    Value &voxels = *std::get<TensorSlot>(params.at(key).param.slot).data;
    auto step = [&](uint32_t seed) {
        ad::enable_grad(voxels);
        params.update({ key });
        RenderOptions o{ .spp = 16, .seed = seed };
        Float image = render_image(scene, &params, o, o);
        ad::set_grad(image, Float(1.0 / double(image.size())));
        ad::backward_from(image);
        voxels = Float(voxels.detached()) - 0.1 * Float(ad::grad(voxels));
        jit::eval(voxels);
        params.update({ key });
    };
    step(1);
    step(2);
    jit::Context &c = variant().context();
    jit::FlagScope history(jit::Flag::History, true);
    c.take_history();
    step(3);
    step(4);
    for (const jit::KernelRecord &k : c.take_history())
        EXPECT_TRUE(k.backend == "builtin" || k.memory_hit) << k.name;
}

TEST(PrbVolPath, SaysWhatItCannotDo) {
    VariantScope scope(find_variant("llvm_ad_rgb"));
    Ref<Scene> scene = scene_from(cloud_xml(medium("homogeneous", ""), "<shape type='sphere' "
                                                                       "id='ball'/>"));
    SceneParameters params(scene);
    auto &slot = std::get<TransformSlot>(params.at("ball.to_world").param.slot);
    *slot.data = float_array(slot.host->m);
    ad::enable_grad(*slot.data);
    params.update({ "ball.to_world" });
    RenderOptions o;
    Float image = render_image(scene, &params, o, o);
    try {
        ad::backward(image);
        ADD_FAILURE() << "no error";
    } catch (const UserError &e) {
        EXPECT_NE(std::string(e.what()).find("shapes"), std::string::npos) << e.what();
    }
    jit::eval(); // nothing that used those scenes is left
}

} // namespace umbel
