// python/module.cpp: `umbel._core`, the compiled part of the Python package.
#include "core/printable.h"
#include "jit/error.h"
#include "python/functions.h"
#include "python/objects.h"
#include "python/render.h"
#include "python/waiting.h"
#include <nanobind/stl/string.h>

namespace nb = nanobind;

NB_MODULE(_core, m) {
    using namespace umbel::python;
    nb::register_exception_translator([](const std::exception_ptr &p, void *) {
        try {
            std::rethrow_exception(p);
        } catch (const PythonError &) {
        } catch (const umbel::UserError &e) {
            set_user_error(e);
        } catch (const umbel::DeviceError &e) {
            PyErr_SetString(hook("DeviceError"), umbel::printable(e.what()).c_str());
        } catch (const umbel::InternalError &e) {
            PyErr_SetString(hook("InternalError"), e.what());
        } catch (const std::bad_cast &) { // nanobind's, which says no more
            PyErr_SetString(PyExc_TypeError, "an argument, or what a method written in Python "
                                             "returns, has a type or size that is not taken here");
        }
    });
    m.def("set_hooks", set_hooks);
    m.def("name_lines_of_scripts", name_lines_of_scripts);
    m.def("line_of_script", line_of_script);
    hear_interrupts();
    make_classes(m.ptr());
    add_functions(m.ptr());
    bind_arrays(m);
    bind_memory(m);
    bind_gradients(m);
    bind_control(m);
    bind_matvec(m);
    bind_introspection(m);
    bind_render(m);
    bind_freeze(m);
}
