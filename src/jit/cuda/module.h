// jit/cuda/module.h: modules of code on a device.
#pragma once
#include "jit/cuda/device.h"

namespace umbel::jit::cuda {

/// What the driver's assembler makes of a module's text; an InternalError says what it did not like.
std::string assemble_image(CudaDevice &device, const std::string &ptx);
/// What it makes, in the device's memory.
ModuleHandle *load_module(CudaDevice &device, const std::string &image);

} // namespace umbel::jit::cuda
