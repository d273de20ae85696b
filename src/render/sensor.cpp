// render/sensor.cpp: what all sensors share.
#include "render/sensor.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "render/spectral_samples.h"
#include "render/texture.h"
#include <algorithm>

namespace umbel {

void Sensor::declare(Params &p) {
    Param &place = p.animation("to_world", m_to_world)
                       .doc("From camera space (looking along +z, y up) to the scene's");
    // A ray of several sensors does not know which one it left
    if (rays_follow_to_world() && !m_film_of_all) {
        place.differentiable();
        if (m_to_world.transforms.size() == 1)
            place.slot = TransformSlot{ &m_to_world_array, &m_to_world.transforms[0] };
    }
    declare_measurement(p);
}

void Sensor::changed(std::span<const std::string> names) {
    auto is_new = [&](const char *name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_new("shutter_open_time"))
        m_shutter_close = m_shutter_open + m_shutter_time;
    if (m_to_world_array.valid() && is_new("to_world")) {
        TransformData &place = m_to_world.transforms[0];
        std::vector<double> m = read_floats(Float(m_to_world_array.detached()));
        std::copy_n(m.begin(), 16, place.m.begin());
        if (!place.inverse())
            complain("to_world is singular: it squeezes space into a plane, a line or a point");
    }
    configure();
}

// Not in the header, where each library would have one of its own.
static thread_local int t_followed_answers = 0;
Sensor::FollowedAnswers::FollowedAnswers() { ++t_followed_answers; }
Sensor::FollowedAnswers::~FollowedAnswers() { --t_followed_answers; }

Transform Sensor::to_world_at(const Float &time, const Mask &active) const {
    Transform t = m_transform.at(time, active);
    return t_followed_answers && follows_to_world() ? t.following(m_to_world_array) : t;
}

// The transform that scripts follow, after the inverse of its numbers.
Float Sensor::follow_to_world() const {
    m_followed = Float();
    if (!follows_to_world())
        return m_followed;
    TransformData inverse = m_to_world.transforms[0].inverse().value();
    Value out = float_array(std::vector<double>{ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 });
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 4; ++j) {
            Float sum(0);
            for (int k = 0; k < 4; ++k)
                sum +=
                    Float(jit::gather(m_to_world_array, UInt32(uint32_t(4 * i + k)), Mask(true))) *
                    opaque_float(inverse(k, j));
            jit::scatter(out, Float(ad::replace_grad(Float(i == j ? 1 : 0), sum)),
                         UInt32(uint32_t(4 * i + j)), Mask(true));
        }
    jit::eval(out);
    return m_followed = Float(out);
}

void Sensor::declare_measurement(Params &p) {
    p.number("shutter_open", m_shutter_open, 0).doc("When the shutter opens, in seconds");
    p.number("shutter_close", m_shutter_close, 0).doc("When it closes");
    if (p.traversing())
        p.exposed("shutter_open_time", &m_shutter_time);
    p.object("film", m_film).doc("Where the image is collected; an `hdrfilm` if absent");
    p.object("sampler", m_sampler).doc("Source of random numbers; `sobol` if absent");
    p.unbounded_texture("srf", m_srf)
        .doc("Its response to light, by wavelength: a spectrum that multiplies what arrives, in "
             "spectral variants; 1 if absent");
    declare_medium(p);
    if (!p.loading())
        return;
    if (!m_film)
        m_film = p.loader()->load_as<Film>(std::make_shared<Properties>("film", "hdrfilm"));
    if (!m_sampler) // least error of those that go on to any number of samples: bench/render/samplers.py
        m_sampler = p.loader()->load_as<Sampler>(std::make_shared<Properties>("sampler", "sobol"));
}

void Sensor::configure() {
    if (m_shutter_close < m_shutter_open)
        complain("the shutter closes ({}) before it opens ({})", m_shutter_close, m_shutter_open);
    if (m_srf && variant().colour != Colour::Spectral)
        complain("a response to wavelengths, `srf`, needs some: use a spectral variant, not {}",
                 variant().name);
    if (m_srf && m_srf->is_spatially_varying())
        m_srf->complain("varies over a surface; the response of a sensor must not");
    if (m_srf && m_film->response())
        complain("has a response, `srf`, and so does its film, {}; give one of them",
                 m_film->plugin());
    if (m_srf)
        m_srf->pdf_spectrum(interaction_anywhere(Spectrum(std::vector<Float>(4, Float(550)))),
                            true); // reads tables, which launches must not
    m_shutter_time = m_shutter_close - m_shutter_open;
    m_open_time = opaque_float(m_shutter_open);
    m_open_duration = opaque_float(m_shutter_time);
    try {
        m_transform = AnimatedTransform(m_to_world);
    } catch (const UserError &e) {
        complain("to_world: {}", e.what());
    }
}

// Then wavelengths are drawn evenly: where a response is zero it has a derivative, too.
static bool is_followed(const Texture &srf) {
    Spectrum anywhere(std::vector<Float>(4, opaque_float(550))); // no constant, lest zeros fold
    std::vector<Float> values = srf.eval(interaction_anywhere(anywhere), true).c;
    return std::any_of(values.begin(), values.end(), ad::grad_enabled);
}

std::pair<Wavelengths, Spectrum>
Sensor::sample_wavelengths(const SurfaceInteraction &, const Float &u, const Mask &active) const {
    if (!m_srf)
        return measuring_film().sample_wavelengths(u, active);
    if (!is_followed(*m_srf))
        return m_srf->sample_spectrum(interaction_anywhere({}), wavelength_strata(u), active);
    auto [low, high] = m_srf->wavelength_range();
    Wavelengths w =
        map(wavelength_strata(u), [&](const Float &x) { return fma(x, high - low, low); });
    return { w, wavelength_weight(w, active) };
}

Spectrum Sensor::response(const Wavelengths &w, const Mask &active) const {
    return m_srf ? m_srf->eval(interaction_anywhere(w), active) : Spectrum(1);
}

Spectrum Sensor::wavelength_weight(const Wavelengths &w, const Mask &active) const {
    if (!m_srf)
        return measuring_film().wavelength_weight(w, active);
    if (is_followed(*m_srf)) {
        auto [low, high] = m_srf->wavelength_range();
        return response(w, active) * (high - low);
    }
    Spectrum pdf = m_srf->pdf_spectrum(interaction_anywhere(w), active);
    return response(w, active) *
           map(pdf, [](const Float &p) { return select(p > 0, rcp(p), Float(0)); });
}

void Sensor::measure_for(const Sensor &whole) {
    if (m_srf && m_srf != whole.m_srf)
        complain("has a response, `srf`, but is part of a {}: give it to that", whole.plugin());
    m_srf = whole.m_srf;
    m_film_of_all = whole.m_film;
}

Sensor::Reach Sensor::reach(const DirectionSample &, const Mask &) const {
    return { Float(0), Float(std::numeric_limits<double>::infinity()) };
}

Vector3 Sensor::up(const Float &time) const {
    return normalize(to_world_at(time).vector({ 0, 1, 0 }));
}

CameraSample Sensor::draw(SampleStream &sampler, const UInt32 &x, const UInt32 &y, bool filtered,
                          const Mask &active) const {
    CameraSample s;
    Vector2 u = sampler.next_2d();
    auto [dx, weight_x] =
        filtered ? film().columns().sample(u.x, x, active) : std::pair(u.x - 0.5, Float(1));
    auto [dy, weight_y] =
        filtered ? film().rows().sample(u.y, y, active) : std::pair(u.y - 0.5, Float(1));
    s.offset = { dx, dy };
    s.weight = weight_x * weight_y;
    s.position = { (Float(Int32(x)) + 0.5 + dx) * opaque_float(1.0 / film().width()),
                   (Float(Int32(y)) + 0.5 + dy) * opaque_float(1.0 / film().height()) };
    s.time = sample_time(needs_time_sample() ? sampler.next_1d() : Float(0));
    s.wavelength = variant().colour == Colour::Spectral ? sampler.next_1d() : Float(0);
    s.aperture = needs_aperture_sample() ? sampler.next_2d() : Vector2{ 0.5, 0.5 };
    return s;
}

Float Sensor::sample_time(const Float &u) const {
    return needs_time_sample() ? fma(u, m_open_duration, m_open_time) : m_open_time;
}

} // namespace umbel
