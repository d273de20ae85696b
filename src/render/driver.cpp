// render/driver.cpp: passes over the image.
#include "render/driver.h"
#include "core/colour.h"
#include "core/host_array.h"
#include <cmath>
#include <cstring>

namespace umbel {

namespace {
constexpr int GroupSize = 16; // samples of one pixel that make a packet

constexpr uint64_t LanesALaunch = 1u << 22; // bounds the memory for results of single samples
} // namespace

Render::Render(const Scene &scene, const RenderOptions &options)
    : m_scene(scene), m_own_sensor(options.from),
      m_sensor(options.from ? *options.from : *scene.sensors().at(size_t(options.sensor))),
      m_integrator(options.integrator ? options.integrator : scene.integrator()),
      m_seed(options.seed), m_seed_value(options.seed_value),
      m_estimate_error(options.estimate_error), m_label(options.label) {
    Sampler &sampler = m_sensor.sampler();
    m_spp = options.spp > 0 ? options.spp : sampler.sample_count();
    m_seed += uint32_t(sampler.seed());
    if (m_seed_value.valid())
        m_seed_value += UInt32(uint32_t(sampler.seed()));
    if (sampler.sample_count() != m_spp) // it has data of its own that depends on it
        sampler.set_sample_count(m_spp);
    m_spp = sampler.sample_count();
    m_group_size = std::min(m_spp, GroupSize);

    const Film::Crop &crop = m_sensor.film().crop();
    m_tiles_x = (uint32_t(crop.width) + TileSize - 1) / TileSize;
    m_tiles_y = (uint32_t(crop.height) + TileSize - 1) / TileSize;
    uint64_t slots = uint64_t(m_tiles_x) * m_tiles_y * TileSize * TileSize;
    if (slots > 0xffffffffu)
        fail("an image of {} x {} pixels is too large; render it in parts, with crop windows",
             crop.width, crop.height);
    uint64_t most = LanesALaunch / uint64_t(m_group_size);
    if (options.launch_pixels) // whole tiles
        most = std::min<uint64_t>(most, (uint64_t(options.launch_pixels) + 15) / 16 * 16);
    m_launch_pixels = uint32_t(most);
    VariantScope scope(scene.scene_variant());
    weigh_border();
    if (splats() && m_estimate_error)
        fail("the error of an image whose samples are splatted cannot be estimated: its pixels are "
             "related; set the film's `splat` to false");
    m_is_single =
        options.is_lazy && slots <= most && m_spp <= m_group_size && !m_estimate_error && !splats();
    for (uint64_t first = 0; first < slots; first += most) {
        Band b{ uint32_t(first), uint32_t(std::min(most, slots - first)), 0, {} };
        for (size_t c = 0; c < channel_names().size() + (m_estimate_error || splats()); ++c)
            b.film.emplace_back(m_is_single
                                    ? Float(0)
                                    : Float(jit::opaque(jit::full(variant().float_type(), 0,
                                                                  b.count)))); // data, as later
        m_bands.push_back(std::move(b));
    }
}

void Render::weigh_border() {
    const Film &film = m_sensor.film();
    if (film.sample_border() || film.splats())
        return;
    auto weights = [&](int size) {
        std::vector<double> w(size_t(size), 1.0);
        int reach = std::min(size, int(std::ceil(film.filter().radius())) + 1);
        for (int i = 0; i < size; ++i)
            if (i < reach || i >= size - reach)
                w[size_t(i)] = 1 / film.filter().mass(-i - 0.5, size - i - 0.5);
        return float_array(w);
    };
    m_column_weight = weights(film.width());
    m_row_weight = weights(film.height());
}

std::vector<std::string> Render::channel_names() const {
    std::vector<std::string> names = { "R", "G", "B" };
    if (m_scene.scene_variant().colour == Colour::Mono)
        names = { "Y" };
    if (m_sensor.film().has_alpha())
        names.push_back("A");
    for (std::string &n : integrator().aov_names())
        names.push_back(n);
    return names;
}

double Render::progress() const {
    double groups = std::ceil(double(m_spp) / m_group_size);
    return std::min(1.0, (m_group + double(m_band) / double(m_bands.size())) / groups);
}

uint64_t Render::total_samples() const {
    const Film::Crop &crop = m_sensor.film().crop();
    return uint64_t(crop.width) * uint64_t(crop.height) * uint64_t(m_spp);
}

void Render::step() {
    if (done())
        return;
    VariantScope scope(m_scene.scene_variant());
    launch(m_bands[m_band]);
    advance();
}

void Render::advance() {
    if (++m_band == m_bands.size()) {
        m_band = 0;
        ++m_group;
    }
}

void Render::wait() const {
    VariantScope scope(m_scene.scene_variant());
    jit::synchronize();
}

std::vector<Float> Render::film_channels(const Radiance &r, const Ray &ray) const {
    std::vector<Float> out = to_rgb(unpolarized(r.L), ray.wavelengths);
    if (m_sensor.film().has_alpha())
        out.push_back(select(r.valid, Float(1), Float(0)));
    out.insert(out.end(), r.aovs.begin(), r.aovs.end());
    return out;
}

Render::Pixels Render::pixels_of(const Band &band, const UInt32 &index) const {
    const Film::Crop &crop = m_sensor.film().crop();
    auto data = [](uint32_t v) { return jit::opaque(v); };
    UInt32 side(uint32_t{ TileSize }), area = side * side, slot = index + data(band.first);
    UInt32 tile = slot / area, in_tile = slot % area;
    UInt32 tiles_x = data(m_tiles_x), tile_y = tile / tiles_x, tile_x = tile - tile_y * tiles_x;
    UInt32 x = tile_x * side + in_tile % side, y = tile_y * side + in_tile / side;
    UInt32 width = data(uint32_t(crop.width));
    return { x, y, y * width + x, (x < width) & (y < data(uint32_t(crop.height))) };
}

// What changes between launches is data: the kernel is the same for all of them.
Render::Samples Render::start(const Band &band) const {
    const Film &film = m_sensor.film();
    const Film::Crop &crop = film.crop();
    auto data = [](uint32_t v) { return jit::opaque(v); };
    uint32_t lanes = band.count * uint32_t(m_group_size);

    // The pixel and the sample that a lane stands for
    UInt32 lane(jit::lane_index(lanes)), group_size = data(uint32_t(m_group_size));
    UInt32 slot = lane / group_size, in_group = lane - slot * group_size;
    UInt32 sample = in_group + data(uint32_t(m_group * m_group_size));
    Pixels in_crop = pixels_of(band, slot);
    Mask active = (sample < data(uint32_t(m_spp))) & in_crop.inside;
    UInt32 x = in_crop.x + data(uint32_t(crop.x)), y = in_crop.y + data(uint32_t(crop.y));

    // Numbers depend on the place in the whole image, so a crop window shows the same noise
    SampleStream sampler{ &m_sensor.sampler(), {} };
    UInt32 pixel = y * data(uint32_t(film.width())) + x;
    sampler.state =
        m_sensor.sampler().begin(m_seed_value.valid() ? m_seed_value : data(m_seed), pixel, sample);

    // A position drawn from the reconstruction filter around the pixel
    Vector2 u = sampler.next_2d();
    auto [dx, weight_x] =
        film.splats() ? std::pair(u.x - 0.5, Float(1)) : film.filter().sample(u.x);
    auto [dy, weight_y] =
        film.splats() ? std::pair(u.y - 0.5, Float(1)) : film.filter().sample(u.y);
    Vector2 position{ (Float(x) + 0.5 + dx) * opaque_float(1.0 / film.width()),
                      (Float(y) + 0.5 + dy) * opaque_float(1.0 / film.height()) };

    Mask traced = active;
    Float weight = weight_x * weight_y;
    if (m_column_weight.valid()) {
        Mask inside = (position.x >= 0) & (position.x < 1) & (position.y >= 0) & (position.y < 1);
        weight = select(inside,
                        weight * Float(jit::gather(m_column_weight, x, active)) *
                            Float(jit::gather(m_row_weight, y, active)),
                        Float(0));
        traced = active & inside; // what counts for nothing is not followed
    }

    Float time = m_sensor.sample_time(m_sensor.needs_time_sample() ? sampler.next_1d() : Float(0));
    Float wavelength = variant().colour == Colour::Spectral ? sampler.next_1d() : Float(0);
    Vector2 aperture = m_sensor.needs_aperture_sample() ? sampler.next_2d() : Vector2{ 0.5, 0.5 };
    auto [ray, ray_weight] = m_sensor.sample_ray(time, wavelength, position, aperture, traced);
    return { in_crop, traced, weight, { dx, dy }, sampler, ray, ray_weight };
}

void Render::launch(Band &band) {
    Samples s = start(band);
    add_to_film(band, integrator().sample(m_scene, s.sampler, s.ray, s.traced), s);
}

void Render::add_to_film(Band &band, const Radiance &radiance, const Samples &s) {
    Radiance r = radiance;
    r.L = s.ray_weight * r.L;
    std::vector<Float> values = film_channels(r, s.ray);
    std::vector<const Value *> list;
    for (Float &v : values) {
        v = select(s.traced, v * s.weight, Float(0));
        list.push_back(&v);
    }
    if (splats()) {
        jit::eval(std::span<const Value *const>(list));
        splat(values, s);
        ++band.groups_done;
        return;
    }
    std::vector<Float> sums;
    if (m_group_size > 1) {
        jit::eval(std::span<const Value *const>(list));
        for (const Float &v : values)
            sums.emplace_back(jit::block_reduce(jit::ReduceOp::Add, v, uint32_t(m_group_size)));
    } else
        sums = values;
    list.clear();
    std::vector<Float> film_before = band.film;
    for (size_t c = 0; c < values.size(); ++c) {
        band.film[c] += sums[c];
        list.push_back(&band.film[c]);
    }
    if (m_estimate_error) { // deviations from the mean without and with this group [Welford 1962]
        int n = band.groups_done + 1;
        Float group = luminance(sums), before = luminance(film_before);
        Float without = before * opaque_float(n > 1 ? 1.0 / (n - 1) : 0);
        Float with = (before + group) * opaque_float(1.0 / n);
        band.film.back() += (group - without) * (group - with);
        list.push_back(&band.film.back());
    }
    if (!m_is_single)
        jit::eval(std::span<const Value *const>(list));
    ++band.groups_done;
}

void Render::splat(const std::vector<Float> &values, const Samples &s) {
    const Film &film = m_sensor.film();
    const Film::Crop &crop = film.crop();
    int reach = int(std::ceil(film.filter().radius() - 0.5));
    UInt32 width = jit::opaque(uint32_t(crop.width)), height = jit::opaque(uint32_t(crop.height)),
           tiles_x = jit::opaque(m_tiles_x), tile(uint32_t{ TileSize });
    for (int j = -reach; j <= reach; ++j)
        for (int i = -reach; i <= reach; ++i) {
            // Beyond the left or top edge a coordinate wraps around, and is too large
            UInt32 x = s.pixel.x + UInt32(uint32_t(i)), y = s.pixel.y + UInt32(uint32_t(j));
            Mask inside = s.traced & (x < width) & (y < height);
            Float w = film.filter().profile(s.offset.x - i) * film.filter().profile(s.offset.y - j);
            UInt32 slot =
                (y / tile * tiles_x + x / tile) * (tile * tile) + y % tile * tile + x % tile;
            for (Band &b : m_bands) {
                UInt32 at = slot - jit::opaque(b.first);
                Mask here = inside & (at < jit::opaque(b.count));
                for (size_t c = 0; c < values.size(); ++c)
                    jit::scatter(b.film[c], values[c] * w, at, here, jit::ReduceOp::Add);
                jit::scatter(b.film.back(), w, at, here, jit::ReduceOp::Add);
            }
        }
    jit::eval();
}

Float Render::luminance(const std::vector<Float> &channels) const {
    if (m_scene.scene_variant().colour == Colour::Mono)
        return channels[0];
    return channels[0] * umbel::luminance({ 1, 0, 0 }) +
           channels[1] * umbel::luminance({ 0, 1, 0 }) +
           channels[2] * umbel::luminance({ 0, 0, 1 });
}

double Render::relative_error() const {
    check(m_estimate_error);
    VariantScope scope(m_scene.scene_variant());
    const Film::Crop &crop = m_sensor.film().crop();
    double variance = 0, sum = 0, pixels = double(crop.width) * crop.height;
    for (const Band &b : m_bands) {
        double n = b.groups_done;
        if (n < 4)
            return std::numeric_limits<double>::infinity();
        // Of sums of groups: their variance by n - 1, that of their mean by n. Slots beyond the image hold zeros.
        variance +=
            read_floats(Float(jit::reduce(jit::ReduceOp::Add, b.film.back())))[0] / (n * (n - 1));
        sum += read_floats(Float(jit::reduce(jit::ReduceOp::Add, luminance(b.film))))[0] / n;
    }
    if (variance == 0)
        return 0;
    double mean = std::abs(sum) / pixels;
    return mean > 0 ? std::sqrt(variance / pixels) / mean : std::numeric_limits<double>::infinity();
}

Image Render::image() const {
    VariantScope scope(m_scene.scene_variant());
    const Film::Crop &crop = m_sensor.film().crop();
    std::vector<std::string> names = channel_names();
    Image image(size_t(crop.width), size_t(crop.height), names, Component::F32);
    float *pixels = image.data<float>();
    for (const Band &b : m_bands) {
        double samples = std::min(b.groups_done * m_group_size, m_spp);
        std::vector<double> weights;
        if (splats())
            weights = read_floats(b.film.back());
        for (size_t c = 0; c < names.size(); ++c) {
            std::vector<double> values = read_floats(b.film[c]);
            for (uint32_t i = 0; i < b.count; ++i) {
                uint32_t tile = (b.first + i) / 16, in = (b.first + i) % 16;
                uint32_t x = tile % m_tiles_x * TileSize + in % TileSize;
                uint32_t y = tile / m_tiles_x * TileSize + in / TileSize;
                if (x < uint32_t(crop.width) && y < uint32_t(crop.height) && samples > 0)
                    pixels[(size_t(y) * size_t(crop.width) + x) * names.size() + c] =
                        float(values[i] / (weights.empty()   ? samples
                                           : weights[i] != 0 ? weights[i]
                                                             : 1));
            }
        }
    }
    return image;
}

// ---- checkpoints: the signature's length and text, then numbers and films as they lie in memory

std::string Render::signature() const {
    const Film &film = m_sensor.film();
    const Film::Crop &c = film.crop();
    return fmt::format(
        "umbel render 2: {}, variant {}, {} x {} pixels, crop {} x {} at ({}, {}), {} "
        "samples, seed {}, {} pixels a launch, {} error, channels {}",
        m_label, m_scene.scene_variant().name, film.width(), film.height(), c.width, c.height, c.x,
        c.y, m_spp, m_seed, m_launch_pixels, m_estimate_error ? "with" : "without",
        fmt::join(channel_names(), " "));
}

std::string Render::save() const {
    VariantScope scope(m_scene.scene_variant());
    std::string out, head = signature();
    auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char *>(&v), sizeof v); };
    put(head.size());
    out += head;
    put(uint64_t(m_group));
    put(m_band);
    for (const Band &b : m_bands) {
        put(uint64_t(b.groups_done));
        for (const Float &channel : b.film) {
            size_t bytes = channel.size() * jit::bytes(channel.type()), at = out.size();
            out.resize(at + bytes);
            jit::read(channel, out.data() + at, 0, channel.size());
        }
    }
    return out;
}

void Render::restore(std::string_view bytes) {
    VariantScope scope(m_scene.scene_variant());
    auto damaged = [] { fail("a checkpoint is damaged; delete it to begin anew"); };
    auto take = [&](size_t n) {
        if (bytes.size() < n)
            damaged();
        std::string_view part = bytes.substr(0, n);
        bytes.remove_prefix(n);
        return part;
    };
    auto get = [&] {
        uint64_t v;
        std::memcpy(&v, take(sizeof v).data(), sizeof v);
        return v;
    };
    uint64_t length = get();
    if (length > 4096)
        damaged();
    std::string_view head = take(length);
    if (head != signature())
        fail("a checkpoint belongs to another render.\n  it has:  {}\n  this is: {}\nDelete it to "
             "begin anew",
             head, signature());
    uint64_t group = get(), band = get();
    if (group > uint64_t(m_spp) || band >= m_bands.size())
        damaged();
    std::vector<Band> bands = m_bands;
    for (Band &b : bands) {
        b.groups_done = int(get());
        for (Float &channel : b.film) {
            std::string_view data = take(b.count * jit::bytes(variant().float_type()));
            channel = Float(jit::copy_from(variant().float_type(), data.data(), b.count));
        }
    }
    if (!bytes.empty())
        damaged();
    m_bands = std::move(bands);
    m_group = int(group);
    m_band = band;
}

} // namespace umbel
