// jit/llvm/call.cpp: polymorphic calls, and calls of host functions.
#include "jit/llvm/emit.h"

namespace umbel::jit::llvm_ir {

// ---- Polymorphic calls
//
// Every callee that some lane wants is called once, for all its lanes. Arguments and results travel in
// registers, as far as LLVM has any. What a callee returns is blended with what others returned, or with
// zeros in lanes that call nothing.

namespace {
/// Up to so many callees are tested one after another; beyond, the next wanted one is looked up.
constexpr size_t MostTested = 8;
} // namespace

Value *Emitter::call_frame(uint64_t bytes) {
    if (!m_call_frame)
        m_call_frame = stack(0);
    m_call_bytes = std::max(m_call_bytes, bytes);
    return m_call_frame;
}

void Emitter::emit_call(uint32_t i) {
    const Inst &in = inst(i);
    const CallSite &site = m_program.calls[in.imm];
    Value *id = vec(in.arg[0]), *mask = m_b.CreateAnd(vec(in.arg[1]), m_active);

    // Which callee, and where its data
    Value *table = arg_pointer(site.table);
    table = m_b.CreateSelect(m_b.CreateIsNull(table), zero_record(), table); // no table: no ids
    Value *count = m_b.CreateAlignedLoad(m_b.getInt32Ty(), table, llvm::Align(4));
    mask = m_b.CreateAnd(
        mask, m_b.CreateICmpULT(m_b.CreateSub(id, splat(m_b, i32(1))), splat(m_b, count)));
    Value *entries = m_b.CreateGEP(m_b.getInt64Ty(), table, m_b.CreateZExt(id, wide(Type::U64)));
    Value *pair =
        m_b.CreateMaskedGather(wide(Type::U64), entries, llvm::Align(4), mask, zero(Type::U64));
    Value *callee = m_b.CreateTrunc(pair, wide(Type::U32));
    Value *offsets = m_b.CreateTrunc(
        m_b.CreateLShr(pair, llvm::ConstantInt::get(pair->getType(), 32)), wide(Type::U32));
    mask = m_b.CreateAnd(mask,
                         m_b.CreateICmpULT(callee, splat(m_b, i32(uint32_t(site.callees.size())))));

    Value *data = m_ctx; // not read unless some callee has data
    for (uint32_t f : site.callees)
        if (m_program.functions[f].data_bytes)
            data = arg_pointer(site.data);
    for (uint32_t a : site.args)
        vec(a); // here, not in the branch that is the first to ask
    CallOne call = [&](size_t k, Value *lanes, const Results &otherwise) {
        bool inlined = m_scope.plans[site.callees[k]].inlined;
        std::vector<Value *> args = { m_args,  m_ctx, m_base, pass(lanes, Type::Bool, inlined),
                                      offsets, data };
        for (uint32_t a : site.args)
            args.push_back(pass(vec(a), inst(a).type, inlined));
        Value *returned = m_b.CreateCall(m_scope.unit(site.callees[k], 0), args);
        Results out;
        for (unsigned r = 0; r < site.out_types.size(); ++r) {
            Value *v = receive(m_b.CreateExtractValue(returned, r), site.out_types[r], inlined);
            out.push_back(m_b.CreateSelect(lanes, v, otherwise[r]));
        }
        return out;
    };
    Results results;
    for (Type t : site.out_types)
        results.push_back(zero(t));
    bool few = site.callees.size() <= MostTested;
    results = few ? call_by_tests(site.callees.size(), callee, mask, std::move(results), call)
                  : call_by_lookup(site.callees.size(), callee, mask, std::move(results), call);
    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
        if (m_plan.uses[r])
            define(r, results[inst(r).imm]);
}

Emitter::Results Emitter::call_by_tests(size_t count, Value *callee, Value *mask, Results results,
                                        const CallOne &call) {
    for (size_t k = 0; k < count; ++k) {
        Value *lanes = mask;
        if (count > 1)
            lanes = m_b.CreateAnd(mask, m_b.CreateICmpEQ(callee, splat(m_b, i32(uint32_t(k)))));
        llvm::BasicBlock *before = m_b.GetInsertBlock(), *wanted = block("call"),
                         *next = block("next");
        m_b.CreateCondBr(any(lanes), wanted, next);
        m_b.SetInsertPoint(wanted);
        Results called = call(k, lanes, results);
        wanted = m_b.GetInsertBlock();
        m_b.CreateBr(next);
        m_b.SetInsertPoint(next);
        for (size_t r = 0; r < results.size(); ++r) {
            llvm::PHINode *phi = m_b.CreatePHI(results[r]->getType(), 2);
            phi->addIncoming(results[r], before);
            phi->addIncoming(called[r], wanted);
            results[r] = phi;
        }
    }
    return results;
}

/// While lanes are left: take the first one's callee, call it for all lanes that want the same.
Emitter::Results Emitter::call_by_lookup(size_t count, Value *callee, Value *mask, Results results,
                                         const CallOne &call) {
    Value *numbers = stack(4 * m_width); // lanes are picked by number, which only memory can do
    m_b.CreateAlignedStore(callee, numbers, llvm::Align(64));
    llvm::BasicBlock *before = m_b.GetInsertBlock(), *test = block("test"), *pick = block("pick"),
                     *called = block("called"), *done = block("done");
    m_b.CreateBr(test);
    m_b.SetInsertPoint(test);
    llvm::PHINode *left = m_b.CreatePHI(mask->getType(), 2);
    left->addIncoming(mask, before);
    std::vector<llvm::PHINode *> collected, fresh;
    for (Value *&v : results) {
        collected.push_back(m_b.CreatePHI(v->getType(), 2));
        collected.back()->addIncoming(v, before);
        v = collected.back();
    }
    m_b.CreateCondBr(any(left), pick, done);

    m_b.SetInsertPoint(pick);
    Value *lane = m_b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(left), m_b.getTrue());
    Value *p = m_b.CreateGEP(m_b.getInt32Ty(), numbers, m_b.CreateZExt(lane, m_b.getInt64Ty()));
    Value *number = m_b.CreateAlignedLoad(m_b.getInt32Ty(), p, llvm::Align(4));
    Value *lanes = m_b.CreateAnd(left, m_b.CreateICmpEQ(callee, splat(m_b, number)));
    Value *rest = m_b.CreateAnd(left, m_b.CreateICmpNE(callee, splat(m_b, number)));
    llvm::BasicBlock *never = block("never");
    llvm::SwitchInst *choice = m_b.CreateSwitch(number, never, unsigned(count));
    m_b.SetInsertPoint(called);
    for (Value *v : results)
        fresh.push_back(m_b.CreatePHI(v->getType(), unsigned(count)));
    for (size_t k = 0; k < count; ++k) {
        llvm::BasicBlock *one = block("call");
        choice->addCase(m_b.getInt32(uint32_t(k)), one);
        m_b.SetInsertPoint(one);
        Results returned = call(k, lanes, results);
        for (size_t r = 0; r < returned.size(); ++r)
            fresh[r]->addIncoming(returned[r], m_b.GetInsertBlock());
        m_b.CreateBr(called);
    }
    m_b.SetInsertPoint(never);
    m_b.CreateUnreachable(); // numbers past the last were masked out
    m_b.SetInsertPoint(called);
    left->addIncoming(rest, called);
    for (size_t r = 0; r < results.size(); ++r)
        collected[r]->addIncoming(fresh[r], called);
    m_b.CreateBr(test);
    m_b.SetInsertPoint(done);
    return results;
}

// ---- Host functions

void Emitter::emit_extern(uint32_t i) {
    const Inst &in = inst(i);
    const ExternSite &site = m_program.externs[in.imm];
    Value *mask = m_b.CreateAnd(vec(site.mask), m_active);
    bool assertion = site.kind == ExternSite::Assert;
    if (assertion)
        mask = m_b.CreateAnd(mask, m_b.CreateNot(vec(site.inputs[0])));

    // The mask as i32, then inputs and outputs end to end
    uint64_t bytes_in = 0, bytes_out = 0;
    for (Type t : site.in_types)
        bytes_in += bytes(t) * m_width;
    for (Type t : site.out_types)
        bytes_out += bytes(t) * m_width;
    Value *masks = call_frame(64 + bytes_in + bytes_out), *frame = offset(m_b, masks, 64);
    std::vector<Value *> inputs;
    if (!assertion)
        for (uint32_t v : site.inputs)
            inputs.push_back(vec(v));
    bool uniform =
        site.kind != ExternSite::Function || (m_plan.uniform[site.fn] && m_plan.uniform[site.user]);
    Value *fn = nullptr, *user = nullptr;
    if (site.kind == ExternSite::Function) {
        fn = uniform ? scalar(site.fn) : vec(site.fn);
        user = uniform ? scalar(site.user) : vec(site.user);
    }
    // Outputs of lanes for which nothing is called
    uint64_t at = bytes_in;
    for (Type t : site.out_types) {
        store_packet(m_b, zero(t), offset(m_b, frame, at), t, 1);
        at += bytes(t) * m_width;
    }

    llvm::BasicBlock *wanted = block("host"), *after = block("after");
    m_b.CreateCondBr(any(mask), wanted, after);
    m_b.SetInsertPoint(wanted);
    m_b.CreateAlignedStore(m_b.CreateNeg(widen_mask(m_b, mask, wide(Type::I32))), masks,
                           llvm::Align(64));
    at = 0;
    for (size_t k = 0; k < inputs.size(); ++k) {
        store_packet(m_b, inputs[k], offset(m_b, frame, at), site.in_types[k], 1);
        at += bytes(site.in_types[k]) * m_width;
    }
    if (!uniform) {
        // Said to be the same for all lanes, though not known to us: the first active one's.
        Value *lane =
            m_b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(mask), m_b.getTrue());
        fn = m_b.CreateExtractElement(fn, lane);
        user = m_b.CreateExtractElement(user, lane);
    }
    call_host(site, in.imm, fn, user, masks, frame);
    m_b.CreateBr(after);
    m_b.SetInsertPoint(after);

    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r]) {
        if (!m_plan.uses[r])
            continue;
        uint64_t place = bytes_in;
        for (uint64_t k = 0; k < inst(r).imm; ++k)
            place += bytes(site.out_types[k]) * m_width;
        define(r, load_packet(m_b, offset(m_b, frame, place), inst(r).type, 1));
    }
}

void Emitter::call_host(const ExternSite &site, uint64_t number, Value *fn, Value *user,
                        Value *masks, Value *frame) {
    llvm::Type *none = m_b.getVoidTy(), *ptr = m_b.getPtrTy(), *u64 = m_b.getInt64Ty();
    if (site.kind == ExternSite::Function) {
        auto *type = llvm::FunctionType::get(none, { ptr, ptr, ptr, u64, u64, ptr, ptr }, false);
        Value *host =
            m_b.CreateAlignedLoad(ptr, offset(m_b, m_ctx, offsetof(Context, host)), llvm::Align(8));
        m_b.CreateCall(type, host, { m_ctx, fn, user, m_base, i64(m_width), masks, frame });
        return;
    }
    bool print = site.kind == ExternSite::Print;
    uint64_t place = print ? offsetof(Context, print) : offsetof(Context, assertion);
    fn = m_b.CreateAlignedLoad(ptr, offset(m_b, m_ctx, place), llvm::Align(8));
    std::vector<llvm::Type *> params = { ptr, u64, u64, u64, ptr };
    std::vector<Value *> args = { m_ctx, i64(number), m_base, i64(m_width), masks };
    if (print) {
        params.push_back(ptr);
        args.push_back(frame);
    }
    m_b.CreateCall(llvm::FunctionType::get(none, params, false), fn, args);
}

} // namespace umbel::jit::llvm_ir
