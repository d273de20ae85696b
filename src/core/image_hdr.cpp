// core/image_hdr.cpp: Radiance pictures, RGBE or XYZE: three mantissas with a common exponent, flat, in the
// old run-length form (runs of pixels) or the new one (each of the four bytes of a row apart) [Ward 1991].
#include "core/image_codec.h"
#include <cmath>
#include <cstdio>

namespace umbel {

namespace {

constexpr size_t MinRle = 8, MaxRle = 0x7fff; // rows outside these are never in the new form

/// The new form: four planes of runs (length + 128, byte) and literals (length, bytes...).
void read_planes(ImageInput &in, std::vector<uint8_t> &row, size_t width) {
    for (size_t plane = 0; plane < 4; ++plane)
        for (size_t x = 0; x < width;) {
            size_t n = in.u8();
            bool run = n > 128;
            n = run ? n - 128 : n;
            if (n == 0 || x + n > width)
                in.error("a run of {} pixels at {} of {}; the file is damaged", n, x, width);
            const uint8_t *p = in.take(run ? 1 : n);
            for (size_t i = 0; i < n; ++i)
                row[4 * (x++) + plane] = p[run ? 0 : i];
        }
}

/// Flat pixels, where (1, 1, 1, n) repeats the last one; further such pixels give higher digits of n.
void read_pixels(ImageInput &in, std::vector<uint8_t> &row, size_t width) {
    int shift = 0;
    for (size_t x = 0; x < width;) {
        const uint8_t *p = in.take(4);
        if (p[0] == 1 && p[1] == 1 && p[2] == 1) {
            size_t n = shift < 32 ? size_t(p[3]) << shift : width + 1;
            if (x == 0 || n > width - x)
                in.error("a run of {} pixels at {} of {}; the file is damaged", n, x, width);
            for (; n > 0; --n, ++x)
                std::memcpy(&row[4 * x], &row[4 * x - 4], 4);
            shift += 8;
        } else {
            std::memcpy(&row[4 * x++], p, 4);
            shift = 0;
        }
    }
}

} // namespace

Image read_hdr(ImageInput &in) {
    ImageMetadata metadata;
    double exposure = 1;
    bool xyz = false;
    in.line(); // the signature
    for (;;) {
        std::string l = in.line();
        if (!l.empty() && l.back() == '\r')
            l.pop_back();
        if (l.empty())
            break;
        size_t equals = l.find('=');
        if (l[0] == '#' || equals == l.npos)
            continue;
        std::string key = l.substr(0, equals), value = l.substr(equals + 1);
        if (key == "FORMAT") {
            xyz = value == "32-bit_rle_xyze";
            if (!xyz && value != "32-bit_rle_rgbe")
                in.error("FORMAT={}; only 32-bit_rle_rgbe and 32-bit_rle_xyze are known", value);
        } else if (key == "EXPOSURE") {
            double e = std::strtod(value.c_str(), nullptr); // several multiply
            if (std::isfinite(e) && e > 0)
                exposure *= e;
        } else {
            metadata[key] = value;
        }
    }
    std::string size = in.line();
    char sy = 0, sx = 0;
    unsigned long long height = 0, width = 0;
    if (std::sscanf(size.c_str(), "%cY %20llu %cX %20llu", &sy, &height, &sx, &width) != 4 ||
        (sy != '-' && sy != '+') || (sx != '-' && sx != '+'))
        in.error("\"{}\" is not a size such as \"-Y 480 +X 640\"; turn the picture upright", size);

    // The new form packs 127 bytes of a plane into two; a pixel is 4 bytes in the file and 12 here
    std::vector<std::string> names = { "R", "G", "B" };
    if (xyz)
        names = { "X", "Y", "Z" };
    Image image = in.allocate(width, height, names, Component::F32, false, 3 * 127.0 / 2 * 64);
    image.metadata = std::move(metadata);
    std::vector<uint8_t> row(4 * image.width());
    for (size_t i = 0; i < image.height(); ++i) {
        bool planes = false;
        if (width >= MinRle && width <= MaxRle && in.left() >= 4) {
            const uint8_t *p = in.data() + in.at();
            planes = p[0] == 2 && p[1] == 2 && size_t(p[2] << 8 | p[3]) == width;
        }
        if (planes) {
            in.take(4);
            read_planes(in, row, width);
        } else {
            read_pixels(in, row, width);
        }
        float *out = image.data<float>() + (sy == '-' ? i : height - 1 - i) * 3 * width;
        for (size_t x = 0; x < width; ++x) {
            const uint8_t *p = &row[4 * (sx == '+' ? x : width - 1 - x)];
            // Mantissas as written; Radiance's own reader adds a half, which would make 1 inexact
            double scale = p[3] ? std::ldexp(1 / exposure, p[3] - (128 + 8)) : 0;
            for (size_t c = 0; c < 3; ++c)
                out[3 * x + c] = float(p[c] * scale);
        }
    }
    return image;
}

namespace {

void to_rgbe(const float *rgb, uint8_t *out) {
    double v[3], top = 0;
    for (int i = 0; i < 3; ++i) {
        v[i] = rgb[i] > 0 ? std::min(double(rgb[i]), 1.6e38) : 0; // negative and NaN: 0
        top = std::max(top, v[i]);
    }
    std::memset(out, 0, 4);
    int exponent;
    std::frexp(top, &exponent);
    if (top < 1e-38)
        return;
    if (std::floor(std::ldexp(top, 8 - exponent) + 0.5) > 255) // rounds up to the next power
        ++exponent;
    for (int i = 0; i < 3; ++i)
        out[i] = uint8_t(std::floor(std::ldexp(v[i], 8 - exponent) + 0.5));
    out[3] = uint8_t(exponent + 128);
}

void write_plane(std::string &out, const std::vector<uint8_t> &row, size_t plane, size_t width) {
    auto at = [&](size_t x) { return row[4 * x + plane]; };
    auto run_at = [&](size_t x) {
        size_t n = 1;
        while (n < 127 && x + n < width && at(x + n) == at(x))
            ++n;
        return n;
    };
    for (size_t x = 0; x < width;) {
        size_t run = run_at(x);
        if (run >= 4) {
            out += char(128 + run);
            out += char(at(x));
            x += run;
            continue;
        }
        size_t n = 0; // literals up to the next run that is worth it
        while (n < 128 && x + n < width && run_at(x + n) < 4)
            ++n;
        out += char(n);
        for (; n > 0; --n)
            out += char(at(x++));
    }
}

} // namespace

std::string write_hdr(const Image &picture, const ImageWriteOptions &) {
    Image image = prepare(picture, "HDR", Component::F32, false, false, false);
    size_t width = image.width();
    std::string out =
        fmt::format("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {} +X {}\n", image.height(), width);
    std::vector<uint8_t> row(4 * width);
    for (size_t y = 0; y < image.height(); ++y) {
        for (size_t x = 0; x < width; ++x)
            to_rgbe(image.data<float>() + (y * width + x) * 3, &row[4 * x]);
        if (width < MinRle || width > MaxRle) {
            out.append(row.begin(), row.end());
            continue;
        }
        out += { char(2), char(2), char(width >> 8), char(width & 255) };
        for (size_t plane = 0; plane < 4; ++plane)
            write_plane(out, row, plane, width);
    }
    return out;
}

} // namespace umbel
