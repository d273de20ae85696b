// render/shape.cpp: what all shapes share.
#include "render/shape.h"
#include "core/host_array.h"
#include "core/traverse.h"
#include "render/colour_value.h"
#include "render/emitter.h"
#include "render/instance.h"
#include "render/outline.h"
#include "render/sensor.h"
#include "render/subsurface.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

namespace umbel {

// ---- all shapes of the process

namespace {

struct Registry {
    std::mutex mutex;
    std::vector<Shape *> shapes;                        // by global number less one; null: free
    std::vector<uint32_t> free;                         // numbers
    std::map<const Shape *, double> silhouette_weights; // of those that say so
    std::atomic<uint64_t> epoch = 0;
};
Registry &registry() {
    static Registry r;
    return r;
}

} // namespace

Shape::Shape() : m_variant(variant()), m_context(&variant().context()) {
    Registry &r = registry();
    std::lock_guard lock(r.mutex);
    if (r.free.empty()) {
        r.shapes.push_back(nullptr);
        r.free.push_back(uint32_t(r.shapes.size()));
    }
    m_global_number = r.free.back();
    r.free.pop_back();
    r.shapes[m_global_number - 1] = this;
    ++r.epoch;
}

Shape::~Shape() {
    Registry &r = registry();
    std::lock_guard lock(r.mutex);
    r.shapes[m_global_number - 1] = nullptr;
    r.free.push_back(m_global_number);
    r.silhouette_weights.erase(this);
    ++r.epoch;
}

double silhouette_sampling_weight(const Shape &shape) {
    Registry &r = registry();
    std::lock_guard lock(r.mutex);
    auto it = r.silhouette_weights.find(&shape);
    return it == r.silhouette_weights.end() ? 1 : it->second;
}

// Where it can be changed: it stays there as long as the shape.
static double &own_silhouette_weight(const Shape &shape) {
    Registry &r = registry();
    std::lock_guard lock(r.mutex);
    return r.silhouette_weights.try_emplace(&shape, 1.0).first->second;
}

bool Shape::is_at_home() const {
    return &m_variant == &variant() && m_context == &variant().context();
}

std::vector<Shape *> live_shapes() {
    Registry &r = registry();
    std::lock_guard lock(r.mutex);
    std::vector<Shape *> out;
    for (Shape *s : r.shapes)
        if (s && s->is_at_home())
            out.push_back(s);
    return out;
}

void Shape::attributes_changed() { ++registry().epoch; }

uint64_t shapes_epoch() { return registry().epoch; }

// ---- parameters

// Of shapes that name no material; black where they emit light.
static Ref<BSDF> default_bsdf(bool emits) {
    Properties material("bsdf", "diffuse");
    if (emits)
        material.set("reflectance", 0.0);
    return make_object<BSDF>(std::move(material));
}

// One for all of them in a variant and context: nobody changes it. See own_bsdf().
static Ref<BSDF> common_bsdf(bool emits) {
    static std::mutex mutex;
    static std::map<std::tuple<const Variant *, const jit::Context *, bool>, std::weak_ptr<BSDF>>
        all;
    std::lock_guard lock(mutex);
    std::weak_ptr<BSDF> &known = all[{ &variant(), &variant().context(), emits }];
    Ref<BSDF> bsdf = known.lock();
    if (!bsdf)
        known = bsdf = default_bsdf(emits);
    return bsdf;
}

void Shape::declare(Params &p) {
    declare_to_world(p).doc("From the shape's own coordinates to those of the scene");
    p.boolean("flip_normals", m_flip_normals, false).doc("Turns the surface inside out");
    if (p.traversing()) // to be changed
        own_bsdf();
    p.object("bsdf", m_bsdf)
        .doc("How the surface scatters light; if absent, a diffuse reflector of 0.5, or black "
             "where it emits light");
    p.object("emitter", m_emitter).doc("Makes the surface an area light");
    if (dynamic_cast<const Mesh *>(this) || dynamic_cast<const HasOutline *>(this)) {
        double weight = 1;
        p.number("silhouette_sampling_weight",
                 p.traversing() ? own_silhouette_weight(*this) : weight, 1, 0)
            .doc("How often its silhouettes are chosen, relative to those of other shapes, for "
                 "derivatives of what comes into sight; 0: never, and they are lacking");
        if (p.loading() && weight != 1)
            own_silhouette_weight(*this) = weight;
    }
    struct {
        Ref<Medium> interior, exterior;
        Ref<Subsurface> subsurface;
        Ref<Sensor> sensor;
    } behind;
    if (m_rare)
        behind = { m_rare->interior, m_rare->exterior, m_rare->subsurface, m_rare->sensor };
    p.named_object(p.traversing() ? "interior_medium" : "interior", behind.interior)
        .doc("The medium behind the surface, where its normal does not point");
    p.named_object(p.traversing() ? "exterior_medium" : "exterior", behind.exterior)
        .doc("The medium in front of it");
    p.object("subsurface", behind.subsurface).doc("How light travels below the surface");
    p.object("sensor", behind.sensor).doc("Measures the light that falls on the surface");
    if (p.traversing() && m_rare)
        for (auto &[name, texture] : m_rare->attributes)
            p.child(name.c_str(), texture);
    if (!p.loading())
        return;
    if (behind.interior || behind.exterior || behind.subsurface || behind.sensor) {
        Rare &r = rare();
        r.interior = behind.interior;
        r.exterior = behind.exterior;
        r.subsurface = behind.subsurface;
        r.sensor = behind.sensor;
    }
    // Attributes: textures of any name, and colours of names that cannot be those of parameters
    for (const Property &property : p.properties()->all())
        if (const PropertiesPtr *o = property.object(); o && (*o)->kind == Texture::Kind) {
            property.queried = true;
            set_texture(property.name, p.loader()->load_as<Texture>(*o));
        } else if (auto *colour = std::get_if<SpectrumData>(&property.value);
                   colour &&
                   (property.name.starts_with("vertex_") || property.name.starts_with("face_"))) {
            property.queried = true;
            SpectrumData reflectance = *colour;
            if (reflectance.intent == SpectrumData::Intent::Unspecified)
                reflectance.intent = SpectrumData::Intent::Reflectance;
            set_texture(property.name, std::dynamic_pointer_cast<Texture>(p.loader()->load_spectrum(
                                           reflectance, *p.properties())));
        }
    if (!m_bsdf) {
        m_bsdf = common_bsdf(m_emitter != nullptr);
        m_has_common_bsdf = true;
    }
    if (m_emitter)
        m_emitter->attach(this);
    if (behind.sensor)
        behind.sensor->attach(this);
}

bool Shape::own_bsdf() {
    // In another thread's context nothing can be changed
    VariantScope scope(m_variant);
    if (!m_has_common_bsdf || !is_at_home())
        return false;
    m_bsdf = default_bsdf(m_emitter != nullptr);
    m_has_common_bsdf = false;
    note_change(*this);
    return true;
}

void Shape::changed(std::span<const std::string> names) {
    if (m_rare && m_rare->to_world.valid() &&
        std::find(names.begin(), names.end(), "to_world") != names.end()) {
        std::vector<double> m = read_floats(Float(m_rare->to_world.detached()));
        std::copy_n(m.begin(), 16, m_to_world.m.begin());
        if (!m_to_world.inverse())
            complain("to_world is singular: it squeezes space into a plane, a line or a point");
    }
    configure();
    ++m_revision;
}

Param &Shape::declare_to_world(Params &p) {
    AnimationData keys;
    Param &param = p.animation("to_world", keys);
    param.fixed();
    if (!is_moving() && follows_transform()) {
        if (!p.loading())
            param.slot = TransformSlot{ &rare().to_world, &m_to_world };
        param.differentiable();
    }
    if (!p.loading())
        return param;
    m_to_world = keys.transforms[0];
    if (keys.transforms.size() == 1)
        return param;
    try {
        m_animation = std::make_unique<AnimatedTransform>(keys);
    } catch (const UserError &e) {
        fail("{}: to_world: {}", p.properties()->describe(), e.what());
    }
    if (m_animation->is_static()) {
        m_animation.reset();
        return param;
    }
    m_to_world = TransformData();
    set_interval(*Shape::motion());
    return param;
}

void Shape::set_bsdf(Ref<BSDF> bsdf) {
    m_bsdf = std::move(bsdf);
    m_has_common_bsdf = false;
    ++m_revision;
    note_change(*this);
}

// ---- attributes

const Ref<Texture> *Shape::find_texture(const std::string &name) const {
    if (!m_rare)
        return nullptr;
    auto it = m_rare->attributes.find(name);
    return it == m_rare->attributes.end() ? nullptr : &it->second;
}

void Shape::set_texture(const std::string &name, Ref<Texture> texture) {
    rare().attributes[name] = std::move(texture);
}

bool Shape::has_attribute(const std::string &name) const { return find_texture(name); }

void Shape::add_texture_attribute(const std::string &name, Ref<Texture> texture) {
    set_texture(name, std::move(texture));
    attributes_changed();
    note_change(*this);
}

const Ref<Texture> &Shape::texture_attribute(const std::string &name) const {
    const Ref<Texture> *texture = find_texture(name);
    if (!texture)
        complain("texture_attribute(): attribute {} doesn't exist.", name);
    return *texture;
}

void Shape::remove_attribute(const std::string &name) {
    if (!m_rare || !m_rare->attributes.erase(name))
        complain("remove_attribute(): Attribute \"{}\" not found.", name);
    attributes_changed();
    note_change(*this);
}

Spectrum Shape::eval_attribute(const std::string &name, const SurfaceInteraction &si,
                               const Mask &active) const {
    const Ref<Texture> *texture = find_texture(name);
    return texture ? (*texture)->eval(si, active) : Spectrum(0);
}

std::vector<Float> Shape::eval_attribute_x(const std::string &name, const SurfaceInteraction &si,
                                           const Mask &active) const {
    const Ref<Texture> *texture = find_texture(name);
    if (!texture)
        return { Float(0) };
    Vector3 v = (*texture)->eval_3(si, active);
    return { v.x, v.y, v.z };
}

Float Shape::eval_attribute_1(const std::string &name, const SurfaceInteraction &si,
                              const Mask &active) const {
    if (const Ref<Texture> *texture = find_texture(name))
        return (*texture)->eval_1(si, active);
    std::vector<Float> v = eval_attribute_x(name, si, active);
    return v.size() == 3 ? rgb_luminance({ v[0], v[1], v[2] }) : v[0];
}

Vector3 Shape::eval_attribute_3(const std::string &name, const SurfaceInteraction &si,
                                const Mask &active) const {
    if (const Ref<Texture> *texture = find_texture(name))
        return (*texture)->eval_3(si, active);
    std::vector<Float> v = eval_attribute_x(name, si, active);
    return v.size() == 3 ? Vector3(v[0], v[1], v[2]) : Vector3(v[0]);
}

Vector2 Shape::eval_attribute_1_grad(const std::string &name, const SurfaceInteraction &si,
                                     const Mask &active) const {
    const Ref<Texture> *texture = find_texture(name);
    return texture ? (*texture)->eval_1_grad(si, active) : Vector2{ Float(0), Float(0) };
}

// ---- motion

std::optional<TimeInterval> Shape::motion() const {
    if (!is_moving())
        return {};
    return TimeInterval{ m_animation->keys().times.front(), m_animation->keys().times.back() };
}

// Whether the scene places it, although it stands still.
static bool is_instance(const Shape &s) { return dynamic_cast<const Instance *>(&s); }

TransformSteps Shape::steps(const TimeInterval &scene) const {
    if (m_animation)
        return steps_of(*m_animation, scene);
    return { is_instance(*this) ? m_to_world : TransformData() };
}

BoundingBox Shape::swept_bounds() const {
    return m_animation || is_instance(*this)
               ? transform_bounds(steps(motion().value_or(TimeInterval())), bounds())
               : bounds();
}

void Shape::set_interval(const TimeInterval &scene) {
    if (!is_moving())
        return;
    auto where = std::make_unique<InstanceTable>();
    where->add(steps(scene));
    where->finish(scene);
    rare().where = std::move(where);
}

// ---- sampling

PositionSample Shape::sample_position(const Float &time, const Vector2 &u,
                                      const Mask &active) const {
    PositionSample ps = sample_rest_position(time, u, active);
    if (!is_moving())
        return ps;
    InstanceTransform place = m_rare->where->at(UInt32(1u), time, active);
    ps.p = place.point(ps.p);
    ps.n = place.normal(ps.n);
    ps.pdf = ps.pdf / place.area_factor(ps.n);
    return ps;
}

Float Shape::pdf_position(const PositionSample &ps, const Mask &active) const {
    Float rest = m_inv_area;
    return is_moving() ? rest / m_rare->where->at(UInt32(1u), ps.time, active).area_factor(ps.n)
                       : rest;
}

DirectionSample Shape::sample_direction(const Interaction &it, const Vector2 &u,
                                        const Mask &active) const {
    return is_moving() ? Shape::sample_rest_direction(it, u, active)
                       : sample_rest_direction(it, u, active);
}

Float Shape::pdf_direction(const Interaction &it, const DirectionSample &ds,
                           const Mask &active) const {
    return is_moving() ? Shape::pdf_rest_direction(it, ds, active)
                       : pdf_rest_direction(it, ds, active);
}

// By area, moving or not.
DirectionSample Shape::sample_rest_direction(const Interaction &it, const Vector2 &u,
                                             const Mask &active) const {
    DirectionSample ds;
    static_cast<PositionSample &>(ds) = sample_position(it.time, u, active);
    Vector3 d = ds.p - it.p;
    Float dist2 = squared_norm(d);
    ds.dist = sqrt(dist2);
    ds.d = d / ds.dist;
    // From area to solid angle; a grazing direction carries nothing.
    Float cosine = abs_dot(ds.d, ds.n);
    ds.pdf = select(cosine > 0, ds.pdf * dist2 / cosine, Float(0));
    ds.emitter = UInt32(0u);
    return ds;
}

Float Shape::pdf_rest_direction(const Interaction &, const DirectionSample &ds,
                                const Mask &active) const {
    Float cosine = abs_dot(ds.d, ds.n);
    return select(cosine > 0, pdf_position(ds, active) * sqr(ds.dist) / cosine, Float(0));
}

} // namespace umbel
