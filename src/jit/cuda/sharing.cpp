// jit/cuda/sharing.cpp: see jit/cuda/sharing.h.
#include "jit/cuda/sharing.h"
#include "jit/cuda/device.h"

namespace umbel::jit {

int cuda_device_number(Device &device) {
    auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device);
    return gpu ? gpu->number() : -1;
}

int cuda_capability(Device &device) {
    auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device);
    return gpu ? gpu->capability() : 0;
}

int cuda_driver_version() { return cuda::driver().version; }

void wait_for_default_stream(Device &device) {
    auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device);
    if (!gpu)
        return;
    gpu->make_current();
    cuda::need(cuda::driver().stream_wait(nullptr), "waiting for another library");
}

// Queues other than the default one may be gone by now: nothing can be asked of them, and all are waited for.
void follow_others(Device &device, OthersQueue queue) noexcept {
    auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device);
    if (!gpu || cuda::driver_is_leaving())
        return;
    const cuda::Driver &d = cuda::driver();
    d.context_set(gpu->context());
    cuda::EventHandle *end = nullptr;
    if (queue == OthersQueue::Default &&
        d.event_create(&end, cuda::EventWithoutTime) == cuda::Success) {
        bool follows = d.event_record(end, nullptr) == cuda::Success &&
                       d.stream_wait_event(gpu->stream(), end, 0) == cuda::Success;
        d.event_destroy(end); // the driver keeps it until it was reached
        if (follows)
            return;
    }
    d.context_wait();
}

void wait_for_launched(Device &device) noexcept {
    auto *gpu = dynamic_cast<cuda::CudaDevice *>(&device);
    if (!gpu || cuda::driver_is_leaving())
        return;
    cuda::driver().context_set(gpu->context());
    cuda::driver().stream_wait(gpu->stream());
}

} // namespace umbel::jit
