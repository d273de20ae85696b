// core/image_bmp.cpp: Windows bitmaps: palettes of 1, 4 and 8 bits (the last two also run-length encoded),
// colours of 16, 24 and 32 bits with any masks. Written: 24 bits, or 32 with alpha.
#include "core/image_codec.h"
#include <bit>
#include <cstdlib>

namespace umbel {

namespace {

enum Compression : uint32_t { Flat = 0, Rle8 = 1, Rle4 = 2, Masks = 3, AlphaMasks = 6 };

struct Header {
    uint32_t offset = 0; // of the pixels
    int32_t width = 0, height = 0;
    uint32_t bits = 0, compression = Flat, colours = 0;
    uint32_t mask[4] = {}; // red, green, blue, alpha
    const uint8_t *palette = nullptr;
    size_t entry = 4; // bytes of a palette's colour
    bool top_down = false;
};

Header read_header(ImageInput &in) {
    Header h;
    in.seek(10);
    h.offset = in.u32();
    uint32_t size = in.u32();
    if (size == 12) {
        h.width = in.u16();
        h.height = in.u16();
        in.u16();
        h.bits = in.u16();
        h.entry = 3;
    } else if (size >= 40 && size <= 256) {
        h.width = in.i32();
        h.height = in.i32();
        in.u16();
        h.bits = in.u16();
        h.compression = in.u32();
        in.take(12);
        h.colours = in.u32();
        in.u32();
        if (h.compression == Masks || h.compression == AlphaMasks || size >= 56)
            for (int i = 0; i < (size >= 56 || h.compression == AlphaMasks ? 4 : 3); ++i)
                h.mask[i] = in.u32();
        if (h.compression != Masks && h.compression != AlphaMasks)
            std::memset(h.mask, 0, sizeof h.mask);
    } else {
        in.error("a header of {} bytes; the file is damaged", size);
    }
    h.top_down = h.height < 0;
    h.height = h.height == INT32_MIN ? 0 : std::abs(h.height);
    if (h.width < 0)
        h.width = 0;
    bool flat = h.compression == Flat;
    bool good = h.bits == 1    ? flat
                : h.bits == 4  ? flat || h.compression == Rle4
                : h.bits == 8  ? flat || h.compression == Rle8
                : h.bits == 24 ? flat
                : h.bits == 16 || h.bits == 32
                    ? flat || h.compression == Masks || h.compression == AlphaMasks
                    : false;
    if (!good)
        in.error("{} bits a pixel with compression {}; convert it to PNG", h.bits, h.compression);
    if (h.bits <= 8) {
        uint32_t most = 1u << h.bits;
        h.colours = h.colours == 0 || h.colours > most ? most : h.colours;
        in.seek(14 + size);
        h.palette = in.take(h.colours * h.entry);
    } else if (flat) {
        bool small = h.bits == 16;
        h.mask[0] = small ? 0x7c00 : 0xff0000;
        h.mask[1] = small ? 0x3e0 : 0xff00;
        h.mask[2] = small ? 0x1f : 0xff;
    }
    return h;
}

uint8_t field(uint32_t v, uint32_t mask) {
    if (mask == 0)
        return 0;
    int shift = std::countr_zero(mask);
    uint64_t top = mask >> shift;
    return uint8_t(((uint64_t(v & mask) >> shift) * 255 + top / 2) / top);
}

/// Palette indices of a run-length encoded bitmap, from its bottom row up.
std::vector<uint8_t> read_runs(ImageInput &in, const Header &h) {
    size_t width = size_t(h.width), height = size_t(h.height), x = 0, y = 0;
    std::vector<uint8_t> out(width * height); // pixels that are skipped have colour 0
    bool four = h.compression == Rle4;
    auto put = [&](uint8_t v) {
        if (x >= width || y >= height)
            in.error("a run leaves the image at ({}, {}); the file is damaged", x, y);
        out[y * width + x++] = v;
    };
    while (in.left() > 0) { // many files lack the mark at the end
        unsigned n = in.u8(), v = in.u8();
        if (n > 0) {
            for (unsigned i = 0; i < n; ++i)
                put(uint8_t(!four ? v : i % 2 ? v & 15 : v >> 4));
        } else if (v == 0) {
            x = 0;
            ++y;
        } else if (v == 1) {
            break;
        } else if (v == 2) {
            x += in.u8();
            y += in.u8();
        } else {
            size_t size = four ? (v + 1) / 2 : v;
            const uint8_t *p = in.take((size + 1) / 2 * 2);
            for (unsigned i = 0; i < v; ++i)
                put(uint8_t(!four ? p[i] : i % 2 ? p[i / 2] & 15 : p[i / 2] >> 4));
        }
    }
    return out;
}

} // namespace

Image read_bmp(ImageInput &in) {
    Header h = read_header(in);
    bool runs = h.compression == Rle8 || h.compression == Rle4;
    size_t channels = h.mask[3] ? 4 : 3, width = size_t(h.width), height = size_t(h.height);
    // A byte of the file holds at most 8 pixels flat; a jump in runs can skip 255 rows at once
    double ratio = runs ? 1 << 16 : 3 * 8;
    Image image = in.allocate(width, height, channel_names(channels), Component::U8, true, ratio);
    in.seek(h.offset);
    std::vector<uint8_t> indices;
    if (runs)
        indices = read_runs(in, h);
    size_t stride = (width * h.bits + 31) / 32 * 4;
    for (size_t i = 0; i < height; ++i) {
        const uint8_t *row = runs ? &indices[i * width] : in.take(stride);
        uint8_t *out = image.bytes() + (h.top_down ? i : height - 1 - i) * width * channels;
        for (size_t x = 0; x < width; ++x, out += channels) {
            if (h.palette) {
                unsigned per_byte = 8 / h.bits, index = row[x];
                if (!runs)
                    index = row[x / per_byte] >> (8 - h.bits * (x % per_byte + 1)) &
                            ((1u << h.bits) - 1);
                if (index >= h.colours)
                    in.error("colour {} of a palette of {}; the file is damaged", index, h.colours);
                for (size_t c = 0; c < 3; ++c)
                    out[c] = h.palette[index * h.entry + 2 - c];
                continue;
            }
            uint32_t v = 0;
            std::memcpy(&v, row + x * (h.bits / 8), h.bits / 8);
            for (size_t c = 0; c < channels; ++c)
                out[c] = field(v, h.mask[c]);
        }
    }
    return image;
}

std::string write_bmp(const Image &picture, const ImageWriteOptions &) {
    Image image = prepare(picture, "BMP", Component::U8, true, true, false);
    size_t n = image.channel_count(), width = image.width(), height = image.height();
    size_t stride = (width * n + 3) / 4 * 4, header = n == 4 ? 108 : 40, start = 14 + header;
    uint64_t size = start + uint64_t(stride) * height;
    if (size > 0x7fffffff)
        fail("BMP: {} x {} pixels; files end at 2 GiB: use PNG", width, height);
    std::string out(start, '\0');
    auto put = [&](size_t at, uint32_t v) { std::memcpy(&out[at], &v, 4); };
    out[0] = 'B';
    out[1] = 'M';
    put(2, uint32_t(size));
    put(10, uint32_t(start));
    put(14, uint32_t(header));
    put(18, uint32_t(width));
    put(22, uint32_t(height));
    put(26, uint32_t(1 | 8 * n << 16)); // planes, bits
    put(34, uint32_t(size - start));
    if (n == 4) {
        put(30, Masks);
        const uint32_t masks[] = { 0xff0000, 0xff00, 0xff, 0xff000000 };
        for (size_t i = 0; i < 4; ++i)
            put(54 + 4 * i, masks[i]);
        put(70, 0x73524742); // sRGB
    }
    for (size_t y = height; y-- > 0;) {
        const uint8_t *row = image.bytes() + y * width * n;
        static const size_t order[] = { 2, 1, 0, 3 };
        for (size_t x = 0; x < width; ++x)
            for (size_t c = 0; c < n; ++c)
                out += char(row[x * n + order[c]]);
        out.append(stride - width * n, '\0');
    }
    return out;
}

} // namespace umbel
