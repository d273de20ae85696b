// jit/cuda/device.cpp: see jit/cuda/device.h.
#include "jit/cuda/device.h"
#include "jit/buffer.h"
#include "jit/error.h"
#include <bit>
#include <cstring>

namespace umbel::jit::cuda {

namespace {

// Eight sizes an octave, as for memory of the host.
uint64_t capacity_for(uint64_t bytes) {
    bytes = std::max<uint64_t>(bytes + BufferPadding, 1024);
    uint64_t step = uint64_t(1) << (std::bit_width(bytes) - 4);
    return (bytes + step - 1) & ~(step - 1);
}

} // namespace

CudaDevice::CudaDevice(int number) : m_number(number) {
    const Driver &d = driver();
    int count = 0;
    need(d.device_count(&count), "counting devices");
    if (number < 0 || number >= count)
        throw DeviceError(
            fmt::format("there is no CUDA device {}: the driver knows {}", number, count));
    DeviceNumber device;
    need(d.device_get(&device, number), "finding the device");
    char name[256] = {};
    need(d.device_name(name, sizeof(name), device), "asking for the device's name");
    m_name = name;
    int major = 0, minor = 0;
    need(d.device_attribute(&major, AttributeMajor, device), "asking for the device's capability");
    need(d.device_attribute(&minor, AttributeMinor, device), "asking for the device's capability");
    m_capability = 10 * major + minor;
    if (m_capability < 70)
        throw DeviceError(fmt::format(
            "{} has compute capability {}.{}, and 7.0 is the least; the llvm variants need no GPU",
            m_name, major, minor));
    need(d.context_retain(&m_context, device), "opening the device");
    make_current();
    need(d.stream_create(&m_stream, StreamNonBlocking), "making a queue");
}

void CudaDevice::wait() const { need(driver().stream_wait(m_stream), "a kernel"); }

uint64_t CudaDevice::allocate_from_driver(uint64_t capacity) {
    DeviceAddress address = 0;
    Result result = driver().allocate(&address, capacity);
    if (result == OutOfMemory)
        return 0;
    need(result, "allocating memory");
    return address;
}

uint64_t CudaDevice::allocate(uint64_t bytes) {
    uint64_t capacity = capacity_for(bytes);
    std::lock_guard lock(m_mutex);
    make_current();
    uint64_t address = 0;
    if (auto it = m_free.find(capacity); it != m_free.end() && !it->second.empty()) {
        address = it->second.back();
        it->second.pop_back();
        m_cached -= capacity;
    } else {
        address = allocate_from_driver(capacity);
        if (!address) {
            free_cached();
            address = allocate_from_driver(capacity);
        }
    }
    if (!address) {
        size_t free = 0, total = 0;
        driver().memory_info(&free, &total);
        throw DeviceError(fmt::format("out of memory: cannot allocate {:.1f} MiB on {}; {:.1f} MiB "
                                      "are in use, and {:.1f} of its {:.1f} MiB are free",
                                      double(bytes) / (1 << 20), m_name,
                                      double(m_in_use) / (1 << 20), double(free) / (1 << 20),
                                      double(total) / (1 << 20)));
    }
    m_in_use += capacity;
    return address;
}

void CudaDevice::release(uint64_t address, uint64_t bytes) noexcept {
    uint64_t capacity = capacity_for(bytes);
    std::lock_guard lock(m_mutex);
    m_in_use -= capacity;
    try {
        m_free[capacity].push_back(address);
        m_cached += capacity;
    } catch (...) {
        driver().context_set(m_context);
        driver().free(address);
    }
}

// Waits for what is queued: the driver's own way to free.
void CudaDevice::free_cached() noexcept {
    for (auto &[capacity, blocks] : m_free)
        for (uint64_t address : blocks)
            driver().free(address);
    m_free.clear();
    m_cached = 0;
}

void CudaDevice::upload(uint64_t to, const void *from, uint64_t bytes) {
    make_current();
    need(driver().upload(to, from, bytes, m_stream), "copying to the device");
    wait(); // the driver may read memory of the host until then
}

void CudaDevice::download(void *to, uint64_t from, uint64_t bytes) {
    make_current();
    need(driver().download(to, from, bytes, m_stream), "copying from the device");
    wait();
}

} // namespace umbel::jit::cuda
