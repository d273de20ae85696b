// render/sealed_media.h: media that no light gets into on a straight way, such as milk in a glass.
//
// Closed surfaces are all around them that refract light or stop it, and no light stands inside. Rays towards lights would be followed
// in vain.
#pragma once
#include "render/dispatch.h"
#include "render/emitter.h"
#include "render/sensor.h"
#include <span>

namespace umbel {

/// Whether any medium lies behind such surfaces. Whether it is sealed is data, and may change.
bool may_seal_media(std::span<const Shape *const> surfaces);

/// By a medium's number, from 0 on: 1 if it is sealed. `surfaces` are those of `shapes` and of groups. Media of groups, of what moves,
/// and those that cameras or lights stand in are not.
std::vector<uint32_t> sealed_media(std::span<const Shape *const> surfaces,
                                   std::span<const Ref<Shape>> shapes,
                                   std::span<const Ref<Sensor>> sensors,
                                   const Table<Emitter> &emitters, const Table<Medium> &media);

} // namespace umbel
