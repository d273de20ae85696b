// core/host_float.h: numbers of an object that are data of programs, and take little memory otherwise.
//
// An opaque Float is a node as long as it exists. These are nodes only while a program that uses them is traced: what
// shapes, of which scenes have many, compute of their parameters. They carry no derivatives.
#pragma once
#include "core/transform.h"
#include "jit/datum.h"

namespace umbel {

class HostFloat {
public:
    HostFloat() = default;
    explicit HostFloat(double v) : m_value(v) {}
    double value() const { return m_value; }
    operator Float() const {
        jit::Type type = variant().float_type();
        uint64_t bits =
            type == jit::Type::F32 ? jit::to_bits(float(m_value)) : jit::to_bits(m_value);
        return Float(jit::datum(type, bits, m_node));
    }

private:
    double m_value = 0;
    mutable jit::DatumNode m_node;
};

struct HostVector3 {
    HostFloat x, y, z;

    HostVector3() = default;
    explicit HostVector3(const std::array<double, 3> &v) : x(v[0]), y(v[1]), z(v[2]) {}
    std::array<double, 3> value() const { return { x.value(), y.value(), z.value() }; }
    operator Vector3() const { return { x, y, z }; }
};

/// A matrix and its inverse.
class HostTransform {
public:
    HostTransform() = default;
    HostTransform(const TransformData &matrix, const TransformData &inverse) {
        for (size_t i = 0; i < 12; ++i) {
            m_rows[i] = HostFloat(matrix.m[i]);
            m_inverse[i] = HostFloat(inverse.m[i]);
        }
    }
    operator Transform() const { return { rows(m_rows), rows(m_inverse) }; }

private:
    using Rows = std::array<HostFloat, 12>;
    static Transform::Rows rows(const Rows &r) {
        Transform::Rows out;
        for (size_t i = 0; i < 12; ++i)
            out[i] = r[i];
        return out;
    }

    Rows m_rows, m_inverse;
};

} // namespace umbel
