// jit/cuda/ptx_function.h: writes one function of a program; see jit/cuda/ptx_emit.h.
#pragma once
#include "jit/cuda/ptx_emit.h"
#include "jit/cuda/ptx_text.h"
#include "jit/llvm/plan.h"
#include "jit/private_copies.h"
#include <functional>
#include <memory>

namespace umbel::jit::ptx {

/// Where arguments and results of subroutines lie among their bytes.
struct ParamLayout {
    std::vector<uint32_t> offsets;
    uint32_t bytes;
    ParamLayout(const std::vector<Type> &types, uint32_t header);
};
/// Before a subroutine's arguments: the lane, and the address of the instance's record.
constexpr uint32_t ParamHeader = 16;

inline bool computes_in_double(const Program &program) {
    for (const Function &f : program.functions)
        for (const Inst &in : f.insts)
            if (in.type == Type::F64)
                return true;
    return false;
}

struct ModuleScope {
    const Program &program;
    const std::string &kernel_name;
    Module module = {};
    std::vector<uint8_t> written_args = {}; // arrays that the program writes to, by argument
    bool writes_args = false, writes_elsewhere = false; // through arguments; through other pointers
    PointerUses uses = PointerUses(program);
    std::vector<uint8_t> inlined = {}; // functions whose text is in the place of their calls
    uint32_t lanes = 1;                // of a thread
};

class FunctionWriter {
public:
    FunctionWriter(ModuleScope &scope, uint32_t function);
    std::string run();
    static std::string symbol(const std::string &kernel, uint32_t function);

private:
    /// A callee in the place of its call.
    FunctionWriter(FunctionWriter &caller, uint32_t function, std::vector<Operand> params,
                   const Operand &data);
    void place_arrays();
    struct ArrayCopy {
        uint32_t from, to; // storages
    };

    const Inst &inst(uint32_t i) const { return m_fn.insts[i]; }
    const Operand &value(uint32_t i);
    std::vector<Type> output_types() const;
    Operand argument(uint64_t number, Type t);
    void store_param(Type t, const std::string &place, const Operand &v);
    Operand load_param(Type t, const std::string &place);
    bool only_read(uint32_t pointer) const;
    bool may_be_digits(uint32_t pointer) const;
    void emit_scatter(uint32_t i);
    void call_helper(const std::string &name, const Operand &result,
                     std::initializer_list<std::pair<Type, Operand>> args);
    void emit(uint32_t i);
    void emit_entry(const Operand &first, const Operand &threads, const Operand &size);
    void emit_packet(uint32_t i);
    // ---- control flow
    void loop_begin(uint32_t i);
    void loop_end(uint32_t i);
    void make_merges(uint32_t begin);
    void merge_from(uint32_t begin, int operand);
    // ---- calls (ptx_call.cpp)
    void emit_call(uint32_t i);
    void call_one(const CallSite &site, size_t k, const Operand &data,
                  const std::vector<Operand> &results);
    void emit_extern(uint32_t i);
    void emit_exchange(uint32_t i, bool compares);
    // ---- local arrays (ptx_array.cpp)
    void emit_array(uint32_t i);
    std::string element(uint32_t storage, uint32_t k) const;
    Operand element_at(uint32_t storage, const Operand &index);
    void for_elements(uint32_t storage, const std::function<void(const Operand &offset)> &body);
    void copy_arrays(std::vector<ArrayCopy> copies);
    void select_array(uint32_t i, const Operand &mask, uint32_t b, uint32_t c);

    ModuleScope &m_scope;
    const Program &m_program;
    uint32_t m_function;
    const Function &m_fn;
    llvm_ir::FunctionPlan m_plan;
    std::unique_ptr<Writer> m_own; // null in the place of a call
    Writer &m_w;
    uint32_t &m_local_bytes; // of all that is in this function's text
    std::vector<Operand> m_params;
    std::vector<Operand> m_value;
    std::map<uint32_t, std::pair<std::string, std::string>> m_labels; // by first marker of a region
    std::vector<uint32_t> m_storage;                                  // offsets of local arrays
    uint32_t m_own_local_bytes = 0;
    Operand m_lane, m_data;
};

} // namespace umbel::jit::ptx
