// jit/cuda/kernel_log.h: what lanes of a kernel told the host: messages, failed assertions, calls that return nothing.
#pragma once
#include "jit/backend.h"
#include "jit/cuda/device.h"

namespace umbel::jit::cuda {

/// The log of a launch that was queued last.
class LaunchedLog {
public:
    /// ptx::LogHeader lies at `address`, which stays as long as this.
    LaunchedLog(CudaDevice &device, uint64_t address, const std::vector<ExternSite> &sites);
    ~LaunchedLog();
    LaunchedLog(const LaunchedLog &) = delete;
    /// Waits for the launch to end, and does what the log says, in the order of lanes.
    void deliver(LaunchLog &log) const;

private:
    CudaDevice &m_device;
    uint64_t m_address;
    const std::vector<ExternSite> &m_sites;
    char *m_head = nullptr; // what the device copies its beginning to
    Event m_end;
};

} // namespace umbel::jit::cuda
