// jit/cuda/ptx_warp.cpp: see jit/cuda/ptx_warp.h.
#include "jit/cuda/ptx_warp.h"

namespace umbel::jit::ptx {

Peers find_peers(Writer &w, const Operand &address) {
    Peers p;
    p.active = w.fresh('r'), p.lanes = w.fresh('r');
    w.line("activemask.b32 {}", p.active);
    w.line("match.any.sync.b64 {}, {}, {}", p.lanes, address, p.active);
    p.before = w.make('r', "and.b32", p.lanes, w.make('r', "mov.u32", "%lanemask_lt"));
    p.leads = w.make('p', "setp.eq.u32", p.before, "0");
    return p;
}

// [Adinets 2014]: in log2 steps, each lane takes over from the next one that still has something.
void add_up(Writer &w, const Peers &peers, const std::vector<Operand> &sums) {
    Operand rank = w.make('r', "popc.b32", peers.before);
    Operand rest = w.make('r', "and.b32", peers.lanes, w.make('r', "mov.u32", "%lanemask_gt"));
    std::string again = w.label(), done = w.label();
    w.place(again);
    Operand waiting = w.make('p', "setp.ne.u32", rest, "0");
    Operand all = w.make('r', "vote.sync.ballot.b32", waiting, peers.active);
    w.line("@{} bra {}", w.make('p', "setp.eq.u32", all, "0"), done);
    Operand next = w.make('r', "clz.b32", w.make('r', "brev.b32", rest)); // 32 where there is none
    Operand from = w.make('r', "min.u32", next, "31");
    auto take = [&](const Operand &half) {
        return w.make('r', "shfl.sync.idx.b32", half, from, "31", peers.active);
    };
    for (const Operand &sum : sums) {
        if (sum[1] == 'r') {
            w.line("@{} add.u32 {}, {}, {}", waiting, sum, sum, take(sum));
            continue;
        }
        Operand low = w.make('r', "cvt.u32.u64", sum),
                high = w.make('r', "cvt.u32.u64", w.make('d', "shr.u64", sum, "32"));
        Operand l = take(low), h = take(high);
        Operand other = w.make('d', "or.b64", w.make('d', "cvt.u64.u32", l),
                               w.make('d', "shl.b64", w.make('d', "cvt.u64.u32", h), "32"));
        w.line("@{} add.u64 {}, {}, {}", waiting, sum, sum, other);
    }
    Operand stays = w.make('p', "setp.eq.u32", w.make('r', "and.b32", rank, "1"), "0");
    Operand left = w.make('r', "vote.sync.ballot.b32", stays, peers.active);
    w.line("and.b32 {}, {}, {}", rest, rest, left);
    w.line("shr.u32 {}, {}, 1", rank, rank);
    w.jump(again);
    w.place(done);
}

std::string add_function(Module &module, Type t, const uint64_t *literal) {
    // Each literal has its own: lanes that come from elsewhere must not count as peers that add the same
    std::string key =
        literal ? fmt::format("add_{}_{:x}", name(t), *literal) : fmt::format("add_{}", name(t));
    if (auto it = module.helpers.find(key); it != module.helpers.end())
        return it->second;
    Writer w(module);
    Operand address = w.make('d', "ld.param.b64", "[address]"), sum;
    std::string head = ".param .b64 address";
    if (!literal) {
        sum = w.make(register_class(t), fmt::format("ld.param.{}", bits_suffix(t)), "[v]");
        head += fmt::format(", .param .{} v", bits_suffix(t));
    }
    Peers peers = find_peers(w, address);
    if (literal) {
        Operand count = w.make('r', "popc.b32", peers.lanes);
        if (bytes(t) == 8)
            count = w.make('d', "cvt.u64.u32", count);
        sum = w.make(register_class(t), fmt::format("mul.lo.{}", number_suffix(t)), count,
                     immediate(t, *literal));
    } else {
        add_up(w, peers, { sum });
    }
    w.reduce(ReduceOp::Add, t, address, sum, peers.leads);
    w.line("ret");
    module.head += fmt::format(".func {}({})\n{{\n{}}}\n\n", key, head, w.finish());
    return module.helpers[key] = key;
}

std::string increment_function(Module &module) {
    std::string key = "increment";
    if (auto it = module.helpers.find(key); it != module.helpers.end())
        return it->second;
    Writer w(module);
    Operand address = w.make('d', "ld.param.b64", "[address]");
    Peers peers = find_peers(w, address);
    Operand count = w.make('r', "popc.b32", peers.lanes), first = w.make('r', "mov.b32", "0");
    w.line("@{} atom.global.add.u32 {}, [{}], {}", peers.leads, first, address, count);
    Operand leader = w.make('r', "clz.b32", w.make('r', "brev.b32", peers.lanes));
    first = w.make('r', "shfl.sync.idx.b32", first, leader, "31", peers.active);
    Operand rank = w.make('r', "popc.b32", peers.before);
    w.line("st.param.b32 [before], {}", w.make('r', "add.u32", first, rank));
    w.line("ret");
    module.head += fmt::format(".func (.param .b32 before) {}(.param .b64 address)\n{{\n{}}}\n\n",
                               key, w.finish());
    return module.helpers[key] = key;
}

} // namespace umbel::jit::ptx
