// render/oriented_phase.h: phase functions of fibres and flakes, which lie in some direction.
#pragma once
#include "render/phase.h"

namespace umbel {

class Volume;

class OrientedPhase {
public:
    virtual ~OrientedPhase() = default;
    /// Along what the fibres of its medium lie, for those that do not say it themselves. Whether there are any.
    virtual bool take_orientation(const Ref<Volume> &) { return false; }
    /// Whether what flakes cover depends on the place, and not on the direction alone.
    virtual bool area_varies_in_space() const { return false; }
};

/// The same of any phase function.
inline bool take_orientation(PhaseFunction &phase, const Ref<Volume> &axis) {
    auto *oriented = dynamic_cast<OrientedPhase *>(&phase);
    return oriented && oriented->take_orientation(axis);
}
inline bool area_varies_in_space(const PhaseFunction &phase) {
    auto *oriented = dynamic_cast<const OrientedPhase *>(&phase);
    return oriented ? oriented->area_varies_in_space() : phase.has(PhaseFunctionFlags::Microflake);
}

} // namespace umbel
