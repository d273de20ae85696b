// jit/cuda/kernel_log.h: what lanes of a kernel told the host: messages, failed assertions, calls that return nothing.
#pragma once
#include "jit/backend.h"
#include "jit/cuda/device.h"

namespace umbel::jit::cuda {

/// Reads the log of a launch that has ended (ptx::LogHeader at `address`), and does what it says, in the order of lanes.
void deliver_log(CudaDevice &device, uint64_t address, const std::vector<ExternSite> &sites,
                 LaunchLog &log);

} // namespace umbel::jit::cuda
