// jit/cuda/sharing.h: what other libraries that use the same GPU want to know.
#pragma once
#include "jit/device.h"

namespace umbel::jit {

/// The number that the driver knows the device of the backend `cuda` by; -1 for other devices.
int cuda_device_number(Device &device);
/// Waits for what libraries queued before on the driver's default stream.
void wait_for_default_stream(Device &device);

} // namespace umbel::jit
