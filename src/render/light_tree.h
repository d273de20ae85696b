// render/light_tree.h: a hierarchy of lights, by which those that matter at a place are found [Conty Estevez and Kulla 2018].
#pragma once
#include "render/light_sampler.h"

namespace umbel {

/// The tree as arrays: at the root, and wherever there is a choice, one of two children.
struct LightTree {
    /// Numbers a node: for each child the centre and half the extent of a box around it (6), the axis of its normals (3),
    /// cosine and sine of their greatest angle (2), its weight (1); then what the children are (2): a node, or minus the
    /// number of a light.
    static constexpr uint32_t ChildSize = 12, NodeSize = 28;
    std::vector<double> nodes;
    /// By number of a light: at each step from the root, from the lowest bit on, whether it is in the second child.
    std::vector<uint32_t> trails;
};
/// Of at least two lights, by number in `lights` plus one; all of them local and of positive weight.
LightTree build_light_tree(std::span<const LightSummary> lights, std::span<const uint32_t> numbers);

std::unique_ptr<LightSampler> make_light_tree(std::span<const LightSummary> lights);

} // namespace umbel
