// jit/recording.cpp: noting launches, and launching them again.
#include "jit/recording.h"
#include "jit/lane_runs.h"
#include "jit/launch.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace umbel::jit {

namespace {

thread_local Recorder *t_recorder = nullptr;
thread_local const LaneForEachRun *t_runs = nullptr;

// How many references to a value recordings hold.
class Pins {
public:
    void add(const Value &v) {
        std::lock_guard lock(m_mutex);
        ++m_counts[{ &v.context(), v.id() }];
    }
    void remove(const Value &v) noexcept { // for destructors: asks for no memory
        std::lock_guard lock(m_mutex);
        auto it = m_counts.find({ &v.context(), v.id() });
        if (it != m_counts.end() && --it->second == 0)
            m_counts.erase(it);
    }
    uint32_t of(const Value &v) {
        std::lock_guard lock(m_mutex);
        auto it = m_counts.find({ &v.context(), v.id() });
        return it == m_counts.end() ? 0 : it->second;
    }

private:
    std::mutex m_mutex;
    struct Hash {
        size_t operator()(const std::pair<Context *, NodeId> &k) const {
            return (reinterpret_cast<size_t>(k.first) >> 6) + size_t(k.second);
        }
    };
    std::unordered_map<std::pair<Context *, NodeId>, uint32_t, Hash> m_counts;
};
Pins &pins() {
    static auto *p = new Pins;
    return *p;
}

} // namespace

// ---- recording

Recorder *Recorder::of(const Context &c) {
    return t_recorder && &t_recorder->m_context == &c ? t_recorder : nullptr;
}

void about_to_read(const Context &c, const char *what) {
    if (Recorder::of(c))
        fail("{}: the contents of an array are asked for while a frozen function is recorded; "
             "later calls will launch its "
             "kernels with other data, without running it. Return the array and look at it outside",
             what);
}

Recorder::Recorder(Context &context, std::span<const Value> inputs, bool found)
    : m_context(context), m_recording(new Recording(context)),
      m_inputs(inputs.begin(), inputs.end()), m_found(found) {
    check(!t_recorder);
    context.evaluate({});
    m_start = context.graph.sequence();
    for (const Value &v : m_inputs) {
        check(v.is_evaluated());
        BufferRef buffer = context.graph.buffer_of(v.id());
        m_known.emplace(buffer.get(), uint32_t(m_kept.size()));
        m_kept.push_back(std::move(buffer));
        m_recording->m_slots.push_back({ .kind = Recording::Slot::Input,
                                         .type = v.type(),
                                         .size = v.size(),
                                         .value = {},
                                         .contents = {} });
    }
    m_recording->m_inputs = m_inputs.size();
    m_recording->m_varied.resize(m_inputs.size());
    t_recorder = this;
}

Recorder::~Recorder() {
    t_recorder = nullptr;
    if (m_recording) // given up before its end: none was counted
        for (Recording::Slot &s : m_recording->m_slots)
            s.foreign = false;
}

// Whether the value is older than the recording, and somebody may replace it.
bool Recorder::is_found(NodeId id) const {
    const Graph &g = m_context.graph;
    if (g[id].seq >= m_start)
        return false;
    for (auto &[count, live] : m_context.instance_counts) // shared by calls
        if (live.node == id && live.seq == g[id].seq)
            return false;
    if (!m_found)
        fail("a frozen function uses an array of {} elements that existed before, and is not among "
             "its inputs: it would not "
             "notice if that were replaced. Pass it as an argument, or return it from `state_fn`",
             g[id].size);
    return true;
}

void Recorder::used(NodeId single) {
    auto &list = is_found(single) ? m_recording->m_used : m_made;
    list.push_back({ single, uint32_t(m_context.graph[single].seq) });
    if (list.size() < m_most_used)
        return;
    drop_repeated(list);
    m_most_used = 2 * list.size() + 1024;
}

// Elements are used by several calls, as a rule.
void Recorder::drop_repeated(std::vector<Recording::Used> &list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

uint32_t Recorder::constant(NodeId id) {
    Graph &g = m_context.graph;
    bool older = is_found(id);
    uint32_t slot = uint32_t(m_recording->m_slots.size());
    m_recording->m_slots.push_back({ .kind = Recording::Slot::Constant,
                                     .type = g[id].type,
                                     .size = g[id].size,
                                     .value = Value::share(m_context, id),
                                     .contents = {},
                                     .foreign = older });
    m_kept.push_back(g.buffer_of(id));
    m_known.emplace(m_kept.back().get(), slot);
    return slot;
}

uint32_t Recorder::slot_of(const TaskArray &array) {
    if (auto it = m_known.find(array.buffer.get()); it != m_known.end()) {
        if (m_recording->m_slots[it->second].size != array.size)
            fail("a frozen function uses one array under two sizes");
        return it->second;
    }
    if (array.use != TaskArray::Write) {
        check(array.node != 0);
        return constant(array.node);
    }
    uint32_t slot = uint32_t(m_recording->m_slots.size());
    m_recording->m_slots.push_back({ .kind = Recording::Slot::Result,
                                     .type = array.type,
                                     .size = array.size,
                                     .value = {},
                                     .contents = {} });
    m_kept.push_back(array.buffer);
    m_known.emplace(array.buffer.get(), slot);
    return slot;
}

// What the size may be of: arrays at hand first, then the inputs.
Recording::Size Recorder::describe(uint64_t size, std::span<const uint32_t> preferred) const {
    Recording::Size out{ size, {}, true };
    if (size <= 1)
        return out;
    auto add = [&](uint32_t slot) {
        uint64_t n = m_recording->m_slots[slot].size;
        if (n > 1 && (n % size == 0 || size % n == 0)) {
            Recording::Ratio r{ slot, std::max<uint64_t>(1, size / n),
                                std::max<uint64_t>(1, n / size) };
            if (std::find(out.ratios.begin(), out.ratios.end(), r) == out.ratios.end())
                out.ratios.push_back(r);
        }
    };
    for (uint32_t s : preferred)
        add(s);
    for (uint32_t s = 0; s < m_inputs.size(); ++s)
        add(s);
    return out;
}

void Recorder::launched(const Task &task, bool waits) {
    uint32_t number = uint32_t(m_recording->m_steps.size());
    Recording::Step step{ task.copy(), {}, waits, {} };
    uint32_t lane = ~0u;
    std::vector<uint32_t> read;
    for (TaskArray &a : step.task->arrays) {
        uint32_t slot = slot_of(a);
        step.slots.push_back(slot);
        m_recording->m_slots[slot].last_step = number;
        if (a.use == TaskArray::Lane && a.size == task.size)
            lane = slot;
        else if (a.use == TaskArray::Read)
            read.push_back(slot);
        a.buffer.reset();
        a.node = 0;
    }
    auto runs = t_runs ? m_known.find(t_runs->array) : m_known.end();
    if (runs != m_known.end() && std::ranges::find(read, runs->second) != read.end())
        step.size = { task.size, { { runs->second, 0, t_runs->elements } }, false };
    else if (lane != ~0u)
        step.size = { task.size, { { lane, 1, 1 } }, false };
    else
        step.size = describe(task.size, read);
    KernelRecord &record = step.task->record; // of replays: nothing is assembled or compiled
    record.codegen_seconds = record.backend_seconds = 0;
    record.memory_hit = record.backend != "builtin";
    m_recording->m_waits |= waits;
    m_recording->m_steps.push_back(std::move(step));
}

void Recorder::written(NodeId id) {
    const Buffer *buffer = m_context.graph.buffer_of(id).get();
    auto it = m_known.find(buffer);
    uint32_t number = it == m_known.end() ? ~0u : it->second;
    if (number == ~0u && m_context.graph[id].seq < m_start)
        fail("a frozen function writes to an array of {} elements that is not among its inputs. "
             "Pass it as an argument, or "
             "return it from `state_fn`",
             m_context.graph[id].size);
    if (number == ~0u)
        number = constant(id);
    Recording::Slot &slot = m_recording->m_slots[number];
    check(slot.kind != Recording::Slot::Input); // held by us, so whoever writes has copied it
    if (slot.kind == Recording::Slot::Constant && slot.contents.empty()) {
        auto *p =
            static_cast<const char *>(buffer->data()); // of the host still: no launch has written
        slot.contents.assign(p, p + slot.size * bytes(slot.type));
    }
}

std::shared_ptr<Recording> Recorder::finish(std::span<const Value> outputs) {
    std::vector<NodeId> roots;
    for (const Value &v : outputs)
        roots.push_back(v.id());
    m_context.evaluate(roots);
    Graph &g = m_context.graph;
    for (const Value &v : outputs) {
        Recording::Output out{ ~0u, v.type(), 0, {} };
        if (v.is_literal()) {
            out.bits = v.literal_bits();
            out.size = describe(v.size(), {});
        } else {
            BufferRef buffer = g.buffer_of(v.id());
            out.slot = slot_of({ buffer, v.type(), v.size(), TaskArray::Read, 1, v.id() });
            m_recording->m_slots[out.slot].keep = true;
        }
        m_recording->m_outputs.push_back(std::move(out));
    }
    // Who else has a constant may replace it
    for (Recording::Slot &s : m_recording->m_slots)
        if (s.kind == Recording::Slot::Constant) {
            bool foreign = std::exchange(s.foreign, false); // true again once it is counted
            if (!s.contents.empty()) {
                s.value = Value();
                continue;
            }
            // ... and where the stretch itself has replaced one, it is of no use: see stale()
            if (foreign || (!s.keep && g[s.value.id()].refs > 1 + pins().of(s.value))) {
                pins().add(s.value);
                s.foreign = true;
            }
        }
    // What the stretch has made, and nobody holds any more, nobody can replace
    std::erase_if(m_made, [&](const Recording::Used &u) { return !m_recording->is_valid(u); });
    std::vector<Recording::Used> &used = m_recording->m_used;
    used.insert(used.end(), m_made.begin(), m_made.end());
    drop_repeated(used);
    used.shrink_to_fit();
    t_recorder = nullptr;
    return std::move(m_recording);
}

LaneForEachRun::LaneForEachRun(const Value &array, uint64_t elements)
    : array(array.context().graph.buffer_of(array.id()).get()), elements(elements),
      outer(std::exchange(t_runs, this)) {}
LaneForEachRun::~LaneForEachRun() { t_runs = outer; }

// ---- replaying

Recording::~Recording() {
    for (const Slot &s : m_slots)
        if (s.foreign)
            pins().remove(s.value);
}

bool Recording::stale() const {
    for (const Used &u : m_used)
        if (!is_valid(u))
            return true;
    for (const Slot &s : m_slots)
        if (s.foreign && m_context.graph[s.value.id()].refs <= pins().of(s.value))
            return true;
    return false;
}

bool Recording::covers(std::span<const Value> inputs) const {
    if (m_waits && !m_general)
        return false;
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].size() != m_slots[i].size && !m_varied[i])
            return false;
    return true;
}

uint64_t Recording::size_of(const Size &size, const std::vector<uint64_t> &slots) const {
    if (!m_general || size.ratios.empty())
        return size.recorded;
    const Ratio &r = size.ratios[0];
    if (r.numerator == 0) // runs of elements: see jit/lane_runs.h
        return (slots[r.slot] + r.denominator - 1) / r.denominator;
    return slots[r.slot] * r.numerator / r.denominator;
}

bool Recording::merge(Size &size, const Size &other) {
    std::erase_if(size.ratios, [&](const Ratio &r) {
        return std::find(other.ratios.begin(), other.ratios.end(), r) == other.ratios.end();
    });
    size.constant = size.constant && other.constant && size.recorded == other.recorded;
    return size.constant || !size.ratios.empty();
}

bool Recording::generalize(const Recording &o) {
    if (m_steps.size() != o.m_steps.size() || m_slots.size() != o.m_slots.size() ||
        m_outputs.size() != o.m_outputs.size() || m_inputs != o.m_inputs)
        return false;
    for (size_t i = 0; i < m_slots.size(); ++i) {
        const Slot &a = m_slots[i], &b = o.m_slots[i];
        if (a.kind != b.kind || a.type != b.type || a.contents != b.contents)
            return false;
        if (a.kind != Slot::Constant || !a.contents.empty() || a.value.id() == b.value.id())
            continue;
        BufferRef x = m_context.graph.buffer_of(a.value.id()),
                  y = m_context.graph.buffer_of(b.value.id());
        if (x->bytes() != y->bytes() || x->borrowed() != y->borrowed())
            return false;
        if (x->borrowed() ? x->data() != y->data() : std::memcmp(x->data(), y->data(), x->bytes()))
            return false;
    }
    for (size_t i = 0; i < m_steps.size(); ++i) {
        Step &a = m_steps[i];
        const Step &b = o.m_steps[i];
        if (a.slots != b.slots || !a.task->same(*b.task) || !merge(a.size, b.size))
            return false;
    }
    for (size_t i = 0; i < m_outputs.size(); ++i) {
        Output &a = m_outputs[i];
        const Output &b = o.m_outputs[i];
        if (a.slot != b.slot || a.type != b.type || a.bits != b.bits)
            return false;
        if (a.slot == ~0u && !merge(a.size, b.size))
            return false;
    }
    for (size_t i = 0; i < m_inputs; ++i)
        m_varied[i] = m_varied[i] || m_slots[i].size != o.m_slots[i].size;
    return m_general = true;
}

std::vector<Value> Recording::replay(std::span<const Value> inputs) const {
    check(inputs.size() == m_inputs);
    Context &c = m_context;
    c.evaluate({}); // effects on inputs that are pending
    std::vector<BufferRef> buffers(m_slots.size());
    std::vector<uint64_t> sizes(m_slots.size());
    for (size_t i = 0; i < m_slots.size(); ++i) {
        const Slot &s = m_slots[i];
        if (s.kind == Slot::Input) {
            check(inputs[i].is_evaluated() && inputs[i].type() == s.type);
            buffers[i] = c.graph.buffer_of(inputs[i].id());
            sizes[i] = inputs[i].size();
        } else if (s.kind == Slot::Constant) {
            sizes[i] = s.size;
            if (s.contents.empty()) {
                buffers[i] = c.graph.buffer_of(s.value.id());
            } else {
                buffers[i] = allocate(s.contents.size());
                std::memcpy(buffers[i]->data(), s.contents.data(), s.contents.size());
            }
        }
    }
    for (size_t k = 0; k < m_steps.size(); ++k) {
        const Step &step = m_steps[k];
        std::shared_ptr<Task> task = step.task->copy();
        task->size = size_of(step.size, sizes);
        for (size_t j = 0; j < step.slots.size(); ++j) {
            uint32_t slot = step.slots[j];
            TaskArray &a = task->arrays[j];
            if (a.use == TaskArray::Write) {
                sizes[slot] = a.run ? (task->size + a.run - 1) / a.run : 1;
                buffers[slot] = allocate(sizes[slot] * bytes(a.type));
            } else if (a.use == TaskArray::Lane && sizes[slot] != task->size) {
                fail("a frozen function cannot be replayed: an array of {} elements meets {} lanes",
                     sizes[slot], task->size);
            }
            check(buffers[slot]);
            a.buffer = buffers[slot];
            a.size = sizes[slot];
        }
        if (step.waits) {
            run_now(c, *task);
            for (size_t j = 0; j < step.slots.size(); ++j)
                if (task->arrays[j].use == TaskArray::Write)
                    sizes[step.slots[j]] = task->arrays[j].size;
        } else {
            launch(c, task);
        }
        for (uint32_t slot : step.slots)
            if (m_slots[slot].last_step == k && !m_slots[slot].keep)
                buffers[slot].reset();
    }
    // One value for each array: writing to it must find all that share it
    std::vector<Value> values(m_slots.size()), out;
    for (const Output &o : m_outputs) {
        if (o.slot == ~0u) {
            out.push_back(
                Value::adopt(c, c.graph.literal(o.type, o.bits, uint32_t(size_of(o.size, sizes)))));
            continue;
        }
        Value &v = values[o.slot];
        if (o.slot < m_inputs)
            v = inputs[o.slot];
        else if (m_slots[o.slot].value.valid())
            v = m_slots[o.slot].value;
        else if (!v.valid())
            v = Value::adopt(c, c.graph.buffer(o.type, buffers[o.slot], uint32_t(sizes[o.slot])));
        out.push_back(v.detached());
    }
    return out;
}

} // namespace umbel::jit
