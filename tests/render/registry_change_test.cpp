// tests/render/registry_change_test.cpp: whatever is written to a scene after a render is seen by the next one: the image is
// that of a scene that was never anything else. Of every parameter of every plugin (support/registry.h), and of setters.
#include "core/traverse.h"
#include "support/registry.h"

namespace umbel {
using namespace test;

namespace {

// Of a number: another one, not far away, that scene files and single precision hold exactly.
double other(double v) { return std::round(256 * (0.75 * v + 0.1)) / 256; }
std::vector<double> others(std::vector<double> numbers) {
    for (double &v : numbers)
        v = other(v);
    return numbers;
}
void move(TransformData &t) {
    t(0, 3) += 0.125;
    t(1, 3) += 0.0625;
}

/// Writes another value; false where there is none. `lower`: one below what is there, for what must be less than
/// something else.
bool change(SceneParameters &params, const std::string &key, bool lower) {
    const Slot slot = params.at(key).param.slot;
    auto numbers = [](const Value &v) { return Value(float_array(others(read_floats(Float(v))))); };
    std::vector<Value> traced;
    if (auto *f = std::get_if<Float *>(&slot))
        traced = { numbers(**f) };
    else if (auto *c = std::get_if<std::array<Float *, 3>>(&slot))
        for (Float *v : *c)
            traced.push_back(numbers(*v));
    else if (auto *t = std::get_if<TensorSlot>(&slot))
        traced = { numbers(*t->data) };
    else if (auto *b = std::get_if<BufferSlot>(&slot)) {
        if (b->read().size() == 0)
            return false;
        if (std::holds_alternative<std::vector<double> *>(b->host))
            traced = { numbers(b->read()) };
        else { // triangles, the other way round
            std::vector<uint32_t> faces = UInt32(b->read()).read();
            std::reverse(faces.begin(), faces.end());
            traced = { jit::copy(faces) };
        }
    } else if (auto *t = std::get_if<TransformSlot>(&slot)) {
        TransformData moved = *t->host;
        move(moved);
        traced = { float_array(moved.m) };
    } else if (auto *d = std::get_if<double *>(&slot))
        **d = lower ? **d - 0.5 : other(**d);
    else if (auto *i = std::get_if<std::array<int *, 2>>(&slot))
        for (int *v : *i)
            *v = *v > 1 ? *v - 1 : *v + 1;
    else if (auto *v = std::get_if<std::array<double *, 2>>(&slot))
        for (double *x : *v)
            *x = other(*x);
    else if (auto *v = std::get_if<std::array<double *, 3>>(&slot))
        for (double *x : *v)
            *x = other(*x);
    else if (auto *t = std::get_if<TransformData *>(&slot))
        move(**t);
    else
        return false;
    if (!traced.empty())
        params.assign(key, traced);
    params.update({ key });
    return true;
}

/// The parameter as a scene file has it; empty where it is not that simple.
std::string in_xml(const SceneParameters &params, const std::string &key) {
    const SceneParameter &p = params.at(key);
    std::string name = p.param.name;
    const Slot &slot = p.param.slot;
    auto number = [](Float *v) { return read_floats(*v)[0]; };
    if (p.owner->id() != "it") { // a texture in place of a number or a colour
        auto [parent, place] = params.parent_of(p.owner);
        if (!parent || parent->id() != "it" || name != "value")
            return "";
        if (p.owner->plugin() == "rgb") {
            auto [r, g, b] = std::get<std::array<Float *, 3>>(slot);
            return fmt::format("<rgb name='{}' value='{},{},{}'/>", place, number(r), number(g),
                               number(b));
        }
        if (p.owner->plugin() != "uniform")
            return "";
        name = place;
    }
    if (auto *f = std::get_if<Float *>(&slot); f && (*f)->size() == 1)
        return fmt::format("<float name='{}' value='{}'/>", name, number(*f));
    if (auto *d = std::get_if<double *>(&slot))
        return fmt::format("<float name='{}' value='{}'/>", name, **d);
    if (auto *v = std::get_if<std::array<double *, 3>>(&slot))
        return fmt::format("<point name='{}' x='{}' y='{}' z='{}'/>", name, *(*v)[0], *(*v)[1],
                           *(*v)[2]);
    const TransformData *t = nullptr;
    if (auto *host = std::get_if<TransformData *>(&slot))
        t = *host;
    if (auto *traced = std::get_if<TransformSlot>(&slot))
        t = traced->host;
    if (t)
        return fmt::format("<transform name='{}'><matrix value='{}'/></transform>", name,
                           fmt::join(t->m, " "));
    return "";
}

Ref<Scene> prepared(const std::string &xml) {
    Ref<Scene> scene = scene_from(xml);
    Sensor &sensor = *scene->sensors()[0];
    if (sensor.film().width() > 16) { // by default, films are large
        sensor.film().set_size(8, 8);
        sensor.child_changed();
    }
    return scene;
}
Image image_of(const Scene &scene) { return render_image(scene, { .spp = 4 }); }

/// Of a parameter of the object that is called "it". Whether the image is another one.
bool expect_seen(const std::string &xml, const std::string &key) {
    SCOPED_TRACE(key);
    for (bool lower : { false, true }) {
        Ref<Scene> scene = prepared(xml), fresh = prepared(xml);
        SceneParameters params(scene), of_fresh(fresh);
        Image before = image_of(*scene);
        std::vector<Value> held =
            params.traced(); // by somebody: nothing tells that they are given up
        try {
            if (!change(of_fresh, key, lower))
                return false;
        } catch (const UserError &) { // impossible: say, the shutter would close too early
            continue;
        }
        change(params, key, lower);
        Image after = image_of(*scene);
        EXPECT_TRUE(same_pixels(after, image_of(*fresh))) << "an image of what was there before";

        // By the object's own parameters; of shapes and lights, scenes must be told
        Ref<Scene> third = prepared(xml);
        Ref<Object> it = tried_object(third);
        if (it->kind() != "shape" && it->kind() != "emitter") {
            std::vector<Value> held_too = SceneParameters(third).traced();
            image_of(*third);
            SceneParameters own(it);
            change(own, key.substr(3), lower);
            EXPECT_TRUE(same_pixels(after, image_of(*third))) << "by its own parameters";
        }

        // In the file
        std::string element = in_xml(params, key);
        if (!element.empty())
            try {
                EXPECT_TRUE(same_pixels(after, image_of(*prepared(with_parameter(xml, element)))))
                    << "not that of " << element;
            } catch (
                const UserError &e) { // it is called something else there, or given in another way
                std::string said = e.what();
                EXPECT_TRUE(said.find("unknown parameter") != std::string::npos ||
                            said.find("not both") != std::string::npos ||
                            said.find("remove to_world") != std::string::npos)
                    << said;
            }
        return !same_pixels(before, after);
    }
    return false;
}

} // namespace

class BackendChanges : public testing::TestWithParam<Example> {};
UMBEL_EXAMPLES(BackendChanges, "")

TEST_P(BackendChanges, OfParametersAreSeen) {
    std::string xml = scene_of(GetParam());
    for (const char *name : { "interp_rgb", "interp_spectral" }) {
        if (GetParam().plugin->name == "specfilm" && name == std::string("interp_rgb"))
            continue; // needs wavelengths
        VariantScope scope(find_variant(
            GetParam().plugin->name == "stokes" ? std::string(name) + "_polarized" : name));
        SCOPED_TRACE(variant().name);
        SceneParameters params(prepared(xml));
        for (const SceneParameter &p : params.all())
            if (p.key.starts_with("it."))
                expect_seen(xml, p.key);
    }
}

TEST(Changes, OfWeightsOfLightsAreSeen) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string xml =
        scene_xml("<shape type='rectangle'/><emitter type='point' id='it'><point name='position' "
                  "x='0' y='0' z='1'/></emitter><emitter type='point'><point name='position' x='1' "
                  "y='0' z='2'/></emitter>",
                  8, 4);
    EXPECT_TRUE(expect_seen(xml, "it.sampling_weight"));
}

// ---- setters

// Of a mesh whose colour is an attribute, under a sky.
TEST(Changes, OfSettersAreSeen) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string xml;
    for (const Example &e : examples("texture"))
        if (e.plugin->name == "mesh_attribute")
            xml = scene_of(e);
    auto mesh = [](Scene &s) { return std::dynamic_pointer_cast<Mesh>(s.shapes()[0]); };
    const std::map<std::string, std::function<void(Scene &)>> setters = {
        { "Film::set_size", [](Scene &s) { s.sensors()[0]->film().set_size(7, 5); } },
        { "Film::set_crop", [](Scene &s) { s.sensors()[0]->film().set_crop({ 2, 1, 4, 5 }); } },
        { "Sampler::set_sample_count",
          [](Scene &s) { s.sensors()[0]->sampler().set_sample_count(9); } },
        { "Integrator::set_hide_emitters",
          [](Scene &s) { s.integrator()->set_hide_emitters(true); } },
        { "change_setting",
          [](Scene &s) { change_setting(*s.integrator(), "max_depth", int64_t(1)); } },
        { "Shape::set_bsdf",
          [&](Scene &s) {
              mesh(s)->set_bsdf(make_object<BSDF>(Properties("bsdf", "conductor")));
              s.child_changed();
          } },
        { "Mesh::set_attribute",
          [&](Scene &s) {
              mesh(s)->set_attribute("vertex_color", 3, float_array(std::vector<double>(9, 0.75)));
          } },
        { "Shape::add_texture_attribute",
          [&](Scene &s) {
              mesh(s)->remove_attribute("vertex_color");
              mesh(s)->add_texture_attribute(
                  "vertex_color",
                  make_object<Texture>(Properties("texture", "uniform").set("value", 0.75)));
          } },
    };
    for (auto &[name, set] : setters) {
        SCOPED_TRACE(name);
        Ref<Scene> scene = scene_from(xml), fresh = scene_from(xml);
        Image before = render_image(*scene);
        std::vector<Value> held = SceneParameters(scene).traced();
        set(*scene);
        set(*fresh);
        Image after = render_image(*scene);
        EXPECT_FALSE(same_pixels(before, after)) << "nothing has changed";
        EXPECT_TRUE(same_pixels(after, render_image(*fresh)));
    }
}

// Integrators inside another one hide lights as that does.
TEST(Changes, OfHiddenLightsReachIntegratorsInside) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string xml = scene_xml("<emitter type='constant'/>", 4, 1, "moment");
    Ref<Scene> scene = scene_from(xml);
    EXPECT_GT(channel_mean(render_image(*scene), 0).mean, 0.5);
    scene->integrator()->set_hide_emitters(true);
    EXPECT_EQ(channel_mean(render_image(*scene), 0).mean, 0);
}

// One texture in place of another, which somebody still holds.
TEST(Changes, OfAttributesAreSeen) {
    VariantScope scope(find_variant("interp_rgb"));
    auto grey = [](double v) {
        return make_object<Texture>(Properties("texture", "uniform").set("value", v));
    };
    Ref<Scene> scene = scene_from(
        scene_xml("<shape type='sphere'><bsdf type='diffuse'><texture name='reflectance' "
                  "type='mesh_attribute'><string name='name' value='vertex_grey'/></texture></bsdf>"
                  "</shape><emitter type='constant'/>",
                  8, 4));
    Shape &shape = *scene->shapes()[0];
    Ref<Texture> dark = grey(0.25), bright = grey(0.75);
    auto seen = [&](const Ref<Texture> &texture) {
        shape.add_texture_attribute("vertex_grey", texture);
        return channel_mean(render_image(*scene), 0).mean;
    };
    double before = seen(dark);
    EXPECT_GT(seen(bright), before * 1.2);
    EXPECT_EQ(seen(dark), before);
}

} // namespace umbel
