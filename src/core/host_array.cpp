// core/host_array.cpp: see core/host_array.h.
#include "core/host_array.h"
#include <cstring>

namespace umbel {

Float float_array(std::span<const double> data) {
    if (variant().double_precision)
        return Float(jit::copy_from(jit::Type::F64, data.data(), data.size()));
    std::vector<float> f(data.begin(), data.end());
    return Float(jit::copy_from(jit::Type::F32, f.data(), f.size()));
}

std::vector<double> read_floats(const Float &v) {
    size_t n = v.size();
    std::vector<double> out(n);
    if (v.type() == jit::Type::F64) {
        jit::read(v, out.data(), 0, n);
        return out;
    }
    // Into the upper half of the same memory, from which they are spread: large arrays need no more than the result
    char *bytes = reinterpret_cast<char *>(out.data()), *narrow = bytes + n * sizeof(float);
    jit::read(v, narrow, 0, n);
    for (size_t i = 0; i < n; ++i) {
        float f;
        std::memcpy(&f, narrow + i * sizeof f, sizeof f);
        double wide = f;
        std::memcpy(bytes + i * sizeof wide, &wide, sizeof wide);
    }
    return out;
}

} // namespace umbel
