// jit/parallel.h: loops over all cores.
//
// oneTBB is not instrumented: how it hands work over is told to the thread sanitizer here, so that only what is one looks
// like a race, inside of loops, too.
#pragma once
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>
#include <utility>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
/// A closure that oneTBB has copied, which is looked at before work is taken.
#define UMBEL_COPIED_TASK __attribute__((no_sanitize("thread")))
#else
#define UMBEL_COPIED_TASK
#endif

namespace umbel::jit {

/// What one thread did before `give` happened before what another does after `take`.
struct HandOver {
#ifdef __SANITIZE_THREAD__
    void give() { __tsan_release(this); }
    void take() { __tsan_acquire(this); }
#else
    void give() {}
    void take() {}
#endif
};

/// Gives at the end of a block, however that is left.
struct GiveAtEnd {
    HandOver &to;
    ~GiveAtEnd() { to.give(); }
};
struct TakeAtEnd {
    HandOver &from;
    ~TakeAtEnd() { from.take(); }
};

/// To and from tasks that others may run.
class HandedOver {
public:
    HandedOver() { m_to.give(); }
    ~HandedOver() { m_from.take(); }
    HandedOver(const HandedOver &) = delete;

    template <class Fn> void run(Fn &&fn) {
        GiveAtEnd end{ m_from };
        m_to.take();
        fn();
    }

private:
    HandOver m_to, m_from;
};

/// Tasks that all cores run while the thread that adds them goes on.
class TaskGroup {
public:
    template <class Fn> void run(Fn fn) {
        m_to.give();
        m_tasks.run([this, fn]() UMBEL_COPIED_TASK {
            GiveAtEnd end{ m_from };
            m_to.take();
            fn();
        });
    }
    /// Until all have ended; throws what one of them threw.
    void wait() {
        TakeAtEnd end{ m_from };
        m_tasks.wait();
    }

private:
    HandOver m_to, m_from;
    tbb::task_group m_tasks;
};

/// fn(i) for all numbers from `first` to before `last`, by all cores.
template <class Index, class Fn, class... Partitioner>
void parallel_for(Index first, Index last, const Fn &fn, Partitioner &&...partitioner) {
    HandedOver work;
    tbb::parallel_for(
        first, last, [&](Index i) UMBEL_COPIED_TASK { work.run([&] { fn(i); }); },
        std::forward<Partitioner>(partitioner)...);
}

/// fn(part) for parts of a range.
template <class Number, class Fn>
void parallel_for(const tbb::blocked_range<Number> &range, const Fn &fn) {
    HandedOver work;
    tbb::parallel_for(range, [&](const tbb::blocked_range<Number> &part)
                                 UMBEL_COPIED_TASK { work.run([&] { fn(part); }); });
}

} // namespace umbel::jit
