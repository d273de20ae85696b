// python/jit_context.cpp: the recording context of Python's arrays; errors; functions supplied by Python.
#include "ad/ad.h"
#include "core/device_choice.h"
#include "core/printable.h"
#include "core/variant.h"
#include "jit/all_streams.h"
#include "jit/background.h"
#include "jit/state_access.h"
#include "python/functions.h"
#include "python/objects.h"
#include "python/waiting.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <nanobind/nanobind.h>
#include <set>
#include <thread>

namespace nb = nanobind;

namespace umbel::python {

namespace {
// The variant is the process's: a script sets it once, and its threads share one context for each backend.
const Variant *g_variant = nullptr;
int g_device = -1; // so is the device
thread_local std::unique_ptr<jit::ContextScope> t_scope;
PyObject *g_hooks = nullptr;
std::atomic<const uint64_t *> g_last = nullptr; // the thread, by its t_epoch, that ends the process

// While in scope, other threads of Python's run. The end of the process waits until all are back: later on, the interpreter would end
// the thread where it asks for the lock, in the midst of code that cannot be left.
std::atomic<int> g_outside = 0;
class OthersMayRun {
public:
    OthersMayRun() : m_state((++g_outside, PyEval_SaveThread())) {}
    ~OthersMayRun() {
        PyEval_RestoreThread(m_state);
        --g_outside;
    }
    OthersMayRun(const OthersMayRun &) = delete;

private:
    PyThreadState *m_state;
};

// Threads that have had arrays, by Python's numbers.
std::set<unsigned long> g_threads;

// Whether one of them, but for the caller, has not ended.
bool others_run() {
    PyThreadState *t = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; t; t = PyThreadState_Next(t))
        if (t != PyThreadState_Get() && g_threads.count(t->thread_id))
            return true;
    return false;
}
} // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local uint64_t t_epoch = 0;
uint64_t g_epoch = 1;
Context *g_context = nullptr;
const uint64_t *g_recorder = nullptr;

void wait_for_recorder() {
    while (g_context->region != 0 && g_recorder != &t_epoch) {
        {
            OthersMayRun scope;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        leave_if_ending();
    }
    if (g_context->region == 0)
        g_recorder = &t_epoch;
}

// ---- threads that wait in the middle of an operation

static void check_signals() {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0)
        throw PythonError();
}

namespace {
std::vector<const uint64_t *> g_inside; // by their t_epoch
uint64_t g_choice = 1;                  // of variants and devices
thread_local uint64_t t_choice = 0;     // that this thread knows

bool another_is_inside() {
    return std::ranges::any_of(g_inside, [](const uint64_t *t) { return t != &t_epoch; });
}
void let_others_run_while(auto &&condition) {
    while (condition()) {
        {
            OthersMayRun scope;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        leave_if_ending();
        check_signals();
    }
}
// What goes on must not be recorded into a body of another thread's; `or_for` is what else there is to wait for.
void wait_for_body(Context &c, bool (*or_for)()) {
    let_others_run_while([&] { return or_for() || (c.region != 0 && g_recorder != &t_epoch); });
    if (c.region == 0)
        g_recorder = &t_epoch;
}
} // namespace

void wait_inside(Context &c) {
    struct Inside {
        Inside() {
            g_inside.push_back(&t_epoch);
            bool is_known = t_epoch == g_epoch;
            ++g_epoch; // others find out at their next operation
            if (is_known)
                t_epoch = g_epoch;
        }
        ~Inside() { g_inside.erase(std::ranges::find(g_inside, &t_epoch)); }
    } inside;
    wait_for(c);
    wait_for_body(c, [] { return false; });
}

void wait_between(Context &c) {
    wait_for(c);
    wait_for_body(c, another_is_inside);
}

void choose_context() {
    leave_if_ending();
    bool records = g_context && g_context->region != 0 && g_recorder == &t_epoch;
    if (!records) // whose end the other one waits for
        let_others_run_while(another_is_inside);
    if (t_choice == g_choice) {
        if (!another_is_inside()) // or this is asked again when the body that is recorded has ended
            t_epoch = g_epoch;
        return;
    }
    g_threads.insert(PyThread_get_thread_ident());
    share_contexts();
    if (!g_variant)
        g_variant = &find_variant("llvm_rgb");
    const Variant &v = on_device(*g_variant, g_device);
    set_variant(v);
    g_context = &v.context();
    t_scope.reset();
    t_scope = std::make_unique<jit::ContextScope>(*g_context);
    t_epoch = g_epoch;
    t_choice = g_choice;
}

Context &context() {
    enter();
    return *g_context;
}

void choose_variant(const char *name) {
    const Variant &v = find_variant(name);
    if (&v == g_variant)
        return;
    const Variant *before = std::exchange(g_variant, &v);
    ++g_epoch;
    ++g_choice;
    try {
        enter();
    } catch (...) { // there is no such device: what was chosen before stays
        g_variant = before;
        throw;
    }
}

int choose_device(int number) {
    if (number == g_device)
        return number;
    int before = std::exchange(g_device, number);
    ++g_epoch;
    ++g_choice;
    try {
        enter();
    } catch (...) {
        g_device = before;
        throw;
    }
    return before;
}

// ---- waiting, and the end of the process

namespace {
struct LeavesKernel final : PythonError, jit::Interrupted {};

PyObject *g_getsignal, *g_sigint, *g_default_handler;

// While a kernel is compiled, arrays are in the middle of an evaluation. No code of Python's may run, neither handlers of signals
// nor other threads: whoever has a handler of their own for Ctrl-C has it called when the kernel is compiled.
void leave_if_interrupted() {
    if (!PyGILState_Check())
        return;
    PyObject *args[] = { nullptr, g_sigint };
    PyObject *handler =
        PyObject_Vectorcall(g_getsignal, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    bool is_default = handler == g_default_handler;
    Py_XDECREF(handler);
    if (!handler)
        PyErr_Clear();
    if (!is_default || !PyOS_InterruptOccurred())
        return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw LeavesKernel();
}
} // namespace

void hear_interrupts() {
    nb::module_ signal =
        nb::module_::import_("_signal"); // in C: that of `signal` would run handlers
    g_getsignal = nb::object(signal.attr("getsignal")).release().ptr();
    g_sigint = PyLong_FromLong(SIGINT);
    g_default_handler = nb::object(signal.attr("default_int_handler")).release().ptr();
    jit::set_look(leave_if_interrupted);
}

void wait_for(Context &c) {
    OthersMayRun others_may_run;
    jit::InterruptibleWaits scope(check_signals);
    c.synchronize();
}

void leave_if_ending() {
    if (g_last && g_last != &t_epoch) {
        PyErr_SetNone(PyExc_SystemExit); // which ends a thread without a message
        throw PythonError();
    }
}

bool finish(bool cancel) {
    if (jit::streams_are_of_another_process())
        return false;
    g_last = &t_epoch;
    ++g_epoch; // other threads find out at their next operation
    // Those in functions of the script that C++ has called, such as bodies of loops, find out at once: the interpreter would end
    // them there, and what calls them cannot be left that way. Those that wait for something else are not waited for
    for (unsigned long thread : g_threads)
        if (thread != PyThread_get_thread_ident())
            PyThreadState_SetAsyncExc(thread, PyExc_SystemExit);
    auto last = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    auto are_leaving = [&] { return others_run() && std::chrono::steady_clock::now() < last; };
    while (!jit::all_streams_idle() || g_outside || are_leaving()) {
        nb::gil_scoped_release others_may_end;
        try {
            if (!cancel)
                jit::wait_for_all_streams(check_signals);
        } catch (const PythonError &) {
            cancel = true;
        }
        if (cancel)
            jit::cancel_all_streams();
        std::this_thread::sleep_for(
            std::chrono::microseconds(200)); // for those that are on their way back
    }
    PyErr_Clear(); // of an interrupt, which has been obeyed
    return true;
}

void set_hooks(nb::dict hooks) { g_hooks = hooks.release().ptr(); }

PyObject *hook(const char *name) {
    PyObject *f = g_hooks ? PyDict_GetItemString(g_hooks, name) : nullptr;
    if (!f)
        raise(PyExc_RuntimeError, fmt::format("umbel.jit has not been imported (no \"{}\")", name));
    return f;
}

void raise(PyObject *type, const std::string &message) {
    PyErr_SetString(type, message.c_str());
    throw PythonError();
}

void set_user_error(const UserError &e) {
    std::string message = printable(e.what()); // it may quote files
    if (auto *access = dynamic_cast<const jit::StateAccess *>(&e))
        PyErr_SetObject(hook("StateAccess"), nb::make_tuple(message.c_str(), access->node).ptr());
    else
        PyErr_SetString(hook(dynamic_cast<const ad::InsideBody *>(&e) ? "InsideBody" : "UserError"),
                        message.c_str());
}

void set_python_error() {
    try {
        throw;
    } catch (const PythonError &) { // set already
    } catch (nb::python_error &e) {
        e.restore();
    } catch (const nb::builtin_exception &e) {
        PyErr_SetString(PyExc_TypeError, e.what());
    } catch (const UserError &e) {
        set_user_error(e);
    } catch (const DeviceError &e) {
        PyErr_SetString(hook("DeviceError"), printable(e.what()).c_str());
    } catch (const InternalError &e) {
        PyErr_SetString(hook("InternalError"), e.what());
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
    } catch (const std::exception &e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
}

} // namespace umbel::python
