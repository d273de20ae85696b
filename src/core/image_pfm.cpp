// core/image_pfm.cpp: PFM, the portable float map: a text header, then rows from the bottom up.
#include "core/image_codec.h"
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace umbel {

Image read_pfm(ImageInput &in) {
    std::string kind = in.word();
    size_t channels = kind == "PF" ? 3 : 1;
    if (kind != "PF" && kind != "Pf")
        in.error("the header begins with \"{}\" instead of PF or Pf", kind);
    uint64_t size[2];
    for (uint64_t &s : size) {
        std::string w = in.word();
        if (std::from_chars(w.data(), w.data() + w.size(), s).ptr != w.data() + w.size())
            in.error("\"{}\" is not a number of pixels; the file is damaged", w);
    }
    std::string word = in.word();
    double scale = 0; // its sign tells the order of bytes, its size a factor
    if (std::from_chars(word.data(), word.data() + word.size(), scale).ec != std::errc() ||
        !std::isfinite(scale) || scale == 0)
        in.error("\"{}\" is not a scale; the file is damaged", word);

    Image image = in.allocate(size[0], size[1], channel_names(channels), Component::F32, false, 1);
    size_t row = image.width() * channels;
    for (size_t y = image.height(); y-- > 0;) {
        const uint8_t *p = in.take(row * 4);
        float *out = image.data<float>() + y * row;
        for (size_t i = 0; i < row; ++i) {
            uint32_t bits;
            std::memcpy(&bits, p + 4 * i, 4);
            if (scale > 0)
                bits = __builtin_bswap32(bits);
            out[i] = std::bit_cast<float>(bits) * float(std::abs(scale));
        }
    }
    return image;
}

std::string write_pfm(const Image &picture, const ImageWriteOptions &) {
    Image image = prepare(picture, "PFM", Component::F32, false, false, true);
    size_t channels = image.channel_count();
    std::string out = fmt::format("{}\n{} {}\n-1.0\n", channels == 3 ? "PF" : "Pf", image.width(),
                                  image.height());
    for (size_t y = image.height(); y-- > 0;)
        out.append(reinterpret_cast<const char *>(image.bytes() + y * image.row_bytes()),
                   image.row_bytes());
    return out;
}

} // namespace umbel
