// volume: volume data, seen where a surface passes through it.
#include "render/volume.h"

namespace umbel {

class VolumeTexture final : public Texture {
public:
    void declare(Params &p) override {
        p.example("");
        p.example(
            "<volume type='gridvolume' name='volume'><string name='filename' "
            "value='$files/grey.vol'/><transform name='to_world'><scale value='2'/><translate "
            "x='-1' y='-1' z='-1'/></transform></volume>");
        p.volume("volume", m_volume, 0.75)
            .differentiable()
            .doc("What is seen; placed in the scene by its own to_world");
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return m_volume->eval(si, active);
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        return m_volume->eval_1(si, active);
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        if (m_volume->channel_count() != 3)
            complain("the volume has {} channels; three are needed here",
                     m_volume->channel_count());
        std::vector<Float> v = m_volume->eval_n(si, active);
        return { v[0], v[1], v[2] };
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        Vector3 slope = m_volume->eval_gradient(si, active).second;
        return { dot(slope, si.dp_du), dot(slope, si.dp_dv) };
    }
    bool is_spatially_varying() const override { return true; }
    /// Of the volume: where in it surfaces are, nobody knows.
    Float mean_value() const override { return m_volume->mean_value(); }
    double max_value() const override { return m_volume->max_value(); }

private:
    Ref<Volume> m_volume;
};

UMBEL_PLUGIN(Texture, VolumeTexture, "volume")
} // namespace umbel
