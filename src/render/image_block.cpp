// render/image_block.cpp: see render/image_block.h.
#include "render/image_block.h"
#include "jit/element_count.h"
#include <cmath>

namespace umbel {

namespace {

Int32 number(int v) { return Int32(int32_t{ v }); }

/// The weights of pixels along an axis, from the first that the filter reaches on.
struct Row {
    Float first;
    std::vector<Float> weights;
};
Row row_of(const Filter &filter, const Float &place, bool normalize) {
    double radius = filter.radius();
    int count = int(std::ceil(2 * radius)) + 1;
    Row row{ ceil(place - (0.5 + radius)), {} };
    Float sum(0);
    for (int i = 0; i < count; ++i) {
        row.weights.push_back(filter.eval(row.first + (i + 0.5) - place));
        sum += row.weights.back();
    }
    Float scale = normalize ? select(sum > 0, rcp(sum), Float(0)) : Float(1);
    for (Float &w : row.weights)
        w = w * scale;
    return row;
}

} // namespace

ImageBlock::Tap ImageBlock::tap(const Int32 &column, const Int32 &row, Float weight,
                                const Mask &active) const {
    Mask inside = active & (column >= number(0)) & (row >= number(0)) &
                  (column < number(full_width())) & (row < number(full_height()));
    UInt32 pixel(row * number(full_width()) + column);
    return { pixel * UInt32(channels), std::move(weight), inside };
}

std::vector<ImageBlock::Tap> ImageBlock::taps(const Vector2 &position, const Mask &active) const {
    Float px = position.x + double(border - x), py = position.y + double(border - y);
    if (!filter || (filter->is_box() && filter->radius() <= 0.5))
        return { tap(to_int(floor(px)), to_int(floor(py)), Float(1), active) };
    Row across = row_of(*filter, px, normalize), down = row_of(*filter, py, normalize);
    Int32 column = to_int(across.first), row = to_int(down.first);
    std::vector<Tap> out;
    for (size_t j = 0; j < down.weights.size(); ++j)
        for (size_t i = 0; i < across.weights.size(); ++i)
            out.push_back(tap(column + number(int(i)), row + number(int(j)),
                              across.weights[i] * down.weights[j], active));
    return out;
}

Float ImageBlock::put(const Float &pixels, const Vector2 &position,
                      const std::vector<Float> &sample, const Mask &active) const {
    if (sample.size() != channels)
        fail("{} values were put to a block that has {} channels", sample.size(), channels);
    Value out = pixels;
    for (const Tap &t : taps(position, active))
        for (uint32_t c = 0; c < channels; ++c)
            jit::scatter(out, sample[c] * t.weight, t.index + UInt32(c), t.inside,
                         jit::ReduceOp::Add);
    return Float(out);
}

std::vector<Float> ImageBlock::read(const Float &pixels, const Vector2 &position,
                                    const Mask &active) const {
    std::vector<Float> sums(channels, Float(0));
    Float total(0);
    for (const Tap &t : taps(position, active)) {
        total += select(t.inside, t.weight, Float(0));
        for (uint32_t c = 0; c < channels; ++c)
            sums[c] += Float(jit::gather(pixels, t.index + UInt32(c), t.inside)) * t.weight;
    }
    if (normalize && filter) // what lies beyond the border is not counted
        for (Float &s : sums)
            s = select(total > 0, s / total, Float(0));
    return sums;
}

Float ImageBlock::add(const Float &pixels, const ImageBlock &other, const Float &others) const {
    if (other.channels != channels)
        fail("a block of {} channels cannot be added to one of {}", other.channels, channels);
    // Where the other's first pixel is in this one
    int dx = other.x - other.border - x + border, dy = other.y - other.border - y + border;
    if (dx == 0 && dy == 0 && other.full_width() == full_width() &&
        other.full_height() == full_height())
        return pixels + others;
    auto columns = uint32_t(other.full_width()), rows = uint32_t(other.full_height());
    UInt32 lane(jit::lane_index(columns * rows)), row = lane / UInt32(columns);
    Int32 column = Int32(lane - row * UInt32(columns)) + number(dx);
    Tap t = tap(column, Int32(row) + number(dy), Float(1), Mask(true));
    Value out = pixels;
    for (uint32_t c = 0; c < channels; ++c)
        jit::scatter(out, jit::gather(others, lane * UInt32(channels) + UInt32(c), Mask(true)),
                     t.index + UInt32(c), t.inside, jit::ReduceOp::Add);
    return Float(out);
}

Float ImageBlock::means(const Float &pixels, const std::vector<uint32_t> &kept,
                        uint32_t weight_channel) const {
    auto count = uint32_t(kept.size());
    UInt32 lane(jit::lane_index(
        jit::element_count(uint64_t(full_width()) * uint64_t(full_height()) * count)));
    UInt32 pixel = lane / UInt32(count), from = pixel * UInt32(channels);
    UInt32 channel = jit::gather(jit::copy(kept), lane - pixel * UInt32(count), Mask(true));
    Float weight(jit::gather(pixels, from + UInt32(weight_channel), Mask(true)));
    return Float(jit::gather(pixels, from + channel, Mask(true))) /
           select(weight == 0, Float(1), weight);
}

} // namespace umbel
