// jit/task.h: what a stream runs: a kernel or an algorithm, and the arrays that it works on.
//
// A task is complete in itself. So a copy of it with other arrays in their places is another launch of the same thing:
// see jit/recording.h.
#pragma once
#include "jit/context.h"
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace umbel::jit {

struct TaskArray {
    enum Use : uint8_t {
        Lane,  // read, an element a lane
        Read,  // read, or changed, anywhere
        Write, // made by the task
    };
    TaskArray(BufferRef buffer, Type type, uint64_t size, Use use, uint64_t run = 1,
              uint32_t node = 0)
        : buffer(std::move(buffer)), size(size), run(run), node(node), type(type), use(use) {}

    BufferRef buffer;
    uint64_t size; // elements
    /// Write: an element for each run of so many lanes; 0: one element in all.
    uint64_t run;
    /// The value that has the array; 0 where that is unknown. No reference.
    uint32_t node;
    Type type;
    Use use;
};

struct Task {
    std::string name;
    uint64_t size = 0; // lanes
    std::vector<TaskArray> arrays;
    bool is_small = false; // takes less than the hand-off to another thread
    KernelRecord record;   // for the history

    virtual ~Task() = default;
    /// In the stream.
    virtual void run() = 0;
    virtual std::shared_ptr<Task> copy() const = 0;
    /// Whether the other one does the same, if to other arrays.
    virtual bool same(const Task &other) const = 0;

    /// The place of an array, entered where it is new.
    uint32_t add(TaskArray array) {
        find_places();
        auto [it, fresh] = m_places.of.emplace(key(array), m_places.known);
        if (fresh)
            append(std::move(array));
        return it->second;
    }
    /// Enters one that as a rule nobody names again: data of an instance. Scenes have millions of them.
    uint32_t append(TaskArray array) {
        find_places();
        arrays.push_back(std::move(array));
        return m_places.known++;
    }
    template <class T = void> T *data(size_t i) const {
        return static_cast<T *>(arrays[i].buffer->data());
    }

private:
    static uintptr_t key(const TaskArray &a) { // buffers are objects of more than four bytes
        return reinterpret_cast<uintptr_t>(a.buffer.get()) + a.use;
    }
    void find_places() {
        for (uint32_t &k = m_places.known; k < arrays.size(); ++k)
            m_places.of.emplace(key(arrays[k]), k);
    }

    struct Places { // of the first arrays, as many as are known
        std::unordered_map<uintptr_t, uint32_t> of;
        uint32_t known = 0;
        Places() = default;
        Places(const Places &) {} // a task is copied to be given other arrays
        Places &operator=(const Places &) { return *this = Places(); }
        Places &operator=(Places &&) = default;
    } m_places;
};

} // namespace umbel::jit
