// render/volume_range.h: numbers of volumes: those that are not what they can be, such as negative densities, and bounds.
#pragma once
#include "core/voxels.h"
#include "render/volume.h"

namespace umbel {

/// A volume that can say which of its numbers lie outside of a range.
class KnowsNumbers {
public:
    virtual ~KnowsNumbers() = default;
    /// The first one, with its place: "-0.5 at byte 48 of smoke.vol".
    virtual std::optional<std::string> find_outside(double least, double most) const = 0;
    /// Volume::upper_bounds(), and lower ones; those may be 0 where no more is known of values that are not negative.
    virtual Voxels::Bounds bounds_of_parts(std::array<size_t, 3> parts) const = 0;
};

/// The same of any volume.
inline Voxels::Bounds bounds_of_parts(const Volume &volume, std::array<size_t, 3> parts) {
    if (auto *knows = dynamic_cast<const KnowsNumbers *>(&volume))
        return knows->bounds_of_parts(parts);
    return { std::vector<double>(parts[0] * parts[1] * parts[2], 0), volume.upper_bounds(parts) };
}
/// Of those that do not know, by the largest value.
inline std::optional<std::string> find_outside(const Volume &volume, double least, double most) {
    if (auto *knows = dynamic_cast<const KnowsNumbers *>(&volume))
        return knows->find_outside(least, most);
    double v = volume.max_value();
    return v >= least && v <= most ? std::nullopt : std::optional(fmt::format("{}", v));
}

} // namespace umbel
