// core/image_codec.h: what the formats share: input that cannot be overrun, limits before allocation.
#pragma once
#include "core/image_io.h"
#include <cstring>
#include <span>

namespace umbel {

/// A file's bytes with a position. Reading past the end is a UserError.
class ImageInput {
public:
    ImageInput(std::span<const uint8_t> bytes, std::string where, const char *format,
               const ImageReadOptions &options)
        : m_bytes(bytes), m_where(std::move(where)), m_format(format), m_options(options) {}

    const uint8_t *data() const { return m_bytes.data(); }
    size_t size() const { return m_bytes.size(); }
    size_t left() const { return m_bytes.size() - m_at; }
    size_t at() const { return m_at; }
    void seek(size_t at) {
        if (at > size())
            truncated();
        m_at = at;
    }
    const uint8_t *take(size_t n) {
        if (n > left())
            truncated();
        const uint8_t *p = m_bytes.data() + m_at;
        m_at += n;
        return p;
    }
    uint8_t u8() { return *take(1); }
    uint16_t u16() { return number<uint16_t>(); } // little endian, as the host
    uint32_t u32() { return number<uint32_t>(); }
    int32_t i32() { return number<int32_t>(); }
    /// Up to and without the next newline.
    std::string line(size_t longest = 4096);
    /// The next word of a text header: after spaces and #comments, one separator behind it is eaten.
    std::string word();

    /// An image within the limits. `ratio`: the most that the format can pack into a byte of file, so that
    /// a few bytes cannot claim gigabytes.
    Image allocate(uint64_t width, uint64_t height, std::vector<std::string> channels, Component c,
                   bool srgb, double ratio) const;

    template <class... Args>
    [[noreturn]] void error(fmt::format_string<Args...> f, Args &&...args) const {
        throw UserError(fmt::format("{}: {}: {}", m_where, m_format,
                                    fmt::format(f, std::forward<Args>(args)...)));
    }
    [[noreturn]] void truncated() const {
        error("the file ends too early, after {} bytes; get a complete copy", size());
    }

    const ImageReadOptions &options() const { return m_options; }

private:
    template <class T> T number() {
        T v;
        std::memcpy(&v, take(sizeof(T)), sizeof(T));
        return v;
    }

    std::span<const uint8_t> m_bytes;
    size_t m_at = 0;
    std::string m_where;
    const char *m_format;
    const ImageReadOptions &m_options;
};

/// Names for 1 to 4 channels: Y, YA, RGB, RGBA.
std::vector<std::string> channel_names(size_t count);

/// A picture as formats of pictures want it: RGB or Y, alpha at the end, rows of one component type.
Image prepare(const Image &image, const char *format, Component component, bool srgb, bool alpha,
              bool grey);

#define UMBEL_IMAGE_FORMAT(format)                                                                 \
    Image read_##format(ImageInput &in);                                                           \
    std::string write_##format(const Image &image, const ImageWriteOptions &options);
UMBEL_IMAGE_FORMAT(exr)
UMBEL_IMAGE_FORMAT(png)
UMBEL_IMAGE_FORMAT(jpeg)
UMBEL_IMAGE_FORMAT(pfm)
UMBEL_IMAGE_FORMAT(hdr)
UMBEL_IMAGE_FORMAT(ppm)
UMBEL_IMAGE_FORMAT(tga)
UMBEL_IMAGE_FORMAT(bmp)
#undef UMBEL_IMAGE_FORMAT

} // namespace umbel
