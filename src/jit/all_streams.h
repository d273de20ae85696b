// jit/all_streams.h: what all streams of the process are doing, for its end and for whoever interrupts it.
#pragma once
#include <functional>

namespace umbel::jit {

/// Whether the process is a fork of the one that made them: jobs that it had will never end, as the threads are not there.
bool streams_are_of_another_process();
/// Whether no stream has a job that waits or runs, or will ever run.
bool all_streams_idle();
/// Waits until they are idle; calls `look`, which may throw, every few milliseconds. Errors of jobs stay with the streams. Called
/// at the end of every process that has a stream, as kernels use what is then destroyed.
void wait_for_all_streams(const std::function<void()> &look = {});
/// Waits for no more than a block of lanes: the rest of kernels under way is skipped, and so are the jobs behind them. Whoever
/// synchronizes with their streams next gets a DeviceError.
void cancel_all_streams();

/// While in scope, `Stream::synchronize` of this thread leaves jobs to other threads and calls `look` every few milliseconds. What
/// that throws ends the wait; the jobs go on.
class InterruptibleWaits {
public:
    explicit InterruptibleWaits(std::function<void()> look);
    ~InterruptibleWaits();
    InterruptibleWaits(const InterruptibleWaits &) = delete;

private:
    std::function<void()> m_look;
    const std::function<void()> *m_previous;
};

} // namespace umbel::jit
