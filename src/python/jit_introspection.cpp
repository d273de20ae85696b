// python/jit_introspection.cpp: flags, the history of kernels, programs, memory, variants.
#include "core/variant.h"
#include "jit/control.h"
#include "jit/cuda/present.h"
#include "jit/cuda/sharing.h"
#include "jit/recording.h"
#include "python/buffers.h"
#include "python/functions.h"
#include "python/helpers.h"
#include <nanobind/stl/string.h>

namespace umbel::python {

namespace {

struct NamedFlag {
    const char *name;
    jit::Flag flag;
};
constexpr NamedFlag flags[] = {
    { "ValueNumbering", jit::Flag::ValueNumbering },
    { "Simplify", jit::Flag::Simplify },
    { "RecordLoops", jit::Flag::RecordLoops },
    { "RecordIfs", jit::Flag::RecordIfs },
    { "RecordCalls", jit::Flag::RecordCalls },
    { "OptimizeLoops", jit::Flag::OptimizeLoops },
    { "OptimizeCalls", jit::Flag::OptimizeCalls },
    { "MergeFunctions", jit::Flag::MergeFunctions },
    { "CodeMotion", jit::Flag::CodeMotion },
    { "FlattenIfs", jit::Flag::FlattenIfs },
    { "KernelCache", jit::Flag::KernelCache },
    { "History", jit::Flag::History },
    { "Async", jit::Flag::Async },
    { "Verify", jit::Flag::Verify },
    { "FastMath", jit::Flag::FastMath },
};

nb::list take_history() {
    nb::list out;
    for (const jit::KernelRecord &k : context().take_history()) {
        nb::dict d;
        d["name"] = k.name;
        d["backend"] = k.backend;
        d["size"] = k.size;
        d["operation_count"] = k.operations;
        d["functions"] = k.functions;
        d["input_count"] = k.inputs;
        d["output_count"] = k.outputs;
        d["codegen_time"] = k.codegen_seconds * 1e3; // milliseconds, as scripts expect
        d["backend_time"] = k.backend_seconds * 1e3;
        d["execution_time"] = k.run_seconds * 1e3;
        d["cache_hit"] = k.memory_hit;
        d["cache_disk"] = k.disk_hit;
        d["code_bytes"] = k.code_bytes;
        d["registers"] = k.resources.registers; // of GPUs
        d["local_bytes"] = k.resources.local_bytes;
        d["occupancy"] = k.resources.occupancy;
        out.append(d);
    }
    return out;
}

nb::dict memory_stats() {
    jit::MemoryStats s = jit::memory_stats();
    nb::dict d;
    d["in_use"] = s.in_use;
    d["cached"] = s.cached;
    d["peak"] = s.peak;
    d["buffers"] = s.buffers;
    d["allocations"] = s.allocations;
    d["reused"] = s.reused;
    nb::list devices;
    for (jit::Device *device : jit::open_devices()) {
        jit::DeviceStats of = device->stats();
        nb::dict one;
        one["name"] = of.name;
        one["number"] = jit::cuda_device_number(*device);
        one["in_use"] = of.in_use;
        one["cached"] = of.cached;
        one["peak"] = of.peak;
        one["free"] = of.free;
        one["total"] = of.total;
        devices.append(one);
    }
    d["devices"] = devices;
    return d;
}

} // namespace

void bind_introspection(nb::module_ &m) {
    nb::dict by_name;
    for (const NamedFlag &f : flags)
        by_name[f.name] = uint32_t(f.flag);
    m.attr("flags") = by_name;
    m.def("flag", [](uint32_t f) { return context().has(jit::Flag(f)); });
    m.def("set_flag", [](uint32_t f, bool on) { context().set(jit::Flag(f), on); });
    m.def("take_history", take_history);
    m.def("last_program", [] { return context().last_program_text(); });
    m.def("last_program_dot", [] { return context().last_program().dot(); });
    m.def("llvm_fingerprint", [] { return jit::llvm_backend().fingerprint(); });
    m.def("live_nodes", [] { return context().graph.live_nodes(); });
    m.def("memory_stats", memory_stats);
    m.def("trim", [] {
        release_foreign();
        jit::trim();
    });
    m.def("flush_kernels", [] { jit::flush_kernels(); });
    m.def("thread_count", [] { return jit::Stream::thread_count(); });
    m.def("set_thread_count", [](uint32_t n) { jit::Stream::set_thread_count(n); });

    m.def("choose_variant", [](const std::string &name) { choose_variant(name.c_str()); });
    m.def("choose_device", choose_device);
    m.def("variant", [] {
        enter();
        return variant().name;
    });
    m.def("variants", [] {
        nb::list out;
        for (const Variant &v : all_variants())
            out.append(v.name);
        return out;
    });
    m.def("cuda_facts", [] { // of the device in use: the driver's version, the capability
        jit::Device *device = context().backend().device();
        int capability = device ? jit::cuda_capability(*device) : 0;
        return nb::make_tuple(capability ? jit::cuda_driver_version() : 0, capability);
    });
    m.def("has_cuda", [] { return jit::cuda_is_present(); });
    m.def("variant_info",
          [](const std::string &name) { // backend, colour, polarized, double precision
              const Variant &v = find_variant(name);
              return nb::make_tuple(v.backend, int(v.colour), v.polarized, v.double_precision,
                                    v.ad);
          });
}

} // namespace umbel::python
