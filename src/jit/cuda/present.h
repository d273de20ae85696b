// jit/cuda/present.h: whether there is a GPU.
#pragma once

namespace umbel::jit {

/// Whether there is one that kernels can run on, with a driver that can; starts the driver.
bool cuda_is_present();

} // namespace umbel::jit
