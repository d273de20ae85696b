// python/jit_places.cpp: which line of a script is being executed, for the checking mode.
#include "jit/place.h"
#include "python/functions.h"
#include "python/objects.h"
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace umbel::python {

namespace {
std::string g_package; // its folder: lines in it are not the user's

nb::object attribute(nb::handle o, const char *name) {
    PyObject *value = PyObject_GetAttrString(o.ptr(), name);
    if (!value)
        PyErr_Clear();
    return nb::steal(value);
}
} // namespace

// The innermost line outside of this package. Python's own interpreter does not run meanwhile, nor do other threads.
std::string line_of_script() {
    if (!PyGILState_Check())
        return "";
    nb::object frame = nb::borrow(reinterpret_cast<PyObject *>(PyEval_GetFrame()));
    while (frame.is_valid()) {
        auto *f = reinterpret_cast<PyFrameObject *>(frame.ptr());
        nb::object code = nb::steal(reinterpret_cast<PyObject *>(PyFrame_GetCode(f)));
        nb::object name = attribute(code, "co_filename");
        const char *file = name.is_valid() ? PyUnicode_AsUTF8(name.ptr()) : nullptr;
        if (!file)
            PyErr_Clear();
        else if (!std::string_view(file).starts_with(g_package))
            return fmt::format("{}:{}", file, PyFrame_GetLineNumber(f));
        frame = nb::steal(reinterpret_cast<PyObject *>(PyFrame_GetBack(f)));
    }
    return "";
}

void name_lines_of_scripts(const char *package) {
    g_package = package;
    jit::set_find_place(line_of_script);
}

} // namespace umbel::python
