// jit/private_copies.cpp: see jit/private_copies.h.
#include "jit/private_copies.h"
#include "jit/algorithm_common.h"
#include "jit/buffer.h"
#include "jit/host_call.h"
#include "jit/stream.h"
#include <algorithm>
#include <utility>

namespace umbel::jit {

namespace {

constexpr uint64_t MaxChunks = 64;
static_assert(MaxChunks <= MaxBlocks); // host functions have something for each of them
constexpr uint64_t LanesPerChunk = 512;
constexpr uint64_t LanesPerCell = 4; // of a block, at least: moving on to the sums must cost little
constexpr uint64_t FairChunks = 8;   // where targets are left out, for the sake of parallel work

// What the instruction does with the pointer in operand `k`.
PointerUse use_of(const Function &f, const Inst &in, int k) {
    bool sum = in.op == Op::Scatter && k == 0 && ReduceOp(in.imm) == ReduceOp::Add &&
               is_float(f.insts[in.arg[2]].type);
    bool written = (in.op == Op::Scatter || in.op == Op::ScatterInc) && k == 0;
    return { .summed = sum, .otherwise = !sum, .written = written };
}

// Calls f with the type of a target and that of its sums.
template <class F> void with_sum(Type type, F f) {
    switch (type) {
    case Type::F16: return f.template operator()<f16, float>();
    case Type::F32: return f.template operator()<float, double>();
    default: return f.template operator()<double, double>();
    }
}

} // namespace

PointerUses::PointerUses(const Program &p) : args(p.args.size()), fields(p.functions.size()) {
    // By value of each function; callees come after their callers, so what they do is known first
    std::vector<std::vector<PointerUse>> uses(p.functions.size());
    for (size_t f = p.functions.size(); f-- > 0;) {
        const Function &function = p.functions[f];
        uses[f].resize(function.insts.size());
        auto is_pointer = [&](uint32_t v) {
            return v != NoValue && function.insts[v].type == Type::Ptr;
        };
        for (const Inst &in : function.insts) {
            for (int k = 0; k < 4; ++k)
                if (is_pointer(in.arg[k]))
                    uses[f][in.arg[k]].add(use_of(function, in, k));
            if (in.op == Op::Extern) {
                const ExternSite &site = p.externs[in.imm];
                for (uint32_t v : { site.fn, site.user })
                    if (v != NoValue) // the function may do anything with what `user` points to
                        uses[f][v].add({ false, true, v == site.user });
                for (uint32_t v : site.inputs)
                    uses[f][v].otherwise = true;
            }
            if (in.op != Op::Call)
                continue;
            const CallSite &site = p.calls[in.imm];
            for (uint32_t callee : site.callees)
                for (size_t i = 0; i < p.functions[callee].insts.size(); ++i) {
                    const Inst &param = p.functions[callee].insts[i];
                    if (param.op == Op::Param && param.type == Type::Ptr) {
                        PointerUse inside =
                            callee > f ? uses[callee][i] : PointerUse{ false, true, true };
                        uses[f][site.args[param.imm]].add(inside);
                    }
                }
        }
        for (size_t i = 0; i < function.insts.size(); ++i) {
            const Inst &in = function.insts[i];
            if (in.type != Type::Ptr)
                continue;
            if (in.op == Op::ArgPtr)
                args[in.imm].add(uses[f][i]);
            else if (in.op == Op::Data)
                fields[f].push_back({ in.imm, uses[f][i] });
        }
    }
}

PointerUse PointerUses::field(uint32_t function, uint64_t offset) const {
    PointerUse r;
    for (auto &[at, use] : fields[function])
        if (at == offset)
            r.add(use);
    return r;
}

uint64_t PrivateCopies::chunks(uint64_t lanes) const {
    if (targets.empty())
        return 1;
    uint64_t cells = 0;
    for (const Target &t : targets)
        cells += t.cells;
    return std::clamp<uint64_t>(
        std::min(lanes / LanesPerChunk, lanes / std::max<uint64_t>(LanesPerCell * cells, 1)), 1,
        MaxChunks);
}

void PrivateCopies::choose(uint64_t lanes) {
    if (chunks(lanes) > 1)
        return;
    std::stable_sort(targets.begin(), targets.end(),
                     [](const Target &a, const Target &b) { return a.cells < b.cells; });
    uint64_t wanted = std::clamp<uint64_t>(lanes / LanesPerChunk, 2, FairChunks);
    while (!targets.empty() && chunks(lanes) < wanted)
        targets.pop_back();
}

void PrivateCopies::run(uint64_t lanes, uint64_t grain, const Bind &bind) const {
    // Where each target's copy and sums begin
    std::vector<uint64_t> copy_at, sums_at;
    uint64_t copy_bytes = 0, sums_bytes = 0, cells = 0;
    for (const Target &t : targets)
        with_sum(t.type, [&]<class T, class Sum> {
            copy_at.push_back(copy_bytes);
            sums_at.push_back(sums_bytes);
            copy_bytes += (t.cells * sizeof(T) + 63) / 64 * 64;
            sums_bytes += (t.cells * sizeof(Sum) + 63) / 64 * 64;
            cells += t.cells;
        });
    auto whole = [&](uint64_t n) { return (n + grain - 1) / grain * grain; };
    uint64_t chunk = whole((lanes + chunks(lanes) - 1) / chunks(lanes));
    uint64_t count = (lanes + chunk - 1) / chunk, block = whole(LanesPerCell * cells);
    BufferRef all_sums = allocate(count * sums_bytes);
    auto sums_of = [&](uint64_t c, size_t target) {
        return static_cast<char *>(all_sums->data()) + c * sums_bytes + sums_at[target];
    };

    parallel_blocks(lanes, chunk, [&](uint64_t first, uint64_t last) {
        uint64_t c = first / chunk;
        BufferRef memory = allocate(copy_bytes);
        std::memset(memory->data(), 0, copy_bytes);
        std::memset(sums_of(c, 0), 0, sums_bytes);
        std::vector<void *> copies;
        for (uint64_t at : copy_at)
            copies.push_back(static_cast<char *>(memory->data()) + at);
        Blocks run = bind(uint32_t(c), copies);
        for (uint64_t begin = first; begin < last; begin += block) {
            run(begin, std::min(last, begin + block));
            for (size_t t = 0; t < targets.size(); ++t)
                with_sum(targets[t].type, [&]<class T, class Sum> {
                    T *copy = static_cast<T *>(copies[t]);
                    Sum *sums = reinterpret_cast<Sum *>(sums_of(c, t));
                    for (uint64_t i = 0; i < targets[t].cells; ++i)
                        sums[i] += Sum(std::exchange(copy[i], T(0)));
                });
        }
    });

    for (size_t t = 0; t < targets.size(); ++t)
        with_sum(targets[t].type, [&]<class T, class Sum> {
            T *out = static_cast<T *>(targets[t].data);
            parallel_blocks(targets[t].cells, Piece, [&](uint64_t begin, uint64_t end) {
                for (uint64_t i = begin; i < end; ++i) {
                    Sum sum = Sum(out[i]);
                    for (uint64_t c = 0; c < count; ++c)
                        sum += reinterpret_cast<const Sum *>(sums_of(c, t))[i];
                    out[i] = T(sum);
                }
            });
        });
}

} // namespace umbel::jit
