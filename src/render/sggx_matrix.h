// render/sggx_matrix.h: flakes whose normals are distributed as those of an ellipsoid [Heitz 2015].
//
//     area that a unit of flakes covers, seen along w:  sigma(w) = sqrt(w' S w)
//     density of normals:                               D(m) = 1 / (pi sqrt(|S|) (m' S^-1 m)^2)
//     light that they mirror:                           f(wi, wo) = D(h) / (4 sigma(wi)),  h: half way between wi and wo
//
// S is a symmetric positive matrix in the scene's space: the unit matrix is a ball.
#pragma once
#include "ad/ad.h"
#include "render/phase.h"

namespace umbel {

struct SggxMatrix {
    Float xx, yy, zz, xy, xz, yz;

    /// Around an axis of unit length: 1 across it, r^2 along it.
    static SggxMatrix around(const Vector3 &axis, const Float &r) {
        Float less = sqr(r) - 1;
        return { fma(less * axis.x, axis.x, 1), fma(less * axis.y, axis.y, 1),
                 fma(less * axis.z, axis.z, 1), less * axis.x * axis.y,
                 less * axis.x * axis.z,        less * axis.y * axis.z };
    }
    SggxMatrix detached() const {
        auto fixed = [](const Float &v) { return Float(ad::detach(v)); };
        return { fixed(xx), fixed(yy), fixed(zz), fixed(xy), fixed(xz), fixed(yz) };
    }

    Vector3 operator*(const Vector3 &v) const {
        return { fma(xx, v.x, fma(xy, v.y, xz * v.z)), fma(xy, v.x, fma(yy, v.y, yz * v.z)),
                 fma(xz, v.x, fma(yz, v.y, zz * v.z)) };
    }
    Float determinant() const {
        return xx * (yy * zz - sqr(yz)) - xy * (xy * zz - xz * yz) + xz * (xy * yz - yy * xz);
    }
    /// v' S^-1 v |S|: with the matrix of cofactors.
    Float inverse_form(const Vector3 &v) const {
        return (yy * zz - sqr(yz)) * sqr(v.x) + (xx * zz - sqr(xz)) * sqr(v.y) +
               (xx * yy - sqr(xy)) * sqr(v.z) +
               2 * ((xz * yz - xy * zz) * v.x * v.y + (xy * yz - xz * yy) * v.x * v.z +
                    (xy * xz - xx * yz) * v.y * v.z);
    }

    Float area(const Vector3 &w) const { return safe_sqrt(dot(w, *this * w)); }
    /// Of normals, by solid angle.
    Float density(const Vector3 &m) const {
        // With |S|^2 in its numerator, for that in the form
        Float det = max(determinant(), Float(0)), form = inverse_form(m);
        Mask some = form > 0;
        return select(some, det * safe_sqrt(det) / (Pi * sqr(select(some, form, Float(1)))),
                      Float(0));
    }
    /// The part of light from wo that is mirrored to wi, which is also the density of sample_mirrored().
    Float value(const Vector3 &wi, const Vector3 &wo) const {
        Vector3 h = wi + wo;
        Float length2 = squared_norm(h), covered = area(wi);
        Mask some = (length2 > 1e-12) & (covered > 0);
        h = h * rsqrt(select(some, length2, Float(1)));
        return select(some, 0.25 * density(h) / select(some, covered, Float(1)), Float(0));
    }
    /// A normal among those that are seen along the frame's.
    Vector3 sample_visible(const Frame &frame, const Vector2 &u) const {
        // s, t, n are k, j, i of the paper
        Vector3 mt = *this * frame.t, mn = *this * frame.n;
        Float kj = dot(frame.s, mt), ki = dot(frame.s, mn);
        Float jj = dot(frame.t, mt), ji = dot(frame.t, mn), ii = dot(frame.n, mn);
        Float inv_root = rsqrt(ii), tmp = safe_sqrt(jj * ii - sqr(ji));
        Vector3 a(safe_sqrt(determinant()) / tmp, Float(0), Float(0));
        Vector3 b(-inv_root * (ki * ji - kj * ii) / tmp, inv_root * tmp, Float(0));
        Vector3 c = Vector3(ki, ji, ii) * inv_root;
        Float radius = sqrt(u.x), angle = 2 * Pi * u.y;
        Float x = radius * cos(angle), y = radius * sin(angle), z = safe_sqrt(1 - u.x);
        return normalize(frame.to_world(a * x + b * y + c * z));
    }
    /// Mirrors mei.wi at one of them.
    Vector3 sample_mirrored(const MediumInteraction &mei, const Vector2 &u) const {
        Vector3 h = sample_visible(mei.sh_frame, u);
        return normalize(h * (2 * dot(mei.wi, h)) - mei.wi);
    }
};

} // namespace umbel
