// tests/jit/stream_test.cpp: order, asynchrony and errors of streams; parallel loops.
#include "jit/all_streams.h"
#include "jit/error.h"
#include "jit/finish_later.h"
#include "jit/stream.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace umbel::jit {
namespace {

// Holds a job back until it is opened.
class Gate {
public:
    void open() {
        std::lock_guard guard(m_mutex);
        m_open = true;
        m_changed.notify_all();
    }
    void pass() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_open; });
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_open = false;
};

struct ThreadCount {
    explicit ThreadCount(uint32_t n) { Stream::set_thread_count(n); }
    ~ThreadCount() { Stream::set_thread_count(0); }
};

template <class E> std::string message_of(Stream &stream) {
    try {
        stream.synchronize();
    } catch (const E &e) {
        return e.what();
    }
    return "no error";
}

// As a device's work is, which goes on after the job that queued it.
TEST(Stream, WhatJobsLeaveForLaterIsDoneWhenTheyAreWaitedFor) {
    std::vector<int> order;
    {
        Stream stream;
        for (int i = 0; i < 3; ++i)
            stream.enqueue("job", [&order, i] {
                order.push_back(i);
                finish_later("later", [&order, i] { order.push_back(10 + i); });
                finish_later("once", [&order] { order.push_back(20); }, &order);
            });
        stream.synchronize();
        EXPECT_EQ(order, (std::vector<int>{ 0, 1, 2, 10, 20, 11, 12 }));
        EXPECT_TRUE(stream.idle());

        stream.enqueue(
            "job", [] { finish_later("the device", [] { throw DeviceError("it is broken"); }); });
        EXPECT_EQ(message_of<DeviceError>(stream), "the device: it is broken");

        order.clear();
        stream.enqueue("job", [&order] {
            for (int i = 0; i < 4; ++i)
                finish_later("later", [&order, i] { order.push_back(i); });
            finish_now(2);
            order.push_back(9);
        });
        stream.synchronize();
        EXPECT_EQ(order, (std::vector<int>{ 0, 1, 9, 2, 3 }));
        order.clear();
        stream.enqueue("job",
                       [&order] { finish_later("later", [&order] { order.push_back(1); }); });
    } // nobody has asked
    EXPECT_EQ(order, std::vector<int>{ 1 });
    finish_later("no job", [&order] { order.push_back(2); });
    EXPECT_EQ(order, (std::vector<int>{ 1, 2 }));
}

TEST(Stream, RunsJobsInOrder) {
    Stream stream;
    std::vector<int> order;
    for (int i = 0; i < 2000; ++i)
        stream.enqueue("push", [&order, i] { order.push_back(i); }, i % 3 == 0);
    stream.synchronize();
    std::vector<int> expected(2000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
    EXPECT_TRUE(stream.idle());
}

TEST(Stream, EnqueueReturnsBeforeTheJobIsDone) {
    Stream stream;
    Gate gate;
    bool done = false;
    stream.enqueue("wait", [&] { gate.pass(); });
    stream.enqueue("after", [&] { done = true; }, true); // small, but not first: must wait its turn
    EXPECT_FALSE(stream.idle());
    gate.open();
    stream.synchronize();
    EXPECT_TRUE(done);
}

TEST(Stream, JobsProceedWithoutSynchronize) {
    Stream stream;
    Gate gate;
    stream.enqueue("open", [&] { gate.open(); });
    gate.pass();
}

TEST(Stream, SmallJobRunsInlineOnAnIdleStream) {
    Stream stream;
    std::thread::id runner;
    stream.enqueue("small", [&] { runner = std::this_thread::get_id(); }, true);
    EXPECT_EQ(runner, std::this_thread::get_id());
    EXPECT_TRUE(stream.idle());
}

TEST(Stream, QueueIsBounded) {
    Stream stream;
    Gate gate;
    stream.enqueue("wait", [&] { gate.pass(); });
    std::atomic<size_t> enqueued{ 0 };
    std::thread producer([&] {
        for (size_t i = 0; i < Stream::MaxPending + 50; ++i) {
            stream.enqueue("nothing", [] {});
            enqueued++;
        }
    });
    while (enqueued < Stream::MaxPending - 1)
        std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LE(enqueued.load(), Stream::MaxPending + 1);
    gate.open();
    producer.join();
    stream.synchronize();
    EXPECT_EQ(enqueued.load(), Stream::MaxPending + 50);
}

TEST(Stream, ErrorsKeepTheirTypeAndNameTheJob) {
    Stream stream;
    for (bool small : { false, true }) {
        stream.enqueue("load", [] { throw UserError("bad input"); }, small);
        EXPECT_EQ(message_of<UserError>(stream), "load: bad input");
        stream.enqueue("alloc", [] { throw DeviceError("no memory"); }, small);
        EXPECT_EQ(message_of<DeviceError>(stream), "alloc: no memory");
        stream.enqueue("pass", [] { throw InternalError("a bug"); }, small);
        EXPECT_EQ(message_of<InternalError>(stream), "pass: a bug");
        stream.enqueue("other", [] { throw std::runtime_error("something"); }, small);
        EXPECT_EQ(message_of<DeviceError>(stream), "other: something");
        stream.enqueue("odd", [] { throw 42; }, small);
        EXPECT_EQ(message_of<DeviceError>(stream), "odd: unknown error");
    }
    stream.synchronize(); // an error is told once
}

TEST(Stream, ErrorsInParallelLoopsReachSynchronize) {
    Stream stream;
    stream.enqueue("loop", [] {
        parallel_blocks(1000, 1, [](uint64_t begin, uint64_t) {
            if (begin == 777)
                throw UserError("at 777");
        });
    });
    EXPECT_EQ(message_of<UserError>(stream), "loop: at 777");
}

TEST(Stream, JobsAfterAFailedOneAreSkippedButReleased) {
    Stream stream;
    bool ran = false;
    auto resource = std::make_shared<int>(1);
    stream.enqueue("fail", [] { throw UserError("first"); });
    stream.enqueue("skipped", [&ran, resource] { ran = true; });
    stream.enqueue("second failure", [] { throw DeviceError("second"); });
    EXPECT_EQ(message_of<UserError>(stream), "fail: first");
    EXPECT_FALSE(ran);
    EXPECT_EQ(resource.use_count(), 1);
    stream.enqueue("again", [&] { ran = true; });
    stream.synchronize();
    EXPECT_TRUE(ran);
}

TEST(Stream, ReleasesWhatAJobCapturedBeforeSynchronizeReturns) {
    Stream stream;
    auto resource = std::make_shared<int>(1);
    for (int i = 0; i < 100; ++i) {
        stream.enqueue("hold", [resource] {});
        stream.synchronize();
        ASSERT_EQ(resource.use_count(), 1);
    }
}

TEST(Stream, DestructorDrainsTheQueue) {
    std::atomic<int> count{ 0 };
    {
        Stream stream;
        for (int i = 0; i < 100; ++i)
            stream.enqueue("count", [&] { count++; });
    }
    EXPECT_EQ(count, 100);
    {
        Stream stream;
        stream.enqueue("fail", [] { throw UserError("nobody asks"); });
    }
}

TEST(Stream, AJobMayEnqueueButNotSynchronize) {
    Stream stream;
    std::atomic<int> count{ 0 };
    stream.enqueue("parent", [&] {
        for (size_t i = 0; i < 2 * Stream::MaxPending; ++i)
            stream.enqueue("child", [&] { count++; });
    });
    stream.synchronize();
    EXPECT_EQ(count, int(2 * Stream::MaxPending));
    stream.enqueue("selfish", [&] { stream.synchronize(); });
    EXPECT_NE(message_of<InternalError>(stream).find("own stream"), std::string::npos);
}

TEST(Stream, ManyThreadsEnqueueAndSynchronize) {
    Stream stream;
    int count = 0; // not atomic: jobs never overlap
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                stream.enqueue("count", [&] { count++; }, i % 2);
                if (i % 10 == 0)
                    stream.synchronize();
            }
        });
    for (std::thread &t : threads)
        t.join();
    stream.synchronize();
    EXPECT_EQ(count, 2000);
}

TEST(Stream, StreamsAreIndependent) {
    Stream a, b;
    Gate gate;
    a.enqueue("wait for b", [&] { gate.pass(); });
    b.enqueue("open", [&] { gate.open(); });
    b.synchronize();
    a.synchronize();
}

TEST(Stream, ThreadCountBoundsTheThreadsOfALoop) {
    for (uint32_t threads : { 1u, 3u }) {
        ThreadCount scope(threads);
        EXPECT_EQ(Stream::thread_count(), threads);
        std::atomic<int> now{ 0 }, most{ 0 };
        Stream stream;
        stream.enqueue("loop", [&] {
            parallel_blocks(64, 1, [&](uint64_t, uint64_t) {
                int n = ++now, seen = most;
                while (n > seen && !most.compare_exchange_weak(seen, n))
                    ;
                std::this_thread::sleep_for(std::chrono::microseconds(200));
                --now;
            });
        });
        stream.synchronize();
        EXPECT_LE(most, int(threads));
        EXPECT_GE(most, 1);
    }
    EXPECT_GE(Stream::thread_count(), 1u);
}

TEST(ParallelBlocks, CoversEachElementOnceInBlocksThatIgnoreTheThreads) {
    for (uint32_t threads : { 1u, 2u, 7u }) {
        ThreadCount scope(threads);
        for (uint64_t n : { 0, 1, 9, 10, 11, 1000, 1001 }) {
            std::vector<std::atomic<int>> seen(n);
            run_in_arena([&] {
                parallel_blocks(n, 10, [&](uint64_t begin, uint64_t end) {
                    EXPECT_EQ(begin % 10, 0u);
                    EXPECT_EQ(end, std::min(n, begin + 10));
                    for (uint64_t i = begin; i < end; ++i)
                        seen[i]++;
                });
            });
            for (auto &s : seen)
                EXPECT_EQ(s, 1);
        }
    }
}

// ---- all streams

TEST(AllStreams, AreWaitedFor) {
    Stream a, b;
    std::atomic<int> done = 0;
    for (Stream *s : { &a, &b })
        s->enqueue("wait", [&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            ++done;
        });
    wait_for_all_streams();
    EXPECT_EQ(done, 2);
    EXPECT_TRUE(all_streams_idle());
}

TEST(AllStreams, LeaveErrorsToWhoSynchronizes) {
    Stream stream;
    stream.enqueue("load", [] { throw UserError("bad input"); });
    wait_for_all_streams();
    EXPECT_EQ(message_of<UserError>(stream), "load: bad input");
}

TEST(AllStreams, AreCancelledBetweenBlocks) {
    Stream stream, idle;
    std::atomic<uint64_t> blocks = 0;
    Gate began;
    stream.enqueue("long", [&] {
        parallel_blocks(1 << 20, 1, [&](uint64_t, uint64_t) {
            began.open();
            ++blocks;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    });
    bool ran = false;
    stream.enqueue("after", [&] { ran = true; });
    began.pass();
    cancel_all_streams();
    EXPECT_LT(blocks.load(), 1u << 18);
    EXPECT_FALSE(ran);
    EXPECT_EQ(message_of<DeviceError>(stream), "long: cancelled");
    EXPECT_EQ(message_of<DeviceError>(idle), "no error");
    stream.enqueue("later", [&] { ran = true; });
    stream.synchronize();
    EXPECT_TRUE(ran);
}

TEST(AllStreams, AWaitThatIsInterruptedLeavesJobsAlone) {
    Stream stream;
    Gate gate;
    bool done = false;
    stream.enqueue("wait", [&] {
        gate.pass();
        done = true;
    });
    {
        InterruptibleWaits scope([] { throw std::runtime_error("enough"); });
        EXPECT_THROW(stream.synchronize(), std::runtime_error);
    }
    EXPECT_FALSE(stream.idle());
    gate.open();
    stream.synchronize();
    EXPECT_TRUE(done);
}

} // namespace
} // namespace umbel::jit
