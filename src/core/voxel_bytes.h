// core/voxel_bytes.h: volumes that are no files yet: their bytes, as somebody has read them.
#pragma once
#include "core/voxels.h"

namespace umbel {

/// As read_voxels() does; messages call it `name`.
Voxels decode_voxels(std::string bytes, const std::string &name);

} // namespace umbel
