// bumpmap: a BSDF on a surface that a texture would displace along its normal; only the normal is changed [Blinn 1978].
//
// What is left out is the derivative of the surface's own normal, so that constant offsets have no effect.
#include "render/perturbed_bsdf.h"

namespace umbel {

class BumpMap final : public PerturbedBsdf {
public:
    void declare(Params &p) override {
        p.example("<texture type='bitmap'><string name='filename' value='$files/image.png'/>"
                  "<boolean name='raw' value='true'/></texture><bsdf type='diffuse'/>");
        p.example("<texture type='bitmap'><string name='filename' value='$files/image.png'/>"
                  "<boolean name='raw' value='true'/></texture><float name='scale' value='.4'/>"
                  "<bsdf type='mask'><bsdf type='roughdielectric'><float name='alpha' value='.3'/>"
                  "<float name='specular_reflectance' value='.7'/><float "
                  "name='specular_transmittance' value='.7'/></bsdf></bsdf>");
        p.object(p.traversing() ? "nested_texture" : "texture", m_height)
            .doc("Height, in the units of the surface");
        p.scalar("scale", m_scale, 1).differentiable().doc("Multiplies the height");
        PerturbedBsdf::declare(p);
    }
    void configure() override {
        if (!m_height)
            complain("needs a texture inside, which tells the height");
        PerturbedBsdf::configure();
    }

protected:
    Vector3 normal(const SurfaceInteraction &si, const Mask &active) const override {
        Vector2 slope = m_height->eval_1_grad(si, active) * m_scale;
        // Tangents of the displaced surface
        auto displaced = [](const Vector3 &tangent, const Float &rise) {
            return Vector3(tangent.x, tangent.y, rise);
        };
        Vector3 u = displaced(si.to_local(si.dp_du), slope.x),
                v = displaced(si.to_local(si.dp_dv), slope.y), n = cross(u, v);
        n = n * mulsign(Float(1), n.z);
        // Where coordinates are degenerate, the surface's own
        Mask exists = squared_norm(n) > 0;
        return normalize(select(exists, n, Vector3(0, 0, 1)));
    }

private:
    Ref<Texture> m_height;
    Float m_scale;
};

UMBEL_PLUGIN(BSDF, BumpMap, "bumpmap")
} // namespace umbel
