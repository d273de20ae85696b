// render/render_image.h: an image as a differentiable function of a scene's parameters.
//
//     Float image = render_image(scene, {}, { .seed = 1 }, { .seed = 2 });
//     ad::backward(loss(image));            // gradients of all parameters that have them enabled
#pragma once
#include "core/traverse.h"
#include "render/driver.h"

namespace umbel {

/// Called between the launches of a render that takes several: waits for the last one, shows progress, or throws.
using BetweenLaunches = std::function<void(Render &)>;

/// The values that carry derivatives of a scene's parameters, `params`, into its images: see Scene::follow_shapes.
std::vector<Value> followed_values(const Scene &scene, const SceneParameters &params,
                                   const Sensor *another);

/// Rows, columns and channels of the image, flat; see Render::tensor_shape(). The image is rendered with `primal`; its
/// derivatives are computed, when asked for, with the samples of `gradient`, which should have another seed: else the errors
/// of both are related, and the derivative of a loss is biased. `params`: of the scene; null: nothing is followed. `shape`
/// becomes the image's.
Float render_image(const Ref<Scene> &scene, const SceneParameters *params,
                   const RenderOptions &primal, const RenderOptions &gradient,
                   std::array<size_t, 3> *shape = nullptr, const BetweenLaunches &between = {});

} // namespace umbel
