// rb: radiative backpropagation [Nimier-David 2020]: what `path` is, with paths of 6 segments at most unless told otherwise, and
// a derivative that is light transport of its own.
//
// Cameras send out the derivative of the loss by each pixel, which scatters as light does. Where it meets a surface, the derivative of
// that surface's scattering is weighted by the light that arrives there:
//
//     dL(x, w) = dLe(x, w) + int dL(x, w') f(w, w') + L(x, w') df(w, w') dw'
//
// L(x, w') is estimated by a path of its own from each vertex, so that time grows with the square of a path's length; memory does not
// grow at all. `prb` finds the same derivative in linear time, and is what to use; this is here to compare with, and for its
// cheaper relatives, which are **biased**:
//
// | setting | what it leaves out |
// | --- | --- |
// | `incident_depth` 0 | what arrives is taken to be 1 from everywhere ("biased I" of the paper). Derivatives by materials have the right sign and the wrong size; those by lights are right |
// | `incident_depth` k | what arrives after more than k segments |
// | `adjoint_depth` k | vertices after the k-th are not differentiated; 1: what the camera sees alone, as lit by all light there is |
#include "render/path_tracer.h"

namespace umbel {

class Rb final : public PathTracer {
public:
    Rb() : PathTracer(6, false, PathDerivative::Radiative) {}

    void declare(Params &p) override {
        PathTracer::declare(p);
        p.integer("incident_depth", m_incident_depth, -1, -1)
            .doc("Derivatives only: longest path in segments that tells what arrives at a vertex; "
                 "-1: as `max_depth` allows. Biased otherwise; 0: 1 arrives from everywhere");
        p.integer("adjoint_depth", m_adjoint_depth, -1, -1)
            .doc("Derivatives only: so many vertices of a path are differentiated; -1: all. "
                 "Biased otherwise");
        if ((p.loading() || p.assigning()) && m_adjoint_depth == 0)
            fail("{}: with adjoint_depth 0 nothing is differentiated; 1 is the least",
                 p.properties()->describe());
    }
};

UMBEL_PLUGIN(Integrator, Rb, "rb")
} // namespace umbel
