// jit/cuda/small_copies.cpp: many copies of a few bytes each, by one kernel with a lane for each.
//
// Records of instances have fields whose numbers only the device knows, such as colours that are being optimized: a scene of
// thousands of materials has thousands of them, for each launch.
#include "jit/cuda/device.h"
#include "jit/cuda/module.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/error.h"

namespace umbel::jit::cuda {

namespace {

static_assert(sizeof(SmallCopy) == 24);
constexpr const char *Text = R"(
.visible .entry copy_each(.param .u64 list, .param .u32 size)
{
    .reg .pred %p<5>;
    .reg .b32 %r<7>;
    .reg .b64 %d<6>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    ld.param.u32 %r4, [size];
    setp.ge.u32 %p0, %r3, %r4;
    @%p0 ret;
    ld.param.u64 %d0, [list];
    mad.wide.u32 %d1, %r3, 24, %d0;
    ld.global.b64 %d2, [%d1];
    ld.global.b64 %d3, [%d1+8];
    ld.global.b64 %d4, [%d1+16];
    setp.eq.u64 %p1, %d4, 1;
    @%p1 ld.global.u8 %r5, [%d2];
    @%p1 st.global.u8 [%d3], %r5;
    setp.eq.u64 %p2, %d4, 2;
    @%p2 ld.global.u16 %r5, [%d2];
    @%p2 st.global.u16 [%d3], %r5;
    setp.eq.u64 %p3, %d4, 4;
    @%p3 ld.global.b32 %r6, [%d2];
    @%p3 st.global.b32 [%d3], %r6;
    setp.eq.u64 %p4, %d4, 8;
    @%p4 ld.global.b64 %d5, [%d2];
    @%p4 st.global.b64 [%d3], %d5;
    ret;
}
)";

} // namespace

class CopyKernel {
public:
    explicit CopyKernel(CudaDevice &device) {
        std::string image =
            assemble_image(device, fmt::format(".version {}\n.target {}\n.address_size 64\n{}",
                                               ptx::PtxVersion, ptx::TargetArchitecture, Text));
        m_module = load_module(device, image);
        need(driver().module_function(&m_function, m_module, "copy_each"), "finding a kernel");
    }
    FunctionHandle *function() const { return m_function; }

private:
    ModuleHandle *m_module = nullptr; // as long as the device, which is as long as the process
    FunctionHandle *m_function = nullptr;
};

void CudaDevice::copy_each(std::span<const SmallCopy> copies) {
    constexpr size_t Few = 8; // for which the kernel is not worth being assembled
    constexpr unsigned Lanes = 128;
    if (copies.size() <= Few) {
        for (const SmallCopy &c : copies)
            copy(c.to, c.from, c.bytes);
        return;
    }
    make_current();
    std::unique_lock lock(m_copy_mutex);
    if (!m_copy_kernel)
        m_copy_kernel = std::make_shared<CopyKernel>(*this);
    lock.unlock();
    uint64_t list = allocate(copies.size_bytes());
    upload(list, copies.data(), copies.size_bytes());
    auto size = uint32_t(copies.size());
    void *parameters[] = { &list, &size };
    need(driver().launch(m_copy_kernel->function(), (size + Lanes - 1) / Lanes, 1, 1, Lanes, 1, 1,
                         0, m_stream, parameters, nullptr),
         "copying on the device");
    release(list, copies.size_bytes()); // for what is queued after it
    note_queued();
}

} // namespace umbel::jit::cuda
