// jit/launch.cpp: tasks in the queue of a stream, and what becomes of those that fail.
#include "jit/launch.h"
#include "jit/background_kernel.h"
#include "jit/finish_later.h"
#include "jit/history.h"
#include "jit/kernel_task.h"
#include "jit/recording.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

namespace umbel::jit {

// Where the record that was added last is.
static thread_local std::pair<std::shared_ptr<History>, size_t> t_recorded;

void Context::record_launch(KernelRecord record) {
    size_t index = m_history->add(std::move(record));
    t_recorded = { m_history, index };
}

void note_launch(Context &c, const Task &task, bool waits) {
    if (Recorder *r = Recorder::of(c))
        r->launched(task, waits);
}

namespace {

// Arrays that were to be filled by tasks which failed, or were dropped because one before them had. There are none as a rule.
class LostArrays {
public:
    void add(const BufferRef &buffer) {
        std::lock_guard lock(m_mutex);
        std::erase_if(m_buffers, [](const BufferRef &b) { return b.unique(); }); // nobody else's
        m_buffers.push_back(buffer);
        m_any = true;
    }
    bool has(const BufferRef &buffer) {
        if (!m_any)
            return false;
        std::lock_guard lock(m_mutex);
        return std::find(m_buffers.begin(), m_buffers.end(), buffer) != m_buffers.end();
    }
    void forget_unused() {
        if (!m_any)
            return;
        std::lock_guard lock(m_mutex);
        std::erase_if(m_buffers, [](const BufferRef &b) { return b.unique(); });
        m_any = !m_buffers.empty();
    }

private:
    std::atomic<bool> m_any{ false };
    std::mutex m_mutex;
    std::vector<BufferRef> m_buffers;
};
LostArrays &lost_arrays() {
    static auto *lost = new LostArrays; // streams may outlive other statics
    return *lost;
}

// Bytes of results that queued jobs are to fill: whoever wanted them may have given them up.
std::atomic<uint64_t> g_in_flight{ 0 };

// A task in a stream's queue, until it has run or was dropped.
class Job {
public:
    explicit Job(std::shared_ptr<Task> task) : m_task(std::move(task)) {
        for (const TaskArray &a : m_task->arrays)
            m_bytes += a.use == TaskArray::Write ? a.buffer->bytes() : 0;
        g_in_flight += m_bytes;
    }
    ~Job() {
        g_in_flight -= m_bytes;
        auto *kernel = dynamic_cast<const KernelTask *>(m_task.get());
        if (m_done || (kernel && kernel->is_computed))
            return;
        try {
            for (const TaskArray &a : m_task->arrays)
                if (a.use == TaskArray::Write)
                    lost_arrays().add(a.buffer);
        } catch (const std::bad_alloc &) { // then they read as what they happen to hold
        }
    }
    Job(const Job &) = delete;

    /// So that its time is that of running it.
    void make_ready(History &history, size_t index) const {
        auto *task = dynamic_cast<const KernelTask *>(m_task.get());
        auto *kernel =
            task ? dynamic_cast<const BackgroundKernel *>(task->main.kernel.get()) : nullptr;
        if (!kernel)
            return;
        kernel->make_ready();
        if (!task->record.memory_hit && !task->record.disk_hit)
            history.add_compilation(index, kernel->background_seconds(), kernel->code_bytes());
        history.set_resources(index, kernel->resources());
    }

    void run() {
        for (const TaskArray &a : m_task->arrays)
            if (a.use != TaskArray::Write)
                refuse_lost(a.buffer);
        m_task->run();
        m_done = true;
    }

private:
    std::shared_ptr<Task> m_task;
    uint64_t m_bytes = 0;
    bool m_done = false;
};

} // namespace

void refuse_lost(const BufferRef &buffer) {
    if (lost_arrays().has(buffer))
        throw DeviceError("the array was to be computed by a kernel that has failed");
}

uint64_t most_in_flight = 1ull << 30;

uint64_t bytes_in_flight() { return g_in_flight; }

void submit(Context &c, const std::shared_ptr<Task> &task) {
    lost_arrays().forget_unused();
    auto run = std::make_shared<Job>(task);
    std::function<void()> job = [run] { run->run(); };
    if (c.has(Flag::History)) {
        task->record.name = task->name;
        task->record.size = task->size;
        c.record_launch(task->record);
        auto [history, index] = std::exchange(t_recorded, {});
        job = [run, history, index] {
            run->make_ready(*history, index);
            struct Timer {
                History &history;
                size_t index;
                using Clock = std::chrono::steady_clock;
                Clock::time_point start = Clock::now();
                ~Timer() {
                    std::chrono::duration<double> time = Clock::now() - start;
                    history.set_run_time(index, time.count());
                }
            } timer{ *history, index };
            run->run();
            finish_now(); // on a device
        };
    }
    c.enqueue(task->name, std::move(job), task->is_small);
}

void launch(Context &c, const std::shared_ptr<Task> &task) {
    note_launch(c, *task);
    submit(c, task);
}

void launch_algorithm(Context &c, const char *name, uint64_t size, std::vector<TaskArray> arrays,
                      std::vector<uint64_t> params, AlgorithmTask::Function function,
                      bool is_on_device) {
    auto task = std::make_shared<AlgorithmTask>();
    task->name = name;
    task->size = size;
    task->arrays = std::move(arrays);
    task->params = std::move(params);
    task->function = std::move(function);
    task->is_on_device = is_on_device;
    task->is_small = size < 4096;
    task->record.backend = "builtin";
    launch(c, task);
}

void run_now(Context &c, Task &task) {
    c.synchronize();
    run_in_arena([&] { task.run(); });
    note_launch(c, task, true);
}

} // namespace umbel::jit
