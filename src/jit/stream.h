// jit/stream.h: jobs in order, asynchronously; parallel loops over fixed blocks.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace umbel::jit {

/// A queue of jobs that run one after another while the caller goes on. A job runs inside the
/// shared TBB arena, so that parallel loops in it use all threads. All functions may be called from
/// any thread.
///
/// A job that throws makes the stream skip (and release) all jobs up to the next `synchronize`,
/// which reports the error: nothing is computed from garbage.
class Stream {
public:
    Stream();
    /// Drains the queue; an error that nobody asked for is dropped.
    ~Stream();
    Stream(const Stream &) = delete;

    /// Appends a job. Returns at once, save when `MaxPending` jobs wait already. A `small` job, one
    /// that takes less than the hand-off to another thread (some 10 us), runs inline if nothing
    /// precedes it.
    void enqueue(std::string name, std::function<void()> job, bool small = false);
    /// Waits for all jobs. Throws the first error as "<job>: <message>" in its own type: UserError,
    /// DeviceError or InternalError; a DeviceError for any other.
    ///
    /// The caller does not merely wait: jobs that no thread has begun run on the calling thread,
    /// which spares a caller that alternates `enqueue` and `synchronize` both hand-offs.
    void synchronize();
    /// Whether no job is waiting or running.
    bool idle() const;

    static constexpr size_t MaxPending = 256;

    /// Threads that run jobs, for all streams; 0: all cores. Starts as the environment variable
    /// UMBEL_THREADS, or 0. Takes effect with the next job.
    static void set_thread_count(uint32_t n);
    /// Never 0.
    static uint32_t thread_count();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// Runs `fn` on the arena of streams (with `Stream::thread_count` threads) and waits.
void run_in_arena(const std::function<void()> &fn);

/// fn(begin, end) for [0, block), [block, 2 block), ... up to n, in parallel on the calling
/// thread's arena. The blocks never depend on the number of threads.
void parallel_blocks(uint64_t n, uint64_t block,
                     const std::function<void(uint64_t begin, uint64_t end)> &fn);

} // namespace umbel::jit
