// fuzzer/slot.h: memory that the fuzzer shares with its workers, so that it knows what a worker did when it ended.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umbel::test {

/// A worker ends with this code after it has put its finding down in its slot.
enum : int { WorkerIsDone = 0, WorkerFoundWrongResult = 10, WorkerFoundTooMuchMemory = 11 };

struct Slot {
    static constexpr uint32_t MaxBytes = 1 << 20;
    std::atomic<uint64_t> tries, runs, accepted; // runs: tries of damaged files
    std::atomic<uint32_t> size;                  // of the bytes that are being tried
    char sample[64], variant[64], message[1024];
    char bytes[MaxBytes];
};

struct Shared {
    static constexpr int MaxWorkers = 64;
    static constexpr size_t Places = 1 << 18;
    std::atomic<int64_t> left; // damaged files that are still to be tried ...
    int64_t turn;              // ... so many of a sample before it is the next one's turn
    std::atomic<bool> stop;
    std::atomic<uint32_t> next_turn;
    uint8_t reached[Places]; // code that some worker has reached
    Slot slots[MaxWorkers];
};

} // namespace umbel::test
