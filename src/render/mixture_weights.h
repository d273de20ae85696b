// render/mixture_weights.h: weights of what is mixed: what `mixturebsdf` and `mixturephase` share.
#pragma once
#include "core/params.h"

namespace umbel {

/// One for each of several parts.
class MixtureWeights {
public:
    /// The parameter `weights`: as many numbers as there are `parts` of that `kind`, none negative, with a sum of 1 at most; else a
    /// UserError. Scripts know them as weight_0, weight_1 and so on.
    void declare(Params &p, size_t parts, const char *kind);
    const std::vector<Float> &all() const { return m_weights; }

private:
    std::vector<Float> m_weights;
};

} // namespace umbel
