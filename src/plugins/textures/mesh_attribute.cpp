// mesh_attribute: what vertices or faces of a mesh carry, such as colours, as a texture.
//
// Attributes of vertices are interpolated over each triangle, those of faces are constant. `vertex_color` and `face_color`
// are what PLY files call r, g and b; scripts add others. Surfaces without the attribute are black.
// vertexcolors: the same of `vertex_color`, as Mitsuba 0.5 called it.
#include "render/met_shapes.h"

namespace umbel {

class MeshAttribute : public Texture {
public:
    void declare(Params &p) override {
        p.example("<string name='name' value='vertex_color'/>");
        p.string("name", m_name, "").doc("Name of the attribute: vertex_... or face_...");
        declare_scale(p);
        if (!p.loading() || p.properties()->has("factor"))
            p.texture("factor", m_factor, 1)
                .doc("A colour or texture that multiplies it, as materials of glTF files do");
    }
    void changed(std::span<const std::string>) override {}
    void configure() override {
        if (!m_name.starts_with("vertex_") && !m_name.starts_with("face_"))
            complain("Invalid mesh attribute name: must start with either \"vertex_\" or \"face_\" "
                     "but was {}.",
                     quote(m_name));
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        Spectrum v = call<Colour>(si, active,
                                  [&](const Shape &s, const Mask &mine) {
                                      return Colour{ s.eval_attribute(m_name, si, mine) };
                                  })
                         .value *
                     m_scale;
        return m_factor ? v * m_factor->eval(si, active) : v;
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        Float v = plain_1(si, active);
        return m_factor ? v * m_factor->eval_1(si, active) : v;
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        Vector3 v = call<Vector3>(si, active,
                                  [&](const Shape &s, const Mask &mine) {
                                      return s.eval_attribute_3(m_name, si, mine);
                                  }) *
                    m_scale;
        if (!m_factor)
            return v;
        Vector3 f = m_factor->eval_3(si, active);
        return { v.x * f.x, v.y * f.y, v.z * f.z };
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        Vector2 g = call<Vector2>(si, active,
                                  [&](const Shape &s, const Mask &mine) {
                                      return s.eval_attribute_1_grad(m_name, si, mine);
                                  }) *
                    m_scale;
        return m_factor ? g * m_factor->eval_1(si, active) +
                              m_factor->eval_1_grad(si, active) * plain_1(si, active)
                        : g;
    }
    bool is_spatially_varying() const override { return true; }

protected:
    void declare_scale(Params &p) { p.scalar("scale", m_scale, 1).doc("Multiplies the attribute"); }

    std::string m_name;

private:
    struct Colour {
        Spectrum value;
        UMBEL_STRUCT(value)
    };
    struct Number {
        Float value;
        UMBEL_STRUCT(value)
    };

    // Without the factor.
    Float plain_1(const SurfaceInteraction &si, const Mask &active) const {
        return call<Number>(si, active,
                            [&](const Shape &s, const Mask &mine) {
                                return Number{ s.eval_attribute_1(m_name, si, mine) };
                            })
                   .value *
               m_scale;
    }

    // fn(shape, mask) of the shape that each lane has met.
    template <class R, class Fn>
    R call(const SurfaceInteraction &si, const Mask &active, Fn &&fn) const {
        if (!m_shapes.update([&](const Shape &s) { return s.has_attribute(m_name); }))
            complain("no shape has an attribute {}; add it, or mend the name", quote(m_name));
        return m_shapes.call<R>(*this, "shape.eval_attribute", si, active, fn);
    }

    Float m_scale;
    Ref<Texture> m_factor;      // null: none
    mutable MetShapes m_shapes; // that have the attribute
};

class VertexColours final : public MeshAttribute {
public:
    VertexColours() { m_name = "vertex_color"; }
    void declare(Params &p) override { declare_scale(p); }
};

UMBEL_PLUGIN(Texture, MeshAttribute, "mesh_attribute")
UMBEL_PLUGIN(Texture, VertexColours, "vertexcolors")
} // namespace umbel
