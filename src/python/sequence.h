// python/sequence.h: arrays as sequences: length, entries, printing, conversion to Python's numbers.
#pragma once
#include "python/objects.h"

namespace umbel::python {

int array_bool(PyObject *self);
PyObject *array_int(PyObject *self);
PyObject *array_float(PyObject *self);
Py_ssize_t array_length(PyObject *self);
PyObject *array_getitem(PyObject *self, PyObject *key);
PyObject *array_item(PyObject *self, Py_ssize_t i);
int array_setitem(PyObject *self, PyObject *key, PyObject *value);
PyObject *array_iter(PyObject *self);
PyObject *array_repr(PyObject *self);
PyObject *array_getattr(PyObject *self, PyObject *name);
int array_setattr(PyObject *self, PyObject *name, PyObject *value);

PyObject *unary_op(Op op, PyObject *a); // jit_operators.cpp
/// Entry i along the first dimension; a new reference.
PyObject *get_entry(Object *o, size_t i);
void set_entry(Object *o, size_t i, PyObject *value);
/// Element `lane` as a Python number. Evaluates and waits.
PyObject *element(Value v, uint32_t lane);
/// Evaluates, and waits with the interpreter's lock released.
void evaluate_and_wait(const Value &v);

} // namespace umbel::python
