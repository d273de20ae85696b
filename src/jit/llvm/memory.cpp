// jit/llvm/memory.cpp: loads and stores of packets, gathers and scatters.
#include "jit/llvm/emit.h"
#include <cstddef>

namespace umbel::jit::llvm_ir {

// ---- Packets

/// W consecutive elements, as buffers hold them.
Value *Emitter::load_packet(Builder &b, Value *pointer, Type t, uint32_t align) {
    Value *v = b.CreateAlignedLoad(wide(memory_type(m_context, t)), pointer, llvm::Align(align));
    return t == Type::Bool ? b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

/// Asks for what a packet further on will load. CPUs do so too, but not across pages and, with some
/// arithmetic in between, too late: 20 to 40 operations on a large array run 1.3 times as fast with it.
void Emitter::prefetch(Value *pointer, uint32_t size) {
    constexpr uint64_t Ahead = 2048, Line = 64; // bytes; 1 to 4 KiB are equally good
    for (uint64_t at = 0; at < m_width * size; at += Line)
        m_b.CreateIntrinsic(llvm::Intrinsic::prefetch, { m_b.getPtrTy() },
                            { offset(m_b, pointer, Ahead + at), m_b.getInt32(0), m_b.getInt32(3),
                              m_b.getInt32(1) });
}

llvm::StoreInst *Emitter::store_packet(Builder &b, Value *v, Value *pointer, Type t,
                                       uint32_t align) {
    if (t == Type::Bool)
        v = widen_mask(b, v, wide(b.getInt8Ty()));
    return b.CreateAlignedStore(v, pointer, llvm::Align(align));
}

Value *Emitter::streaming() {
    if (!m_streaming) {
        Value *place = offset(m_pre, m_ctx, offsetof(Context, streaming));
        m_streaming = m_pre.CreateIsNotNull(
            m_pre.CreateAlignedLoad(m_pre.getInt64Ty(), place, llvm::Align(8)));
    }
    return m_streaming;
}

/// Outputs from instruction i on. A large launch streams them past the caches, which spares reading
/// what is overwritten: its size is not part of the program, so there is code for both.
void Emitter::emit_stores(uint32_t i) {
    auto mine = [&](uint32_t k) {
        return k >= m_first && k < m_last && inst(k).op == Op::StoreLane &&
               m_plan.unit[k] == m_unit;
    };
    if (i > 0 && mine(i - 1))
        return; // stored together with it
    struct Output {
        Value *v, *pointer;
        Type t;
    };
    std::vector<Output> outputs;
    for (uint32_t k = i; mine(k); ++k) {
        Type t = inst(inst(k).arg[0]).type;
        Value *p = m_b.CreateGEP(m_b.getInt8Ty(), arg_pointer(uint32_t(inst(k).imm)),
                                 m_b.CreateMul(m_base, i64(bytes(t))));
        outputs.push_back({ vec(inst(k).arg[0]), p, t });
    }
    llvm::BasicBlock *stream = block("stream"), *keep = block("keep"), *after = block("stored");
    m_b.CreateCondBr(streaming(), stream, keep);
    m_b.SetInsertPoint(stream);
    for (const Output &o : outputs) {
        bool whole = bytes(o.t) >= 4; // less is no cache line's worth
        uint32_t size = uint32_t(bytes(o.t));
        llvm::StoreInst *store =
            store_packet(m_b, o.v, o.pointer, o.t, whole ? std::min(64u, m_width * size) : size);
        if (whole)
            store->setMetadata(
                llvm::LLVMContext::MD_nontemporal,
                llvm::MDNode::get(m_context, llvm::ConstantAsMetadata::get(m_b.getInt32(1))));
    }
    m_b.CreateBr(after);
    m_b.SetInsertPoint(keep);
    for (const Output &o : outputs)
        store_packet(m_b, o.v, o.pointer, o.t, uint32_t(bytes(o.t)));
    m_b.CreateBr(after);
    m_b.SetInsertPoint(after);
}

/// The same in slots and call frames, which are aligned.
Value *Emitter::load_slot(Builder &b, Value *pointer, Type t) {
    return load_packet(b, pointer, t, t == Type::Bool ? m_width : 64);
}

void Emitter::store_slot(Builder &b, Value *v, Value *pointer, Type t) {
    store_packet(b, v, pointer, t, t == Type::Bool ? m_width : 64);
}

// ---- Addresses

/// Whether indices into the array behind a pointer fit an i32, which gathers are twice as fast
/// with.
bool Emitter::small_pointer(uint32_t pointer) const {
    const Inst &in = inst(pointer);
    return in.op == Op::ArgPtr && m_program.args[in.imm].small;
}

/// Pointers to elements of `size` bytes. A small array's index is extended by its sign, which the
/// addressing of gathers does for free.
Value *Emitter::addresses(Value *pointer, Value *index, uint64_t size, bool small) {
    llvm::Type *element = llvm::IntegerType::get(m_context, unsigned(8 * size));
    if (!small)
        index = m_b.CreateZExt(index, wide(Type::U64));
    return m_b.CreateGEP(element, pointer, index);
}

// ---- Gathers

Value *Emitter::gather_elements(Value *pointer, Value *index, Value *mask, Type t, bool small) {
    uint64_t size = bytes(t);
    if (size >= 4 || !small || pointer->getType()->isVectorTy())
        return gather_at(addresses(pointer, index, size, small), mask, t);

    // Narrow elements: gather the aligned words around them (which cannot cross a page that the
    // element does not touch), then shift.
    Value *p = m_b.CreatePtrToInt(pointer, m_b.getInt64Ty());
    Value *base = m_b.CreateIntToPtr(m_b.CreateAnd(p, i64(~3ull)), m_b.getPtrTy());
    uint64_t per_word = 4 / size;
    Value *skew =
        m_b.CreateTrunc(m_b.CreateLShr(m_b.CreateAnd(p, i64(3)), i64(size / 2)), m_b.getInt32Ty());
    Value *e = m_b.CreateAdd(index, splat(m_b, skew));
    Value *word = m_b.CreateLShr(e, llvm::ConstantInt::get(e->getType(), per_word / 2));
    Value *shift =
        m_b.CreateMul(m_b.CreateAnd(e, llvm::ConstantInt::get(e->getType(), per_word - 1)),
                      llvm::ConstantInt::get(e->getType(), 8 * size));
    Value *v = gather_at(m_b.CreateGEP(m_b.getInt32Ty(), base, word), mask, Type::U32);
    v = m_b.CreateTrunc(m_b.CreateLShr(v, shift),
                        wide(llvm::IntegerType::get(m_context, unsigned(8 * size))));
    if (t == Type::Bool)
        return m_b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
    return m_b.CreateBitCast(v, wide(t));
}

/// One element from each lane's address; 0 outside the mask.
Value *Emitter::gather_at(Value *pointers, Value *mask, Type t) {
    uint64_t size = bytes(t);
    if (size >= 4)
        return m_b.CreateMaskedGather(wide(t), pointers, llvm::Align(size), mask,
                                      llvm::Constant::getNullValue(wide(t)));
    Value *p = m_b.CreatePtrToInt(pointers, wide(Type::U64));
    auto c64 = [&](uint64_t v) { return llvm::ConstantInt::get(p->getType(), v); };
    Value *words = m_b.CreateIntToPtr(m_b.CreateAnd(p, c64(~3ull)), pointers->getType());
    Value *v = gather_at(words, mask, Type::U32);
    Value *shift = m_b.CreateTrunc(m_b.CreateShl(m_b.CreateAnd(p, c64(3)), c64(3)), v->getType());
    v = m_b.CreateTrunc(m_b.CreateLShr(v, shift),
                        wide(llvm::IntegerType::get(m_context, unsigned(8 * size))));
    if (t == Type::Bool)
        return m_b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
    return m_b.CreateBitCast(v, wide(t));
}

/// Asks for what gather or packet i will fetch eight packets on, in large launches whose indices are an
/// array. Into the second level of caches: the first has too few misses in flight, of which a gather
/// takes one a lane. 2^24 lanes out of 64 MiB take 0.6 of the time.
void Emitter::prefetch_records(uint32_t i, uint64_t bytes) {
    constexpr uint64_t Packets = 8, Line = 64;
    const Inst &index = inst(inst(i).arg[1]);
    if (!m_packet || !m_regions.empty() || index.op != Op::LoadLane ||
        !m_plan.uniform[inst(i).arg[0]])
        return;
    Value *records = scalar(inst(i).arg[0]), *indices = arg_pointer(uint32_t(index.imm));
    llvm::BasicBlock *ahead = block("ahead"), *after = block("fetch");
    m_b.CreateCondBr(streaming(), ahead, after);
    m_b.SetInsertPoint(ahead);
    // Not beyond the last packet: indices end there
    Value *lane = m_b.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                            m_b.CreateAdd(m_base, i64(Packets * m_width)),
                                            m_b.CreateSub(m_end, i64(m_width)));
    lane = m_b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lane, m_base);
    Value *from = m_b.CreateGEP(m_b.getInt32Ty(), indices, lane);
    for (uint32_t k = 0; k < m_width; ++k) {
        Value *number =
            m_b.CreateAlignedLoad(m_b.getInt32Ty(), offset(m_b, from, 4 * k), llvm::Align(4));
        Value *at = m_b.CreateMul(m_b.CreateZExt(number, m_b.getInt64Ty()), i64(bytes));
        Value *record = m_b.CreateGEP(m_b.getInt8Ty(), records, at);
        for (uint64_t byte = 0; byte < bytes; byte += Line)
            m_b.CreateIntrinsic(
                llvm::Intrinsic::prefetch, { m_b.getPtrTy() },
                { offset(m_b, record, byte), m_b.getInt32(0), m_b.getInt32(2), m_b.getInt32(1) });
    }
    m_b.CreateBr(after);
    m_b.SetInsertPoint(after);
}

void Emitter::emit_gather(uint32_t i) {
    const Inst &in = inst(i);
    if (auto known = m_fetched.find(i); known != m_fetched.end())
        return define(i, known->second);
    prefetch_records(i, bytes(in.type));
    bool uniform = m_plan.uniform[in.arg[0]], small = small_pointer(in.arg[0]);
    Value *pointer = uniform ? scalar(in.arg[0]) : vec(in.arg[0]);
    Value *index = vec(in.arg[1]), *mask = vec(in.arg[2]);
    int side;
    uint32_t other = neighbour_of_gather(i, side);
    if (other == NoValue)
        return define(i, gather_elements(pointer, index, mask, in.type, small));

    // Two side by side are one of twice the width: gathers take as long as they have elements
    if (side < 0)
        index = m_b.CreateSub(index, splat(m_b, i32(1)));
    llvm::Type *both_type = wide(Type::U64), *word = wide(Type::U32);
    Value *both =
        m_b.CreateMaskedGather(both_type, addresses(pointer, index, 4, small), llvm::Align(4), mask,
                               llvm::Constant::getNullValue(both_type));
    Value *low = m_b.CreateTrunc(both, word),
          *high =
              m_b.CreateTrunc(m_b.CreateLShr(both, llvm::ConstantInt::get(both_type, 32)), word);
    low = m_b.CreateBitCast(low, wide(in.type));
    high = m_b.CreateBitCast(high, wide(in.type));
    m_fetched[other] = side < 0 ? low : high;
    define(i, side < 0 ? high : low);
}

/// A gather soon after this one, of the same array under the same mask, of the element before (side -1) or after it.
uint32_t Emitter::neighbour_of_gather(uint32_t i, int &side) const {
    constexpr uint32_t Window = 64; // values that are there early take registers
    const Inst &in = inst(i);
    if (bytes(in.type) != 4 || !m_plan.uniform[in.arg[0]])
        return NoValue;
    auto sum = [&](uint32_t index) { // of a value and a constant
        const Inst &v = inst(index);
        for (int k : { 0, 1 })
            if (v.op == Op::Add && inst(v.arg[k]).op == Op::Literal)
                return std::pair(v.arg[1 - k], uint32_t(inst(v.arg[k]).imm));
        return std::pair(index, 0u);
    };
    auto [value, constant] = sum(in.arg[1]);
    for (uint32_t k = i + 1; k < std::min(m_last, i + Window); ++k) {
        const Inst &other = inst(k);
        bool is_plain = other.op == Op::Literal || is_elementwise(other.op) ||
                        other.op == Op::Gather || other.op == Op::Packet ||
                        other.op == Op::PacketGet || other.op == Op::LoadLane ||
                        other.op == Op::LoadScalar || other.op == Op::ArgPtr;
        if (!is_plain || m_plan.unit[k] != m_unit) // another region, or memory that changes
            return NoValue;
        if (other.op != Op::Gather || other.type != in.type || other.arg[0] != in.arg[0] ||
            other.arg[2] != in.arg[2] || m_plan.uniform[k] || m_fetched.contains(k))
            continue;
        auto [other_value, other_constant] = sum(other.arg[1]);
        side = int(other_constant - constant);
        if (other_value == value && (side == 1 || side == -1))
            return k;
    }
    return NoValue;
}

void Emitter::emit_uniform_gather(uint32_t i) {
    const Inst &in = inst(i);
    Value *pointer = scalar(in.arg[0]), *index = scalar(in.arg[1]), *mask = scalar(in.arg[2]);
    llvm::Type *t = memory_type(m_context, in.type);
    Value *p = m_pre.CreateGEP(t, pointer, m_pre.CreateZExt(index, m_pre.getInt64Ty()));
    p = m_pre.CreateSelect(mask, p, zero_record());
    Value *v = m_pre.CreateAlignedLoad(t, p, llvm::Align(bytes(in.type)));
    if (in.type == Type::Bool)
        v = m_pre.CreateICmpNE(v, m_pre.getInt8(0));
    define(i, v);
}

/// Zeros to load from in place of what must not be touched.
Value *Emitter::zero_record() {
    const char *name = "zeros";
    if (llvm::GlobalVariable *g = m_scope.module.getGlobalVariable(name, true))
        return g;
    auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(m_context), ZeroBytes);
    auto *g =
        new llvm::GlobalVariable(m_scope.module, type, true, llvm::GlobalValue::InternalLinkage,
                                 llvm::Constant::getNullValue(type), name);
    g->setAlignment(llvm::Align(64));
    return g;
}

// ---- Scatters

void Emitter::emit_scatter(uint32_t i) {
    const Inst &in = inst(i);
    Type t = inst(in.arg[2]).type;
    bool uniform = m_plan.uniform[in.arg[0]];
    Value *pointer = uniform ? scalar(in.arg[0]) : vec(in.arg[0]);
    Value *index = vec(in.arg[1]), *value = vec(in.arg[2]), *mask = vec(in.arg[3]);
    Value *p = addresses(pointer, index, bytes(t), small_pointer(in.arg[0]));
    if (t == Type::Bool)
        value = widen_mask(m_b, value, wide(m_b.getInt8Ty()));
    ReduceOp op = ReduceOp(in.imm);
    if (op == ReduceOp::Store)
        m_b.CreateMaskedScatter(value, p, llvm::Align(bytes(t)),
                                mask); // lane order: the last one wins
    else
        m_b.CreateCall(reduce_helper(op, t), { p, value, mask_bits(mask) });
}

void Emitter::emit_scatter_inc(uint32_t i) {
    const Inst &in = inst(i);
    bool uniform = m_plan.uniform[in.arg[0]];
    Value *pointer = uniform ? scalar(in.arg[0]) : vec(in.arg[0]);
    Value *index = vec(in.arg[1]), *mask = vec(in.arg[2]);
    Value *p = addresses(pointer, index, 4, small_pointer(in.arg[0]));
    define(i, m_b.CreateCall(increment_helper(), { p, mask_bits(mask) }));
}

} // namespace umbel::jit::llvm_ir
