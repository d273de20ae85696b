// jit/llvm/data.cpp: what a subroutine reads of the records of its instances.
//
// A unit fetches all of its fields at once, before anything else. Where all lanes call the same instance,
// each field is one load. Else records are loaded lane by lane and transposed, as packets are.
#include "jit/llvm/emit.h"

namespace umbel::jit::llvm_ir {

void Emitter::fetch_data() {
    std::vector<Field> fields;
    for (uint32_t i = m_first; i < m_last; ++i)
        if (inst(i).op == Op::Data && m_plan.unit[i] == m_unit)
            fields.push_back({ i, uint32_t(inst(i).imm), inst(i).type });
    if (fields.empty())
        return;

    // Lanes outside of the mask read the first one's record: others may be shorter than those of this callee.
    // The mask may be empty where a branch was not worth skipping.
    Value *first = m_b.CreateExtractElement(m_offsets, first_lane(m_active));
    Value *offsets = m_b.CreateSelect(m_active, m_offsets, splat(m_b, first));
    Value *differ = any(m_b.CreateICmpNE(offsets, splat(m_b, first)));
    llvm::BasicBlock *one = block("one_record"), *many = block("records"), *after = block("data");
    m_b.CreateCondBr(differ, many, one);
    m_b.SetInsertPoint(one);
    Value *record = m_b.CreateGEP(m_b.getInt8Ty(), m_data, m_b.CreateZExt(first, m_b.getInt64Ty()));
    std::vector<Value *> same = fields_of_one(fields, record);
    m_b.CreateBr(after);
    one = m_b.GetInsertBlock();
    m_b.SetInsertPoint(many);
    std::vector<Value *> others = fields_of_many(fields, offsets);
    m_b.CreateBr(after);
    many = m_b.GetInsertBlock();

    m_b.SetInsertPoint(after);
    std::vector<llvm::PHINode *> phis;
    for (size_t k = 0; k < fields.size(); ++k) {
        phis.push_back(m_b.CreatePHI(same[k]->getType(), 2));
        phis[k]->addIncoming(same[k], one);
        phis[k]->addIncoming(others[k], many);
    }
    for (size_t k = 0; k < fields.size(); ++k)
        define(fields[k].inst, phis[k]);
}

std::vector<Value *> Emitter::fields_of_one(const std::vector<Field> &fields, Value *record) {
    std::vector<Value *> out;
    for (const Field &f : fields) {
        Value *v = m_b.CreateAlignedLoad(memory_type(m_context, f.type),
                                         offset(m_b, record, f.offset), llvm::Align(bytes(f.type)));
        if (f.type == Type::Bool)
            v = m_b.CreateICmpNE(v, m_b.getInt8(0));
        out.push_back(splat(m_b, v));
    }
    return out;
}

/// A piece may reach beyond a record: behind the last one there is room.
std::vector<Value *> Emitter::fields_of_many(const std::vector<Field> &fields, Value *offsets) {
    constexpr uint32_t WordsOfPiece = 8;
    constexpr size_t FewWords = 2; // cost less as gathers
    uint32_t words = (m_fn.data_bytes + 3) / 4;
    std::vector<uint8_t> used(words + WordsOfPiece, 0);
    for (const Field &f : fields)
        for (uint32_t b = 0; b < std::max<uint32_t>(4, uint32_t(bytes(f.type))); b += 4)
            used[(f.offset + b) / 4] = 1;

    auto record = [&](uint32_t lane) {
        Value *at = m_b.CreateZExt(m_b.CreateExtractElement(offsets, lane), m_b.getInt64Ty());
        return m_b.CreateGEP(m_b.getInt8Ty(), m_data, at);
    };
    std::vector<Value *> word(words + WordsOfPiece, nullptr);
    for (uint32_t first = 0; first < words; first += WordsOfPiece) {
        size_t count = 0, last = 0;
        for (uint32_t k = 0; k < WordsOfPiece; ++k)
            if (used[first + k]) {
                ++count;
                last = k;
            }
        if (count > FewWords) {
            packet_piece(record, Type::U32, first, last < 4 ? 4 : WordsOfPiece, word);
            continue;
        }
        auto fetch = [&](uint32_t k,
                         Type t) { // signed: then 32 bits of index will do for the gather
            Value *p = m_b.CreateGEP(m_b.getInt8Ty(), offset(m_b, m_data, 4 * k),
                                     m_b.CreateSExt(offsets, wide(Type::U64)));
            return gather_at(p, m_active, t);
        };
        for (uint32_t k = first; k < first + WordsOfPiece; ++k) {
            if (!used[k])
                continue;
            if (k % 2 == 1 || !used[k + 1]) {
                word[k] = fetch(k, Type::U32);
                continue;
            }
            // Two side by side are one element: gathers take as long as they have elements
            Value *both = fetch(k, Type::U64);
            word[k] = m_b.CreateTrunc(both, wide(Type::U32));
            both = m_b.CreateLShr(both, llvm::ConstantInt::get(both->getType(), 32));
            word[++k] = m_b.CreateTrunc(both, wide(Type::U32));
        }
    }

    std::vector<Value *> out;
    for (const Field &f : fields) {
        Value *v = word[f.offset / 4];
        llvm::Type *type = wide(f.type);
        if (bytes(f.type) == 8) {
            llvm::Type *wider = wide(Type::U64);
            Value *high = m_b.CreateShl(m_b.CreateZExt(word[f.offset / 4 + 1], wider),
                                        llvm::ConstantInt::get(wider, 32));
            v = m_b.CreateOr(m_b.CreateZExt(v, wider), high);
            v = f.type == Type::Ptr ? m_b.CreateIntToPtr(v, type) : m_b.CreateBitCast(v, type);
        } else if (bytes(f.type) == 4) {
            v = m_b.CreateBitCast(v, type);
        } else {
            v = m_b.CreateLShr(v, llvm::ConstantInt::get(wide(Type::U32), 8 * (f.offset % 4)));
            v = m_b.CreateTrunc(v, wide(memory_type(m_context, f.type)->isHalfTy()
                                            ? m_b.getInt16Ty()
                                            : memory_type(m_context, f.type)));
            v = f.type == Type::Bool ? m_b.CreateICmpNE(v, zero(Type::U8))
                                     : m_b.CreateBitCast(v, type);
        }
        out.push_back(v);
    }
    return out;
}

} // namespace umbel::jit::llvm_ir
