// jit/control.h: loops, conditionals and polymorphic calls over lanes.
//
// Recorded by default: the body is traced once and becomes part of the kernel. With the flags RecordLoops,
// RecordIfs or RecordCalls off, they run as a sequence of kernels instead, for debugging and comparison.
#pragma once
#include "jit/array.h"
#include "jit/fields.h"
#include <functional>
#include <optional>
#include <typeinfo>

namespace umbel::jit {

namespace detail {
void loop(const char *name, const std::vector<Value *> &state, const Condition &condition,
          const Body &body);
std::vector<Value> if_(const char *name, const Value &condition, const Branch &then_branch,
                       const Branch &else_branch);
std::vector<Value> call(const char *name, const Value &id, const Value &mask,
                        const std::vector<Value *> &args, uint32_t instances, const Callee &callee);

// The same, not followed by the tracker
void plain_loop(const char *name, const std::vector<Value *> &state, const Condition &condition,
                const Body &body);
std::vector<Value> plain_if(const char *name, const Value &condition, const Branch &then_branch,
                            const Branch &else_branch);
std::vector<Value> plain_call(const char *name, const Value &id, const Value &mask,
                              const std::vector<Value *> &args, uint32_t instances,
                              const Callee &callee);

template <class R> std::vector<Value> flatten(R &r) {
    std::vector<Value> out;
    visit_values(r, [&](Value &v) { out.push_back(v); });
    return out;
}
template <class R> void unflatten(R &r, std::vector<Value> values) {
    size_t i = 0;
    visit_values(r, [&](Value &v) { v = std::move(values[i++]); });
}
} // namespace detail

/// Runs `body(state)` while `condition(state)` holds, for each lane on its own, and returns the final
/// state. All that the body changes must be in the state. `name` appears in error messages.
template <class State, class Condition, class Body>
State loop(State state, Condition &&condition, Body &&body, const char *name = "loop") {
    // The recorder works on values of its own: the body may replace whole containers in the state.
    std::vector<Value> values = detail::flatten(state);
    std::vector<Value *> pointers;
    for (Value &v : values)
        pointers.push_back(&v);
    auto load = [&] {
        size_t i = 0;
        visit_values(state, [&](Value &v) { v = values[i++]; });
    };
    auto run_body = [&] {
        load();
        body(state);
        std::vector<Value> next = detail::flatten(state);
        if (next.size() != values.size())
            fail("{}: the body turns a state of {} values into one of {}", name, values.size(),
                 next.size());
        std::move(next.begin(), next.end(), values.begin());
    };
    detail::loop(
        name, pointers,
        [&]() -> Value {
            load();
            return condition(std::as_const(state));
        },
        run_body);
    load();
    return state;
}

/// The result of `then_branch()` in lanes where the condition holds, of `else_branch()` in the others.
template <class Then, class Else>
auto if_(const Mask &condition, Then &&then_branch, Else &&else_branch, const char *name = "if") {
    using R = std::invoke_result_t<Then>;
    if constexpr (std::is_void_v<R>) {
        detail::if_(
            name, condition,
            [&] {
                then_branch();
                return std::vector<Value>();
            },
            [&] {
                else_branch();
                return std::vector<Value>();
            });
    } else {
        R result;
        std::optional<R> shape; // of the results: the branches must agree in it
        auto trace = [&](auto &branch) {
            shape.emplace(branch());
            return detail::flatten(*shape);
        };
        auto values = detail::if_(
            name, condition, [&] { return trace(then_branch); },
            [&] { return trace(else_branch); });
        result = std::move(*shape);
        detail::unflatten(result, std::move(values));
        return result;
    }
}

/// Base of classes whose methods are called polymorphically: `class Shape : public Instance<Shape>`.
/// An instance belongs to the context in which it was made.
template <class Base> class Instance {
public:
    Instance() : m_context(Context::current()) {
        auto &r = m_context.registries[typeid(Base).name()];
        if (r.free.empty()) {
            r.instances.push_back(this);
            m_id = uint32_t(r.instances.size());
        } else {
            m_id = r.free.back();
            r.free.pop_back();
            r.instances[m_id - 1] = this;
        }
    }
    Instance(const Instance &) = delete;
    virtual ~Instance() {
        auto &r = m_context.registries[typeid(Base).name()];
        r.instances[m_id - 1] = nullptr;
        r.free.push_back(m_id);
    }
    /// 1 or more; 0 stands for no instance.
    uint32_t id() const { return m_id; }

private:
    Context &m_context;
    uint32_t m_id;
};

/// An array of references to instances, or to none.
template <class Base> class Pointer : public UInt32 {
public:
    Pointer() : UInt32(0u) {}
    Pointer(const Base *p) : UInt32(p ? p->id() : 0u) {}
    explicit Pointer(UInt32 ids) : UInt32(std::move(ids)) {}
};

/// fn(instance, args...) for the instance that each lane of `mask` points to. Lanes that point to none
/// get zeros. All instances of the class are traced; arguments and results are values or structs.
template <class Base, class Fn, class... Args>
auto call_masked(const Pointer<Base> &self, const Mask &mask, Fn &&fn, Args... args) {
    using R = std::invoke_result_t<Fn, Base *, Args &...>;
    auto &registry = self.context().registries[typeid(Base).name()];
    std::tuple<Args &...> arguments(args...);
    std::vector<Value *> flat;
    visit_values(arguments, [&](Value &v) { flat.push_back(&v); });
    auto trace = [&](uint32_t i, auto &&take) {
        void *p = registry.instances[i];
        if (!p)
            return false;
        Base *instance = static_cast<Base *>(static_cast<Instance<Base> *>(p));
        take([&]() -> R { return fn(instance, args...); });
        return true;
    };
    uint32_t n = uint32_t(registry.instances.size());
    if constexpr (std::is_void_v<R>) {
        detail::call("call", self, mask, flat, n,
                     [&](uint32_t i) -> std::optional<std::vector<Value>> {
                         if (!trace(i, [](auto &&f) { f(); }))
                             return std::nullopt;
                         return std::vector<Value>();
                     });
    } else {
        std::optional<R> shape;
        auto values = detail::call("call", self, mask, flat, n,
                                   [&](uint32_t i) -> std::optional<std::vector<Value>> {
                                       if (!trace(i, [&](auto &&f) { shape.emplace(f()); }))
                                           return std::nullopt;
                                       return detail::flatten(*shape);
                                   });
        if (!shape)
            fail("call: no instance of {} exists", typeid(Base).name());
        R result = std::move(*shape);
        detail::unflatten(result, std::move(values));
        return result;
    }
}
template <class Base, class Fn, class... Args>
auto call(const Pointer<Base> &self, Fn &&fn, Args... args) {
    return call_masked(self, Mask(true), std::forward<Fn>(fn), std::move(args)...);
}

/// functions[index](args...); lanes whose index is out of range get zeros.
template <class R, class... Args>
R switch_(const UInt32 &index, const std::vector<std::function<R(const Args &...)>> &functions,
          std::type_identity_t<Args>... args) {
    std::tuple<Args &...> arguments(args...);
    std::vector<Value *> flat;
    visit_values(arguments, [&](Value &v) { flat.push_back(&v); });
    if (functions.empty())
        fail("switch: no functions to choose from");
    std::optional<R> shape;
    uint32_t n = uint32_t(functions.size());
    UInt32 id = select(index < UInt32(n), index + 1u, UInt32(0u));
    auto values = detail::call("switch", id, Mask(true), flat, n,
                               [&](uint32_t i) -> std::optional<std::vector<Value>> {
                                   shape.emplace(functions[i](args...));
                                   return detail::flatten(*shape);
                               });
    R result = std::move(*shape);
    detail::unflatten(result, std::move(values));
    return result;
}

} // namespace umbel::jit
