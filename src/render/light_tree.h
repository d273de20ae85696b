// render/light_tree.h: a hierarchy of lights, by which those that matter at a place are found [Conty Estevez and Kulla 2018].
#pragma once
#include "render/light_sampler.h"

namespace umbel {

/// The tree as arrays: at the root, and wherever there is a choice, one of up to four children. A walk takes half the steps
/// that it would with two, for as many children looked at.
struct LightTree {
    static constexpr uint32_t Children = 4, ChildSize = 12, NodeSize = Children * ChildSize;
    /// Where the numbers of a child are.
    enum Field : uint32_t {
        Centre = 0, // 3: of a box around it
        Extent = 3, // 3: half of it
        Axis =
            6, // 3: of its normals, times the cosine of their greatest angle to it, if that is less than 90 degrees
        // Of that angle; one if it is more. If negative, all light leaves in a cone around the axis, whose length is one then:
        // minus the cosine of the greatest angle.
        Sine = 9,
        Weight = 10, // zero: no child
        Link = 11,   // a node, or minus the number of a light
    };
    std::vector<double> nodes;
    bool has_cones = false; // whether any sine is negative
    /// By number of a light: at each step from the root, from the lowest bits on, the child that it is in.
    std::vector<uint32_t> trails;
    static constexpr uint32_t TrailBits = 2, MaxDepth = 32 / TrailBits;
};
/// Of at least two lights, by number in `lights` plus one; all of them local and of positive weight.
LightTree build_light_tree(std::span<const LightSummary> lights, std::span<const uint32_t> numbers);

std::unique_ptr<LightSampler> make_light_tree(std::span<const LightSummary> lights);

} // namespace umbel
