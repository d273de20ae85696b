// python/jit_matvec.cpp: products of matrices in arrays, with cooperative vectors and with one another.
#include "ad/ad.h"
#include "ad/matvec.h"
#include "jit/gemm.h"
#include "python/functions.h"
#include "python/helpers.h"
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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

// Of flat arrays without derivatives; (n, k, m), and where the matrices of each product begin.
nb::object gemm(nb::handle a, nb::handle b, std::tuple<uint32_t, uint32_t, uint32_t> shape, bool at,
                bool bt, std::vector<std::pair<uint64_t, uint64_t>> batches) {
    Object *x = array_of(a), *y = array_of(b);
    auto [n, k, m] = shape;
    Value c = jit::gemm(x->v[0].detached(), y->v[0].detached(), { n, k, m, at, bt, batches });
    return map_values(x, [&](const Value &) { return c; });
}

} // namespace

void bind_matvec(nb::module_ &m) {
    m.def("matvec", matvec, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
          nb::arg());
    m.def("gemm", gemm);
    m.def("is_collecting", [] {
        context();
        return ad::collecting();
    });
}

} // namespace umbel::python
