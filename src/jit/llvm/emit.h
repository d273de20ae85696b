// jit/llvm/emit.h: turns one unit of a program into LLVM IR.
//
// Values are vectors <W x T>, one element a lane; masks are <W x i1> in registers, bytes 0
// or 1 in memory. Uniform values are scalars, computed in the prologue, before the
// loop over packets, and broadcast there at their first use as a vector.
#pragma once
#include "jit/llvm/plan.h"
#include "jit/llvm/target.h"
#include <functional>
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <map>
#include <string>

namespace umbel::jit::llvm_ir {

using Builder = llvm::IRBuilder<>;
using llvm::Value;

/// What kernels find behind their context argument. Compiled code cannot be unwound: all that it calls is called by way of
/// functions that let no exception pass.
struct Context {
    void *log;
    void (*print)(const Context *, uint64_t site, uint64_t first_lane, uint64_t lanes,
                  const int32_t *mask, const void *frame);
    void (*assertion)(const Context *, uint64_t site, uint64_t first_lane, uint64_t lanes,
                      const int32_t *mask);
    void (*host)(const Context *, ExternFn fn, void *user, uint64_t first_lane, uint64_t lanes,
                 const int32_t *mask, void *frame);
    void *heap; // of large frames
    uint64_t
        streaming; // whether the launch is large: outputs go past the caches, gathers look ahead
};
using EntryFn = void (*)(void *const *args, const Context *context, uint64_t begin, uint64_t end);

/// What the units of one module share.
struct Scope {
    const Program &program;
    const std::vector<FunctionPlan> &plans;
    const Target &target;
    const std::string &kernel_name;
    llvm::Module &module;
    std::map<std::string, llvm::Function *> helpers; // made on first use, by name
    std::map<std::pair<Op, Type>, uint32_t>
        math_uses = {}; // transcendentals: how often in this module

    uint32_t width() const { return target.width; }
    llvm::LLVMContext &context() const { return module.getContext(); }
    std::string symbol(uint32_t function, uint32_t unit) const;
    /// The declaration of a unit that may be defined in another module.
    llvm::Function *unit(uint32_t function, uint32_t unit);
    /// A value of this type as an argument or a result of a subroutine. A mask is one of bytes, unless the subroutine will
    /// stand in the place of its call.
    llvm::Type *passed_type(Type t, bool inlined) const;
    void set_attributes(llvm::Function *f) const;
};

llvm::Type *element_type(llvm::LLVMContext &context, Type t);
/// As stored in buffers: a mask is a byte.
llvm::Type *memory_type(llvm::LLVMContext &context, Type t);

/// One operation on scalars or vectors alike (jit/llvm/arith.cpp, math.cpp). `from` is the type of
/// a.
Value *emit_elementwise(Builder &b, Op op, Type t, Type from, Value *a, Value *c, Value *d);
/// A mask as integers 1 and 0 of type `to`.
///
/// LLVM 19 for AVX-512 does not terminate on some programs that extend masks: where a, b and ~(a ^ b) are
/// all extended, two combines undo each other's work. With mask registers, modules therefore have a
/// variable OpaqueOne, which LLVM cannot know to be 1, and masks select it or 0.
Value *widen_mask(Builder &b, Value *mask, llvm::Type *to);
constexpr const char *OpaqueOne = "opaque_one";

/// Transcendentals; a helper function where a module has many.
Value *emit_math(Scope &scope, Builder &b, Op op, Type t, Value *a, Value *c);
bool is_math(Op op);

/// Length of the zeros that lanes outside a mask read instead of a record.
constexpr uint64_t ZeroBytes = 256;

class Emitter {
public:
    Emitter(Scope &scope, uint32_t function, uint32_t unit);
    void run();

private:
    // ---- driver (emit.cpp)
    void begin_kernel();
    void begin_packet();
    void next_packet();
    void begin_subroutine();
    void begin_segment();
    void finish();
    void make_lanes(Value *base, Value *active);
    void emit_uniforms();
    void emit_range(uint32_t first, uint32_t last);
    void emit(uint32_t i);
    void call_unit(uint32_t unit, Builder &b);
    void store_header(Builder &b, uint32_t offset, Value *v);
    Value *load_header(Builder &b, uint32_t offset, llvm::Type *t);

    // ---- values (emit.cpp)
    const Inst &inst(uint32_t i) const { return m_fn.insts[i]; }
    void define(uint32_t i, Value *v);
    /// The value of a uniform instruction.
    Value *scalar(uint32_t i);
    /// Any instruction's value as a vector.
    Value *vec(uint32_t i);
    Value *cached(uint32_t i) const;
    void cache(uint32_t i, Value *v, bool everywhere);
    Value *constant(const Inst &i) const;
    Value *arg_pointer(uint32_t arg);
    Value *splat(Builder &b, Value *v) const { return b.CreateVectorSplat(m_width, v); }
    llvm::FixedVectorType *wide(llvm::Type *t) const {
        return llvm::FixedVectorType::get(t, m_width);
    }
    llvm::FixedVectorType *wide(Type t) const { return wide(element_type(m_context, t)); }
    Value *zero(Type t) const { return llvm::Constant::getNullValue(wide(t)); }
    Value *i32(uint32_t v) const {
        return llvm::ConstantInt::get(llvm::Type::getInt32Ty(m_context), v);
    }
    Value *i64(uint64_t v) const {
        return llvm::ConstantInt::get(llvm::Type::getInt64Ty(m_context), v);
    }
    llvm::IntegerType *bits_type() const { return llvm::IntegerType::get(m_context, m_width); }
    Value *mask_bits(Value *mask);  // iW
    Value *mask_bytes(Value *mask); // <W x i8>, as masks are handed to units
    Value *bytes_mask(Value *bytes);
    Value *any(Value *mask);        // i1
    Value *first_lane(Value *mask); // its number, or any other if there is none
    Value *offset(Builder &b, Value *pointer, uint64_t bytes) const;
    llvm::BasicBlock *block(const char *name) const;
    llvm::AllocaInst *stack(uint64_t bytes);
    Value *make_frame();

    // ---- memory (memory.cpp)
    Value *load_packet(Builder &b, Value *pointer, Type t, uint32_t align);
    void prefetch(Value *pointer, uint32_t size);
    llvm::StoreInst *store_packet(Builder &b, Value *v, Value *pointer, Type t, uint32_t align);
    void emit_stores(uint32_t i);
    Value *streaming(); // i1
    void prefetch_records(uint32_t i, uint64_t bytes);
    Value *load_slot(Builder &b, Value *pointer, Type t);
    void store_slot(Builder &b, Value *v, Value *pointer, Type t);
    Value *addresses(Value *pointer, Value *index, uint64_t size, bool small);
    bool small_pointer(uint32_t pointer) const;
    Value *gather_elements(Value *pointer, Value *index, Value *mask, Type t, bool small);
    Value *gather_at(Value *pointers, Value *mask, Type t);
    void emit_gather(uint32_t i);
    uint32_t neighbour_of_gather(uint32_t i, int &side) const;
    void emit_uniform_gather(uint32_t i);
    void emit_packet(uint32_t i);
    void packet_piece(const std::function<Value *(uint32_t lane)> &record, Type t, uint32_t first,
                      uint32_t count, std::vector<Value *> &out);
    using Results = std::vector<Value *>;
    Results one_or_each(Value *pointer, uint64_t size, Value *index, Value *mask,
                        const std::function<Results(Value *record)> &one,
                        const std::function<Results()> &each);
    Value *concatenate(std::vector<Value *> v);
    uint64_t register_bytes() const;
    Value *zero_record();
    void emit_scatter(uint32_t i);
    void emit_scatter_inc(uint32_t i);

    // ---- data of instances (data.cpp)
    struct Field { // of the records, read by this unit
        uint32_t inst;
        uint32_t offset;
        Type type;
    };
    void fetch_data();
    std::vector<Value *> fields_of_one(const std::vector<Field> &fields, Value *record);
    std::vector<Value *> fields_of_many(const std::vector<Field> &fields, Value *offsets);

    // ---- reductions into memory (reduce.cpp)
    llvm::Function *reduce_helper(ReduceOp op, Type t);
    llvm::Function *increment_helper();
    Value *reduce_identity(ReduceOp op, Type t) const;

    // ---- local arrays (array.cpp)
    struct ArrayCopy {
        uint32_t from, to; // storages
    };
    void for_elements(uint32_t length, uint64_t stride, const std::function<void(Value *)> &body);
    void copy_arrays(const std::vector<ArrayCopy> &copies, Value *mask);
    Value *uniform_element(Value *base, uint32_t index, Type t, uint32_t length, Value *&in_range);
    Value *lane_element(Value *index);
    void emit_array_new(uint32_t i);
    void emit_array_get(uint32_t i);
    void emit_array_set(uint32_t i);
    void emit_array_select(uint32_t i, Value *mask, uint32_t b, uint32_t c);
    Value *storage_base(uint32_t storage);

    // ---- control flow (control.cpp)
    struct Region {
        uint32_t begin = 0;
        Value *outer = nullptr; // mask around the region
        Value *condition = nullptr;
        llvm::BasicBlock *head = nullptr, *skip = nullptr, *from = nullptr;
        llvm::PHINode *mask = nullptr;
        std::vector<llvm::PHINode *> phis = {};
        std::vector<Value *> left = {}, right = {}; // of Merges: values at the ends of the branches
        size_t cache_mark = 0;
        bool flat = false;
    };
    void loop_begin(uint32_t i);
    void loop_while(uint32_t i);
    void loop_end(uint32_t i);
    void if_begin(uint32_t i);
    void if_else(uint32_t i);
    void end_if(uint32_t i);
    void enter_branch(Region &r, uint32_t first, uint32_t last, const char *name);
    void leave_branch(Region &r, uint32_t first, int operand, std::vector<Value *> &values);
    bool flat_branch(uint32_t first, uint32_t last) const;
    Value *carry(Value *v, Type t);
    Value *uncarry(Value *v, Type t);
    void forget(size_t mark);

    // ---- lanes that change packets (regroup.cpp)
    struct Moved {      // with a lane
        uint32_t value; // NoValue: of the first three of moved_values()
        Type type;
    };
    bool is_regrouped(uint32_t loop) const {
        return !m_function && !m_unit && loop == m_plan.regrouping.loop;
    }
    bool is_regrouped_phi(uint32_t v) const {
        uint32_t loop = m_plan.regrouping.loop;
        return v > loop && v < m_plan.partner[loop] && inst(v).op == Op::Phi;
    }
    void begin_batch(Value *begin);
    void end_batch();
    void regrouped_begin(uint32_t i);
    void regrouped_while(uint32_t i);
    void regrouped_end();
    std::vector<Moved> moved_values() const;
    void rename(uint32_t i, Value *v);
    Value *as_words(Value *v, Type t);
    Value *from_words(Value *v, Type t);
    Value *packet_place(size_t kept);
    void keep_results(const std::vector<Moved> &moved, const std::vector<Value *> &values,
                      Value *lanes);
    Value *rank_in(Value *mask);
    Value *permuted(Value *place, Value *index, Value *mask, Type t);
    void put_aside(const std::vector<Moved> &moved, const std::vector<Value *> &values,
                   llvm::BasicBlock *next);
    void take_parked(Region &r, const std::vector<Moved> &moved, llvm::BasicBlock *drain);

    // ---- calls (call.cpp)
    void emit_call(uint32_t i);
    /// As arguments and results of subroutines.
    Value *pass(Value *v, Type t, bool inlined) {
        return t == Type::Bool && !inlined ? mask_bytes(v) : v;
    }
    Value *receive(Value *v, Type t, bool inlined) {
        return t == Type::Bool && !inlined ? bytes_mask(v) : v;
    }
    void emit_extern(uint32_t i);
    Value *call_frame(uint64_t bytes);
    /// Calls callee k for some lanes: what it returns there, and elsewhere what is given.
    using CallOne = std::function<Results(size_t k, Value *lanes, const Results &otherwise)>;
    Results call_by_tests(size_t count, Value *callee, Value *mask, Results results,
                          const CallOne &call);
    Results call_by_lookup(size_t count, Value *callee, Value *mask, Results results,
                           const CallOne &call);
    void call_host(const ExternSite &site, uint64_t number, Value *fn, Value *user, Value *masks,
                   Value *frame);

    Scope &m_scope;
    const Program &m_program;
    uint32_t m_function, m_unit;
    const Function &m_fn;
    const FunctionPlan &m_plan;
    llvm::LLVMContext &m_context;
    uint32_t m_width;
    llvm::Function *m_llvm = nullptr;
    Builder m_pre, m_b;                 // prologue; body
    llvm::BasicBlock *m_body = nullptr; // where the prologue leads
    llvm::BasicBlock *m_latch = nullptr;
    llvm::PHINode *m_packet = nullptr;
    Value *m_streaming = nullptr;
    // What a unit is handed
    Value *m_args = nullptr, *m_ctx = nullptr, *m_base = nullptr, *m_end = nullptr;
    Value *m_frame = nullptr, *m_active = nullptr, *m_lane = nullptr;
    Value *m_offsets = nullptr, *m_data = nullptr;

    uint32_t m_first, m_last;                    // instructions of the unit
    std::vector<Value *> m_values;               // of its own instructions
    llvm::DenseMap<uint32_t, Value *> m_fetched; // gathers that another one has done already
    llvm::DenseMap<uint32_t, Value *> m_foreign; // of others', and scalars remade here
    std::vector<uint32_t> m_foreign_log;         // what was added inside regions, to be forgotten
    llvm::DenseMap<uint32_t, Value *> m_broadcasts; // of uniform values, in the prologue
    llvm::DenseMap<uint32_t, Value *> m_arg_pointers;
    std::vector<Region> m_regions;
    struct { // where lanes change packets
        llvm::PHINode *base = nullptr,
                      *base_after = nullptr; // first lane of the batch; of a packet
        Value *end = nullptr, *active = nullptr;
        llvm::BasicBlock *packet = nullptr, *both = nullptr, *merge = nullptr, *park = nullptr,
                         *after = nullptr;
        Value *count = nullptr, *list = nullptr; // of parked lanes, in memory
        std::vector<Value *> parked, kept;       // moved values, and regrouping.kept
    } m_groups;
    llvm::AllocaInst *m_call_frame = nullptr; // shared by all calls of the unit
    uint64_t m_call_bytes = 0;
};

} // namespace umbel::jit::llvm_ir
