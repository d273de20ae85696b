// render/fibre_axis.h: along what fibres lie in a medium: what `kkay` and `microflake` share.
#pragma once
#include "render/phase.h"
#include "render/volume.h"

namespace umbel {

class FibreAxis {
public:
    void declare(Params &p) {
        p.named_object("orientation", m_volume)
            .doc(
                "A volume of vectors along the fibres; (0, 0, 0) is none, where light is scattered "
                "in all directions. Along z if absent");
    }
    void require_vectors(const Object &owner) const {
        if (m_volume && m_volume->channel_count() != 3)
            owner.complain("orientation has {} channels; vectors have three",
                           m_volume->channel_count());
    }

    struct Axis {
        Vector3 d; // of unit length
        Mask is_known;
    };
    Axis at(const MediumInteraction &mei, const Mask &active) const {
        if (!m_volume)
            return { Vector3(Float(0), Float(0), Float(1)), Mask(true) };
        std::vector<Float> v = m_volume->eval_n(mei, active);
        Vector3 d(v[0], v[1], v[2]);
        Float length2 = squared_norm(d);
        Mask some = length2 > 1e-12;
        return { select(some, d * rsqrt(select(some, length2, Float(1))), Vector3(0, 0, 1)), some };
    }

private:
    Ref<Volume> m_volume;
};

} // namespace umbel
