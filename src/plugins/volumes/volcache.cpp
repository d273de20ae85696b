// volcache: another volume, evaluated once at the voxels of a grid, which then takes its place.
//
// Of use where a volume is dear to evaluate, such as one of a library of your own. Voxels are `voxel_width` wide and fill the nested
// volume's box; in between, values are blended, and beyond the box the outermost ones go on. Version 0.5 filled blocks as rays asked
// for them, and forgot some of them beyond `memory_limit`; here the whole grid is filled when the scene is loaded, and one that
// needs more memory is refused. After loading, scripts see and change the grid, not the nested volume.
#include "core/host_array.h"
#include "core/image.h"
#include "jit/element_count.h"
#include "render/volume_range.h"
#include <cmath>

namespace umbel {

class VolCache final : public Volume, public KnowsNumbers {
public:
    void declare(Params &p) override {
        p.example("<volume type='gridvolume'><string name='filename' value='$files/colour.vol'/>"
                  "</volume>");
        p.example("<volume type='gridvolume'><string name='filename' value='$files/grey.vol'/>"
                  "<transform name='to_world'><scale value='2'/></transform></volume><float "
                  "name='voxel_width' value='.25'/><transform name='to_world'><translate "
                  "x='-.5'/></transform>");
        p.transform("to_world", m_to_world).doc("Applied after that of the nested volume");
        if (p.traversing()) {
            p.child("volume", m_cache);
            return;
        }
        p.object("volume", m_cache).doc("The nested volume; required");
        p.number("voxel_width", m_width, 0, 0)
            .doc("Of voxels, in units of the scene; 0: as many as the nested volume has, one along "
                 "each axis if it has none");
        p.boolean("raw", m_raw, false).doc("Take three channels as numbers, never as a colour");
        p.integer("memory_limit", m_limit, 1024, 1)
            .doc("In MiB; a grid that needs more is an error");
    }
    void configure() override {
        if (!m_cache)
            complain("has no volume inside; nest the one that is to be cached");
        if (m_cache->is_spatially_varying())
            fill();
        place();
    }
    void changed(std::span<const std::string>) override { place(); }

    Spectrum eval(const Interaction &it, const Mask &active) const override {
        return m_cache->eval(local(it), active);
    }
    Float eval_1(const Interaction &it, const Mask &active) const override {
        return m_cache->eval_1(local(it), active);
    }
    std::vector<Float> eval_n(const Interaction &it, const Mask &active) const override {
        return m_cache->eval_n(local(it), active);
    }
    std::pair<Float, Vector3> eval_gradient(const Interaction &it,
                                            const Mask &active) const override {
        auto [value, slope] = m_cache->eval_gradient(local(it), active);
        return { value, m_from_cache.normal(slope) };
    }
    Float mean_value() const override { return m_cache->mean_value(); }
    double max_value() const override { return m_cache->max_value(); }
    std::vector<double> max_per_channel() const override { return m_cache->max_per_channel(); }
    std::vector<double> upper_bounds(std::array<size_t, 3> parts) const override {
        return m_cache->upper_bounds(parts);
    }
    Voxels::Bounds bounds_of_parts(std::array<size_t, 3> parts) const override {
        return umbel::bounds_of_parts(*m_cache, parts);
    }
    std::optional<std::string> find_outside(double least, double most) const override {
        return umbel::find_outside(*m_cache, least, most);
    }
    TransformData placement() const override { return m_to_world * m_cache->placement(); }
    std::array<size_t, 3> resolution() const override { return m_cache->resolution(); }
    uint32_t channel_count() const override { return m_cache->channel_count(); }
    bool is_spatially_varying() const override { return m_cache->is_spatially_varying(); }

private:
    void place() {
        m_from_cache = Transform(m_to_world);
        m_to_cache = m_from_cache.inverse();
    }
    Interaction local(const Interaction &it) const {
        Interaction out = it;
        out.p = m_to_cache.point(it.p);
        return out;
    }

    // A grid takes the nested volume's place.
    void fill() {
        auto [nx, ny, nz] = voxels();
        std::vector<std::string> names;
        for (uint32_t c = 0; c < m_cache->channel_count(); ++c)
            names.push_back(fmt::format("{}", c));
        bool is_double = variant().float_type() == jit::Type::F64;
        auto slices = std::make_shared<Image>(nx, ny * nz, names,
                                              is_double ? Component::F64 : Component::F32);
        slices->metadata["depth"] = int64_t(nz);

        Transform to_scene(m_cache->placement());
        UInt32 lane(jit::lane_index(jit::element_count(nx * ny))),
            width = jit::opaque(uint32_t(nx));
        auto middle = [](const UInt32 &i, size_t n) {
            return (Float(jit::cast(variant().float_type(), i)) + 0.5) *
                   opaque_float(1.0 / double(n));
        };
        Float x = middle(lane % width, nx), y = middle(lane / width, ny);
        std::vector<double> row(nx * names.size());
        for (size_t z = 0; z < nz; ++z) {
            Float at = opaque_float((double(z) + 0.5) / double(nz));
            Interaction it{
                Float(0), to_scene.point({ x, y, at }), Vector3(Float(0)), Float(0), {}
            };
            std::vector<std::vector<double>> values;
            for (const Float &v : m_cache->eval_n(it, true))
                values.push_back(read_floats(Float(v.detached()) + 0 * x));
            check_eq(values.size(), names.size());
            for (size_t r = 0; r < ny; ++r) {
                for (size_t i = 0; i < row.size(); ++i)
                    row[i] = values[i % names.size()][r * nx + i / names.size()];
                slices->write_row(z * ny + r, row.data());
            }
        }
        m_cache = make_object<Volume>(Properties("volume", "gridvolume")
                                          .set("data", std::shared_ptr<const Image>(slices))
                                          .set("raw", m_raw)
                                          .set("to_world", m_cache->placement()));
    }
    std::array<size_t, 3> voxels() const {
        std::array<size_t, 3> n = m_cache->resolution();
        TransformData box = m_cache->placement();
        double bytes = 4.0 * m_cache->channel_count();
        for (int a = 0; a < 3; ++a) {
            double length = std::hypot(box(0, a), box(1, a), box(2, a)),
                   count = m_width > 0 ? std::max(1.0, std::ceil(length / m_width - 1e-6))
                                       : double(n[size_t(a)]);
            bytes *= count;
            n[size_t(a)] = count < 1e9 ? size_t(count) : 0;
        }
        double most = std::min(m_limit * 0x1p20, 0x1p33);
        if (bytes > most)
            complain(
                "voxels {} wide need {:.0f} MiB, and {:.0f} is the most; raise voxel_width or, "
                "up to 8192, memory_limit",
                m_width, bytes / 0x1p20, most / 0x1p20);
        return n;
    }

    Ref<Volume> m_cache; // the nested volume, until it is replaced
    double m_width = 0;
    bool m_raw = false;
    int m_limit = 1024;
    Transform m_from_cache, m_to_cache;
};

UMBEL_PLUGIN(Volume, VolCache, "volcache")
} // namespace umbel
