// render/checkpoint.cpp: the state of a render as bytes: to go on later, or to be merged with that of other parts.
//
// The signature's length and text, then numbers and films as they lie in memory.
#include "render/driver.h"
#include <cstring>

namespace umbel {

std::string Render::signature() const {
    const Film::Crop &c = film().crop();
    return fmt::format(
        "umbel render 5: {}, variant {}, {} x {} pixels, crop {} x {} at ({}, {}), {} "
        "samples, seed {}, {} error, channels {}",
        m_options.label, m_scene.scene_variant().name, film().width(), film().height(), c.width,
        c.height, c.x, c.y, m_spp, m_seed, m_options.estimate_error ? "with" : "without",
        fmt::join(channel_names(), " "));
}

std::string Render::save() const {
    VariantScope scope(m_scene.scene_variant());
    std::string out, head = signature();
    auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char *>(&v), sizeof v); };
    put(head.size());
    out += head;
    for (uint64_t v : { uint64_t(m_first), uint64_t(m_last), uint64_t(m_group), uint64_t(m_next) })
        put(v);
    return out + m_buffer.bytes() + m_light.bytes();
}

Render::State Render::parse(std::string_view bytes) const {
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
    uint64_t first = get(), last = get(), group = get(), next = get();
    uint64_t groups = uint64_t((m_spp + m_group_size - 1) / m_group_size);
    if (first > group || group > last || last > groups || next >= m_buffer.slots() ||
        next % FilmBuffer::TilePixels ||
        bytes.size() != m_buffer.byte_count() + m_light.byte_count())
        damaged();
    State s{ int(first), int(last), int(group), uint32_t(next), m_buffer, m_light };
    s.buffer.set_bytes(take(m_buffer.byte_count()));
    s.light.set_bytes(bytes);
    return s;
}

void Render::restore(std::string_view bytes) {
    VariantScope scope(m_scene.scene_variant());
    State s = parse(bytes);
    if (s.first != m_first || s.last != m_last)
        fail("a checkpoint belongs to another part of the render: to groups of samples {} to {}, "
             "and "
             "this one has {} to {}. Delete it to begin anew",
             s.first, s.last, m_first, m_last);
    m_group = s.group;
    m_next = s.next;
    m_buffer = std::move(s.buffer);
    m_light = std::move(s.light);
}

void Render::merge(std::string_view bytes) {
    VariantScope scope(m_scene.scene_variant());
    State s = parse(bytes);
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
        // Squared deviations from the mean of all, given those from the means of each [Chan et al. 1983]
        double a = m_last - m_first, b = s.last - s.first;
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
