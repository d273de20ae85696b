// render/volume_range.h: numbers of volumes that are not what they can be, such as negative densities.
#pragma once
#include "render/volume.h"

namespace umbel {

/// A volume that can say which of its numbers lie outside of a range.
class KnowsNumbers {
public:
    virtual ~KnowsNumbers() = default;
    /// The first one, with its place: "-0.5 at byte 48 of smoke.vol".
    virtual std::optional<std::string> find_outside(double least, double most) const = 0;
};

/// Likewise, of any volume; of those that do not know, by the largest value.
inline std::optional<std::string> find_outside(const Volume &volume, double least, double most) {
    if (auto *knows = dynamic_cast<const KnowsNumbers *>(&volume))
        return knows->find_outside(least, most);
    double v = volume.max_value();
    return v >= least && v <= most ? std::nullopt : std::optional(fmt::format("{}", v));
}

} // namespace umbel
