// batch: several sensors that share a film: their images stand side by side, in the order of the scene's description.
//
// The width of the film must be a multiple of the number of sensors. What films and samplers these have of their own
// does not count. A filter that is wider than a pixel reaches over from one image to the next.
#include "render/sensor.h"
#include <algorithm>

namespace umbel {

class Batch final : public Sensor {
public:
    void declare(Params &p) override {
        p.example("<sensor type='perspective'><transform name='to_world'><lookat origin='0,0,4' "
                  "target='0,0,0' up='0,1,0'/></transform></sensor><sensor type='perspective'>"
                  "<float name='fov' value='50'/><transform name='to_world'><lookat "
                  "origin='3,1,2' target='0,0,0' up='0,1,0'/></transform></sensor>");
        p.example("<sensor type='spherical'><transform name='to_world'><translate z='2'/>"
                  "</transform></sensor>");
        declare_measurement(p);
        if (p.loading())
            m_to_world = { { 0 }, { TransformData() } };
        p.objects("sensor", m_sensors).doc("Those that look at the scene, from left to right");
    }
    void configure() override {
        Sensor::configure();
        if (m_sensors.empty())
            complain("has no sensors; put at least one inside");
        int count = int(m_sensors.size()), width = m_film->width() / count;
        if (width * count != m_film->width())
            complain("the film's width of {} pixels is not divisible by the number of sensors, {}",
                     m_film->width(), count);
        m_count = opaque_float(count);
        m_width = opaque_float(width);
        for (const Ref<Sensor> &s : m_sensors) {
            if (s->medium())
                s->complain("has a medium, but is one of a batch: give the medium to the batch");
            s->measure_for(*this);
            Film &film = s->film();
            if (film.width() == width && film.height() == m_film->height() &&
                film.crop().width == width && film.crop().height == m_film->height())
                continue;
            film.set_size(width, m_film->height());
            s->child_changed();
        }
    }

    uint32_t flags() const override { // what holds for all of them
        uint32_t all = ~0u;
        for (const Ref<Sensor> &s : m_sensors)
            all &= s->flags();
        return all;
    }
    bool needs_aperture_sample() const override {
        return std::any_of(m_sensors.begin(), m_sensors.end(),
                           [](const Ref<Sensor> &s) { return s->needs_aperture_sample(); });
    }
    bool is_several() const override { return m_sensors.size() > 1; }
    BoundingBox bounds() const override {
        BoundingBox b;
        for (const Ref<Sensor> &s : m_sensors)
            b.extend(s->bounds());
        return b;
    }
    void set_scene(const BoundingBox &bounds) override {
        for (const Ref<Sensor> &s : m_sensors)
            s->set_scene(bounds);
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &direction,
                                        const Mask &active) const override {
        auto [number, x] = choose(position.x);
        using Answer = std::pair<Ray, Spectrum>;
        return ask<Answer>(number, active, [&](const Sensor &s, const Mask &mine) {
            return s.sample_ray(time, wavelength, { x, position.y }, direction, mine);
        });
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &u,
                                                     const Mask &active) const override {
        auto [number, x] = choose(u.x);
        using Answer = std::pair<PositionSample, Float>;
        Answer a = ask<Answer>(number, active, [&](const Sensor &s, const Mask &mine) {
            return s.sample_position(time, { x, u.y }, mine);
        });
        a.first.pdf /= m_count;
        a.second = a.second * m_count;
        return a;
    }
    Float pdf_position(const PositionSample &, const Mask &) const override {
        if (!has(EndpointFlags::DeltaPosition))
            lacks("pdf_position");
        return 0;
    }
    // Towards one of them.
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        auto [number, x] = choose(u.x);
        using Answer = std::pair<DirectionSample, Spectrum>;
        Answer a = ask<Answer>(number, active, [&](const Sensor &s, const Mask &mine) {
            return s.sample_direction(it, { x, u.y }, mine);
        });
        const Film::Crop &crop = m_film->crop();
        DirectionSample &ds = a.first;
        ds.pdf /= m_count;
        ds.uv.x += fma(Float(number), m_width, opaque_float(-crop.x));
        ds.uv.y -= opaque_float(crop.y);
        a.second = a.second * inv_part();
        return a;
    }
    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override {
        Float pdf = ask<Float>(shown_by(ds), active, [&](const Sensor &s, const Mask &mine) {
            return s.pdf_direction(it, ds, mine) + ds.uv.x * 0;
        });
        return pdf / m_count;
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        Spectrum value =
            ask<Spectrum>(shown_by(ds), active, [&](const Sensor &s, const Mask &mine) {
                return s.eval_direction(it, ds, mine);
            });
        return value * (inv_part() / m_count);
    }
    Reach reach(const DirectionSample &ds, const Mask &active) const override {
        return ask<Reach>(shown_by(ds), active,
                          [&](const Sensor &s, const Mask &mine) { return s.reach(ds, mine); });
    }

private:
    /// One of the sensors, and the number anew: all are as likely.
    std::pair<UInt32, Float> choose(const Float &u) const {
        Float scaled = u * m_count, first = clamp(floor(scaled), 0, m_count - 1);
        return { to_uint(first), scaled - first };
    }
    /// In whose part of the film a place is.
    UInt32 shown_by(const DirectionSample &ds) const {
        Float column = ds.uv.x + opaque_float(m_film->crop().x);
        return to_uint(clamp(floor(column / m_width), 0, m_count - 1));
    }
    /// One over the part of the film that is rendered: the sensors know all of theirs only.
    Float inv_part() const {
        const Film::Crop &crop = m_film->crop();
        return opaque_float(double(m_film->width()) / crop.width * m_film->height() / crop.height);
    }
    template <class T, class Ask>
    T ask(const UInt32 &number, const Mask &active, const Ask &one) const {
        T out{};
        for (size_t i = 0; i < m_sensors.size(); ++i) {
            Mask mine = number == UInt32(uint32_t(i));
            T answer = one(*m_sensors[i], active & mine);
            if (i > 0) {
                std::vector<Value *> to = jit::values_of(answer), from = jit::values_of(out);
                for (size_t k = 0; k < to.size(); ++k)
                    *to[k] = jit::ternary(jit::Op::Select, mine, *to[k], *from[k]);
            }
            out = answer;
        }
        return out;
    }

    std::vector<Ref<Sensor>> m_sensors;
    Float m_count, m_width; // width of each image
};

UMBEL_PLUGIN(Sensor, Batch, "batch")
} // namespace umbel
