// jit/llvm/emit.cpp: the frame of a unit: its arguments, prologue, packet loop and values.
#include "jit/llvm/emit.h"

namespace umbel::jit::llvm_ir {

llvm::Type *element_type(llvm::LLVMContext &c, Type t) {
    switch (t) {
    case Type::Bool: return llvm::Type::getInt1Ty(c);
    case Type::I8:
    case Type::U8: return llvm::Type::getInt8Ty(c);
    case Type::I16:
    case Type::U16: return llvm::Type::getInt16Ty(c);
    case Type::I32:
    case Type::U32: return llvm::Type::getInt32Ty(c);
    case Type::I64:
    case Type::U64: return llvm::Type::getInt64Ty(c);
    case Type::F16: return llvm::Type::getHalfTy(c);
    case Type::F32: return llvm::Type::getFloatTy(c);
    case Type::F64: return llvm::Type::getDoubleTy(c);
    case Type::Ptr: return llvm::PointerType::get(c, 0);
    default: return llvm::Type::getVoidTy(c);
    }
}

llvm::Type *memory_type(llvm::LLVMContext &c, Type t) {
    return t == Type::Bool ? llvm::Type::getInt8Ty(c) : element_type(c, t);
}

// ---- What units share

std::string Scope::symbol(uint32_t function, uint32_t u) const {
    std::string s = kernel_name;
    if (function)
        s += "_f" + std::to_string(function);
    if (u)
        s += "_u" + std::to_string(u);
    return s;
}

void Scope::set_attributes(llvm::Function *f) const {
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr("no-trapping-math", "true");
    // Recent CPUs are tuned for 256 bits by default, which would halve every vector of ours.
    f->addFnAttr("prefer-vector-width", std::to_string(32 * width()));
}

llvm::Function *Scope::unit(uint32_t function, uint32_t u) {
    std::string name = symbol(function, u);
    if (llvm::Function *f = module.getFunction(name))
        return f;
    llvm::LLVMContext &c = context();
    llvm::Type *ptr = llvm::PointerType::get(c, 0), *i64 = llvm::Type::getInt64Ty(c);
    bool inlined = plans[function].inlined;
    llvm::Type *mask = passed_type(Type::Bool, inlined);
    llvm::Type *offsets = llvm::FixedVectorType::get(llvm::Type::getInt32Ty(c), width());
    std::vector<llvm::Type *> params;
    llvm::Type *result = llvm::Type::getVoidTy(c);
    if (u)
        params = { ptr, mask }; // frame
    else if (function) {
        // Then the parameters: LLVM passes what fits in registers, and the rest on the stack
        params = { ptr, ptr, i64, mask, offsets, ptr }; // args, context, base, mask, offsets, data
        const Function &fn = program.functions[function];
        for (Type t : fn.params)
            params.push_back(passed_type(t, inlined));
        std::vector<llvm::Type *> results;
        for (uint32_t v : fn.outputs)
            results.push_back(passed_type(fn.insts[v].type, inlined));
        if (!results.empty())
            result = llvm::StructType::get(c, results);
    } else
        params = { ptr, ptr, i64, i64 }; // args, context, begin, end
    auto *type = llvm::FunctionType::get(result, params, false);
    auto linkage = inlined ? llvm::Function::InternalLinkage : llvm::Function::ExternalLinkage;
    auto *f = llvm::Function::Create(type, linkage, name, module);
    set_attributes(f);
    if (inlined)
        f->addFnAttr(llvm::Attribute::AlwaysInline);
    return f;
}

llvm::Type *Scope::passed_type(Type t, bool inlined) const {
    llvm::Type *element =
        t == Type::Bool && !inlined ? llvm::Type::getInt8Ty(context()) : element_type(context(), t);
    return llvm::FixedVectorType::get(element, width());
}

// ---- Driver

Emitter::Emitter(Scope &scope, uint32_t function, uint32_t unit)
    : m_scope(scope), m_program(scope.program), m_function(function), m_unit(unit),
      m_fn(scope.program.functions[function]), m_plan(scope.plans[function]),
      m_context(scope.context()), m_width(scope.width()), m_pre(scope.context()),
      m_b(scope.context()), m_first(m_plan.units[unit].first), m_last(m_plan.units[unit].last) {}

void Emitter::run() {
    m_values.assign(m_last - m_first, nullptr);
    m_llvm = m_scope.unit(m_function, m_unit);
    m_pre.SetInsertPoint(block("entry"));
    m_body = block("body");
    m_b.SetInsertPoint(m_body);
    if (m_unit)
        begin_segment();
    else if (m_function)
        begin_subroutine();
    else
        begin_kernel();
    emit_uniforms();
    if (!m_plan.units[m_unit].uniform) {
        if (m_function)
            fetch_data();
        emit_range(m_first, m_last);
    }
    finish();
}

void Emitter::begin_kernel() {
    m_args = m_llvm->getArg(0);
    m_ctx = m_llvm->getArg(1);
    Value *begin = m_llvm->getArg(2);
    m_end = m_llvm->getArg(3);
    if (m_plan.frame_bytes) {
        m_frame = make_frame();
        store_header(m_pre, FrameArgs, m_args);
        store_header(m_pre, FrameContext, m_ctx);
    }
    // The packet loop: base = begin, begin + W, ...
    m_latch = block("latch");
    if (m_plan.regrouping.loop != NoValue)
        begin_batch(begin);
    else {
        m_packet = m_b.CreatePHI(m_b.getInt64Ty(), 2, "base");
        m_packet->addIncoming(begin, m_pre.GetInsertBlock()); // corrected in finish()
    }
    m_base = m_packet;
    begin_packet();
}

void Emitter::begin_packet() {
    if (m_plan.split())
        store_header(m_b, FrameBase, m_base);
    Value *left = m_b.CreateSub(m_end, m_base);
    left = m_b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, i64(m_width));
    Value *iota = m_b.CreateStepVector(wide(Type::U32));
    make_lanes(m_base,
               m_b.CreateICmpULT(iota, splat(m_b, m_b.CreateTrunc(left, m_b.getInt32Ty()))));
}

void Emitter::begin_subroutine() {
    m_args = m_llvm->getArg(0);
    m_ctx = m_llvm->getArg(1);
    m_base = m_llvm->getArg(2);
    m_offsets = m_llvm->getArg(4);
    m_data = m_llvm->getArg(5);
    constexpr unsigned FirstParam = 6;
    if (m_plan.frame_bytes)
        m_frame = make_frame();
    if (m_plan.split()) {
        store_header(m_pre, FrameArgs, m_args);
        store_header(m_pre, FrameContext, m_ctx);
        store_header(m_pre, FrameBase, m_base);
        store_header(m_pre, FrameData, m_data);
        m_pre.CreateAlignedStore(m_offsets, offset(m_pre, m_frame, FrameOffsets), llvm::Align(64));
    }
    make_lanes(m_base, receive(m_llvm->getArg(3), Type::Bool, m_plan.inlined));
    for (uint32_t i = m_first; i < m_last; ++i)
        if (inst(i).op == Op::Param)
            define(i, receive(m_llvm->getArg(FirstParam + unsigned(inst(i).imm)), inst(i).type,
                              m_plan.inlined));
}

void Emitter::begin_segment() {
    m_frame = m_llvm->getArg(0);
    llvm::Type *ptr = m_pre.getPtrTy();
    m_args = load_header(m_pre, FrameArgs, ptr);
    m_ctx = load_header(m_pre, FrameContext, ptr);
    if (m_plan.units[m_unit].uniform)
        return;
    m_base = load_header(m_pre, FrameBase, m_pre.getInt64Ty());
    if (m_function) {
        m_data = load_header(m_pre, FrameData, ptr);
        m_offsets = m_pre.CreateAlignedLoad(wide(Type::U32), offset(m_pre, m_frame, FrameOffsets),
                                            llvm::Align(64));
    }
    make_lanes(m_base, bytes_mask(m_llvm->getArg(1)));
}

void Emitter::make_lanes(Value *base, Value *active) {
    Value *first = splat(m_b, m_b.CreateTrunc(base, m_b.getInt32Ty()));
    m_lane = m_b.CreateAdd(first, m_b.CreateStepVector(wide(Type::U32)), "lane");
    m_active = active;
}

void Emitter::next_packet() {
    Value *next = m_b.CreateAdd(m_base, i64(m_width));
    llvm::BasicBlock *done = block("done");
    m_b.CreateCondBr(m_b.CreateICmpULT(next, m_end), m_body, done);
    m_packet->addIncoming(next, m_latch);
    m_packet->setIncomingBlock(0, m_pre.GetInsertBlock());
    m_b.SetInsertPoint(done);
}

void Emitter::finish() {
    Value *results = nullptr;
    if (m_function && !m_unit && !m_fn.outputs.empty()) {
        results = llvm::PoisonValue::get(m_llvm->getReturnType());
        for (unsigned k = 0; k < m_fn.outputs.size(); ++k) {
            uint32_t v = m_fn.outputs[k];
            results = m_b.CreateInsertValue(results, pass(vec(v), inst(v).type, m_plan.inlined), k);
        }
    }
    if (m_packet) {
        m_b.CreateBr(m_latch);
        m_b.SetInsertPoint(m_latch);
        if (m_plan.regrouping.loop != NoValue)
            end_batch();
        else
            next_packet();
    }
    if (results)
        m_b.CreateRet(results);
    else
        m_b.CreateRetVoid();
    m_pre.CreateBr(m_body);
    if (m_call_frame)
        m_call_frame->setOperand(0, i64(m_call_bytes));
}

void Emitter::emit_uniforms() {
    const Unit &unit = m_plan.units[m_unit];
    if (m_unit && !unit.uniform)
        return;
    // Units come in program order, so a cursor finds the one that begins here.
    uint32_t next = 1;
    auto skip_to_uniform = [&] {
        while (next < m_plan.units.size() && !m_plan.units[next].uniform)
            ++next;
    };
    for (uint32_t i = m_first; i < m_last; ++i) {
        if (!m_unit) {
            skip_to_uniform();
            if (next < m_plan.units.size() && m_plan.units[next].first == i) {
                call_unit(next, m_pre);
                ++next;
            }
        }
        if (!m_plan.uniform[i] || m_plan.unit[i] != m_unit || rematerialized(inst(i).op))
            continue;
        const Inst &in = inst(i);
        if (in.op == Op::Gather) {
            emit_uniform_gather(i);
            continue;
        }
        Value *v[3] = {};
        for (int k = 0; k < operands(in.op); ++k)
            v[k] = scalar(in.arg[k]);
        define(i, is_math(in.op) ? emit_math(m_scope, m_pre, in.op, in.type, v[0], v[1])
                                 : emit_elementwise(m_pre, in.op, in.type, inst(in.arg[0]).type,
                                                    v[0], v[1], v[2]));
    }
}

void Emitter::emit_range(uint32_t first, uint32_t last) {
    uint32_t next = 1;
    for (uint32_t i = first; i < last;) {
        if (!m_unit) {
            while (next < m_plan.units.size() &&
                   (m_plan.units[next].uniform || m_plan.units[next].first < i))
                ++next;
            if (next < m_plan.units.size() && m_plan.units[next].first == i) {
                call_unit(next, m_b);
                i = m_plan.units[next++].last;
                continue;
            }
        }
        if (!m_plan.uniform[i])
            emit(i);
        ++i;
    }
}

void Emitter::call_unit(uint32_t unit, Builder &b) {
    Value *mask = m_plan.units[unit].uniform ? llvm::Constant::getNullValue(wide(m_b.getInt8Ty()))
                                             : mask_bytes(m_active);
    b.CreateCall(m_scope.unit(m_function, unit), { m_frame, mask });
}

void Emitter::emit(uint32_t i) {
    const Inst &in = inst(i);
    switch (in.op) {
    case Op::Lane:
    case Op::Param:
    case Op::PacketGet:
    case Op::CallOut:
    case Op::ExternOut:
    case Op::Phi:
    case Op::Merge:
    case Op::Data: break; // made elsewhere
    case Op::Active: define(i, m_active); break;
    case Op::LoadLane: {
        uint64_t size = bytes(in.type);
        Value *p = m_b.CreateGEP(m_b.getInt8Ty(), arg_pointer(uint32_t(in.imm)),
                                 m_b.CreateMul(m_base, i64(size)));
        prefetch(p, uint32_t(size));
        define(i, load_packet(m_b, p, in.type, uint32_t(size)));
        break;
    }
    case Op::StoreLane: emit_stores(i); break;
    case Op::Gather: emit_gather(i); break;
    case Op::Packet: emit_packet(i); break;
    case Op::Scatter: emit_scatter(i); break;
    case Op::ScatterInc: emit_scatter_inc(i); break;
    case Op::ArrayNew: emit_array_new(i); break;
    case Op::ArrayGet: emit_array_get(i); break;
    case Op::ArraySet: emit_array_set(i); break;
    case Op::LoopBegin: loop_begin(i); break;
    case Op::LoopWhile: loop_while(i); break;
    case Op::LoopEnd: loop_end(i); break;
    case Op::IfBegin: if_begin(i); break;
    case Op::Else: if_else(i); break;
    case Op::EndIf: end_if(i); break;
    case Op::Call: emit_call(i); break;
    case Op::Extern: emit_extern(i); break;
    default: {
        if (in.op == Op::Select && in.length) {
            emit_array_select(i, vec(in.arg[0]), in.arg[1], in.arg[2]);
            break;
        }
        Value *v[3] = {};
        for (int k = 0; k < operands(in.op); ++k)
            v[k] = vec(in.arg[k]);
        define(i, is_math(in.op) ? emit_math(m_scope, m_b, in.op, in.type, v[0], v[1])
                                 : emit_elementwise(m_b, in.op, in.type, inst(in.arg[0]).type, v[0],
                                                    v[1], v[2]));
    }
    }
}

// ---- Values

void Emitter::define(uint32_t i, Value *v) {
    if (i >= m_first && i < m_last)
        m_values[i - m_first] = v;
    else
        m_foreign[i] = v; // a result that stands behind the end of its maker's unit
    if (m_plan.slot[i] == NoSlot)
        return;
    Builder &b = m_plan.uniform[i] ? m_pre : m_b;
    Value *place = offset(b, m_frame, m_plan.slot[i]);
    if (m_plan.uniform[i])
        b.CreateAlignedStore(v, place, llvm::Align(8));
    else
        store_slot(b, v, place, inst(i).type);
}

Value *Emitter::cached(uint32_t i) const {
    if (i >= m_first && i < m_last && m_values[i - m_first])
        return m_values[i - m_first];
    return m_foreign.lookup(i);
}

/// Keeps a value that was made again or loaded here. Unless it was made in the prologue, it is
/// valid only until the innermost region ends.
void Emitter::cache(uint32_t i, Value *v, bool everywhere) {
    m_foreign[i] = v;
    if (!everywhere)
        m_foreign_log.push_back(i);
}

void Emitter::forget(size_t mark) {
    for (size_t k = mark; k < m_foreign_log.size(); ++k)
        m_foreign.erase(m_foreign_log[k]);
    m_foreign_log.resize(mark);
}

Value *Emitter::constant(const Inst &in) const {
    llvm::Type *t = element_type(m_context, in.type);
    if (in.type == Type::Ptr)
        return llvm::ConstantExpr::getIntToPtr(llvm::cast<llvm::Constant>(i64(in.imm)), t);
    if (is_float(in.type)) {
        auto &semantics = t->getFltSemantics();
        return llvm::ConstantFP::get(
            m_context, llvm::APFloat(semantics, llvm::APInt(unsigned(bits(in.type)), in.imm)));
    }
    return llvm::ConstantInt::get(t, in.imm);
}

Value *Emitter::scalar(uint32_t i) {
    if (Value *v = cached(i))
        return v;
    const Inst &in = inst(i);
    if (in.op == Op::Literal)
        return constant(in);
    if (in.op == Op::ArgPtr)
        return arg_pointer(uint32_t(in.imm));
    // A segment loads what it needs where it needs it, lest all of it be held in registers.
    bool hoist = !m_unit || m_plan.units[m_unit].uniform;
    Builder &b = hoist ? m_pre : m_b;
    Value *v = nullptr;
    if (in.op == Op::LoadScalar) {
        Value *p = arg_pointer(uint32_t(in.imm));
        v = b.CreateAlignedLoad(memory_type(m_context, in.type), p, llvm::Align(bytes(in.type)));
        if (in.type == Type::Bool)
            v = b.CreateICmpNE(v, b.getInt8(0));
    } else {
        Value *p = offset(b, m_frame, m_plan.slot[i]);
        v = b.CreateAlignedLoad(element_type(m_context, in.type), p, llvm::Align(8));
    }
    cache(i, v, hoist || m_regions.empty());
    return v;
}

Value *Emitter::vec(uint32_t i) {
    if (m_plan.uniform[i]) {
        if (inst(i).op == Op::Literal)
            return splat(m_b, constant(inst(i)));
        if (Value *v = m_broadcasts.lookup(i))
            return v;
        // Before the packet loop while registers may last, else at each use.
        bool hoist = !m_unit && !m_function && m_broadcasts.size() < 64;
        Value *v = splat(hoist ? m_pre : m_b, scalar(i));
        if (hoist)
            m_broadcasts[i] = v;
        return v;
    }
    if (Value *v = cached(i))
        return v;
    const Inst &in = inst(i);
    if (in.op == Op::Lane)
        return m_lane;
    Value *v = load_slot(m_b, offset(m_b, m_frame, m_plan.slot[i]), in.type);
    cache(i, v, m_regions.empty());
    return v;
}

Value *Emitter::arg_pointer(uint32_t arg) {
    Value *&p = m_arg_pointers[arg];
    if (!p)
        p = m_pre.CreateAlignedLoad(m_pre.getPtrTy(), offset(m_pre, m_args, 8 * arg),
                                    llvm::Align(8));
    return p;
}

// ---- Small helpers

Value *Emitter::offset(Builder &b, Value *pointer, uint64_t bytes) const {
    return bytes ? b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), pointer, bytes) : pointer;
}

void Emitter::store_header(Builder &b, uint32_t at, Value *v) {
    b.CreateAlignedStore(v, offset(b, m_frame, at), llvm::Align(8));
}

Value *Emitter::load_header(Builder &b, uint32_t at, llvm::Type *t) {
    return b.CreateAlignedLoad(t, offset(b, m_frame, at), llvm::Align(8));
}

Value *Emitter::mask_bits(Value *mask) { return m_b.CreateBitCast(mask, bits_type()); }

// Not as bits, which would take less room: LLVM 19 for AVX-512 does not terminate on some logic of
// masks that were integers (two combines undo each other's work).
Value *Emitter::mask_bytes(Value *mask) { return widen_mask(m_b, mask, wide(m_b.getInt8Ty())); }

Value *Emitter::bytes_mask(Value *bytes) {
    return m_b.CreateICmpNE(bytes, llvm::Constant::getNullValue(bytes->getType()));
}

Value *Emitter::any(Value *mask) { return m_b.CreateIsNotNull(mask_bits(mask)); }

Value *Emitter::first_lane(Value *mask) {
    Value *lane = m_b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(mask), m_b.getFalse());
    return m_b.CreateAnd(lane, llvm::ConstantInt::get(lane->getType(), m_width - 1));
}

llvm::BasicBlock *Emitter::block(const char *name) const {
    return llvm::BasicBlock::Create(m_context, name, m_llvm);
}

/// Room on the stack; always in the entry block, so that it is taken once.
llvm::AllocaInst *Emitter::stack(uint64_t bytes) {
    llvm::BasicBlock &entry = m_llvm->getEntryBlock();
    Builder b(&entry, entry.begin());
    llvm::AllocaInst *a = b.CreateAlloca(b.getInt8Ty(), i64(bytes));
    a->setAlignment(llvm::Align(64));
    return a;
}

Value *Emitter::make_frame() {
    if (m_plan.heap_offset == NoSlot)
        return stack(m_plan.frame_bytes);
    Value *heap = m_pre.CreateAlignedLoad(
        m_pre.getPtrTy(), offset(m_pre, m_ctx, offsetof(Context, heap)), llvm::Align(8));
    return offset(m_pre, heap, m_plan.heap_offset);
}

} // namespace umbel::jit::llvm_ir
