// jit/cuda/sharing.h: what other libraries that use the same GPU want to know.
#pragma once
#include "jit/device.h"

namespace umbel::jit {

/// The number that the driver knows the device of the backend `cuda` by; -1 for other devices.
int cuda_device_number(Device &device);
/// What it can compute: 90 for capability 9.0; 0 for other devices.
int cuda_capability(Device &device);
/// That the driver is for: 12040 for CUDA 12.4. There must be one.
int cuda_driver_version();
/// Waits for what libraries queued before on the driver's default stream.
void wait_for_default_stream(Device &device);

/// Which of the driver's queues another library uses memory in.
enum class OthersQueue { Default, Any };
/// What is launched from now on comes after all that others have queued so far: memory that they have let go can be used again.
void follow_others(Device &device, OthersQueue queue) noexcept;
/// Waits for what was launched so far: memory of others can be given back. Errors of kernels are those of who reads their results.
void wait_for_launched(Device &device) noexcept;

} // namespace umbel::jit
