// support/parameter_gradients.h: derivatives of what an object computes with respect to its parameters.
#pragma once
#include "core/object.h"
#include <set>

namespace umbel::test {

/// Every differentiable parameter of the object and of what is inside it, against differences: the derivative of a weighted
/// sum of all numbers that `f` returns, along a direction in which all components of the parameter grow. Forward and in
/// reverse. Each parameter must have an effect, but those of `without_effect`, which must have none. For variants of double
/// precision. With `owner`, those of that object alone: of a shape, whose scene must be told of changes.
void expect_parameter_gradients(const Ref<Object> &root,
                                const std::function<std::vector<Float>()> &f,
                                const Object *owner = nullptr,
                                const std::set<std::string> &without_effect = {});

} // namespace umbel::test
