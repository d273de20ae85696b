// python/render.h: the renderer's part of `umbel._core`.
#pragma once
#include <nanobind/nanobind.h>

namespace umbel::python {

void bind_render(nanobind::module_ &m); // render_module.cpp
void bind_bitmap(nanobind::module_ &m); // render_bitmap.cpp
void bind_warp(nanobind::module_ &m);   // render_warp.cpp
void bind_core(nanobind::module_ &m);   // render_core.cpp

} // namespace umbel::python
