// jit/llvm/control.cpp: loops and conditionals over packets: a block runs while any lane wants it.
#include "jit/llvm/emit.h"

namespace umbel::jit::llvm_ir {

// ---- Masks between blocks
//
// LLVM moves <W x i1> between blocks as narrow integers unless there are mask registers; a vector
// of 0 and -1 is what comparisons make and blends take, so masks travel in that form there.

Value *Emitter::carry(Value *v, Type t) {
    return t == Type::Bool && !m_scope.target.mask_registers ? m_b.CreateSExt(v, wide(Type::I32))
                                                             : v;
}

Value *Emitter::uncarry(Value *v, Type t) {
    if (t != Type::Bool || m_scope.target.mask_registers)
        return v;
    return m_b.CreateICmpSLT(v, llvm::Constant::getNullValue(v->getType()));
}

// ---- Loops

void Emitter::loop_begin(uint32_t i) {
    if (is_regrouped(i))
        return regrouped_begin(i);
    Region r{ .begin = i, .outer = m_active };
    std::vector<ArrayCopy> copies;
    std::vector<Value *> initial;
    for (uint32_t p = i + 1; inst(p).op == Op::Phi; ++p) {
        const Inst &phi = inst(p);
        if (phi.length) {
            if (m_plan.storage[phi.arg[0]] != m_plan.storage[p])
                copies.push_back({ m_plan.storage[phi.arg[0]], m_plan.storage[p] });
            initial.push_back(nullptr);
        } else {
            initial.push_back(carry(vec(phi.arg[0]), phi.type));
        }
    }
    if (!copies.empty())
        copy_arrays(copies, nullptr);
    Value *mask = carry(m_active, Type::Bool);

    llvm::BasicBlock *before = m_b.GetInsertBlock();
    r.head = block("loop");
    m_b.CreateBr(r.head);
    m_b.SetInsertPoint(r.head);
    r.mask = m_b.CreatePHI(mask->getType(), 2);
    r.mask->addIncoming(mask, before);
    for (size_t k = 0; k < initial.size(); ++k) {
        r.phis.push_back(nullptr);
        if (!initial[k])
            continue;
        r.phis[k] = m_b.CreatePHI(initial[k]->getType(), 2);
        r.phis[k]->addIncoming(initial[k], before);
    }
    m_active = uncarry(r.mask, Type::Bool);
    for (size_t k = 0; k < initial.size(); ++k)
        if (r.phis[k])
            define(i + 1 + uint32_t(k), uncarry(r.phis[k], inst(i + 1 + uint32_t(k)).type));
    r.cache_mark = m_foreign_log.size();
    m_regions.push_back(std::move(r));
}

void Emitter::loop_while(uint32_t i) {
    Region &r = m_regions.back();
    if (is_regrouped(r.begin))
        return regrouped_while(i);
    m_active = m_b.CreateAnd(m_active, vec(inst(i).arg[0]));
    llvm::BasicBlock *body = block("iterate");
    r.skip = block("left");
    m_b.CreateCondBr(any(m_active), body, r.skip);
    m_b.SetInsertPoint(body);
    // What the head loaded is valid after the loop, too; what the body loads is not.
    r.cache_mark = m_foreign_log.size();
}

void Emitter::loop_end(uint32_t) {
    Region &r = m_regions.back();
    if (is_regrouped(r.begin))
        return regrouped_end();
    std::vector<ArrayCopy> copies;
    std::vector<Value *> next;
    for (size_t k = 0; k < r.phis.size(); ++k) {
        uint32_t p = r.begin + 1 + uint32_t(k);
        const Inst &phi = inst(p);
        next.push_back(nullptr);
        if (phi.length) {
            if (m_plan.storage[phi.arg[1]] != m_plan.storage[p])
                copies.push_back({ m_plan.storage[phi.arg[1]], m_plan.storage[p] });
            continue;
        }
        // Lanes that have left keep what they had.
        Value *now = cached(p), *v = vec(phi.arg[1]);
        next[k] = v == now ? static_cast<Value *>(r.phis[k])
                           : carry(m_b.CreateSelect(m_active, v, now), phi.type);
    }
    if (!copies.empty())
        copy_arrays(copies, m_active);
    Value *mask = carry(m_active, Type::Bool);
    llvm::BasicBlock *from = m_b.GetInsertBlock();
    r.mask->addIncoming(mask, from);
    for (size_t k = 0; k < r.phis.size(); ++k)
        if (r.phis[k])
            r.phis[k]->addIncoming(next[k], from);
    m_b.CreateBr(r.head);
    m_b.SetInsertPoint(r.skip);
    m_active = r.outer;
    size_t mark = r.cache_mark;
    m_regions.pop_back();
    forget(mark);
}

// ---- Conditionals

/// Whether a branch is so short and harmless that all lanes may run it.
bool Emitter::flat_branch(uint32_t first, uint32_t last) const {
    uint32_t cost = 0;
    for (uint32_t i = first; i < last; ++i) {
        const Inst &in = inst(i);
        if (m_plan.uniform[i])
            continue;
        bool cheap = in.op == Op::Lane || in.op == Op::Active ||
                     (in.op >= Op::Neg && in.op <= Op::Select && !is_math(in.op) && in.length == 0);
        if (!cheap || m_plan.unit[i] != m_unit)
            return false;
        cost += uint32_t(weight(m_program, in));
    }
    return cost <= 12;
}

void Emitter::enter_branch(Region &r, uint32_t first, uint32_t last, const char *name) {
    r.flat = flat_branch(first, last);
    r.from = m_b.GetInsertBlock();
    r.cache_mark = m_foreign_log.size();
    if (r.flat)
        return;
    llvm::BasicBlock *branch = block(name);
    r.skip = block("skip");
    m_b.CreateCondBr(any(m_active), branch, r.skip);
    r.from = m_b.GetInsertBlock();
    m_b.SetInsertPoint(branch);
}

/// Ends a branch begun after marker `first`; `values` are the operands of the Merges it feeds.
void Emitter::leave_branch(Region &r, uint32_t first, int operand, std::vector<Value *> &values) {
    uint32_t end = m_plan.partner[m_plan.partner[r.begin]];
    struct Join {
        size_t k;
        Value *v;
        Type t;
    };
    std::vector<Join> joins;
    for (uint32_t m = end + 1; m < m_fn.insts.size() && inst(m).op == Op::Merge; ++m) {
        values.push_back(nullptr);
        uint32_t v = inst(m).arg[operand];
        // Values from before the conditional are asked for after it.
        if (inst(m).length || m_plan.uniform[v] || v < first)
            continue;
        values.back() = vec(v);
        if (!r.flat)
            joins.push_back(
                { values.size() - 1, carry(values.back(), inst(m).type), inst(m).type });
    }
    if (!r.flat) {
        llvm::BasicBlock *last = m_b.GetInsertBlock();
        m_b.CreateBr(r.skip);
        m_b.SetInsertPoint(r.skip);
        std::vector<llvm::PHINode *> phis;
        for (const Join &j : joins) {
            llvm::PHINode *phi = m_b.CreatePHI(j.v->getType(), 2);
            phi->addIncoming(j.v, last);
            phi->addIncoming(llvm::Constant::getNullValue(j.v->getType()), r.from);
            phis.push_back(phi);
        }
        for (size_t k = 0; k < joins.size(); ++k)
            values[joins[k].k] = uncarry(phis[k], joins[k].t);
        forget(r.cache_mark);
    }
}

void Emitter::if_begin(uint32_t i) {
    Region r{ .begin = i, .outer = m_active };
    r.condition = vec(inst(i).arg[0]);
    m_active = m_b.CreateAnd(m_active, r.condition);
    enter_branch(r, i + 1, m_plan.partner[i], "then");
    m_regions.push_back(std::move(r));
}

void Emitter::if_else(uint32_t i) {
    Region &r = m_regions.back();
    leave_branch(r, r.begin, 1, r.left);
    m_active = m_b.CreateAnd(r.outer, m_b.CreateNot(r.condition));
    enter_branch(r, i + 1, m_plan.partner[i], "else");
}

void Emitter::end_if(uint32_t i) {
    Region &r = m_regions.back();
    leave_branch(r, m_plan.partner[r.begin], 2, r.right);
    m_active = r.outer;
    Region done = std::move(r);
    m_regions.pop_back();
    for (uint32_t m = i + 1, k = 0; m < m_fn.insts.size() && inst(m).op == Op::Merge; ++m, ++k) {
        const Inst &in = inst(m);
        if (in.length) {
            emit_array_select(m, done.condition, in.arg[1], in.arg[2]);
            continue;
        }
        Value *b = done.left[k] ? done.left[k] : vec(in.arg[1]);
        Value *c = done.right[k] ? done.right[k] : vec(in.arg[2]);
        define(m, m_b.CreateSelect(done.condition, b, c));
    }
}

} // namespace umbel::jit::llvm_ir
