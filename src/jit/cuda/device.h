// jit/cuda/device.h: one GPU: its memory and its queue.
#pragma once
#include "jit/cuda/driver.h"
#include "jit/size_variable.h"
#include "jit/summing_device.h"
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace umbel::jit::cuda {

class SumKernels;
class CopyKernel;

/// A place in the queue.
class Event {
public:
    explicit Event(class CudaDevice &device);
    ~Event();
    Event(const Event &) = delete;
    void record();
    /// Until the device has got there.
    void wait() const;

private:
    CudaDevice &m_device;
    EventHandle *m_event = nullptr;
};

/// Whether there is a device that can be opened, of that number or, if it is negative, of any; starts the driver.
bool device_is_present(int number);

class CudaDevice final : public SummingDevice {
public:
    /// A DeviceError where there is none of that number.
    explicit CudaDevice(int number);

    uint64_t allocate(uint64_t bytes) override;
    void release(uint64_t address, uint64_t bytes) noexcept override;
    void upload(uint64_t to, const void *from, uint64_t bytes) override;
    void download(void *to, uint64_t from, uint64_t bytes) override;
    void fill(uint64_t to, uint64_t bits, uint32_t width, uint64_t count) override;
    void copy(uint64_t to, uint64_t from, uint64_t bytes) override;
    void copy_each(std::span<const SmallCopy> copies) override;
    std::vector<uint64_t> begin_sums(std::span<const SumTarget> targets) override;
    void end_sums(std::span<const SumTarget> targets, std::span<const uint64_t> digits) override;
    void drop_sums(std::span<const SumTarget> targets,
                   std::span<const uint64_t> digits) noexcept override;
    DeviceStats stats() override;
    void trim() override;

    /// Begins to assemble what ends sums, which starts the assembler, too: that takes longer than most kernels.
    void prepare_sums();

    int number() const { return m_number; }
    const std::string &name() const { return m_name; }
    int capability() const { return m_capability; } // 90 for 9.0
    int threads() const { return m_threads; }       // that a multiprocessor has at most
    ContextHandle *context() const { return m_context; }
    StreamHandle *stream() const { return m_stream; }
    /// Driver calls of this thread are for this device from now on.
    void make_current() const { need(driver().context_set(m_context), "choosing a device"); }
    /// Calls `request`, which asks the driver for memory, and once more without the cache where there was none. A DeviceError says
    /// what could not be done, which names the bytes.
    void need_memory(const std::function<Result()> &request, const std::string &what);
    /// Until all that was queued has run.
    void wait() const;
    /// Something was queued: whoever synchronizes with the stream whose job this is waits for it.
    void note_queued();
    /// Memory of the host that the device writes to by itself; kept for reuse. Stays until `free_pinned`.
    char *allocate_pinned();
    void free_pinned(char *data) noexcept;
    static constexpr uint64_t PinnedBytes = 4096; // of each
    /// To be held from binding a kernel's arguments to its launch.
    std::mutex &launch_mutex() { return m_launch_mutex; }

private:
    uint64_t allocate_from_driver(uint64_t capacity);
    char *pinned(uint64_t bytes);
    SumKernels &sum_kernels();
    void free_cached() noexcept;
    std::string state_of_memory() const;

    ContextHandle *m_context = nullptr;
    StreamHandle *m_stream = nullptr;
    std::string m_name;
    int m_number, m_capability = 0, m_threads = 0;
    // Blocks that were released: the queue's order makes them safe to use again at once
    std::mutex m_mutex;
    std::map<uint64_t, std::vector<uint64_t>> m_free; // addresses by capacity
    uint64_t m_in_use = 0, m_cached = 0, m_peak = 0;
    const uint64_t m_limit = size_variable("UMBEL_DEVICE_MEMORY").value_or(~0ull);
    // Memory of the host that the device can read by itself, in two halves: one is filled while the other one is read
    struct Staging {
        char *data = nullptr;
        uint64_t used = 0;
        std::unique_ptr<Event> read; // set once it is full
    };
    std::mutex m_staging_mutex;
    Staging m_staging[2];
    // The same for what it writes: one half is filled while the other one is copied from
    struct Landing {
        char *data = nullptr;
        std::unique_ptr<Event> filled;
        char *to = nullptr;
        uint64_t bytes = 0; // that are to be copied
    };
    std::mutex m_landing_mutex;
    Landing m_landing[2];
    int m_half = 0;
    std::vector<char *> m_pinned; // free
    std::mutex m_launch_mutex;
    std::mutex m_sums_mutex;
    std::shared_ptr<SumKernels> m_sum_kernels;
    std::mutex m_copy_mutex;
    std::shared_ptr<CopyKernel> m_copy_kernel;
};

} // namespace umbel::jit::cuda
