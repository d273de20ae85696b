// render/scene.cpp: loading a scene, and packing what rays may hit.
#include "render/scene.h"
#include "core/host_array.h"
#include "render/accelerator.h"
#include "render/integrator.h"
#include "render/subsurface.h"
#include <algorithm>
#include <cmath>
#include <malloc.h>

namespace umbel {

Scene::Scene() : m_variant(variant()) {}
Scene::~Scene() = default;

void Scene::declare(Params &p) {
    p.objects("shape", m_shapes).doc("Surfaces");
    p.objects("sensor", m_sensors).doc("Cameras");
    p.choice("light_sampler", m_light_choice.kind, "auto", LightSamplerNames)
        .doc("How paths choose the light to connect to: `uniform`, as sampling weights say; "
             "`power`, times what each "
             "light sends out; `tree`, by what may arrive at the place; `auto` is a tree from 16 "
             "lights on")
        .fixed();
    p.object("integrator", m_integrator).doc("The method of rendering; `path` if absent");
    if (!p.loading()) {
        p.objects("emitter", m_free_emitters).doc("Lights that are not part of a shape");
        return;
    }
    // Area lights may stand alone in a file, for shapes to refer to.
    for (const Property &property : p.properties()->all()) {
        const PropertiesPtr *o = property.object();
        if (!o)
            continue;
        property.queried = true; // definitions that nothing refers to are not made at all
        if ((*o)->kind == "emitter" && (*o)->type != "area") {
            m_free_emitters.push_back(p.loader()->load_as<Emitter>(*o));
            m_described.push_back(m_free_emitters.back());
        } else if ((*o)->kind == "shape")
            m_described.push_back(p.loader()->load(*o));
    }
    if (!m_integrator)
        m_integrator =
            p.loader()->load_as<Integrator>(std::make_shared<Properties>("integrator", "path"));
}

void Scene::configure() {
    collect_surfaces();
    collect_objects();
    build_arena();
    m_light_choice.update(m_emitters, *this);
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
}

void Scene::child_changed() {
    if (revisions() != m_revisions) {
        collect_objects(); // a shape may have another BSDF now
        build_arena();
    }
    m_light_choice.update(m_emitters, *this);
    prepare_subsurfaces();
}

std::vector<int> Scene::revisions() const {
    std::vector<int> out;
    for (const Ref<Shape> &s : m_shapes)
        out.push_back(s->revision());
    for (const Shape *s : m_surfaces)
        out.push_back(s->revision());
    return out;
}

void Scene::collect_surfaces() {
    std::vector<const ShapeGroup *> groups;
    for (const Ref<Shape> &s : m_shapes) {
        if (dynamic_cast<const ShapeGroup *>(s.get()))
            continue;
        auto *instance = dynamic_cast<const Instance *>(s.get());
        if (!instance) {
            m_surfaces.push_back(s.get());
            continue;
        }
        auto at = std::find(groups.begin(), groups.end(), &instance->group());
        m_placed.push_back({ uint32_t(at - groups.begin()) + 1, instance });
        if (at == groups.end())
            groups.push_back(&instance->group());
    }
    m_parts.push_back(m_surfaces.size());
    for (const ShapeGroup *g : groups) {
        for (const Ref<Shape> &s : g->members())
            m_surfaces.push_back(s.get());
        m_parts.push_back(m_surfaces.size());
    }
}

void Scene::collect_objects() {
    m_bsdfs = {};
    m_emitters = {};
    m_environment = 0;
    for (const Ref<Emitter> &e : m_free_emitters) {
        uint32_t number = m_emitters.add(e.get());
        if (e->is_environment()) {
            if (m_environment)
                e->complain("a scene has one environment at most, and this is the second");
            m_environment = number;
        }
    }
    std::vector<uint32_t> table = { 0, 0, 0, 0 };
    for (const Shape *s : m_surfaces) {
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
    for (const Shape *s : m_surfaces) {
        m_has_null |= s->bsdf()->has(BSDFFlags::Null);
        table.insert(table.end(), { m_media.add(s->interior()), m_media.add(s->exterior()),
                                    m_subsurfaces.add(s->subsurface()), 0 });
    }
    for (const Ref<Sensor> &s : m_sensors)
        m_media.add(s->medium());
    for (const Emitter *e : m_emitters.objects())
        m_media.add(e->medium());
    m_behind_table = {};
    if (!m_media.empty() || !m_subsurfaces.empty())
        m_behind_table = jit::copy(table);
}

void Scene::prepare_subsurfaces() const {
    for (const Shape *s : m_surfaces)
        if (s->subsurface())
            s->subsurface()->prepare(*this, *s);
}

void Scene::build_arena() {
    m_bounds = BoundingBox();
    m_revisions = revisions();
    for (const Ref<Shape> &s : m_shapes)
        if (!dynamic_cast<const ShapeGroup *>(s.get()))
            m_bounds.extend(s->bounds());
    for (const Emitter *e : m_emitters.objects())
        const_cast<Emitter *>(e)->set_scene(m_bounds);
    m_analytic = {};
    m_analytic_shapes.clear();
    m_has_normals = false;
    std::vector<uint32_t> first_prims = { 0, 0 };
    Geometry g;
    g.is_rebuilt = m_accelerator != nullptr;
    std::vector<double> records, normals;
    for (const Shape *s : m_surfaces)
        if (auto *mesh = dynamic_cast<const Mesh *>(s))
            m_has_normals |= !mesh->normals.empty();
    size_t number = 0;
    for (size_t end : m_parts) {
        Geometry::Part part{ uint32_t(g.indices.size() / 3), 0, uint32_t(g.analytic.size()), 0 };
        for (; number < end; ++number) {
            const Shape *shape = m_surfaces[number];
            if (auto *analytic = dynamic_cast<const AnalyticShape *>(shape)) {
                first_prims.insert(first_prims.end(), { uint32_t(g.analytic.size()), 0 });
                m_analytic.append(analytic);
                m_analytic_shapes.push_back(uint32_t(number + 1));
                g.analytic.push_back(analytic);
            } else {
                auto &mesh = dynamic_cast<const Mesh &>(*shape);
                first_prims.insert(first_prims.end(),
                                   { uint32_t(g.indices.size() / 3), mesh.is_inside_out() });
                add_mesh(mesh, uint32_t(number + 1), g, records, normals);
            }
        }
        part.triangles = uint32_t(g.indices.size() / 3) - part.first_triangle;
        part.analytic = uint32_t(g.analytic.size()) - part.first_analytic;
        g.parts.push_back(part);
    }
    place_instances(g);
    m_first_prims = jit::copy(first_prims);
    m_has_triangles = !records.empty();
    if (m_has_triangles)
        m_arena.triangles = float_array(records);
    if (m_has_normals)
        m_arena.normals = float_array(normals);
    follow_meshes();
    if (!m_analytic_shapes.empty())
        m_analytic_numbers = jit::copy(m_analytic_shapes);
    m_accelerator =
        m_variant.double_precision ? make_bvh_accelerator(g) : make_embree_accelerator(g);
}

void Scene::place_instances(Geometry &g) {
    m_instances = {};
    std::optional<TimeInterval> interval; // in which anything moves
    for (auto &[part, instance] : m_placed)
        if (auto m = instance->motion())
            interval = interval ? TimeInterval{ std::min(interval->begin, m->begin),
                                                std::max(interval->end, m->end) }
                                : *m;
    TimeInterval all = interval.value_or(TimeInterval());
    std::vector<uint32_t> numbers = { 0 };
    for (auto &[part, instance] : m_placed) {
        numbers.push_back(instance->global_number());
        TransformSteps steps = instance->steps(all);
        m_instances.add(steps);
        g.instances.push_back({ part, steps, transform_bounds(steps, instance->group().bounds()) });
    }
    m_instances.finish(all);
    m_instance_numbers = jit::copy(numbers);
    g.table = &m_instances;
}

void Scene::add_mesh(const Mesh &mesh, uint32_t number, Geometry &g, std::vector<double> &records,
                     std::vector<double> &normals) const {
    uint32_t first = uint32_t(g.positions.size() / 3);
    g.positions.insert(g.positions.end(), mesh.positions.begin(), mesh.positions.end());
    double sign = mesh.flips_normals() ? -1 : 1;
    for (size_t t = 0; t < mesh.triangle_count(); ++t) {
        const uint32_t v[3] = { mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2) };
        for (uint32_t i : v)
            g.indices.push_back(first + i);
        auto p0 = mesh.vertex(v[0]), p1 = mesh.vertex(v[1]), p2 = mesh.vertex(v[2]);
        records.insert(records.end(), p0.begin(), p0.end());
        for (auto &p : { p1, p2 })
            for (size_t j = 0; j < 3; ++j)
                records.push_back(p[j] - p0[j]);
        for (size_t k = 0; k < 3; ++k)
            for (size_t j = 0; j < 2; ++j)
                records.push_back(mesh.uvs.empty() ? double(k == j + 1) : mesh.uvs[2 * v[k] + j]);
        records.push_back(double(number));
        if (!m_has_normals)
            continue;
        auto n = mesh.area_normal(t);
        double length = std::hypot(n[0], n[1], n[2]) * (mesh.is_inside_out() ? -1 : 1);
        for (size_t k = 0; k < 3; ++k)
            for (size_t j = 0; j < 3; ++j)
                normals.push_back(mesh.normals.empty() ? (length != 0 ? n[j] / length : 0)
                                                       : sign * mesh.normals[3 * v[k] + j]);
        normals.insert(normals.end(), 3, 0.0);
    }
}

// Puts what scripts follow in place of the numbers of the host.
void Scene::follow_meshes() {
    m_followed = {};
    uint32_t first = 0;
    for (const Shape *s : m_surfaces) {
        auto *mesh = dynamic_cast<const Mesh *>(s);
        if (!mesh)
            continue;
        uint32_t begin = first, n = uint32_t(mesh->triangle_count());
        first += n;
        bool p = mesh->follows_positions(), uv = mesh->follows_uvs(),
             normals = mesh->follows_normals();
        if (n == 0 || !(p || uv || normals))
            continue;
        if (!m_followed.triangles.valid())
            m_followed = m_arena;
        UInt32 lane(jit::lane_index(n)), to = (lane + UInt32(begin)) * UInt32(16u);
        auto put = [](Float &arena, const UInt32 &base, uint32_t at, const Float &v) {
            Value target = arena;
            jit::scatter(target, v, base + UInt32(at), Mask(true));
            arena = Float(target);
        };
        UInt32 corner[3];
        for (uint32_t k = 0; k < 3; ++k)
            corner[k] = mesh->corner(lane, k);
        auto number = [&](const Value &from, uint32_t k, uint32_t stride, uint32_t j) {
            return Float(jit::gather(from, corner[k] * UInt32(stride) + UInt32(j), Mask(true)));
        };
        for (uint32_t k = 0; k < 3; ++k) {
            for (uint32_t j = 0; p && j < 3; ++j) {
                Float v = number(mesh->positions_array(), k, 3, j);
                put(m_followed.triangles, to, 3 * k + j,
                    k ? v - number(mesh->positions_array(), 0, 3, j) : v);
            }
            for (uint32_t j = 0; uv && j < 2; ++j)
                put(m_followed.triangles, to, 9 + 2 * k + j, number(mesh->uvs_array(), k, 2, j));
            UInt32 row = (lane + UInt32(begin)) * UInt32(12u);
            for (uint32_t j = 0; normals && j < 3; ++j) {
                Float v = number(mesh->normals_array(), k, 3, j);
                put(m_followed.normals, row, 3 * k + j, mesh->flips_normals() ? -v : v);
            }
        }
    }
    if (m_followed.triangles.valid())
        jit::eval(m_followed.triangles);
    if (m_followed.normals.valid())
        jit::eval(m_followed.normals);
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
#ifdef __GLIBC__
    malloc_trim(0); // properties lay together, apart from what was made of them
#endif
    return scene;
}

UMBEL_PLUGIN(Scene, Scene, "scene")
} // namespace umbel
