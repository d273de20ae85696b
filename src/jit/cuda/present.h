// jit/cuda/present.h: whether it is worth asking for a GPU.
#pragma once

namespace umbel::jit {

/// Whether there is a driver of NVIDIA's; it may still find no GPU.
bool cuda_is_present();

} // namespace umbel::jit
