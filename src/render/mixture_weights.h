// render/mixture_weights.h: weights of what is mixed: what `mixturebsdf` and `mixturephase` share.
#pragma once
#include "core/float.h"
#include "core/number_list.h"

namespace umbel {

/// As many as there are parts of that `kind`, none negative, with a sum of 1 at most; else a UserError.
std::vector<Float> mixture_weights(const std::string &text, size_t parts, const char *kind,
                                   const Properties &owner);

} // namespace umbel
