// jit/interp/executor.h: runs a plan over lanes.
#pragma once
#include "jit/backend.h"
#include "jit/interp/arena.h"
#include "jit/interp/plan.h"
#include <cstring>

namespace umbel::jit {

class Checker;

/// One activation of a function for up to `Plan::block` lanes.
struct Frame {
    const FunctionPlan *plan = nullptr;
    std::byte *base[3] = {}; // by Space
    uint32_t scale[3] = {};  // bytes of an offset's unit
    uint8_t *shadow =
        nullptr;         // checking mode: one byte a lane of each register, 1 where it was written
    uint32_t n = 0;      // lanes
    uint32_t padded = 0; // lanes that element-wise loops compute: whole vectors
    uint32_t block_lanes = 0; // lanes of the kernel's block
    uint64_t first_lane = 0;  // of the kernel's block
    const uint16_t *lanes =
        nullptr; // where each lane is in the kernel's block; null: at its own index
    const std::byte *data = nullptr;       // records of a subroutine's instances
    const uint32_t *data_offset = nullptr; // of each lane's record

    std::byte *at(Loc loc) const {
        Space s = space_of(loc);
        return base[s] + size_t(offset_of(loc)) * scale[s];
    }
    template <class T> T *as(Loc loc) const { return reinterpret_cast<T *>(at(loc)); }
    uint32_t lane(uint32_t i) const { return lanes ? lanes[i] : i; }
};

/// A varying or uniform operand read lane by lane.
template <class T> struct Operand {
    const T *p;
    size_t stride;
    Operand(const Frame &f, Loc loc) : p(f.as<const T>(loc)), stride(is_uniform(loc) ? 0 : 1) {}
    Operand(const T *q, size_t s) : p(q), stride(s) {}
    T operator[](size_t i) const { return p[i * stride]; }
};

class Executor {
public:
    Executor(const Plan &plan, const Launch &launch, Arena &arena, Checker *checker);
    void run(uint64_t begin, uint64_t end);

private:
    friend class Checker;
    Frame make_frame(uint32_t function);
    void make_uniforms(Frame &frame, uint32_t function);
    void enter(Frame &frame, uint32_t lanes);
    void body(Frame &frame);
    template <bool Checked>
    void steps(Frame &f, const std::vector<Step> &list, const std::vector<StepOrigin> &origins);
    void special(Frame &f, const Step &s, const uint8_t *mask, size_t mask_stride);

    // executor_memory.cpp
    void load_lane(Frame &f, const Step &s);
    void store_lane(Frame &f, const Step &s);
    void load_data(Frame &f, const Step &s);
    void gather(Frame &f, const Step &s, Operand<uint8_t> mask);
    void packet(Frame &f, const Step &s, Operand<uint8_t> mask);
    void scatter(Frame &f, const Step &s, Operand<uint8_t> mask);
    void scatter_inc(Frame &f, const Step &s, Operand<uint8_t> mask);
    void array_new(Frame &f, const Step &s);
    void array_get(Frame &f, const Step &s, Operand<uint8_t> mask);
    void array_set(Frame &f, const Step &s, Operand<uint8_t> mask);

    // executor_call.cpp
    void call(Frame &f, const CallPlan &call);
    void run_callee(Frame &f, const CallPlan &call, uint32_t function, const uint16_t *lanes,
                    const uint32_t *offsets, uint32_t count);
    void host_call(Frame &f, const ExternPlan &plan);

    const Plan &m_plan;
    const Launch &m_launch;
    Arena &m_arena;
    Checker *m_checker;
    const LoopTable &m_loops;
    std::byte **m_uniforms;   // of each function
    uint8_t *m_uniforms_made; // at its first activation
};

/// Runs `fn` with a value of the unsigned type of `size` bytes.
template <class Fn> void with_size(size_t size, Fn fn) {
    switch (size) {
    case 1: fn(uint8_t()); break;
    case 2: fn(uint16_t()); break;
    case 4: fn(uint32_t()); break;
    default: fn(uint64_t()); break;
    }
}

} // namespace umbel::jit
