// constvolume: the same value everywhere.
#include "render/volume.h"

namespace umbel {

class ConstVolume final : public Volume {
public:
    void declare(Params &p) override {
        declare_placement(p);
        p.unbounded_texture("value", m_value).doc("The value; 1 if absent");
        if (p.loading() && !m_value)
            m_value = std::dynamic_pointer_cast<Texture>(
                p.loader()->load_spectrum(SpectrumData::uniform(1), *p.properties()));
    }
    void configure() override {
        if (m_value->is_spatially_varying())
            complain("value is a texture ({}) that varies on surfaces, which space has none of; "
                     "give a colour, a spectrum or a number",
                     m_value->plugin());
    }

    Spectrum eval(const Interaction &it, const Mask &active) const override {
        return m_value->eval(at(it), active);
    }
    Float eval_1(const Interaction &it, const Mask &active) const override {
        return m_value->eval_1(at(it), active);
    }
    std::vector<Float> eval_n(const Interaction &it, const Mask &active) const override {
        return { eval_1(it, active) };
    }
    std::pair<Float, Vector3> eval_gradient(const Interaction &it,
                                            const Mask &active) const override {
        return { eval_1(it, active), Vector3(Float(0)) };
    }
    Float mean_value() const override { return m_value->mean_value(); }
    double max_value() const override { return m_value->max_value(); }
    std::vector<double> max_per_channel() const override { return { max_value() }; }

private:
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

    Ref<Texture> m_value;
};

UMBEL_PLUGIN(Volume, ConstVolume, "constvolume")
} // namespace umbel
