// jit/eval.cpp: from values to kernels on their way: grouping, the cache, binding, launching.
#include "jit/algorithm.h"
#include "jit/array.h"
#include "jit/assemble.h"
#include "jit/block_scatter.h"
#include "jit/history.h"
#include "jit/host_call.h"
#include "jit/kernel_cache.h"
#include "jit/launch_log.h"
#include "jit/region_scatter.h"
#include <algorithm>
#include <chrono>

namespace umbel::jit {

static thread_local uint32_t t_block = 0;
uint32_t current_block() { return t_block; }
void set_current_block(uint32_t block) { t_block = block; }

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
        uint8_t bytes; // 0: store the address itself
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
                size_t known = instance.leaves.size();
                NodeId leaf =
                    f.leaf < known ? instance.leaves[f.leaf] : instance.uniforms[f.leaf - known];
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
    BlockScatter scatters;           // done with each block of lanes
    std::vector<uint32_t> slot_args; // arguments that take the results for these
    RegionScatter regions;           // or in the order of the target's regions, found by
    std::unique_ptr<Job> index;      // ... a kernel with one slot
    std::string name;
    uint64_t size = 0, work = 0;
    uint64_t grain = Grain; // lanes that are handed out together, at least
    struct Sum {            // that ends when all lanes have run
        std::shared_ptr<HostEffect> effect;
        std::vector<BufferRef> targets;
    };
    std::vector<Sum> sums;
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
        if (index)
            run_regions(log);
        else if (!scatters.effects.empty())
            run_scattering(log);
        else
            run_blocks(log);
        for (Sum &s : sums) {
            std::vector<void *> targets;
            for (BufferRef &t : s.targets)
                targets.push_back(t->data());
            s.effect->finish(targets);
        }
        if (history)
            history->set_run_time(history_index, seconds_since(start));
        log.finish();
    }

    // Results of a block stay in the caches: it is a launch of few lanes for the kernel.
    void run_block(char *const *slots, uint64_t begin, uint64_t end, CollectingLog &log) {
        std::vector<void *> local = args;
        for (size_t k = 0; k < slot_args.size(); ++k)
            local[slot_args[k]] = slots[k];
        kernel->run({ local.data(), sizes.data(), end - begin, &log }, begin, end);
    }

    void run_scattering(CollectingLog &log) {
        scatters.run(size, [&](char *const *slots, uint64_t begin, uint64_t end) {
            run_block(slots, begin, end, log);
        });
    }

    void run_regions(CollectingLog &log) {
        regions.run(
            size,
            [&](uint32_t *out, uint64_t begin, uint64_t end) {
                char *slot = reinterpret_cast<char *>(out - begin);
                index->run_block(&slot, begin, end, log);
            },
            [&](char *const *slots, uint64_t begin, uint64_t end) {
                run_block(slots, begin, end, log);
            });
    }

    void run_blocks(CollectingLog &log) {
        Launch launch{ args.data(), sizes.data(), size, &log };
        // Enough blocks to balance the load, none so small that handing it out costs more than its work
        uint64_t per_block = std::max<uint64_t>(grain, size / 64);
        if (work < 1u << 16)
            per_block = size;
        per_block = (per_block + grain - 1) / grain * grain;
        parallel_blocks(size, per_block, [&](uint64_t begin, uint64_t end) {
            set_current_block(uint32_t(begin / per_block));
            kernel->run(launch, begin, end);
        });
    }
};

// ---- effects that run

std::vector<NodeId> effects_inside(const Graph &g, NodeId id) {
    std::vector<NodeId> out;
    const Op op = g[id].op;
    if (op == Op::Loop || op == Op::If) {
        for (RegionId r : g.record_of(id)->regions)
            out.insert(out.end(), g.region(r).effects.begin(), g.region(r).effects.end());
    } else if (op == Op::Call) {
        for (auto &body : static_cast<CallRecord &>(*g.record_of(id)).bodies)
            out.insert(out.end(), body.effects.begin(), body.effects.end());
    }
    return out;
}

// Whether the effect's results cannot be computed again once it has run.
bool gives_once(const Graph &g, NodeId effect) {
    std::vector<NodeId> stack{ effect };
    while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        if (g[id].op == Op::ScatterInc ||
            (g[id].op == Op::Extern &&
             !static_cast<ExternRecord &>(*g.record_of(id)).out_types.empty()))
            return true;
        for (NodeId e : effects_inside(g, id))
            stack.push_back(e);
    }
    return false;
}

// The results of a Loop, If, Call or Extern that somebody refers to.
std::vector<NodeId> results_of(const Graph &g, NodeId id) {
    std::vector<NodeId> out;
    auto find = [&](Op op, Type type, size_t k) {
        if (NodeId r = g.find(
                { .op = op, .type = type, .size = g[id].size, .imm = k, .dep = { id, 0, 0, 0 } }))
            out.push_back(r);
    };
    Record *record = g.record_of(id);
    if (g[id].op == Op::Loop) {
        auto &phi = static_cast<LoopRecord &>(*record).phi;
        for (size_t k = 0; k < phi.size(); ++k)
            find(Op::LoopOut, g[phi[k]].type, k);
    } else if (g[id].op == Op::If) {
        auto &results = static_cast<IfRecord &>(*record).then_out;
        for (size_t k = 0; k < results.size(); ++k)
            find(Op::IfOut, g[results[k]].type, k);
    } else {
        bool call = g[id].op == Op::Call;
        auto &types = call ? static_cast<CallRecord &>(*record).out_types
                           : static_cast<ExternRecord &>(*record).out_types;
        for (size_t k = 0; k < types.size(); ++k)
            find(call ? Op::CallOut : Op::ExternOut, types[k], k);
    }
    return out;
}

// Takes the effects out of control flow that has run: its results may be computed again, its effects not.
void retire(Graph &g, NodeId effect) {
    g.retain(effect);
    std::vector<NodeId> stack{ effect }; // owned references
    while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        for (NodeId e : effects_inside(g, id)) {
            g.retain(e);
            stack.push_back(e);
        }
        if (g[id].op == Op::Loop || g[id].op == Op::If) {
            for (RegionId r : g.record_of(id)->regions)
                for (NodeId e : std::exchange(g.region(r).effects, {}))
                    g.release(e);
        } else if (g[id].op == Op::Call) { // its record owns them
            for (auto &body : static_cast<CallRecord &>(*g.record_of(id)).bodies)
                body.effects.clear();
        }
        g.release(id);
    }
}

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
    std::map<uint32_t, Group> groups;
    std::vector<NodeId> scheduled = std::exchange(m_scheduled, {});
    std::vector<NodeId> effects = std::exchange(graph.region(0).effects, {});
    // Whatever happens below, the references are given back and no effect runs twice.
    struct Release {
        Context &c;
        std::vector<NodeId> &a, &b;
        ~Release() {
            for (NodeId id : b)
                retire(c.graph, id);
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
    auto add = [&](NodeId id, uint32_t scatter_size = ~0u) {
        const Node &n = graph[id];
        // A literal needs no kernel. It must stay one: other programs have it as a constant.
        if (n.op == Op::Buffer || n.op == Op::Literal || scratch[id].epoch == epoch)
            return;
        scratch[id].epoch = epoch;
        if (n.region)
            fail("eval: the value is computed inside a recorded {}; it has no contents before the "
                 "{} has "
                 "been recorded and run. Return it, or print() it",
                 graph.region(n.region).kind, graph.region(n.region).kind);
        if (n.length)
            fail("eval: a local array cannot be evaluated; evaluate elements of it");
        Group &group = groups[n.size];
        (n.size == scatter_size ? group.operands : group.outputs).push_back(id);
    };
    for (NodeId id : scheduled)
        add(id);
    for (NodeId id : roots)
        add(id);
    for (NodeId id : effects) {
        const Node &n = graph[id];
        if (n.flags & Ordered) {
            groups[n.size].ordered.push_back(id);
            for (int i : { 1, 2, 3 })
                add(n.dep[i], n.size);
        } else {
            groups[n.size].effects.push_back(id);
            if (n.op == Op::ScatterInc) {
                if (n.refs > 1)
                    add(id);
            } else if (n.op != Op::Scatter && gives_once(graph, id)) {
                for (NodeId result : results_of(graph, id))
                    add(result);
            }
        }
    }

    for (auto &[size, group] : groups) {
        if (!group.outputs.empty() || !group.operands.empty() || !group.effects.empty())
            evaluate_group(size, group);
        for (NodeId id : group.effects) // other groups may use their results
            retire(graph, id);
    }
    for (auto &[size, group] : groups)
        for (NodeId id : group.ordered)
            launch_ordered_scatter(id);
}

// The group's ordered reductions, for blocks of lanes: operands that are not evaluated get slots, save
// outputs, which the kernel writes to `results`.
BlockScatter Context::collect_scatters(const Group &group, const std::vector<BufferRef> &results,
                                       std::vector<BufferRef> &keep) {
    BlockScatter s;
    std::unordered_map<NodeId, uint32_t> slots, targets, outputs;
    for (NodeId id : group.outputs)
        outputs.emplace(id, uint32_t(outputs.size()));
    for (NodeId id : group.operands) {
        slots.emplace(id, uint32_t(slots.size()));
        s.slot_widths.push_back(bytes(graph[id].type));
    }
    for (NodeId id : group.ordered) {
        const Node &n = graph[id];
        NodeId buffer = graph[n.dep[0]].dep[0];
        auto [it, fresh] = targets.emplace(buffer, uint32_t(s.targets.size()));
        if (fresh) {
            keep.push_back(graph.buffer_of(buffer));
            s.targets.push_back(
                { graph[buffer].type, ReduceOp(n.imm), keep.back()->data(), graph[buffer].size });
        }
        auto operand = [&](NodeId d) {
            ScatterOperand o;
            o.uniform = graph[d].op == Op::Literal || graph[d].size != n.size;
            if (auto slot = slots.find(d); slot != slots.end())
                o.slot = slot->second;
            else if (auto output = outputs.find(d); output != outputs.end())
                o.data = results[output->second];
            else if (graph[d].op == Op::Literal)
                o.literal = graph[d].imm;
            else if (graph[d].op == Op::Buffer)
                o.data = graph.buffer_of(d);
            return o;
        };
        s.effects.push_back({ it->second, operand(n.dep[1]), operand(n.dep[2]), operand(n.dep[3]),
                              graph[n.dep[3]].op != Op::Literal });
    }
    return s;
}

// Scattering block by block pays where a kernel does little for what it gives to a scatter: then the
// way through memory would take most of the time. Chunks must leave enough to do for all threads.
static bool scatters_by_block(const Program &p, const BlockScatter &s, uint64_t size) {
    constexpr uint64_t FewLanes = 32768, LeastChunks = 8, OperationsPerByte = 16;
    if (s.slot_widths.empty() || !p.calls.empty() || !p.externs.empty())
        return false;
    for (const Inst &i : p.functions[0].insts)
        if (i.op == Op::LoopBegin)
            return false;
    uint64_t width = 0;
    for (uint64_t w : s.slot_widths)
        width += w;
    return p.instruction_count() <= OperationsPerByte * width &&
           (size < FewLanes || s.chunks(size) >= LeastChunks);
}

// Whether bringing the lanes of `p` into another order, which `index` tells, costs less than it gains:
// what moves must be little beside what is scattered. Nothing may depend on a lane's number.
static bool scatters_by_region(const Program &p, const Program &index, uint64_t output_bytes,
                               size_t scatters) {
    constexpr uint64_t BytesPerScatter = 8;
    if (!p.calls.empty() || !p.externs.empty() ||
        2 * index.instruction_count() > p.instruction_count())
        return false;
    for (const Inst &i : p.functions[0].insts)
        if (i.op == Op::Lane || i.op == Op::LoopBegin)
            return false;
    uint64_t moved = output_bytes;
    for (const Arg &arg : p.args)
        moved += arg.kind == ArgKind::Input ? bytes(arg.type) : 0;
    return moved <= BytesPerScatter * scatters;
}

// The kernel of a part of the program, the index of a scatter; its result goes to a slot.
static std::unique_ptr<Job> index_job(Context &c, Backend &backend, const Assembly &a) {
    auto job = std::make_unique<Job>();
    std::string bytes_of_program = a.program.serialize();
    bool memory_hit, disk_hit;
    if (c.has(Flag::KernelCache))
        job->kernel =
            kernel_cache().get(backend, a.program, bytes_of_program, &memory_hit, &disk_hit);
    else
        job->kernel = backend.compile(a.program, "index");
    job->args.resize(a.bindings.size());
    job->sizes.resize(a.bindings.size());
    for (uint32_t i = 0; i < a.bindings.size(); ++i) {
        const Binding &b = a.bindings[i];
        if (b.output != ~0u) {
            job->slot_args.push_back(i);
            continue;
        }
        job->keep.push_back(c.graph.buffer_of(b.node));
        job->args[i] = job->keep.back()->data();
        job->sizes[i] = c.graph[b.node].size;
    }
    return job;
}

void Context::evaluate_group(uint32_t size, Group &group) {
    // The program
    Clock::time_point start = Clock::now();
    const std::vector<NodeId> &effects = group.effects;
    std::vector<NodeId> outputs;
    auto program_of = [&](const std::vector<NodeId> &operands) {
        outputs = group.outputs;
        outputs.insert(outputs.end(), operands.begin(), operands.end());
        Assembly a = assemble(*this, outputs, effects, size);
        while (!a.unready.empty()) {
            Group unready;
            unready.outputs = a.unready;
            evaluate_group(1, unready);
            a = assemble(*this, outputs, effects, size);
        }
        return a;
    };
    Neighbours neighbours;
    if (effects.empty() && m_backend != &checking_backend()) // which is to name lanes
        neighbours = find_neighbours(graph, group.ordered, group.operands, size);
    Assembly a = program_of(neighbours.top ? neighbours.operands : group.operands), index;
    if (neighbours.top) {
        index = assemble(*this, { neighbours.top }, {}, size);
        uint64_t output_bytes = 0;
        for (NodeId id : group.outputs)
            output_bytes += bytes(graph[id].type);
        if (scatters_by_region(a.program, index.program, output_bytes, group.ordered.size())) {
            group.operands = neighbours.operands;
        } else {
            neighbours = {};
            a = program_of(group.operands);
        }
    }
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
        job->kernel =
            kernel_cache().get(*m_backend, a.program, bytes_of_program, &memory_hit, &disk_hit);
    else
        job->kernel = m_backend->compile(a.program, job->name);
    double backend = seconds_since(start);

    // Its arguments
    job->size = size;
    size_t operations = a.program.instruction_count();
    job->work = uint64_t(size) * operations;
    // Lanes of long programs differ in what they cost: small launches are balanced by smaller blocks
    if (operations > 256)
        job->grain = std::max<uint64_t>(128, job->kernel->width());
    job->args.resize(a.bindings.size());
    job->sizes.resize(a.bindings.size());
    job->externs = a.program.externs;
    for (std::vector<NodeId> stack(effects.begin(), effects.end()); !stack.empty();) {
        NodeId id = stack.back();
        stack.pop_back();
        if (graph[id].op == Op::Extern)
            if (auto &r = static_cast<ExternRecord &>(*graph.record_of(id)); r.effect) {
                job->sums.push_back({ r.effect, {} });
                for (NodeId t : r.targets)
                    job->sums.back().targets.push_back(graph.buffer_of(t));
            }
        for (NodeId e : effects_inside(graph, id))
            stack.push_back(e);
    }
    for (CallLayout &layout : a.layouts)
        job->tables.emplace_back(graph, layout);
    std::vector<BufferRef> results(outputs.size());
    for (size_t k = 0; k < group.outputs.size(); ++k)
        results[k] = allocate(uint64_t(size) * bytes(graph[outputs[k]].type));
    size_t kept = outputs.size(); // the others exist for a block of lanes only
    RegionScatter &regions = job->regions;
    if (neighbours.top) {
        std::vector<BufferRef> ordered;
        for (size_t k = 0; k < group.outputs.size(); ++k) {
            uint64_t width = bytes(graph[outputs[k]].type);
            ordered.push_back(allocate(RegionScatter::ordered_lanes(size) * width));
            regions.outputs.push_back({ results[k], ordered[k], width });
        }
        regions.set_effects(collect_scatters(group, ordered, job->keep), neighbours);
        job->index = index_job(*this, *m_backend, index);
    } else {
        job->scatters = collect_scatters(group, results, job->keep);
    }
    if (neighbours.top || scatters_by_block(a.program, job->scatters, size)) {
        kept = group.outputs.size();
        job->slot_args.resize(group.operands.size());
        group.ordered.clear();
    } else {
        job->scatters = {};
    }
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < a.bindings.size(); ++i) {
        const Binding &b = a.bindings[i];
        BufferRef buffer;
        if (b.output != ~0u && b.output >= kept) {
            job->slot_args[b.output - kept] = i;
            job->sizes[i] = size;
            continue;
        } else if (b.output != ~0u) {
            if (!results[b.output])
                results[b.output] = allocate(uint64_t(size) * bytes(graph[outputs[b.output]].type));
            buffer = results[b.output];
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
        if (neighbours.top && b.output != ~0u) {
            buffer = regions.outputs[b.output].ordered;
        } else if (neighbours.top && a.program.args[i].kind == ArgKind::Input) {
            uint64_t width = bytes(graph[b.node].type);
            BufferRef ordered = allocate(RegionScatter::ordered_lanes(size) * width);
            regions.inputs.push_back({ std::move(buffer), ordered, width });
            buffer = std::move(ordered);
        }
        job->args[i] = buffer->data();
        job->keep.push_back(std::move(buffer));
    }

    // Off it goes
    if (has(Flag::History)) {
        job->history = m_history;
        job->history_index = m_history->add({ .name = job->name,
                                              .backend = m_backend->name(),
                                              .size = size,
                                              .operations = uint32_t(operations),
                                              .functions = uint32_t(a.program.functions.size()),
                                              .inputs = inputs,
                                              .outputs = uint32_t(outputs.size()),
                                              .codegen_seconds = codegen,
                                              .backend_seconds = memory_hit ? 0 : backend,
                                              .memory_hit = memory_hit,
                                              .disk_hit = disk_hit,
                                              .code_bytes = job->kernel->code_bytes() });
    }
    for (size_t k = 0; k < kept; ++k)
        graph.become_buffer(outputs[k], results[k]);
    m_last_program = std::move(a.program);
    std::string name = job->name;
    bool small = job->work < 1u << 14 && effects.empty() && job->scatters.effects.empty();
    if (size > 0)
        enqueue(std::move(name), [job] { job->run(); }, small);
}

// The elements of a Buffer, or of a literal written out.
BufferRef Context::elements(NodeId id) {
    const Node n = graph[id];
    if (n.op == Op::Buffer)
        return graph.buffer_of(id);
    check(n.op == Op::Literal);
    uint64_t width = bytes(n.type), total = width * n.size;
    BufferRef buffer = allocate(total);
    auto job = [buffer, n, width, total] {
        auto *p = static_cast<uint8_t *>(buffer->data());
        if (n.imm == 0) {
            parallel_blocks(total, 1 << 22,
                            [&](uint64_t b, uint64_t e) { std::memset(p + b, 0, e - b); });
            return;
        }
        parallel_blocks(n.size, 1 << 20, [&](uint64_t b, uint64_t e) {
            for (uint64_t i = b; i < e; ++i)
                std::memcpy(p + i * width, &n.imm, width);
        });
    };
    launch_algorithm("fill", n.size, job);
    return buffer;
}

// All lanes meet in one cell.
void Context::launch_uniform_scatter(NodeId effect) {
    Group group;
    group.ordered.push_back(effect);
    std::vector<BufferRef> keep;
    uint64_t size = graph[effect].size;
    BlockScatter scatters = collect_scatters(group, {}, keep);
    launch_algorithm("scatter_reduce", size, [scatters, keep, size] {
        scatters.run(size, [](char *const *, uint64_t, uint64_t) {});
    });
}

void Context::launch_ordered_scatter(NodeId effect) {
    const Node n = graph[effect];
    BufferRef target = graph.buffer_of(graph[n.dep[0]].dep[0]);
    uint64_t target_size = graph[graph[n.dep[0]].dep[0]].size;
    if (graph[n.dep[1]].size == 1 && n.size > 1)
        return launch_uniform_scatter(effect);
    BufferRef index = elements(n.dep[1]), value = elements(n.dep[2]), mask;
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
    if (graph[id].op != Op::Buffer && graph[id].op != Op::Literal)
        evaluate(std::span(&id, 1));
    return elements(id);
}

} // namespace umbel::jit
