// render/driver.cpp: passes over the image.
#include "render/driver.h"
#include "core/host_array.h"
#include "core/warning.h"
#include "render/drops_effects.h"
#include "render/expected_samples.h"
#include "render/further_colours.h"
#include "render/invalid_samples.h"
#include "render/lost_rays.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace umbel {

namespace {
constexpr int GroupSize = 16; // samples of one pixel that make a packet

constexpr uint64_t LanesALaunch = 1u << 22; // bounds the memory for results of single samples
constexpr uint32_t FirstLanes = 1u << 16;   // of a launch, before it is known how long that takes
constexpr double MostGrowth = 4;            // of a launch over the one before
} // namespace

Render::Render(const Scene &scene, const RenderOptions &options)
    : m_scene(scene), m_options(options),
      m_sensor(options.from ? options.from : scene.sensors().at(size_t(options.sensor))),
      m_integrator(options.integrator ? options.integrator : scene.integrator()),
      m_tally(options.tally ? *options.tally : number_for_invalid_samples()) {
    if (options.parts < 1 || options.part < 0 || options.part >= options.parts)
        fail("part {} of {}: parts are counted from 0", options.part, options.parts);
    integrator().resume();
    begin();
}

void Render::reset(Ref<const Sensor> from) {
    m_sensor = std::move(from);
    begin();
}

void Render::begin() {
    VariantScope scope(m_scene.scene_variant());
    m_sampler = sensor().sampler_ref();
    m_seed = m_options.seed + uint32_t(m_sampler->seed());
    if (m_options.seed_value.valid())
        m_seed_value = m_options.seed_value + UInt32(uint32_t(m_sampler->seed()));
    int spp = m_options.spp > 0 ? m_options.spp : m_sampler->sample_count();
    // Scripts may hold the scene, and the scene would hold them
    bool scripted = sensor().is_scripted() || film().is_scripted() || m_sampler->is_scripted();
    bool alike = integrator().repeats() && !integrator().carries() && !scripted; // all launches
    m_repeats = alike && !integrator().splats();
    m_crop = m_options.window.value_or(film().crop());
    film().check_part(m_crop);
    Launches::Source source{ m_integrator, m_sensor, m_sampler, {}, spp, m_options.estimate_error };
    source.window = { m_crop.x, m_crop.y, m_crop.width, m_crop.height };
    m_launches = m_repeats ? m_scene.launches().find(source) : std::make_shared<Launches>(source);
    m_sampler = m_launches->sampler();
    m_spp = m_sampler->sample_count();
    m_group_size = std::min(m_spp, GroupSize);
    if (int most = integrator().samples_per_pass(); most > 0)
        m_group_size = std::min(m_group_size, most);
    int64_t groups = (int64_t(m_spp) + m_group_size - 1) / m_group_size;
    if (groups < m_options.parts)
        fail("{} samples a pixel are {} groups, which make no {} parts", m_spp, groups,
             m_options.parts);
    m_first = m_group = int(groups * m_options.part / m_options.parts);
    m_last = int(groups * (m_options.part + 1) / m_options.parts);
    if (splats() && m_options.estimate_error)
        fail("the error of an image whose samples are splatted cannot be estimated: its pixels are "
             "related; set the film's `splat` to false");

    // Before the render, not when the image is to be written
    std::vector<std::string> names = film().image_names(channel_names());
    std::sort(names.begin(), names.end());
    if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        integrator().complain("two channels of the image are called \"{}\"; give them different "
                              "names",
                              *twice);

    m_buffer = FilmBuffer(uint32_t(crop().width), uint32_t(crop().height),
                          uint32_t(channel_names().size()) + (m_options.estimate_error || splats()),
                          film().compensates());
    m_next = m_under_way = 0;
    m_carried.clear();
    if (integrator().splats() && m_options.estimate_error)
        integrator().complain("an image of splatted light has no estimate of its error: its pixels "
                              "are related");
    if (integrator().splats())
        m_light = FilmBuffer(uint32_t(crop().width), uint32_t(crop().height),
                             uint32_t(channel_names().size()));

    uint32_t slots = m_buffer.slots(), most = uint32_t(LanesALaunch / uint64_t(m_group_size));
    if (m_options.launch_pixels && !integrator().carries()) // whole tiles
        most = uint32_t(std::min<uint64_t>(
            most, (uint64_t(m_options.launch_pixels) + FilmBuffer::TilePixels - 1) /
                      FilmBuffer::TilePixels * FilmBuffer::TilePixels));
    m_most_pixels = m_launch_pixels = most;
    bool in_order = integrator().splats() || integrator().carries(); // sums, or what is carried
    m_launch_seconds = in_order ? 0 : m_options.launch_seconds;
    uint32_t first = FirstLanes / uint32_t(m_group_size) / FilmBuffer::TilePixels;
    if (m_launch_seconds > 0) {
        m_launch_pixels = std::min(most, std::max(first, 1u) * FilmBuffer::TilePixels);
        // Each size is traced, and cores wait between launches: no second one for what it may hold in any case
        if (slots > m_launch_pixels && slots <= MostGrowth * m_launch_pixels)
            m_launch_pixels = std::min(most, slots);
    }
    // Lanes of one group would not be worth a launch
    m_is_small = alike && !splats() && integrator().samples_per_pass() <= 0 &&
                 uint64_t(slots) * uint64_t(m_group_size) * 2 <= FirstLanes &&
                 m_spp > 64 * m_group_size;
    m_is_single = m_options.is_lazy && slots <= m_launch_pixels && m_spp <= m_group_size &&
                  !m_options.estimate_error && !splats() && !in_order;
}

bool Render::make_ready() const {
    auto go_on = [&](double done) {
        return !integrator().should_stop() && (!m_options.progress || m_options.progress(done));
    };
    if (integrator().make_ready(m_scene, go_on))
        return true;
    integrator().cancel();
    return false;
}

bool Render::goes_on() const {
    if (m_options.go_on && !m_options.go_on())
        integrator().cancel();
    return !integrator().should_stop();
}

std::vector<std::string> Render::channel_names() const {
    return film().channel_names(integrator().aov_names());
}

double Render::progress() const {
    if (done())
        return 1;
    return (m_group - m_first + double(m_next) / double(m_buffer.slots())) / (m_last - m_first);
}

uint64_t Render::total_samples() const {
    return uint64_t(crop().width) * uint64_t(crop().height) * uint64_t(spp());
}

uint64_t Render::whole_samples() const {
    return uint64_t(film().width()) * uint64_t(film().height()) * uint64_t(m_spp);
}

void Render::step() {
    if (done())
        return;
    VariantScope scope(m_scene.scene_variant());
    DropsEffects when_it_fails;
    ExpectedSamples expected(whole_samples());
    if (!make_ready())
        return;
    using Clock = std::chrono::steady_clock;
    Clock::time_point before = Clock::now();
    // What is splatted goes into a copy, as the launch may be given up; those of frozen functions are not
    bool may_end = integrator().splats() && !jit::Recorder::of(jit::Context::current());
    FilmBuffer light = may_end ? m_light : FilmBuffer();
    auto take_back = [&] {
        if (may_end)
            m_light = std::move(light);
    };
    try {
        launch(next_band());
    } catch (...) {
        take_back();
        throw;
    }
    if (m_is_given_up)
        return take_back();
    Clock::time_point after = Clock::now();
    m_overhead = std::min(m_overhead, std::chrono::duration<double>(after - before).count());
    if (m_under_way == 0)
        m_since = after;
    Band band = next_band();
    m_under_way += band.count * band.groups;
    advance();
}

Render::Band Render::next_band() const {
    return { m_next, std::min(m_launch_pixels, m_buffer.slots() - m_next), next_groups() };
}

// Full ones, no more than an eighth of what there is, lest an image come in jumps; and of few numbers, since each is traced.
uint32_t Render::next_groups() const {
    if (!m_is_small || m_next != 0)
        return 1;
    int left = std::min(m_last, m_spp / m_group_size) - m_group, done = m_group - m_first;
    uint32_t groups = 1, most = std::min(m_launch_pixels / m_buffer.slots(),
                                         uint32_t(std::max(std::min(left, done / 8), 0)));
    while (groups * 8 <= most)
        groups *= 8;
    return groups;
}

void Render::advance() {
    Band band = next_band();
    m_next += band.count;
    if (m_next == m_buffer.slots()) {
        m_next = 0;
        m_group += int(band.groups);
    }
}

void Render::wait() {
    VariantScope scope(m_scene.scene_variant());
    jit::synchronize();
    uint32_t pixels = std::exchange(m_under_way, 0);
    if (!(m_launch_seconds > 0) || pixels == 0)
        return;
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - m_since;
    // Not too fast, lest a few easy pixels promise too much; and of few sizes, since each is traced. Where there are
    // so many objects that starting a launch takes long, it must be worth it.
    double wanted = std::max(m_launch_seconds, 4 * m_overhead);
    if (pixels < m_launch_pixels && time.count() < wanted)
        return; // no launch of that size
    double ideal = pixels * std::clamp(wanted / std::max(time.count(), 1e-6), 0.1, MostGrowth);
    if (ideal > 0.5 * m_launch_pixels && ideal < 2.2 * m_launch_pixels)
        return;
    uint32_t tiles = uint32_t(std::min(ideal, double(m_most_pixels))) / FilmBuffer::TilePixels;
    m_launch_pixels = std::max(1u, std::bit_floor(tiles)) * FilmBuffer::TilePixels;
}

std::vector<Float> Render::film_channels(const Radiance &r, const Samples &s) const {
    Float alpha = select(r.valid, Float(1), Float(0));
    return film().channels({ s.ray_weight * r.L, s.ray.wavelengths, alpha, r.aovs });
}

// What changes between launches is data: the kernel is the same for all of them.
Render::Place Render::place_of(const Band &band) const {
    return { jit::opaque(band.first), jit::opaque(uint32_t(m_group * m_group_size)),
             m_seed_value.valid() ? jit::opaque(m_seed_value) : jit::opaque(m_seed),
             jit::opaque(uint32_t(m_options.skip_invalid)), jit::opaque(m_tally) };
}

// Closer by, the more samples share a pixel [Igehy 1999].
std::shared_ptr<const RayNeighbours> Render::neighbours_of(const CameraSample &c, const Ray &ray,
                                                           const Mask &active) const {
    auto data = [](double v) { return opaque_float(v); };
    double size[] = { double(film().width()), double(film().height()) };
    Float scale = data(1 / std::sqrt(double(m_spp)));
    auto at = [&](const Vector2 &position) -> std::pair<Vector3, Vector3> {
        Ray r = sensor().sample_ray(c.time, c.wavelength, position, c.aperture, active).first;
        return { fma(r.o - ray.o, scale, ray.o), fma(r.d - ray.d, scale, ray.d) };
    };
    auto [o_x, d_x] = at({ c.position.x + data(1 / size[0]), c.position.y });
    auto [o_y, d_y] = at({ c.position.x, c.position.y + data(1 / size[1]) });
    return std::make_shared<RayNeighbours>(RayNeighbours{ o_x, d_x, o_y, d_y });
}

Render::Samples Render::start(const Band &band, const Place &place) const {
    auto data = [](uint32_t v) { return jit::opaque(v); };
    uint32_t lanes = band.count * band.groups * uint32_t(m_group_size);

    // The pixel and the sample that a lane stands for
    UInt32 lane(jit::lane_index(lanes)), group_size = data(uint32_t(m_group_size));
    UInt32 slot = lane / group_size, in_group = lane - slot * group_size;
    UInt32 sample = in_group + place.sample;
    if (m_is_small) { // one group after the other
        UInt32 count = data(band.count), group = slot / count;
        slot = slot - group * count;
        sample = sample + group * group_size;
    }
    FilmBuffer::Pixels in_crop = m_buffer.pixels(slot + place.first);
    Mask active = (sample < data(uint32_t(m_spp))) & in_crop.inside;
    UInt32 x = in_crop.x + data(uint32_t(crop().x)), y = in_crop.y + data(uint32_t(crop().y));

    // Numbers depend on the place in the whole image, so a crop window shows the same noise
    SampleStream sampler{ m_sampler.get(), {} };
    UInt32 pixel = y * data(uint32_t(film().width())) + x;
    sampler.state = m_sampler->begin(place.seed, pixel, sample);

    CameraSample c = sensor().draw(sampler, x, y, !splats(), active);
    auto [ray, ray_weight] =
        sensor().sample_ray(c.time, c.wavelength, c.position, c.aperture, active);
    if (AsksForPartials::any())
        ray.neighbours = neighbours_of(c, ray, active);
    Mask skips = place.skip_invalid != UInt32(0u);
    return { in_crop,  sample,   active,  skips, place.tally,
             c.weight, c.offset, sampler, ray,   ray_weight };
}

class Render::Launch final : public Pass {
public:
    Launch(Render &render, const Band &band, const Place &place)
        : Pass(render.m_scene, render.sensor()), m_render(render),
          m_samples(render.start(band, place)) {
        sampler = m_samples.sampler;
        ray = m_samples.ray;
        active = m_samples.traced;
        group = render.m_group;
        carried = render.m_carried;
    }
    void add(const Radiance &r) override { results = m_render.results_of(r, m_samples); }
    void splat(const Vector2 &place, const Spectrum &L, const Wavelengths &wavelengths,
               SampleStream &stream, const Mask &lanes) override {
        m_render.splat(place, L, wavelengths, stream, m_samples, lanes);
    }
    bool go_on() override {
        m_render.m_is_given_up = !m_render.goes_on();
        return !m_render.m_is_given_up;
    }

    std::vector<Float> results; // empty if the integrator adds nothing to pixels

private:
    Render &m_render;
    Samples m_samples;
};

static void eval_all(const std::vector<Float> &values) {
    std::vector<const Value *> list;
    for (const Float &v : values)
        list.push_back(&v);
    jit::eval(std::span<const Value *const>(list));
}

void Render::share(size_t members, std::function<std::optional<Numbers>(const Render &)> others) {
    if (integrator().splats() || integrator().carries())
        integrator().complain("has launches that depend on the whole image, or on those before: "
                              "several devices cannot share that; name one");
    m_launch_seconds = 0; // all of one size
    m_is_small = false;
    uint32_t tile = FilmBuffer::TilePixels, slots = m_buffer.slots();
    auto portion = uint32_t((slots + members - 1) / members);
    m_launch_pixels = std::min(m_most_pixels, (portion + tile - 1) / tile * tile);
    m_others = std::move(others);
}

void Render::follow(const Position &p) {
    m_group = p.group;
    m_next = p.next;
    m_launch_pixels = p.launch_pixels;
    m_launch_seconds = 0;
    m_is_small = false;
}

std::vector<Float> Render::compute() {
    VariantScope scope(m_scene.scene_variant());
    DropsEffects when_it_fails;
    ExpectedSamples expected(whole_samples());
    if (!make_ready())
        throw DeviceError("a device was stopped before its first launch");
    std::vector<Float> results = compute(next_band());
    eval_all(results);
    advance();
    return results;
}

void Render::launch(const Band &band) {
    m_is_given_up = false;
    std::vector<Float> results;
    if (std::optional<Numbers> numbers = m_others ? m_others(*this) : std::nullopt)
        for (const std::vector<char> &bytes : *numbers) {
            jit::Type t = variant().float_type();
            results.emplace_back(jit::copy_from(t, bytes.data(), bytes.size() / jit::bytes(t)));
        }
    else
        results = compute(band);
    if (m_is_given_up)
        return;
    if (!results.empty())
        collect(band, std::move(results));
    if (m_carried.empty())
        return;
    std::vector<const Value *> carried;
    for (const Value &v : m_carried)
        carried.push_back(&v);
    jit::eval(std::span<const Value *const>(carried)); // once, not with all that comes later
}

std::vector<Float> Render::compute(const Band &band) {
    Place place = place_of(band);
    std::vector<Float> results;
    auto trace = [&] {
        SeenBy seen(sensor());
        Launch pass(*this, band, place);
        integrator().render(pass);
        check(pass.carried.empty() || integrator().carries());
        if (!m_is_given_up)
            m_carried = std::move(pass.carried);
        return std::vector<Value>(pass.results.begin(), pass.results.end());
    };
    const Value inputs[] = { place.first, place.sample, place.seed, place.skip_invalid,
                             place.tally };
    // Loops and calls that are evaluated look at lanes, whose numbers are those of one launch only
    const jit::Context &context = jit::Context::current();
    bool recorded = context.has(jit::Flag::RecordLoops) && context.has(jit::Flag::RecordCalls);
    bool replay = m_repeats && !m_is_single && recorded && !jit::Recorder::of(context);
    for (Value &v : replay ? m_launches->run(band.count * band.groups, inputs, trace) : trace())
        results.emplace_back(std::move(v));
    return results;
}

void Render::splat(const Vector2 &place, const Spectrum &L, const Wavelengths &wavelengths,
                   SampleStream &sampler, const Samples &s, const Mask &active) {
    check(integrator().splats());
    Float left = opaque_float(film().crop().x), top = opaque_float(film().crop().y);
    Vector2 u = film().filter().is_box() ? Vector2{ 0.5, 0.5 } : sampler.next_2d();
    constexpr double Infinity = std::numeric_limits<double>::infinity();
    Mask has_place = (abs(place.x) < Infinity) & (abs(place.y) < Infinity);
    Float px = select(has_place, place.x + left, left), py = select(has_place, place.y + top, top);
    auto [x, weight_x] = film().columns().choose_pixel(px, u.x, active);
    auto [y, weight_y] = film().rows().choose_pixel(py, u.y, active);
    std::vector<Float> further(integrator().aov_names().size(), Float(0)),
        values = film().channels(
            { L * sensor().response(wavelengths, active), wavelengths, Float(0), further });
    Mask valid = has_place;
    for (Float &v : values) {
        v = v * (weight_x * weight_y);
        valid = valid & (abs(v) < Infinity);
    }
    UInt32 column = x - jit::opaque(uint32_t(crop().x)), row = y - jit::opaque(uint32_t(crop().y));
    Mask is_inside = active & (column < jit::opaque(uint32_t(crop().width))) &
                     (row < jit::opaque(uint32_t(crop().height)));
    note_invalid_samples(s.tally, x, y, UInt32(InvalidSamples::Splat), is_inside & !valid);
    m_light.splat(values, column, row, active & has_place & (valid | !s.skips));
}

double Render::light_samples() const {
    double pixels = double(crop().width) * crop().height, done = samples_done();
    if (m_next == 0)
        return done;
    double more = samples_before(m_group + 1) - samples_before(m_group);
    return done + more * double(m_buffer.pixel_count(m_next)) / pixels;
}

std::vector<Float> Render::results_of(const Radiance &r, const Samples &s) const {
    std::vector<Float> values = film_channels(r, s);
    // Numbers of integrators, which come last, may be infinite for a reason: distances to nothing
    Mask valid(true);
    for (size_t k = 0; k < values.size(); ++k) {
        values[k] = select(s.traced, values[k] * s.weight, Float(0));
        if (k + r.aovs.size() < values.size())
            valid = valid & (abs(values[k]) < std::numeric_limits<double>::infinity());
    }
    note_invalid_samples(s.tally, s.pixel.x + jit::opaque(uint32_t(crop().x)),
                         s.pixel.y + jit::opaque(uint32_t(crop().y)), s.number, !valid);
    for (Float &v : values)
        v = select(s.skips & !valid, Float(0), v);
    if (splats()) {
        values.push_back(select(s.traced, Float(1), Float(0)));
        values.insert(values.end(), { s.offset.x, s.offset.y });
    }
    if (!splats() && m_group_size == 1)
        return values;
    eval_all(values);
    if (!splats())
        for (Float &v : values)
            v = Float(jit::block_reduce(jit::ReduceOp::Add, v, uint32_t(m_group_size)));
    return values;
}

void Render::collect(const Band &band, std::vector<Float> values) {
    if (splats()) {
        Vector2 offset{ values.end()[-2], values.end()[-1] };
        values.resize(values.size() - 2);
        m_buffer.add_filtered({ band.first, band.count, uint32_t(m_group_size), values, offset },
                              film().filter());
        return;
    }
    Float n = opaque_float(m_group - m_first + 1);
    if (band.groups > 1) {
        eval_all(values);
        UInt32 slot(jit::lane_index(band.count));
        m_buffer.add_in_turn(band.first, band.count, band.groups,
                             [&](const UInt32 &k, const std::vector<Float> &before) {
                                 UInt32 at = k * jit::opaque(band.count) + slot;
                                 std::vector<Float> group;
                                 for (const Float &v : values)
                                     group.emplace_back(jit::gather(v, at, Mask(true)));
                                 return numbers_of(std::move(group), before, n + Float(k));
                             });
        return;
    }
    if (m_options.estimate_error && next_group_is_small())
        values.emplace_back( // it is no sum like the others
            jit::full(variant().float_type(), 0, band.count));
    else if (m_options.estimate_error)
        values = numbers_of(std::move(values), m_buffer.at(band.first, band.count), n);
    m_buffer.add(band.first, band.count, values, m_is_single);
}

// Deviations from the mean without and with this group [Welford 1962]
std::vector<Float> Render::numbers_of(std::vector<Float> group, const std::vector<Float> &before,
                                      const Float &n) const {
    if (!m_options.estimate_error)
        return group;
    Float sum = film().brightness(group), sums = film().brightness(before);
    Float without = select(n > 1, sums / (n - 1), Float(0)), with = (sums + sum) / n;
    group.push_back((sum - without) * (sum - with));
    return group;
}

// What lies before the next launch has a group more than the rest.
Float Render::samples_of(const UInt32 &slot) const {
    int first = samples_before(m_first);
    return select(slot < jit::opaque(m_next), opaque_float(samples_before(m_group + 1) - first),
                  opaque_float(samples_before(m_group) - first));
}

// Of sums of full groups: their variance by n - 1, that of their mean by n, or more if there is a small group. Slots beyond the
// image hold zeros.
std::pair<Float, Float> Render::spread() const {
    check(m_options.estimate_error);
    uint32_t slots = m_buffer.slots();
    std::vector<Float> sums = m_buffer.at(0, slots);
    Float all = samples_of(UInt32(jit::lane_index(slots))) / opaque_float(m_group_size);
    Float n = floor(all);
    return { sums.back() / (all * (n - 1)), film().brightness(sums) / all };
}

double Render::median_error() const {
    if (full_groups() < 2)
        return std::numeric_limits<double>::infinity();
    VariantScope scope(m_scene.scene_variant());
    auto [variance, mean] = spread();
    std::vector<double> v = read_floats(variance), y = read_floats(mean), errors;
    for (size_t i = 0; i < v.size(); ++i) {
        constexpr double Rounding = 1e-6; // what is below is no noise
        if (double e = std::sqrt(v[i]) / std::abs(y[i]); e > Rounding && std::isfinite(e))
            errors.push_back(e);
    }
    if (errors.empty())
        return 0;
    auto middle = errors.begin() + long(errors.size() / 2);
    std::nth_element(errors.begin(), middle, errors.end());
    // Of few groups, more than half of all variances are estimated too low [Wilson and Hilferty 1931]
    double low = std::pow(1 - 2 / (9.0 * (full_groups() - 1)), 3);
    return *middle / std::sqrt(low);
}

double Render::relative_error() const {
    if (full_groups() < 2)
        return std::numeric_limits<double>::infinity();
    VariantScope scope(m_scene.scene_variant());
    auto total = [](const Float &v) {
        return read_floats(Float(jit::reduce(jit::ReduceOp::Add, v)))[0];
    };
    auto [variances, means] = spread();
    double variance = total(variances), sum = total(means);
    if (variance == 0)
        return 0;
    double pixels = double(crop().width) * crop().height, mean = std::abs(sum) / pixels;
    return mean > 0 ? std::sqrt(variance / pixels) / mean : std::numeric_limits<double>::infinity();
}

Image Render::image() const {
    VariantScope scope(m_scene.scene_variant());
    std::vector<std::string> collected = channel_names(), names = film().image_names(collected);
    Float values = film().develop(tensor(), uint32_t(collected.size()));
    Image image(size_t(crop().width), size_t(crop().height), names, Component::F32);
    std::span<float> numbers(image.data<float>(), values.size());
    if (values.type() == jit::Type::F32)
        jit::read(values, numbers.data(), 0, values.size());
    else
        std::ranges::copy(read_floats(values), numbers.begin());
    report_lost_rays();
    report_invalid_samples(m_tally, m_options.seed, m_options.skip_invalid);
    auto is_bad = [](float v) { return !(std::abs(v) < std::numeric_limits<float>::infinity()); };
    if (auto bad = std::find_if(numbers.begin(), numbers.end(), is_bad); bad != numbers.end()) {
        auto pixel = size_t(bad - numbers.begin()) / names.size(), width = size_t(crop().width);
        warn(fmt::format(
            "{} of the image's numbers are NaN or infinite, the first at pixel ({}, {})",
            std::count_if(bad, numbers.end(), is_bad), pixel % width + size_t(crop().x),
            pixel / width + size_t(crop().y)));
    }
    return image;
}

} // namespace umbel
