// prb_projective: path replay, with what comes into sight where shapes or the camera move [Zhang 2023].
//
// Images are those of `prb`. Derivatives by vertices of meshes, control points of curves, the grid of `sdfgrid` and by to_world of
// these, of spheres, cylinders, disks, rectangles and cameras also count silhouettes: those that the camera sees, and those that block light on its way, such as the
// edges of shadows. They are unbiased, but for what is seen in mirrors or through glass, whose silhouettes are taken to stand
// still, for lines along which two surfaces intersect, and for normals that bump and normal maps bend. Where interpolated normals of a mesh
// turn away before it ends counts, too. What hides a silhouette from the camera does so entirely, also through
// `mask` or `null`, and before `near_clip`. Instances count with what their groups hold. `sppc`, `sppp` and
// `sppi` are samples a pixel for the three parts; 0 leaves one out, which makes the derivative biased. Other shapes that are
// followed are an error, and so are those that a followed camera sees; what they hide from others is missed, with a warning.
#include "render/projective.h"

namespace umbel {

class PrbProjective final : public ProjectiveTracer {
public:
    PrbProjective() : ProjectiveTracer(6) {}
};

UMBEL_PLUGIN(Integrator, PrbProjective, "prb_projective")
} // namespace umbel
