// normalmap: a BSDF around the normals of a texture, whose colours are (n + 1) / 2 in the surface's tangent space.
#include "render/perturbed_bsdf.h"

namespace umbel {

class NormalMap final : public PerturbedBsdf {
public:
    void declare(Params &p) override {
        p.example("<texture type='bitmap' name='normalmap'><string name='filename' "
                  "value='$files/image.png'/>"
                  "<boolean name='raw' value='true'/><transform name='to_uv'><scale value='.05'/>"
                  "<translate x='.72' y='.74'/></transform></texture><bsdf type='diffuse'><float "
                  "name='reflectance' value='.2'/></bsdf>");
        p.example(
            "<texture type='bitmap' name='normalmap'><string name='filename' "
            "value='$files/image.png'/>"
            "<boolean name='raw' value='true'/><transform name='to_uv'><scale value='.05'/>"
            "<translate x='.7' y='.7'/></transform></texture><bsdf type='roughconductor'>"
            "<string name='material' value='Au'/><float name='alpha_u' value='.2'/><float "
            "name='alpha_v' value='.4'/><float name='specular_reflectance' value='.2'/></bsdf>"
            "<boolean name='flip_invalid_normals' value='false'/><boolean "
            "name='use_shadowing_function' value='false'/>");
        p.example(
            "<texture type='bitmap' name='normalmap'><string name='filename' "
            "value='$files/image.png'/>"
            "<boolean name='raw' value='true'/><transform name='to_uv'><scale value='.05'/>"
            "<translate x='.72' y='.74'/></transform></texture><bsdf type='conductor'><string "
            "name='material' value='Au'/><float name='specular_reflectance' value='.2'/></bsdf>");
        p.unbounded_texture("normalmap", m_map)
            .differentiable()
            .doc("The normals; of a bitmap, with raw=true");
        PerturbedBsdf::declare(p);
    }
    void configure() override {
        if (!m_map)
            complain("needs a texture of normals, called \"normalmap\"");
        PerturbedBsdf::configure();
    }

protected:
    Vector3 normal(const SurfaceInteraction &si, const Mask &active) const override {
        Vector3 c = m_map->eval_3(si, active);
        return normalize({ fma(c.x, 2, -1), fma(c.y, 2, -1), fma(c.z, 2, -1) });
    }

private:
    Ref<Texture> m_map;
};

UMBEL_PLUGIN(BSDF, NormalMap, "normalmap")
} // namespace umbel
