// jit/llvm/compile.cpp: distributes units over modules, optimizes them and makes object code.
#include "jit/llvm/compile.h"
#include "jit/background.h"
#include "jit/llvm/emit.h"
#include "jit/parallel.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar.h>
#include <memory>
// After LLVM, which has functions called `check`.
#include "jit/error.h"

namespace umbel::jit::llvm_ir {

namespace {

#ifdef NDEBUG
constexpr bool CheckAlways = false;
#else
constexpr bool CheckAlways = true;
#endif

const char *setting(const char *name) {
    const char *s = std::getenv(name);
    return s && *s ? s : nullptr;
}

struct UnitId {
    uint32_t function, unit;
};

struct ModuleUnits {
    std::vector<UnitId> units;
    uint64_t weight = 0;
};

/// Cuts the list of units into modules of up to this weight, unless a unit has more; the heaviest comes first.
std::vector<ModuleUnits> distribute(const std::vector<FunctionPlan> &plans,
                                    uint64_t module_weight) {
    std::vector<ModuleUnits> modules;
    for (uint32_t f = 0; f < plans.size(); ++f)
        for (uint32_t u = 0; u < plans[f].units.size() && !plans[f].inlined; ++u) {
            uint64_t w = plans[f].units[u].weight;
            if (modules.empty() || modules.back().weight + w > module_weight)
                modules.emplace_back();
            modules.back().units.push_back({ f, u });
            modules.back().weight += w;
        }
    std::ranges::stable_sort(modules, std::ranges::greater(), &ModuleUnits::weight);
    return modules;
}

/// The passes before code generation. Programs come simplified, so only duplicates that appear in
/// the expansion of operations are worth merging, say the range reduction of sin and cos.
void add_passes(llvm::legacy::PassManager &passes, llvm::TargetMachine &machine) {
    passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
    passes.add(llvm::createAlwaysInlinerLegacyPass());
    passes.add(llvm::createEarlyCSEPass());
}

void write_file(const std::string &path,
                const std::function<void(llvm::raw_pwrite_stream &)> &body) {
    std::error_code error;
    llvm::raw_fd_ostream out(path, error);
    if (error)
        fail("UMBEL_DUMP_LLVM: cannot write {}: {}", path, error.message());
    body(out);
}

void dump(llvm::Module &module, llvm::TargetMachine &machine, const std::string &stem) {
    write_file(stem + ".ll", [&](llvm::raw_pwrite_stream &out) { module.print(out, nullptr); });
    write_file(stem + ".s", [&](llvm::raw_pwrite_stream &out) {
        llvm::legacy::PassManager passes;
        add_passes(passes, machine);
        machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile);
        passes.run(module);
    });
}

/// What LLVM works on for one module. Without names and with its own context: nothing is shared between threads.
struct Work {
    Work(const Target &target, const std::string &name) : machine(target), module(name, context) {
        context.setDiscardValueNames(!setting("UMBEL_DUMP_LLVM"));
        module.setTargetTriple(target.triple);
        module.setDataLayout(machine->createDataLayout());
    }
    MachineLease machine;
    llvm::LLVMContext context;
    llvm::Module module;
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out{ bytes };
    llvm::legacy::PassManager passes;
    Work *next = nullptr; // of those that are kept for good
};

/// Where memory runs out inside of LLVM, an exception passes through its frames without leaving them in order, and what it worked on
/// may point into them: it is not touched again, not even to be destroyed, and the machine serves nobody else.
class WorkOwner {
public:
    WorkOwner(const Target &target, const std::string &name)
        : m_work(std::make_unique<Work>(target, name)) {}
    ~WorkOwner() {
        if (std::uncaught_exceptions() == m_exceptions)
            return;
        static std::atomic<Work *> s_kept = nullptr; // lest it count as lost
        Work *work = m_work.release();
        work->next = s_kept;
        while (!s_kept.compare_exchange_weak(work->next, work)) {
        }
    }
    WorkOwner(const WorkOwner &) = delete;
    Work &operator*() const { return *m_work; }

private:
    int m_exceptions = std::uncaught_exceptions();
    std::unique_ptr<Work> m_work;
};

class ModuleCompiler {
public:
    ModuleCompiler(const Program &program, const std::vector<FunctionPlan> &plans,
                   const std::string &name, const Target &target)
        : m_program(program), m_plans(plans), m_name(name), m_target(target) {}

    std::string run(const std::vector<UnitId> &units, size_t number) const {
        leave_if_unwanted();
        WorkOwner owner(m_target, m_name);
        Work &work = *owner;
        emit(work.module, units);
        if (CheckAlways || setting("UMBEL_VERIFY"))
            verify_module(work.module);
        if (const char *dir = setting("UMBEL_DUMP_LLVM")) {
            // Code generation changes the module: assembly is made from a second one.
            std::string stem = fmt::format("{}/{}_{}", dir, m_name, number);
            dump_copy(units, *work.machine, stem);
        }
        return make_object(work);
    }

private:
    /// The units, and what stands in the place of its call in one of them.
    std::vector<UnitId> with_inlined(std::vector<UnitId> units) const {
        for (size_t k = 0; k < units.size(); ++k) {
            UnitId u = units[k];
            const FunctionPlan &plan = m_plans[u.function];
            for (uint32_t i = plan.units[u.unit].first; i < plan.units[u.unit].last; ++i) {
                const Inst &inst = m_program.functions[u.function].insts[i];
                if (inst.op != Op::Call || plan.unit[i] != u.unit)
                    continue;
                for (uint32_t callee : m_program.calls[inst.imm].callees)
                    if (m_plans[callee].inlined)
                        units.push_back({ callee, 0 });
            }
        }
        return units;
    }

    void emit(llvm::Module &module, const std::vector<UnitId> &listed) const {
        std::vector<UnitId> units = with_inlined(listed);
        Scope scope{ m_program, m_plans, m_target, m_name, module, {} };
        if (m_target.mask_registers) {
            auto *type = llvm::Type::getInt64Ty(module.getContext());
            new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                     llvm::ConstantInt::get(type, 1), OpaqueOne);
        }
        for (UnitId u : units) {
            const FunctionPlan &plan = m_plans[u.function];
            for (uint32_t i = plan.units[u.unit].first; i < plan.units[u.unit].last; ++i) {
                const Inst &inst = m_program.functions[u.function].insts[i];
                if (is_math(inst.op) && plan.unit[i] == u.unit)
                    ++scope.math_uses[{ inst.op, inst.type == Type::F16 ? Type::F32 : inst.type }];
            }
        }
        for (UnitId u : units)
            Emitter(scope, u.function, u.unit).run();
    }

    void verify_module(llvm::Module &module) const {
        std::string text;
        llvm::raw_string_ostream out(text);
        if (llvm::verifyModule(module, &out))
            throw InternalError(fmt::format("llvm backend: broken IR in {}: {}", m_name, text));
    }

    void dump_copy(const std::vector<UnitId> &units, llvm::TargetMachine &machine,
                   const std::string &stem) const {
        llvm::LLVMContext context;
        llvm::Module module(m_name, context);
        module.setTargetTriple(m_target.triple);
        module.setDataLayout(machine.createDataLayout());
        emit(module, units);
        dump(module, machine, stem);
    }

    static std::string make_object(Work &work) {
        add_passes(work.passes, *work.machine);
        llvm::MCContext *mc = nullptr;
        if (work.machine->addPassesToEmitMC(work.passes, mc, work.out, /* disable verify */ true))
            throw DeviceError("llvm backend: this target cannot make object code");
        work.passes.run(work.module);
        return std::string(work.bytes.data(), work.bytes.size());
    }

    const Program &m_program;
    const std::vector<FunctionPlan> &m_plans;
    const std::string &m_name;
    const Target &m_target;
};

} // namespace

CompiledProgram compile_objects(const Program &program, const std::string &kernel_name,
                                const Target &target) {
    PlanOptions options = plan_options(program, target.width);
    std::vector<FunctionPlan> plans(program.functions.size());
    jit::parallel_for(size_t(0), plans.size(),
                      [&](size_t f) { plans[f] = make_plan(program, uint32_t(f), options); });
    uint32_t heap_bytes = place_frames(plans);

    // Light enough that all cores have work until the end; a module more costs no time that could be measured
    uint64_t module_weight = 1000;
    if (const char *s = setting("UMBEL_MODULE_WEIGHT"))
        module_weight = std::strtoull(s, nullptr, 10);
    std::vector<ModuleUnits> modules = distribute(plans, module_weight);
    std::vector<std::string> objects(modules.size());
    ModuleCompiler compiler(program, plans, kernel_name, target);
    std::atomic<size_t> begun = 0; // a module that is begun last had better be a light one
    jit::parallel_for(
        size_t(0), modules.size(),
        [&](size_t) {
            size_t m = begun++;
            objects[m] = compiler.run(modules[m].units, m);
        },
        tbb::simple_partitioner());
    return { std::move(objects), heap_bytes };
}

} // namespace umbel::jit::llvm_ir
