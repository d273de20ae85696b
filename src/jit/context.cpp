// jit/context.cpp: masks, regions and pending effects of a recording thread.
#include "jit/context.h"
#include "jit/backends.h"
#include "jit/value.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace umbel::jit {

namespace {
thread_local Context *t_current = nullptr;

Backend &default_backend() {
    const char *name = std::getenv("UMBEL_BACKEND");
    try {
        return find_backend(name ? name : "llvm");
    } catch (const UserError &e) {
        fail("UMBEL_BACKEND={}: {}", name, e.what());
    }
}
} // namespace

void list_all_backends(std::vector<BackendEntry> &list); // made by cmake/backends.cmake

const std::vector<BackendEntry> &backends() {
    static const auto *list = [] {
        auto *all = new std::vector<BackendEntry>;
        list_all_backends(*all);
        std::ranges::sort(*all, {}, &BackendEntry::rank);
        return all;
    }();
    return *list;
}

std::vector<Device *> open_devices() {
    std::vector<Device *> all;
    for (const BackendEntry &b : backends())
        for (Device *device : b.open_devices())
            all.push_back(device);
    return all;
}

static int device_number(std::string_view text) {
    int number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0)
        fail("\"{}\" is not the number of a device", text);
    return number;
}

Backend &find_backend(std::string_view name) {
    std::string names;
    std::string_view kind = name.substr(0, name.find(':'));
    for (const BackendEntry &b : backends()) {
        if (b.name == name)
            return b.open();
        if (b.name == kind && b.open_device)
            return b.open_device(device_number(name.substr(kind.size() + 1)));
        names += fmt::format("{}{}",
                             names.empty()              ? ""
                             : &b == &backends().back() ? " or "
                                                        : ", ",
                             b.name);
    }
    fail("unknown backend \"{}\"; it is {}", name, names);
}

Context &Context::current() {
    if (!t_current) [[unlikely]] {
        thread_local Context context(default_backend());
        t_current = &context;
    }
    return *t_current;
}

ContextScope::ContextScope(Context &context) : m_previous(t_current) { t_current = &context; }
ContextScope::~ContextScope() { t_current = m_previous; }

// ---- masks

NodeId Context::active_mask() {
    return graph.make({ .op = Op::Active, .type = Type::Bool, .imm = uint64_t(region) << 32 });
}

NodeId Context::effective_mask(NodeId mask) {
    Value m = binary(Op::And, Value::share(*this, mask), Value::adopt(*this, active_mask()));
    if (!masks.empty())
        m = binary(Op::And, m, Value::share(*this, masks.back()));
    graph.retain(m.id());
    return m.id();
}

// ---- regions and effects

RegionId Context::enter(const char *kind, bool loop, bool function, bool sibling) {
    if (region == 0 && !sibling)
        m_traced_since = graph.sequence();
    region = graph.open_region(region, kind, loop, function);
    graph.function = graph.region(region).function;
    return region;
}

void Context::leave() {
    graph.close_region(region);
    region = graph.region(region).parent;
    graph.function = graph.region(region).function;
}

void Context::add_effect(NodeId id) { graph.region(region).effects.push_back(id); }

void Context::mark_dirty(NodeId buffer) {
    if (graph[buffer].flags & Dirty) {
        for (DirtyBuffer &d : m_dirty)
            if (d.node == buffer)
                d.seq = graph.sequence();
        return;
    }
    graph[buffer].flags |= Dirty;
    graph.retain(buffer);
    m_dirty.push_back({ buffer, graph.sequence() });
}

// Effects of regions that are still being traced stay pending.
void Context::clear_dirty() {
    std::vector<DirtyBuffer> rest;
    for (DirtyBuffer d : std::exchange(m_dirty, {})) {
        if (region != 0 && d.seq > m_traced_since) { // its effect came before the mark
            rest.push_back(d);
            continue;
        }
        graph[d.node].flags &= uint8_t(~Dirty);
        graph.release(d.node);
    }
    m_dirty.insert(m_dirty.end(), rest.begin(), rest.end());
}

void Context::settle(NodeId buffer, const char *what) {
    evaluate({});
    if (graph[buffer].flags & Dirty)
        fail(
            "{}: reads an array that the {} being recorded writes to; that would be a race between "
            "lanes. Use two arrays, or evaluate between the two",
            what, graph.region(region).kind);
}

void Context::schedule(NodeId id) {
    if (graph[id].op == Op::Buffer)
        return;
    graph.retain(id);
    m_scheduled.push_back(id);
}

} // namespace umbel::jit
