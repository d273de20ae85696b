// render/film_buffer.h: where an image is collected: one array, and the one place that knows how pixels lie in it.
//
// Pixels lie in tiles of 4 x 4, one tile after the other, so that lanes next to each other work on neighbouring pixels; a
// pixel's numbers lie together. What is added to a pixel is added in an order that depends on the image alone, however
// the work is cut into launches: so sums are the same to the bit.
#pragma once
#include "render/filter.h"

namespace umbel {

class FilmBuffer {
public:
    FilmBuffer() = default;
    /// All zero. UserError if it is too large. With `compensate`, each number has another one beside it, which holds what
    /// additions lost by rounding [Kahan 1965].
    FilmBuffer(uint32_t width, uint32_t height, uint32_t numbers, bool compensate = false);

    /// Places for pixels; tiles may reach beyond the image.
    uint32_t slots() const { return m_tiles_x * m_tiles_y * TilePixels; }
    static constexpr uint32_t TilePixels = 16; // launches compute whole tiles
    /// How many pixels of the image lie in the first so many slots, which are whole tiles.
    uint64_t pixel_count(uint32_t slots) const;

    struct Pixels {
        UInt32 x, y;
        UInt32 index; // row by row
        Mask inside;
    };
    Pixels pixels(const UInt32 &slot) const;
    UInt32 slot(const UInt32 &x, const UInt32 &y) const;

    /// Adds an array for each number to `count` pixels. If `is_all`, that is all there will ever be, and remains to be
    /// computed.
    void add(uint32_t first, uint32_t count, const std::vector<Float> &values, bool is_all = false);
    /// Adds to them so many times, one after the other, what `values` gives for time `k`, before which there were such numbers.
    void add_in_turn(
        uint32_t first, uint32_t count, uint32_t times,
        const std::function<std::vector<Float>(const UInt32 &k, const std::vector<Float> &before)>
            &values);
    /// The numbers of `count` pixels.
    std::vector<Float> at(uint32_t first, uint32_t count) const;

    /// Samples of the pixels of some slots, `group` of each.
    struct Samples {
        uint32_t first, count;
        uint32_t group;
        std::vector<Float> values; // evaluated; the last number counts samples
        Vector2 offset;            // from the pixel's centre, in pixels; evaluated
    };
    /// Adds them, times the filter, to all pixels that it reaches.
    void add_filtered(const Samples &samples, const Filter &filter);
    /// Adds numbers to pixels that lanes name, in the order of the lanes, when evaluated; rounding is not compensated for.
    void splat(const std::vector<Float> &values, const UInt32 &x, const UInt32 &y,
               const Mask &active);

    /// Number `k` of pixels.
    Float number(const UInt32 &slot, uint32_t k, const Mask &active = true) const;
    /// The first `count` numbers of all pixels, row by row, each over what `divisor` says for its slot.
    Float rows(uint32_t count, const std::function<Float(const UInt32 &slot)> &divisor) const;

    std::string bytes() const;
    size_t byte_count() const;
    void set_bytes(std::string_view bytes);

private:
    static constexpr uint32_t TileSize = 4; // pixels, each way
    static_assert(TileSize * TileSize == TilePixels);

    std::vector<Float> stored(uint32_t first, uint32_t count) const;
    void store(uint32_t first, std::vector<Float> &numbers);
    void add_to(std::vector<Float> &stored, const std::vector<Float> &values) const;
    const Float &sums() const;

    uint32_t m_width = 0, m_height = 0, m_numbers = 0, m_tiles_x = 0, m_tiles_y = 0;
    uint32_t m_stored = 0;            // numbers of a pixel, with what they lost
    mutable Float m_sums;             // see sums(): made when they are needed
    std::vector<Float> m_unevaluated; // in their place, where there will be no others
};

} // namespace umbel
