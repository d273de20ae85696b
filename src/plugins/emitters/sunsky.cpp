// sunsky, timed_sunsky, sky, sun: daylight of a clear day: the sky as a function of the angles to the zenith and to the sun [Hosek 2012], and
// the sun's disk, dimmed by the air [Hosek 2013]. Radiance is in W / (m^2 sr nm).
//
// The model was fitted to simulations of the air, for colours and for wavelengths from 320 to 720 nm; beyond, it is black. The
// ground's albedo brightens the sky. The older model of [Preetham 1999] is there by choice, and is what `sun` takes unless told
// otherwise, as in Mitsuba 0.5; it knows no air that is clearer than a turbidity of 2, and what the ground throws back is
// added to it after [Bird 1981]. The sun's colour is that of its spectrum; in RGB variants, Mitsuba 3's is 6 % brighter.
//
// In its own space, the zenith of `sunsky` is +z, south +x and west +y, as in Mitsuba 3; of `sky` and `sun` the zenith is +y,
// east +x and south +z, as in Mitsuba 0.5. Below the horizon nothing shines, unless `stretch` pulls the sky down. The sun has
// the same power for all its sizes, and is one disk of one brightness unless `complex_sun` is set. Directions of the sky are
// sampled by a table of its brightness, those of the sun uniformly over its disk.
#include "core/daylight.h"
#include "core/hosek_wilkie.h"
#include "core/host_array.h"
#include "core/warp.h"
#include "render/daylight_model.h"
#include "render/emitter.h"
#include "render/height_table.h"
#include "render/rotation_of.h"
#include "render/texel_distribution.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace umbel {

class Daylight : public Emitter {
public:
    void set_scene(const BoundingBox &bounds) override {
        bool none = bounds.is_empty();
        m_radius = opaque_float(none ? 1 : std::max(bounds.radius() * (1 + 1e-4), 1e-3));
        auto c = none ? std::array<double, 3>{} : bounds.centre();
        m_centre = { opaque_float(c[0]), opaque_float(c[1]), opaque_float(c[2]) };
    }
    uint32_t flags() const override {
        return EndpointFlags::Infinite | EndpointFlags::SpatiallyVarying;
    }
    void child_changed() override { configure(); } // the ground
    void configure() override {
        if (!m_radius.valid())
            set_scene({});
        if (!(m_turbidity >= 1 && m_turbidity <= 10))
            complain("turbidity is {}; it must lie between 1 and 10", m_turbidity);
        if (!(m_stretch >= 1 && m_stretch <= 2))
            complain("stretch is {}; it must lie between 1 and 2", m_stretch);
        if (m_albedo && m_albedo->is_spatially_varying())
            complain("albedo ({}) must be the same everywhere: there is one ground under the sky",
                     m_albedo->plugin());
        if (m_albedo && m_albedo->max_value() > 1)
            complain("albedo is {}; the ground reflects between 0 and 1 of what falls on it",
                     m_albedo->max_value());
        TransformData turn = rotation_of(*this, m_to_world);
        if (m_is_y_up) { // inside, the zenith is +z
            TransformData swap;
            swap(1, 1) = swap(2, 2) = 0;
            swap(1, 2) = swap(2, 1) = 1;
            turn = turn * swap;
        }
        m_rotation = Transform(turn);
        find_sun(turn);
        double cone = 0.5 * m_aperture * m_radius_scale * Pi / 180;
        if (m_has_sun && !(cone > 1e-4 && cone < Pi / 2))
            complain("the sun's aperture is {} degrees; it must lie between 0.012 and 180: use a "
                     "`directional` light for a sun without size",
                     m_aperture * m_radius_scale);
        double s = std::sin(cone / 2);
        m_chord2 = opaque_float(4 * s * s);
        m_sun_angle = opaque_float(4 * Pi * s * s);
        m_lowest = std::cos(std::min(0.5 * m_stretch, 1.0) * Pi);
        m_inv_stretch = opaque_float(1 / m_stretch);
        m_lowest_z = opaque_float(m_lowest);
        prepare_models(cone);
        prepare_sampling();
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return depolarize(radiance(local(-si.wi), moment(si.time, active), si.wavelengths, active));
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        return depolarize(radiance(local(ds.d), moment(it.time, active), it.wavelengths, active));
    }
    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override {
        return density(local(ds.d), moment(it.time, active), active);
    }
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        Moment m = moment(it.time, active);
        Vector3 w = sample(u, m, active), d = m_rotation.vector(w);
        Float pdf = density(w, m, active), dist = 4 * m_radius; // beyond everything else
        DirectionSample ds{
            { fma(d, dist, it.p), -d, { Float(0), Float(0) }, it.time, pdf, Mask(false) },
            d,
            dist,
            UInt32(0u)
        };
        Float inv_pdf = select(pdf > 0, rcp(pdf), Float(0));
        return { ds, depolarize(radiance(w, m, it.wavelengths, active) * inv_pdf) };
    }
    /// Through the disk that the scene's sphere is, as seen from there.
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &direction,
                                        const Mask &active) const override {
        Moment m = moment(time, active);
        Vector3 w = sample(direction, m, active), d = m_rotation.vector(w);
        auto [wavelengths, weight] = umbel::sample_wavelengths(wavelength);
        Frame frame(-d);
        Vector2 p = square_to_uniform_disk_concentric(position);
        Vector3 o = fma(frame.s * p.x + frame.t * p.y + d, m_radius, m_centre);
        Float pdf = density(w, m, active),
              area = select(pdf > 0, sqr(m_radius) * Pi / pdf, Float(0));
        Spectrum light = radiance(w, m, wavelengths, active) * area;
        if (is_spectral())
            light = light * weight;
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ o, -d, infinity, time, wavelengths }, depolarize(light) };
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &si,
                                                        const Float &u,
                                                        const Mask &active) const override {
        auto [wavelengths, weight] = umbel::sample_wavelengths(u);
        Spectrum light = radiance(local(-si.wi), moment(si.time, active), wavelengths, active);
        return { wavelengths, depolarize(is_spectral() ? light * weight : light) };
    }

protected:
    /// Where the sun is at a time.
    struct Moment {
        Vector3 sun;
        Float row; // of the models' tables
        Mask is_day;
    };
    virtual Moment moment(const Float &, const Mask &) const { return m_moment; }
    /// Of all samples.
    virtual Float sky_part(const Moment &, const Mask &) const { return m_sky_part; }
    Daylight(bool has_sky, bool has_sun, bool is_y_up)
        : m_has_sky(has_sky), m_has_sun(has_sun), m_is_y_up(is_y_up) {}

    void declare_air(Params &p) {
        Emitter::declare(p);
        p.number("turbidity", m_turbidity, 3, 1, 10)
            .doc("How hazy the air is: 1 is as clear as it can be, 10 warm and humid");
    }
    void declare_sky_model(Params &p, const char *name) {
        p.choice(name, m_sky_model_name, "hosek", { "hosek", "preetham" })
            .doc("By whom the sky is computed");
        if (m_sky_model)
            m_sky_model->expose(p);
    }
    void declare_sun_model(Params &p, const char *name, const char *otherwise) {
        p.choice(name, m_sun_model_name, otherwise, { "hosek", "preetham" })
            .doc("By whom the sun is computed");
    }
    void declare_complex_sun(Params &p) {
        p.boolean("complex_sun", m_is_complex, false)
            .doc("Whether the sun is darker towards its limb, and towards the horizon");
    }
    void declare_ground(Params &p, double albedo) {
        p.texture("albedo", m_albedo, albedo)
            .differentiable()
            .doc("Of the ground, which brightens the sky");
    }
    void declare_place(Params &p) {
        if (p.loading())
            m_is_sun_given = p.properties()->has("sun_direction");
        struct {
            const char *name;
            double &value;
            double least, most;
            const char *text;
        } times[] = {
            { "year", m_time.year, -4000, 9999, "Of the observation" },
            { "month", m_time.month, 1, 12.999, "1 to 12" },
            { "day", m_time.day, 1, 31.999, "Of the month" },
            { "hour", m_time.hour, 0, 24, "Local time, without daylight saving" },
            { "minute", m_time.minute, 0, 60, "Of the hour" },
            { "second", m_time.second, 0, 60, "Of the minute" },
            { "latitude", m_time.latitude, -90, 90, "Of the place, in degrees north" },
            { "longitude", m_time.longitude, -180, 180, "In degrees east" },
            { "timezone", m_time.timezone, -24, 24, "In hours, east of Greenwich" },
        };
        ObserverTime otherwise;
        const double defaults[] = { otherwise.year,     otherwise.month,     otherwise.day,
                                    otherwise.hour,     otherwise.minute,    otherwise.second,
                                    otherwise.latitude, otherwise.longitude, otherwise.timezone };
        for (size_t i = 0; i < std::size(times); ++i) {
            auto &t = times[i];
            if (p.loading() && m_is_sun_given && p.properties()->has(t.name))
                fail("{}: has both sun_direction and {}; remove one", p.properties()->describe(),
                     t.name);
            Param &q = p.number(t.name, t.value, defaults[i], t.least, t.most).doc(t.text);
            if (m_is_sun_given)
                q.fixed();
        }
        Param &sun = p.vector("sun_direction", m_sun_direction, { 0, 0, 0 })
                         .doc("In place of time and place: where the sun is, in the scene");
        if (!m_is_sun_given)
            sun.fixed();
        declare_turn(p);
    }
    void declare_turn(Params &p) {
        p.transform("to_world", m_to_world)
            .doc("How it is turned; where it is moved to makes no difference");
    }
    void declare_shape_of_sky(Params &p) {
        p.number("stretch", m_stretch, 1, 1, 2)
            .doc("Pulls the sky below the horizon: all around at 2");
    }
    void declare_sun_size(Params &p) {
        p.number("sun_radius_scale", m_radius_scale, 1, 0)
            .doc("Makes the sun larger, and less bright by as much");
    }

    static bool is_spectral() { return variant().colour == Colour::Spectral; }
    Vector3 local(const Vector3 &d) const { return m_rotation.inverse().vector(d); }

    // ---- the sun's place, and the models

    virtual void find_sun(const TransformData &turn) {
        std::array<double, 3> w;
        if (m_is_sun_given) {
            w = turn.inverse()->apply_vector(m_sun_direction);
            double length = std::hypot(w[0], w[1], w[2]);
            if (!(length > 0) || !std::isfinite(length))
                complain("sun_direction has no length; give one such as 0, 0, 1");
            for (double &v : w)
                v /= length;
            m_sun_zenith = std::acos(std::clamp(w[2], -1.0, 1.0));
        } else {
            check_date(m_time.month, m_time.day);
            auto [zenith, azimuth] = sun_angles(m_time);
            m_sun_zenith = zenith;
            double s = std::sin(zenith), c = std::cos(zenith), ca = std::cos(azimuth),
                   sa = std::sin(azimuth);
            w = m_is_y_up ? std::array{ sa * s, -ca * s, c } : std::array{ -ca * s, -sa * s, c };
        }
        if (m_sun_zenith > Pi / 2)
            complain("the sun is {:.1f} degrees below the horizon, and the model knows no nights; "
                     "choose another time or sun_direction",
                     (m_sun_zenith - Pi / 2) * 180 / Pi);
        m_sun_azimuth = std::atan2(w[1], w[0]);
        m_moment = { { opaque_float(w[0]), opaque_float(w[1]), opaque_float(w[2]) }, 0, true };
    }
    void check_date(double month, double day) const {
        if (!(month >= 1 && month < 13 && day >= 1 && day < 32))
            complain("there is no day {} of month {}", day, month);
    }
    /// Of the sun, that tables of the models are for.
    virtual std::vector<double> zeniths() const { return { m_sun_zenith }; }
    void prepare_models(double half_aperture) {
        Air air{ m_turbidity, m_albedo.get(), zeniths() };
        if (m_has_sky) {
            if (!m_sky_model)
                m_sky_model =
                    m_sky_model_name == "preetham" ? make_preetham_sky() : make_hosek_sky();
            m_sky_model->prepare(air);
        }
        if (m_has_sun) {
            bool is_old = m_sun_model_name == "preetham";
            if (is_old && m_is_complex)
                complain("complex_sun is known of the model hosek only; leave it out, or choose "
                         "that as the sun's model");
            if (!m_sun_model)
                m_sun_model = is_old ? make_preetham_sun() : make_hosek_sun(m_is_complex);
            m_sun_model->prepare(air, half_aperture);
        }
    }

    // ---- on the host: how much light comes from where

    // Luminous power of sky and sun, per area across it, of a row of the models; with weights of the cells.
    double sky_power(size_t row, double zenith, double azimuth, size_t rows, size_t columns,
                     std::vector<double> *weights = nullptr) const {
        double sum = 0, sine = std::sin(zenith), cosine = std::cos(zenith);
        for (size_t i = 0; i < rows; ++i) {
            double z = std::lerp(m_lowest, 1.0, (double(i) + 0.5) / double(rows));
            z = std::cos(std::acos(z) / m_stretch);
            double r = std::sqrt(std::max(1 - z * z, 0.0));
            for (size_t k = 0; k < columns; ++k) {
                double phi = TwoPi * (double(k) + 0.5) / double(columns) - azimuth,
                       c = r * std::cos(phi) * sine + z * cosine,
                       v = m_sky_model->luminance(row, std::max(z, 0.0),
                                                  std::acos(std::clamp(c, -1.0, 1.0)));
                sum += v;
                if (weights)
                    weights->push_back(v);
            }
        }
        return sum * TwoPi * (1 - m_lowest) / double(rows * columns) * scale_of(m_sky_scale);
    }
    double sun_power(size_t row) const {
        double s = std::sin(0.25 * m_aperture * m_radius_scale * Pi / 180);
        return 4 * Pi * s * s * m_sun_model->luminance(row) * scale_of(m_sun_scale);
    }
    static double scale_of(const Float &v) {
        return v.valid() ? read_floats(Float(v.detached()))[0] : 0;
    }
    static double part_of_sky(double sky, double sun) {
        if (sky > 0 && sun > 0)
            return std::clamp(sky / (sky + sun), 0.1, 0.9);
        return sun > 0 ? 0 : 1;
    }
    // By the brightness of the sky, in cells of equal solid angle.
    virtual void prepare_sampling() {
        double part = 0;
        if (m_has_sky) {
            std::vector<double> weights;
            double sky = sky_power(0, m_sun_zenith, m_sun_azimuth, Rows, Columns, &weights);
            // Also where colours are dark and spectra, fitted on their own, are not
            double mean = std::reduce(weights.begin(), weights.end()) / double(weights.size());
            for (double &w : weights)
                w += 0.01 * mean + 1e-8;
            m_cells = TexelDistribution(weights, Columns, Rows);
            part = part_of_sky(sky, m_has_sun ? sun_power(0) : 0);
        }
        m_sky_part = opaque_float(part);
    }

    // ---- recorded

    Mask is_in_sun(const Vector3 &w, const Moment &m) const {
        return squared_norm(w - m.sun) <= m_chord2;
    }

    Spectrum radiance(const Vector3 &w, const Moment &m, const Wavelengths &wavelengths,
                      const Mask &active) const {
        Spectrum out(0);
        if (m_has_sky) {
            Mask above = w.z >= m_lowest_z;
            Vector3 d = w;
            if (m_stretch != 1) {
                Float theta = acos(clamp(w.z, -1, 1)) * m_inv_stretch,
                      r = sin(theta) * rsqrt(max(sqr(w.x) + sqr(w.y), 1e-30));
                d = { w.x * r, w.y * r, cos(theta) };
            }
            Spectrum sky = m_sky_model->eval({ d, m.sun, m.row, wavelengths, active & above });
            out = select(active & above & m.is_day, sky * m_sky_scale, Spectrum(0));
        }
        if (m_has_sun) {
            Mask seen = active & is_in_sun(w, m) & (w.z >= 0) & m.is_day;
            Spectrum sun = m_sun_model->eval({ w, m.sun, m.row, wavelengths, seen });
            out += select(seen, sun * m_sun_scale, Spectrum(0));
        }
        return out;
    }

    virtual Vector3 sample_sky(const Vector2 &u, const Mask &active) const {
        TexelDistribution::Sample s = m_cells.sample(u, active);
        Float z = lerp(m_lowest_z, 1, (Float(s.y) + s.rest.y) * (1.0 / Rows)),
              phi = (Float(s.x) + s.rest.x) * (TwoPi / Columns), r = safe_sqrt(1 - z * z);
        return { r * cos(phi), r * sin(phi), z };
    }
    virtual Float sky_density(const Vector3 &w, const Mask &active) const {
        Float u = atan2(w.y, w.x) * InvTwoPi, range = 1 - m_lowest_z;
        u = u - floor(u);
        UInt32 column = min(to_uint(u * double(Columns)), UInt32(uint32_t(Columns - 1)));
        Float v = max((w.z - m_lowest_z) / range, 0);
        UInt32 row = min(to_uint(v * double(Rows)), UInt32(uint32_t(Rows - 1)));
        return m_cells.density(column, row, active) / (TwoPi * range);
    }
    Vector3 sample(const Vector2 &u, const Moment &m, const Mask &active) const {
        if (!m_has_sun)
            return sample_sky(u, active);
        if (!m_has_sky)
            return sample_sun(u, m);
        Float part = sky_part(m, active);
        Mask picks_sky = u.x < part;
        Float x = select(picks_sky, u.x / max(part, 1e-30), (u.x - part) / max(1 - part, 1e-30));
        x = clamp(x, 0, 0.99999994);
        return select(picks_sky, sample_sky({ x, u.y }, active), sample_sun({ x, u.y }, m));
    }
    // sin(theta / 2)^2 is uniform.
    Vector3 sample_sun(const Vector2 &u, const Moment &m) const {
        Float h = u.x * m_chord2 * 0.25, r = 2 * safe_sqrt(h * (1 - h)), phi = u.y * TwoPi;
        return Frame(m.sun).to_world({ r * cos(phi), r * sin(phi), 1 - 2 * h });
    }
    Float density(const Vector3 &w, const Moment &m, const Mask &active) const {
        Float sum = 0, part = sky_part(m, active);
        if (m_has_sky)
            sum = select(w.z >= m_lowest_z, sky_density(w, active) * part, Float(0));
        if (m_has_sun)
            sum += select(is_in_sun(w, m), (1 - part) / m_sun_angle, Float(0));
        return sum;
    }

    static constexpr size_t Rows = 64, Columns = 128;

    const bool m_has_sky, m_has_sun, m_is_y_up;
    double m_turbidity = 3, m_stretch = 1, m_lowest = 0;
    double m_aperture = SunAperture, m_radius_scale = 1;
    bool m_is_complex = false;
    Float m_sky_scale, m_sun_scale;
    std::string m_sky_model_name, m_sun_model_name;
    ObserverTime m_time;
    bool m_is_sun_given = false;
    std::array<double, 3> m_sun_direction{};
    TransformData m_to_world;
    Ref<Texture> m_albedo;

    std::unique_ptr<SkyModel> m_sky_model;
    std::unique_ptr<SunModel> m_sun_model;
    double m_sun_zenith = 0, m_sun_azimuth = 0; // where +z is up
    Moment m_moment;
    Transform m_rotation;
    Vector3 m_centre;
    Float m_radius; // of the scene
    Float m_lowest_z, m_inv_stretch;
    Float m_chord2, m_sun_angle; // of the sun's radius, squared; solid angle
    Float m_sky_part;
    TexelDistribution m_cells;
};

class SunSky final : public Daylight {
public:
    SunSky() : Daylight(true, true, false) {}
    void declare(Params &p) override {
        p.example("<float name='sun_aperture' value='40'/>");
        p.example("<vector name='sun_direction' x='1' y='-1' z='1.5'/><float name='sun_aperture' "
                  "value='30'/><float name='turbidity' value='6'/><float name='sky_scale' "
                  "value='2'/><float name='stretch' value='1.5'/><boolean name='complex_sun' "
                  "value='true'/>");
        p.example("<string name='sky_model' value='preetham'/><string name='sun_model' "
                  "value='preetham'/><float name='sun_aperture' value='50'/>");
        declare_air(p);
        declare_ground(p, 0.3);
        declare_sky_model(p, "sky_model");
        declare_sun_model(p, "sun_model", "hosek");
        declare_complex_sun(p);
        declare_place(p);
        p.scalar("sun_scale", m_sun_scale, 1, 0).differentiable().doc("Multiplies the sun's light");
        p.scalar("sky_scale", m_sky_scale, 1, 0).differentiable().doc("Multiplies the sky's");
        p.number("sun_aperture", m_aperture, SunAperture, 0, 180)
            .doc("Angle of the sun's disk, in degrees; its light is the same for all sizes");
        declare_sun_size(p);
        declare_shape_of_sky(p);
    }
};

class Sky final : public Daylight {
public:
    Sky() : Daylight(true, false, true) {}
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='stretch' value='2'/><float name='hour' value='9'/><float "
                  "name='albedo' value='.8'/><transform name='to_world'><rotate x='1' angle='90'/>"
                  "</transform>");
        declare_air(p);
        declare_ground(p, 0.15);
        declare_sky_model(p, "model");
        declare_place(p);
        declare_shape_of_sky(p);
        p.scalar("scale", m_sky_scale, 1, 0).differentiable().doc("Multiplies its light");
    }
};

class Sun final : public Daylight {
public:
    Sun() : Daylight(false, true, true) {}
    void declare(Params &p) override {
        p.example("<float name='sun_radius_scale' value='60'/>");
        declare_air(p);
        declare_sun_model(p, "model", "preetham");
        declare_place(p);
        declare_sun_size(p);
        p.scalar("scale", m_sun_scale, 1, 0).differentiable().doc("Multiplies its light");
    }
};

// The time of a ray, from `shutter_open` to `shutter_close`, passes through days one after the other, of each from the hour of
// `window_start_time` to that of `window_end_time`. What depends on the sun's height comes from tables. At night, all is black.
class TimedSunSky final : public Daylight {
public:
    TimedSunSky() : Daylight(true, true, false) {}
    void declare(Params &p) override {
        p.example("<float name='sun_aperture' value='40'/><float name='window_start_time' "
                  "value='10'/>");
        declare_air(p);
        declare_ground(p, 0.3);
        declare_sky_model(p, "sky_model");
        declare_sun_model(p, "sun_model", "hosek");
        declare_complex_sun(p);
        p.number("latitude", m_time.latitude, 35.6894, -90, 90)
            .doc("Of the place, in degrees north");
        p.number("longitude", m_time.longitude, 139.6917, -180, 180).doc("In degrees east");
        p.number("timezone", m_time.timezone, 9, -24, 24).doc("In hours, east of Greenwich");
        p.number("window_start_time", m_from, 7, 0, 24).doc("Hour at which each day begins");
        p.number("window_end_time", m_to, 19, 0, 24).doc("Hour at which it ends");
        p.number("start_year", m_first[0], 2025, -4000, 9999).doc("Of the first day");
        p.number("start_month", m_first[1], 1, 1, 12.999).doc("Its month");
        p.number("start_day", m_first[2], 1, 1, 31.999).doc("Its day of the month");
        p.number("end_year", m_last[0], m_first[0] + 1, -4000, 9999)
            .doc("Of the day after the last one; a year later unless given");
        p.number("end_month", m_last[1], m_first[1], 1, 12.999).doc("Its month");
        p.number("end_day", m_last[2], m_first[2], 1, 31.999).doc("Its day of the month");
        p.number("shutter_open", m_open, 0)
            .fixed()
            .doc("Time of rays at which the first day begins");
        p.number("shutter_close", m_close, 1).fixed().doc("At which the last one ends");
        p.scalar("sun_scale", m_sun_scale, 1, 0).differentiable().doc("Multiplies the sun's light");
        p.scalar("sky_scale", m_sky_scale, 1, 0).differentiable().doc("Multiplies the sky's");
        p.number("sun_aperture", m_aperture, SunAperture, 0, 180)
            .doc("Angle of the sun's disk, in degrees; its light is the same for all sizes");
        declare_turn(p);
    }

private:
    static constexpr size_t Heights = 181; // of the sun, from the horizon to the zenith

    // Each day's hour angle at its beginning and in an hour from there, and declination likewise.
    void find_sun(const TransformData &) override {
        if (!(m_close > m_open))
            complain("shutter_close ({}) must be after shutter_open ({})", m_close, m_open);
        if (!(m_to >= m_from))
            complain("window_end_time ({}) must not be before window_start_time ({})", m_to,
                     m_from);
        for (auto &date : { m_first, m_last })
            check_date(date[1], date[2]);
        ObserverTime t = m_time;
        auto on = [&](const std::array<double, 3> &date, double hour) {
            t.year = date[0], t.month = date[1], t.day = date[2], t.hour = hour;
            return t;
        };
        double days = julian_day(on(m_last, 0)) - julian_day(on(m_first, 0));
        if (!(days >= 1 && days < 1e6))
            complain("from start to end there are {} days; there must be one at least", days);
        std::vector<double> table;
        for (double day = 0; day < days; ++day) {
            std::array<double, 3> date = { m_first[0], m_first[1], std::floor(m_first[2]) + day };
            SunCourse a = sun_course(on(date, m_from)), b = sun_course(on(date, m_from + 1));
            table.insert(table.end(), { std::remainder(a.hour_angle, TwoPi),
                                        std::remainder(b.hour_angle - a.hour_angle, TwoPi),
                                        a.declination, b.declination - a.declination });
        }
        m_days = float_array(table);
        m_day_count = opaque_float(days);
        m_hours = opaque_float(m_to - m_from);
        m_open_time = opaque_float(m_open);
        m_inv_open = opaque_float(1 / (m_close - m_open));
        m_cos_latitude = opaque_float(std::cos(m_time.latitude * Pi / 180));
        m_sin_latitude = opaque_float(std::sin(m_time.latitude * Pi / 180));
    }
    std::vector<double> zeniths() const override {
        std::vector<double> out;
        for (size_t i = 0; i < Heights; ++i)
            out.push_back(hosek_zenith(double(i) / double(Heights - 1)));
        return out;
    }
    void prepare_sampling() override {
        std::vector<double> parts, all = zeniths();
        for (size_t i = 0; i < Heights; ++i)
            parts.push_back(part_of_sky(sky_power(i, all[i], 0, 16, 32), sun_power(i)));
        m_parts.set(parts, Heights, 1);
    }

    Moment moment(const Float &time, const Mask &active) const override {
        Float at = clamp((time - m_open_time) * m_inv_open, 0, 1) * m_day_count,
              day = min(floor(at), m_day_count - 1), hours = (at - day) * m_hours;
        std::vector<Value> d = jit::gather_packet(m_days, to_uint(day), 4, active);
        Float angle = fma(Float(d[1]), hours, Float(d[0])),
              declination = fma(Float(d[3]), hours, Float(d[2])), c = cos(declination),
              s = sin(declination), ca = cos(angle);
        Moment m;
        m.sun = { c * ca * m_sin_latitude - s * m_cos_latitude, c * sin(angle),
                  c * ca * m_cos_latitude + s * m_sin_latitude };
        Float height = asin(clamp(m.sun.z, 0, 1)) * (2 / Pi); // rows are denser near the horizon
        m.row = pow(max(height, 1e-12), 1.0 / 3) * double(Heights - 1);
        m.is_day = m.sun.z >= 0;
        return m;
    }
    Float sky_part(const Moment &m, const Mask &active) const override {
        return m_parts.at(m.row, UInt32(0u), active)[0];
    }
    // The sun is elsewhere at each time: all directions alike.
    Vector3 sample_sky(const Vector2 &u, const Mask &) const override {
        Float r = safe_sqrt(1 - sqr(u.x)), phi = u.y * TwoPi;
        return { r * cos(phi), r * sin(phi), u.x };
    }
    Float sky_density(const Vector3 &, const Mask &) const override { return InvTwoPi; }

    double m_from = 7, m_to = 19, m_open = 0, m_close = 1;
    std::array<double, 3> m_first{ 2025, 1, 1 }, m_last{ 2026, 1, 1 }; // year, month, day
    Float m_days, m_day_count, m_hours, m_open_time, m_inv_open, m_cos_latitude, m_sin_latitude;
    HeightTable m_parts; // of samples that the sky gets
};

UMBEL_PLUGIN(Emitter, SunSky, "sunsky")
UMBEL_PLUGIN(Emitter, TimedSunSky, "timed_sunsky")
UMBEL_PLUGIN(Emitter, Sky, "sky")
UMBEL_PLUGIN(Emitter, Sun, "sun")
} // namespace umbel
