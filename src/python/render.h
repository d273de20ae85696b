// python/render.h: the renderer's part of `umbel._core`.
#pragma once
#include <nanobind/nanobind.h>

namespace umbel::python {

void bind_render(nanobind::module_ &m); // render_module.cpp

} // namespace umbel::python
