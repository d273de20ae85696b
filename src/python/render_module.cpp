// python/render_module.cpp: what the renderer offers to Python.
#include "python/render.h"

namespace umbel::python {

void bind_render(nanobind::module_ &m) {
    bind_bitmap(m);
    bind_warp(m);
    bind_core(m);
}

} // namespace umbel::python
