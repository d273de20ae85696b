// mesh_attribute: what vertices or faces of a mesh carry, such as colours, as a texture.
//
// Attributes of vertices are interpolated over each triangle, those of faces are constant. `vertex_color` and `face_color`
// are what PLY files call r, g and b; scripts add others. Surfaces without the attribute are black.
#include "render/dispatch.h"
#include "render/shape.h"
#include "render/texture.h"

namespace umbel {

class MeshAttribute final : public Texture {
public:
    void declare(Params &p) override {
        p.example("<string name='name' value='vertex_color'/>");
        p.string("name", m_name, "").doc("Name of the attribute: vertex_... or face_...");
        p.scalar("scale", m_scale, 1).doc("Multiplies the attribute");
    }
    void changed(std::span<const std::string>) override {}
    void configure() override {
        if (!m_name.starts_with("vertex_") && !m_name.starts_with("face_"))
            complain("Invalid mesh attribute name: must start with either \"vertex_\" or \"face_\" "
                     "but was {}.",
                     quote(m_name));
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return call<Colour>(si, active,
                            [&](const Shape &s, const Mask &mine) {
                                return Colour{ s.eval_attribute(m_name, si, mine) };
                            })
                   .value *
               m_scale;
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        return call<Number>(si, active,
                            [&](const Shape &s, const Mask &mine) {
                                return Number{ s.eval_attribute_1(m_name, si, mine) };
                            })
                   .value *
               m_scale;
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        return call<Vector3>(si, active,
                             [&](const Shape &s, const Mask &mine) {
                                 return s.eval_attribute_3(m_name, si, mine);
                             }) *
               m_scale;
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        return call<Vector2>(si, active,
                             [&](const Shape &s, const Mask &mine) {
                                 return s.eval_attribute_1_grad(m_name, si, mine);
                             }) *
               m_scale;
    }
    bool is_spatially_varying() const override { return true; }

private:
    struct Colour {
        Spectrum value;
        UMBEL_STRUCT(value)
    };
    struct Number {
        Float value;
        UMBEL_STRUCT(value)
    };

    // fn(shape, mask) of the shape that each lane has met.
    template <class R, class Fn>
    R call(const SurfaceInteraction &si, const Mask &active, Fn &&fn) const {
        find_shapes();
        if (m_shapes.objects().empty())
            complain("no shape has an attribute {}; add it, or mend the name", quote(m_name));
        if (!si.shape_number.valid())
            complain("attributes of meshes are known where rays meet a surface, not elsewhere");
        UInt32 number(jit::gather(m_numbers, si.shape_number, active));
        Mask mine = active & (number != UInt32(0u));
        return m_shapes.call("shape.eval_attribute", number, mine, R(),
                             [&](const Shape &s) { return fn(s, mine); });
    }

    void find_shapes() const {
        if (m_epoch == shapes_epoch())
            return;
        m_epoch = shapes_epoch();
        m_shapes = {};
        std::vector<uint32_t> numbers = { 0 };
        for (const Shape *s : live_shapes()) {
            numbers.resize(std::max(numbers.size(), size_t(s->global_number()) + 1));
            if (s->has_attribute(m_name))
                numbers[s->global_number()] = m_shapes.add(s);
        }
        m_numbers = jit::copy(numbers);
    }

    std::string m_name;
    Float m_scale;
    mutable Table<Shape> m_shapes; // that have the attribute
    mutable UInt32 m_numbers;      // in the table, by global number
    mutable uint64_t m_epoch = 0;  // of what the two say
};

UMBEL_PLUGIN(Texture, MeshAttribute, "mesh_attribute")
} // namespace umbel
