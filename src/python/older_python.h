// python/older_python.h: what Python 3.9 lacks of CPython's interface.
#pragma once
#include <Python.h>

#if PY_VERSION_HEX < 0x030A0000
inline PyObject *Py_NewRef(PyObject *o) {
    Py_INCREF(o);
    return o;
}

inline int PyModule_AddObjectRef(PyObject *module, const char *name, PyObject *value) {
    Py_XINCREF(value);
    int failed = PyModule_AddObject(module, name, value);
    if (failed)
        Py_XDECREF(value);
    return failed;
}
#endif
