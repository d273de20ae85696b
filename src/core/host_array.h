// core/host_array.h: numbers of the host as arrays of the program, in the variant's precision.
#pragma once
#include "core/float.h"
#include <span>
#include <vector>

namespace umbel {

inline Float float_array(std::span<const double> data) {
    if (variant().double_precision)
        return Float(jit::copy_from(jit::Type::F64, data.data(), data.size()));
    std::vector<float> f(data.begin(), data.end());
    return Float(jit::copy_from(jit::Type::F32, f.data(), f.size()));
}

/// Evaluates and copies to the host, whatever the precision.
inline std::vector<double> read_floats(const Float &v) {
    std::vector<double> out(v.size());
    if (v.type() == jit::Type::F64) {
        jit::read(v, out.data(), 0, v.size());
        return out;
    }
    std::vector<float> f(v.size());
    jit::read(v, f.data(), 0, v.size());
    return { f.begin(), f.end() };
}

} // namespace umbel
