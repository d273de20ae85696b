// render/mesh_rim.cpp: see render/mesh_rim.h.
#include "render/mesh_rim.h"
#include "render/shape.h"

namespace umbel {

bool normals_differ(const Mesh &mesh, size_t triangle) {
    const std::vector<double> &n = mesh.normals;
    for (size_t k = 0; !n.empty() && k < 6; ++k)
        if (std::abs(n[3 * mesh.corner(triangle, 0) + k % 3] -
                     n[3 * mesh.corner(triangle, 1 + k / 3) + k % 3]) > 1e-5)
            return true;
    return false;
}

MeshRim::MeshRim(const Corner (&corners)[3], const Viewpoint &seen) {
    for (size_t i = 0; i < 3; ++i) {
        m_p[i] = corners[i].p;
        for (size_t j = 0; j < 3; ++j)
            m_form[i][j] = dot(corners[i].facing, seen.from(corners[j].own));
    }
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < i; ++j)
            m_form[i][j] = m_form[j][i] = (m_form[i][j] + m_form[j][i]) * 0.5;
}

Vector3 MeshRim::point(const Float (&b)[3]) const {
    return fma(m_p[0], b[0], fma(m_p[1], b[1], m_p[2] * b[2]));
}

Vector3 MeshRim::area2() const { return cross(m_p[1] - m_p[0], m_p[2] - m_p[0]); }

void MeshRim::gradient(const Float (&b)[3], Float (&g)[3]) const {
    for (size_t i = 0; i < 3; ++i)
        g[i] = 2 * fma(m_form[i][0], b[0], fma(m_form[i][1], b[1], m_form[i][2] * b[2]));
}

Vector3 MeshRim::slope(const Float (&b)[3]) const {
    Float g[3];
    gradient(b, g);
    Vector3 n = area2(), x = m_p[1] - m_p[0], y = m_p[2] - m_p[0];
    Float n2 = squared_norm(n), inv = select(n2 > 0, rcp(n2), Float(0));
    return (cross(y, n) * (g[1] - g[0]) + cross(n, x) * (g[2] - g[0])) * inv;
}

// Its values are between the least and the greatest of its coefficients.
Mask MeshRim::may_be_seen() const {
    Float least = m_form[0][0], most = least;
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j <= i; ++j) {
            least = min(least, m_form[i][j]);
            most = max(most, m_form[i][j]);
        }
    return (least < 0) & (most > 0);
}

MeshRim::Place MeshRim::place(const Float &t) const {
    Float scaled = t * 6, number = min(floor(scaled), Float(5)), s = scaled - number;
    UInt32 which = to_uint(number), axis = which >> 1u;
    Mask second = (which & UInt32(1u)) != UInt32(0u), first_axis = axis == UInt32(0u),
         next_axis = axis == UInt32(1u);
    // Corner a has the weight s, j has x, and k the rest
    auto pick = [&](const Float &v0, const Float &v1, const Float &v2) {
        return select(first_axis, v0, select(next_axis, v1, v2));
    };
    auto form = [&](size_t i, size_t k) {
        return pick(m_form[i][k], m_form[(i + 1) % 3][(k + 1) % 3],
                    m_form[(i + 2) % 3][(k + 2) % 3]);
    };
    Float rest = 1 - s, jj = form(1, 1), jk = form(1, 2), kk = form(2, 2), aj = form(0, 1),
          ak = form(0, 2), aa = form(0, 0);
    Float q2 = jj - 2 * jk + kk, q1 = 2 * fma(s, aj - ak, rest * (jk - kk)),
          q0 = fma(s * s, aa, fma(2 * s * rest, ak, kk * rest * rest));
    Float root2 = fma(q1, q1, -4 * q2 * q0), root = safe_sqrt(root2),
          q = -0.5 * (q1 + select(q1 < 0, -root, root));
    Float x = select(second, q0 / q, q / q2);
    Mask inside = (root2 >= 0) & (x >= 0) & (x <= rest);
    x = select(inside, x, Float(0));
    Float k = rest - x;

    Place out;
    out.b[0] = pick(s, k, x);
    out.b[1] = pick(x, s, k);
    out.b[2] = pick(k, x, s);
    Float g[3];
    gradient(out.b, g);
    // Along the line: at a right angle to the gradient, and weights sum to 1
    Float along[3] = { g[1] - g[2], g[2] - g[0], g[0] - g[1] };
    Float own = pick(along[0], along[1], along[2]);
    Float most = max(abs(along[0]), max(abs(along[1]), abs(along[2])));
    out.valid = inside & (most > 0) & (abs(own) >= most);
    Float inv = select(out.valid, 6 / own, Float(0));
    Float by[3] = { along[0] * inv, along[1] * inv, along[2] * inv };
    out.p = point(out.b);
    out.tangent = point(by);
    return out;
}

} // namespace umbel
