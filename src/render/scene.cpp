// render/scene.cpp: loading a scene.
#include "render/scene.h"
#include "core/host_array.h"
#include "core/warning.h"
#include "render/integrator.h"
#include "render/invalid_samples.h"
#include "render/lost_rays.h"
#include "render/openings.h"
#include "render/overlapping_media.h"
#include "render/sealed_media.h"
#include "render/shape_list.h"
#include "render/subsurface.h"
#include <algorithm>
#include <malloc.h>
#include <set>

namespace umbel {

Scene::Scene() : m_variant(variant()) {
    tell_lost_rays_anew();
    tell_invalid_samples_anew();
}
Scene::~Scene() = default;

// Definitions that nothing refers to are not made, but files that they name must exist.
static void check_files(const Properties &p, std::set<const Properties *> &seen) {
    if (p.instance || !seen.insert(&p).second)
        return;
    if (const Property *file = p.find("filename"); file && std::get_if<std::string>(&file->value))
        p.get_file("filename");
    for (const Property &property : p.all())
        if (const PropertiesPtr *o = property.object(); o && *o)
            check_files(**o, seen);
}

// The object of a nested record. Where the loader consumes those, it is let go, unless others refer to it, too: of a million shapes,
// never are all there twice.
static Ref<Object> take(Params &p, const Property &property) {
    property.queried = true;
    Ref<Object> object = p.loader()->load(*property.object());
    if (p.loader()->consumes) // then they are its to change
        const_cast<Property &>(property).value = false;
    return object;
}

void Scene::declare(Params &p) {
    p.example(
        "<integrator type='path'/><sensor type='perspective'><transform name='to_world'>"
        "<lookat origin='3,3,6' target='0,0,0' up='0,1,0'/></transform></sensor>"
        "<emitter type='point'><point name='position' x='2' y='3' z='2'/></emitter>"
        "<emitter type='constant'><rgb name='radiance' value='.3'/></emitter><shape type='cube'/>");
    if (p.traversing())
        own_bsdfs();
    if (!p.loading())
        p.objects("shape", m_shapes).doc("Surfaces");
    p.objects("sensor", m_sensors).doc("Cameras");
    p.choice("light_sampler", m_light_choice.kind, "auto", LightSamplerNames)
        .doc("How paths choose the light to connect to: `uniform`, as sampling weights say; "
             "`power`, times what each "
             "light sends out; `tree`, by what may arrive at the place; `auto` is a tree from 16 "
             "lights on")
        .fixed();
    p.boolean("embree_use_robust_intersections", m_robust, false)
        .doc("Whether tracing rays takes more time to see to it that none passes between "
             "neighbouring triangles, by Embree or otherwise");
    p.object("integrator", m_integrator).doc("The method of rendering; `path` if absent");
    if (!p.loading()) {
        p.objects("emitter", m_free_emitters).doc("Lights that are not part of a shape");
        return;
    }
    const std::vector<Property> &all = p.properties()->all();
    auto is_shape = [](const Property &property) {
        return property.object() && (*property.object())->kind == Shape::Kind;
    };
    auto count = size_t(std::count_if(all.begin(), all.end(), is_shape));
    m_shapes.reserve(count);
    m_described.reserve(count);
    std::vector<Ref<Sensor>> sensors;
    for (const Property &property : all) {
        const PropertiesPtr *o = property.object();
        if (!o)
            continue;
        property.queried = true; // definitions that nothing refers to are not made at all
        if (is_shape(property)) {
            auto shape = std::dynamic_pointer_cast<Shape>(take(p, property));
            check(shape != nullptr);
            if (Ref<Sensor> s = shape->sensor())
                sensors.push_back(std::move(s));
            m_shapes.push_back(shape);
            m_described.push_back(std::move(shape));
        } else if ((*o)->kind == "emitter" && (*o)->type != "area") {
            // Area lights may stand alone in a file, for shapes to refer to
            m_free_emitters.push_back(p.loader()->load_as<Emitter>(*o));
            m_described.push_back(m_free_emitters.back());
        } else if ((*o)->kind == "sensor")
            sensors.push_back(p.loader()->load_as<Sensor>(*o));
    }
    m_sensors = std::move(sensors); // those of shapes among them
    std::set<const Properties *> seen;
    for (const Property &property : p.properties()->all())
        if (const PropertiesPtr *o = property.object(); o && (*o)->kind != "shape")
            check_files(**o, seen);
    if (!m_integrator)
        m_integrator =
            p.loader()->load_as<Integrator>(std::make_shared<Properties>("integrator", "path"));
}

void Scene::configure() {
    m_launches.clear();
    // What lists stand for takes their places
    expand(m_shapes);
    std::vector<Ref<Object>> described;
    for (const Ref<Object> &o : m_described) {
        if (!dynamic_cast<const ShapeList *>(o.get())) {
            described.push_back(o);
            continue;
        }
        std::vector<Ref<Shape>> members = { std::dynamic_pointer_cast<Shape>(o) };
        expand(members);
        for (const Ref<Shape> &s : members) {
            described.push_back(s);
            if (s->sensor())
                m_sensors.push_back(s->sensor());
        }
    }
    m_described = std::move(described);
    warn_about_openings(m_shapes);
    m_arena.collect(m_shapes);
    collect_objects();
    build_arena();
    m_light_choice.update(m_emitters, *this, bounds());
    prepare_subsurfaces();
}

std::vector<Ref<Emitter>> Scene::lights() const {
    std::vector<Ref<Emitter>> out;
    for (const Ref<Object> &o : m_described) {
        auto shape = std::dynamic_pointer_cast<Shape>(o);
        Ref<Emitter> e = shape ? shape->emitter() : std::dynamic_pointer_cast<Emitter>(o);
        if (e)
            out.push_back(std::move(e));
    }
    return out;
}

void Scene::release() {
    m_described.clear();
    m_shapes.clear();
    m_free_emitters.clear();
    m_sensors.clear();
    m_integrator.reset();
    VariantScope scope(m_variant);
    configure(); // nothing refers to what is gone: whoever still asks meets nothing
}

// Each shape gets a material that can be changed on its own.
void Scene::own_bsdfs() {
    bool fresh = false;
    for (const Shape *s : surfaces())
        fresh |= const_cast<Shape *>(s)->own_bsdf();
    if (!fresh)
        return;
    m_launches.clear();
    collect_objects();
}

void Scene::child_changed() {
    m_launches.clear();
    bool is_outdated = m_arena.is_outdated();
    auto is_new = [&](const Shape *s) { return !m_bsdfs.number_of(s->bsdf().get()); };
    // A shape may have another BSDF now, without having moved
    if (is_outdated || std::any_of(surfaces().begin(), surfaces().end(), is_new))
        collect_objects();
    else if (!m_media.empty() && may_seal_media(surfaces())) // lights may have moved
        collect_media();
    if (is_outdated)
        build_arena();
    m_light_choice.update(m_emitters, *this, bounds());
    prepare_subsurfaces();
}

void Scene::collect_objects() {
    m_bsdfs = {};
    m_emitters = {};
    m_environment = 0;
    for (const Ref<Emitter> &e : lights()) {
        uint32_t number = m_emitters.add(e.get());
        if (e->is_environment()) {
            if (m_environment)
                e->complain("a scene has one environment at most, and this is the second");
            m_environment = number;
        }
    }
    std::vector<uint32_t> table = { 0, 0, 0, 0 };
    for (const Shape *s : m_arena.surfaces()) {
        table.push_back(m_bsdfs.add(s->bsdf().get()));
        table.push_back(m_emitters.add(s->emitter().get()));
        table.push_back(s->bsdf()->flags());
        table.push_back(s->global_number());
    }
    m_shape_table = jit::copy(table);
    collect_media();
}

void Scene::collect_media() {
    m_media = {};
    m_subsurfaces = {};
    m_has_null = false;
    std::vector<uint32_t> table = { 0, 0, 0, 0 };
    for (const Shape *s : surfaces()) {
        m_has_null |= s->bsdf()->has(BSDFFlags::Null);
        table.insert(table.end(), { m_media.add(s->interior()), m_media.add(s->exterior()),
                                    m_subsurfaces.add(s->subsurface()), 0 });
    }
    for (const Ref<Sensor> &s : m_sensors)
        m_media.add(s->medium());
    for (const Emitter *e : m_emitters.objects())
        m_media.add(e->medium());
    m_overlaps = OverlappingMedia::find(surfaces(), m_shapes, m_sensors, m_media);
    for (size_t i = 0; m_overlaps && i < surfaces().size(); ++i)
        table[4 * i + 7] = m_overlaps->first_region_of(i);
    if (!m_overlaps && may_seal_media(surfaces())) { // behind all shapes: which media are
        std::vector<uint32_t> sealed =
            sealed_media(surfaces(), m_shapes, m_sensors, m_emitters, m_media);
        table.insert(table.end(), sealed.begin(), sealed.end());
        table.resize((table.size() + 3) / 4 * 4);
    }
    m_behind_table = {};
    if (!m_media.empty() || !m_subsurfaces.empty())
        m_behind_table = jit::copy(table);
}

void Scene::prepare_subsurfaces() const {
    for (const Shape *s : surfaces())
        if (s->subsurface())
            s->subsurface()->prepare(*this, *s);
}

void Scene::build_arena() {
    m_arena.build(m_variant.double_precision, m_robust);
    auto place = [&](Endpoint &e) {
        e.set_scene(m_arena.bounds());
        if (double most = farthest(e.bounds()); !(most <= LargestCoordinate))
            warn(fmt::format("{}: it is at {:g}, and rays that begin beyond {:g} hit nothing",
                             e.where(), most, LargestCoordinate));
    };
    for (const Ref<Emitter> &e : lights())
        place(*e);
    for (const Ref<Sensor> &s : m_sensors)
        place(*s);
}

Ref<Scene> load_scene(const Properties &root) {
    Loader loader;
    return loader.load_as<Scene>(std::make_shared<Properties>(root));
}

Ref<Scene> load_scene(Properties &&root) {
    Ref<Scene> scene;
    {
        Loader loader;
        loader.consumes = true;
        scene = loader.load_as<Scene>(std::make_shared<Properties>(std::move(root)));
    }
    jit::trim();
#ifdef __GLIBC__
    malloc_trim(0); // properties lay together, apart from what was made of them
#endif
    return scene;
}

UMBEL_PLUGIN(Scene, Scene, "scene")
} // namespace umbel
