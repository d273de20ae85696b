// jit/interp/backend.cpp: the interpreter as a backend, with and without checks.
#include "jit/backends.h"
#include "jit/interp/check.h"
#include "jit/interp/executor.h"
#include "jit/interp/plan.h"
#include <fmt/format.h>

namespace umbel::jit {

namespace {

Arena &thread_arena() {
    static thread_local Arena arena;
    return arena;
}

class InterpKernel final : public Kernel {
public:
    explicit InterpKernel(Plan plan) : m_plan(std::move(plan)) {}

    void run(const Launch &launch, uint64_t begin, uint64_t end) const override {
        if (begin >= end)
            return;
        Arena &arena = thread_arena();
        Arena::Scope scope(arena);
        if (m_plan.checked) {
            m_reported.begin(launch.log, begin);
            Checker checker(m_plan, launch, m_reported);
            Executor(m_plan, launch, arena, &checker).run(begin, end);
        } else {
            Executor(m_plan, launch, arena, nullptr).run(begin, end);
        }
    }

    uint32_t width() const override { return m_plan.block; }

    size_t code_bytes() const override {
        size_t steps = 0;
        for (const FunctionPlan &f : m_plan.functions)
            steps += f.steps.size() + f.uniform_steps.size();
        return steps * sizeof(Step);
    }

private:
    Plan m_plan;
    mutable Reported m_reported;
};

class InterpBackend final : public Backend {
public:
    explicit InterpBackend(bool checked) : m_checked(checked) {}

    const char *name() const override { return m_checked ? "interp-checked" : "interp"; }
    std::string fingerprint() const override {
        return fmt::format("{} {} 1", name(), loops().name);
    }
    std::unique_ptr<Kernel> compile(const Program &program,
                                    const std::string &kernel_name) override {
        return std::make_unique<InterpKernel>(make_plan(program, kernel_name, m_checked));
    }

private:
    bool m_checked;
};

} // namespace

Backend &interp_backend() {
    static InterpBackend backend(false);
    return backend;
}

Backend &checking_backend() {
    static InterpBackend backend(true);
    return backend;
}

void list_interp_backends(std::vector<BackendEntry> &list) {
    list.push_back({ .name = "interp", .rank = 1, .open = interp_backend });
    list.push_back({ .name = "check", .rank = 2, .open = checking_backend, .has_variants = false });
}

} // namespace umbel::jit
