// tests/render/light_sampler_test.cpp: which lights are chosen, how often, and that none is forgotten.
#include "render/light_tree.h"
#include "support/compare.h"
#include "support/same_image.h"
#include <random>

namespace umbel {
using namespace test;

namespace {

constexpr uint32_t Draws = 1 << 16;

// Small lights in a room of size 20, that face anywhere; every seventh is a point.
std::vector<LightSummary> lights_in_room(size_t n) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> unit(-1, 1);
    std::vector<LightSummary> out;
    for (size_t i = 0; i < n; ++i) {
        std::array<double, 3> p, d;
        for (size_t j = 0; j < 3; ++j) {
            p[j] = 10 * unit(random);
            d[j] = unit(random);
        }
        double length = std::hypot(d[0], d[1], d[2]);
        for (double &v : d)
            v /= length;
        LightSummary l;
        l.weight = 1 + unit(random) * 0.9;
        l.is_local = true;
        l.box.extend(p);
        if (i % 7) {
            l.box.extend(std::array{ p[0] + 0.1, p[1] + 0.2, p[2] + 0.1 });
            l.normals = { d, 1 };
        }
        out.push_back(l);
    }
    return out;
}

Interaction place(double x, double y, double z, std::array<double, 3> n) {
    Interaction it;
    it.t = 0;
    it.p = { opaque_float(x), opaque_float(y), opaque_float(z) };
    it.n = { opaque_float(n[0]), opaque_float(n[1]), opaque_float(n[2]) };
    it.time = 0;
    return it;
}

std::vector<double> probabilities(const LightSampler &s, const Interaction &it, size_t n) {
    UInt32 number = UInt32(jit::lane_index(uint32_t(n))) + UInt32(1u);
    return read_floats(s.pmf(it, number, Mask(true)));
}

// How often each is chosen: as pmf() says, which choose() says, too.
void expect_consistent(const LightSampler &s, const Interaction &it, size_t n) {
    std::vector<double> pmf = probabilities(s, it, n);
    double sum = 0;
    for (double p : pmf)
        sum += p;
    EXPECT_LE(sum, 1 + 1e-4); // products of roundings; a branch may turn out to be dark
    EXPECT_GT(sum, 0.8);
    Float u = (Float(UInt32(jit::lane_index(Draws))) + 0.5) * (1.0 / Draws);
    LightSampler::Choice c = s.choose(it, u, Mask(true));
    Float again = s.pmf(it, c.emitter, Mask(true));
    jit::eval(c.emitter, c.pmf, c.rest, again);
    std::vector<uint32_t> chosen(Draws);
    jit::read(c.emitter, chosen.data(), 0, Draws);
    std::vector<double> said = read_floats(c.pmf), rest = read_floats(c.rest),
                        later = read_floats(again), counts(n + 1, 0.0);
    for (size_t i = 0; i < Draws; ++i) {
        ASSERT_LE(chosen[i], n);
        counts[chosen[i]] += 1;
        if (chosen[i] == 0) {
            ASSERT_EQ(said[i], 0);
            continue;
        }
        ASSERT_NEAR(said[i], pmf[chosen[i] - 1], 1e-4 * said[i]);
        ASSERT_NEAR(said[i], later[i], 1e-5 * said[i]);
        ASSERT_GE(rest[i], 0);
        ASSERT_LT(rest[i], 1);
    }
    EXPECT_NEAR(counts[0], (1 - sum) * Draws, 2 * double(n));
    // The numbers are evenly spaced: counts are exact up to one at either end, and the rounding of boundaries
    for (size_t k = 1; k <= n; ++k)
        EXPECT_NEAR(counts[k], pmf[k - 1] * Draws, 2 + 1e-3 * pmf[k - 1] * Draws) << "light " << k;
}

} // namespace

class BackendLightSampler : public VariantTest {};
UMBEL_VARIANTS(BackendLightSampler, "llvm_rgb", "interp_rgb", "llvm_rgb_double")

TEST_P(BackendLightSampler, ChoosesAsItSays) {
    for (size_t n : { 1, 2, 3, 100 })
        for (bool tree : { false, true }) {
            SCOPED_TRACE(fmt::format("{} lights, tree {}", n, tree));
            auto sampler = make_light_sampler(lights_in_room(n), tree);
            if (n == 3) // one that faces the place at least
                expect_consistent(*sampler, place(0, 0, 0, { 0, 0, 0 }), n);
            if (n < 100)
                continue;
            expect_consistent(*sampler, place(1, 2, 3, { 0, 0, 1 }), n);
            expect_consistent(*sampler, place(30, 0, 0, { 0, 0, 0 }), n);
        }
}

TEST_P(BackendLightSampler, NeverForgetsALightThatFacesThePlace) {
    std::vector<LightSummary> lights = lights_in_room(500);
    auto sampler = make_light_sampler(lights, true);
    for (std::array<double, 3> p :
         { std::array{ 0.0, 0.0, 0.0 }, { 9.0, -9.0, 4.0 }, { 100.0, 5.0, 5.0 } }) {
        auto pmf = probabilities(*sampler, place(p[0], p[1], p[2], { 0, 1, 0 }), lights.size());
        size_t dark = 0;
        for (size_t i = 0; i < lights.size(); ++i) {
            const LightSummary &l = lights[i];
            bool faces = l.normals.cosine == -1;
            for (auto &corner : { l.box.min, l.box.max }) {
                double dot = 0;
                for (size_t j = 0; j < 3; ++j)
                    dot += (p[j] - corner[j]) * l.normals.axis[j];
                faces |= dot > 0;
            }
            if (faces) {
                EXPECT_GT(pmf[i], 0) << "light " << i;
            }
            dark += pmf[i] == 0;
        }
        EXPECT_GT(dark, lights.size() / 4) << "those that face away";
    }
}

TEST_P(BackendLightSampler, KnowsLightsWithoutAPlace) {
    std::vector<LightSummary> lights = lights_in_room(20);
    lights[3] = { .weight = 5, .is_local = false, .box = {}, .normals = {} };
    lights[11] = { .weight = 2, .is_local = false, .box = {}, .normals = {} };
    lights[5].weight = 0;
    auto sampler = make_light_sampler(lights, true);
    Interaction it = place(0, 0, 0, { 1, 0, 0 });
    expect_consistent(*sampler, it, lights.size());
    auto pmf = probabilities(*sampler, it, lights.size());
    EXPECT_NEAR(pmf[3], 1.0 / 3, 1e-6);
    EXPECT_NEAR(pmf[11], 1.0 / 3, 1e-6);
    EXPECT_EQ(pmf[5], 0);
}

TEST_P(BackendLightSampler, NeverForgetsACone) {
    std::vector<LightSummary> lights = lights_in_room(500);
    for (size_t i = 0; i < lights.size(); ++i)
        if (i % 7) // boxes, too: lamps that move
            lights[i].cos_emission = std::cos(0.05 + 0.003 * double(i));
    auto sampler = make_light_sampler(lights, true);
    size_t lit = 0, dark = 0;
    for (std::array<double, 3> p :
         { std::array{ 0.0, 0.0, 0.0 }, { 9.0, -9.0, 4.0 }, { 30.0, 5.0, 5.0 } }) {
        auto pmf = probabilities(*sampler, place(p[0], p[1], p[2], { 0, 0, 0 }), lights.size());
        for (size_t i = 0; i < lights.size(); ++i) {
            const LightSummary &l = lights[i];
            bool shines = i % 7 == 0;
            for (auto &corner : { l.box.min, l.box.max }) {
                double dot = 0, length = 0;
                for (size_t j = 0; j < 3; ++j) {
                    dot += (p[j] - corner[j]) * l.normals.axis[j];
                    length = std::hypot(length, p[j] - corner[j]);
                }
                shines |= dot > l.cos_emission * length;
            }
            if (shines) {
                EXPECT_GT(pmf[i], 0) << "light " << i;
            }
            lit += shines;
            dark += pmf[i] == 0;
        }
    }
    EXPECT_GT(dark + lit, 3 * lights.size() * 9 / 10) << "all others but those with a corner near";
}

// A place below one of many narrow spots is lit by that one alone.
TEST_P(BackendLightSampler, FindsTheSpotThatShinesOnAPlace) {
    std::string xml;
    for (int i = 0; i < 100; ++i)
        xml += fmt::format("<emitter type='spot'><float name='cutoff_angle' value='15'/><transform "
                           "name='to_world'><scale value='2'/><lookat origin='{0},{1},1' "
                           "target='{0},{1},0' up='0,1,0'/></transform></emitter>",
                           i % 10, i / 10);
    Ref<Scene> scene = scene_from(scene_xml(xml, 4, 1));
    LightChoice choice;
    choice.update(scene->emitters(), *scene);
    for (int i : { 0, 37, 99 }) {
        auto pmf = probabilities(*choice.operator->(),
                                 place(i % 10 + 0.1, i / 10 - 0.1, 0, { 0, 0, 1 }), 100);
        for (int k = 0; k < 100; ++k)
            if (k == i)
                EXPECT_GT(pmf[size_t(k)], 0.5);
            else
                EXPECT_EQ(pmf[size_t(k)], 0) << "spot " << k << " at a place below spot " << i;
    }
}

TEST_P(BackendLightSampler, KnowsInWhichDirectionsLampsShine) {
    auto directions = [](const std::string &to_world, const char *type = "spot") {
        std::string lamp = fmt::format("<emitter type='{}'>{}</emitter>", type, to_world);
        Ref<Scene> scene = scene_from(scene_xml(lamp, 4, 1));
        return scene->emitters().objects()[0]->directions();
    };
    auto transform = [](const char *steps) {
        return fmt::format("<transform name='to_world'>{}</transform>", steps);
    };
    const char *Turn = "<scale value='3'/><rotate x='1' angle='90'/><translate z='5'/>";
    for (const std::string &to_world :
         { transform(Turn), animation(Turn, "<rotate x='1' angle='90'/><translate y='2'/>") }) {
        auto [normals, cos_emission] = directions(to_world);
        EXPECT_NEAR(normals.axis[1], -1, 1e-9);
        EXPECT_EQ(normals.cosine, 1);
        EXPECT_NEAR(cos_emission, std::cos(20 * Pi / 180), 1e-9);
    }
    std::string view = "<float name='fov' value='90'/>";
    EXPECT_NEAR(directions(view, "projector").cos_emission, 1 / std::sqrt(3.0), 1e-9)
        << "to the corners of a square";
    for (const std::string &to_world :
         { transform("<scale x='2'/>"), animation("", "<rotate x='1' angle='90'/>") })
        EXPECT_EQ(directions(to_world).normals.cosine, -1) << to_world;
    EXPECT_EQ(directions("", "point").normals.cosine, -1);
}

TEST_P(BackendLightSampler, CountsLightsWithoutAPlaceByTheirWeights) {
    std::string points;
    for (int i = 0; i < 20; ++i)
        points += fmt::format("<emitter type='point'><point name='position' x='{}' z='2'/>"
                              "<float name='sampling_weight' value='2'/></emitter>",
                              i);
    const char *Others =
        "<emitter type='constant'><float name='sampling_weight' value='6'/></emitter>"
        "<emitter type='directional'><float name='sampling_weight' value='1'/></emitter>";
    const char *Beams = "<emitter type='collimated'/>"
                        "<shape type='rectangle'><emitter type='directionalarea'/></shape>";
    LightChoice choice;
    choice.kind = "tree";
    Ref<Scene> scene = scene_from(scene_xml(points + Others + Beams, 4, 1));
    choice.update(scene->emitters(), *scene);
    Interaction it = place(0, 0, 0, { 0, 0, 1 });
    expect_consistent(*choice.operator->(), it, 24);
    auto pmf = probabilities(*choice.operator->(), it, 24);
    EXPECT_NEAR(pmf[20], 3 / 4.5, 1e-6); // three times as often as any point
    EXPECT_NEAR(pmf[21], 0.5 / 4.5, 1e-6);
    EXPECT_EQ(pmf[22], 0) << "no connection leads to a beam";
    EXPECT_EQ(pmf[23], 0);
    for (uint32_t beam : { 23, 24 }) // but light leaves it
        EXPECT_GT(read_floats(choice->source_pmf(UInt32(beam), true))[0], 0);

    scene = scene_from(scene_xml(Beams, 4, 1));
    choice.update(scene->emitters(), *scene);
    LightSampler::Choice none = choice->choose(it, Float(0.5), true);
    EXPECT_EQ(read_floats(none.pmf)[0], 0);
    EXPECT_EQ(jit::item(none.emitter), 0u);
}

TEST(LightTree, IsNeverDeeperThanATrailIsLong) {
    std::vector<LightSummary> lights; // each twice as far away as the last: splits take off one
    std::vector<uint32_t> numbers;
    for (int i = 0; i < 1000; ++i) {
        LightSummary l;
        l.weight = 1;
        l.is_local = true;
        l.box.extend(std::array{ std::ldexp(1.0, i - 500), 0.0, 0.0 });
        lights.push_back(l);
        numbers.push_back(uint32_t(i + 1));
    }
    LightTree tree = build_light_tree(lights, numbers);
    EXPECT_LT(tree.nodes.size(), 999 * LightTree::NodeSize);
    for (uint32_t number : numbers) { // a trail leads to its light
        uint32_t trail = tree.trails[number], steps = 0;
        double at = 0;
        while (at >= 0) {
            ASSERT_LE(++steps, LightTree::MaxDepth);
            at = tree.nodes[size_t(at) * LightTree::NodeSize +
                            (trail % LightTree::Children) * LightTree::ChildSize + LightTree::Link];
            trail >>= LightTree::TrailBits;
        }
        EXPECT_EQ(-at, number);
    }
}

TEST_P(BackendLightSampler, KnowsThePowerOfLights) {
    Ref<Scene> scene = scene_from(scene_xml(
        "<emitter type='point'><rgb name='intensity' value='1,2,3'/></emitter>"
        "<shape type='rectangle'><emitter type='area'><rgb name='radiance' "
        "value='3,3,3'/></emitter>"
        "</shape><shape type='sphere'><float name='radius' value='2'/><emitter type='area'>"
        "<texture type='checkerboard' name='radiance'><rgb name='color0' value='0'/>"
        "<rgb name='color1' value='1'/></texture></emitter></shape>",
        4, 1));
    std::vector<double> watts = emitted_power(scene->emitters());
    ASSERT_EQ(watts.size(), 3u);
    EXPECT_NEAR(watts[0], 4 * Pi * 2, 1e-4);
    EXPECT_NEAR(watts[1], Pi * 4 * 3, 1e-4);
    // Half of the sphere shines; 64 points of a pattern know that to a tenth
    EXPECT_NEAR(watts[2], Pi * 16 * Pi * 0.5, 0.1 * 8 * Pi * Pi);
}

namespace {

/// Says how often its rays were asked for.
class CountingLamp : public Emitter {
public:
    uint32_t flags() const override {
        return is_far ? EndpointFlags::Infinite : EndpointFlags::DeltaPosition;
    }
    BoundingBox bounds() const override {
        return is_far ? BoundingBox() : BoundingBox{ { x, 0, 0 }, { x, 0, 0 } };
    }
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &, const Vector2 &,
                                        const Vector2 &, const Mask &) const override {
        ++asked;
        return { Ray{ Vector3(Float(0)), Vector3(Float(0), Float(0), Float(1)), Float(1), time,
                      umbel::sample_wavelengths(Float(0)).first },
                 Spectrum(watts) };
    }

    double x = 0, watts = 1;
    bool is_far = false;
    mutable int asked = 0;
};

} // namespace

// Materials may change as often as an optimizer likes.
TEST_P(BackendLightSampler, ComputesPowerAnewWhereLightsHaveChanged) {
    CountingLamp lamps[20];
    Table<Emitter> lights;
    for (int i = 0; i < 20; ++i) {
        lamps[i].x = i;
        lights.add(&lamps[i]);
    }
    LightChoice choice;
    BoundingBox small{ { 0, 0, 0 }, { 1, 1, 1 } }, large{ { 0, 0, 0 }, { 2, 2, 2 } };
    auto computes = [&](const BoundingBox &scene) {
        int before = lamps[0].asked;
        choice.update(lights, lamps[0], scene);
        return lamps[0].asked != before;
    };
    auto pmf = [&](size_t i) {
        return probabilities(*choice.operator->(), place(9, 0, 5, { 0, 0, 0 }), 20)[i];
    };
    EXPECT_TRUE(computes(small));
    EXPECT_FALSE(computes(small));
    EXPECT_FALSE(computes(large));

    double before = pmf(7);
    lamps[7].watts = 100;
    lamps[7].changed({});
    EXPECT_TRUE(computes(large));
    EXPECT_GT(pmf(7), 3 * before);
    lamps[7].watts = 1;
    lamps[7].children_changed({}); // a texture of it, say
    EXPECT_TRUE(computes(large));
    EXPECT_NEAR(pmf(7), before, 1e-6);

    before = pmf(3);
    lamps[3].x = 9; // without a word: places cost nothing to ask for
    EXPECT_FALSE(computes(large));
    EXPECT_GT(pmf(3), before);

    lamps[5].is_far = true;
    lamps[5].changed({});
    EXPECT_TRUE(computes(large));
    EXPECT_TRUE(computes(small)) << "less of what surrounds the scene meets it";
    EXPECT_FALSE(computes(small));
}

// A light that sends out nothing has derivatives all the same.
TEST_P(BackendLightSampler, ForgetsNoDarkLight) {
    for (const char *radiance : { "3", "0" }) { // of all others
        std::string xml;
        for (int i = 0; i < 20; ++i)
            xml += fmt::format("<emitter type='point'><point name='position' x='{}' z='2'/>"
                               "<rgb name='intensity' value='{}'/></emitter>",
                               i, i == 7 ? "0" : radiance);
        Ref<Scene> scene = scene_from(scene_xml(xml, 4, 1));
        for (const char *kind : { "power", "tree" }) {
            LightChoice choice;
            choice.kind = kind;
            choice.update(scene->emitters(), *scene);
            auto &sampler = *choice.operator->();
            for (double p : probabilities(sampler, place(0, 0, 0, { 0, 0, 1 }), 20))
                EXPECT_GT(p, 1e-6) << kind;
            expect_consistent(sampler, place(5, 0, 0, { 0, 0, 1 }), 20);
        }
    }
}

// ---- images

namespace {

std::string many_lamps(const char *sampler, const char *more = "") {
    std::string xml =
        fmt::format("<string name='light_sampler' value='{}'/>", sampler) +
        "<shape type='rectangle'><transform name='to_world'><scale value='4'/></transform></shape>"
        "<shape type='cube'><transform name='to_world'><scale value='.4'/><translate "
        "z='.5'/></transform>"
        "<bsdf type='roughconductor'><float name='alpha' value='.3'/></bsdf></shape>";
    for (int i = 0; i < 40; ++i)
        xml += fmt::format("<shape type='{}'><transform name='to_world'><scale value='.1'/><rotate "
                           "x='1' y='.3' angle='{}'/>"
                           "<translate x='{}' y='{}' z='{}'/></transform><emitter type='area'><rgb "
                           "name='radiance' "
                           "value='{},5,{}'/></emitter></shape>",
                           i % 3 ? "rectangle" : "sphere", 57 * i % 360, -3 + i * 37 % 60 * .1,
                           -3 + i * 23 % 60 * .1, 1 + i % 5 * .3, 1 + i % 7, 8 - i % 6);
    return scene_xml(xml + more, 16, 16);
}

} // namespace

TEST_P(BackendLightSampler, ImagesAreTheSameHoweverLightsAreChosen) {
    const char *sky = "<emitter type='constant'><rgb name='radiance' value='.2'/></emitter>";
    const char *point = "<emitter type='point'><point name='position' x='1' z='2'/></emitter>";
    if (std::string(GetParam()) != "llvm_rgb")
        return expect_same_image(many_lamps("uniform", sky), many_lamps("tree", sky));
    for (const char *more : { "", sky, point }) {
        expect_same_image(many_lamps("uniform", more), many_lamps("tree", more));
        expect_same_image(many_lamps("uniform", more), many_lamps("power", more));
    }
}

// Of all kinds that have a place; some of them move, and some are stretched.
TEST_P(BackendLightSampler, ImagesOfLampsAreTheSameHoweverTheyAreChosen) {
    if (std::string(GetParam()) == "interp_rgb")
        return; // takes long there, and the tree is the same
    auto with = [](const char *sampler) {
        std::string xml = fmt::format("<string name='light_sampler' value='{}'/>", sampler) +
                          "<shape type='rectangle'><transform name='to_world'><scale value='4'/>"
                          "</transform></shape>";
        const char *Types[] = { "spot", "projector", "point" };
        for (int i = 0; i < 42; ++i) {
            std::string place = fmt::format(
                "<rotate x='1' y='.3' angle='{}'/><translate x='{}' y='{}' z='{}'/>",
                150 + 7 * i % 60, -2 + i * 37 % 40 * .1, -2 + i * 23 % 40 * .1, 1 + i % 5 * .3);
            std::string to_world =
                i % 4 == 0 ? animation(place, "<rotate y='1' angle='30'/>" + place)
                           : "<transform name='to_world'>" +
                                 std::string(i % 4 == 1 ? "<scale x='2' z='.7'/>" : "") + place +
                                 "</transform>";
            xml += fmt::format("<emitter type='{}'>{}</emitter>", Types[i % 3], to_world);
        }
        return open_shutter(scene_xml(xml, 16, 16));
    };
    expect_same_image(with("uniform"), with("tree"));
}

TEST_P(BackendLightSampler, ComplainsOfOtherWords) {
    EXPECT_NE(user_error([] { scene_from(many_lamps("best")); }).find("tree"), std::string::npos);
}

} // namespace umbel
