// bitmap: a texture from an image file.
//
// Between texels it is interpolated or not. `trilinear` and `ewa` average over what a pixel of the camera sees as well, where
// that is known: in what the camera sees directly. The former blends two levels of a MIP map, of which the texels are as large
// as that is long; the latter takes an elliptically weighted average [Heckbert 1989] of texels as large as it is wide. Slopes,
// and what is seen by way of other surfaces, are those of the image itself.
// Mitsuba 0.5 took `ewa` where a scene did not say: here, scenes of all versions have to ask for it.
//
// v = 0 is the image's top row. Texels stay in memory as the file has them: a byte, a half or a float for greys, and for
// colours four bytes or packets of four halves or floats, or as a parameter has them: packets of three. Bytes become numbers in the kernel, with a table of 256 entries
// that undoes sRGB. In spectral variants a texel is instead one packet of four floats: the coefficients of a smooth spectrum
// [Jakob 2019] and the luminance, which counts where a number is asked for, such as an opacity. Images that are filtered are such packets, too: colour and luminance, of all levels.
#include "core/host_array.h"
#include "core/reads_files.h"
#include "core/upsampling.h"
#include "core/warp.h"
#include "jit/element_count.h"
#include "render/mip_map.h"
#include "render/texel_distribution.h"
#include "render/texel_file.h"
#include "render/texel_wrap.h"
#include "render/texture.h"
#include <algorithm>
#include <cmath>
#include <optional>

namespace umbel {

class BitmapTexture final : public Texture, public ReadsFiles {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/image.png'/>");
        p.example("<string name='filename' value='$files/image.png'/><string name='wrap_mode' "
                  "value='mirror'/><boolean name='raw' value='true'/><transform name='to_uv'>"
                  "<rotate z='1' angle='20'/><scale x='1.5' y='-.7'/></transform>");
        p.example(
            "<string name='filename' value='$files/image.png'/><string name='wrap_mode' "
            "value='clamp'/><string name='filter_type' value='nearest'/><boolean name='accel' "
            "value='false'/>");
        p.example("<string name='filename' value='$files/image.png'/><string name='filter_type' "
                  "value='trilinear'/><string name='wrap_mode_u' value='zero'/><string "
                  "name='wrap_mode_v' value='one'/>");
        p.example("<string name='filename' value='$files/image.png'/><string name='filter_type' "
                  "value='ewa'/><string name='channel' value='g'/><float name='gamma' value='1.8'/>"
                  "<transform name='to_uv'><scale value='9'/></transform>");
        p.image("bitmap", m_image).doc("In place of `filename`, in scripts: the image itself");
        p.image("data", m_image).doc("The same, as an array of rows, columns and channels");
        if (!p.loading() || !m_image)
            p.file("filename", m_file).doc("The image");
        p.choice("filter_type", m_filter, "bilinear", { "nearest", "bilinear", "trilinear", "ewa" })
            .doc("Between texels, and over what a pixel sees");
        p.number("max_anisotropy", m_anisotropy, 20, 1)
            .fixed()
            .doc("With `ewa`: how many times as long as wide an average may be");
        const std::vector<std::string> modes = { "repeat", "mirror", "clamp", "zero", "one" };
        std::string both;
        p.choice("wrap_mode", both, "repeat", modes).doc("Beyond the image");
        if (!p.loading())
            both = "wrap_mode";
        p.choice("wrap_mode_u", m_wrap_u, both, modes).doc("The same, along u alone");
        p.choice("wrap_mode_v", m_wrap_v, both, modes).doc("The same, along v alone");
        p.string("channel", m_options.channel, "")
            .doc("Use one channel of the image alone, such as `r`, `a` or `layer.Z`");
        p.number("gamma", m_options.gamma, 0, -1)
            .fixed()
            .doc("How the image is encoded: 1 is linear, -1 is sRGB, others are exponents; 0: as "
                 "the file says");
        std::string format;
        p.choice("format", format, "auto", { "auto", "variant", "fp16" })
            .doc("Of texels in memory: like the file, as floats, or as halves");
        bool accel = true;
        p.boolean("accel", accel, true)
            .fixed()
            .doc("A hint of Mitsuba's for texture units of GPUs, which are not used here");
        p.boolean("raw", m_options.raw, false)
            .doc("Take numbers as they are, without undoing sRGB, and never as a spectrum: for "
                 "normals or roughness");
        p.transform("to_uv", m_to_uv).doc("Applied to texture coordinates first");
        if (p.loading()) {
            m_is_filtered = m_filter == "trilinear" || m_filter == "ewa";
            m_options.spectral = variant().colour == Colour::Spectral && !m_options.raw;
            if (format != "auto")
                m_options.storage = format == "fp16" ? Component::F16 : Component::F32;
        }
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

    void read_files() override {
        if (m_is_filtered)
            m_levels_source = std::make_shared<Image>(linear_floats(read(), name()));
        else if (m_image)
            m_source = std::make_shared<Texels>(make_texels(read(), m_options, name()));
        else
            m_source = read_texels(m_file, m_options);
    }

    void configure() override {
        take_files();
        m_transform = Transform(m_to_uv);
        if (m_is_filtered) {
            Image image = std::move(*m_levels_source);
            m_levels_source.reset();
            m_channels = uint32_t(image.channel_count());
            m_storage = Component::F32;
            take_size(image.width(), image.height());
            prepare_levels(image);
            return;
        }
        std::shared_ptr<const Texels> t = std::move(m_source); // others share it while it is in use
        m_storage = t->storage;
        m_channels = t->channels;
        take_size(t->width, t->height);
        m_texels = jit::borrow_from(t->type, t->memory->data(), t->count, [t] {});
        if (m_storage == Component::U8 && !m_options.spectral)
            m_codes = jit::constant_table(jit::Type::F32, codes(t->srgb).data(), 256);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        if (variant().colour == Colour::Mono)
            return Spectrum(grey_at(si, active));
        return interpolate<Spectrum>(si, active, [&](const Texel &t) {
            if (!m_options.spectral) {
                if (variant().colour == Colour::Spectral) // raw
                    return Spectrum(t.y);
                return Spectrum(std::vector<Float>{ t.c.x, t.c.y, t.c.z });
            }
            return map(si.wavelengths, [&](const Float &w) { return eval_coefficients(t.c, w); });
        });
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        return grey_at(si, active);
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        if (m_options.spectral)
            complain("gives a spectrum here; set raw=true for numbers");
        if (m_channels != 3)
            complain("has one channel; three are needed here");
        return interpolate<Vector3>(si, active, [](const Texel &t) { return t.c; });
    }
    bool is_spatially_varying() const override { return true; }
    std::array<size_t, 2> resolution() const override { return { m_shape[1], m_shape[0] }; }

    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
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
        auto [rows, columns] = std::pair(m_shape[0], m_shape[1]);
        Float all = m_options.spectral ? mean_of_coefficients(all_texels().c) : all_texels().y;
        if (m_filter == "nearest" || !(is_constant(m_wrap_u) || is_constant(m_wrap_v))) {
            double sum = 0; // of rows, so that only those come to the host
            for (double v :
                 read_floats(Float(jit::block_reduce(jit::ReduceOp::Add, all, uint32_t(columns)))))
                sum += v;
            return Float(sum / double(rows * columns));
        }
        std::vector<double> w = read_floats(all);
        // Towards a constant beyond the image, the outermost texels fade away: an eighth of them is missing
        auto part = [&](const std::string &mode, size_t i, size_t n) {
            double missing = is_constant(mode) ? 0.125 : 0;
            return 1 - missing * (int(i == 0) + int(i + 1 == n));
        };
        double sum = 0, across = 0, down = 0;
        for (size_t y = 0; y < rows; ++y)
            for (size_t x = 0; x < columns; ++x)
                sum += part(m_wrap_u, x, columns) * part(m_wrap_v, y, rows) * w[y * columns + x];
        for (size_t x = 0; x < columns; ++x)
            across += part(m_wrap_u, x, columns) / double(columns);
        for (size_t y = 0; y < rows; ++y)
            down += part(m_wrap_v, y, rows) / double(rows);
        return Float(sum / double(rows * columns) + (m_wrap_u == "one" ? 1 - across : 0) +
                     (m_wrap_v == "one" ? across * (1 - down) : 0));
    }
    double max_value() const override {
        std::vector<double> w = weights();
        double most = *std::max_element(w.begin(), w.end());
        return m_wrap_u == "one" || m_wrap_v == "one" ? std::max(most, 1.0) : most;
    }

    std::pair<Vector2, Float> sample_position(const Vector2 &u, const Mask &active) const override {
        TexelDistribution::Sample s = distribution().sample(u, active);
        Vector2 p = s.rest;
        if (m_filter != "nearest")
            p = square_to_tent(s.rest) + Vector2(Float(0.5), Float(0.5));
        auto place = [&](const std::string &wrap, const Float &x, const UInt32 &cell,
                         const Float &size) {
            Float v = (x + Float(cell)) / size;
            if (wrap == "repeat")
                return select(v < 0, v + 1, select(v > 1, v - 1, v));
            return select(v < 0, -v, select(v > 1, 2 - v, v));
        };
        Vector2 at{ place(m_wrap_u, p.x, s.x, m_width), place(m_wrap_v, p.y, s.y, m_height) };
        return { at, pdf_position(at, active) };
    }
    Float pdf_position(const Vector2 &p, const Mask &active) const override {
        const TexelDistribution &d = distribution();
        auto density = [&](const Float &x, const Float &y) {
            return d.density(to_uint(wrap_texel(m_wrap_u, x, m_width)),
                             to_uint(wrap_texel(m_wrap_v, y, m_height)), active);
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
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &) const override {
        return pdf_all_wavelengths(si);
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
        UInt32 lane(jit::lane_index(jit::element_count(m_shape[0] * m_shape[1])));
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

    /// What messages call the image.
    std::string name() const { return m_image ? where() : m_file.string(); }
    Image read() const {
        return m_image ? understood(*m_image, m_options, name())
                       : read_understood(m_file, m_options);
    }
    void take_size(size_t width, size_t height) {
        if (width == 0 || height == 0)
            complain("an image of {} x {} pixels shows nothing; give it one at least", width,
                     height);
        m_shape = { height, width, m_channels };
        m_width = opaque_float(double(width));
        m_height = opaque_float(double(height));
    }

    void prepare_levels(const Image &image) {
        auto boundary = [](const std::string &mode) {
            return mode == "repeat"   ? Boundary::Repeat
                   : mode == "mirror" ? Boundary::Mirror
                   : mode == "zero"   ? Boundary::Zero
                   : mode == "one"    ? Boundary::One
                                      : Boundary::Clamp;
        };
        m_levels = MipMap(m_shape[1], m_shape[0], boundary(m_wrap_u), boundary(m_wrap_v));
        if (m_levels.texel_count() >= (1u << 28))
            complain("{}: {} x {} pixels are too many to be filtered; scale the image down, or use "
                     "filter_type=bilinear",
                     m_file.string(), m_shape[1], m_shape[0]);
        store_levels(
            number(jit::copy_from(jit::Type::F32, image.bytes(),
                                  jit::element_count(image.pixels() * image.channel_count()))));
        m_most_long = opaque_float(m_anisotropy);
        if (!m_asks)
            m_asks.emplace();
    }
    // Colours may not become negative where none was.
    void store_levels(const Float &linear) {
        double least = 0;
        for (double v : read_floats(Float(linear.detached())))
            least = std::min(least, v);
        pack(m_levels.build(linear, m_channels, opaque_float(least)), m_levels.texel_count());
        jit::eval(m_texels);
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

    // ---- the texels as a parameter

    // Recorded, and computed only if someone asks.
    Float decoded() const {
        uint32_t n = jit::element_count(m_shape[0] * m_shape[1] * m_channels);
        UInt32 lane(jit::lane_index(n)), texel = lane / UInt32(m_channels),
                                         channel = lane - texel * UInt32(m_channels);
        Texel t = texel_at(texel, true);
        if (!m_options.spectral)
            return m_channels == 1 ? t.y
                                   : select(channel == UInt32(0u), t.c.x,
                                            select(channel == UInt32(1u), t.c.y, t.c.z));
        // The colours are gone: the file is read again
        Image image = linear_floats(read(), name());
        return number(jit::copy_from(jit::Type::F32, image.bytes(), n));
    }

    void take_data() {
        if (m_shape.size() != 3 || (m_shape[2] != 1 && m_shape[2] != 3))
            complain("data must be a tensor of rows, columns, and 1 or 3 channels");
        m_channels = uint32_t(m_shape[2]);
        m_distribution = {};
        m_storage = Component::F32;
        take_size(m_shape[1], m_shape[0]);
        uint32_t n = jit::element_count(4 * m_shape[0] * m_shape[1]) / 4;
        if (m_is_filtered) {
            m_levels = MipMap(m_shape[1], m_shape[0], m_levels.boundary(0), m_levels.boundary(1));
            store_levels(Float(m_data));
        } else if (m_options.spectral)
            pack(Float(m_data), n);
        else {
            m_texels = m_data; // as it is: no second array, nor a second gradient
            m_per_texel = m_channels;
        }
        jit::eval(m_texels);
    }

    // Of n texels: coefficients or colours, with the luminance.
    void pack(const Float &linear, uint32_t n) {
        UInt32 texel(jit::lane_index(n)), first = texel * UInt32(m_channels);
        auto at = [&](uint32_t c) {
            return Float(jit::gather(linear, first + UInt32(c % m_channels), Mask(true)));
        };
        Vector3 rgb(at(0), at(1), at(2)), c = m_options.spectral ? table_coefficients(rgb) : rgb;
        Value packed = jit::full(variant().float_type(), 0, 4 * n);
        UInt32 to = texel * UInt32(4u);
        Float y = m_channels == 1 && !m_options.spectral ? rgb.x : grey(rgb);
        for (auto [i, v] : { std::pair(0u, c.x), { 1u, c.y }, { 2u, c.z }, { 3u, y } })
            jit::scatter(packed, v, to + UInt32(i), Mask(true));
        m_texels = packed;
    }

    static Float grey(const Vector3 &c) {
        const Colour3 &w = srgb_to_xyz_matrix()[1];
        return dot(c, Vector3(w[0], w[1], w[2]));
    }

    // ---- lookups

    // Numbers are of single precision in memory, whatever the variant.
    static Float number(const Value &v) { return Float(jit::cast(variant().float_type(), v)); }
    Float decode(const UInt32 &byte, const Mask &active) const {
        return number(jit::gather(m_codes, byte, active));
    }

    static bool is_constant(const std::string &mode) { return mode == "zero" || mode == "one"; }

    // value() of a texel of an image, or a level, of this size, wherever that begins.
    template <class T, class F>
    T fetch(const Float &x, const Float &y, const Float &width, const Float &height,
            const UInt32 *first, const Mask &active, F &&value) const {
        UInt32 at = to_uint(wrap_texel(m_wrap_v, y, height)) * to_uint(width) +
                    to_uint(wrap_texel(m_wrap_u, x, width));
        T v = value(texel_at(first ? at + *first : at, active));
        auto or_constant = [&](const std::string &mode, const Float &i, const Float &size) {
            if (is_constant(mode))
                v = select((i >= 0) & (i < size), v, T(Float(mode == "one" ? 1 : 0)));
        };
        or_constant(m_wrap_v, y, height);
        or_constant(m_wrap_u, x, width);
        return v;
    }
    Texel texel_at(const UInt32 &index, const Mask &active) const {
        if (m_options.spectral || m_is_filtered) {
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
            std::vector<Value> v = jit::gather_packet(m_texels, index, m_per_texel, active);
            c = { number(v[0]), number(v[1]), number(v[2]) };
        }
        return { c, grey(c) };
    }

    template <class T, class F>
    T interpolate(const SurfaceInteraction &si, const Mask &active, F &&value) const {
        Vector3 uv = m_transform.point({ si.uv.x, si.uv.y, Float(0) });
        Float x = uv.x * m_width, y = uv.y * m_height;
        if (m_filter == "nearest")
            return fetch<T>(floor(x), floor(y), m_width, m_height, nullptr, active, value);
        if (m_is_filtered && si.duv_dx.x.valid())
            return filtered<T>(si, uv, active, value);
        return corners<T>(si, active, value).blended();
    }

    template <class T, class F>
    T filtered(const SurfaceInteraction &si, const Vector3 &uv, const Mask &active,
               F &&value) const {
        auto in_texels = [&](const Vector2 &d) -> Vector2 {
            Vector3 t = m_transform.vector({ d.x, d.y, Float(0) });
            return { t.x * m_width, t.y * m_height };
        };
        MipMap::Ellipse seen = MipMap::ellipse(in_texels(si.duv_dx), in_texels(si.duv_dy));
        bool is_ewa = m_filter == "ewa";
        if (is_ewa)
            seen = MipMap::bounded(seen, m_most_long);
        MipMap::Choice choice = m_levels.choose(is_ewa ? seen.minor : seen.major);
        auto blended = [&](const T &a, const T &b) {
            return a * (1 - choice.part) + b * choice.part;
        };
        auto bilinear = [&](const UInt32 &number) {
            MipMap::Level l = m_levels.level(number, active);
            return corners<T>(uv, l.width, l.height, &l.first, active, value).blended();
        };
        if (!is_ewa)
            return blended(bilinear(choice.level[0]), bilinear(choice.level[1]));

        // What is smaller than a texel needs no average
        Mask large = active & (seen.major > 1);
        auto average = [&](const UInt32 &number) {
            MipMap::Level l = m_levels.level(number, active);
            return MipMap::average<T>(
                seen, l.width / m_width, l.height / m_height, uv.x * l.width - 0.5,
                uv.y * l.height - 0.5, T(Float(0)), large, [&](const Float &x, const Float &y) {
                    return fetch<T>(x, y, l.width, l.height, &l.first, active, value);
                });
        };
        return select(large, blended(average(choice.level[0]), average(choice.level[1])),
                      bilinear(UInt32(0u)));
    }

    // The four texels around a place, and where it lies between them.
    template <class T> struct Corners {
        T a, b, c, d;
        Float fx, fy;

        T blended() const {
            return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy;
        }
    };
    template <class T, class F>
    Corners<T> corners(const Vector3 &uv, const Float &width, const Float &height,
                       const UInt32 *first, const Mask &active, F &&value) const {
        Float x = uv.x * width - 0.5, y = uv.y * height - 0.5, x0 = floor(x), y0 = floor(y);
        auto at = [&](const Float &i, const Float &j) {
            return fetch<T>(i, j, width, height, first, active, value);
        };
        return { at(x0, y0), at(x0 + 1, y0), at(x0, y0 + 1), at(x0 + 1, y0 + 1), x - x0, y - y0 };
    }
    template <class T, class F>
    Corners<T> corners(const SurfaceInteraction &si, const Mask &active, F &&value) const {
        return corners<T>(m_transform.point({ si.uv.x, si.uv.y, Float(0) }), m_width, m_height,
                          nullptr, active, value);
    }

    std::filesystem::path m_file;
    std::shared_ptr<const Image> m_image;
    std::shared_ptr<const Texels> m_source; // while it is being loaded
    std::shared_ptr<Image> m_levels_source;
    TexelOptions m_options;
    std::string m_filter, m_wrap_u, m_wrap_v;
    double m_anisotropy = 20;
    bool m_is_filtered = false;
    MipMap m_levels;                       // of an image that is filtered
    Float m_most_long;                     // of an average, relative to its width
    std::optional<AsksForPartials> m_asks; // while it is
    TransformData m_to_uv;
    Transform m_transform;
    Component m_storage = Component::F32; // U8, F16 or F32
    uint32_t m_channels = 3;              // 1 or 3
    uint32_t m_per_texel = 4;             // numbers of a coloured texel in memory
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
