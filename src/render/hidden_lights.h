// render/hidden_lights.h: what the camera sees where lights are hidden from it, and how much that covers.
#pragma once
#include "render/scene.h"

namespace umbel {

/// The ray from behind the surfaces that shine and that it meets first: as if they were not there.
Ray past_lights(const Scene &scene, const Ray &ray, const Mask &active);

/// Whether what rays that leave the scene see covers a pixel: an environment does, unless it is hidden.
bool covers_background(const Scene &scene, bool hides_lights);

} // namespace umbel
