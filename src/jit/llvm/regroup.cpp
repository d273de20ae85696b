// jit/llvm/regroup.cpp: packets that most lanes have left wait for others, and go on together.
//
// A packet stays in a loop as long as its last lane: paths of light that go on after most have ended cost what full packets
// cost. So, where a kernel has a long loop, a packet of which little more than half is left is put aside (parked), and the next
// packet begins. Once both have room in one, its free lanes take over those that were parked: at no time is there more than
// one packet aside. What lanes leave behind is kept until all packets of a batch have left the loop; only then
// comes what follows it.
//
//     batch:  packet:  what precedes the loop, for each packet in turn; then
//               head:    condition    many: iterate    none: left    else: merge | park | iterate
//               merge:   the free lanes take those that are parked           -> head
//               park:    the lanes are put aside                             -> next
//               left:    all have left                                       -> next
//               next:    -> packet, or at the end of the batch -> merge, if lanes are parked, else -> after
//             after:   what follows the loop, for each packet in turn
//
// A lane computes what it would compute anywhere. Effects inside the loop would come in another order, though, and what depends on
// the number of a lane is not known there: loops that have either stay as they are.
#include "jit/llvm/emit.h"
#include <llvm/IR/IntrinsicsX86.h>

namespace umbel::jit::llvm_ir {

namespace {

/// Packets of a batch: the last ones of each wait for nobody, and results of all must fit the caches.
constexpr uint64_t BatchPackets = 32;
/// A packet with more lanes than that, of eight, goes on as it is. Measured: 10 of 16 is as good as any.
constexpr uint64_t FewLanes = 5;

/// Masks lie in memory as words 0 and -1: nothing narrower can be scattered or permuted at once.
Type word_type(Type t) { return t == Type::Bool ? Type::I32 : t; }
uint64_t kept_bytes(Type t) { return bytes(word_type(t)); }

class Search {
public:
    Search(const Program &program, const FunctionPlan &plan, uint64_t least_weight)
        : m_program(program), m_fn(program.functions[0]), m_plan(plan),
          m_least_weight(least_weight) {}

    Regrouping run() {
        for (const Inst &i : m_fn.insts)
            if (i.length)
                return {}; // local arrays stay where they are
        for (size_t f = 1; f < m_program.functions.size(); ++f)
            for (const Inst &i : m_program.functions[f].insts)
                if (i.op == Op::Lane || !may_move(i))
                    return {};
        Regrouping best;
        uint64_t most = 0;
        for (uint32_t i = 0; i < m_fn.insts.size(); ++i) {
            Op op = m_fn.insts[i].op;
            if (op != Op::LoopBegin && op != Op::IfBegin)
                continue;
            uint32_t end = m_plan.partner[m_plan.partner[i]];
            uint64_t weight = op == Op::LoopBegin ? worth(i, end) : 0;
            if (weight > most && moves(i, end)) {
                most = weight;
                best.loop = i;
            }
            i = end;
        }
        return best.loop != NoValue && list_values(best) ? best : Regrouping{};
    }

private:
    const Inst &inst(uint32_t i) const { return m_fn.insts[i]; }
    template <class F> void uses(uint32_t i, F f) const {
        for_each_use(m_program, m_fn, m_plan.partner, i, f);
    }

    bool may_move(const Inst &i) const {
        switch (i.op) {
        case Op::Scatter:
        case Op::ScatterInc:
        case Op::LoadLane:
        case Op::StoreLane: return false;
        case Op::Extern: {
            const ExternSite &site = m_program.externs[i.imm];
            return site.kind == ExternSite::Function && !site.out_types.empty();
        }
        default: return true;
        }
    }
    bool moves(uint32_t begin, uint32_t end) const {
        for (uint32_t i = begin + 1; i < end; ++i) {
            bool reads_lane = false;
            uses(i, [&](uint32_t v, uint32_t position) {
                reads_lane |= position > begin && inst(v).op == Op::Lane;
            });
            if (reads_lane || !may_move(inst(i)))
                return false;
        }
        return true;
    }
    /// 0 where it does not pay.
    uint64_t worth(uint32_t begin, uint32_t end) const {
        uint64_t total = 0;
        bool calls = false; // of the host: rays
        for (uint32_t i = begin; i < end; ++i) {
            total += m_plan.uniform[i] ? 0 : weight(m_program, inst(i));
            calls |= inst(i).op == Op::Extern;
        }
        return std::max(total, calls ? RegroupWeight : 0) >= m_least_weight ? total : 0;
    }

    /// Results come into being with what makes them.
    uint32_t born(uint32_t v) const {
        Op op = inst(v).op;
        return op == Op::PacketGet || op == Op::CallOut || op == Op::ExternOut ? inst(v).arg[0] : v;
    }
    /// False if one of them cannot be moved.
    bool list_values(Regrouping &r) const {
        uint32_t end = m_plan.partner[m_plan.partner[r.loop]];
        std::vector<uint8_t> inside(m_fn.insts.size()), after(m_fn.insts.size());
        for (uint32_t i = r.loop + 1; i < m_fn.insts.size(); ++i)
            uses(i, [&](uint32_t v, uint32_t position) {
                if (!m_plan.uniform[v] && !rematerialized(inst(v).op) && position > r.loop)
                    (i > end ? after : inside)[v] = 1;
            });
        for (uint32_t v = 0; v < m_fn.insts.size(); ++v) {
            bool is_before = born(v) < r.loop; // though its place may be behind the loop's
            if (!(is_before && inside[v]) && !(born(v) < end && after[v]))
                continue;
            if (inst(v).type == Type::Ptr)
                return false;
            if (is_before && inside[v])
                r.carried.push_back(v);
            if (after[v])
                r.kept.push_back(v);
        }
        return true;
    }

    const Program &m_program;
    const Function &m_fn;
    const FunctionPlan &m_plan;
    uint64_t m_least_weight;
};

} // namespace

Regrouping find_regrouping(const Program &program, const FunctionPlan &plan,
                           uint64_t least_weight) {
    return Search(program, plan, least_weight).run();
}

// ---- Batches

void Emitter::begin_batch(Value *begin) {
    m_groups.base = m_b.CreatePHI(m_b.getInt64Ty(), 2, "batch");
    m_groups.base->addIncoming(begin, m_pre.GetInsertBlock()); // corrected in end_batch()
    Value *end = m_b.CreateAdd(m_groups.base, i64(BatchPackets * m_width));
    m_groups.end = m_b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, m_end);
    m_groups.count = stack(64);
    m_b.CreateAlignedStore(i32(0), m_groups.count, llvm::Align(4));
    m_groups.packet = block("packet");
    llvm::BasicBlock *batch = m_b.GetInsertBlock();
    m_b.CreateBr(m_groups.packet);
    m_b.SetInsertPoint(m_groups.packet);
    m_packet = m_b.CreatePHI(m_b.getInt64Ty(), 2, "base");
    m_packet->addIncoming(m_groups.base, batch);
}

void Emitter::end_batch() {
    Value *next = m_b.CreateAdd(m_base, i64(m_width));
    llvm::BasicBlock *batch = block("next_batch"), *done = block("done");
    m_groups.base_after->addIncoming(next, m_b.GetInsertBlock());
    m_b.CreateCondBr(m_b.CreateICmpULT(next, m_groups.end), m_groups.after, batch);
    m_b.SetInsertPoint(batch);
    m_groups.base->addIncoming(m_groups.end, batch);
    m_groups.base->setIncomingBlock(0, m_pre.GetInsertBlock());
    m_b.CreateCondBr(m_b.CreateICmpULT(m_groups.end, m_end), m_body, done);
    m_b.SetInsertPoint(done);
}

Value *Emitter::as_words(Value *v, Type t) {
    return t == Type::Bool ? m_b.CreateSExt(v, wide(Type::I32)) : v;
}
Value *Emitter::from_words(Value *v, Type t) {
    return t == Type::Bool ? m_b.CreateICmpSLT(v, llvm::Constant::getNullValue(v->getType())) : v;
}

/// Where a value of the packet that begins at m_base is kept.
Value *Emitter::packet_place(size_t k) {
    Value *lane = m_b.CreateSub(m_base, m_groups.base);
    uint64_t size = kept_bytes(inst(m_plan.regrouping.kept[k]).type);
    return m_b.CreateGEP(m_b.getInt8Ty(), m_groups.kept[k], m_b.CreateMul(lane, i64(size)));
}

// ---- The loop

/// All that moves with a lane: whether it goes on, whether the packet answers for it, its place in the batch, values from
/// before the loop, Phis. Masks are as control flow carries them.
std::vector<Emitter::Moved> Emitter::moved_values() const {
    std::vector<Moved> out = { { NoValue, Type::Bool },
                               { NoValue, Type::Bool },
                               { NoValue, Type::U32 } };
    for (uint32_t v : m_plan.regrouping.carried)
        out.push_back({ v, inst(v).type });
    for (uint32_t p = m_plan.regrouping.loop + 1; inst(p).op == Op::Phi; ++p)
        out.push_back({ p, inst(p).type });
    return out;
}

void Emitter::rename(uint32_t i, Value *v) {
    if (i >= m_first && i < m_last)
        m_values[i - m_first] = v;
    else
        m_foreign[i] = v;
}

void Emitter::regrouped_begin(uint32_t i) {
    const Regrouping &plan = m_plan.regrouping;
    for (size_t k = 0; k < plan.kept.size(); ++k) {
        uint32_t v = plan.kept[k];
        Type t = inst(v).type;
        m_groups.kept.push_back(stack(BatchPackets * m_width * kept_bytes(t)));
        if (!is_regrouped_phi(v))
            m_b.CreateAlignedStore(as_words(vec(v), t), packet_place(k),
                                   llvm::Align(kept_bytes(t)));
    }

    Value *first = m_b.CreateTrunc(m_b.CreateSub(m_base, m_groups.base), m_b.getInt32Ty());
    Value *home = m_b.CreateAdd(splat(m_b, first), m_b.CreateStepVector(wide(Type::U32)));
    std::vector<Moved> moved = moved_values();
    std::vector<Value *> fresh = { carry(m_active, Type::Bool), carry(m_active, Type::Bool), home };
    for (size_t k = fresh.size(); k < moved.size(); ++k) {
        uint32_t v = moved[k].value;
        fresh.push_back(carry(vec(is_regrouped_phi(v) ? inst(v).arg[0] : v), moved[k].type));
    }

    Region r{ .begin = i, .outer = m_active };
    llvm::BasicBlock *before = m_b.GetInsertBlock();
    r.head = block("loop");
    m_b.CreateBr(r.head);
    m_b.SetInsertPoint(r.head);
    for (Value *v : fresh) {
        r.phis.push_back(m_b.CreatePHI(v->getType(), 3));
        r.phis.back()->addIncoming(v, before);
    }
    m_active = uncarry(r.phis[0], Type::Bool);
    for (size_t k = 3; k < moved.size(); ++k) {
        Value *v = uncarry(r.phis[k], moved[k].type);
        if (is_regrouped_phi(moved[k].value))
            define(moved[k].value, v);
        else
            rename(moved[k].value, v);
    }
    r.cache_mark = m_foreign_log.size();
    m_regions.push_back(std::move(r));
}

void Emitter::regrouped_while(uint32_t i) {
    Region &r = m_regions.back();
    m_active = m_b.CreateAnd(m_active, vec(inst(i).arg[0]));
    m_groups.active = m_active;
    Value *bits = mask_bits(m_active);
    Value *count = m_b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    auto limit = [&](uint64_t n) { return llvm::ConstantInt::get(bits->getType(), n); };

    llvm::BasicBlock *body = block("iterate"), *sparse = block("sparse"), *some = block("some"),
                     *both = block("both"), *alone = block("alone");
    r.skip = block("left");
    m_groups.merge = block("merge");
    m_groups.park = block("park");
    m_b.CreateCondBr(m_b.CreateICmpUGT(count, limit(m_width * FewLanes / 8)), body, sparse);
    m_b.SetInsertPoint(sparse);
    m_b.CreateCondBr(m_b.CreateIsNull(count), r.skip, some);
    m_b.SetInsertPoint(some);
    Value *parked = m_b.CreateAlignedLoad(m_b.getInt32Ty(), m_groups.count, llvm::Align(4));
    m_b.CreateCondBr(m_b.CreateIsNotNull(parked), both, alone);
    m_b.SetInsertPoint(both);
    m_groups.both = both;
    Value *sum = m_b.CreateAdd(parked, m_b.CreateZExt(count, m_b.getInt32Ty()));
    m_b.CreateCondBr(m_b.CreateICmpULE(sum, i32(m_width)), m_groups.merge, body);
    m_b.SetInsertPoint(alone);
    Value *next = m_b.CreateAdd(m_base, i64(m_width));
    m_b.CreateCondBr(m_b.CreateICmpULT(next, m_groups.end), m_groups.park, body);
    m_b.SetInsertPoint(body);
    r.cache_mark = m_foreign_log.size();
}

void Emitter::regrouped_end() {
    Region r = std::move(m_regions.back());
    m_regions.pop_back();
    std::vector<Moved> moved = moved_values();
    std::vector<Value *> next;
    for (size_t k = 0; k < moved.size(); ++k) {
        uint32_t p = moved[k].value;
        if (k == 0)
            next.push_back(carry(m_active, Type::Bool));
        else if (!is_regrouped_phi(p))
            next.push_back(r.phis[k]);
        else {
            Value *now = cached(p),
                  *v = vec(inst(p).arg[1]); // lanes that have left keep what they had
            next.push_back(v == now ? static_cast<Value *>(r.phis[k])
                                    : carry(m_b.CreateSelect(m_active, v, now), moved[k].type));
        }
    }
    llvm::BasicBlock *from = m_b.GetInsertBlock();
    for (size_t k = 0; k < moved.size(); ++k)
        r.phis[k]->addIncoming(next[k], from);
    m_b.CreateBr(r.head);
    m_active = r.outer;
    forget(r.cache_mark);

    llvm::BasicBlock *to_next = block("next"), *drain = block("drain"), *rest = block("rest");
    std::vector<Value *> at_head(r.phis.begin(), r.phis.end());
    at_head[0] = nullptr; // less those who leave
    put_aside(moved, at_head, to_next);

    m_b.SetInsertPoint(r.skip);
    keep_results(moved, at_head, uncarry(at_head[1], Type::Bool));
    m_b.CreateBr(to_next);

    // The next packet; at the end of a batch, those that are left
    m_b.SetInsertPoint(to_next);
    Value *base = m_b.CreateAdd(m_packet, i64(m_width));
    m_packet->addIncoming(base, to_next);
    m_b.CreateCondBr(m_b.CreateICmpULT(base, m_groups.end), m_groups.packet, drain);
    m_b.SetInsertPoint(drain);
    Value *parked = m_b.CreateAlignedLoad(m_b.getInt32Ty(), m_groups.count, llvm::Align(4));
    m_b.CreateCondBr(m_b.CreateIsNotNull(parked), m_groups.merge, rest);
    take_parked(r, moved, drain);

    // What follows the loop
    m_b.SetInsertPoint(rest);
    m_groups.after = block("after");
    m_b.CreateBr(m_groups.after);
    m_b.SetInsertPoint(m_groups.after);
    m_base = m_groups.base_after = m_b.CreatePHI(m_b.getInt64Ty(), 2, "base");
    m_groups.base_after->addIncoming(m_groups.base, rest);
    begin_packet();
    for (uint32_t v = m_first; v < m_plan.partner[m_plan.partner[r.begin]]; ++v)
        if (!m_plan.uniform[v])
            m_values[v - m_first] = nullptr;
    for (uint32_t v = 0; v < m_fn.insts.size(); ++v)
        if (!m_plan.uniform[v])
            m_foreign.erase(v);
    for (size_t k = 0; k < m_plan.regrouping.kept.size(); ++k) {
        uint32_t v = m_plan.regrouping.kept[k];
        Type t = inst(v).type;
        Value *words =
            m_b.CreateAlignedLoad(wide(word_type(t)), packet_place(k), llvm::Align(kept_bytes(t)));
        define(v, from_words(words, t));
    }
}

/// What lanes leave the loop with, at their places in the batch.
void Emitter::keep_results(const std::vector<Moved> &moved, const std::vector<Value *> &values,
                           Value *lanes) {
    for (size_t k = 0; k < m_plan.regrouping.kept.size(); ++k) {
        uint32_t v = m_plan.regrouping.kept[k];
        if (!is_regrouped_phi(v))
            continue; // from before the loop
        size_t at = 3;
        while (moved[at].value != v)
            ++at;
        Type t = moved[at].type;
        uint64_t size = kept_bytes(t);
        m_b.CreateMaskedScatter(as_words(uncarry(values[at], t), t),
                                addresses(m_groups.kept[k], values[2], size, true),
                                llvm::Align(size), lanes);
    }
}

/// Of each lane: how many of the lanes below it are in the mask.
Value *Emitter::rank_in(Value *mask) {
    Value *bits = splat(m_b, m_b.CreateZExt(mask_bits(mask), m_b.getInt32Ty()));
    std::vector<llvm::Constant *> below;
    for (uint32_t lane = 0; lane < m_width; ++lane)
        below.push_back(llvm::cast<llvm::Constant>(i32((1u << lane) - 1)));
    return m_b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop,
                                    m_b.CreateAnd(bits, llvm::ConstantVector::get(below)));
}

void Emitter::put_aside(const std::vector<Moved> &moved, const std::vector<Value *> &values,
                        llvm::BasicBlock *next) {
    m_b.SetInsertPoint(m_groups.park);
    Value *stays = m_groups.active, *owned = uncarry(values[1], Type::Bool);
    keep_results(moved, values, m_b.CreateAnd(owned, m_b.CreateNot(stays)));
    m_groups.list = stack(4 * m_width);
    m_b.CreateMaskedScatter(m_b.CreateStepVector(wide(Type::U32)),
                            addresses(m_groups.list, rank_in(stays), 4, true), llvm::Align(4),
                            stays);
    for (size_t k = 2; k < moved.size(); ++k) {
        Type t = moved[k].type;
        m_groups.parked.push_back(stack(packet_bytes(word_type(t), m_width)));
        m_b.CreateAlignedStore(as_words(uncarry(values[k], t), t), m_groups.parked.back(),
                               llvm::Align(64));
    }
    Value *count = m_b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask_bits(stays));
    m_b.CreateAlignedStore(m_b.CreateZExt(count, m_b.getInt32Ty()), m_groups.count, llvm::Align(4));
    m_b.CreateBr(next);
}

/// out[lane] = numbers[index[lane]], for numbers that lie at a place aligned to 64 bytes.
Value *Emitter::permuted(Value *place, Value *index, Value *mask, Type t) {
    bool word = bytes(t) == 4;
    if (word && m_width == 16 && m_scope.target.mask_registers) {
        Value *v = m_b.CreateAlignedLoad(wide(t), place, llvm::Align(64));
        return m_b.CreateIntrinsic(is_float(t) ? llvm::Intrinsic::x86_avx512_permvar_sf_512
                                               : llvm::Intrinsic::x86_avx512_permvar_si_512,
                                   {}, { v, index });
    }
    if (word && m_width == 8 && m_scope.target.permutes) {
        Value *v = m_b.CreateAlignedLoad(wide(t), place, llvm::Align(64));
        return m_b.CreateIntrinsic(is_float(t) ? llvm::Intrinsic::x86_avx2_permps
                                               : llvm::Intrinsic::x86_avx2_permd,
                                   {}, { v, index });
    }
    return gather_elements(place, index, mask, t, true);
}

/// Free lanes take over those that are parked. Comes from the loop, or, with nothing but free lanes, from the end of a batch.
void Emitter::take_parked(Region &r, const std::vector<Moved> &moved, llvm::BasicBlock *drain) {
    m_b.SetInsertPoint(m_groups.merge);
    std::vector<llvm::PHINode *> now;
    for (size_t k = 0; k < moved.size(); ++k) {
        llvm::Type *type = k ? r.phis[k]->getType() : m_groups.active->getType();
        now.push_back(m_b.CreatePHI(type, 2));
        now[k]->addIncoming(k ? static_cast<Value *>(r.phis[k]) : m_groups.active, m_groups.both);
        now[k]->addIncoming(llvm::Constant::getNullValue(type), drain);
    }
    std::vector<Value *> values(now.begin(), now.end());
    Value *stays = now[0], *owned = uncarry(now[1], Type::Bool), *free = m_b.CreateNot(stays);
    keep_results(moved, values, m_b.CreateAnd(owned, free));

    Value *rank = rank_in(free);
    Value *count = m_b.CreateAlignedLoad(m_b.getInt32Ty(), m_groups.count, llvm::Align(4));
    Value *taken = m_b.CreateAnd(free, m_b.CreateICmpULT(rank, splat(m_b, count)));
    Value *index = permuted(m_groups.list, rank, taken, Type::U32);
    m_b.CreateAlignedStore(i32(0), m_groups.count, llvm::Align(4));
    Value *active = m_b.CreateOr(stays, taken);
    r.phis[0]->addIncoming(carry(active, Type::Bool), m_groups.merge);
    r.phis[1]->addIncoming(carry(active, Type::Bool), m_groups.merge);
    for (size_t k = 2; k < moved.size(); ++k) {
        Type t = moved[k].type;
        Value *v = from_words(permuted(m_groups.parked[k - 2], index, taken, word_type(t)), t);
        v = m_b.CreateSelect(taken, v, uncarry(now[k], t));
        uint32_t i = moved[k].value;
        // What units read; that of Phis is written at the head
        if (i != NoValue && !is_regrouped_phi(i) && m_plan.slot[i] != NoSlot)
            store_slot(m_b, v, offset(m_b, m_frame, m_plan.slot[i]), t);
        r.phis[k]->addIncoming(carry(v, t), m_groups.merge);
    }
    m_b.CreateBr(r.head);
}

} // namespace umbel::jit::llvm_ir
