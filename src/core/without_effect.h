// core/without_effect.h: parameters of other programs' scenes that make no difference here.
#pragma once
#include "core/properties.h"

namespace umbel {

/// Why nothing reads this parameter of a plugin, if it is one of those; null if it is not known. Empty where its value asks for
/// nothing, so that nobody need be told.
const char *without_effect(const Properties &object, const Property &p);

} // namespace umbel
