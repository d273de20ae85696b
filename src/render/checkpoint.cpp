// render/checkpoint.cpp: the state of a render as bytes: to go on later, or to be merged with that of other parts.
//
// The signature's length and text, then numbers and films as they lie in memory, then what launches carry: type, size and elements
// of each array; at the end the CRC-32 of all that.
#include "core/host_array.h"
#include "render/driver.h"
#include <cstring>
#include <limits>
#include <zlib.h>

namespace umbel {

std::string Render::signature() const {
    const Film::Crop &c = crop();
    return fmt::format(
        "umbel render 9: {}, variant {}, {} x {} pixels, crop {} x {} at ({}, {}), seed {}, {} "
        "error, {} invalid samples, channels {}",
        m_options.label, m_scene.scene_variant().name, film().width(), film().height(), c.width,
        c.height, c.x, c.y, m_seed, m_options.estimate_error ? "with" : "without",
        m_options.skip_invalid ? "without" : "with", fmt::join(channel_names(), " "));
}

// Every change of up to 32 bits in a row gives another one.
static uint64_t checksum(std::string_view bytes) {
    return crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef *>(bytes.data()),
                   bytes.size());
}

std::string Render::save() const {
    VariantScope scope(m_scene.scene_variant());
    std::string out, head = signature();
    auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char *>(&v), sizeof v); };
    put(head.size());
    out += head;
    for (int v : { m_spp, m_group_size, m_first, m_last, m_group })
        put(uint64_t(v));
    put(m_next);
    out += m_buffer.bytes();
    out += m_light.bytes();
    put(m_carried.size());
    for (const Value &v : m_carried) {
        put(uint64_t(v.type()));
        put(v.size());
        size_t begin = out.size();
        out.resize(begin + v.size() * jit::bytes(v.type()));
        jit::read(v, out.data() + begin, 0, v.size());
    }
    put(checksum(out));
    return out;
}

Render::State Render::parse(std::string_view bytes) const {
    auto damaged = [] {
        throw DamagedState("a checkpoint is damaged, or of another version of Umbel; delete it to "
                           "begin anew");
    };
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
    // First of all: no other message is to be trusted where a bit has changed
    uint64_t sum;
    if (bytes.size() < sizeof sum)
        damaged();
    std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
    bytes.remove_suffix(sizeof sum);
    if (sum != checksum(bytes))
        damaged();
    uint64_t length = get();
    if (length > 4096)
        damaged();
    std::string_view head = take(length);
    if (head != signature())
        fail("a checkpoint belongs to another render.\n  it has:  {}\n  this is: {}\nDelete it to "
             "begin anew",
             head, signature());
    uint64_t spp = get(), group_size = get(), first = get(), last = get(), group = get(),
             next = get();
    if (spp < 1 || spp > uint64_t(std::numeric_limits<int>::max()) || group_size < 1 ||
        group_size > spp)
        damaged();
    uint64_t groups = (spp + group_size - 1) / group_size;
    if (first > group || group > last || last > groups || next >= m_buffer.slots() ||
        next % FilmBuffer::TilePixels)
        damaged();
    State s{ int(spp),       int(group_size), int(first), int(last), int(group),
             uint32_t(next), m_buffer,        m_light,    {} };
    s.buffer.set_bytes(take(m_buffer.byte_count()));
    s.light.set_bytes(take(m_light.byte_count()));
    for (uint64_t left = get(); left > 0; --left) {
        uint64_t type = get(), size = get();
        if (type <= uint64_t(jit::Type::Void) || type >= uint64_t(jit::Type::Ptr) ||
            size > bytes.size())
            damaged();
        std::string_view elements = take(size * jit::bytes(jit::Type(type)));
        s.carried.push_back(jit::copy_from(jit::Type(type), elements.data(), size));
    }
    if (!bytes.empty())
        damaged();
    return s;
}

// Whether samples are the same whether they are to be so many or more: asked of a few hundred.
static bool is_sequence(const Sampler &sampler, int a, int b) {
    std::vector<double> numbers[2];
    for (int k = 0; k < 2; ++k) {
        Ref<Sampler> s = sampler.clone();
        s->set_sample_count(k ? b : a);
        UInt32 lane(jit::lane_index(256)), seed = jit::opaque(uint32_t(sampler.seed()));
        SampleStream stream{ s.get(), s->begin(seed, lane >> UInt32(4u), lane & UInt32(15u)) };
        for (int i = 0; i < 4; ++i) {
            Vector2 u = stream.next_2d();
            for (const Float &v : { u.x, u.y, stream.next_1d() }) {
                std::vector<double> more = read_floats(v);
                numbers[k].insert(numbers[k].end(), more.begin(), more.end());
            }
        }
    }
    return numbers[0] == numbers[1];
}

void Render::check_extension(const State &s) const {
    constexpr const char *Remedy = "take as many as it has, or delete it to begin anew";
    int64_t groups = (int64_t(s.spp) + s.group_size - 1) / s.group_size;
    if (s.first != 0 || s.last != groups || m_options.parts > 1)
        fail("a checkpoint of {} samples a pixel is of a part of them, which cannot be made one of "
             "{}; {}",
             s.spp, m_spp, Remedy);
    if (!is_sequence(*m_sampler, s.spp, m_spp))
        fail("a checkpoint of {} samples a pixel cannot go on to {}: the sampler {} arranges them "
             "by "
             "their number; {}",
             s.spp, m_spp, sensor().sampler().plugin(), Remedy);
    if (AsksForPartials::any())
        fail("a checkpoint of {} samples a pixel cannot go on to {}: textures or channels of the "
             "scene are filtered by their number; {}",
             s.spp, m_spp, Remedy);
    int begun = s.group + (s.next > 0);
    if (s.group_size != m_group_size || begun > s.spp / s.group_size)
        fail("a checkpoint of {} samples a pixel cannot go on to {}: they are taken {} at a time, "
             "and the last ones were fewer; {}",
             s.spp, m_spp, m_group_size, Remedy);
    if (begun * s.group_size > m_spp)
        fail("a checkpoint has {} samples a pixel already, more than the {} that are asked for",
             begun * s.group_size, m_spp);
}

void Render::restore(std::string_view bytes) {
    VariantScope scope(m_scene.scene_variant());
    State s = parse(bytes);
    if (s.spp != m_spp)
        check_extension(s);
    else if (s.first != m_first || s.last != m_last || s.group_size != m_group_size)
        fail("a checkpoint belongs to another part of the render: to groups of samples {} to {}, "
             "and "
             "this one has {} to {}. Delete it to begin anew",
             s.first, s.last, m_first, m_last);
    m_group = s.group;
    m_next = s.next;
    m_buffer = std::move(s.buffer);
    m_light = std::move(s.light);
    m_carried = std::move(s.carried);
}

void Render::merge(std::string_view bytes) {
    VariantScope scope(m_scene.scene_variant());
    State s = parse(bytes);
    if (s.spp != m_spp || s.group_size != m_group_size)
        fail("this is a part of a render of {} samples a pixel, not of {}", s.spp, m_spp);
    if (samples_done() == 0 && at_full_group() && s.first == m_first && s.group == s.last) {
        m_last = m_group = s.last;
        m_buffer = std::move(s.buffer);
        m_light = std::move(s.light);
        return;
    }
    if (!done() || s.group != s.last)
        fail("parts of a render are merged when they are done; {} is not",
             done() ? "the second" : "the first");
    if (s.first != m_last)
        fail("parts of a render are merged in their order: after groups of samples {} to {} come "
             "those "
             "from {} on, not from {} on",
             m_first, m_last, m_last, s.first);
    uint32_t slots = m_buffer.slots();
    std::vector<Float> more = s.buffer.at(0, slots);
    if (m_options.estimate_error && s.last > s.first && m_last > m_first) {
        // Squared deviations from the mean of all, given those from the means of each [Chan et al. 1983]. A small group
        // counts as a part of one, and is in the mean alone: right on average.
        auto groups = [&](int first, int last) {
            return double(samples_before(last) - samples_before(first)) / m_group_size;
        };
        double a = groups(m_first, m_last), b = groups(s.first, s.last);
        Float step = film().brightness(more) * opaque_float(1 / b) -
                     film().brightness(m_buffer.at(0, slots)) * opaque_float(1 / a);
        more.back() = more.back() + sqr(step) * opaque_float(a * b / (a + b));
    }
    m_buffer.add(0, slots, more);
    if (integrator().splats())
        m_light.add(0, slots, s.light.at(0, slots));
    m_last = m_group = s.last;
}

} // namespace umbel
