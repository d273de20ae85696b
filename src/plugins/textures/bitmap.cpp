// bitmap: a texture from an image file, with bilinear or no interpolation.
//
// v = 0 is the image's top row. Texels stay in memory as the file has them: a byte, a half or a float for greys, and for
// colours four bytes or packets of four halves or floats. Bytes become numbers in the kernel, with a table of 256 entries
// that undoes sRGB. In spectral variants a texel is instead one packet of four floats: the coefficients of a smooth spectrum
// [Jakob 2019] and the luminance.
#include "core/host_array.h"
#include "core/image_io.h"
#include "core/upsampling.h"
#include "core/warp.h"
#include "render/texel_distribution.h"
#include "render/texture.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class BitmapTexture final : public Texture {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/image.png'/>");
        p.example("<string name='filename' value='$files/image.png'/><string name='wrap_mode' "
                  "value='mirror'/><boolean name='raw' value='true'/><transform name='to_uv'>"
                  "<rotate z='1' angle='20'/><scale x='1.5' y='-.7'/></transform>");
        p.example("<string name='filename' value='$files/image.png'/><string name='wrap_mode' "
                  "value='clamp'/><string name='filter_type' value='nearest'/>");
        p.image("bitmap", m_image).doc("In place of `filename`, in scripts: the image itself");
        p.image("data", m_image).doc("The same, as an array of rows, columns and channels");
        if (!p.loading() || !m_image)
            p.file("filename", m_file).doc("The image");
        p.choice("filter_type", m_filter, "bilinear", { "nearest", "bilinear" })
            .doc("Between texels");
        p.choice("wrap_mode", m_wrap, "repeat", { "repeat", "mirror", "clamp" })
            .doc("Beyond the image");
        p.boolean("raw", m_raw, false)
            .doc("Take numbers as they are, without undoing sRGB, and never as a spectrum: for "
                 "normals or roughness");
        p.transform("to_uv", m_to_uv).doc("Applied to texture coordinates first");
        if (!p.traversing())
            return;
        if (!m_data.valid())
            m_data = decoded();
        p.exposed("data", TensorSlot{ &m_data, &m_shape }).differentiable();
        p.derived(m_texels);
        p.derived(m_width);
        p.derived(m_height);
    }
    void changed(std::span<const std::string> names) override {
        auto has = [&](const char *name) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (has("to_uv"))
            m_transform = Transform(m_to_uv);
        if (has("data"))
            take_data();
    }

    void configure() override {
        ImageReadOptions options;
        if (m_raw)
            options.srgb = false;
        Image image = m_image ? *m_image : read_image(m_file, options);
        if (m_image && m_raw)
            image.set_srgb(false);
        if (image.pixels() >= (1u << 30)) // their packets are counted with 32 bits
            complain("{}: {} x {} pixels are too many; scale the image down to 2^30 pixels",
                     m_file.string(), image.width(), image.height());

        // What is neither bytes nor halves becomes floats, and so does what has to be computed with
        bool is_grey = colour_model(image) == ColourModel::Y;
        m_is_spectral = variant().colour == Colour::Spectral && !m_raw;
        m_storage = image.component() == Component::U8    ? Component::U8
                    : image.component() == Component::F16 ? Component::F16
                                                          : Component::F32;
        if (colour_model(image) == ColourModel::Xyz || (image.srgb() && m_storage != Component::U8))
            m_storage = Component::F32;
        if (m_storage == Component::F32)
            image = convert(image, Component::F32, false);
        image = to_model(image, is_grey ? ColourModel::Y : ColourModel::Rgb, false);

        m_channels = uint32_t(image.channel_count());
        check_finite(image);
        m_shape = { image.height(), image.width(), m_channels };
        if (m_is_spectral)
            store_coefficients(image);
        else
            store(image);
        m_width = opaque_float(double(image.width()));
        m_height = opaque_float(double(image.height()));
        m_transform = Transform(m_to_uv);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        if (variant().colour == Colour::Mono)
            return Spectrum(grey_at(si, active));
        return interpolate<Spectrum>(si, active, [&](const Texel &t) {
            if (!m_is_spectral) {
                if (variant().colour == Colour::Spectral) // raw
                    return Spectrum(t.y);
                return Spectrum(std::vector<Float>{ t.c.x, t.c.y, t.c.z });
            }
            return map(si.wavelengths, [&](const Float &w) { return eval_coefficients(t.c, w); });
        });
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        if (m_is_spectral && m_channels == 3)
            complain("gives a spectrum here; set raw=true for numbers");
        return grey_at(si, active);
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        if (m_is_spectral)
            complain("gives a spectrum here; set raw=true for numbers");
        if (m_channels != 3)
            complain("has one channel; three are needed here");
        return interpolate<Vector3>(si, active, [](const Texel &t) { return t.c; });
    }
    bool is_spatially_varying() const override { return true; }
    std::array<size_t, 2> resolution() const override { return { m_shape[1], m_shape[0] }; }

    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        if (m_is_spectral && m_channels == 3)
            complain("gives a spectrum here; set raw=true for numbers");
        if (m_filter == "nearest")
            return { Float(0), Float(0) };
        Corners<Float> k = corners<Float>(si, active, [](const Texel &t) { return t.y; });
        Float gx = lerp(k.b - k.a, k.d - k.c, k.fy) * m_width,
              gy = lerp(k.c - k.a, k.d - k.b, k.fx) * m_height;
        Vector3 du = m_transform.vector({ Float(1), Float(0), Float(0) }),
                dv = m_transform.vector({ Float(0), Float(1), Float(0) });
        return { gx * du.x + gy * du.y, gx * dv.x + gy * dv.y };
    }
    Float mean_value() const override {
        double sum = 0;
        for (double w :
             m_is_spectral ? read_floats(mean_of_coefficients(all_texels().c)) : weights())
            sum += w;
        return Float(sum / double(m_shape[0] * m_shape[1]));
    }
    double max_value() const override {
        std::vector<double> w = weights();
        return *std::max_element(w.begin(), w.end());
    }

    std::pair<Vector2, Float> sample_position(const Vector2 &u, const Mask &active) const override {
        TexelDistribution::Sample s = distribution().sample(u, active);
        Vector2 p = s.rest;
        if (m_filter == "bilinear")
            p = square_to_tent(s.rest) + Vector2(Float(0.5), Float(0.5));
        auto place = [&](const Float &x, const UInt32 &cell, const Float &size) {
            Float v = (x + Float(cell)) / size;
            if (m_wrap == "repeat")
                return select(v < 0, v + 1, select(v > 1, v - 1, v));
            return select(v < 0, -v, select(v > 1, 2 - v, v));
        };
        Vector2 at{ place(p.x, s.x, m_width), place(p.y, s.y, m_height) };
        return { at, pdf_position(at, active) };
    }
    Float pdf_position(const Vector2 &p, const Mask &active) const override {
        const TexelDistribution &d = distribution();
        auto density = [&](const Float &x, const Float &y) {
            return d.density(to_uint(wrap(x, m_width)), to_uint(wrap(y, m_height)), active);
        };
        Float x = p.x * m_width, y = p.y * m_height;
        if (m_filter == "nearest")
            return density(floor(x), floor(y));
        x = x - 0.5;
        y = y - 0.5;
        Float x0 = floor(x), y0 = floor(y), fx = x - x0, fy = y - y0;
        return lerp(lerp(density(x0, y0), density(x0 + 1, y0), fx),
                    lerp(density(x0, y0 + 1), density(x0 + 1, y0 + 1), fx), fy);
    }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        return sample_all_wavelengths(si, u, active);
    }

private:
    struct Texel {
        Vector3 c;
        Float y;
    };

    Float grey_at(const SurfaceInteraction &si, const Mask &active) const {
        return interpolate<Float>(si, active, [](const Texel &t) { return t.y; });
    }
    // One a lane.
    Texel all_texels() const {
        UInt32 lane(jit::lane_index(uint32_t(m_shape[0] * m_shape[1])));
        Texel t = texel_at(lane, true);
        for (Float *v : { &t.c.x, &t.c.y, &t.c.z, &t.y })
            *v = Float(v->detached());
        return t;
    }
    // The brightness of each texel, on the host.
    std::vector<double> weights() const { return read_floats(all_texels().y); }
    // Made when it is first needed.
    const TexelDistribution &distribution() const {
        if (!m_distribution.valid())
            m_distribution = TexelDistribution(weights(), m_shape[1], m_shape[0]);
        return m_distribution;
    }

    // ---- storage

    // Calls f(colour) for every pixel, in linear numbers.
    template <class F> static void for_each_pixel(const Image &image, F &&f) {
        size_t n = image.channel_count();
        std::vector<double> row(image.width() * n);
        for (size_t y = 0; y < image.height(); ++y) {
            image.read_row(y, row.data(), true);
            for (size_t i = 0; i < row.size(); i += n)
                f(n == 1 ? Colour3{ row[i], row[i], row[i] }
                         : Colour3{ row[i], row[i + 1], row[i + 2] });
        }
    }

    void check_finite(const Image &image) const {
        for_each_pixel(image, [&](const Colour3 &c) {
            for (double v : c)
                if (!std::isfinite(v))
                    complain("{}: a pixel of the image is not a finite number", m_file.string());
        });
    }

    void store_coefficients(const Image &image) {
        std::vector<float> texels;
        texels.reserve(4 * image.pixels());
        for_each_pixel(image, [&](Colour3 c) {
            auto y = float(luminance(c));
            for (double &v : c)
                v = std::clamp(v, 0.0, 1.0);
            c = table_coefficients(c);
            texels.insert(texels.end(), { float(c[0]), float(c[1]), float(c[2]), y });
        });
        m_texels = jit::copy(texels);
    }

    void store(const Image &image) {
        switch (m_storage) {
        case Component::U8: store<uint8_t>(image, jit::Type::U8); break;
        case Component::F16: store<uint16_t>(image, jit::Type::F16); break;
        default: store<uint32_t>(image, jit::Type::F32);
        }
        if (m_storage != Component::U8)
            return;
        m_codes = jit::constant_table(jit::Type::F32, codes(image.srgb()).data(), 256);
    }

    static const std::array<float, 256> &codes(bool srgb) {
        auto make = [](auto decode) {
            std::array<float, 256> codes;
            for (size_t i = 0; i < 256; ++i)
                codes[i] = float(decode(double(i) / 255));
            return codes;
        };
        static const std::array<float, 256> encoded = make([](double v) { return srgb_decode(v); }),
                                            plain = make([](double v) { return v; });
        return srgb ? encoded : plain;
    }

    // As bits of `Bits`' size: one a texel, or three and one of padding. Four bytes are fetched as one number.
    template <class Bits> void store(const Image &image, jit::Type type) {
        const auto *pixel = reinterpret_cast<const Bits *>(image.bytes());
        if (m_channels == 1) {
            m_texels = jit::copy_from(type, pixel, uint32_t(image.pixels()));
            return;
        }
        std::vector<Bits> texels(4 * image.pixels());
        for (size_t i = 0; i < image.pixels(); ++i)
            std::copy_n(pixel + 3 * i, 3, texels.begin() + ptrdiff_t(4 * i));
        m_texels = type == jit::Type::U8
                       ? jit::copy_from(jit::Type::U32, texels.data(), uint32_t(image.pixels()))
                       : jit::copy_from(type, texels.data(), uint32_t(texels.size()));
    }

    // ---- the texels as a parameter

    // Recorded, and computed only if someone asks.
    Float decoded() const {
        uint32_t n = uint32_t(m_shape[0] * m_shape[1]);
        UInt32 lane(jit::lane_index(n * m_channels)), texel = lane / UInt32(m_channels),
                                                      channel = lane - texel * UInt32(m_channels);
        Texel t = texel_at(texel, true);
        if (!m_is_spectral)
            return m_channels == 1 ? t.y
                                   : select(channel == UInt32(0u), t.c.x,
                                            select(channel == UInt32(1u), t.c.y, t.c.z));
        // The colours are gone: the file is read again
        Image image =
            to_model(convert(m_image ? *m_image : read_image(m_file), Component::F32, false),
                     m_channels == 1 ? ColourModel::Y : ColourModel::Rgb, false);
        return number(jit::copy_from(jit::Type::F32, image.bytes(), n * m_channels));
    }

    void take_data() {
        if (m_shape.size() != 3 || (m_shape[2] != 1 && m_shape[2] != 3))
            complain("data must be a tensor of rows, columns, and 1 or 3 channels");
        m_channels = uint32_t(m_shape[2]);
        m_distribution = {};
        m_storage = Component::F32;
        m_width = opaque_float(double(m_shape[1]));
        m_height = opaque_float(double(m_shape[0]));
        uint32_t n = uint32_t(m_shape[0] * m_shape[1]);
        if (m_is_spectral)
            pack_coefficients(n);
        else if (m_channels == 1)
            m_texels = m_data;
        else {
            UInt32 lane(jit::lane_index(4 * n)), texel = lane >> UInt32(2u), c = lane & UInt32(3u);
            m_texels = jit::gather(m_data, texel * UInt32(3u) + c, c < UInt32(3u));
        }
        jit::eval(m_texels);
    }

    void pack_coefficients(uint32_t n) {
        UInt32 texel(jit::lane_index(n)), first = texel * UInt32(m_channels);
        auto at = [&](uint32_t c) {
            return Float(jit::gather(m_data, first + UInt32(c % m_channels), Mask(true)));
        };
        Vector3 rgb(at(0), at(1), at(2)), c = table_coefficients(rgb);
        Value packed = jit::full(variant().float_type(), 0, 4 * n);
        UInt32 to = texel * UInt32(4u);
        for (auto [i, v] : { std::pair(0u, c.x), { 1u, c.y }, { 2u, c.z }, { 3u, grey(rgb) } })
            jit::scatter(packed, v, to + UInt32(i), Mask(true));
        m_texels = packed;
    }

    static Float grey(const Vector3 &c) {
        const Colour3 &w = srgb_to_xyz_matrix()[1];
        return dot(c, Vector3(w[0], w[1], w[2]));
    }

    // ---- lookups

    // A coordinate in texels, brought into the image.
    Float wrap(const Float &i, const Float &size) const {
        if (m_wrap == "clamp")
            return clamp(i, 0, size - 1);
        Float r = i - floor(i / size) * size;
        if (m_wrap == "mirror") {
            Float period = 2 * size, m = i - floor(i / period) * period;
            r = select(m < size, m, period - 1 - m);
        }
        return clamp(r, 0, size - 1); // rounding
    }

    // Numbers are of single precision in memory, whatever the variant.
    static Float number(const Value &v) { return Float(jit::cast(variant().float_type(), v)); }
    Float decode(const UInt32 &byte, const Mask &active) const {
        return number(jit::gather(m_codes, byte, active));
    }

    Texel fetch(const Float &x, const Float &y, const Mask &active) const {
        return texel_at(to_uint(wrap(y, m_height)) * to_uint(m_width) + to_uint(wrap(x, m_width)),
                        active);
    }
    Texel texel_at(const UInt32 &index, const Mask &active) const {
        if (m_is_spectral) {
            std::vector<Value> v = jit::gather_packet(m_texels, index, 4, active);
            return { { number(v[0]), number(v[1]), number(v[2]) }, number(v[3]) };
        }
        if (m_channels == 1) {
            Value v = jit::gather(m_texels, index, active);
            Float grey = m_storage == Component::U8
                             ? decode(UInt32(jit::cast(jit::Type::U32, v)), active)
                             : number(v);
            return { Vector3(grey), grey };
        }
        Vector3 c;
        if (m_storage == Component::U8) {
            UInt32 bytes(jit::gather(m_texels, index, active)), low(255u);
            c = { decode(bytes & low, active), decode((bytes >> UInt32(8u)) & low, active),
                  decode((bytes >> UInt32(16u)) & low, active) };
        } else {
            std::vector<Value> v = jit::gather_packet(m_texels, index, 4, active);
            c = { number(v[0]), number(v[1]), number(v[2]) };
        }
        return { c, grey(c) };
    }

    template <class T, class F>
    T interpolate(const SurfaceInteraction &si, const Mask &active, F &&value) const {
        Vector3 uv = m_transform.point({ si.uv.x, si.uv.y, Float(0) });
        Float x = uv.x * m_width, y = uv.y * m_height;
        if (m_filter == "nearest")
            return value(fetch(floor(x), floor(y), active));
        Corners<T> k = corners<T>(si, active, value);
        return (k.a * (1 - k.fx) + k.b * k.fx) * (1 - k.fy) +
               (k.c * (1 - k.fx) + k.d * k.fx) * k.fy;
    }

    // The four texels around a place, and where it lies between them.
    template <class T> struct Corners {
        T a, b, c, d;
        Float fx, fy;
    };
    template <class T, class F>
    Corners<T> corners(const SurfaceInteraction &si, const Mask &active, F &&value) const {
        Vector3 uv = m_transform.point({ si.uv.x, si.uv.y, Float(0) });
        Float x = uv.x * m_width - 0.5, y = uv.y * m_height - 0.5, x0 = floor(x), y0 = floor(y);
        return { value(fetch(x0, y0, active)),
                 value(fetch(x0 + 1, y0, active)),
                 value(fetch(x0, y0 + 1, active)),
                 value(fetch(x0 + 1, y0 + 1, active)),
                 x - x0,
                 y - y0 };
    }

    std::filesystem::path m_file;
    std::shared_ptr<const Image> m_image;
    std::string m_filter, m_wrap;
    bool m_raw = false, m_is_spectral = false;
    TransformData m_to_uv;
    Transform m_transform;
    Component m_storage = Component::F32; // U8, F16 or F32
    uint32_t m_channels = 3;              // 1 or 3
    Value m_texels;
    Value m_codes; // what a byte stands for
    Float m_width, m_height;
    mutable TexelDistribution m_distribution; // of brightness
    // As a parameter, in linear numbers: rows, columns and channels
    Value m_data;
    std::vector<size_t> m_shape;
};

UMBEL_PLUGIN(Texture, BitmapTexture, "bitmap")
} // namespace umbel
