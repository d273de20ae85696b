// jit/stream.cpp: the queue of a stream, the arena that all streams share, parallel loops.
#include "jit/stream.h"
#include "jit/all_streams.h"
#include "jit/available_memory.h"
#include "jit/error.h"
#include "jit/finish_later.h"
#include "jit/parallel.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace umbel::jit {
namespace {

// How often those who wait look whether they still should.
constexpr std::chrono::milliseconds Patience{ 20 };

// ---- The arena

uint32_t env_thread_count() {
    const char *text = std::getenv("UMBEL_THREADS");
    if (!text || !*text)
        return 0;
    char *end;
    unsigned long n = std::strtoul(text, &end, 10);
    if (*end || *text == '-' || n > 4096)
        fail("UMBEL_THREADS=\"{}\": expected a number of threads from 0 (all cores) to 4096", text);
    return uint32_t(n);
}

struct Arena {
    explicit Arena(uint32_t threads)
        : control(tbb::global_control::max_allowed_parallelism, threads), arena(int(threads)) {}
    tbb::global_control control;
    tbb::task_arena arena;
};

// Replaced, never changed: jobs that run keep the arena that they began on.
struct Pool {
    std::mutex mutex;
    uint32_t threads;
    std::shared_ptr<Arena> arena;

    Pool() { resize(env_thread_count()); }
    void resize(uint32_t n) {
        threads = n ? n : std::max(1u, std::thread::hardware_concurrency());
        arena.reset();
    }
    std::shared_ptr<Arena> get() {
        std::lock_guard guard(mutex);
        if (!arena)
            arena = std::make_shared<Arena>(threads);
        return arena;
    }
};

// Leaked on purpose: streams in static variables may outlive any destructor of ours.
Pool &pool() {
    static Pool *instance = new Pool;
    return *instance;
}

// ---- All streams

struct Registry {
    std::mutex mutex;
    std::vector<const Stream *> streams;
    pid_t process = getpid();
};
std::atomic<bool> g_cancelled = false;
thread_local bool t_in_job = false;
thread_local const std::function<void()> *t_look = nullptr;

Registry &registry() {
    static Registry *instance = [] {
        std::atexit([] { wait_for_all_streams(); });
        return new Registry; // leaked, as the pool
    }();
    return *instance;
}

// ---- Errors of jobs

// The error that is being handled, with the job's name before its message, as something to rethrow.
std::exception_ptr named_error(const std::string &job) noexcept {
    try {
        try {
            throw;
        } catch (const UserError &e) {
            throw UserError(job + ": " + e.what());
        } catch (const InternalError &e) {
            throw InternalError(job + ": " + e.what());
        } catch (const std::bad_alloc &) {
            throw DeviceError(fmt::format("{}: out of memory; {}", job, memory_left()));
        } catch (const std::exception &e) {
            throw DeviceError(job + ": " + e.what());
        } catch (...) {
            throw DeviceError(job + ": unknown error");
        }
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace

// ---- What jobs leave for later

namespace {

struct Job {
    std::string name;
    std::function<void()> fn;
    const void *key = nullptr; // see finish_later()
};
using Unfinished = std::deque<Job>;
thread_local Unfinished *t_unfinished = nullptr; // of the stream whose job runs

} // namespace

void finish_later(std::string name, std::function<void()> fn, const void *key) {
    if (!t_unfinished)
        return fn();
    if (key && std::ranges::any_of(*t_unfinished, [&](const Job &job) { return job.key == key; }))
        return;
    t_unfinished->push_back({ std::move(name), std::move(fn), key });
}

void finish_now(size_t but) {
    auto is_wanted = [&](const Job &job) { return !but || !job.key; };
    while (t_unfinished && size_t(std::ranges::count_if(*t_unfinished, is_wanted)) > but) {
        auto first = std::ranges::find_if(*t_unfinished, is_wanted);
        Job job = std::move(*first);
        t_unfinished->erase(first);
        job.fn();
    }
}

// ---- Stream
//
// Whoever sets `running` owns the front of the queue: the dispatcher, a thread in `synchronize`, or
// one that runs a small job inline. Order follows from there being one owner at a time.

struct Stream::State {
    mutable std::mutex mutex;
    std::condition_variable work;    // for the dispatcher: a job may have become available
    std::condition_variable changed; // for callers: a job has ended
    std::deque<Job> jobs;
    bool running = false, quit = false;
    Unfinished unfinished; // belongs to the job that runs; to who holds the mutex where none does
    std::exception_ptr error;
    std::thread::id runner; // while running
    std::thread dispatcher;
    pid_t process = getpid(); // a fork of it has no dispatcher

    bool inside_job() const { return running && runner == std::this_thread::get_id(); }

    void begin() {
        running = true;
        runner = std::this_thread::get_id();
    }

    void end() {
        running = false;
        runner = {};
        changed.notify_all();
        if (!jobs.empty() || quit)
            work.notify_one();
    }

    // Runs one job, which is not in the queue any more. Unlocks meanwhile.
    void run(std::unique_lock<std::mutex> &lock, Job job, bool in_arena) {
        bool skip = bool(error);
        lock.unlock();
        std::exception_ptr raised;
        if (!skip) {
            bool nested = std::exchange(t_in_job, true);
            Unfinished *outer = std::exchange(t_unfinished, &unfinished);
            try {
                if (g_cancelled)
                    throw DeviceError("cancelled");
                if (in_arena)
                    run_in_arena(job.fn);
                else
                    job.fn();
                if (g_cancelled)
                    throw DeviceError("cancelled");
            } catch (...) {
                raised = named_error(job.name);
            }
            t_in_job = nested;
            t_unfinished = outer;
        }
        job = {}; // what it captured goes before anybody learns that it is done
        lock.lock();
        if (raised)
            error = raised;
    }

    // Runs the jobs at hand, in order, keeping ownership between them.
    void run_all(std::unique_lock<std::mutex> &lock) {
        begin();
        while (!jobs.empty()) {
            Job job = std::move(jobs.front());
            jobs.pop_front();
            if (jobs.size() + 1 == MaxPending)
                changed.notify_all(); // there is room again
            run(lock, std::move(job), true);
        }
        end();
    }

    // Where no job runs or waits, what is unfinished becomes jobs.
    void take_up_unfinished() {
        if (running || !jobs.empty() || unfinished.empty())
            return;
        for (Job &job : std::exchange(unfinished, {}))
            jobs.push_back(std::move(job));
        work.notify_one();
    }

    void dispatch() {
        std::unique_lock lock(mutex);
        while (true) {
            work.wait(lock, [&] { return !running && (quit || !jobs.empty()); });
            take_up_unfinished();
            if (jobs.empty())
                return;
            run_all(lock);
        }
    }
};

Stream::Stream() : m_state(std::make_unique<State>()) {
    pool(); // a bad UMBEL_THREADS is reported here and not in a job
    std::lock_guard guard(registry().mutex);
    // What may fail comes before the thread, which nobody would end
    registry().streams.reserve(registry().streams.size() + 1);
    try {
        m_state->dispatcher = std::thread([state = m_state.get()] { state->dispatch(); });
    } catch (const std::system_error &e) {
        throw DeviceError(fmt::format(
            "the thread that starts kernels cannot be made: {}; {}; raise the process's limits of "
            "threads and memory (ulimit), or compute less at a time",
            e.what(), memory_left()));
    }
    registry().streams.push_back(this);
}

Stream::~Stream() {
    {
        std::lock_guard guard(registry().mutex);
        std::erase(registry().streams, this);
    }
    {
        std::lock_guard guard(m_state->mutex);
        m_state->quit = true;
    }
    m_state->work.notify_one();
    m_state->dispatcher.join();
}

void Stream::enqueue(std::string name, std::function<void()> job, bool small) {
    State &s = *m_state;
    std::unique_lock lock(s.mutex);
    if (small && !s.running && s.jobs.empty()) {
        s.begin();
        s.run(lock, { std::move(name), std::move(job) }, false);
        s.end();
        return;
    }
    // A job that enqueues must not wait for room that only its own end can make.
    s.changed.wait(lock, [&] { return s.jobs.size() < MaxPending || s.inside_job(); });
    s.jobs.push_back({ std::move(name), std::move(job) });
    bool wake = !s.running && s.jobs.size() == 1;
    lock.unlock();
    if (wake)
        s.work.notify_one();
}

void Stream::synchronize() {
    State &s = *m_state;
    std::unique_lock lock(s.mutex);
    if (s.inside_job())
        throw InternalError("a job must not synchronize with its own stream");
    while (s.take_up_unfinished(), s.running || !s.jobs.empty()) {
        if (t_look && s.process == getpid()) {
            if (s.changed.wait_for(lock, Patience) == std::cv_status::timeout) {
                lock.unlock(); // which may run anything
                (*t_look)();
                lock.lock();
            }
        } else if (!s.running)
            s.run_all(lock);
        else
            s.changed.wait(lock);
    }
    if (std::exception_ptr error = std::exchange(s.error, nullptr))
        std::rethrow_exception(error);
}

bool Stream::idle() const {
    std::lock_guard guard(m_state->mutex);
    m_state->take_up_unfinished(); // who asks wants it to be
    return !m_state->running && m_state->jobs.empty();
}

void Stream::set_thread_count(uint32_t n) {
    Pool &p = pool();
    std::lock_guard guard(p.mutex);
    p.resize(n);
}

uint32_t Stream::thread_count() {
    Pool &p = pool();
    std::lock_guard guard(p.mutex);
    return p.threads;
}

// ---- All streams

bool streams_are_of_another_process() { return registry().process != getpid(); }

bool all_streams_idle() {
    if (streams_are_of_another_process())
        return true;
    Registry &r = registry();
    std::lock_guard guard(r.mutex);
    return std::ranges::all_of(r.streams, [](const Stream *s) { return s->idle(); });
}

void wait_for_all_streams(const std::function<void()> &look) {
    if (t_in_job) // a job that ends the process must not wait for itself
        return;
    auto pause = std::chrono::microseconds(100);
    for (; !all_streams_idle(); pause = std::min<std::chrono::microseconds>(2 * pause, Patience)) {
        if (look)
            look();
        std::this_thread::sleep_for(pause);
    }
}

void cancel_all_streams() {
    g_cancelled = true;
    wait_for_all_streams();
    g_cancelled = false;
}

InterruptibleWaits::InterruptibleWaits(std::function<void()> look)
    : m_look(std::move(look)), m_previous(std::exchange(t_look, &m_look)) {}
InterruptibleWaits::~InterruptibleWaits() { t_look = m_previous; }

// ---- Parallel loops

void run_in_arena(const std::function<void()> &fn) {
    std::shared_ptr<Arena> arena = pool().get();
    HandedOver work;
    arena->arena.execute([&]() UMBEL_COPIED_TASK { work.run(fn); });
}

void parallel_blocks(uint64_t n, uint64_t block,
                     const std::function<void(uint64_t, uint64_t)> &fn) {
    if (n <= block) {
        if (n)
            fn(0, n);
        return;
    }
    uint64_t count = (n + block - 1) / block;
    bool can_be_cancelled = t_in_job;
    jit::parallel_for(tbb::blocked_range<uint64_t>(0, count), [&](const auto &range) {
        for (uint64_t i = range.begin(); i < range.end() && !(can_be_cancelled && g_cancelled); ++i)
            fn(i * block, std::min(n, (i + 1) * block));
    });
}

} // namespace umbel::jit
