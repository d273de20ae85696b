// render/fibre_axis.h: along what fibres lie in a medium: what `kkay` and `microflake` share.
#pragma once
#include "render/oriented_phase.h"
#include "render/volume.h"

namespace umbel {

class FibreAxis {
public:
    void declare(Params &p) {
        p.named_object("orientation", m_volume)
            .doc(
                "A volume of vectors along the fibres; (0, 0, 0) is none, where light is scattered "
                "in all directions. If absent that of the medium, and else along z");
    }
    /// See OrientedPhase::take_orientation().
    void take(const Ref<Volume> &volume, const Object &owner) {
        if (m_volume && !m_is_of_medium)
            return;
        if (m_volume && m_volume != volume)
            owner.complain("is in two media, each with an orientation of its own; give each "
                           "medium a phase function of its own");
        m_volume = volume;
        m_is_of_medium = true;
        require_vectors(owner);
    }
    bool varies_in_space() const { return m_volume && m_volume->is_spatially_varying(); }
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
    bool m_is_of_medium = false;
};

} // namespace umbel
