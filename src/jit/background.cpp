// jit/background.cpp: see jit/background.h.
#include "jit/background.h"
#include "jit/error.h"
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace umbel::jit {
namespace {

std::atomic<Look> g_look = nullptr;
std::atomic<bool> g_is_ending = false;

struct Worker {
    std::atomic<bool> is_done = false;
    std::thread thread;
};

struct Workers {
    std::mutex mutex;
    std::vector<std::unique_ptr<Worker>> all;
    pid_t process = getpid(); // a fork of it has none of the threads

    // Needs the lock.
    void join(bool all_of_them) {
        std::erase_if(all, [&](const std::unique_ptr<Worker> &w) {
            if (!all_of_them && !w->is_done)
                return false;
            w->thread.join();
            return true;
        });
    }
};

void end();

Workers &workers() {
    static Workers *instance = [] {
        auto *made = new Workers; // leaked: other statics may go before threads end
        std::atexit(end);
        return made;
    }();
    return *instance;
}

void end() {
    Workers &w = workers();
    if (w.process != getpid())
        return;
    g_is_ending = true;
    std::lock_guard lock(w.mutex);
    w.join(true);
}

// What the main thread destroys first of all when the process ends. Functions given to atexit() come too late: libraries that
// workers have loaded or begun to use since, such as NVIDIA's assembler, are undone before.
struct EndOfMain {
    ~EndOfMain() { end(); }
};
void end_with_this_thread() {
    static thread_local EndOfMain at_its_end;
    (void)at_its_end;
}

} // namespace

void set_look(Look look) { g_look = look; }
Look current_look() { return g_look; }

bool run_in_background(std::function<void()> work) {
    Workers &w = workers();
    if (w.process != getpid())
        return false;
    if (getpid() == gettid())
        end_with_this_thread();
    try {
        auto made = std::make_unique<Worker>();
        std::lock_guard lock(w.mutex);
        w.join(false);
        w.all.push_back(nullptr);
        try {
            made->thread = std::thread([work = std::move(work), worker = made.get()] {
                work();
                worker->is_done = true;
            });
        } catch (...) {
            w.all.pop_back();
            throw;
        }
        w.all.back() = std::move(made);
        return true;
    } catch (const std::bad_alloc &) {
        return false;
    } catch (const std::system_error &) {
        return false;
    }
}

void leave_if_unwanted() {
    if (g_is_ending)
        throw DeviceError("the process ends");
}

} // namespace umbel::jit
