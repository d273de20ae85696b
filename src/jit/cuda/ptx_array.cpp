// jit/cuda/ptx_array.cpp: local arrays, in memory of the thread's own.
#include "jit/cuda/ptx_function.h"
#include <algorithm>

namespace umbel::jit::ptx {

std::string FunctionWriter::element(uint32_t storage, uint32_t k) const {
    return fmt::format("local+{}", m_storage[storage] + k * bytes(m_plan.storages[storage].type));
}

Operand FunctionWriter::element_at(uint32_t storage, const Operand &index) {
    Operand base = m_w.make('d', "mov.u64", "local");
    if (m_storage[storage])
        base = m_w.make('d', "add.u64", base, std::to_string(m_storage[storage]));
    return m_w.element_address(base, index, bytes(m_plan.storages[storage].type));
}

/// Calls body(number of an element) for all of them; a loop where there are many.
void FunctionWriter::for_elements(uint32_t storage,
                                  const std::function<void(const Operand &)> &body) {
    uint32_t length = m_plan.storages[storage].length;
    if (length <= 8) {
        for (uint32_t k = 0; k < length; ++k)
            body(immediate(Type::U32, k));
        return;
    }
    Operand k = m_w.fresh('r');
    std::string again = m_w.label();
    m_w.line("mov.b32 {}, 0", k);
    m_w.place(again);
    body(k);
    m_w.line("add.u32 {}, {}, 1", k, k);
    m_w.line("@{} bra {}", m_w.make('p', "setp.lt.u32", k, std::to_string(length)), again);
}

/// All at once, so that loop variables may change places.
void FunctionWriter::copy_arrays(std::vector<ArrayCopy> copies) {
    std::erase_if(copies, [](const ArrayCopy &c) { return c.from == c.to; });
    while (!copies.empty()) {
        // Those of one type and length go together, as only they can change places
        const llvm_ir::Storage s = m_plan.storages[copies[0].to];
        auto others = std::stable_partition(copies.begin(), copies.end(), [&](const ArrayCopy &c) {
            const llvm_ir::Storage &o = m_plan.storages[c.to];
            return o.type == s.type && o.length == s.length;
        });
        std::vector<ArrayCopy> group(copies.begin(), others);
        copies.erase(copies.begin(), others);
        for_elements(group[0].to, [&](const Operand &k) {
            std::vector<Operand> v;
            for (const ArrayCopy &c : group)
                v.push_back(m_w.load(s.type, "local", element_at(c.from, k), 1, 1, True)[0]);
            for (size_t j = 0; j < group.size(); ++j)
                m_w.store(s.type, "local", element_at(group[j].to, k), v[j], True);
        });
    }
}

void FunctionWriter::select_array(uint32_t i, const Operand &mask, uint32_t b, uint32_t c) {
    uint32_t to = m_plan.storage[i], x = m_plan.storage[b], y = m_plan.storage[c];
    if (x == y && x == to)
        return;
    Type t = inst(i).type;
    for_elements(to, [&](const Operand &k) {
        Operand u = m_w.load(t, "local", element_at(x, k), 1, 1, True)[0];
        Operand v = m_w.load(t, "local", element_at(y, k), 1, 1, True)[0];
        m_w.store(t, "local", element_at(to, k), m_w.select(t, mask, u, v), True);
    });
}

void FunctionWriter::emit_array(uint32_t i) {
    const Inst &in = inst(i);
    if (in.op == Op::ArrayNew && in.imm) // see jit/unset_array.h
        return;
    if (in.op == Op::ArrayNew) {
        Operand v = value(in.arg[0]);
        uint32_t storage = m_plan.storage[i];
        for_elements(storage, [&](const Operand &k) {
            m_w.store(in.type, "local", element_at(storage, k), v, True);
        });
        return;
    }
    auto in_range = [&](uint32_t length, const Operand &mask) {
        return m_w.mask_and(mask,
                            m_w.make('p', "setp.lt.u32", value(in.arg[1]), std::to_string(length)));
    };
    uint32_t from = m_plan.storage[in.arg[0]];
    if (in.op == Op::ArrayGet) {
        Operand mask = in_range(inst(in.arg[0]).length, value(in.arg[2]));
        m_value[i] = m_w.load(in.type, "local", element_at(from, value(in.arg[1])), 1, 1, mask)[0];
        return;
    }
    copy_arrays({ { from, m_plan.storage[i] } });
    Operand mask = in_range(in.length, value(in.arg[3]));
    m_w.store(in.type, "local", element_at(m_plan.storage[i], value(in.arg[1])), value(in.arg[2]),
              mask);
}

} // namespace umbel::jit::ptx
