// envmap: an environment from an image of latitudes and longitudes.
//
// The direction (sin(theta) sin(phi), cos(theta), -sin(theta) cos(phi)) of its own space, +y up, is seen at u = phi / (2 pi),
// v = theta / pi. Columns lie half a pixel inside of the image, which repeats; the first and the last row lie at the poles.
// Between pixels radiance is bilinear.
//
// Directions are sampled by a density that is bilinear in (u, v), too, between luminance times sin(theta) at the pixels:
// tables of aliases [Vose 1991] choose four neighbours, and the place between them follows from inverting their density
// exactly. With `mis_compensation` the average is subtracted from it [Karlik 2019]: what is left must then be found by other
// means, such as the BSDF's samples of a path tracer.
//
// As a parameter, the image has a column more on either side, as in Mitsuba 3: the last one before the first, the first one
// after the last. What is written there makes no difference.
//
// In spectral variants a colour is a smooth spectrum [Jakob 2019] times a brightness and D65; the former two are interpolated
// each for itself, as in Mitsuba 3. Brightness is twice the largest channel: derivatives by a texel jump where another channel becomes
// the largest.
#include "ad/ad.h"
#include "core/alias_table.h"
#include "core/filled_array.h"
#include "core/host_array.h"
#include "core/image_io.h"
#include "core/reads_files.h"
#include "core/spectra.h"
#include "core/upsampling.h"
#include "core/warp.h"
#include "jit/element_count.h"
#include "jit/parallel.h"
#include "render/colour_value.h"
#include "render/emitter.h"
#include "render/rotation_of.h"
#include "render/texel_file.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace umbel {

class EnvironmentMap final : public Emitter, public ReadsFiles {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/environment.exr'/>");
        p.example("<string name='filename' value='$files/image.png'/><float name='scale' "
                  "value='2'/><transform name='to_world'><rotate x='1' angle='40'/>"
                  "<rotate y='1' angle='100'/></transform>");
        Emitter::declare(p);
        p.image("bitmap", m_image).doc("In place of `filename`, in scripts: the image itself");
        p.image("data", m_image).doc("The same, as an array of rows, columns and channels");
        if (!p.loading() || !m_image)
            p.file("filename", m_file).doc("The image; its radiance is in W / (m^2 sr)");
        p.number("gamma", m_gamma, 0, -1)
            .fixed()
            .doc("Exponent of the image's encoding, such as 2.2; -1: sRGB; 0: as the file says");
        p.scalar("scale", m_scale, 1, 0).differentiable().doc("Multiplies the image");
        p.transform("to_world", m_to_world)
            .doc("How it is turned; where it is moved to makes no difference");
        p.boolean("mis_compensation", m_is_compensated, false)
            .doc("Sample only what is brighter than the average. For integrators that combine "
                 "samples of lights with those of BSDFs; others would lose light");
        if (!p.traversing())
            return;
        if (!m_data.valid())
            m_data = decoded();
        p.exposed("data", TensorSlot{ &m_data, &m_shape }).differentiable();
        p.derived(m_texels);
    }
    void changed(std::span<const std::string> names) override {
        touch();
        auto has = [&](const char *name) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (has("to_world"))
            turn();
        if (has("data"))
            take_data();
    }
    void read_files() override {
        Image image = m_image ? *m_image : read_image(m_file);
        if (m_gamma != 0)
            image = understood(std::move(image), { .gamma = m_gamma }, m_file.string());
        const std::vector<std::string> rgb = { "R", "G", "B" };
        if (image.channels() == rgb)
            m_read = convert(image, Component::F32, false);
        else if (colour_model(image) == ColourModel::Rgb) // of fewer bytes
            m_read = convert(to_model(image, ColourModel::Rgb, false), Component::F32, false);
        else
            m_read = to_model(convert(image, Component::F32, false), ColourModel::Rgb, false);
        if (m_read.pixels() >= (1u << 29))
            fail("{}: {} x {} pixels are too many; scale the image down to 2^29 pixels",
                 m_file.string(), m_read.width(), m_read.height());
    }
    void configure() override {
        take_files();
        if (!m_radius.valid())
            set_scene({});
        turn();
        Image image = with_three_rows(std::move(m_read));
        m_read = {};
        size_t width = image.width(), height = image.height();
        m_shape = { height, width + 2, 3 };
        const float *pixels = image.data<float>();
        prepare_sampling(pixels, 3 * width, width, height);
        if (is_spectral()) {
            m_data = single_floats(padded(pixels, width, height));
            pack_texels();
            return;
        }
        m_data = {}; // made of the texels if someone asks
        m_texels = variant().double_precision ? packets_of<double>(pixels, width, height)
                                              : packets_of<float>(pixels, width, height);
    }
    uint32_t flags() const override {
        return EndpointFlags::Infinite | EndpointFlags::SpatiallyVarying;
    }
    void set_scene(const BoundingBox &bounds) override {
        bool none = bounds.is_empty();
        m_radius = opaque_float(none ? 1 : std::max(bounds.radius() * (1 + 1e-4), 1e-3));
        auto c = none ? std::array<double, 3>{} : bounds.centre();
        m_centre = { opaque_float(c[0]), opaque_float(c[1]), opaque_float(c[2]) };
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return depolarize(radiance(place_of(-si.wi), si.wavelengths, active));
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        return depolarize(radiance(place_of(ds.d), it.wavelengths, active));
    }
    Float pdf_direction(const Interaction &, const DirectionSample &ds,
                        const Mask &active) const override {
        return density(place_of(ds.d), active);
    }
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        auto [place, d] = sample(u, active);
        Float dist = 4 * m_radius, pdf = density(place, active); // beyond everything else
        DirectionSample ds{
            { fma(d, dist, it.p), -d, { place.u, place.v }, it.time, pdf, Mask(false) },
            d,
            dist,
            UInt32(0u)
        };
        Float inv_pdf = select(pdf > 0, rcp(pdf), Float(0));
        return { ds, depolarize(radiance(place, it.wavelengths, active) * inv_pdf) };
    }

    /// Through the disk that the scene's sphere is, as seen from there.
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &direction,
                                        const Mask &active) const override {
        auto [place, d] = sample(direction, active);
        auto [wavelengths, weight] = umbel::sample_wavelengths(wavelength);
        Frame frame(-d);
        Vector2 p = square_to_uniform_disk_concentric(position);
        Vector3 o = fma(frame.s * p.x + frame.t * p.y + d, m_radius, m_centre);
        Float pdf = density(place, active),
              area = select(pdf > 0, sqr(m_radius) * Pi / pdf, Float(0));
        Float infinity(std::numeric_limits<double>::infinity());
        Spectrum light = radiance(place, wavelengths, active) * area;
        if (is_spectral())
            light = light * weight;
        return { Ray{ o, -d, infinity, time, wavelengths }, depolarize(light) };
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &si,
                                                        const Float &u,
                                                        const Mask &active) const override {
        auto [wavelengths, weight] = umbel::sample_wavelengths(u);
        Spectrum light = radiance(place_of(-si.wi), wavelengths, active);
        return { wavelengths, depolarize(is_spectral() ? light * weight : light) };
    }

private:
    static bool is_spectral() { return variant().colour == Colour::Spectral; }

    // ---- the image

    // In the variant's precision.
    static Float single_floats(const std::vector<float> &data) {
        if (variant().double_precision)
            return float_array(std::vector<double>(data.begin(), data.end()));
        return Float(Value(jit::copy(data)));
    }
    // Colours and nothing, written where kernels read them.
    template <class T> static Value packets_of(const float *pixels, size_t width, size_t height) {
        return filled_array<T>(4 * width * height, [&](T *packets) {
            jit::parallel_for(size_t(0), height, [&](size_t y) {
                for (size_t i = y * width; i < (y + 1) * width; ++i) {
                    std::copy_n(pixels + 3 * i, 3, packets + 4 * i);
                    packets[4 * i + 3] = 0;
                }
            });
        });
    }
    // Sampling needs a row between the poles.
    static Image with_three_rows(Image image) {
        size_t width = image.width(), height = image.height();
        if (height >= 3)
            return image;
        Image out(width, 3, image.channels(), Component::F32);
        const float *first = image.data<float>(), *last = first + 3 * width * (height - 1);
        for (size_t y = 0; y < 3; ++y)
            for (size_t i = 0; i < 3 * width; ++i)
                out.data<float>()[3 * width * y + i] =
                    0.5f * (float(2 - y) * first[i] + float(y) * last[i]);
        return out;
    }
    // As the parameter shows them.
    static std::vector<float> padded(const float *pixels, size_t width, size_t height) {
        std::vector<float> out(3 * (width + 2) * height);
        for (size_t y = 0; y < height; ++y) {
            const float *row = pixels + 3 * width * y;
            float *to = &out[3 * (width + 2) * y];
            std::copy_n(row + 3 * (width - 1), 3, to);
            std::copy_n(row, 3 * width, to + 3);
            std::copy_n(row, 3, to + 3 * (width + 1));
        }
        return out;
    }

    void take_data() {
        if (m_shape.size() != 3 || m_shape[0] < 3 || m_shape[1] < 3 || m_shape[2] != 3)
            complain(
                "data must be a tensor of at least 3 rows, of 3 columns, of which the outer two "
                "repeat others, and of 3 channels");
        std::vector<double> all = read_floats(Float(m_data.detached()));
        prepare_sampling(all.data() + 3, 3 * m_shape[1], m_shape[1] - 2, m_shape[0]);
        pack_texels();
    }
    // Packets of four: colour and nothing, or coefficients and brightness.
    void pack_texels() {
        size_t width = m_shape[1] - 2, height = m_shape[0];
        uint32_t n = jit::element_count(4 * width * height) / 4;
        UInt32 columns = jit::opaque(uint32_t(width));
        auto first_number = [&](const UInt32 &texel) { // of those that the parameter shows
            UInt32 row = texel / columns;
            return (texel + row * UInt32(2u) + UInt32(1u)) * UInt32(3u);
        };
        if (is_spectral()) {
            UInt32 texel(jit::lane_index(n)), first = first_number(texel);
            auto at = [&](uint32_t c) {
                return Float(jit::gather(m_data, first + UInt32(c), Mask(true)));
            };
            Vector3 rgb(at(0), at(1), at(2));
            Float scale = 2 * max_component(rgb);
            Vector3 c = table_coefficients(rgb * rcp(max(scale, 1e-8)));
            Value packed = jit::full(variant().float_type(), 0, 4 * n);
            UInt32 to = texel * UInt32(4u);
            for (auto &[i, v] : { std::pair(0u, c.x), { 1u, c.y }, { 2u, c.z }, { 3u, scale } })
                jit::scatter(packed, v, to + UInt32(i), Mask(true));
            m_texels = packed;
        } else {
            UInt32 lane(jit::lane_index(4 * n)), texel = lane >> UInt32(2u), c = lane & UInt32(3u);
            m_texels = jit::gather(m_data, first_number(texel) + c, c < UInt32(3u));
        }
        jit::eval(m_texels);
    }
    // Recorded, and computed only if someone asks.
    Value decoded() const {
        UInt32 lane(jit::lane_index(jit::element_count(m_shape[0] * m_shape[1] * 3))),
            place = lane / UInt32(3u), c = lane - place * UInt32(3u);
        UInt32 width = jit::opaque(uint32_t(m_shape[1] - 2)), two(2u);
        UInt32 row = place / (width + two),
               column = place - row * (width + two) + width - UInt32(1u);
        UInt32 texel = row * width + (column - column / width * width);
        return jit::gather(m_texels, texel * UInt32(4u) + c, Mask(true));
    }

    // Of rows of RGB pixels that are `stride` numbers apart.
    template <class T>
    void prepare_sampling(const T *pixels, size_t stride, size_t width, size_t height) {
        m_width = opaque_float(double(width));
        m_rows = opaque_float(double(height - 1));
        const Colour3 &y_of = srgb_to_xyz_matrix()[1];
        auto luminance = [&](size_t x, size_t y) {
            const T *pixel = pixels + y * stride + 3 * x;
            return y_of[0] * double(pixel[0]) + y_of[1] * double(pixel[1]) +
                   y_of[2] * double(pixel[2]);
        };
        auto each_row = [&](auto &&f) {
            jit::parallel_for(size_t(0), height, [&](size_t y) { f(y); });
        };
        check_pixels(pixels, stride, width, height);
        std::vector<double> sums(height), least(height);
        each_row([&](size_t y) {
            least[y] = luminance(0, y);
            for (size_t x = 0; x < width; ++x) {
                sums[y] += luminance(x, y);
                least[y] = std::min(least[y], luminance(x, y));
            }
        });
        double sum = std::accumulate(sums.begin(), sums.end(), 0.0), less = 0;
        bool is_black = !(sum > 0);
        if (m_is_compensated) {
            // Of pixels, as in Mitsuba 3. Where all are about the same, so is what they say
            double mean = sum / double(width * height);
            if (*std::ranges::min_element(least) < 0.99 * mean)
                less = mean;
        }
        // At pixels of a row, or the same everywhere. Where the poles count for nothing, their neighbours stand for them
        auto row_nodes = [&](size_t y) {
            std::vector<double> row(width, 1.0);
            if (!is_black)
                for (size_t x = 0; x < width; ++x)
                    row[x] = luminance(x, y);
            auto stand_for = [&](size_t pole) {
                for (size_t x = 0; x < width; ++x)
                    row[x] = std::max(row[x], 0.5 * luminance(x, pole));
            };
            if (y == 1)
                stand_for(0);
            if (y == height - 2)
                stand_for(height - 1);
            for (double &v : row)
                v = std::max(v - less, 0.0);
            return row;
        };
        std::vector<double> sines(height);
        for (size_t y = 1; y + 1 < height; ++y)
            sines[y] = std::sin(Pi * double(y) / double(height - 1));
        m_cells = AliasGrid(width, height - 1, [&](size_t y, std::span<double> means) {
            std::vector<double> above = row_nodes(y), below = row_nodes(y + 1);
            auto column = [&](size_t x) {
                return 0.25 * (sines[y] * above[x] + sines[y + 1] * below[x]);
            };
            double first = column(0), here = first;
            for (size_t x = 0; x < width; ++x) {
                double right = x + 1 < width ? column(x + 1) : first;
                means[x] = here + right;
                here = right;
            }
        });
        double scale = double(width * (height - 1)) / m_cells.sum();
        auto write_nodes = [&](auto *nodes) {
            each_row([&](size_t y) {
                std::vector<double> row = row_nodes(y);
                for (size_t x = 0; x < width; ++x)
                    nodes[y * width + x] =
                        std::remove_pointer_t<decltype(nodes)>(scale * sines[y] * row[x]);
            });
        };
        m_nodes =
            Float(variant().double_precision ? filled_array<double>(width * height, write_nodes)
                                             : filled_array<float>(width * height, write_nodes));
    }

    template <class T>
    void check_pixels(const T *pixels, size_t stride, size_t width, size_t height) const {
        auto is_bad = [](T v) { return !(v >= 0 && v <= std::numeric_limits<T>::max()); };
        std::vector<size_t> first_bad(height); // number of each row
        jit::parallel_for(size_t(0), height, [&](size_t y) {
            const T *row = pixels + y * stride;
            first_bad[y] = 3 * width;
            bool bad = false; // whether any is, is quickly found
            for (size_t i = 0; i < 3 * width; ++i)
                bad |= is_bad(row[i]);
            if (bad)
                first_bad[y] = size_t(std::find_if(row, row + 3 * width, is_bad) - row);
        });
        for (size_t y = 0; y < height; ++y)
            if (size_t i = first_bad[y]; i < 3 * width)
                complain("{}: the pixel in column {}, row {} is {}; radiance must be finite and "
                         "not negative: mend the image",
                         m_file.string(), i / 3, y, pixels[y * stride + i]);
    }

    // ---- directions

    // In the image; the sine of theta, too.
    struct Place {
        Float u, v, sine;
    };
    Place place_of(const Vector3 &d) const {
        Vector3 w = m_rotation.inverse().vector(d);
        Float sine = safe_sqrt(w.x * w.x + w.z * w.z), u = atan2(w.x, -w.z) * InvTwoPi;
        return { u - floor(u), atan2(sine, w.y) * InvPi, sine };
    }
    std::pair<Place, Vector3> sample(const Vector2 &u, const Mask &active) const {
        // Four neighbours, then between them
        auto [column, row, rest] = m_cells.sample(u, active);
        std::array<Float, 4> f = corners(column, row, active);
        Vector2 q = square_to_bilinear(f[0], f[1], f[2], f[3], rest).first;
        Float s = (Float(column) + q.x + 0.5) / m_width, v = (Float(row) + q.y) / m_rows;
        s = s - floor(s);

        Float theta = v * Pi, phi = s * (2 * Pi), sine = max(sin(theta), 0);
        Vector3 d{ sine * sin(phi), cos(theta), -sine * cos(phi) };
        return { { s, v, sine }, m_rotation.vector(d) };
    }
    // Densities over the unit square, at four neighbours.
    std::array<Float, 4> corners(const UInt32 &column, const UInt32 &row,
                                 const Mask &active) const {
        auto [at, right, below] = neighbours(column, row);
        auto node = [&](const UInt32 &i) { return Float(jit::gather(m_nodes, i, active)); };
        return { node(at), node(at + right), node(at + below), node(at + right + below) };
    }
    struct Neighbours {
        UInt32 at, right, below; // the others by their distance, which may wrap around
    };
    Neighbours neighbours(const UInt32 &column, const UInt32 &row) const {
        UInt32 width = to_uint(m_width);
        UInt32 right = select(column + UInt32(1u) < width, UInt32(1u), UInt32(1u) - width);
        return { row * width + column, right, width };
    }
    // The neighbours of a place, and where it lies between them.
    struct Cell {
        UInt32 column, row;
        Float x, y;
    };
    Cell cell_of(const Place &place) const {
        Float x = place.u * m_width - 0.5, y = place.v * m_rows;
        x = select(x < 0, x + m_width, x);
        UInt32 column = min(to_uint(x), to_uint(m_width) - UInt32(1u)),
               row = min(to_uint(y), to_uint(m_rows) - UInt32(1u));
        return { column, row, x - Float(column), y - Float(row) };
    }
    // Per solid angle: du dv = sin(theta) / (2 pi^2) of it.
    Float density(const Place &place, const Mask &active) const {
        Cell c = cell_of(place);
        std::array<Float, 4> f = corners(c.column, c.row, active);
        Float value = lerp(lerp(f[0], f[1], c.x), lerp(f[2], f[3], c.x), c.y);
        Float out = value / (max(place.sine, 1e-12) * (2 * Pi * Pi));
        return Float(ad::detach(out));
    }

    Spectrum radiance(const Place &place, const Wavelengths &wavelengths,
                      const Mask &active) const {
        Cell c = cell_of(place);
        auto [at, right, below] = neighbours(c.column, c.row);
        std::array<UInt32, 4> index{ at, at + right, at + below, at + right + below };
        std::array<std::vector<Value>, 4> texel;
        for (size_t k = 0; k < 4; ++k)
            texel[k] = jit::gather_packet(m_texels, index[k], 4, active);
        auto mixed = [&](auto &&value) {
            return lerp(lerp(value(texel[0]), value(texel[1]), c.x),
                        lerp(value(texel[2]), value(texel[3]), c.x), c.y);
        };
        auto channel = [&](size_t i) {
            return mixed([&](const std::vector<Value> &t) { return Float(t[i]); });
        };
        if (is_spectral()) {
            Float brightness = channel(3) * m_scale;
            return map(wavelengths, [&](const Float &w) {
                Float smooth = mixed([&](const std::vector<Value> &t) {
                    return eval_coefficients({ Float(t[0]), Float(t[1]), Float(t[2]) }, w);
                });
                return smooth * brightness * d65(w);
            });
        }
        Vector3 rgb = Vector3(channel(0), channel(1), channel(2)) * m_scale;
        if (variant().colour == Colour::Mono)
            return Spectrum(rgb_luminance(rgb));
        return Spectrum(std::vector<Float>{ rgb.x, rgb.y, rgb.z });
    }

    void turn() { m_rotation = Transform(rotation_of(*this, m_to_world)); }

    std::filesystem::path m_file;
    std::shared_ptr<const Image> m_image;
    Image m_read; // while it is being loaded
    bool m_is_compensated = false;
    double m_gamma = 0;
    Float m_scale;
    TransformData m_to_world;
    Transform m_rotation;
    Float m_width, m_rows; // columns, and rows less one
    Value m_texels;
    Float m_nodes;     // density over the unit square at the pixels
    AliasGrid m_cells; // by the mean of four neighbours
    Vector3 m_centre;
    Float m_radius; // of the scene
    // As a parameter: rows, columns and channels
    Value m_data;
    std::vector<size_t> m_shape;
};

UMBEL_PLUGIN(Emitter, EnvironmentMap, "envmap")
} // namespace umbel
