// jit/eval.cpp: from values to kernels on their way: grouping, the cache, binding, launching.
#include "jit/algorithm.h"
#include "jit/all_streams.h"
#include "jit/array.h"
#include "jit/array_device.h"
#include "jit/assemble.h"
#include "jit/background.h"
#include "jit/cuda/ptx_dump.h"
#include "jit/history.h"
#include "jit/kernel_cache.h"
#include "jit/kernel_task.h"
#include "jit/launch.h"
#include "jit/recording.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

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
std::atomic<uint64_t> g_flushed{ 0 };

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

void flush_kernels() {
    kernel_cache().clear_memory();
    ++g_flushed;
}

uint64_t flushed_kernels() { return g_flushed; }

Context::Context(Backend &backend) : m_backend(&backend), m_history(std::make_shared<History>()) {}

void Context::finish() noexcept {
    if (streams_are_of_another_process())
        return;
    InterruptibleWaits by_others([] {});
    try {
        m_stream.synchronize();
    } catch (...) {
    }
}

Context::~Context() {
    finish();
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
    if (bytes_in_flight() > most_in_flight)
        synchronize();
    std::map<uint32_t, Group> groups;
    std::vector<NodeId> scheduled = std::exchange(m_scheduled, {});
    std::vector<NodeId> effects = std::exchange(graph.region(0).effects, {});
    // Whatever happens below, no effect runs twice. Where memory is short, or nobody wants to wait for a kernel now, those that
    // have not run stay for another time; any other error would come again: they are dropped.
    struct Finish {
        Context &c;
        std::vector<NodeId> &scheduled, &effects;
        std::vector<NodeId> done = {}; // effects that run
        bool can_be_repeated = false;

        ~Finish() {
            std::sort(done.begin(), done.end());
            std::erase_if(effects, [&](NodeId id) {
                bool stays = can_be_repeated && !std::binary_search(done.begin(), done.end(), id);
                if (!stays)
                    c.graph.release(id);
                return !stays;
            });
            if (can_be_repeated) {
                c.m_scheduled = std::move(scheduled);
                c.graph.region(0).effects = std::move(effects);
                return; // arrays look as if they were still to be written to, which does no harm
            }
            for (NodeId id : scheduled)
                c.graph.release(id);
            c.clear_dirty();
        }
    } finish{ *this, scheduled, effects };
    std::vector<NodeId> &done = finish.done;
    try {
        done.reserve(effects.size());
        if (Recorder *r = Recorder::of(*this))
            for (DirtyBuffer d : m_dirty)
                r->written(d.node);

        // Group by size
        begin_walk();
        auto add = [&](NodeId id, uint32_t scatter_size = ~0u) {
            const Node &n = graph[id];
            // A literal needs no kernel. It must stay one: other programs have it as a constant.
            if (n.op == Op::Buffer || n.op == Op::Literal || scratch[id].epoch == epoch)
                return;
            scratch[id].epoch = epoch;
            if (n.region)
                fail("eval: the value is computed inside a recorded {}; it has no contents before "
                     "the "
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
            if ((n.flags & Ordered) && !m_backend->device()) {
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

        // Where launches wait for their end, an error may be that of a kernel which did run
        const bool waits = !has(Flag::Async);
        if (waits)
            done = effects;
        for (auto &[size, group] : groups) {
            std::vector<NodeId> with_kernel = group.effects, ordered = group.ordered;
            if (!group.outputs.empty() || !group.operands.empty() || !group.effects.empty())
                evaluate_group(size, group);
            if (group.ordered.empty())
                with_kernel.insert(with_kernel.end(), ordered.begin(), ordered.end());
            if (!waits)
                done.insert(done.end(), with_kernel.begin(), with_kernel.end());
            for (NodeId id : group.effects) // other groups may use their results
                retire(graph, id);
        }
        for (auto &[size, group] : groups)
            for (NodeId id : group.ordered) {
                launch_ordered_scatter(id);
                if (!waits)
                    done.push_back(id);
            }
    } catch (const DeviceError &) {
        finish.can_be_repeated = true;
        throw;
    } catch (const std::bad_alloc &) {
        finish.can_be_repeated = true;
        throw;
    } catch (const Interrupted &) {
        finish.can_be_repeated = true;
        throw;
    } catch (...) {
        for (NodeId id : effects)
            retire(graph, id);
        throw;
    }
}

// The value's elements among the arrays of a task.
static uint32_t add_array(Task &task, Graph &g, NodeId id, TaskArray::Use use) {
    return task.add({ g.buffer_of(id), g[id].type, g[id].size, use, 1, id });
}

// The records and the table of a call site. Single elements are in the records already; arrays become the task's.
static CallTables call_tables(Context &c, const CallLayout &layout, Task &task) {
    CallTables t;
    Graph &g = c.graph;
    Recorder *recorder = Recorder::of(c);
    const CallRecord &r = *layout.record;
    t.table.reserve(2 * r.instances.size() + 2);
    t.table.assign({ uint32_t(r.instances.size()), 0 });
    uint64_t end = 0;
    for (const auto &instance : r.instances) {
        bool none = instance.body == ~0u;
        uint64_t size = none ? 0 : layout.data_bytes[instance.body];
        uint64_t unit =
            size <= 8 ? 8 : 16; // short ones of many instances are to stay in near caches
        end = (end + unit - 1) / unit * unit;
        t.table.push_back(none ? ~0u : layout.callee[instance.body]);
        t.table.push_back(none ? 0 : uint32_t(end));
        end += (size + 7) / 8 * 8;
    }
    // Lanes may read a record of any length anywhere, and a little more; see jit/llvm/data.cpp
    if (end >= 1u << 31)
        fail("the instances of a call have {} MiB of data; less than 2 GiB is possible", end >> 20);
    uint32_t longest = 0;
    for (uint32_t bytes : layout.data_bytes)
        longest = std::max(longest, bytes);
    t.data = std::make_shared<std::vector<uint8_t>>(end + longest + 64);

    for (size_t i = 0; i < r.instances.size(); ++i) {
        const auto &instance = r.instances[i];
        if (instance.body == ~0u)
            continue;
        for (const DataField &f : layout.fields[instance.body]) {
            NodeId leaf = r.data[instance.first + f.leaf];
            uint32_t place = t.table[2 * i + 3] + f.offset;
            if (leaf & IsValue) {
                std::memcpy(&(*t.data)[place], &r.values[leaf & ~IsValue], bytes(f.type));
            } else if (f.type == Type::Ptr && g[leaf].op == Op::Address) {
                t.copies.push_back(
                    { place, 0, add_array(task, g, g[leaf].dep[0], TaskArray::Read) });
            } else if (g.is_single(leaf)) {
                std::memcpy(&(*t.data)[place], &g[leaf].imm, bytes(f.type));
                if (recorder && !g.is_fixed(leaf))
                    recorder->used(leaf);
            } else {
                t.copies.push_back({ place, uint8_t(bytes(f.type)),
                                     task.append({ g.buffer_of(leaf), g[leaf].type, 1,
                                                   TaskArray::Read, 1, leaf }) });
            }
        }
    }
    return t;
}

// The group's ordered reductions, for blocks of lanes: operands that are not evaluated get slots, save
// outputs, which the kernel writes to `results`. `keep`: the targets.
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

// Makes arrays of the task of what scatters work on.
static void add_scatters(Task &task, Graph &g, const std::vector<NodeId> &ordered,
                         const std::vector<BufferRef> &targets, BlockScatter &s) {
    std::unordered_map<const Buffer *, NodeId> nodes;
    for (NodeId id : ordered)
        for (NodeId d : { g[g[id].dep[0]].dep[0], g[id].dep[1], g[id].dep[2], g[id].dep[3] })
            if (g[d].op == Op::Buffer)
                nodes.emplace(g.buffer_of(d).get(), d);
    for (size_t i = 0; i < targets.size(); ++i)
        s.targets[i].array = add_array(task, g, nodes.at(targets[i].get()), TaskArray::Read);
    for (BlockScatter::Effect &e : s.effects)
        for (ScatterOperand *o : { &e.index, &e.value, &e.mask }) {
            if (!o->data)
                continue;
            for (uint32_t i = 0; i < task.arrays.size() && o->array == ~0u; ++i) // a result
                if (task.arrays[i].buffer == o->data && task.arrays[i].use == TaskArray::Write)
                    o->array = i;
            if (o->array == ~0u)
                o->array = add_array(task, g, nodes.at(o->data.get()),
                                     o->uniform ? TaskArray::Read : TaskArray::Lane);
            o->data.reset();
        }
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
static KernelTask::Call index_call(Context &c, const Assembly &a,
                                   const std::function<uint32_t(NodeId)> &array_of) {
    KernelTask::Call call;
    std::string bytes_of_program = a.program.serialize();
    bool memory_hit, disk_hit;
    if (c.has(Flag::KernelCache))
        call.kernel =
            kernel_cache().get(c.backend(), a.program, bytes_of_program, &memory_hit, &disk_hit);
    else
        call.kernel = c.backend().compile(a.program, "index");
    for (uint32_t i = 0; i < a.bindings.size(); ++i) {
        const Binding &b = a.bindings[i];
        if (b.output != ~0u)
            call.slot_args.push_back(i);
        call.arrays.push_back(b.output != ~0u ? KernelTask::NoArray : array_of(b.node));
    }
    return call;
}

// How the kernel uses each array of the task.
static std::vector<PointerUse> uses_of_arrays(const KernelTask &task, const Assembly &a) {
    PointerUses uses(a.program);
    std::vector<PointerUse> arrays(task.arrays.size());
    for (uint32_t i = 0; i < a.bindings.size(); ++i)
        if (task.main.arrays[i] != KernelTask::NoArray)
            arrays[task.main.arrays[i]].add(a.program.args[i].kind == ArgKind::Pointer
                                                ? uses.args[i]
                                                : PointerUse{ false, true });
    for (size_t t = 0; t < a.layouts.size(); ++t) { // fields in the order of call_tables
        const CallLayout &layout = a.layouts[t];
        const CallTables &tables = task.tables[t];
        auto copy = tables.copies.begin();
        for (size_t i = 0; i < layout.record->instances.size(); ++i) {
            uint32_t body = layout.record->instances[i].body;
            if (body == ~0u)
                continue;
            uint32_t function = a.program.calls[t].callees[layout.callee[body]];
            for (const DataField &f : layout.fields[body]) {
                if (copy == tables.copies.end() ||
                    copy->offset != tables.table[2 * i + 3] + f.offset)
                    continue; // a single element
                arrays[copy->array].add(copy->bytes == 0 ? uses.field(function, f.offset)
                                                         : PointerUse{ false, true });
                ++copy;
            }
        }
    }
    return arrays;
}

// Arrays that the kernel reaches through pointers alone, to add floats to them from inside of loops, branches and
// calls. (Sums of the top level follow the kernel: they are not part of it.)
static std::vector<uint32_t> summed_arrays(const KernelTask &task, const Assembly &a) {
    std::vector<PointerUse> uses = uses_of_arrays(task, a);
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < uses.size(); ++i)
        if (uses[i].sums_only() && is_float(task.arrays[i].type))
            out.push_back(i);
    return out;
}

// Arrays of which a device has another version when the kernel has run.
static std::vector<uint32_t> written_arrays(const KernelTask &task, const Assembly &a) {
    std::vector<PointerUse> uses = uses_of_arrays(task, a);
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < uses.size(); ++i)
        if (uses[i].written || task.arrays[i].use == TaskArray::Write)
            out.push_back(i);
    return out;
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
    auto task = std::make_shared<KernelTask>();
    bool memory_hit = false, disk_hit = false;
    Key key = hash_program(bytes_of_program, KernelCache::fingerprint(*m_backend));
    task->name = fmt::format("kernel_{:016x}", key.lo);
    ptx::dump(a.program, task->name);
    if (has(Flag::KernelCache))
        task->main.kernel =
            kernel_cache().get(*m_backend, a.program, bytes_of_program, &memory_hit, &disk_hit);
    else
        task->main.kernel = m_backend->compile(a.program, task->name);
    double backend = seconds_since(start);

    // Its arguments
    task->size = size;
    size_t operations = a.program.instruction_count();
    task->operations = operations;
    // Lanes of long programs differ in what they cost: small launches are balanced by smaller blocks
    if (operations > 256)
        task->grain = std::max<uint64_t>(128, task->main.kernel->width());
    task->externs = a.program.externs;
    auto array_of = [&](NodeId id) { return add_array(*task, graph, id, TaskArray::Read); };
    for (std::vector<NodeId> stack(effects.begin(), effects.end()); !stack.empty();) {
        NodeId id = stack.back();
        stack.pop_back();
        if (graph[id].op == Op::Extern)
            if (auto &r = static_cast<ExternRecord &>(*graph.record_of(id)); r.effect) {
                task->sums.push_back({ r.effect, {} });
                for (NodeId t : r.targets)
                    task->sums.back().targets.push_back(array_of(t));
            }
        for (NodeId e : effects_inside(graph, id))
            stack.push_back(e);
    }
    for (CallLayout &layout : a.layouts)
        task->tables.push_back(call_tables(*this, layout, *task));
    std::vector<uint32_t> results(outputs.size(), KernelTask::NoArray); // arrays of the task
    auto make_result = [&](size_t k) {
        Type type = graph[outputs[k]].type;
        results[k] = task->add(
            { allocate(uint64_t(size) * bytes(type)), type, size, TaskArray::Write, 1, 0 });
    };
    for (size_t k = 0; k < group.outputs.size(); ++k)
        make_result(k);
    size_t kept = outputs.size(); // the others exist for a block of lanes only
    task->by_region = neighbours.top != 0;
    std::vector<BufferRef> result_buffers, targets;
    for (const TaskArray &a : task->arrays)
        if (a.use == TaskArray::Write)
            result_buffers.push_back(a.buffer);
    BlockScatter scatters = collect_scatters(group, result_buffers, targets);
    if (task->by_region || scatters_by_block(a.program, scatters, size)) {
        add_scatters(*task, graph, group.ordered, targets, scatters);
        if (task->by_region) {
            task->regions.set_effects(scatters, neighbours);
            task->index = index_call(*this, index, array_of);
        }
        kept = group.outputs.size();
        task->main.slot_args.resize(group.operands.size());
        group.ordered.clear();
        if (!task->by_region)
            task->scatters = std::move(scatters);
    }
    uint32_t inputs = 0;
    task->main.arrays.assign(a.bindings.size(), KernelTask::NoArray);
    for (uint32_t i = 0; i < a.bindings.size(); ++i) {
        const Binding &b = a.bindings[i];
        const ArgKind kind = a.program.args[i].kind;
        if (b.output != ~0u && b.output >= kept) {
            task->main.slot_args[b.output - kept] = i;
            continue;
        }
        if (b.call) {
            uint32_t table = 0;
            while (a.layouts[table].record != b.call)
                ++table;
            task->table_args.push_back({ i, 2 * table + (kind == ArgKind::CallData ? 1 : 0) });
            continue;
        }
        uint32_t array;
        if (b.output != ~0u) {
            if (results[b.output] == KernelTask::NoArray)
                make_result(b.output);
            array = results[b.output];
        } else {
            array = add_array(*task, graph, b.node,
                              kind == ArgKind::Input ? TaskArray::Lane : TaskArray::Read);
            ++inputs;
        }
        task->main.arrays[i] = array;
        if (task->by_region && (b.output != ~0u || kind == ArgKind::Input)) {
            auto &columns = b.output != ~0u ? task->regions.outputs : task->regions.inputs;
            columns.push_back({ {}, {}, bytes(task->arrays[array].type), i, array });
        }
    }

    task->device = m_backend->device();
    if (task->device && !task->sums.empty())
        fail("functions of the host that add to arrays cannot be called on a {} device",
             m_backend->name());
    if (task->device)
        task->written = written_arrays(*task, a);
    if (!effects.empty())
        task->summed = summed_arrays(*task, a);

    // Off it goes
    task->record = { .name = task->name,
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
                     .code_bytes = task->main.kernel->code_bytes() };
    for (size_t k = 0; k < kept; ++k)
        if (results[k] == KernelTask::NoArray)
            make_result(k);
    note_launch(*this, *task); // while the nodes of its arrays exist
    for (size_t k = 0; k < kept; ++k)
        graph.become_buffer(outputs[k], task->arrays[results[k]].buffer);
    m_last_program = std::move(a.program);
    task->is_small =
        uint64_t(size) * operations < 1u << 14 && effects.empty() && task->scatters.effects.empty();
    if (size > 0)
        submit(*this, task);
}

// The elements of a Buffer, or of a literal written out.
BufferRef Context::elements(NodeId id) {
    const Node n = graph[id];
    if (n.op == Op::Buffer)
        return graph.buffer_of(id);
    check(n.op == Op::Literal);
    uint64_t width = bytes(n.type), total = width * n.size;
    BufferRef buffer = allocate(total);
    std::vector<TaskArray> arrays = { { buffer, n.type, n.size, TaskArray::Write } };
    if (auto *device = dynamic_cast<ArrayDevice *>(m_backend->device())) {
        jit::launch_algorithm(
            *this, "fill", n.size, std::move(arrays), { uint64_t(n.type), n.imm },
            [=, imm = n.imm](const Task &t) {
                device->fill(t.arrays[0].buffer->device_address(*device, true), imm,
                             uint32_t(width), t.size);
            },
            true);
        return buffer;
    }
    jit::launch_algorithm(
        *this, "fill", n.size, std::move(arrays), { uint64_t(n.type), n.imm },
        [imm = n.imm, width](const Task &t) {
            auto *p = t.data<uint8_t>(0);
            if (imm == 0) {
                parallel_blocks(t.size * width, 1 << 22,
                                [&](uint64_t b, uint64_t e) { std::memset(p + b, 0, e - b); });
                return;
            }
            parallel_blocks(t.size, 1 << 20, [&](uint64_t b, uint64_t e) {
                for (uint64_t i = b; i < e; ++i)
                    std::memcpy(p + i * width, &imm, width);
            });
        });
    return buffer;
}

// All lanes meet in one cell.
void Context::launch_uniform_scatter(NodeId effect) {
    Group group;
    group.ordered.push_back(effect);
    auto task = std::make_shared<KernelTask>();
    task->name = "scatter_reduce";
    task->size = graph[effect].size;
    std::vector<BufferRef> targets;
    task->scatters = collect_scatters(group, {}, targets);
    add_scatters(*task, graph, group.ordered, targets, task->scatters);
    task->is_small = task->size < 4096;
    task->record.backend = "builtin";
    launch(*this, task);
}

void Context::launch_ordered_scatter(NodeId effect) {
    const Node n = graph[effect];
    if (graph[n.dep[1]].size == 1 && n.size > 1)
        return launch_uniform_scatter(effect);
    bool uniform = graph[n.dep[2]].size == 1 && n.size > 1;
    Type type = graph[n.dep[2]].type;
    auto operand = [&](NodeId id, TaskArray::Use use) {
        bool evaluated = graph[id].op == Op::Buffer;
        return TaskArray{
            elements(id), graph[id].type, graph[id].size, use, 1, evaluated ? id : 0
        };
    };
    std::vector<TaskArray> arrays = {
        operand(graph[n.dep[0]].dep[0], TaskArray::Read),
        operand(n.dep[1], TaskArray::Lane),
        operand(n.dep[2], uniform ? TaskArray::Read : TaskArray::Lane),
    };
    bool masked = graph[n.dep[3]].op == Op::Buffer;
    if (masked)
        arrays.push_back(operand(n.dep[3], TaskArray::Lane));
    jit::launch_algorithm(*this, "scatter_reduce", n.size, std::move(arrays),
                          { uint64_t(type), n.imm, uniform, masked }, [=](const Task &t) {
                              scatter_reduce(type, ReduceOp(n.imm), t.data(0), t.arrays[0].size,
                                             t.data<uint32_t>(1), t.data(2), uniform,
                                             masked ? t.data<uint8_t>(3) : nullptr, t.size);
                          });
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
