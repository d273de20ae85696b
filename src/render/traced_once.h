// render/traced_once.h: objects inside others are asked the same question once, however many share them.
//
// A texture that refers to another one twice, which does so in turn, would be traced 2^n times. Objects that
// hold others of their own kind ask them through here:
//
//     return traced_once(*m_nested, "eval", [&] { return m_nested->eval(si, active); }, si, active);
#pragma once
#include "core/object.h"
#include "core/variant.h"
#include "jit/fields.h"
#include <any>
#include <map>

namespace umbel {

/// What was answered since the outermost question that is still open. The values of a question are held, so
/// that their ids stay theirs.
class TracedAnswers {
public:
    using Key = std::vector<uint64_t>;
    struct Answer {
        std::any result;
        std::vector<Value> held;
    };

    TracedAnswers() { ++s_depth; }
    ~TracedAnswers() {
        if (--s_depth == 0)
            s_answers.clear();
    }
    TracedAnswers(const TracedAnswers &) = delete;
    std::map<Key, Answer> &known() { return s_answers; }

private:
    static inline thread_local int s_depth = 0;
    static inline thread_local std::map<Key, Answer> s_answers;
};

/// fn(), or what it returned for the same object, question and arguments. Arguments are structs of values, or
/// numbers.
template <class Fn, class... Args>
auto traced_once(const Object &object, const char *question, Fn &&fn, const Args &...args) {
    using Result = decltype(fn());
    TracedAnswers answers;
    jit::Context &c = variant().context();
    TracedAnswers::Key key{ reinterpret_cast<uintptr_t>(&object),
                            reinterpret_cast<uintptr_t>(question), c.region, c.masks.size() };
    std::vector<Value> held;
    [[maybe_unused]] auto add = [&](const auto &arg) {
        if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(arg)>>)
            key.push_back(uint64_t(arg));
        else
            jit::visit_values(arg, [&](const Value &v) {
                key.push_back(v.valid() ? uint64_t(v.id()) << 32 | v.grad_id() : 0);
                held.push_back(v);
            });
    };
    (add(args), ...);
    auto known = answers.known().find(key);
    if (known == answers.known().end()) {
        Result result = fn();
        known =
            answers.known().emplace(std::move(key), TracedAnswers::Answer{ result, held }).first;
    }
    return std::any_cast<Result>(known->second.result);
}

} // namespace umbel
