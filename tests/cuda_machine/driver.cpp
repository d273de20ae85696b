// tests/cuda_machine/driver.cpp: the functions of NVIDIA's driver that src/jit/cuda/driver.h names, for a machine of two devices.
//
// Memory is the host's. A stream is a thread that runs what is queued, so that a caller who forgets to wait is found out.
#include "machine.h"
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace cuda_machine;

namespace {

using Result = int;
enum : Result {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NoDevice = 100,
    InvalidPtx = 218,
    NotFound = 500,
    NotReady = 600,
    IllegalAddress = 700,
};

// Of a device; UMBEL_CUDA_MACHINE_MEMORY: so many MiB
const size_t MostBytes = [] {
    const char *mib = std::getenv("UMBEL_CUDA_MACHINE_MEMORY");
    return (mib ? size_t(std::strtoul(mib, nullptr, 10)) : 1024) << 20;
}();

// UMBEL_CUDA_MACHINE: a machine that something is wrong with
bool is(const char *what) {
    const char *machine = std::getenv("UMBEL_CUDA_MACHINE");
    return machine && std::strcmp(machine, what) == 0;
}

class Queue {
public:
    Queue() : m_thread([this] { work(); }) {
        std::lock_guard lock(all().mutex);
        all().queues.push_back(this);
    }
    static void wait_for_all() {
        std::vector<Queue *> queues;
        {
            std::lock_guard lock(all().mutex);
            queues = all().queues;
        }
        for (Queue *q : queues)
            q->wait();
    }
    void add(std::function<void()> job) {
        {
            std::lock_guard lock(m_mutex);
            m_jobs.push_back(std::move(job));
        }
        m_changed.notify_all();
    }
    void wait() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_jobs.empty() && !m_running; });
    }

private:
    // Queues are never destroyed: the process may end while they work.
    struct All {
        std::mutex mutex;
        std::vector<Queue *> queues;
    };
    static All &all() {
        static All *a = new All;
        return *a;
    }
    void work() {
        std::unique_lock lock(m_mutex);
        while (true) {
            m_changed.wait(lock, [&] { return !m_jobs.empty(); });
            auto job = std::move(m_jobs.front());
            m_jobs.pop_front();
            m_running = true;
            lock.unlock();
            job();
            lock.lock();
            m_running = false;
            m_changed.notify_all();
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::function<void()>> m_jobs;
    bool m_running = false;
    std::thread m_thread;
};

struct Device {
    int number;
    std::mutex mutex;
    std::map<uint64_t, size_t> blocks; // bytes by address
    size_t used = 0;
};
struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0, reached = 0;
};
using EventRef = std::shared_ptr<Event>; // queues keep what was destroyed until they have got there
struct Loaded {
    std::unique_ptr<Module> module;
    std::vector<std::unique_ptr<std::pair<Loaded *, std::string>>> functions;
};
struct Link {
    std::string text;
    char *log = nullptr;
    size_t log_bytes = 0;
};

Device g_devices[2] = { { 0, {}, {}, 0 }, { 1, {}, {}, 0 } };
thread_local Device *t_current = nullptr;
// Drivers need some of a device's memory for themselves.
bool is_full() {
    if (!t_current)
        return false;
    std::lock_guard lock(t_current->mutex);
    return MostBytes - t_current->used < size_t(1) << 20;
}

std::mutex g_pinned_mutex;
std::map<const char *, size_t> g_pinned;

bool is_pinned(const void *p) {
    std::lock_guard lock(g_pinned_mutex);
    auto it = g_pinned.upper_bound(static_cast<const char *>(p));
    if (it == g_pinned.begin())
        return false;
    --it;
    return static_cast<const char *>(p) < it->first + it->second;
}
Queue &queue_of(void *stream) {
    static Queue *common = new Queue;
    return stream ? *static_cast<Queue *>(stream) : *common;
}

} // namespace

#define API extern "C" __attribute__((visibility("default"))) Result

API cuInit(unsigned) { return is("no device") ? NoDevice : Success; }
API cuDriverGetVersion(int *version) {
    *version = is("old driver") ? 10020 : 12040;
    return Success;
}
API cuDeviceGetCount(int *count) {
    *count = is("none visible") ? 0 : 2;
    return Success;
}
API cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < 2 ? Success : InvalidValue;
}
API cuDeviceGetName(char *name, int length, int) {
    std::strncpy(name, "emulated", size_t(length));
    return Success;
}
API cuDeviceGetAttribute(int *value, int attribute, int) {
    *value = attribute == 75   ? (is("old card") ? 6 : 9)
             : attribute == 76 ? 0
             : attribute == 16 ? 4
             : attribute == 39 ? 2048
                               : 0;
    return Success;
}
API cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &g_devices[device];
    return Success;
}
API cuCtxSetCurrent(void *context) {
    t_current = static_cast<Device *>(context);
    return Success;
}
API cuCtxGetCurrent(void **context) {
    *context = t_current;
    return Success;
}
API cuCtxSynchronize() {
    Queue::wait_for_all();
    return Success;
}
API cuMemGetInfo_v2(size_t *free, size_t *total) {
    std::lock_guard lock(t_current->mutex);
    *total = MostBytes;
    *free = MostBytes - t_current->used;
    return Success;
}
API cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    std::lock_guard lock(t_current->mutex);
    if (t_current->used + bytes > MostBytes)
        return OutOfMemory;
    void *p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(p, 0xcd, bytes);
    *address = reinterpret_cast<uintptr_t>(p);
    t_current->blocks[*address] = bytes;
    t_current->used += bytes;
    return Success;
}
API cuMemFree_v2(uint64_t address) {
    std::lock_guard lock(t_current->mutex);
    auto it = t_current->blocks.find(address);
    if (it == t_current->blocks.end())
        return InvalidValue;
    t_current->used -= it->second;
    std::free(reinterpret_cast<void *>(address));
    t_current->blocks.erase(it);
    return Success;
}
API cuMemHostAlloc(void **p, size_t bytes, unsigned) {
    if (is_full())
        return OutOfMemory;
    *p = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    std::lock_guard lock(g_pinned_mutex);
    g_pinned[static_cast<const char *>(*p)] = bytes;
    return Success;
}
API cuMemFreeHost(void *p) {
    std::lock_guard lock(g_pinned_mutex);
    g_pinned.erase(static_cast<const char *>(p));
    std::free(p);
    return Success;
}
API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    if (is_pinned(from)) { // read when its turn has come
        queue_of(stream).add([=] { std::memcpy(reinterpret_cast<void *>(to), from, bytes); });
        return Success;
    }
    std::string staged(static_cast<const char *>(from), bytes);
    queue_of(stream).add([=] { std::memcpy(reinterpret_cast<void *>(to), staged.data(), bytes); });
    return Success;
}
API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    queue_of(stream).add([=] { std::memcpy(to, reinterpret_cast<void *>(from), bytes); });
    return Success;
}
API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    queue_of(stream).add(
        [=] { std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes); });
    return Success;
}
API cuMemcpyPeerAsync(uint64_t to, void *, uint64_t from, void *, size_t bytes, void *stream) {
    return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}
API cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, void *stream) {
    queue_of(stream).add([=] { std::memset(reinterpret_cast<void *>(address), value, bytes); });
    return Success;
}
template <class T> static void fill(uint64_t address, T value, size_t pitch, size_t count) {
    for (size_t i = 0; i < count; ++i)
        std::memcpy(reinterpret_cast<char *>(address) + i * pitch, &value, sizeof(T));
}
API cuMemsetD16Async(uint64_t address, unsigned short value, size_t count, void *stream) {
    queue_of(stream).add([=] { fill(address, value, sizeof(value), count); });
    return Success;
}
API cuMemsetD32Async(uint64_t address, unsigned value, size_t count, void *stream) {
    queue_of(stream).add([=] { fill(address, value, sizeof(value), count); });
    return Success;
}
API cuMemsetD2D32Async(uint64_t address, size_t pitch, unsigned value, size_t width, size_t height,
                       void *stream) {
    if (width != 1 || pitch < 4)
        return InvalidValue;
    queue_of(stream).add([=] { fill(address, value, pitch, height); });
    return Success;
}
API cuStreamCreate(void **stream, unsigned) {
    if (is_full())
        return OutOfMemory;
    *stream = new Queue;
    return Success;
}
API cuStreamSynchronize(void *stream) {
    queue_of(stream).wait();
    return Success;
}
API cuEventCreate(void **event, unsigned) {
    if (is_full())
        return OutOfMemory;
    *event = new EventRef(new Event);
    return Success;
}
API cuEventDestroy_v2(void *event) {
    delete static_cast<EventRef *>(event);
    return Success;
}
API cuEventRecord(void *event, void *stream) {
    EventRef e = *static_cast<EventRef *>(event);
    std::lock_guard lock(e->mutex);
    queue_of(stream).add([e, n = ++e->recorded] {
        std::lock_guard lock(e->mutex);
        e->reached = n;
        e->changed.notify_all();
    });
    return Success;
}
API cuEventQuery(void *event) {
    EventRef e = *static_cast<EventRef *>(event);
    std::lock_guard lock(e->mutex);
    return e->reached >= e->recorded ? Success : NotReady;
}
API cuEventSynchronize(void *event) {
    EventRef e = *static_cast<EventRef *>(event);
    std::unique_lock lock(e->mutex);
    e->changed.wait(lock, [&] { return e->reached >= e->recorded; });
    return Success;
}
API cuStreamWaitEvent(void *stream, void *event, unsigned) {
    EventRef e = *static_cast<EventRef *>(event);
    std::lock_guard lock(e->mutex);
    queue_of(stream).add([e, n = e->recorded] {
        std::unique_lock lock(e->mutex);
        e->changed.wait(lock, [&] { return e->reached >= n; });
    });
    return Success;
}
API cuPointerGetAttribute(void *data, int, uint64_t address) {
    for (Device &d : g_devices) {
        std::lock_guard lock(d.mutex);
        if (auto it = d.blocks.upper_bound(address);
            it != d.blocks.begin() && address < std::prev(it)->first + std::prev(it)->second) {
            std::memcpy(data, &d.number, sizeof(int));
            return Success;
        }
    }
    return InvalidValue;
}

API cuLinkCreate_v2(unsigned options, int *keys, void **values, void **link) {
    auto *l = new Link;
    for (unsigned k = 0; k < options; ++k) {
        if (keys[k] == 5)
            l->log = static_cast<char *>(values[k]);
        if (keys[k] == 6)
            l->log_bytes = reinterpret_cast<uintptr_t>(values[k]);
    }
    *link = l;
    return Success;
}
API cuLinkAddData_v2(void *link, int, void *data, size_t, const char *, unsigned, int *, void **) {
    auto *l = static_cast<Link *>(link);
    l->text = static_cast<const char *>(data);
    try {
        parse(l->text);
    } catch (const std::exception &e) {
        if (l->log)
            std::strncpy(l->log, e.what(), l->log_bytes - 1);
        return InvalidPtx;
    }
    return Success;
}
API cuLinkComplete(void *link, void **image, size_t *bytes) {
    auto *l = static_cast<Link *>(link);
    *image = l->text.data();
    *bytes = l->text.size() + 1;
    return Success;
}
API cuLinkDestroy(void *link) {
    delete static_cast<Link *>(link);
    return Success;
}
API cuModuleLoadData(void **module, const void *image) {
    if (is_full())
        return OutOfMemory;
    try {
        *module = new Loaded{ parse(static_cast<const char *>(image)), {} };
    } catch (const std::exception &) {
        return InvalidPtx;
    }
    return Success;
}
API cuModuleUnload(void *module) {
    delete static_cast<Loaded *>(module);
    return Success;
}
API cuModuleGetFunction(void **function, void *module, const char *name) {
    auto *l = static_cast<Loaded *>(module);
    if (!l->module->functions.count(name))
        return NotFound;
    l->functions.push_back(std::make_unique<std::pair<Loaded *, std::string>>(l, name));
    *function = l->functions.back().get();
    return Success;
}
API cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name) {
    auto &memory = static_cast<Loaded *>(module)->module->memory;
    auto it = memory.find(name);
    if (it == memory.end())
        return NotFound;
    *address = reinterpret_cast<uintptr_t>(it->second.data());
    *bytes = it->second.size() * 8;
    return Success;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int, size_t) {
    *blocks = 2;
    return Success;
}
API cuFuncGetAttribute(int *value, int attribute, void *function) {
    auto &[loaded, name] = *static_cast<std::pair<Loaded *, std::string> *>(function);
    *value = attribute == 4 ? 40 : attribute == 3 ? int(loaded->module->bytes) : 0;
    return Success;
}
API cuLaunchKernel(void *function, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned,
                   unsigned, void *stream, void **parameters, void **) {
    auto [loaded, name] = *static_cast<std::pair<Loaded *, std::string> *>(function);
    const Function &f = loaded->module->functions.at(name);
    std::vector<std::string> values; // parameters are taken when the launch is asked for
    for (size_t k = 0; k < f.params.size(); ++k)
        values.emplace_back(static_cast<char *>(parameters[k]), f.params[k].bytes);
    queue_of(stream).add([=, module = loaded->module.get(), entry = name] {
        std::vector<void *> p;
        for (const std::string &v : values)
            p.push_back(const_cast<char *>(v.data()));
        run(*module, entry, gx, bx, p.data());
    });
    return Success;
}
API cuLaunchHostFunc(void *stream, void (*fn)(void *), void *data) {
    queue_of(stream).add([=] { fn(data); });
    return Success;
}
API cuGetErrorName(Result error, const char **name) {
    *name = error == OutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
    return Success;
}
API cuGetErrorString(Result, const char **text) {
    *text = "an error of the emulated driver";
    return Success;
}
