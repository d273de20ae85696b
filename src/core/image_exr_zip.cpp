// core/image_exr_zip.cpp: see core/image_exr_zip.h.
//
// A block is its rows, each of them channel by channel. Of all numbers the even bytes come first, then the odd ones, which
// resemble each other; each byte as its difference to the one before. That is deflated. A block that does not become shorter stays as
// it is.
#include "core/image_exr_zip.h"
#include "jit/error.h"
#include "jit/parallel.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <zlib.h>

namespace umbel {

namespace {

static_assert(std::endian::native == std::endian::little); // as in files

std::string rows_of(const Image &image, const std::vector<size_t> &channels, size_t begin,
                    size_t end) {
    size_t size = bytes(image.component()), pixel = size * image.channel_count();
    std::string out((end - begin) * image.row_bytes(), '\0');
    char *to = out.data();
    auto gather = [&]<size_t N>(std::integral_constant<size_t, N>) {
        for (size_t y = begin; y < end; ++y)
            for (size_t c : channels) {
                const uint8_t *from = image.bytes() + y * image.row_bytes() + c * N;
                for (size_t x = 0; x < image.width(); ++x, from += pixel, to += N)
                    std::memcpy(to, from, N);
            }
    };
    if (size == 2)
        gather(std::integral_constant<size_t, 2>());
    else
        gather(std::integral_constant<size_t, 4>());
    return out;
}

std::string differences(const std::string &raw) {
    std::string out(raw.size(), '\0');
    size_t evens = (raw.size() + 1) / 2;
    for (size_t i = 0; i < evens; ++i)
        out[i] = raw[2 * i];
    for (size_t i = evens; i < raw.size(); ++i)
        out[i] = raw[2 * (i - evens) + 1];
    uint8_t before = uint8_t(out[0]);
    for (size_t i = 1; i < out.size(); ++i) {
        uint8_t v = uint8_t(out[i]);
        out[i] = char(v - before + 128);
        before = v;
    }
    return out;
}

std::string zip(std::string raw, int level) {
    std::string from = differences(raw);
    uLongf size = compressBound(uLong(from.size()));
    std::string out(size, '\0');
    if (compress2(reinterpret_cast<Bytef *>(out.data()), &size,
                  reinterpret_cast<const Bytef *>(from.data()), uLong(from.size()), level) != Z_OK)
        throw DeviceError("EXR: zlib cannot compress; is there memory left?");
    if (size >= raw.size())
        return raw;
    out.resize(size);
    return out;
}

} // namespace

std::vector<std::string> exr_zip_blocks(const Image &image, int level) {
    check(bytes(image.component()) == 2 || bytes(image.component()) == 4);
    std::vector<size_t> channels(image.channel_count());
    std::iota(channels.begin(), channels.end(), size_t(0));
    std::sort(channels.begin(), channels.end(),
              [&](size_t a, size_t b) { return image.channels()[a] < image.channels()[b]; });
    std::vector<std::string> blocks((image.height() + ExrZipRows - 1) / ExrZipRows);
    jit::parallel_for(size_t(0), blocks.size(), [&](size_t i) {
        size_t begin = i * ExrZipRows, end = std::min(begin + ExrZipRows, image.height());
        blocks[i] = zip(rows_of(image, channels, begin, end), level);
    });
    return blocks;
}

} // namespace umbel
