// core/number_list.h: parameters that are lists of numbers, written as text.
#pragma once
#include "core/properties.h"

namespace umbel {

/// "400, 500; 600" or "400 500 600". UserError about the parameter `name` for anything else.
std::vector<double> parse_number_list(const std::string &text, const char *name,
                                      const Properties &owner);

} // namespace umbel
