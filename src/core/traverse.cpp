// core/traverse.cpp: collecting parameters and passing on changes.
#include "core/traverse.h"
#include "core/before_changes.h"
#include "core/host_array.h"
#include "core/nearest_name.h"
#include <algorithm>
#include <atomic>
#include <mutex>

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

// ---- settings

std::optional<PropertyValue> setting(const Param &p) {
    bool is_host =
        std::holds_alternative<std::monostate>(p.slot) || std::holds_alternative<double *>(p.slot);
    if (!is_host || !p.objects.empty())
        return {};
    if (p.type == "boolean")
        return PropertyValue(p.otherwise == "true");
    if (p.type == "integer")
        return PropertyValue(int64_t(std::stoll(p.otherwise)));
    if (p.type == "float")
        return PropertyValue(std::stod(p.otherwise));
    if (p.type == "string" || p.type.find(" | ") != p.type.npos)
        return PropertyValue(p.otherwise);
    return {};
}

void change_setting(Object &object, const std::string &name, const PropertyValue &value) {
    BeforeChanges::finish_all();
    auto is_it = [&](const Param &p) { return p.name == name && setting(p); };
    Params before(Params::Mode::Traverse);
    object.declare(before);
    auto found = std::find_if(before.all().begin(), before.all().end(), is_it);
    if (found == before.all().end())
        object.complain("has no setting {}", quote(name));
    if (found->is_fixed)
        object.complain("{} cannot be changed after loading", name);
    auto set = [&](const PropertyValue &v) {
        Properties assigned(object.kind(), object.plugin(), object.id());
        assigned.set(name, v);
        Params params(assigned);
        object.declare(params);
        object.changed(std::span(&name, 1));
    };
    try {
        set(value);
    } catch (const UserError &) {
        set(*setting(*found));
        throw;
    }
    note_change(object);
}

// ---- parameters by name

SceneParameters::SceneParameters(Ref<Object> root) : m_root(std::move(root)) {
    visit(*m_root, { nullptr, "" }, "");
}

std::string SceneParameters::unique(std::string name) {
    int n = m_names[name]++;
    return n ? unique(fmt::format("{}_{}", name, n)) : name;
}

// Depth is bounded by the scene file's nesting.
void SceneParameters::visit(Object &object, Place place, const std::string &prefix) {
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
            if (!child)
                continue;
            if (m_places.count(child)) {
                if (!is_inside(&object, child))
                    m_other_places[child].push_back({ &object, p.name });
                continue;
            }
            std::string name = p.is_list ? fmt::format("{}_{}", p.name, i) : p.name;
            if (!child->id().empty())
                name = unique(child->id());
            else if (object.kind() == "scene") // its parts have no names of their own
                name = unique(child->plugin());
            else
                name = dot + name;
            visit(*child, { &object, p.name }, name);
        }
    }
}

bool SceneParameters::is_inside(const Object *object, const Object *other) const {
    while (object && object != other)
        object = parent_of(object).first;
    return object == other;
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
    for (const Value &v : values)
        if (!v.valid())
            fail("parameter {}: the array is empty; give it numbers", quote(key));
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

void SceneParameters::check_range(std::string_view key, double number) const {
    const SceneParameter &p = at(key);
    auto *slot = std::get_if<double *>(&p.param.slot);
    double before = slot ? **slot : 0;
    Properties assigned(p.owner->kind(), p.owner->plugin(), p.owner->id());
    assigned.set(p.param.name, number);
    Params params(assigned);
    try {
        p.owner->declare(params);
    } catch (const UserError &e) {
        if (slot)
            **slot = before;
        fail("parameter {}: {}", quote(key), e.what());
    }
    if (slot)
        **slot = before;
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
    // Each after all that it is made of, so that it finds that up to date
    struct Around {
        size_t waits_for = 0;             // how many parts of it are still to be told
        std::vector<std::string> changed; // of its parameters
    };
    std::unordered_map<Object *, Around> around;
    std::vector<Object *> next;
    for (auto &[owner, names] : owners)
        if (around.try_emplace(owner).second)
            next.push_back(owner);
    for (size_t i = 0; i < next.size(); ++i)
        each_place(next[i], [&](const Place &p) {
            auto [it, is_new] = around.try_emplace(p.parent);
            ++it->second.waits_for;
            if (is_new)
                next.push_back(p.parent);
        });
    std::erase_if(next, [&](Object *o) { return around.at(o).waits_for > 0; });
    for (size_t i = 0; i < next.size(); ++i) {
        Object *o = next[i];
        if (const Around &a = around.at(o); !a.changed.empty())
            o->children_changed(a.changed);
        if (auto it = owners.find(o); it != owners.end())
            o->changed(it->second);
        each_place(o, [&](const Place &p) {
            Around &a = around.at(p.parent);
            a.changed.push_back(p.name);
            if (--a.waits_for == 0)
                next.push_back(p.parent);
        });
    }
}

void SceneParameters::each_place(Object *object,
                                 const std::function<void(const Place &)> &fn) const {
    if (const Place &first = m_places.at(object); first.parent)
        fn(first);
    if (auto others = m_other_places.find(object); others != m_other_places.end())
        for (const Place &p : others->second)
            fn(p);
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
