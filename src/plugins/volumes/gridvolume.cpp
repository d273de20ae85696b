// gridvolume: numbers at the voxels of a grid, with trilinear or no interpolation.
//
// Voxels fill the unit cube, or, with `use_grid_bbox`, the box that the file names; `to_world` places it. For files see
// core/voxels.h; their numbers stay bytes, halves or floats, as they are.
//
// OpenVDB files (`.vdb`) have grids of floats or of three of them, by name, which are placed by their own transform. What is read is
// the box of the active voxels, at most 4 GiB of them. Grids that are mostly empty stay so in memory: cubes of 8 voxels a side that
// have something in them, and an index of those. Lookups give the same numbers, and take one more fetch.
//
// Three channels are colours, unless `raw`. In spectral variants a colour is a smooth spectrum [Jakob 2019] times a
// brightness, which are interpolated each for itself, as in Mitsuba 3. Other numbers of channels are no spectra.
#include "core/host_array.h"
#include "core/image.h"
#include "core/reads_files.h"
#include "core/upsampling.h"
#include "core/vdb_file.h"
#include "core/voxels.h"
#include "jit/element_count.h"
#include "render/colour_value.h"
#include "render/texel_wrap.h"
#include "render/volume_range.h"
#include <algorithm>

namespace umbel {

class GridVolume final : public Volume, public ReadsFiles, public KnowsNumbers {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/grey.vol'/>");
        p.example("<string name='filename' value='$files/colour.vol'/><boolean "
                  "name='use_grid_bbox' value='true'/><string name='wrap_mode' value='repeat'/>");
        p.example("<string name='filename' value='$files/grey.vol'/><string name='filter_type' "
                  "value='nearest'/><string name='wrap_mode' value='mirror'/><transform "
                  "name='to_world'><scale value='2'/></transform>");
        declare_placement(p);
        if (names_grid(p))
            p.string("grid", m_grid, "");
        else
            p.image("grid", m_image)
                .doc("In place of `filename`, in scripts: a VolumeGrid. With a `.vdb` file: the "
                     "name of "
                     "one of its grids; `density` if absent, or else the first in the order of "
                     "names");
        p.image("data", m_image).doc("The same, as an array of z, y, x and channels");
        if (!p.loading() || !m_image)
            p.file("filename", m_file).doc("The numbers; see below");
        p.choice("filter_type", m_filter, "trilinear", { "trilinear", "nearest" })
            .doc("Between voxels");
        p.choice("wrap_mode", m_wrap, "clamp", { "clamp", "repeat", "mirror" })
            .doc("Beyond the grid");
        bool accel = true;
        p.boolean("accel", accel, true)
            .fixed()
            .doc("A hint of Mitsuba's for texture units of GPUs, which are not used here");
        p.boolean("raw", m_raw, false).doc("Take three channels as numbers, never as a colour");
        p.boolean("use_grid_bbox", m_uses_box, is_vdb_file(m_file))
            .doc("Fill the box that the file names in place of the unit cube; true if absent, for "
                 "`.vdb` files");
        p.number("max_value", m_given_max, -1)
            .doc("The largest value; below zero: found out, again whenever data change");
        if (p.loading() && !m_grid.empty() && !is_vdb_file(m_file))
            fail("{}: grid names one of a .vdb file's grids; {} is none",
                 p.properties()->describe(), m_file.string());
        if (!p.traversing())
            return;
        if (m_source.count() >= size_t(1) << 31)
            return; // too large an array, were it not for empty space
        if (!m_data.valid())
            m_data = decoded();
        p.exposed("data", TensorSlot{ &m_data, &m_shape }).differentiable();
        if (m_coefficients.valid())
            p.derived(m_coefficients);
    }
    void read_files() override {
        m_source = m_image               ? voxels_of(*m_image)
                   : is_vdb_file(m_file) ? read_vdb(m_file, m_grid)
                                         : read_voxels(m_file);
        if (auto i = m_image ? m_source.find_not_finite() : std::nullopt)
            complain("number {} of data is not finite", *i);
    }
    void configure() override {
        take_files();
        m_box = m_uses_box ? box_of(m_source) : TransformData();
        m_shape = { m_source.size[2], m_source.size[1], m_source.size[0], m_source.channels };
        m_data = {};
        m_is_scripted = false;
        auto count = uint32_t(m_source.stored());
        if (m_source.type == jit::Type::F64)
            m_voxels = float_array({ static_cast<const double *>(m_source.data.get()), count });
        else
            m_voxels = jit::borrow_from(m_source.type, const_cast<void *>(m_source.data.get()),
                                        count, [memory = m_source.data] {});
        take_index();
        place();
        take_numbers();
    }
    void changed(std::span<const std::string> names) override {
        place();
        if (std::find(names.begin(), names.end(), "data") == names.end())
            return;
        if (m_shape.size() != 4 || m_shape[3] < 1 || voxels() < 1)
            complain("data must be a tensor of z, y, x and channels");
        m_source =
            variant().double_precision ? numbers_of_script<double>() : numbers_of_script<float>();
        m_is_scripted = true;
        m_voxels = m_data;
        take_index();
        take_numbers();
    }

    Spectrum eval(const Interaction &it, const Mask &active) const override {
        if (m_channels == 1)
            return Spectrum(eval_1(it, active));
        if (m_channels != 3)
            complain("has {} channels; a spectrum needs 1 or 3", m_channels);
        if (variant().colour == Colour::Spectral)
            return eval_spectrum(it, active);
        Vector3 c = colour(it, active);
        if (variant().colour == Colour::Mono)
            return Spectrum(rgb_luminance(c));
        return Spectrum(std::vector<Float>{ c.x, c.y, c.z });
    }
    Float eval_1(const Interaction &it, const Mask &active) const override {
        return interpolate<Float>(cell_at(it, active),
                                  [&](const UInt32 &i) { return number(i, active); });
    }
    std::vector<Float> eval_n(const Interaction &it, const Mask &active) const override {
        std::vector<Float> out;
        Cell cell = cell_at(it, active);
        for (uint32_t c = 0; c < m_channels; ++c)
            out.push_back(
                interpolate<Float>(cell, [&](const UInt32 &i) { return channel(i, c, active); }));
        return out;
    }
    std::pair<Float, Vector3> eval_gradient(const Interaction &it,
                                            const Mask &active) const override {
        Cell cell = cell_at(it, active);
        if (m_filter == "nearest")
            return { eval_1(it, active), Vector3(Float(0)) };
        Float v[8];
        for (size_t k = 0; k < 8; ++k)
            v[k] = number(cell.index[k], active);
        auto [x, y, z] = cell.f;
        auto plane = [](const Float &a, const Float &b, const Float &c, const Float &d,
                        const Float &s,
                        const Float &t) { return blend(blend(a, b, s), blend(c, d, s), t); };
        Vector3 slope{ plane(v[1] - v[0], v[3] - v[2], v[5] - v[4], v[7] - v[6], y, z) * m_size.x,
                       plane(v[2] - v[0], v[3] - v[1], v[6] - v[4], v[7] - v[5], x, z) * m_size.y,
                       plane(v[4] - v[0], v[5] - v[1], v[6] - v[2], v[7] - v[3], x, y) * m_size.z };
        return { eval_1(it, active), m_placement.normal(slope) };
    }
    Float mean_value() const override {
        if (!m_coefficients.valid())
            return Float(m_source.mean_of(read_floats(grey_of_all())));
        UInt32 lane(jit::lane_index(stored_voxels()));
        auto [c, scale] = packet(lane, true);
        auto host = [](const Float &v) { return read_floats(Float(v.detached())); };
        return Float(mean_of_product(host(mean_of_coefficients(c)), host(scale)));
    }
    double max_value() const override { return m_given_max >= 0 ? m_given_max : m_max; }
    std::vector<double> max_per_channel() const override { return m_max_per_channel; }
    std::vector<double> upper_bounds(std::array<size_t, 3> parts) const override {
        return bounds_of_parts(parts).most;
    }
    Voxels::Bounds bounds_of_parts(std::array<size_t, 3> parts) const override {
        Voxels::Bounds bounds = m_source.bounds(parts, m_filter != "nearest", m_wrap);
        if (!m_coefficients.valid())
            return bounds;
        for (double &b : bounds.most)
            b *= brightness();
        for (double &b : bounds.least) // a colour's spectrum may be less than any channel
            b = std::min(b, 0.0);
        return bounds;
    }
    std::optional<std::string> find_outside(double least, double most) const override {
        std::optional<size_t> i = m_source.find_outside(least, most);
        if (!i)
            return std::nullopt;
        double v = m_source.number(*i);
        if (m_file.empty() || m_is_scripted)
            return fmt::format("{} at number {} of data", v, *i);
        if (!is_vdb_file(m_file))
            return fmt::format("{} at byte {} of {}", v,
                               VoxelHeadSize + *i * jit::bytes(m_source.type), m_file.string());
        auto [x, y, z] = m_source.voxel_of(*i);
        return fmt::format("{} at voxel {}, {}, {} of the active box of {}", v, x, y, z,
                           m_file.string());
    }
    TransformData placement() const override { return m_to_world * m_box; }
    std::array<size_t, 3> resolution() const override {
        return { m_shape[2], m_shape[1], m_shape[0] };
    }
    uint32_t channel_count() const override { return m_channels; }
    bool is_spatially_varying() const override { return true; }

private:
    static bool names_grid(const Params &p) {
        const Property *grid = p.loading() ? p.properties()->find("grid") : nullptr;
        return grid && std::holds_alternative<std::string>(grid->value);
    }
    template <class T> Voxels numbers_of_script() const {
        return voxels_from({ m_shape[2], m_shape[1], m_shape[0] }, m_shape[3],
                           jit::Array<T>(m_data.detached()).read());
    }
    // Of a script: z slices, one below the other.
    Voxels voxels_of(const Image &image) const {
        auto known = image.metadata.find("depth");
        if (known == image.metadata.end())
            complain("data must be an array of z, y, x and channels");
        auto depth = size_t(std::get<int64_t>(known->second));
        std::vector<double> numbers(image.pixels() * image.channel_count());
        for (size_t y = 0; y < image.height(); ++y)
            image.read_row(y, &numbers[y * image.width() * image.channel_count()]);
        Voxels v = voxels_from({ image.width(), image.height() / depth, depth },
                               image.channel_count(), std::move(numbers));
        for (auto &[name, first] : { std::pair("min", 0), { "max", 3 } })
            if (auto it = image.metadata.find(name); it != image.metadata.end())
                std::copy_n(std::get<std::array<double, 3>>(it->second).begin(), 3,
                            v.box.begin() + first);
        return v;
    }
    // As the parameter that scripts see; computed only if someone asks.
    Float decoded() const {
        UInt32 i(jit::lane_index(jit::element_count(voxels() * m_channels)));
        if (!m_index.valid())
            return stored(i, true);
        auto count = [](size_t n) { return jit::opaque(uint32_t(n)); };
        UInt32 channels = count(m_channels), nx = count(m_shape[2]), ny = count(m_shape[1]),
               voxel = i / channels, row = voxel / nx;
        return stored(place_of(voxel % nx, row % ny, row / ny, true) * channels + i % channels,
                      true);
    }
    void take_index() {
        m_index = {};
        if (!m_source.bricks)
            return;
        const Voxels::Bricks &b = *m_source.bricks;
        m_index = jit::borrow_from(jit::Type::U32, const_cast<uint32_t *>(b.index.get()),
                                   jit::element_count(b.count[0] * b.count[1] * b.count[2]),
                                   [memory = b.index] {});
        for (size_t a = 0; a < 3; ++a) {
            m_bricks[a] = jit::opaque(uint32_t(b.count[a]));
            m_first[a] = jit::opaque(uint32_t(b.first[a]));
        }
    }

    // From the unit cube to what it fills, as the file says.
    TransformData box_of(const Voxels &v) const {
        if (v.to_world)
            return *v.to_world;
        const std::array<double, 6> &b = v.box;
        for (size_t i = 0; i < 3; ++i)
            if (!(b[i + 3] > b[i]))
                complain("{}: the box of the volume is empty along {}; set use_grid_bbox to false",
                         m_file.string(), "xyz"[i]);
        return TransformData::translate({ b[0], b[1], b[2] }) *
               TransformData::scale({ b[3] - b[0], b[4] - b[1], b[5] - b[2] });
    }
    void place() {
        m_placement = Transform(placement());
        m_to_local = m_placement.inverse();
    }

    void take_numbers() {
        m_channels = uint32_t(m_shape[3]);
        m_size = { opaque_float(double(m_shape[2])), opaque_float(double(m_shape[1])),
                   opaque_float(double(m_shape[0])) };
        m_max_per_channel = m_source.max_per_channel();
        m_coefficients = {};
        if (variant().colour == Colour::Spectral && m_channels == 3 && !m_raw)
            pack_coefficients();
        m_max =
            brightness() * *std::max_element(m_max_per_channel.begin(), m_max_per_channel.end());
    }
    // Of a spectrum, over the colour's largest channel.
    double brightness() const { return m_coefficients.valid() ? 2 : 1; }
    void pack_coefficients() {
        UInt32 voxel(jit::lane_index(jit::element_count(stored_voxels())));
        Vector3 rgb(channel(voxel, 0, true), channel(voxel, 1, true), channel(voxel, 2, true));
        Float scale = 2 * max_component(rgb);
        Vector3 c = table_coefficients(rgb * rcp(max(scale, 1e-8)));
        Value packed =
            jit::full(variant().float_type(), 0, jit::element_count(4 * stored_voxels()));
        UInt32 to = voxel * UInt32(4u);
        for (auto &[i, v] : { std::pair(0u, c.x), { 1u, c.y }, { 2u, c.z }, { 3u, scale } })
            jit::scatter(packed, v, to + UInt32(i), Mask(true));
        m_coefficients = packed;
        jit::eval(m_coefficients);
    }
    size_t voxels() const { return m_shape[0] * m_shape[1] * m_shape[2]; }
    size_t stored_voxels() const { return m_source.stored() / m_channels; }

    // ---- lookups

    // Eight neighbours, x before y before z, and where a place lies between them; or the one voxel that it is in.
    struct Cell {
        UInt32 index[8];
        std::array<Float, 3> f;
    };
    Cell cell_at(const Interaction &it, const Mask &active) const {
        Vector3 p = m_to_local.point(it.p) * m_size;
        bool nearest = m_filter == "nearest";
        UInt32 low[3], high[3];
        Cell cell;
        const Float *at[] = { &p.x, &p.y, &p.z }, *size[] = { &m_size.x, &m_size.y, &m_size.z };
        for (size_t a = 0; a < 3; ++a) {
            Float x = nearest ? *at[a] : *at[a] - 0.5, x0 = floor(x);
            cell.f[a] = x - x0;
            low[a] = to_uint(wrap_texel(m_wrap, x0, *size[a]));
            if (!nearest)
                high[a] = to_uint(wrap_texel(m_wrap, x0 + 1, *size[a]));
        }
        for (size_t k = 0; k < (nearest ? 1u : 8u); ++k)
            cell.index[k] = place_of(k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1],
                                     k & 4 ? high[2] : low[2], active);
        return cell;
    }
    // Of a voxel, among those that are stored.
    UInt32 place_of(const UInt32 &x, const UInt32 &y, const UInt32 &z, const Mask &active) const {
        if (!m_index.valid()) {
            UInt32 nx = to_uint(m_size.x), ny = to_uint(m_size.y);
            return (z * ny + y) * nx + x;
        }
        UInt32 p[3] = { x + m_first[0], y + m_first[1], z + m_first[2] }, local(0u), brick(0u);
        for (int a = 2; a >= 0; --a) {
            local = local << UInt32(3u) | (p[a] & UInt32(7u));
            brick = a == 2 ? p[a] >> UInt32(3u) : brick * m_bricks[a] + (p[a] >> UInt32(3u));
        }
        static_assert(Voxels::Bricks::Width == 8);
        UInt32 number(jit::gather(m_index, brick, active));
        return number << UInt32(9u) | local;
    }
    template <class T> static T blend(const T &a, const T &b, const Float &f) {
        return a * (1 - f) + b * f;
    }
    template <class T, class F> T interpolate(const Cell &cell, F &&value) const {
        if (m_filter == "nearest")
            return value(cell.index[0]);
        T row[4];
        for (size_t k = 0; k < 4; ++k)
            row[k] = blend<T>(value(cell.index[2 * k]), value(cell.index[2 * k + 1]), cell.f[0]);
        return blend<T>(blend<T>(row[0], row[1], cell.f[1]), blend<T>(row[2], row[3], cell.f[1]),
                        cell.f[2]);
    }
    Float stored(const UInt32 &i, const Mask &active) const {
        Value v = jit::gather(m_voxels, i, active);
        if (v.type() == variant().float_type())
            return Float(v);
        Float f(jit::cast(variant().float_type(), v));
        return v.type() == jit::Type::U8 ? f * (1.0 / 255) : f;
    }
    Float channel(const UInt32 &voxel, uint32_t c, const Mask &active) const {
        return stored(m_channels == 1 ? voxel : voxel * UInt32(m_channels) + UInt32(c), active);
    }
    // The one number that a voxel stands for.
    Float number(const UInt32 &voxel, const Mask &active) const {
        if (m_channels == 3) {
            if (m_coefficients.valid())
                complain("gives a spectrum here; set raw=true for numbers");
            return rgb_luminance({ channel(voxel, 0, active), channel(voxel, 1, active),
                                   channel(voxel, 2, active) });
        }
        Float sum = channel(voxel, 0, active);
        for (uint32_t c = 1; c < m_channels; ++c)
            sum += channel(voxel, c, active);
        return m_channels == 1 ? sum : sum * (1.0 / m_channels);
    }
    Vector3 colour(const Interaction &it, const Mask &active) const {
        std::vector<Float> c = eval_n(it, active);
        return { c[0], c[1], c[2] };
    }
    // Coefficients of a spectrum, and what it is multiplied by.
    std::pair<Vector3, Float> packet(const UInt32 &voxel, const Mask &active) const {
        std::vector<Value> v = jit::gather_packet(m_coefficients, voxel, 4, active);
        return { { Float(v[0]), Float(v[1]), Float(v[2]) }, Float(v[3]) };
    }
    Spectrum eval_spectrum(const Interaction &it, const Mask &active) const {
        if (m_raw)
            complain("is asked for a spectrum, and has raw numbers; set raw=false");
        Cell cell = cell_at(it, active);
        Spectrum shape = interpolate<Spectrum>(cell, [&](const UInt32 &i) {
            Vector3 c = packet(i, active).first;
            return map(it.wavelengths, [&](const Float &w) { return eval_coefficients(c, w); });
        });
        return shape *
               interpolate<Float>(cell, [&](const UInt32 &i) { return packet(i, active).second; });
    }

    // ---- means

    Float grey_of_all() const {
        UInt32 lane(jit::lane_index(jit::element_count(stored_voxels())));
        return Float(number(lane, true).detached());
    }
    // Of two quantities that are interpolated each for itself: along an axis, a voxel meets itself with the weight 2/3 and either
    // neighbour with 1/6.
    double mean_of_product(const std::vector<double> &a, const std::vector<double> &b) const {
        auto [nz, ny, nx] = std::array{ int(m_shape[0]), int(m_shape[1]), int(m_shape[2]) };
        bool nearest = m_filter == "nearest", repeats = m_wrap == "repeat";
        auto wrap = [&](int i, int n) {
            return size_t(repeats ? (i + n) % n : std::clamp(i, 0, n - 1));
        };
        double total = 0;
        for (int z = 0; z < nz; ++z)
            for (int y = 0; y < ny; ++y)
                for (int x = 0; x < nx; ++x) {
                    double around = 0;
                    int reach = nearest ? 0 : 1;
                    for (int dz = -reach; dz <= reach; ++dz)
                        for (int dy = -reach; dy <= reach; ++dy)
                            for (int dx = -reach; dx <= reach; ++dx) {
                                auto w = [&](int d) {
                                    return nearest ? 1.0 : d ? 1.0 / 6 : 2.0 / 3;
                                };
                                size_t at = m_source.place_of(wrap(x + dx, nx), wrap(y + dy, ny),
                                                              wrap(z + dz, nz));
                                around += w(dx) * w(dy) * w(dz) * b[at];
                            }
                    total += a[m_source.place_of(size_t(x), size_t(y), size_t(z))] * around;
                }
        return total / double(voxels());
    }

    std::filesystem::path m_file;
    std::shared_ptr<const Image> m_image;
    std::string m_grid, m_filter, m_wrap;
    bool m_raw = false, m_uses_box = false;
    bool m_is_scripted = false; // the numbers are no longer the file's
    double m_given_max = -1, m_max = 0;
    std::vector<double> m_max_per_channel;
    TransformData m_box;
    Transform m_placement, m_to_local;
    uint32_t m_channels = 1;
    Vector3 m_size;                 // in voxels
    Voxels m_source;                // numbers on the host, and ...
    Value m_voxels;                 // ... the same as an array, of bytes, halves or floats
    Value m_index;                  // of bricks, where only those are stored
    UInt32 m_bricks[3], m_first[3]; // as in Voxels::Bricks
    Value m_data;                   // what scripts see of it; invalid until they ask
    std::vector<size_t> m_shape;    // z, y, x and channels
    Value
        m_coefficients; // of spectra, and their brightness; where data are colours of a spectral variant
};

UMBEL_PLUGIN(Volume, GridVolume, "gridvolume")
} // namespace umbel
