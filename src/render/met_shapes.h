// render/met_shapes.h: textures that ask the shape on which they are seen.
#pragma once
#include "render/dispatch.h"
#include "render/shape.h"
#include "render/texture.h"

namespace umbel {

/// The shapes that can answer a question, by the number that lanes know.
class MetShapes {
public:
    /// Looks for them where shapes, or their attributes, have come or gone; can(shape) says which ones they are.
    template <class Can> bool update(Can &&can) {
        if (m_epoch == shapes_epoch())
            return !m_shapes.empty();
        m_epoch = shapes_epoch();
        m_shapes = {};
        std::vector<uint32_t> numbers = { 0 };
        for (const Shape *s : live_shapes()) {
            numbers.resize(std::max(numbers.size(), size_t(s->global_number()) + 1));
            if (can(*s))
                numbers[s->global_number()] = m_shapes.add(s);
        }
        m_numbers = jit::copy(numbers);
        return !m_shapes.empty();
    }
    /// fn(shape, mask) of the shape that each lane has met; zeros where that is none of these.
    template <class R, class Fn>
    R call(const Texture &texture, const char *name, const SurfaceInteraction &si,
           const Mask &active, Fn &&fn) const {
        if (!si.shape_number.valid())
            texture.complain("shapes are known where rays meet a surface, not elsewhere");
        UInt32 number(jit::gather(m_numbers, si.shape_number, active));
        Mask mine = active & (number != UInt32(0u));
        return m_shapes.call(name, number, mine, R(), [&](const Shape &s) { return fn(s, mine); });
    }

private:
    Table<Shape> m_shapes;
    UInt32 m_numbers;     // in the table, by global number
    uint64_t m_epoch = 0; // of what the two say
};

} // namespace umbel
