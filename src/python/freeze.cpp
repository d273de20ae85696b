// python/freeze.cpp: functions whose launches are recorded and replayed; see jit/recording.h.
//
// Python's side (umbel/jit/freezing.py) knows how to call the function, how to describe its result as a template with
// arrays left out, and what it did to the structures that it was given.
#include "ad/ad.h"
#include "jit/recording.h"
#include "python/freeze_inputs.h"
#include "python/functions.h"
#include <map>
#include <memory>
#include <nanobind/stl/string.h>
#include <unordered_map>
#include <unordered_set>

namespace umbel::python {

namespace {

constexpr uint32_t None = ~0u;

// A value that the function leaves behind: numbers of outputs of the recording.
struct Left {
    uint32_t value = None; // None: as it was, or not valid
    bool follow = false;   // it carries a gradient ...
    uint32_t gradient = None;
    bool operator==(const Left &) const = default;
};

struct LeftArray { // of the result
    const Class *cls;
    std::vector<Left> values;
    std::vector<size_t> shape; // of a tensor
    bool operator==(const LeftArray &) const = default;
};

struct LeftInput { // what became of an input
    uint32_t number;
    Left left;
    bool same_node = false; // of the graph of derivatives: its gradient goes on from there
    bool operator==(const LeftInput &) const = default;
};

struct LeftFilm {
    uint32_t number;
    Left left;
    std::vector<size_t> shape;
    bool operator==(const LeftFilm &) const = default;
};

struct Recorded {
    std::shared_ptr<jit::Recording> recording;
    std::vector<LeftArray> result;
    std::vector<LeftInput> inputs;
    std::vector<LeftFilm> films;
    std::vector<std::pair<uint32_t, std::vector<size_t>>>
        shapes; // of tensors among the inputs that changed
    nb::object result_template, writes;
    std::vector<nb::object> kept;
    uint64_t revision = 0, used = 0, flags = 0;
    std::string sizes;

    /// Whether nothing that is no part of the key has changed.
    bool valid(const FrozenInputs &in, uint64_t flags_now) const {
        return revision == in.revision && flags == flags_now && !recording->stale();
    }
    bool like(const Recorded &o) const {
        return result == o.result && inputs == o.inputs && films == o.films && shapes == o.shapes;
    }
};

class FrozenFunction {
public:
    FrozenFunction(int64_t limit, bool auto_opaque) : m_limit(limit), m_auto_opaque(auto_opaque) {}

    FrozenFunction(const FrozenFunction &) = delete;

    /// `python`: an object with functions that need Python; it is not kept, as it refers to this one.
    nb::object call(nb::handle python, nb::object inputs, bool has_backend) {
        m_python = python;
        enter();
        Context &c = context();
        FrozenInputs in(inputs, m_fields, m_python.attr("fields"));
        bool any = has_backend || !in.objects.empty();
        for (const FrozenInput &v : in.values)
            any |= v.place->valid();
        if (!any)
            raise(PyExc_RuntimeError,
                  "freeze: there is no array among the inputs of the function, so its "
                  "backend is not known; pass freeze(backend=...)");
        settle_literals(in);
        in.evaluate();
        std::string key = in.key();
        if (m_exact.count(key))
            key += in.sizes();
        auto it = m_recordings.find(key);
        bool valid = it != m_recordings.end() && it->second->valid(in, flags(c));
        if (!valid || !it->second->recording->covers(in.slots))
            return trace(in, inputs, key, valid);
        it->second->used = ++m_clock;
        return replay(*it->second, in, inputs);
    }

    void clear() {
        m_recordings.clear();
        m_exact.clear();
        m_literals.clear();
        m_count = 0;
    }
    /// For Python's collector of cycles: what is kept may refer to the function.
    int visit(visitproc visit, void *arg) const {
        auto one = [&](nb::handle h) { return h.is_valid() ? visit(h.ptr(), arg) : 0; };
        for (auto &[key, r] : m_recordings) {
            for (nb::handle h : r->kept)
                if (int e = one(h))
                    return e;
            for (nb::handle h : { nb::handle(r->result_template), nb::handle(r->writes) })
                if (int e = one(h))
                    return e;
        }
        return one(m_fields);
    }
    void forget() {
        m_recordings.clear();
        m_fields.reset();
    }
    size_t count() const { return m_count; }
    size_t cached() const { return m_recordings.size(); }

private:
    // Literals are constants of kernels until they change from one call to the next.
    void settle_literals(FrozenInputs &in) {
        if (!m_auto_opaque)
            return in.make_opaque(nullptr);
        std::vector<uint64_t> now = in.literals();
        if (now.empty())
            return;
        std::string structure = in.structure();
        for (const FrozenInput &v : in.values)
            structure += v.place->is_literal() ? 'l' : 'v';
        auto [it, fresh] = m_literals.try_emplace(std::move(structure));
        Literals &known = it->second;
        if (fresh) {
            known.last = now;
            known.opaque.assign(now.size() / 2, false);
        }
        for (size_t i = 0; i < known.opaque.size(); ++i)
            if (now[2 * i] != known.last[2 * i] || now[2 * i + 1] != known.last[2 * i + 1])
                known.opaque[i] = true;
        known.last = now;
        in.make_opaque(&known.opaque);
    }

    // How programs are made
    static uint64_t flags(Context &c) {
        uint64_t f = jit::flushed_kernels() << 16;
        for (uint32_t bit = 0; bit < 15; ++bit)
            if (c.has(jit::Flag(1u << bit)) && jit::Flag(1u << bit) != jit::Flag::History &&
                jit::Flag(1u << bit) != jit::Flag::Async)
                f |= 1u << bit;
        return f;
    }

    // ---- the function itself, recorded
    // `again`: there is a recording for other sizes.
    nb::object trace(FrozenInputs &in, nb::object inputs, const std::string &key, bool again) {
        Context &c = context();
        auto fresh = std::make_unique<Recorded>();
        nb::object snapshot = m_python.attr("snapshot")(inputs);
        nb::object result;
        ++m_count; // also where it fails
        {
            ad::IsolateGrad isolate;
            jit::Recorder recorder(c, in.slots, !in.objects.empty());
            result = m_python.attr("run")(inputs);
            nb::tuple d =
                nb::borrow<nb::tuple>(m_python.attr("describe")(snapshot, inputs, result));
            fresh->result_template = d[0];
            fresh->writes = d[2];
            describe(*fresh, recorder, in, nb::borrow<nb::list>(d[1]));
        }
        fresh->kept = in.kept;
        fresh->revision = in.revision;
        fresh->flags = flags(c);
        fresh->used = ++m_clock;
        fresh->sizes = in.sizes();
        store(std::move(fresh), key, again);
        return result;
    }

    void describe(Recorded &r, jit::Recorder &recorder, FrozenInputs &in, nb::list arrays) {
        std::vector<Value> outputs;
        auto put = [&](const Value &v) {
            outputs.push_back(v.detached());
            return uint32_t(outputs.size() - 1);
        };
        auto gradient_of = [&](const Value &v) {
            Value g = ad::tape().node(v.grad_id()).grad;
            return g.valid() && g.size() != v.size() ? ad::grad(v) : g;
        };
        auto leave = [&](const Value &v) {
            Left left;
            if (!v.valid())
                return left;
            left.value = put(v);
            if (v.grad_id()) {
                left.follow = true;
                if (Value g = gradient_of(v); g.valid())
                    left.gradient = put(g);
            }
            return left;
        };
        for (nb::handle h : arrays) {
            Object *o = array_of(h);
            LeftArray a{ o->cls, {}, {} };
            if (is_tensor(o))
                a.shape = as_tensor(o)->shape;
            for (uint32_t i = 0; i < o->n; ++i)
                a.values.push_back(leave(o->v[i]));
            if (a.shape.size() == 1)
                a.shape[0] = 0; // the array's size
            r.result.push_back(std::move(a));
        }
        for (uint32_t i = 0; i < in.values.size(); ++i) {
            const FrozenInput &was = in.values[i];
            const Value &now = *was.place;
            if (!now.valid())
                continue;
            bool same = now.grad_id() == was.before.grad_id();
            Value g = now.grad_id() ? gradient_of(now) : Value();
            if (now.id() == was.before.id() && same && g.id() == was.gradient.id())
                continue;
            LeftInput left{ i, leave(now), same && now.grad_id() };
            r.inputs.push_back(left);
        }
        uint32_t number = 0;
        for (const FrozenFilm &f : in.films) {
            std::vector<size_t> shape;
            Value now = shown_image(f.film, &shape);
            if (now.valid() && now.id() != f.image.id())
                r.films.push_back({ number, leave(now), shape });
            ++number;
        }
        number = 0;
        for (nb::handle h : in.arrays) {
            Object *o = array_of(h);
            if (is_tensor(o))
                r.shapes.push_back({ number, as_tensor(o)->shape });
            ++number;
        }
        std::erase_if(r.shapes, [&](auto &s) { return s.second.size() < 2; });
        r.recording = recorder.finish(outputs);
    }

    // A second recording under the same key teaches the first how sizes depend on each other, unless they differ.
    void store(std::unique_ptr<Recorded> fresh, const std::string &key, bool again) {
        if (auto it = m_recordings.find(key); again && it != m_recordings.end()) {
            Recorded &old = *it->second;
            if (old.like(*fresh) &&
                nb::cast<bool>(m_python.attr("same")(old.result_template, fresh->result_template,
                                                     old.writes, fresh->writes)) &&
                old.recording->generalize(*fresh->recording)) {
                --m_count;
                old.used = fresh->used;
                return;
            }
            m_exact.insert(key);
            std::unique_ptr<Recorded> first = std::move(it->second);
            m_recordings.erase(it);
            std::string sizes = first->sizes;
            m_recordings[key + sizes] = std::move(first);
            sizes = fresh->sizes;
            m_recordings[key + sizes] = std::move(fresh);
        } else {
            m_recordings[key] = std::move(fresh);
        }
        while (m_limit >= 0 && m_recordings.size() > size_t(m_limit)) {
            auto oldest = m_recordings.begin();
            for (auto i = m_recordings.begin(); i != m_recordings.end(); ++i)
                if (i->second->used < oldest->second->used)
                    oldest = i;
            m_recordings.erase(oldest);
        }
        m_python.attr("stored")(m_count, m_recordings.size());
    }

    // ---- without it
    nb::object replay(const Recorded &r, FrozenInputs &in, nb::object inputs) {
        std::vector<Value> out = r.recording->replay(in.slots);
        auto value_of = [&](const Left &left) {
            if (left.value == None)
                return Value();
            Value v = out[left.value];
            if (left.follow) {
                ad::enable_grad(v);
                if (left.gradient != None)
                    ad::set_grad(v, out[left.gradient]);
            }
            return v;
        };
        bool traverse = false;
        std::map<std::pair<size_t, std::string>, std::vector<Value>>
            changed; // parameters of scene objects
        for (const LeftInput &l : r.inputs) {
            FrozenInput &input = in.values[l.number];
            if (l.same_node) { // the same variable: what has arrived there goes on to what it depends on
                Value v = out[l.left.value];
                ad::Tape &tape = ad::tape();
                jit::GradId id = input.before.grad_id();
                tape.set_grad(id, l.left.gradient == None ? Value() : out[l.left.gradient]);
                tape.retain(id);
                *input.place = Value::attach(std::move(v), id);
                tape.enqueue(ad::Mode::Backward, id);
                traverse = true;
                continue;
            }
            const FrozenObject *owner = object_of(in, l.number);
            if (!owner) {
                *input.place = value_of(l.left);
                continue;
            }
            const std::string &key = owner->keys[l.number - owner->first];
            if (!key.empty())
                changed[{ size_t(owner - in.objects.data()), key }];
        }
        update_objects(in, r, changed, value_of);
        if (traverse)
            ad::traverse(ad::Mode::Backward, ad::ClearAll);
        for (size_t i = 0; i < in.arrays.size();
             ++i) { // tensors of one dimension that changed size
            Object *o = array_of(in.arrays[i]);
            if (is_tensor(o) && as_tensor(o)->shape.size() == 1)
                as_tensor(o)->shape[0] = o->v[0].size();
        }
        for (const auto &[number, shape] : r.shapes)
            as_tensor(array_of(in.arrays[number]))->shape = shape;
        for (const LeftFilm &f : r.films)
            show_image(in.films[f.number].film, value_of(f.left), f.shape);

        nb::list arrays;
        for (const LeftArray &a : r.result) {
            Object *o = make_object(a.cls, nullptr, uint32_t(a.values.size()));
            nb::object array = steal(o);
            for (size_t i = 0; i < a.values.size(); ++i)
                o->v[i] = value_of(a.values[i]);
            if (is_tensor(o)) {
                as_tensor(o)->shape = a.shape;
                if (a.shape.size() == 1)
                    as_tensor(o)->shape[0] = o->v[0].size();
            }
            arrays.append(array);
        }
        if (r.result.size() == 1 && r.result_template.is_none() &&
            r.writes.is_none()) // an array itself
            return nb::borrow(arrays[0]);
        return m_python.attr("fill")(r.result_template, r.writes, inputs, arrays);
    }

    static const FrozenObject *object_of(const FrozenInputs &in, size_t number) {
        for (const FrozenObject &o : in.objects)
            if (number >= o.first && number < o.first + o.keys.size())
                return &o;
        return nullptr;
    }

    // As SceneParameters::update() would: what objects derive from their parameters follows.
    template <class F>
    static void
    update_objects(FrozenInputs &in, const Recorded &r,
                   std::map<std::pair<size_t, std::string>, std::vector<Value>> &changed,
                   F &&value_of) {
        std::map<size_t, std::vector<std::string>> updated;
        for (auto &[which, values] : changed) {
            const FrozenObject &o = in.objects[which.first];
            for (size_t i = 0; i < o.keys.size(); ++i) {
                if (o.keys[i] != which.second)
                    continue;
                Value v = *in.values[o.first + i].place;
                for (const LeftInput &l : r.inputs)
                    if (l.number == o.first + i && !l.same_node)
                        v = value_of(l.left);
                values.push_back(v);
            }
            o.params->assign(which.second, values);
            updated[which.first].push_back(which.second);
        }
        for (auto &[object, keys] : updated)
            in.objects[object].params->update(keys);
    }

    struct Literals {
        std::vector<uint64_t> last;
        std::vector<bool> opaque;
    };
    nb::handle m_python; // during a call
    nb::dict m_fields;
    int64_t m_limit;
    bool m_auto_opaque;
    std::unordered_map<std::string, std::unique_ptr<Recorded>> m_recordings;
    std::unordered_set<std::string> m_exact; // keys under which sizes matter
    std::unordered_map<std::string, Literals> m_literals;
    size_t m_count = 0;
    uint64_t m_clock = 0;
};

} // namespace

static int visit_frozen(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<FrozenFunction>(self)->visit(visit, arg) : 0;
}

static int forget_frozen(PyObject *self) {
    if (nb::inst_ready(self))
        nb::inst_ptr<FrozenFunction>(self)->forget();
    return 0;
}

void bind_freeze(nb::module_ &m) {
    static PyType_Slot slots[] = { { Py_tp_traverse, reinterpret_cast<void *>(visit_frozen) },
                                   { Py_tp_clear, reinterpret_cast<void *>(forget_frozen) },
                                   { 0, nullptr } };
    nb::class_<FrozenFunction>(m, "FrozenFunction", nb::type_slots(slots))
        .def(nb::init<int64_t, bool>())
        .def("call", &FrozenFunction::call)
        .def("clear", &FrozenFunction::clear)
        .def("count", &FrozenFunction::count)
        .def("cached", &FrozenFunction::cached);
    m.def("is_freezing", [] { return jit::Recorder::of(context()) != nullptr; });
}

} // namespace umbel::python
