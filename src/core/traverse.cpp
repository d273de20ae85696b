// core/traverse.cpp: collecting parameters and passing on changes.
#include "core/traverse.h"
#include "core/before_changes.h"
#include "core/host_array.h"
#include "core/nearest_name.h"
#include <atomic>
#include <mutex>
#include <unordered_set>

namespace umbel {

namespace {
std::atomic<uint64_t> g_changes{ 0 };

// When programs of an object last became others; that of few ever do.
struct LastChanges {
    struct Entry {
        std::weak_ptr<const Object> object;
        uint64_t change;
    };
    std::mutex mutex;
    std::unordered_map<const Object *, Entry> by_object;
    size_t most = 64; // entries, before those of objects that are gone are looked for

    void set(const Object &object) {
        std::lock_guard lock(mutex);
        if (by_object.size() >= most) {
            std::erase_if(by_object, [](const auto &e) { return e.second.object.expired(); });
            most = std::max(most, 2 * by_object.size());
        }
        by_object.insert_or_assign(&object, Entry{ object.weak_from_this(), ++g_changes });
    }
};
LastChanges &last_changes() {
    static auto *l = new LastChanges;
    return *l;
}

bool is_traced(const Slot &slot) {
    return std::holds_alternative<Float *>(slot) ||
           std::holds_alternative<std::array<Float *, 3>>(slot) ||
           std::holds_alternative<TensorSlot>(slot);
}
} // namespace

uint64_t changes() { return g_changes; }
void note_change(const Object &object) { last_changes().set(object); }

SceneParameters::SceneParameters(Ref<Object> root) : m_root(std::move(root)) {
    visit(*m_root, { nullptr, 0, "" }, "");
}

std::string SceneParameters::unique(std::string name) {
    int n = m_names[name]++;
    return n ? unique(fmt::format("{}_{}", name, n)) : name;
}

// Depth is bounded by the scene file's nesting.
void SceneParameters::visit(Object &object, Place place, const std::string &prefix) {
    int depth = place.depth;
    m_places[&object] = std::move(place);
    Params params(Params::Mode::Traverse);
    object.declare(params);
    std::string dot = prefix.empty() ? "" : prefix + ".";
    for (Value *v : params.all_derived())
        m_derived.push_back(v);
    for (const Param &p : params.all()) {
        if (!std::holds_alternative<std::monostate>(p.slot))
            m_all.push_back({ dot + p.name, p, &object });
        for (size_t i = 0; i < p.objects.size(); ++i) {
            Object *child = p.objects[i].get();
            if (!child || m_places.count(child))
                continue;
            std::string name = p.is_list ? fmt::format("{}_{}", p.name, i) : p.name;
            if (!child->id().empty())
                name = unique(child->id());
            else if (object.kind() == "scene") // its parts have no names of their own
                name = unique(child->plugin());
            else
                name = dot + name;
            visit(*child, { &object, depth + 1, p.name }, name);
        }
    }
}

const SceneParameter &SceneParameters::at(std::string_view key) const {
    std::vector<std::string> names;
    for (const SceneParameter &p : m_all) {
        if (p.key == key)
            return p;
        names.push_back(p.key);
    }
    fail("no scene parameter {}{}", quote(key), suggestion(key, names, "parameters"));
}

void SceneParameters::assign(std::string_view key, std::span<const Value> values) const {
    const SceneParameter &p = at(key);
    std::vector<Value *> slots;
    if (auto *f = std::get_if<Float *>(&p.param.slot))
        slots = { *f };
    else if (auto *c = std::get_if<std::array<Float *, 3>>(&p.param.slot))
        slots.assign(c->begin(), c->end());
    else if (auto *t = std::get_if<TensorSlot>(&p.param.slot))
        slots = { t->data };
    else if (auto *b = std::get_if<BufferSlot>(&p.param.slot)) {
        b->read();
        slots = { b->data };
    } else if (auto *t = std::get_if<TransformSlot>(&p.param.slot)) {
        if (!t->data->valid())
            *t->data = float_array(t->host->m);
        slots = { t->data };
    }
    bool any_size = std::holds_alternative<TensorSlot>(p.param.slot) ||
                    std::holds_alternative<BufferSlot>(p.param.slot);
    if (slots.size() != values.size())
        fail("parameter {} consists of {} values, not of {}", quote(key), slots.size(),
             values.size());
    for (size_t i = 0; i < slots.size(); ++i) {
        Value v = jit::cast(slots[i]->type(), values[i]);
        if (v.size() != slots[i]->size() && !any_size) {
            if (v.size() != 1)
                fail("parameter {} has size {}; a value of size {} cannot take its place",
                     quote(key), slots[i]->size(), v.size());
            v = jit::binary(jit::Op::Add, v, jit::full(v.type(), 0, slots[i]->size()));
        }
        *slots[i] = v.is_literal() ? jit::opaque(v) : v;
        jit::schedule(*slots[i]);
    }
}

void SceneParameters::update(const std::vector<std::string> &keys) {
    BeforeChanges::finish_all();
    ++g_changes;
    std::map<Object *, std::vector<std::string>> owners;
    for (const std::string &key : keys) {
        const SceneParameter &p = at(key);
        owners[p.owner].push_back(p.param.name);
        if (!is_traced(p.param.slot))
            note_change(*p.owner);
    }
    jit::eval(); // what assign() has scheduled
    // The innermost first, so that each finds what it is made of up to date
    std::map<int, std::vector<Object *>, std::greater<>> by_depth;
    std::unordered_set<Object *> seen;
    std::unordered_map<Object *, std::vector<std::string>> parents; // what changed inside them
    for (auto &[owner, names] : owners)
        for (Object *o = owner; o && seen.insert(o).second; o = m_places.at(o).parent)
            by_depth[m_places.at(o).depth].push_back(o);
    for (auto &[depth, objects] : by_depth)
        for (Object *o : objects) {
            if (auto it = parents.find(o); it != parents.end())
                o->children_changed(it->second);
            if (auto it = owners.find(o); it != owners.end())
                o->changed(it->second);
            parents[m_places.at(o).parent].push_back(m_places.at(o).name);
        }
}

std::pair<const Object *, std::string_view> SceneParameters::parent_of(const Object *object) const {
    auto it = m_places.find(const_cast<Object *>(object));
    if (it == m_places.end())
        return { nullptr, {} };
    return { it->second.parent, it->second.name };
}

void SceneParameters::each_value(
    const std::function<void(Value &, const std::string &)> &fn) const {
    for (const SceneParameter &p : m_all) {
        if (auto *f = std::get_if<Float *>(&p.param.slot))
            fn(**f, p.key);
        else if (auto *c = std::get_if<std::array<Float *, 3>>(&p.param.slot))
            for (Float *v : *c)
                fn(*v, p.key);
        else if (auto *t = std::get_if<TensorSlot>(&p.param.slot))
            fn(*t->data, p.key);
    }
    for (Value *v : m_derived)
        fn(*v, {});
}

uint64_t SceneParameters::last_change() const {
    LastChanges &l = last_changes();
    std::lock_guard lock(l.mutex);
    uint64_t latest = 0;
    if (l.by_object.size() < m_places.size()) {
        for (auto &[object, entry] : l.by_object)
            if (m_places.count(const_cast<Object *>(object)))
                latest = std::max(latest, entry.change);
    } else
        for (auto &[object, place] : m_places)
            if (auto it = l.by_object.find(object); it != l.by_object.end())
                latest = std::max(latest, it->second.change);
    return latest;
}

std::vector<Value> SceneParameters::traced() const {
    std::vector<Value> out;
    each_value([&](Value &v, const std::string &) { out.push_back(v); });
    return out;
}

} // namespace umbel
