// core/device_choice.h: which of several devices a thread computes on.
#pragma once

namespace umbel {

/// From now on the calling thread's contexts of backends with devices, such as cuda, are those of that device; -1, as at first: of
/// the one that UMBEL_DEVICE names.
void set_device(int number);

} // namespace umbel
