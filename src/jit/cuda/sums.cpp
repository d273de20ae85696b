// jit/cuda/sums.cpp: memory for sums that do not depend on an order, and the kernels that end them; see jit/cuda/ptx_sum.h.
#include "jit/background.h"
#include "jit/buffer.h"
#include "jit/cuda/device.h"
#include "jit/cuda/module.h"
#include "jit/cuda/ptx_sum.h"
#include "jit/error.h"
#include "jit/warning.h"
#include <algorithm>
#include <atomic>
#include <bit>

namespace umbel::jit::cuda {

namespace {

constexpr uint64_t MostBytes = 2ull << 30; // of one launch; arrays beyond are added to as they are
constexpr uint64_t MostCopies = 64, CellsOfCopies = 1 << 14;

uint64_t copies_of(const SumTarget &t) {
    return std::bit_floor(
        std::clamp<uint64_t>(CellsOfCopies / std::max<uint64_t>(t.cells, 1), 1, MostCopies));
}
uint64_t digit_bytes(const SumTarget &t) { return t.cells * ptx::cell_bytes(t.type); }
uint64_t all_bytes(const SumTarget &t) {
    return ptx::SumHeaderBytes + copies_of(t) * digit_bytes(t);
}

// Once a process: an optimization would tell it in every iteration.
void tell_inexact(const SumTarget &t) {
    static std::atomic<bool> is_told{ false };
    if (is_told.exchange(true))
        return;
    warn(fmt::format("a launch adds to an array of {} {} on a GPU, for whose exact sums, of {} "
                     "bytes a cell, {} GiB "
                     "a launch do not suffice: last bits of such sums may differ from run to run; "
                     "smaller arrays keep theirs, and so do those of fewer sums in one launch",
                     t.cells, name(t.type), ptx::cell_bytes(t.type), MostBytes >> 30));
}

} // namespace

class SumKernels {
public:
    explicit SumKernels(CudaDevice &device) {
        std::string image = assemble_image(device, ptx::sum_kernels());
        m_module = load_module(device, image);
        m_merge = function("merge");
        for (Type t : { Type::F16, Type::F32, Type::F64 })
            m_finish[int(t)] = function(fmt::format("finish_{}", name(t)));
    }
    FunctionHandle *merge() const { return m_merge; }
    FunctionHandle *finish(Type t) const { return m_finish[int(t)]; }

private:
    FunctionHandle *function(const std::string &name) const {
        FunctionHandle *out = nullptr;
        need(driver().module_function(&out, m_module, name.c_str()), "finding a kernel");
        return out;
    }
    ModuleHandle *m_module = nullptr; // as long as the device, which is as long as the process
    FunctionHandle *m_merge, *m_finish[16] = {};
};

SumKernels &CudaDevice::sum_kernels() {
    std::lock_guard lock(m_sums_mutex);
    if (!m_sum_kernels)
        m_sum_kernels = std::make_shared<SumKernels>(*this);
    return *m_sum_kernels;
}

void CudaDevice::prepare_sums() {
    run_in_background([this] {
        try {
            sum_kernels();
        } catch (const std::exception &) { // whoever needs them tries again, and hears of it
        }
    });
}

std::vector<uint64_t> CudaDevice::begin_sums(std::span<const SumTarget> targets) {
    std::vector<uint64_t> out(targets.size(), 0);
    // The smallest first: there lanes meet
    std::vector<size_t> order;
    for (size_t k = 0; k < targets.size(); ++k)
        order.push_back(k);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return targets[a].cells < targets[b].cells; });
    uint64_t total = 0;
    try {
        for (size_t k : order) {
            const SumTarget &t = targets[k];
            total += all_bytes(t);
            if (total > MostBytes || t.cells > 1u << 31) {
                tell_inexact(t);
                break;
            }
            uint64_t address = allocate(all_bytes(t)), copies = copies_of(t);
            out[k] = address | ptx::SumTag;
            need(driver().clear(address, 0, all_bytes(t), m_stream), "clearing sums");
            uint32_t header[2] = { uint32_t(copies - 1),
                                   copies > 1 ? uint32_t(digit_bytes(t)) : 0 };
            upload(address, header, sizeof(header));
        }
    } catch (...) {
        drop_sums(targets, out);
        throw;
    }
    return out;
}

void CudaDevice::drop_sums(std::span<const SumTarget> targets,
                           std::span<const uint64_t> digits) noexcept {
    for (size_t k = 0; k < digits.size(); ++k)
        if (digits[k])
            release(digits[k] & ~ptx::SumTag, all_bytes(targets[k]));
}

void CudaDevice::end_sums(std::span<const SumTarget> targets, std::span<const uint64_t> digits) {
    constexpr unsigned Lanes = 128;
    auto start = [&](FunctionHandle *function, uint64_t lanes, void **parameters) {
        need(driver().launch(function, unsigned((lanes + Lanes - 1) / Lanes), 1, 1, Lanes, 1, 1, 0,
                             m_stream, parameters, nullptr),
             "adding up sums");
    };
    for (size_t k = 0; k < targets.size(); ++k) {
        const SumTarget &t = targets[k];
        if (!digits[k])
            continue;
        uint64_t address = digits[k] & ~ptx::SumTag, array = t.array->device_address(*this);
        if (copies_of(t) > 1) {
            uint32_t words = uint32_t(digit_bytes(t) / 8);
            void *parameters[] = { &address, &words };
            start(sum_kernels().merge(), words, parameters);
        }
        uint32_t cells = uint32_t(t.cells);
        void *parameters[] = { &address, &array, &cells };
        start(sum_kernels().finish(t.type), cells, parameters);
    }
    drop_sums(targets, digits); // in the queue's order: after what was started
}

} // namespace umbel::jit::cuda
