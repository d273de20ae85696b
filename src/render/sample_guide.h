// render/sample_guide.h: a density on the unit cube, learnt from samples.
//
// A cube is cut into eight where much of what was seen lies, again and again; a cell is drawn by what was seen in it. A part
// of all samples is uniform, so that nothing is ever missed.
#pragma once
#include "core/distribution.h"

namespace umbel {

class SampleGuide {
public:
    enum class Kind { None, Grid, Octree };
    /// Uniform.
    SampleGuide() = default;
    /// `points`: x, y and z of samples; `values`: their brightness over their density, not negative.
    SampleGuide(Kind kind, const std::vector<double> (&points)[3],
                const std::vector<double> &values);

    struct Sample {
        Float x;
        Vector2 yz;
        Float pdf;
    };
    Sample sample(const Float &x, const Vector2 &yz, const Float &choice) const;

private:
    std::optional<DiscreteDistribution> m_cells;
    Float m_boxes; // of cells: x, y, z, size
    Float m_densities;
};

} // namespace umbel
