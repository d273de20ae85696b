// jit/llvm/array.cpp: local arrays. Element k of all lanes is a packet at k * W in the frame.
#include "jit/llvm/emit.h"

namespace umbel::jit::llvm_ir {

Value *Emitter::storage_base(uint32_t storage) {
    return offset(m_b, m_frame, m_plan.storages[storage].offset);
}

/// Runs body(byte offset of a packet) for each element; a loop where there are many.
void Emitter::for_elements(uint32_t length, uint64_t stride,
                           const std::function<void(Value *)> &body) {
    if (length <= 8) {
        for (uint32_t k = 0; k < length; ++k)
            body(i64(k * stride));
        return;
    }
    llvm::BasicBlock *before = m_b.GetInsertBlock(), *loop = block("elements"),
                     *after = block("after");
    m_b.CreateBr(loop);
    m_b.SetInsertPoint(loop);
    llvm::PHINode *at = m_b.CreatePHI(m_b.getInt64Ty(), 2);
    at->addIncoming(i64(0), before);
    body(at);
    Value *next = m_b.CreateAdd(at, i64(stride));
    at->addIncoming(next, m_b.GetInsertBlock());
    m_b.CreateCondBr(m_b.CreateICmpULT(next, i64(length * stride)), loop, after);
    m_b.SetInsertPoint(after);
}

/// dst = mask ? src : dst for all pairs at once, so that loop variables may change places.
void Emitter::copy_arrays(const std::vector<ArrayCopy> &copies, Value *mask) {
    for (size_t k = 0; k < copies.size(); ++k) {
        const Storage &s = m_plan.storages[copies[k].to];
        // Pairs of one type and length go together.
        bool first = true;
        std::vector<ArrayCopy> group;
        for (size_t j = 0; j < copies.size(); ++j) {
            const Storage &o = m_plan.storages[copies[j].to];
            if (o.type == s.type && o.length == s.length) {
                first &= j >= k;
                group.push_back(copies[j]);
            }
        }
        if (!first)
            continue;
        uint32_t align = uint32_t(bytes(s.type));
        for_elements(s.length, bytes(s.type) * m_width, [&](Value *at) {
            std::vector<Value *> v;
            for (const ArrayCopy &c : group)
                v.push_back(load_packet(
                    m_b, m_b.CreateGEP(m_b.getInt8Ty(), storage_base(c.from), at), s.type, align));
            for (size_t j = 0; j < group.size(); ++j) {
                Value *to = m_b.CreateGEP(m_b.getInt8Ty(), storage_base(group[j].to), at);
                if (mask)
                    v[j] = m_b.CreateSelect(mask, v[j], load_packet(m_b, to, s.type, align));
                store_packet(m_b, v[j], to, s.type, align);
            }
        });
    }
}

void Emitter::emit_array_new(uint32_t i) {
    const Inst &in = inst(i);
    if (in.imm) // see jit/unset_array.h
        return;
    Value *v = vec(in.arg[0]), *base = storage_base(m_plan.storage[i]);
    for_elements(in.length, bytes(in.type) * m_width, [&](Value *at) {
        store_packet(m_b, v, m_b.CreateGEP(m_b.getInt8Ty(), base, at), in.type,
                     uint32_t(bytes(in.type)));
    });
}

/// Whether all lanes use one index, so that a whole packet is accessed.
Value *Emitter::uniform_element(Value *base, uint32_t index, Type t, uint32_t length,
                                Value *&in_range) {
    Value *k = scalar(index);
    in_range = m_b.CreateICmpULT(k, i32(length));
    k = m_b.CreateZExt(m_b.CreateSelect(in_range, k, i32(0)), m_b.getInt64Ty());
    in_range = splat(m_b, in_range);
    return m_b.CreateGEP(m_b.getInt8Ty(), base, m_b.CreateMul(k, i64(bytes(t) * m_width)));
}

/// Number of each lane's element among all of the array's.
Value *Emitter::lane_element(Value *index) {
    llvm::Type *t = index->getType();
    return m_b.CreateAdd(m_b.CreateMul(index, llvm::ConstantInt::get(t, m_width)),
                         m_b.CreateStepVector(t));
}

void Emitter::emit_array_get(uint32_t i) {
    const Inst &in = inst(i);
    uint32_t length = inst(in.arg[0]).length;
    Value *base = storage_base(m_plan.storage[in.arg[0]]), *mask = vec(in.arg[2]);
    if (m_plan.uniform[in.arg[1]]) {
        Value *in_range, *p = uniform_element(base, in.arg[1], in.type, length, in_range);
        Value *v = load_packet(m_b, p, in.type, uint32_t(bytes(in.type)));
        define(i, m_b.CreateSelect(m_b.CreateAnd(mask, in_range), v, zero(in.type)));
        return;
    }
    Value *index = vec(in.arg[1]);
    mask = m_b.CreateAnd(mask, m_b.CreateICmpULT(index, splat(m_b, i32(length))));
    define(i, gather_elements(base, lane_element(index), mask, in.type, true));
}

void Emitter::emit_array_set(uint32_t i) {
    const Inst &in = inst(i);
    Value *mask = m_b.CreateAnd(vec(in.arg[3]), m_active), *value = vec(in.arg[2]);
    bool uniform = m_plan.uniform[in.arg[1]];
    Value *index = uniform ? nullptr : vec(in.arg[1]);
    uint32_t from = m_plan.storage[in.arg[0]], to = m_plan.storage[i];
    if (from != to)
        copy_arrays({ { from, to } }, nullptr);
    Value *base = storage_base(to);
    uint32_t size = uint32_t(bytes(in.type));
    if (uniform) {
        Value *in_range, *p = uniform_element(base, in.arg[1], in.type, in.length, in_range);
        mask = m_b.CreateAnd(mask, in_range);
        store_packet(m_b, m_b.CreateSelect(mask, value, load_packet(m_b, p, in.type, size)), p,
                     in.type, size);
        return;
    }
    mask = m_b.CreateAnd(mask, m_b.CreateICmpULT(index, splat(m_b, i32(in.length))));
    if (in.type == Type::Bool)
        value = widen_mask(m_b, value, wide(m_b.getInt8Ty()));
    m_b.CreateMaskedScatter(value, addresses(base, lane_element(index), size, true),
                            llvm::Align(size), mask);
}

/// mask ? b : c into the storage of i, which may be that of one of them.
void Emitter::emit_array_select(uint32_t i, Value *mask, uint32_t b, uint32_t c) {
    uint32_t to = m_plan.storage[i], x = m_plan.storage[b], y = m_plan.storage[c];
    if (x == y && x == to)
        return;
    Type t = inst(i).type;
    uint32_t size = uint32_t(bytes(t));
    Value *px = storage_base(x), *py = storage_base(y), *p = storage_base(to);
    for_elements(inst(i).length, size * m_width, [&](Value *at) {
        Value *u = load_packet(m_b, m_b.CreateGEP(m_b.getInt8Ty(), px, at), t, size);
        Value *v = load_packet(m_b, m_b.CreateGEP(m_b.getInt8Ty(), py, at), t, size);
        store_packet(m_b, m_b.CreateSelect(mask, u, v), m_b.CreateGEP(m_b.getInt8Ty(), p, at), t,
                     size);
    });
}

} // namespace umbel::jit::llvm_ir
