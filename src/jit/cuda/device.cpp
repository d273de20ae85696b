// jit/cuda/device.cpp: see jit/cuda/device.h.
#include "jit/cuda/device.h"
#include "jit/buffer.h"
#include "jit/error.h"
#include "jit/finish_later.h"
#include <bit>
#include <cstring>
#include <utility>

namespace umbel::jit::cuda {

namespace {

// Eight sizes an octave, as for memory of the host.
uint64_t capacity_for(uint64_t bytes) {
    bytes = std::max<uint64_t>(bytes + BufferPadding, 1024);
    uint64_t step = uint64_t(1) << (std::bit_width(bytes) - 4);
    return (bytes + step - 1) & ~(step - 1);
}

constexpr uint64_t HalfBytes = 4 << 20; // of memory that copies go through
constexpr int LeastCapability = 70;     // 7.0

int count_devices() {
    int count = 0;
    need(driver().device_count(&count), "counting devices");
    return count;
}

DeviceNumber find_device(int number) {
    DeviceNumber device;
    need(driver().device_get(&device, number), "finding the device");
    return device;
}

int capability_of(DeviceNumber device) {
    int parts[2] = {};
    for (int k : { 0, 1 })
        need(driver().device_attribute(&parts[k], k ? AttributeMinor : AttributeMajor, device),
             "asking for the device's capability");
    return 10 * parts[0] + parts[1];
}

} // namespace

bool device_is_present(int number) {
    auto is_usable = [](int k) {
        try {
            return capability_of(find_device(k)) >= LeastCapability;
        } catch (const DeviceError &) { // whoever opens a device hears of it
            return false;
        }
    };
    try {
        for (int k = 0, count = count_devices(); k < count; ++k)
            if ((number < 0 || number == k) && is_usable(k))
                return true;
    } catch (const DeviceError &) {
    }
    return false;
}

CudaDevice::CudaDevice(int number) : m_number(number) {
    const Driver &d = driver();
    int count = count_devices();
    if (number < 0 || number >= count)
        throw DeviceError(fmt::format("there is no CUDA device {}: the driver knows {}{}", number,
                                      count, count ? "" : "; the llvm variants need no GPU"));
    DeviceNumber device = find_device(number);
    char name[256] = {};
    need(d.device_name(name, sizeof(name), device), "asking for the device's name");
    m_name = name;
    m_capability = capability_of(device);
    if (m_capability < LeastCapability)
        throw DeviceError(fmt::format("{} has compute capability {}.{}, and {}.{} is the least; "
                                      "the llvm variants need no GPU",
                                      m_name, m_capability / 10, m_capability % 10,
                                      LeastCapability / 10, LeastCapability % 10));
    need(d.device_attribute(&m_threads, AttributeThreads, device), "asking for the device's size");
    need(d.context_retain(&m_context, device), "opening the device");
    need_memory([&] { return d.stream_create(&m_stream, StreamNonBlocking); }, "making a queue");
}

void CudaDevice::wait() const {
    make_current();
    need(driver().stream_wait(m_stream), "a kernel");
}

void CudaDevice::note_queued() {
    finish_later("the device", [this] { wait(); }, this);
}

Event::Event(CudaDevice &device) : m_device(device) {
    m_device.need_memory([&] { return driver().event_create(&m_event, EventWithoutTime); },
                         "making an event");
}
Event::~Event() {
    if (!driver_is_leaving() && driver().context_set(m_device.context()) == Success)
        driver().event_destroy(m_event);
}
void Event::record() { need(driver().event_record(m_event, m_device.stream()), "queueing"); }
void Event::wait() const {
    m_device.make_current();
    need(driver().event_wait(m_event), "a kernel");
}

uint64_t CudaDevice::allocate_from_driver(uint64_t capacity) {
    DeviceAddress address = 0;
    if (capacity > m_limit || m_in_use + m_cached > m_limit - capacity)
        return 0;
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
    if (!address)
        throw DeviceError(
            fmt::format("out of memory: cannot allocate {:.1f} MiB on {}; {}{}",
                        double(bytes) / (1 << 20), m_name, state_of_memory(),
                        m_limit == ~0ull ? "" : "; UMBEL_DEVICE_MEMORY allows no more"));
    m_in_use += capacity;
    m_peak = std::max(m_peak, m_in_use);
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

DeviceStats CudaDevice::stats() {
    std::lock_guard lock(m_mutex);
    make_current();
    size_t free = 0, total = 0;
    need(driver().memory_info(&free, &total), "asking for the device's memory");
    return { m_name, m_in_use, m_cached, m_peak, free, total };
}

void CudaDevice::trim() {
    std::lock_guard lock(m_mutex);
    make_current();
    free_cached();
}

std::string CudaDevice::state_of_memory() const {
    size_t free = 0, total = 0;
    driver().memory_info(&free, &total);
    return fmt::format("{:.1f} MiB are in use, and {:.1f} of its {:.1f} MiB are free",
                       double(m_in_use) / (1 << 20), double(free) / (1 << 20),
                       double(total) / (1 << 20));
}

void CudaDevice::need_memory(const std::function<Result()> &request, const std::string &what) {
    make_current();
    Result result = request();
    if (result == OutOfMemory) {
        std::lock_guard lock(m_mutex);
        free_cached();
        result = request();
        if (result == OutOfMemory)
            throw DeviceError(
                fmt::format("out of memory: {} failed on {}; {}", what, m_name, state_of_memory()));
    }
    need(result, what.c_str());
}

char *CudaDevice::allocate_pinned() {
    std::lock_guard lock(m_staging_mutex);
    if (!m_pinned.empty()) {
        char *data = m_pinned.back();
        m_pinned.pop_back();
        return data;
    }
    return pinned(PinnedBytes);
}

void CudaDevice::free_pinned(char *data) noexcept {
    std::lock_guard lock(m_staging_mutex);
    try {
        m_pinned.push_back(data);
    } catch (const std::bad_alloc &) { // a page is lost
    }
}

char *CudaDevice::pinned(uint64_t bytes) {
    void *data = nullptr;
    need_memory([&] { return driver().host_allocate(&data, bytes, 0); },
                fmt::format("allocating {} KiB of the host's memory for copies", bytes >> 10));
    return static_cast<char *>(data);
}

// The driver waits where it is given other memory of the host.
void CudaDevice::upload(uint64_t to, const void *from, uint64_t bytes) {
    constexpr uint64_t Alignment = 16;
    make_current();
    std::lock_guard lock(m_staging_mutex);
    for (auto *p = static_cast<const char *>(from); bytes;) {
        Staging &half = m_staging[m_half];
        if (!half.data) {
            half.data = pinned(HalfBytes);
            half.read = std::make_unique<Event>(*this);
        }
        if (half.used == HalfBytes) {
            half.read->record();
            Staging &other = m_staging[m_half ^= 1];
            if (other.data)
                other.read->wait();
            other.used = 0;
            continue;
        }
        uint64_t n = std::min(bytes, HalfBytes - half.used);
        std::memcpy(half.data + half.used, p, n);
        need(driver().upload(to, half.data + half.used, n, m_stream), "copying to the device");
        half.used = std::min(HalfBytes, (half.used + n + Alignment - 1) & ~(Alignment - 1));
        to += n;
        p += n;
        bytes -= n;
    }
    note_queued();
}

void CudaDevice::download(void *to, uint64_t from, uint64_t bytes) {
    make_current();
    std::lock_guard lock(m_landing_mutex);
    auto take = [](Landing &half) {
        if (half.bytes == 0)
            return;
        half.filled->wait();
        std::memcpy(half.to, half.data, std::exchange(half.bytes, 0));
    };
    for (Landing &half : m_landing) // of one that has failed
        half.bytes = 0;
    int k = 0;
    for (auto *p = static_cast<char *>(to); bytes; k ^= 1) {
        Landing &half = m_landing[k];
        take(half);
        if (!half.data) {
            half.data = pinned(HalfBytes);
            half.filled = std::make_unique<Event>(*this);
        }
        uint64_t n = std::min(bytes, HalfBytes);
        need(driver().download(half.data, from, n, m_stream), "copying from the device");
        half.filled->record();
        half.to = p;
        half.bytes = n;
        p += n;
        from += n;
        bytes -= n;
    }
    take(m_landing[k]);
    take(m_landing[k ^ 1]);
}

void CudaDevice::fill(uint64_t to, uint64_t bits, uint32_t width, uint64_t count) {
    const Driver &d = driver();
    make_current();
    uint32_t low = uint32_t(bits), high = uint32_t(bits >> 32);
    Result result = Success;
    if (count == 0)
        return;
    if (width == 1)
        result = d.clear(to, uint8_t(bits), count, m_stream);
    else if (width == 2)
        result = d.fill_16(to, uint16_t(bits), count, m_stream);
    else if (width == 4 || low == high)
        result = d.fill_32(to, low, count * (width / 4), m_stream);
    else
        for (int half : { 0, 1 }) // columns of four bytes, eight apart
            if (result == Success)
                result = d.fill_columns(to + 4u * uint32_t(half), 8, half ? high : low, 1, count,
                                        m_stream);
    need(result, "filling an array");
    note_queued();
}

void CudaDevice::copy(uint64_t to, uint64_t from, uint64_t bytes) {
    make_current();
    need(driver().copy(to, from, bytes, m_stream), "copying on the device");
    note_queued();
}

} // namespace umbel::jit::cuda
