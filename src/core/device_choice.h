// core/device_choice.h: which of several devices is computed on.
#pragma once

namespace umbel {

struct Variant;

/// From now on the calling thread's contexts of backends with devices, such as cuda, are those of that device; -1, as at first: of
/// the one that UMBEL_DEVICE names.
void set_device(int number);

/// The variant on that device, whichever the threads that use it have chosen; itself for -1, and where its backend has no devices.
const Variant &on_device(const Variant &variant, int number);

} // namespace umbel
