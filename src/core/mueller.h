// core/mueller.h: polarized light: Mueller matrices of optical elements, and the frames they refer to.
//
// A Stokes vector belongs to a direction of travel and to an axis perpendicular to it. Every direction has an implied axis,
// stokes_basis(); matrices of two directions that refer to other axes are rotated to those.
#pragma once
#include "core/spectrum.h"

namespace umbel {

/// The axis that Stokes vectors of light travelling along `forward` refer to.
Vector3 stokes_basis(const Vector3 &forward);

/// Entries are plain spectra.
namespace mueller {

/// Makes light unpolarized and scales it.
Spectrum depolarizer(const Spectrum &value);
/// Scales light, whatever its polarization.
Spectrum absorber(const Spectrum &value);
/// Scales the components along the axis (x) and across it (y).
Spectrum diattenuator(const Spectrum &x, const Spectrum &y);
/// Lets through light that turns to the right, or to the left.
Spectrum circular_polarizer(bool right);
/// Lets through what oscillates along the frame's axis, times `value`.
Spectrum linear_polarizer(const Spectrum &value);
/// Delays one component against the other by a phase in radians.
Spectrum linear_retarder(const Spectrum &phase);
/// Rotates the frame by an angle, counter-clockwise looking against the light.
Spectrum rotator(const Spectrum &theta);
/// The element turned by an angle.
Spectrum rotated_element(const Spectrum &theta, const Spectrum &m);

/// Reflection at a smooth interface of relative index eta + i k; frames perpendicular to the plane of incidence. The sign of
/// cos_theta_i tells the side.
Spectrum specular_reflection(const Float &cos_theta_i, const Spectrum &eta, const Spectrum &k);
/// Transmission through the same, without the change of solid angle.
Spectrum specular_transmission(const Float &cos_theta_i, const Spectrum &eta);

/// Rotates the frame of light that goes along `forward` from one axis to another.
Spectrum rotate_stokes_basis(const Vector3 &forward, const Vector3 &current, const Vector3 &target);
/// The matrix in other frames, on both sides.
Spectrum rotate_basis(const Spectrum &m, const Vector3 &in_forward, const Vector3 &in_current,
                      const Vector3 &in_target, const Vector3 &out_forward,
                      const Vector3 &out_current, const Vector3 &out_target);

} // namespace mueller
} // namespace umbel
