// python/render_warp.cpp: `umbel.warp`: every mapping of core/warp.h under its own name.
#include "core/warp.h"
#include "python/arrays.h"
#include "python/helpers.h"
#include "python/render.h"
#include <nanobind/stl/pair.h>

namespace umbel::python {
namespace {

// Positions of a plane are points; in space there are directions only.
PyPoint2 result(Vector2 v) { return as_point(std::move(v)); }
Vector3 result(Vector3 v) { return v; }
Float result(Float v) { return v; }
std::pair<PyPoint2, Float> result(std::pair<Vector2, Float> v) {
    return { as_point(std::move(v.first)), std::move(v.second) };
}

struct Binder {
    nb::module_ &m;
    template <class R, class... A, class... N>
    void operator()(const char *name, R (*f)(A...), N... names) {
        m.def(
            name,
            [f](const std::decay_t<A> &...a) {
                enter();
                return result(f(a...));
            },
            nb::arg(names)...);
    }
};

void bind_plane(Binder def) {
    def("square_to_uniform_disk", square_to_uniform_disk, "sample");
    def("uniform_disk_to_square", uniform_disk_to_square, "p");
    def("square_to_uniform_disk_pdf", square_to_uniform_disk_pdf, "p");
    def("square_to_uniform_disk_concentric", square_to_uniform_disk_concentric, "sample");
    def("uniform_disk_to_square_concentric", uniform_disk_to_square_concentric, "p");
    def("square_to_uniform_disk_concentric_pdf", square_to_uniform_disk_concentric_pdf, "p");
    def("square_to_uniform_square_concentric", square_to_uniform_square_concentric, "sample");
    def("square_to_uniform_triangle", square_to_uniform_triangle, "sample");
    def("uniform_triangle_to_square", uniform_triangle_to_square, "p");
    def("square_to_uniform_triangle_pdf", square_to_uniform_triangle_pdf, "p");
    def("interval_to_tent", interval_to_tent, "sample");
    def("tent_to_interval", tent_to_interval, "value");
    def("interval_to_tent_pdf", interval_to_tent_pdf, "value");
    def("square_to_tent", square_to_tent, "sample");
    def("tent_to_square", tent_to_square, "value");
    def("square_to_tent_pdf", square_to_tent_pdf, "v");
    def("interval_to_nonuniform_tent", interval_to_nonuniform_tent, "a", "b", "c", "d");
    def("interval_to_nonuniform_tent_pdf", interval_to_nonuniform_tent_pdf, "a", "b", "c", "x");
    def("interval_to_linear", interval_to_linear, "v0", "v1", "sample");
    def("linear_to_interval", linear_to_interval, "v0", "v1", "sample");
    def("interval_to_linear_pdf", interval_to_linear_pdf, "v0", "v1", "x");
    def("square_to_bilinear", square_to_bilinear, "v00", "v10", "v01", "v11", "sample");
    def("bilinear_to_square", bilinear_to_square, "v00", "v10", "v01", "v11", "sample");
    def("square_to_bilinear_pdf", square_to_bilinear_pdf, "v00", "v10", "v01", "v11", "sample");
    def("square_to_std_normal", square_to_std_normal, "v");
    def("std_normal_to_square", std_normal_to_square, "p");
    def("square_to_std_normal_pdf", square_to_std_normal_pdf, "v");
}

void bind_directions(Binder def) {
    def("square_to_uniform_sphere", square_to_uniform_sphere, "sample");
    def("uniform_sphere_to_square", uniform_sphere_to_square, "sample");
    def("square_to_uniform_sphere_pdf", square_to_uniform_sphere_pdf, "v");
    def("square_to_uniform_hemisphere", square_to_uniform_hemisphere, "sample");
    def("uniform_hemisphere_to_square", uniform_hemisphere_to_square, "v");
    def("square_to_uniform_hemisphere_pdf", square_to_uniform_hemisphere_pdf, "v");
    def("square_to_cosine_hemisphere", square_to_cosine_hemisphere, "sample");
    def("cosine_hemisphere_to_square", cosine_hemisphere_to_square, "v");
    def("square_to_cosine_hemisphere_pdf", square_to_cosine_hemisphere_pdf, "v");
    def("square_to_uniform_cone", square_to_uniform_cone, "v", "cos_cutoff");
    def("uniform_cone_to_square", uniform_cone_to_square, "v", "cos_cutoff");
    def("square_to_uniform_cone_pdf", square_to_uniform_cone_pdf, "v", "cos_cutoff");
    def("square_to_uniform_spherical_lune", square_to_uniform_spherical_lune, "sample", "n1", "n2");
    def("uniform_spherical_lune_to_square", uniform_spherical_lune_to_square, "d", "n1", "n2");
    def("square_to_uniform_spherical_lune_pdf", square_to_uniform_spherical_lune_pdf, "d", "n1",
        "n2");
    def("interval_to_tangent_direction", interval_to_tangent_direction, "n", "sample");
    def("tangent_direction_to_interval", tangent_direction_to_interval, "n", "dir");
}

void bind_lobes(Binder def) {
    def("square_to_beckmann", square_to_beckmann, "sample", "alpha");
    def("beckmann_to_square", beckmann_to_square, "v", "alpha");
    def("square_to_beckmann_pdf", square_to_beckmann_pdf, "v", "alpha");
    def("square_to_ggx", square_to_ggx, "sample", "alpha");
    def("ggx_to_square", ggx_to_square, "v", "alpha");
    def("square_to_ggx_pdf", square_to_ggx_pdf, "v", "alpha");
    def("square_to_ggx_visible", square_to_ggx_visible, "sample", "wi", "alpha_u", "alpha_v");
    def("square_to_ggx_visible_pdf", square_to_ggx_visible_pdf, "v", "wi", "alpha_u", "alpha_v");
    def("square_to_von_mises_fisher", square_to_von_mises_fisher, "sample", "kappa");
    def("von_mises_fisher_to_square", von_mises_fisher_to_square, "v", "kappa");
    def("square_to_von_mises_fisher_pdf", square_to_von_mises_fisher_pdf, "v", "kappa");
    def("square_to_hg", square_to_hg, "sample", "g");
    def("hg_to_square", hg_to_square, "v", "g");
    def("square_to_hg_pdf", square_to_hg_pdf, "v", "g");
    def("square_to_rough_fiber", square_to_rough_fiber, "sample", "wi", "tangent", "kappa");
    def("square_to_rough_fiber_pdf", square_to_rough_fiber_pdf, "v", "wi", "tangent", "kappa");
}

} // namespace

void bind_warp(nb::module_ &m) {
    nb::module_ warp = m.def_submodule(
        "warp", "Mappings from the unit square to other domains, their densities and inverses");
    bind_plane({ warp });
    bind_directions({ warp });
    bind_lobes({ warp });
}

} // namespace umbel::python
