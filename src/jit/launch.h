// jit/launch.h: handing tasks to a context's stream.
#pragma once
#include "jit/task.h"
#include <functional>

namespace umbel::jit {

/// An algorithm over whole arrays.
struct AlgorithmTask final : Task {
    using Function = std::function<void(const Task &)>;
    Function function;            // finds sizes and arrays in the task that it is given
    std::vector<uint64_t> params; // what else its result depends on
    bool is_on_device = false;    // it fills the copies that a device has; else the host's

    void run() override {
        function(*this);
        for (const TaskArray &a : arrays)
            if (a.use == TaskArray::Lane)
                continue;
            else if (!is_on_device)
                a.buffer->host_wrote();
            else if (a.buffer->bytes())
                a.buffer->device_wrote();
    }
    std::shared_ptr<Task> copy() const override { return std::make_shared<AlgorithmTask>(*this); }
    bool same(const Task &other) const override {
        auto *o = dynamic_cast<const AlgorithmTask *>(&other);
        return o && o->name == name && o->params == params;
    }
};

/// DeviceError if the task that was to fill the array has failed.
void refuse_lost(const BufferRef &buffer);
/// Bytes of results that queued tasks are to fill, and how many there should be at most: then wait for some. Tests lower it.
uint64_t bytes_in_flight();
extern uint64_t most_in_flight;
/// A recorder notes the task; `waits`: all before it had ended.
void note_launch(Context &c, const Task &task, bool waits = false);
/// Hands it to the stream, and to the history.
void submit(Context &c, const std::shared_ptr<Task> &task);
/// Both.
void launch(Context &c, const std::shared_ptr<Task> &task);
void launch_algorithm(Context &c, const char *name, uint64_t size, std::vector<TaskArray> arrays,
                      std::vector<uint64_t> params, AlgorithmTask::Function function,
                      bool is_on_device = false);
/// Waits for all tasks, then runs this one: sizes of its arrays may depend on their contents.
void run_now(Context &c, Task &task);

} // namespace umbel::jit
