// python/render_module.cpp: what the renderer offers to Python.
#include "python/render.h"

namespace umbel::python {

void bind_render(nb::module_ &m) {
    bind_objects(m);
    bind_media(m);
    bind_loading(m);
    bind_nodes(m);
    bind_params(m);
    bind_scene(m);
    bind_plugins(m);
    bind_bitmap(m);
    bind_warp(m);
    bind_mueller(m);
    bind_core(m);
    bind_distributions(m);
    bind_state(m);
    bind_blocks(m);
}

} // namespace umbel::python
