// python/functions.h: the parts of the module `umbel._core`; each function adds one.
#pragma once
#include <nanobind/nanobind.h>
#include <Python.h>

namespace umbel {
struct UserError;
}

namespace umbel::python {

void set_user_error(const UserError &e); // jit_context.cpp; as Python's error

void add_functions(PyObject *module);            // jit_functions.cpp
void bind_arrays(nanobind::module_ &m);          // jit_arrays.cpp
void bind_memory(nanobind::module_ &m);          // jit_memory.cpp
void bind_gradients(nanobind::module_ &m);       // jit_gradients.cpp
void bind_control(nanobind::module_ &m);         // jit_control.cpp
void bind_matvec(nanobind::module_ &m);          // jit_matvec.cpp
void bind_introspection(nanobind::module_ &m);   // jit_introspection.cpp
void bind_freeze(nanobind::module_ &m);          // freeze.cpp
void set_hooks(nanobind::dict hooks);            // jit_context.cpp
void name_lines_of_scripts(const char *package); // jit_places.cpp; all but those in its folder
std::string line_of_script();                    // that is being executed: file:line

} // namespace umbel::python
