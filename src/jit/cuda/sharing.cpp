// jit/cuda/sharing.cpp: see jit/cuda/sharing.h.
#include "jit/cuda/sharing.h"
#include "jit/cuda/device.h"

namespace umbel::jit {

int cuda_device_number(Device &device) {
    auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device);
    return gpu ? gpu->number() : -1;
}

void wait_for_default_stream(Device &device) {
    auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device);
    if (!gpu)
        return;
    gpu->make_current();
    cuda::need(cuda::driver().stream_wait(nullptr), "waiting for another library");
}

} // namespace umbel::jit
