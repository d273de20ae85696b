// constvolume: the same value everywhere: a number, a colour, a spectrum, or a vector.
#include "core/host_array.h"
#include "render/volume.h"
#include <algorithm>

namespace umbel {

class ConstVolume final : public Volume {
public:
    void declare(Params &p) override {
        declare_placement(p);
        if (p.loading())
            take_vector(*p.properties());
        if (p.traversing() && !m_value)
            p.exposed("value", std::array{ &m_vector[0], &m_vector[1], &m_vector[2] })
                .differentiable();
        if (is_vector())
            return;
        p.unbounded_texture("value", m_value).doc("The value; 1 if absent");
        if (p.loading() && !m_value)
            m_value = std::dynamic_pointer_cast<Texture>(
                p.loader()->load_spectrum(SpectrumData::uniform(1), *p.properties()));
    }
    void configure() override {
        if (m_value && m_value->is_spatially_varying())
            complain("value is a texture ({}) that varies on surfaces, which space has none of; "
                     "give a colour, a spectrum or a number",
                     m_value->plugin());
    }

    Spectrum eval(const Interaction &it, const Mask &active) const override {
        if (is_vector())
            complain("is a vector, and is asked for a number or spectrum");
        return m_value->eval(at(it), active);
    }
    Float eval_1(const Interaction &it, const Mask &active) const override {
        if (is_vector())
            return Volume::eval_1(it, active);
        return m_value->eval_1(at(it), active);
    }
    std::vector<Float> eval_n(const Interaction &it, const Mask &active) const override {
        return is_vector() ? m_vector : std::vector<Float>{ eval_1(it, active) };
    }
    std::pair<Float, Vector3> eval_gradient(const Interaction &it,
                                            const Mask &active) const override {
        return { eval_1(it, active), Vector3(Float(0)) };
    }
    Float mean_value() const override {
        return is_vector() ? Volume::mean_value() : m_value->mean_value();
    }
    double max_value() const override {
        if (!is_vector())
            return m_value->max_value();
        std::vector<double> most = max_per_channel();
        return *std::max_element(most.begin(), most.end());
    }
    std::vector<double> max_per_channel() const override {
        if (!is_vector())
            return { max_value() };
        std::vector<double> out;
        for (const Float &f : m_vector)
            out.push_back(read_floats(Float(f.detached()))[0]);
        return out;
    }
    uint32_t channel_count() const override { return is_vector() ? 3 : 1; }

private:
    bool is_vector() const { return !m_vector.empty(); }
    void take_vector(const Properties &q) {
        const Property *p = q.find("value");
        const VectorData *v = p ? std::get_if<VectorData>(&p->value) : nullptr;
        if (!v)
            return;
        q.query("value");
        m_vector = { opaque_float(v->x), opaque_float(v->y), opaque_float(v->z) };
    }

    // What textures ask of a surface, where there is none
    static SurfaceInteraction at(const Interaction &it) {
        SurfaceInteraction si;
        static_cast<Interaction &>(si) = it;
        Vector3 zero(Float(0)), z(0, 0, 1);
        si.shape = si.bsdf = si.bsdf_flags = si.emitter = UInt32(0u);
        si.shape_number = si.instance = si.prim = UInt32(0u);
        si.uv = { Float(0), Float(0) };
        si.object_p = it.p;
        si.sh_frame = Frame(z);
        si.dp_du = si.dp_dv = zero;
        si.wi = z;
        return si;
    }

    Ref<Texture> m_value;        // or ...
    std::vector<Float> m_vector; // ... its three numbers
};

UMBEL_PLUGIN(Volume, ConstVolume, "constvolume")
} // namespace umbel
