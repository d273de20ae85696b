// core/image_ppm.cpp: PBM, PGM and PPM, binary and as text, of 1 to 16 bits. Written: binary PGM and PPM.
#include "core/image_codec.h"
#include <charconv>

namespace umbel {

namespace {

uint32_t number(ImageInput &in, uint32_t most) {
    std::string w = in.word();
    uint32_t v = 0;
    auto r = std::from_chars(w.data(), w.data() + w.size(), v);
    if (r.ec != std::errc() || r.ptr != w.data() + w.size() || v > most)
        in.error("\"{}\" is not a number up to {}; the file is damaged", w, most);
    return v;
}

/// Text bitmaps may lack spaces between their digits.
uint32_t text_bit(ImageInput &in) {
    for (;;) {
        uint8_t c = in.u8();
        if (c == '0' || c == '1')
            return c == '0'; // 1 is black
        if (c == '#')
            in.line();
        else if (c > ' ')
            in.error("\"{}\" is not a bit; the file is damaged", char(c));
    }
}

} // namespace

Image read_ppm(ImageInput &in) {
    std::string kind = in.word();
    if (kind.size() != 2)
        in.error("the header begins with \"{}\" instead of P1 to P6", kind);
    int digit = kind[1] - '0';
    bool text = digit <= 3, bits = digit == 1 || digit == 4;
    size_t channels = digit == 3 || digit == 6 ? 3 : 1;
    uint32_t width = number(in, 1u << 31), height = number(in, 1u << 31);
    uint32_t top = bits ? 1 : number(in, 65535);
    if (top == 0)
        in.error("a largest value of 0; the file is damaged");
    Component c = top > 255 ? Component::U16 : Component::U8;
    double ratio = digit == 4 ? 8 : 1;
    Image image = in.allocate(width, height, channel_names(channels), c, true, ratio);

    double full = c == Component::U16 ? 65535 : 255;
    size_t row = image.width() * channels;
    for (size_t y = 0; y < image.height(); ++y) {
        const uint8_t *p = text         ? nullptr
                           : digit == 4 ? in.take((row + 7) / 8)
                                        : in.take(row * bytes(c));
        for (size_t i = 0; i < row; ++i) {
            uint32_t v = digit == 1            ? text_bit(in)
                         : text                ? number(in, top)
                         : digit == 4          ? !((p[i / 8] >> (7 - i % 8)) & 1)
                         : c == Component::U16 ? uint32_t(p[2 * i] << 8 | p[2 * i + 1])
                                               : p[i];
            if (v > top)
                in.error("a value of {} where {} is the largest; the file is damaged", v, top);
            uint32_t code = uint32_t(v * full / top + 0.5);
            if (c == Component::U16)
                image.data<uint16_t>()[y * row + i] = uint16_t(code);
            else
                image.bytes()[y * row + i] = uint8_t(code);
        }
    }
    return image;
}

std::string write_ppm(const Image &picture, const ImageWriteOptions &options) {
    bool deep = options.component.value_or(picture.component()) == Component::U16;
    Image image = prepare(picture, "PPM", deep ? Component::U16 : Component::U8, true, false, true);
    std::string out = fmt::format("{}\n{} {}\n{}\n", image.channel_count() == 3 ? "P6" : "P5",
                                  image.width(), image.height(), deep ? 65535 : 255);
    size_t header = out.size();
    out.append(reinterpret_cast<const char *>(image.bytes()), image.byte_count());
    if (deep) // big endian
        for (size_t i = header; i < out.size(); i += 2)
            std::swap(out[i], out[i + 1]);
    return out;
}

} // namespace umbel
