// render/film_buffer.cpp: see render/film_buffer.h.
#include "render/film_buffer.h"
#include "jit/control.h"
#include <cmath>

namespace umbel {

// What changes between images and launches is data: the kernels are the same for all of them.
static UInt32 data(uint32_t v) { return jit::opaque(v); }

FilmBuffer::FilmBuffer(uint32_t width, uint32_t height, uint32_t numbers, bool compensate)
    : m_width(width), m_height(height), m_numbers(numbers),
      m_tiles_x((width + TileSize - 1) / TileSize), m_tiles_y((height + TileSize - 1) / TileSize),
      m_stored(compensate ? 2 * numbers : numbers) {
    uint64_t size = uint64_t(m_tiles_x) * m_tiles_y * TilePixels * m_stored;
    if (size > 0xffffffffu)
        fail("an image of {} x {} pixels with {} channels is too large; render it in parts, with "
             "crop windows",
             width, height, numbers);
}

const Float &FilmBuffer::sums() const {
    if (!m_sums.valid())
        m_sums = Float(jit::opaque(jit::full(variant().float_type(), 0, slots() * m_stored)));
    return m_sums;
}

uint64_t FilmBuffer::pixel_count(uint32_t slots) const {
    uint64_t count = 0;
    for (uint32_t tile = 0; tile < slots / TilePixels; ++tile) {
        uint32_t x = tile % m_tiles_x * TileSize, y = tile / m_tiles_x * TileSize;
        count += uint64_t(std::min(TileSize, m_width - x)) * std::min(TileSize, m_height - y);
    }
    return count;
}

FilmBuffer::Pixels FilmBuffer::pixels(const UInt32 &slot) const {
    UInt32 side(uint32_t{ TileSize }), area = side * side;
    UInt32 tile = slot / area, in_tile = slot % area;
    UInt32 tiles_x = data(m_tiles_x), tile_y = tile / tiles_x, tile_x = tile - tile_y * tiles_x;
    UInt32 x = tile_x * side + in_tile % side, y = tile_y * side + in_tile / side;
    UInt32 width = data(m_width);
    return { x, y, y * width + x, (x < width) & (y < data(m_height)) };
}

UInt32 FilmBuffer::slot(const UInt32 &x, const UInt32 &y) const {
    UInt32 side(uint32_t{ TileSize });
    UInt32 tile = y / side * data(m_tiles_x) + x / side;
    return tile * (side * side) + y % side * side + x % side;
}

Float FilmBuffer::number(const UInt32 &slot, uint32_t k, const Mask &active) const {
    return Float(jit::gather(sums(), slot * UInt32(m_stored) + UInt32(k), active));
}

std::vector<Float> FilmBuffer::stored(uint32_t first, uint32_t count) const {
    UInt32 slot = UInt32(jit::lane_index(count)) + data(first);
    std::vector<Float> out;
    for (Value &v : jit::gather_packet(sums(), slot, m_stored, Mask(true)))
        out.emplace_back(std::move(v));
    return out;
}

std::vector<Float> FilmBuffer::at(uint32_t first, uint32_t count) const {
    std::vector<Float> out = stored(first, count);
    out.resize(m_numbers);
    return out;
}

// Evaluates them before the array changes that they were computed from.
void FilmBuffer::store(uint32_t first, std::vector<Float> &numbers) {
    std::vector<const Value *> list;
    for (Float &v : numbers)
        list.push_back(&v);
    jit::eval(std::span<const Value *const>(list));
    UInt32 slot = UInt32(jit::lane_index(numbers[0].size())) + data(first);
    for (uint32_t k = 0; k < m_stored; ++k)
        jit::scatter(m_sums, numbers[k], slot * UInt32(m_stored) + UInt32(k), Mask(true));
    jit::eval();
}

void FilmBuffer::add_to(std::vector<Float> &stored, const std::vector<Float> &values) const {
    for (uint32_t k = 0; k < m_numbers; ++k) {
        Float &sum = stored[k];
        if (m_stored == m_numbers) {
            sum += values[k];
            continue;
        }
        Float &lost = stored[m_numbers + k];
        Float more = values[k] + lost, next = sum + more;
        lost = more - (next - sum);
        sum = next;
    }
}

void FilmBuffer::add(uint32_t first, uint32_t count, const std::vector<Float> &values,
                     bool is_all) {
    check(values.size() == m_numbers);
    if (is_all) {
        m_unevaluated = values;
        return;
    }
    std::vector<Float> numbers = stored(first, count);
    add_to(numbers, values);
    store(first, numbers);
}

void FilmBuffer::add_in_turn(
    uint32_t first, uint32_t count, uint32_t times,
    const std::function<std::vector<Float>(const UInt32 &, const std::vector<Float> &)> &values) {
    struct Turns {
        UInt32 k;
        std::vector<Float> numbers;
        UMBEL_STRUCT(k, numbers)
    };
    UInt32 end = data(times);
    Turns turns{ UInt32(0u), stored(first, count) };
    turns = jit::loop(
        turns, [&](const Turns &t) { return t.k < end; },
        [&](Turns &t) {
            std::vector<Float> before(t.numbers.begin(), t.numbers.begin() + m_numbers),
                added = values(t.k, before);
            check(added.size() == m_numbers);
            add_to(t.numbers, added);
            t.k = t.k + UInt32(1u);
        },
        "groups");
    store(first, turns.numbers);
}

namespace {
struct FilterWalk { // over the samples in reach of a pixel
    Int32 x, y;     // the pixel whose samples come next ...
    Int32 top;      // ... in the strip of rows that begins here, and ends with its tiles
    std::vector<Float> sums;
    UMBEL_STRUCT(x, y, top, sums)
};
struct GroupWalk { // over the samples of one pixel
    UInt32 k;
    std::vector<Float> sums;
    UMBEL_STRUCT(k, sums)
};
} // namespace

// Every pixel gathers from those around it, in the order of their slots: so launches, which follow that order, may be cut
// anywhere.
void FilmBuffer::add_filtered(const Samples &s, const Filter &filter) {
    check(s.values.size() == m_numbers);
    auto reach = uint32_t(filter.border_size());
    uint32_t a_row = m_tiles_x * TilePixels, margin = (reach + TileSize - 1) / TileSize;
    uint32_t from = s.first / a_row, to = (s.first + s.count - 1) / a_row;
    from -= std::min(from, margin);
    to = std::min(to + margin, m_tiles_y - 1);
    uint32_t first = from * a_row, count = (to + 1) * a_row - first;

    Pixels here = pixels(UInt32(jit::lane_index(count)) + data(first));
    Int32 r(int32_t{ int32_t(reach) }), x(here.x), y(here.y),
        left = x - r, right = x + r, bottom = select(here.inside, y + r, y - r - 1);
    FilterWalk walk{ left, y - r, y - r, stored(first, count) };
    walk = jit::loop(
        walk, [&](const FilterWalk &w) { return w.top <= bottom; },
        [&](FilterWalk &w) {
            UInt32 px(w.x), py(w.y), from_first = slot(px, py) - data(s.first);
            Mask inside =
                (px < data(m_width)) & (py < data(m_height)) & (from_first < data(s.count));
            UInt32 group = data(s.group), lane = from_first * group;
            Float dx(w.x - x), dy(w.y - y);
            GroupWalk part{ UInt32(0u), std::vector<Float>(m_numbers, Float(0)) };
            UInt32 end = select(inside, group, UInt32(0u));
            part = jit::loop(
                part, [&](const GroupWalk &g) { return g.k < end; },
                [&](GroupWalk &g) {
                    auto read = [&](const Float &v) {
                        return Float(jit::gather(v, lane + g.k, inside));
                    };
                    Float weight = filter.profile(read(s.offset.x) + dx) *
                                   filter.profile(read(s.offset.y) + dy);
                    for (uint32_t k = 0; k < m_numbers; ++k)
                        g.sums[k] += read(s.values[k]) * weight;
                    g.k += UInt32(1u);
                },
                "samples of a pixel");
            add_to(w.sums, part.sums);

            // Down the strip, then to the next column, then to the next strip
            Int32 last = min(w.top | Int32(int32_t{ TileSize - 1 }), bottom);
            Mask column_ends = w.y >= last, strip_ends = column_ends & (w.x >= right);
            w.x = select(strip_ends, left, select(column_ends, w.x + 1, w.x));
            w.top = select(strip_ends, last + 1, w.top);
            w.y = select(column_ends, w.top, w.y + 1);
        },
        "pixels in reach");
    store(first, walk.sums);
}

void FilmBuffer::splat(const std::vector<Float> &values, const UInt32 &x, const UInt32 &y,
                       const Mask &active) {
    check(values.size() == m_numbers);
    Mask inside = active & (x < data(m_width)) & (y < data(m_height));
    UInt32 index = slot(x, y) * UInt32(m_stored);
    sums();
    for (uint32_t k = 0; k < m_numbers; ++k)
        jit::scatter(m_sums, values[k], index + UInt32(k), inside, jit::ReduceOp::Add);
}

Float FilmBuffer::rows(uint32_t count,
                       const std::function<Float(const UInt32 &slot)> &divisor) const {
    uint32_t size = m_width * m_height * count;
    UInt32 per_pixel(count);
    if (!m_unevaluated.empty()) {
        UInt32 slot(jit::lane_index(slots()));
        Pixels pixel = pixels(slot);
        Value out = jit::full(variant().float_type(), 0, size);
        Float by = divisor(slot);
        for (uint32_t k = 0; k < count; ++k)
            jit::scatter(out, m_unevaluated[k] / by, pixel.index * per_pixel + UInt32(k),
                         pixel.inside);
        jit::eval(out);
        return Float(out);
    }
    UInt32 lane(jit::lane_index(size)), pixel = lane / per_pixel, k = lane - pixel * per_pixel;
    UInt32 width = data(m_width), y = pixel / width, x = pixel - y * width, at = slot(x, y);
    Float out = Float(jit::gather(sums(), at * UInt32(m_stored) + k, Mask(true))) / divisor(at);
    jit::eval(out);
    return out;
}

size_t FilmBuffer::byte_count() const {
    return size_t(slots()) * m_stored * jit::bytes(variant().float_type());
}

std::string FilmBuffer::bytes() const {
    std::string out(byte_count(), 0);
    if (out.empty())
        return out;
    jit::read(sums(), out.data(), 0, slots() * m_stored);
    return out;
}

void FilmBuffer::set_bytes(std::string_view bytes) {
    check(bytes.size() == byte_count());
    if (bytes.empty())
        return;
    m_sums =
        Float(jit::copy_from(variant().float_type(), bytes.data(), uint64_t(slots()) * m_stored));
}

} // namespace umbel
