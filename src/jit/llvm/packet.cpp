// jit/llvm/packet.cpp: gathers of several consecutive elements: whole records are loaded lane by
// lane and transposed in registers, which costs far fewer loads than a gather per element.
#include "jit/llvm/emit.h"
#include <llvm/ADT/SmallVector.h>

namespace umbel::jit::llvm_ir {

namespace {

using Shuffle = llvm::SmallVector<int, 64>;

// One step of the transpose takes vectors a and b to two vectors. `unit` elements move together;
// `lane` of them make 128 bits, within which shuffles are cheapest.
//
// interleave: per 128 bits, the low (high) halves of a and b alternating (unpcklps and the like)
// separate:   the even (odd) units of a, then those of b (shufps; on 128-bit units, vshuff32x4)
void interleave(int n, int lane, int unit, int half, Shuffle &s) {
    for (int l = 0; l < n; l += lane)
        for (int u = half * lane / 2; u < half * lane / 2 + lane / 2; u += unit)
            for (int from = 0; from < 2; ++from)
                for (int e = 0; e < unit; ++e)
                    s.push_back(from * n + l + u + e);
}

void separate(int n, int lane, int unit, int half, Shuffle &s) {
    for (int l = 0; l < n; l += lane)
        for (int from = 0; from < 2; ++from)
            for (int u = half * unit; u < lane; u += 2 * unit)
                for (int e = 0; e < unit; ++e)
                    s.push_back(from * n + l + u + e);
}

// The shuffles of all steps, and where everything ends up.
struct Transpose {
    struct Step {
        Shuffle low, high;
    };
    std::vector<Step> steps; // step s combines vectors whose numbers differ in bit s
    std::vector<int> column; // of each vector in the end
    std::vector<int> row;    // that must be put in place (vector * rows per vector + place)

    /// `count` columns, vectors of n elements, `lane` elements in 128 bits.
    Transpose(int count, int n, int lane) {
        int left = count;
        if (count >= lane)
            for (int unit = 1; unit < lane; unit *= 2, left /= 2) {
                Step s;
                interleave(n, lane, unit, 0, s.low);
                interleave(n, lane, unit, 1, s.high);
                steps.push_back(s);
            }
        // What is left of the columns: units of one element within 128 bits, or of 128 bits.
        for (; left > 1; left /= 2) {
            Step s;
            bool small = count < lane;
            separate(n, small ? lane : n, small ? 1 : lane, 0, s.low);
            separate(n, small ? lane : n, small ? 1 : lane, 1, s.high);
            steps.push_back(s);
        }
        simulate(count, n);
    }

private:
    // Follows element (vector k, place r, column j) through the steps.
    void simulate(int count, int n) {
        struct Tag {
            int place, column;
        };
        int rows = n / count;
        std::vector<std::vector<Tag>> v(count);
        for (int k = 0; k < count; ++k)
            for (int e = 0; e < n; ++e)
                v[k].push_back({ k * rows + e / count, e % count });
        for (size_t s = 0; s < steps.size(); ++s)
            for (int k = 0; k < count; ++k) {
                int other = k | 1 << s;
                if (other == k)
                    continue;
                std::vector<Tag> low, high;
                for (int m : steps[s].low)
                    low.push_back(m < n ? v[k][m] : v[other][m - n]);
                for (int m : steps[s].high)
                    high.push_back(m < n ? v[k][m] : v[other][m - n]);
                v[k] = low;
                v[other] = high;
            }
        row.assign(n, 0);
        for (int k = 0; k < count; ++k)
            column.push_back(v[k][0].column);
        for (int e = 0; e < n; ++e)
            row[v[0][e].place] = e;
    }
};

} // namespace

void Emitter::emit_packet(uint32_t i) {
    const Inst &in = inst(i);
    Type t = in.type;
    uint32_t n = uint32_t(in.imm);
    std::vector<uint8_t> used(n, 0);
    uint32_t used_count = 0;
    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
        if (m_plan.uses[r] && !used[inst(r).imm]) {
            used[inst(r).imm] = 1;
            ++used_count;
        }
    prefetch_records(i, n * bytes(t));
    bool uniform = m_plan.uniform[in.arg[0]];
    Value *pointer = uniform ? scalar(in.arg[0]) : vec(in.arg[0]);
    Value *index = vec(in.arg[1]), *mask = vec(in.arg[2]);
    bool small = small_pointer(in.arg[0]);
    Value *records = m_b.CreateZExt(index, wide(Type::U64));
    records = m_b.CreateMul(records, llvm::ConstantInt::get(records->getType(), n * bytes(t)));
    records = m_b.CreateGEP(m_b.getInt8Ty(), pointer, records);
    auto element = [&](uint32_t k) {
        if (!small)
            return gather_at(m_b.CreateConstGEP1_64(m_b.getInt8Ty(), records, k * bytes(t)), mask,
                             t);
        Value *e = m_b.CreateMul(index, splat(m_b, i32(n)));
        return gather_elements(pointer, m_b.CreateAdd(e, splat(m_b, i32(k))), mask, t, true);
    };

    std::vector<Value *> out(n, nullptr);
    // With fast gathers, a few of them cost less than the shuffles; measured at 16 bytes and at 32.
    bool short_record = m_scope.target.fast_gathers && used_count * bytes(t) < 32;
    short_record |= m_scope.target.mask_registers && used_count <= 2;
    if (used_count * 8 <= n || short_record || n == 1 || bytes(t) == 1 ||
        n * bytes(t) > ZeroBytes) {
        for (uint32_t k = 0; k < n; ++k)
            if (used[k])
                out[k] = element(k);
    } else {
        auto each = [&] {
            Value *safe = m_b.CreateSelect(mask, records, splat(m_b, zero_record()));
            // Half a register at a time: joining halves while loading spares the last round of
            // shuffles.
            uint32_t longest = std::min<uint32_t>(
                m_width, uint32_t(std::max<uint64_t>(register_bytes() / 2, 16) / bytes(t)));
            // Records of other lengths in pieces: nothing beyond them may be read.
            for (uint32_t first = 0; first < n;) {
                uint32_t count = longest;
                while (count > n - first)
                    count /= 2;
                bool any_used = false;
                for (uint32_t k = first; k < first + count; ++k)
                    any_used |= used[k];
                if (any_used && count == 1) {
                    out[first] = element(first);
                } else if (any_used) {
                    // From registers: by way of the stack, fetching takes 1.4 to 1.6 times as long.
                    auto record = [&](uint32_t l) { return m_b.CreateExtractElement(safe, l); };
                    packet_piece(record, t, first, count, out);
                }
                first += count;
            }
            return out;
        };
        auto one = [&](Value *record) {
            std::vector<Value *> same(n, nullptr);
            for (uint32_t k = 0; k < n; ++k)
                if (used[k]) {
                    Value *v = m_b.CreateAlignedLoad(element_type(m_context, t),
                                                     offset(m_b, record, k * bytes(t)),
                                                     llvm::Align(bytes(t)));
                    same[k] = m_b.CreateSelect(mask, splat(m_b, v), zero(t));
                }
            return same;
        };
        out = uniform ? one_or_each(pointer, n * bytes(t), index, mask, one, each) : each();
    }
    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
        if (m_plan.uses[r])
            define(r, out[inst(r).imm]);
}

/// What lanes fetch: where all ask for the same record, as the samples of a pixel often do, it is loaded once.
std::vector<Value *> Emitter::one_or_each(Value *pointer, uint64_t size, Value *index, Value *mask,
                                          const std::function<Results(Value *record)> &one,
                                          const std::function<Results()> &each) {
    Value *first = m_b.CreateExtractElement(index, first_lane(mask));
    Value *differ = any(m_b.CreateAnd(mask, m_b.CreateICmpNE(index, splat(m_b, first))));
    Value *record = m_b.CreateMul(m_b.CreateZExt(first, m_b.getInt64Ty()), i64(size));
    record = m_b.CreateGEP(m_b.getInt8Ty(), pointer, record);
    record = m_b.CreateSelect(any(mask), record, zero_record());
    llvm::BasicBlock *same = block("one_record"), *many = block("records"),
                     *after = block("fetched");
    m_b.CreateCondBr(differ, many, same);
    m_b.SetInsertPoint(same);
    Results a = one(record);
    same = m_b.GetInsertBlock();
    m_b.CreateBr(after);
    m_b.SetInsertPoint(many);
    Results b = each();
    many = m_b.GetInsertBlock();
    m_b.CreateBr(after);
    m_b.SetInsertPoint(after);
    Results out(a.size(), nullptr);
    for (size_t k = 0; k < a.size(); ++k) {
        if (!a[k])
            continue;
        llvm::PHINode *phi = m_b.CreatePHI(a[k]->getType(), 2);
        phi->addIncoming(a[k], same);
        phi->addIncoming(b[k], many);
        out[k] = phi;
    }
    return out;
}

/// Elements [first, first + count) of all lanes' records; count is a power of two that fits a
/// register.
void Emitter::packet_piece(const std::function<Value *(uint32_t lane)> &record, Type t,
                           uint32_t first, uint32_t count, std::vector<Value *> &out) {
    int lanes = int(std::min<uint64_t>(m_width, register_bytes() / bytes(t)));
    int in_128 = int(std::min<uint64_t>(16 / bytes(t), lanes));
    Transpose transpose(int(count), lanes, in_128);
    int rows = lanes / int(count);
    auto *row_type = llvm::FixedVectorType::get(element_type(m_context, t), count);

    std::vector<std::vector<Value *>> parts(count); // of each column, by groups of lanes
    for (uint32_t group = 0; group < m_width; group += uint32_t(lanes)) {
        std::vector<Value *> v(count);
        for (uint32_t k = 0; k < count; ++k) {
            std::vector<Value *> row(rows);
            for (int r = 0; r < rows; ++r) {
                uint32_t lane = group + uint32_t(transpose.row[k * rows + r]);
                row[r] = m_b.CreateAlignedLoad(
                    row_type, offset(m_b, record(lane), first * bytes(t)), llvm::Align(bytes(t)));
            }
            v[k] = concatenate(row);
        }
        for (size_t s = 0; s < transpose.steps.size(); ++s)
            for (uint32_t k = 0; k < count; ++k) {
                uint32_t other = k | 1u << s;
                if (other == k)
                    continue;
                Value *a = v[k], *b = v[other];
                v[k] = m_b.CreateShuffleVector(a, b, transpose.steps[s].low);
                v[other] = m_b.CreateShuffleVector(a, b, transpose.steps[s].high);
            }
        for (uint32_t k = 0; k < count; ++k)
            parts[transpose.column[k]].push_back(v[k]);
    }
    for (uint32_t k = 0; k < count; ++k)
        out[first + k] = concatenate(parts[k]);
}

/// A power of two of equal vectors end to end.
Value *Emitter::concatenate(std::vector<Value *> v) {
    while (v.size() > 1) {
        int n = int(llvm::cast<llvm::FixedVectorType>(v[0]->getType())->getNumElements());
        Shuffle s;
        for (int k = 0; k < 2 * n; ++k)
            s.push_back(k);
        for (size_t k = 0; k < v.size() / 2; ++k)
            v[k] = m_b.CreateShuffleVector(v[2 * k], v[2 * k + 1], s);
        v.resize(v.size() / 2);
    }
    return v[0];
}

uint64_t Emitter::register_bytes() const { return std::max<uint64_t>(16, 4 * m_width); }

} // namespace umbel::jit::llvm_ir
