// jit/cuda/driver.h: the functions of NVIDIA's driver that are used, found at run time: neither headers nor a toolkit are needed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace umbel::jit::cuda {

// The driver's own types, as its documented binary interface has them
using Result = int;
using DeviceNumber = int;
using DeviceAddress = uint64_t;
struct ContextHandle;
struct ModuleHandle;
struct FunctionHandle;
struct StreamHandle;
struct EventHandle;
struct LinkHandle;

enum : int {
    Success = 0,
    OutOfMemory = 2,
    AttributeMajor = 75, // of a device: compute capability
    AttributeMinor = 76,
    AttributeThreads = 39, // that a multiprocessor has at most
    FunctionRegisters = 4,
    FunctionLocalBytes = 3,
    InputPtx = 1,
    JitErrorLog = 5, // options of the linker
    JitErrorLogBytes = 6,
    JitThreads = 34,           // 0: as many as there are cores
    JitThreadsVersion = 13000, // of a driver that knows it
    StreamNonBlocking = 1,
    EventWithoutTime = 2,
};

// X(member, symbol, parameters)
// clang-format off
#define UMBEL_CUDA_FUNCTIONS(X)                                                                    \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(driver_version, "cuDriverGetVersion", (int *version))                                        \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (DeviceNumber *device, int ordinal))                              \
    X(device_name, "cuDeviceGetName", (char *name, int length, DeviceNumber device))               \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, DeviceNumber device))  \
    X(context_retain, "cuDevicePrimaryCtxRetain", (ContextHandle **context, DeviceNumber device))  \
    X(context_set, "cuCtxSetCurrent", (ContextHandle *context))                                    \
    X(context_wait, "cuCtxSynchronize", ())                                                         \
    X(memory_info, "cuMemGetInfo_v2", (size_t *free, size_t *total))                               \
    X(allocate, "cuMemAlloc_v2", (DeviceAddress *address, size_t bytes))                           \
    X(free, "cuMemFree_v2", (DeviceAddress address))                                               \
    X(upload, "cuMemcpyHtoDAsync_v2", (DeviceAddress to, const void *from, size_t bytes, StreamHandle *stream)) \
    X(download, "cuMemcpyDtoHAsync_v2", (void *to, DeviceAddress from, size_t bytes, StreamHandle *stream)) \
    X(copy, "cuMemcpyDtoDAsync_v2", (DeviceAddress to, DeviceAddress from, size_t bytes, StreamHandle *stream)) \
    X(clear, "cuMemsetD8Async", (DeviceAddress address, unsigned char value, size_t bytes, StreamHandle *stream)) \
    X(fill_16, "cuMemsetD16Async", (DeviceAddress address, unsigned short value, size_t count, StreamHandle *stream)) \
    X(fill_32, "cuMemsetD32Async", (DeviceAddress address, unsigned value, size_t count, StreamHandle *stream)) \
    X(fill_columns, "cuMemsetD2D32Async", (DeviceAddress address, size_t pitch, unsigned value, size_t width, size_t height, StreamHandle *stream)) \
    X(stream_create, "cuStreamCreate", (StreamHandle **stream, unsigned flags))                    \
    X(stream_wait, "cuStreamSynchronize", (StreamHandle *stream))                                  \
    X(stream_wait_event, "cuStreamWaitEvent", (StreamHandle *stream, EventHandle *event, unsigned flags)) \
    X(event_create, "cuEventCreate", (EventHandle **event, unsigned flags))                        \
    X(event_destroy, "cuEventDestroy_v2", (EventHandle *event))                                    \
    X(event_record, "cuEventRecord", (EventHandle *event, StreamHandle *stream))                   \
    X(event_wait, "cuEventSynchronize", (EventHandle *event))                                      \
    X(host_allocate, "cuMemHostAlloc", (void **address, size_t bytes, unsigned flags))             \
    X(link_create, "cuLinkCreate_v2", (unsigned options, int *keys, void **values, LinkHandle **link)) \
    X(link_add, "cuLinkAddData_v2", (LinkHandle *link, int kind, void *data, size_t bytes, const char *name, unsigned options, int *keys, void **values)) \
    X(link_complete, "cuLinkComplete", (LinkHandle *link, void **image, size_t *bytes))            \
    X(link_destroy, "cuLinkDestroy", (LinkHandle *link))                                           \
    X(module_load, "cuModuleLoadData", (ModuleHandle **module, const void *image))                 \
    X(module_unload, "cuModuleUnload", (ModuleHandle *module))                                     \
    X(module_function, "cuModuleGetFunction", (FunctionHandle **function, ModuleHandle *module, const char *name)) \
    X(module_global, "cuModuleGetGlobal_v2", (DeviceAddress *address, size_t *bytes, ModuleHandle *module, const char *name)) \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, FunctionHandle *function)) \
    X(function_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *blocks, FunctionHandle *function, int block_lanes, size_t shared_bytes)) \
    X(launch, "cuLaunchKernel", (FunctionHandle *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle *stream, void **parameters, void **extra)) \
    X(error_name, "cuGetErrorName", (Result error, const char **name))                             \
    X(error_text, "cuGetErrorString", (Result error, const char **text))
// clang-format on

struct Driver {
#define X(member, symbol, parameters) Result(*member) parameters = nullptr;
    UMBEL_CUDA_FUNCTIONS(X)
#undef X
    int version = 0; // 12040 for 12.4
};

/// Loaded and initialized on first use; a DeviceError says what is missing.
const Driver &driver();
/// The process ends, and with it the driver, which frees all that it holds: nobody need ask it to any more.
bool driver_is_leaving();

/// Throws a DeviceError that names `what` unless the result is Success.
void need(Result result, const char *what);

} // namespace umbel::jit::cuda
