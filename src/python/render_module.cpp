// python/render_module.cpp: what the renderer offers to Python.
#include "python/render.h"

namespace umbel::python {

void bind_render(nanobind::module_ &) {}

} // namespace umbel::python
