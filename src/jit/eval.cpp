// jit/eval.cpp: from values to kernels on their way: grouping, the cache, binding, launching.
#include "jit/algorithm.h"
#include "jit/array.h"
#include "jit/assemble.h"
#include "jit/history.h"
#include "jit/kernel_cache.h"
#include "jit/launch_log.h"
#include <algorithm>
#include <chrono>

namespace umbel::jit {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
}

KernelCache &kernel_cache() {
    static KernelCache cache;
    return cache;
}

// The records of all instances of a call site, and the table that leads to them.
struct CallTables {
    std::vector<uint32_t> table; // {callee, data offset} by id; entry 0: {number of ids, 0}
    std::vector<uint8_t> data;
    struct Copy {
        uint32_t offset;
        uint8_t bytes;    // 0: store the address itself
        BufferRef source;
    };
    std::vector<Copy> copies;

    CallTables(const Graph &g, const CallLayout &layout) {
        const CallRecord &r = *layout.record;
        table.assign({ uint32_t(r.instances.size()), 0 });
        uint32_t offset = 0;
        for (const auto &instance : r.instances) {
            if (instance.body == ~0u) {
                table.insert(table.end(), { ~0u, 0 });
                continue;
            }
            table.insert(table.end(), { layout.callee[instance.body], offset });
            for (const DataField &f : layout.fields[instance.body]) {
                NodeId leaf = instance.leaves[f.leaf];
                bool address = f.type == Type::Ptr && g[leaf].op == Op::Address;
                NodeId buffer = address ? g[leaf].dep[0] : leaf;
                copies.push_back({ offset + f.offset, uint8_t(address ? 0 : bytes(f.type)),
                                   g.buffer_of(buffer) });
            }
            offset += (layout.data_bytes[instance.body] + 15) / 16 * 16;
        }
        data.resize(offset + 64);
    }

    // Runs in the stream, when the buffers it reads have their contents.
    void fill() {
        for (const Copy &c : copies) {
            void *address = c.source->data();
            if (c.bytes == 0)
                std::memcpy(&data[c.offset], &address, sizeof(address));
            else
                std::memcpy(&data[c.offset], address, c.bytes);
        }
    }
};

// All that a launch needs once the frontend has gone on.
struct Job {
    std::shared_ptr<Kernel> kernel;
    std::vector<void *> args;
    std::vector<uint64_t> sizes;
    std::vector<BufferRef> keep;
    std::vector<CallTables> tables;
    std::vector<std::pair<uint32_t, uint32_t>> table_args; // argument, 2 * table + (1: data)
    std::vector<ExternSite> externs;
    std::string name;
    uint64_t size = 0, work = 0;
    std::shared_ptr<History> history;
    size_t history_index = ~size_t(0);

    void run() {
        Clock::time_point start = Clock::now();
        for (CallTables &t : tables)
            t.fill();
        for (auto [arg, which] : table_args) {
            CallTables &t = tables[which / 2];
            args[arg] = which & 1 ? static_cast<void *>(t.data.data()) : t.table.data();
            sizes[arg] = which & 1 ? t.data.size() : t.table.size();
        }
        CollectingLog log(externs);
        Launch launch{ args.data(), sizes.data(), size, &log };
        // Enough blocks to balance the load, none so small that handing it out costs more than its work
        uint64_t per_block = std::max<uint64_t>(Grain, size / 64);
        if (work < 1u << 16)
            per_block = size;
        per_block = (per_block + Grain - 1) / Grain * Grain;
        parallel_blocks(size, per_block, [&](uint64_t begin, uint64_t end) {
            kernel->run(launch, begin, end);
        });
        if (history)
            history->set_run_time(history_index, seconds_since(start));
        log.finish();
    }
};

} // namespace

Context::Context(Backend &backend) : m_backend(&backend), m_history(std::make_shared<History>()) {}

Context::~Context() {
    try {
        m_stream.synchronize();
    } catch (...) {
    }
    for (NodeId id : m_scheduled)
        graph.release(id);
    for (DirtyBuffer d : m_dirty)
        graph.release(d.node);
    for (NodeId e : std::exchange(graph.region(0).effects, {}))
        graph.release(e);
}

void Context::enqueue(std::string name, std::function<void()> job, bool small) {
    m_stream.enqueue(std::move(name), std::move(job), small);
    if (!has(Flag::Async))
        m_stream.synchronize();
}

void Context::evaluate(std::span<const NodeId> roots) {
    struct Group {
        std::vector<NodeId> outputs, effects;
    };
    std::map<uint32_t, Group> groups;
    std::vector<NodeId> literals, ordered;
    std::vector<NodeId> scheduled = std::exchange(m_scheduled, {});
    std::vector<NodeId> effects = std::exchange(graph.region(0).effects, {});
    // Whatever happens below, the references are given back and no effect runs twice.
    struct Release {
        Context &c;
        std::vector<NodeId> &a, &b;
        ~Release() {
            for (auto *list : { &a, &b })
                for (NodeId id : *list)
                    c.graph.release(id);
            c.clear_dirty();
        }
    } release{ *this, scheduled, effects };

    // Group by size
    if (scratch.size() < graph.capacity())
        scratch.resize(graph.capacity());
    ++epoch;
    auto add = [&](NodeId id) {
        const Node &n = graph[id];
        if (n.op == Op::Buffer || scratch[id].epoch == epoch)
            return;
        scratch[id].epoch = epoch;
        if (n.region)
            fail("eval: the value is computed inside a recorded {}; it has no contents before the {} has "
                 "been recorded and run. Return it, or print() it",
                 graph.region(n.region).kind, graph.region(n.region).kind);
        if (n.length)
            fail("eval: a local array cannot be evaluated; evaluate elements of it");
        if (n.op == Op::Literal)
            literals.push_back(id);
        else
            groups[n.size].outputs.push_back(id);
    };
    for (NodeId id : effects) {
        const Node &n = graph[id];
        if (n.flags & Ordered) {
            ordered.push_back(id);
            add(n.dep[1]);
            add(n.dep[2]);
            if (graph[n.dep[3]].op != Op::Literal)
                add(n.dep[3]);
        } else {
            groups[n.size].effects.push_back(id);
        }
    }
    for (NodeId id : scheduled)
        add(id);
    for (NodeId id : roots)
        add(id);

    for (NodeId id : literals)
        fill_literal(id);
    for (auto &[size, group] : groups)
        evaluate_group(size, group.outputs, group.effects);
    for (NodeId id : ordered)
        launch_ordered_scatter(id);
}

void Context::evaluate_group(uint32_t size, const std::vector<NodeId> &outputs,
                             const std::vector<NodeId> &effects) {
    // The program
    Clock::time_point start = Clock::now();
    Assembly a = assemble(*this, outputs, effects, size);
    if (has(Flag::Verify))
        verify(a.program);
    std::string bytes_of_program = a.program.serialize();
    double codegen = seconds_since(start);

    // The kernel
    start = Clock::now();
    auto job = std::make_shared<Job>();
    bool memory_hit = false, disk_hit = false;
    Key key = hash_program(bytes_of_program, KernelCache::fingerprint(*m_backend));
    job->name = fmt::format("kernel_{:016x}", key.lo);
    if (has(Flag::KernelCache))
        job->kernel = kernel_cache().get(*m_backend, a.program, bytes_of_program, &memory_hit, &disk_hit);
    else
        job->kernel = m_backend->compile(a.program, job->name);
    double backend = seconds_since(start);

    // Its arguments
    job->size = size;
    size_t operations = a.program.instruction_count();
    job->work = uint64_t(size) * operations;
    job->args.resize(a.bindings.size());
    job->sizes.resize(a.bindings.size());
    job->externs = a.program.externs;
    for (CallLayout &layout : a.layouts)
        job->tables.emplace_back(graph, layout);
    std::vector<BufferRef> results(outputs.size());
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < a.bindings.size(); ++i) {
        const Binding &b = a.bindings[i];
        BufferRef buffer;
        if (b.output != ~0u) {
            buffer = allocate(uint64_t(size) * bytes(graph[outputs[b.output]].type));
            results[b.output] = buffer;
            job->sizes[i] = size;
        } else if (b.call) {
            uint32_t table = 0;
            while (a.layouts[table].record != b.call)
                ++table;
            job->table_args.push_back(
                { i, 2 * table + (a.program.args[i].kind == ArgKind::CallData ? 1 : 0) });
            continue;
        } else {
            buffer = graph.buffer_of(b.node);
            job->sizes[i] = graph[b.node].size;
            ++inputs;
        }
        job->args[i] = buffer->data();
        job->keep.push_back(std::move(buffer));
    }

    // Off it goes
    if (has(Flag::History)) {
        job->history = m_history;
        job->history_index = m_history->add({ .name = job->name, .backend = m_backend->name(),
                                              .size = size, .operations = uint32_t(operations),
                                              .functions = uint32_t(a.program.functions.size()),
                                              .inputs = inputs, .outputs = uint32_t(outputs.size()),
                                              .codegen_seconds = codegen,
                                              .backend_seconds = memory_hit ? 0 : backend,
                                              .memory_hit = memory_hit, .disk_hit = disk_hit,
                                              .code_bytes = job->kernel->code_bytes() });
    }
    for (size_t k = 0; k < outputs.size(); ++k)
        graph.become_buffer(outputs[k], results[k]);
    m_last_program = std::move(a.program);
    std::string name = job->name;
    bool small = job->work < 1u << 14 && effects.empty();
    if (size > 0)
        enqueue(std::move(name), [job] { job->run(); }, small);
}

void Context::fill_literal(NodeId id) {
    const Node n = graph[id];
    uint64_t width = bytes(n.type), total = width * n.size;
    BufferRef buffer = allocate(total);
    auto job = [buffer, n, width, total] {
        auto *p = static_cast<uint8_t *>(buffer->data());
        if (n.imm == 0) {
            parallel_blocks(total, 1 << 22, [&](uint64_t b, uint64_t e) { std::memset(p + b, 0, e - b); });
            return;
        }
        parallel_blocks(n.size, 1 << 20, [&](uint64_t b, uint64_t e) {
            for (uint64_t i = b; i < e; ++i)
                std::memcpy(p + i * width, &n.imm, width);
        });
    };
    enqueue("fill", job, total < 65536);
    graph.become_buffer(id, buffer);
}

void Context::launch_ordered_scatter(NodeId effect) {
    const Node n = graph[effect];
    BufferRef target = graph.buffer_of(graph[n.dep[0]].dep[0]);
    uint64_t target_size = graph[graph[n.dep[0]].dep[0]].size;
    BufferRef index = graph.buffer_of(n.dep[1]), value = graph.buffer_of(n.dep[2]), mask;
    if (graph[n.dep[3]].op == Op::Buffer)
        mask = graph.buffer_of(n.dep[3]);
    bool uniform = graph[n.dep[2]].size == 1 && n.size > 1;
    Type type = graph[n.dep[2]].type;
    launch_algorithm("scatter_reduce", n.size, [=] {
        scatter_reduce(type, ReduceOp(n.imm), target->data(), target_size,
                       static_cast<const uint32_t *>(index->data()), value->data(), uniform,
                       mask ? static_cast<const uint8_t *>(mask->data()) : nullptr, n.size);
    });
}

void Context::launch_algorithm(const char *name, uint64_t size, std::function<void()> job) {
    if (has(Flag::History)) {
        size_t index = m_history->add({ .name = name, .backend = "builtin", .size = size });
        job = [job = std::move(job), index, history = m_history] {
            Clock::time_point start = Clock::now();
            job();
            history->set_run_time(index, seconds_since(start));
        };
    }
    enqueue(name, std::move(job), size < 4096);
}

std::vector<KernelRecord> Context::take_history() {
    synchronize();
    return m_history->take();
}

BufferRef Context::data(NodeId id) {
    if (graph[id].flags & Dirty)
        settle(id, "read");
    if (graph[id].op != Op::Buffer)
        evaluate(std::span(&id, 1));
    return graph.buffer_of(id);
}

} // namespace umbel::jit
