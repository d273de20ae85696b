// jit/history.h: the launches of a context, recorded by its frontend and timed by its stream.
#pragma once
#include "jit/context.h"
#include <mutex>

namespace umbel::jit {

struct History {
    size_t add(KernelRecord r) {
        std::lock_guard lock(mutex);
        records.push_back(std::move(r));
        return first + records.size() - 1;
    }
    void set_run_time(size_t index, double seconds) {
        std::lock_guard lock(mutex);
        if (index >= first && index - first < records.size())
            records[index - first].run_seconds = seconds;
    }
    /// What other threads have added to a kernel after it was compiled.
    void add_compilation(size_t index, double seconds, size_t code_bytes) {
        std::lock_guard lock(mutex);
        if (index < first || index - first >= records.size())
            return;
        records[index - first].backend_seconds += seconds;
        records[index - first].code_bytes = code_bytes;
    }
    void set_resources(size_t index, const KernelResources &resources) {
        std::lock_guard lock(mutex);
        if (index >= first && index - first < records.size())
            records[index - first].resources = resources;
    }
    std::vector<KernelRecord> take() {
        std::lock_guard lock(mutex);
        first += records.size();
        return std::exchange(records, {});
    }

    std::mutex mutex;
    std::vector<KernelRecord> records;
    size_t first = 0; // number of records taken so far
};

} // namespace umbel::jit
