// bitmap: a texture from an image file, with bilinear or no interpolation.
//
// v = 0 is the image's top row. A texel is one packet of four numbers: linear RGB and luminance, or, in spectral variants, the
// coefficients of a smooth spectrum [Jakob 2019] and the luminance.
#include "core/image_io.h"
#include "core/upsampling.h"
#include "render/texture.h"
#include <cmath>

namespace umbel {

class BitmapTexture final : public Texture {
public:
    void declare(Params &p) override {
        p.file("filename", m_file).doc("The image");
        p.choice("filter_type", m_filter, "bilinear", { "nearest", "bilinear" })
            .doc("Between texels");
        p.choice("wrap_mode", m_wrap, "repeat", { "repeat", "mirror", "clamp" })
            .doc("Beyond the image");
        p.boolean("raw", m_raw, false)
            .doc("Take numbers as they are, without undoing sRGB, and never as a spectrum: for "
                 "normals or roughness");
        p.transform("to_uv", m_to_uv).doc("Applied to texture coordinates first");
    }

    void configure() override {
        Image image =
            to_model(convert(read_image(m_file), Component::F32, false), ColourModel::Rgb, false);
        if (m_raw) {
            ImageReadOptions as_is;
            as_is.srgb = false;
            image = to_model(convert(read_image(m_file, as_is), Component::F32, false),
                             ColourModel::Rgb, false);
        }
        m_is_spectral = variant().colour == Colour::Spectral && !m_raw;
        std::vector<float> texels;
        texels.reserve(4 * image.pixels());
        const float *pixel = image.data<float>();
        for (size_t i = 0; i < image.pixels(); ++i, pixel += 3) {
            Colour3 c{ pixel[0], pixel[1], pixel[2] };
            for (double v : c)
                if (!std::isfinite(v))
                    complain("{}: a pixel of the image is not a finite number", m_file.string());
            float y = float(luminance(c));
            if (m_is_spectral) {
                for (double &v : c)
                    v = std::clamp(v, 0.0, 1.0);
                c = table_coefficients(c);
            }
            texels.insert(texels.end(), { float(c[0]), float(c[1]), float(c[2]), y });
        }
        m_texels = jit::copy(texels); // in single precision, whatever the variant
        m_width = opaque_float(double(image.width()));
        m_height = opaque_float(double(image.height()));
        m_transform = Transform(m_to_uv);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        if (variant().colour == Colour::Mono)
            return Spectrum(eval_1(si, active));
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
        return interpolate<Float>(si, active, [](const Texel &t) { return t.y; });
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        if (m_is_spectral)
            complain("gives a spectrum here; set raw=true for numbers");
        return interpolate<Vector3>(si, active, [](const Texel &t) { return t.c; });
    }
    bool is_spatially_varying() const override { return true; }

private:
    struct Texel {
        Vector3 c;
        Float y;
    };

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

    Texel fetch(const Float &x, const Float &y, const Mask &active) const {
        UInt32 index = to_uint(wrap(y, m_height)) * to_uint(m_width) + to_uint(wrap(x, m_width));
        auto [a, b, c, l] = jit::gather_packet<float, 4>(m_texels, index, active);
        auto number = [](const jit::Float32 &v) {
            return Float(jit::cast(variant().float_type(), v));
        };
        return { { number(a), number(b), number(c) }, number(l) };
    }

    template <class T, class F>
    T interpolate(const SurfaceInteraction &si, const Mask &active, F &&value) const {
        Vector3 uv = m_transform.point({ si.uv.x, si.uv.y, Float(0) });
        Float x = uv.x * m_width, y = uv.y * m_height;
        if (m_filter == "nearest")
            return value(fetch(floor(x), floor(y), active));
        x = x - 0.5;
        y = y - 0.5;
        Float x0 = floor(x), y0 = floor(y), fx = x - x0, fy = y - y0;
        T a = value(fetch(x0, y0, active)), b = value(fetch(x0 + 1, y0, active)),
          c = value(fetch(x0, y0 + 1, active)), d = value(fetch(x0 + 1, y0 + 1, active));
        return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy;
    }

    std::filesystem::path m_file;
    std::string m_filter, m_wrap;
    bool m_raw = false, m_is_spectral = false;
    TransformData m_to_uv;
    Transform m_transform;
    jit::Float32 m_texels;
    Float m_width, m_height;
};

UMBEL_PLUGIN(Texture, BitmapTexture, "bitmap")
} // namespace umbel
