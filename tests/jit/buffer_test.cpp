// tests/jit/buffer_test.cpp: reference counts and the caching allocator.
#include "jit/available_memory.h"
#include "jit/buffer.h"
#include "jit/device.h"
#include "jit/error.h"
#include <cstring>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace umbel::jit {
namespace {

constexpr uint64_t MiB = 1 << 20;
const uint64_t Sizes[] = { 0,    1,     63,      64,      65,          511,     512,
                           4096, 65535, 1000000, 1 << 20, 3 * MiB + 5, 40 * MiB };

TEST(Buffer, IsAlignedAndWritableUpToItsPadding) {
    for (uint64_t bytes : Sizes) {
        BufferRef b = allocate(bytes);
        EXPECT_EQ(b->bytes(), bytes);
        EXPECT_EQ(uintptr_t(b->data()) % 64, 0u);
        std::memset(b->data(), 0x5a, bytes + BufferPadding);
        EXPECT_EQ(((unsigned char *)b->data())[bytes + BufferPadding - 1], 0x5a);
    }
}

TEST(Buffer, BuffersDoNotOverlap) {
    std::vector<BufferRef> all;
    for (int round = 0; round < 3; ++round)
        for (uint64_t bytes : Sizes) {
            all.push_back(allocate(bytes));
            std::memset(all.back()->data(), int(all.size()), bytes + BufferPadding);
        }
    for (size_t i = 0; i < all.size(); ++i) {
        auto *data = (unsigned char *)all[i]->data();
        EXPECT_EQ(data[0], i + 1);
        EXPECT_EQ(data[all[i]->bytes() + BufferPadding - 1], i + 1);
    }
}

TEST(Buffer, FreedMemoryIsReusedAtOnce) {
    for (uint64_t bytes : Sizes) {
        void *first = allocate(bytes)->data();
        EXPECT_EQ(allocate(bytes)->data(), first) << bytes;
    }
}

// Blocks of many sizes that are never in use together would add up.
TEST(Buffer, FreedMemoryServesAlsoWhatIsALittleSmaller) {
    for (uint64_t bytes : { 100000u, 1u << 20, 3u << 20 }) {
        trim();
        void *first = allocate(bytes * 9 / 8)->data();
        EXPECT_EQ(allocate(bytes)->data(), first) << bytes;
        EXPECT_NE(allocate(bytes / 2)->data(), first) << bytes << ": much smaller";
        BufferRef b = allocate(bytes);
        std::memset(b->data(), 1, bytes + BufferPadding);
        b.reset();
        EXPECT_EQ(allocate(bytes * 9 / 8)->data(), first) << bytes << ": none of it is lost";
    }
}

TEST(Buffer, RoundingCostsAtMostAnEighth) {
    trim(); // of fresh memory
    for (uint64_t bytes = 100; bytes < 64 * MiB; bytes = bytes * 21 / 16 + 13) {
        uint64_t before = memory_stats().in_use;
        BufferRef b = allocate(bytes);
        EXPECT_LE(memory_stats().in_use - before, (bytes + BufferPadding) * 9 / 8 + 64) << bytes;
    }
}

TEST(Buffer, HandlesCountReferences) {
    uint64_t before = memory_stats().buffers;
    BufferRef a = allocate(100);
    EXPECT_TRUE(a.unique());
    {
        BufferRef b = a, c = std::move(b), d;
        EXPECT_FALSE(b);
        EXPECT_TRUE(a == c);
        EXPECT_FALSE(a.unique());
        d = c;
        d = *&d;
        c.reset();
        EXPECT_EQ(d->data(), a->data());
    }
    EXPECT_TRUE(a.unique());
    EXPECT_EQ(memory_stats().buffers, before + 1);
    a = nullptr;
    EXPECT_EQ(memory_stats().buffers, before);
    EXPECT_FALSE(a.unique());
}

TEST(Buffer, BorrowedMemoryIsReleasedOnceByTheLastHandle) {
    int value = 7, released = 0;
    uint64_t in_use = memory_stats().in_use;
    BufferRef a = borrow(&value, sizeof(value), [&] { released++; });
    EXPECT_EQ(a->data(), &value);
    EXPECT_TRUE(a->borrowed());
    BufferRef b = a;
    a.reset();
    EXPECT_EQ(released, 0);
    b.reset();
    EXPECT_EQ(released, 1);
    EXPECT_EQ(memory_stats().in_use, in_use);
    borrow(&value, sizeof(value), nullptr);
}

TEST(Buffer, TrimEmptiesTheCache) {
    allocate(5 * MiB);
    EXPECT_GE(memory_stats().cached, 5 * MiB);
    trim();
    EXPECT_EQ(memory_stats().cached, 0u);
    BufferRef b = allocate(5 * MiB);
    std::memset(b->data(), 1, b->bytes());
}

TEST(Buffer, CacheStaysBelowItsLimit) {
    trim();
    for (uint64_t mib = 1; mib < 400; ++mib)
        allocate(mib * MiB); // never touched: costs address space only
    MemoryStats s = memory_stats();
    EXPECT_LE(s.in_use + s.cached, s.peak + s.peak / 2 + 256 * MiB);
    EXPECT_GE(s.cached, 256 * MiB);
    trim();
}

TEST(Buffer, CountsPeakAndReuse) {
    trim();
    MemoryStats before = memory_stats();
    {
        BufferRef a = allocate(2 * MiB), b = allocate(2 * MiB);
    }
    BufferRef c = allocate(2 * MiB);
    MemoryStats after = memory_stats();
    EXPECT_EQ(after.allocations, before.allocations + 3);
    EXPECT_EQ(after.reused, before.reused + 1);
    EXPECT_GE(after.peak, before.in_use + 4 * MiB);
    EXPECT_EQ(after.buffers, before.buffers + 1);
}

TEST(Buffer, ImpossibleSizesAreDeviceErrorsThatNameThem) {
    for (uint64_t bytes : { uint64_t(1) << 50, ~uint64_t(0), ~uint64_t(0) - 600 }) {
        try {
            allocate(bytes);
            FAIL() << "expected an error";
        } catch (const DeviceError &e) {
            EXPECT_NE(std::string(e.what()).find(std::to_string(bytes)), std::string::npos)
                << e.what();
            EXPECT_NE(std::string(e.what()).find("cached"), std::string::npos);
        }
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The system has room for what it has no memory for; who used that was ended.
TEST(Buffer, MoreThanThereIsIsADeviceError) {
    trim();
    uint64_t there_is = available_memory();
    if (Device::exists || there_is > UINT64_MAX >> 8)
        GTEST_SKIP() << "nothing is known of this machine's memory";
    EXPECT_THROW(allocate(there_is + 2048 * MiB),
                 DeviceError); // others may give some back meanwhile
    allocate(100 * MiB);
}

TEST(Buffer, CacheIsGivenBackWhenTheSystemHasNoMore) {
    trim();
    {
        BufferRef cached = allocate(150 * MiB);
    }
    ASSERT_GE(memory_stats().cached, 150 * MiB);
    // Leave room for 100 MiB more of address space
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    ASSERT_TRUE(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    rlimit old, limit;
    getrlimit(RLIMIT_AS, &old);
    limit = old;
    limit.rlim_cur = uint64_t(pages) * sysconf(_SC_PAGESIZE) + 100 * MiB;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    BufferRef b;
    std::string error;
    try {
        b = allocate(190 * MiB);
    } catch (const std::exception &e) {
        error = e.what();
    }
    setrlimit(RLIMIT_AS, &old);
    EXPECT_TRUE(b) << error;
    EXPECT_EQ(memory_stats().cached, 0u);
}
#endif

TEST(Buffer, ManyThreadsAllocateAndShare) {
    MemoryStats before = memory_stats();
    BufferRef shared = allocate(64);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([t, shared] {
            std::vector<BufferRef> mine(16);
            for (uint32_t i = 0; i < 2000; ++i) {
                BufferRef copy = shared;
                BufferRef &b = mine[i * 7 % 16];
                b = allocate((i * 2654435761u) >> 14);
                std::memset(b->data(), t, b->bytes());
                for (const BufferRef &other : mine)
                    if (other && other->bytes()) {
                        ASSERT_EQ(*(char *)other->data(), t);
                    }
            }
        });
    for (std::thread &t : threads)
        t.join();
    threads.clear();
    EXPECT_TRUE(shared.unique());
    shared.reset();
    EXPECT_EQ(memory_stats().in_use, before.in_use);
    EXPECT_EQ(memory_stats().buffers, before.buffers);
}

} // namespace
} // namespace umbel::jit
