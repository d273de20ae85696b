// core/image_tga.cpp: Truevision TGA: grey, palette and colour of 8 to 32 bits, flat or run-length encoded.
#include "core/image_codec.h"

namespace umbel {

namespace {

struct Header {
    uint8_t id_length, has_palette, kind;
    uint16_t palette_first, palette_length;
    uint8_t palette_bits;
    uint16_t width, height;
    uint8_t bits, flags;
};

Header read_header(ImageInput &in) {
    Header h;
    h.id_length = in.u8();
    h.has_palette = in.u8();
    h.kind = in.u8();
    h.palette_first = in.u16();
    h.palette_length = in.u16();
    h.palette_bits = in.u8();
    in.take(4); // where on the screen
    h.width = in.u16();
    h.height = in.u16();
    h.bits = in.u8();
    h.flags = in.u8();
    return h;
}

/// One colour of 15 to 32 bits, stored blue first, as RGBA.
void unpack(const uint8_t *p, unsigned bits, uint8_t *rgba) {
    rgba[3] = 255;
    if (bits <= 16) {
        unsigned v = p[0] | p[1] << 8;
        for (int i = 0; i < 3; ++i)
            rgba[i] = uint8_t(((v >> (10 - 5 * i) & 31) * 255 + 15) / 31);
        return;
    }
    for (int i = 0; i < 3; ++i)
        rgba[i] = p[2 - i];
    if (bits == 32)
        rgba[3] = p[3];
}

/// Hands out pixels of `size` bytes from flat or run-length encoded data.
class Pixels {
public:
    Pixels(ImageInput &in, size_t size, bool runs) : m_in(in), m_size(size), m_runs(runs) {}
    const uint8_t *next() {
        if (!m_runs)
            return m_in.take(m_size);
        if (m_left == 0) {
            uint8_t head = m_in.u8();
            m_left = (head & 127) + 1;
            m_same = head & 128;
            m_pixel = m_same ? m_in.take(m_size) : nullptr;
        }
        --m_left;
        return m_same ? m_pixel : m_in.take(m_size);
    }

private:
    ImageInput &m_in;
    size_t m_size, m_left = 0;
    bool m_runs, m_same = false;
    const uint8_t *m_pixel = nullptr;
};

} // namespace

Image read_tga(ImageInput &in) {
    Header h = read_header(in);
    unsigned kind = h.kind & 7u, bits = h.bits;
    bool runs = h.kind & 8, palette = kind == 1, grey = kind == 3;
    auto colour_bits = [](unsigned b) { return b == 15 || b == 16 || b == 24 || b == 32; };
    if ((h.kind & ~11u) || kind < 1 || kind > 3 || (palette && h.has_palette != 1) ||
        !(palette || grey ? bits == 8 : colour_bits(bits)) ||
        (palette && !colour_bits(h.palette_bits)))
        in.error("kind {} with {} bits a pixel; it must be grey or palette of 8 bits, or colour of "
                 "15, 16, 24 or 32: convert it, or get a complete copy",
                 h.kind, bits);
    in.take(h.id_length);
    size_t entry = (h.palette_bits + 7u) / 8;
    const uint8_t *table = h.has_palette ? in.take(entry * h.palette_length) : nullptr;

    unsigned depth = palette ? h.palette_bits : bits;
    size_t channels = grey ? 1 : depth == 32 && (h.flags & 15) ? 4 : 3, size = (bits + 7) / 8;
    Image image = in.allocate(h.width, h.height, channel_names(channels), Component::U8, true,
                              4 * (runs ? 128 : 1));
    Pixels pixels(in, size, runs);
    for (size_t i = 0; i < h.height; ++i)
        for (size_t j = 0; j < h.width; ++j) {
            const uint8_t *p = pixels.next();
            size_t x = h.flags & 16 ? h.width - 1 - j : j, y = h.flags & 32 ? i : h.height - 1 - i;
            uint8_t *out = image.bytes() + (y * h.width + x) * channels;
            if (grey) {
                *out = *p;
                continue;
            }
            if (palette) {
                unsigned index = *p - h.palette_first;
                if (*p < h.palette_first || index >= h.palette_length)
                    in.error("colour {} of a palette that has {} to {}; the file is damaged", *p,
                             h.palette_first, h.palette_first + h.palette_length - 1);
                p = table + entry * index;
            }
            uint8_t rgba[4];
            unpack(p, depth, rgba);
            std::memcpy(out, rgba, channels);
        }
    return image;
}

std::string write_tga(const Image &picture, const ImageWriteOptions &) {
    Image image = prepare(picture, "TGA", Component::U8, true, true, !has_alpha(picture));
    if (image.width() > 65535 || image.height() > 65535)
        fail("TGA: {} x {} pixels; sides end at 65535: use PNG", image.width(), image.height());
    size_t n = image.channel_count(), width = image.width();
    std::string out(18, '\0');
    out[2] = char(n == 1 ? 11 : 10);
    for (int i = 0; i < 2; ++i) {
        out[12 + i] = char(width >> 8 * i);
        out[14 + i] = char(image.height() >> 8 * i);
    }
    out[16] = char(8 * n);
    out[17] = char(32 | (n == 4 ? 8 : 0)); // from the top
    for (size_t y = 0; y < image.height(); ++y) {
        const uint8_t *row = image.bytes() + y * width * n;
        auto same = [&](size_t a, size_t b) { return !std::memcmp(row + a * n, row + b * n, n); };
        auto put = [&](size_t x) {
            static const int order[] = { 2, 1, 0, 3 };
            for (size_t c = 0; c < n; ++c)
                out += char(row[x * n + size_t(n == 1 ? 0 : order[c])]);
        };
        for (size_t x = 0; x < width;) {
            size_t run = 1, plain = 1;
            while (run < 128 && x + run < width && same(x, x + run))
                ++run;
            if (run > 1) {
                out += char(127 + run);
                put(x);
                x += run;
                continue;
            }
            while (plain < 128 && x + plain < width &&
                   !(x + plain + 1 < width && same(x + plain, x + plain + 1)))
                ++plain;
            out += char(plain - 1);
            for (; plain > 0; --plain)
                put(x++);
        }
    }
    out.append(8, '\0');
    out.append("TRUEVISION-XFILE.", 18);
    return out;
}

} // namespace umbel
