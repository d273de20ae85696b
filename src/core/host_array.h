// core/host_array.h: numbers of the host as arrays of the program, in the variant's precision.
#pragma once
#include "core/float.h"
#include <span>
#include <vector>

namespace umbel {

Float float_array(std::span<const double> data);

/// Evaluates and copies to the host, whatever the precision.
std::vector<double> read_floats(const Float &v);

} // namespace umbel
