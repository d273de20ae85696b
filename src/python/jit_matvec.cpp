// python/jit_matvec.cpp: products of matrices in arrays with cooperative vectors.
#include "ad/ad.h"
#include "ad/matvec.h"
#include "python/functions.h"
#include "python/helpers.h"
#include <nanobind/stl/tuple.h>

namespace umbel::python {

namespace {

// (offset, stride, rows, columns) of a matrix; entries are of the class of the weights.
nb::list matvec(nb::handle weights, std::tuple<uint32_t, uint32_t, uint32_t, uint32_t> place,
                bool transposed, nb::handle bias_weights, uint32_t bias, nb::list x) {
    Object *w = array_of(weights);
    auto [offset, stride, rows, columns] = place;
    std::vector<Value> out = ad::matvec(
        w->v[0], { offset, stride, rows, columns, transposed },
        bias_weights.is_none() ? Value() : array_of(bias_weights)->v[0], bias, values_of(x));
    nb::list result;
    for (Value &v : out)
        result.append(map_values(w, [&](const Value &) { return v; }));
    return result;
}

} // namespace

void bind_matvec(nb::module_ &m) {
    m.def("matvec", matvec, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
          nb::arg());
    m.def("is_collecting", [] {
        context();
        return ad::collecting();
    });
}

} // namespace umbel::python
