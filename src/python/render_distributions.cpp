// python/render_distributions.cpp: distributions given by tables.
#include "core/distribution.h"
#include "core/distribution_tools.h"
#include "core/parametric_table.h"
#include "python/arrays.h"
#include "python/helpers.h"
#include "python/render.h"
#include "render/texel_distribution.h"
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {
namespace {

/// A table of a distribution. The array itself is kept: scripts follow the derivatives of what they get, and loops
/// change it in place.
class Table {
public:
    Table() = default;
    Table(nb::handle h) {
        enter();
        m_array = steal(convert(scalar_class(variant().float_type()), h.ptr()));
    }
    Table(const Float &v) : m_array(nb::cast(v)) {}

    operator Float() const { return size() ? nb::cast<Float>(m_array) : Float(); }
    size_t size() const { return m_array.is_valid() ? nb::len(m_array) : 0; }
    nb::object array() const { return m_array.is_valid() ? m_array : nb::cast(Float()); }
    std::string text() const { return nb::cast<std::string>(nb::str(array())); }

private:
    nb::object m_array;
};

void need_update(bool fit) {
    if (!fit)
        fail("the tables of this distribution do not fit; call update() after changing them");
}

struct Discrete {
    Table pmf, cdf;
    size_t size() const { return pmf.size(); }
    DiscreteDistribution get() const {
        need_update(size() > 0 && size() == cdf.size());
        return DiscreteDistribution({ pmf, cdf });
    }
    void update() {
        DiscreteDistribution d{ Float(pmf) };
        cdf = d.tables().cdf;
    }
};

struct Linear {
    std::array<double, 2> range = { 0, 0 };
    Table nodes, pdf, cdf;
    size_t size() const { return pdf.size(); }
    ContinuousDistribution get() const {
        need_update(size() > 1 && size() == cdf.size() + 1 &&
                    (nodes.size() == 0 || size() == nodes.size()));
        return ContinuousDistribution({ range[0], range[1], nodes, pdf, cdf });
    }
    void set(const ContinuousDistribution &d) {
        range = { d.tables().low, d.tables().high };
        cdf = d.tables().cdf;
    }
};
struct Continuous : Linear {
    void update() { set(ContinuousDistribution(range[0], range[1], Float(pdf))); }
};
struct Irregular : Linear {
    void update() { set(ContinuousDistribution(Float(nodes), Float(pdf))); }
};

// ---- what all of them have

template <class T>
void bind_table(nb::class_<T> &c, const char *name, std::type_identity_t<Table T::*> table) {
    c.def_prop_rw(
        name, [table](const T &d) { return (d.*table).array(); },
        [table](T &d, nb::handle h) { d.*table = Table(h); });
}

/// A function of the core's class, of positions or indices.
template <class T, class C, class X>
void bind_query(nb::class_<T> &c, const char *name, Float (C::*f)(const X &, const Mask &) const,
                const char *argument, const char *doc) {
    c.def(
        name, [f](const T &d, const X &x, const Mask &active) { return (d.get().*f)(x, active); },
        nb::arg(argument), nb::arg("active") = true, doc);
}

/// Tables by which structures of arrays are walked through, and what does not depend on the kind.
template <class T, class... Names> void bind_common(nb::class_<T> &c, Names... fields) {
    c.def(nb::init<>())
        .def(nb::init<const T &>(), nb::arg("other"))
        .def("_umbel_copy", [](const T &d) { return d; })
        .def("update", &T::update, "Computes what depends on the tables that were changed")
        .def("size", &T::size)
        .def("empty", [](const T &d) { return d.size() == 0; })
        .def("__len__", &T::size);
    c.def_prop_ro_static("DRJIT_STRUCT", [fields...](nb::handle) {
        enter();
        nb::handle type(reinterpret_cast<PyObject *>(scalar_class(variant().float_type())->py));
        nb::dict out;
        ((out[fields] = type), ...);
        return out;
    });
}

// ---- an index

void bind_discrete(nb::module_ &m) {
    using D = DiscreteDistribution;
    nb::class_<Discrete> c(m, "DiscreteDistribution",
                           "An index, with a probability proportional to its entry of `pmf`");
    bind_common(c, "pmf", "cdf");
    c.def(
        "__init__",
        [](Discrete *self, nb::handle pmf) {
            Discrete d{ pmf, {} };
            d.update();
            new (self) Discrete(std::move(d));
        },
        nb::arg("pmf"));
    bind_table(c, "pmf", &Discrete::pmf);
    bind_table(c, "cdf", &Discrete::cdf);
    c.def("sum", [](const Discrete &d) {
         return d.get().sum();
     }).def("normalization", [](const Discrete &d) { return rcp(d.get().sum()); });
    bind_query(c, "eval_pmf", &D::eval_pmf, "index", "The entry, as given");
    bind_query(c, "eval_pmf_normalized", &D::eval_pmf_normalized, "index", "Its probability");
    bind_query(c, "eval_cdf", &D::eval_cdf, "index", "The sum of entries up to this one");
    bind_query(c, "eval_cdf_normalized", &D::eval_cdf_normalized, "index",
               "The probability of them");

    auto sample = [&](const char *name, auto pick, const char *doc) {
        c.def(
            name,
            [pick](const Discrete &d, const Float &u, const Mask &active) {
                return pick(d.get().sample_reuse(u, active));
            },
            nb::arg("value"), nb::arg("active") = true, doc);
    };
    sample(
        "sample", [](const D::Reused &s) { return s.index; }, "The index for a number in [0, 1)");
    sample(
        "sample_pmf", [](const D::Reused &s) { return std::pair(s.index, s.pmf); },
        "(index, its probability)");
    sample(
        "sample_reuse", [](const D::Reused &s) { return std::pair(s.index, s.u); },
        "(index, a number in [0, 1) made of what is left of the given one)");
    sample(
        "sample_reuse_pmf", [](const D::Reused &s) { return std::tuple(s.index, s.u, s.pmf); },
        "(index, number, probability)");
    c.def("__repr__", [](const Discrete &d) {
        std::string sum = d.cdf.size() ? Table(d.get().sum()).text() : "[]";
        return fmt::format("DiscreteDistribution[\n  size = {},\n  sum = {},\n  pmf = {}\n]",
                           d.size(), sum, d.pmf.text());
    });
}

// ---- a position

template <class T> void bind_linear(nb::class_<T> &c) {
    using D = ContinuousDistribution;
    bind_table(c, "pdf", &T::pdf);
    bind_table(c, "cdf", &T::cdf);
    c.def("integral", [](const T &d) { return d.get().integral(); })
        .def("normalization", [](const T &d) { return rcp(d.get().integral()); })
        .def(
            "max", [](const T &d) { return d.get().max(); }, "The largest entry")
        .def(
            "interval_resolution", [](const T &d) { return d.get().interval_resolution(); },
            "The least distance of positions");
    bind_query(c, "eval_pdf", &D::eval_pdf, "x", "The entries' interpolation at x, as given");
    bind_query(c, "eval_pdf_normalized", &D::eval_pdf_normalized, "x", "The density at x");
    bind_query(c, "eval_cdf", &D::eval_cdf, "x", "The integral of the entries up to x");
    bind_query(c, "eval_cdf_normalized", &D::eval_cdf_normalized, "x", "The probability up to x");
    c.def(
        "sample",
        [](const T &d, const Float &u, const Mask &active) { return d.get().sample(u, active).x; },
        nb::arg("value"), nb::arg("active") = true, "The position for a number in [0, 1)");
    c.def(
        "sample_pdf",
        [](const T &d, const Float &u, const Mask &active) {
            D::Sample s = d.get().sample(u, active);
            return std::pair(s.x, s.pdf);
        },
        nb::arg("value"), nb::arg("active") = true, "(position, density)");
}

void bind_continuous(nb::module_ &m) {
    nb::class_<Continuous> c(m, "ContinuousDistribution",
                             "A density through values at equal distances over a range");
    bind_common(c, "pdf", "cdf");
    c.def(
        "__init__",
        [](Continuous *self, std::array<double, 2> range, nb::handle pdf) {
            Continuous d{ { range, {}, pdf, {} } };
            d.update();
            new (self) Continuous(std::move(d));
        },
        nb::arg("range"), nb::arg("pdf"));
    c.def_rw("range", &Continuous::range);
    bind_linear(c);
    c.def("__repr__", [](const Continuous &d) {
        return fmt::format(
            "ContinuousDistribution[\n  size = {},\n  range = [{}, {}],\n  pdf = {}\n]", d.size(),
            d.range[0], d.range[1], d.pdf.text());
    });
}

void bind_irregular(nb::module_ &m) {
    nb::class_<Irregular> c(m, "IrregularContinuousDistribution",
                            "A density through values at given positions, which increase");
    bind_common(c, "nodes", "pdf", "cdf");
    c.def(
        "__init__",
        [](Irregular *self, nb::handle nodes, nb::handle pdf) {
            Irregular d{ { {}, nodes, pdf, {} } };
            d.update();
            new (self) Irregular(std::move(d));
        },
        nb::arg("nodes"), nb::arg("pdf"));
    c.def_ro("range", &Irregular::range);
    bind_table(c, "nodes", &Irregular::nodes);
    bind_linear(c);
    c.def("__repr__", [](const Irregular &d) {
        return fmt::format(
            "IrregularContinuousDistribution[\n  size = {},\n  nodes = {},\n  pdf = {}\n]",
            d.size(), d.nodes.text(), d.pdf.text());
    });
}

// ---- a cell

struct Cell {
    UInt32 x, y;
    explicit Cell(nb::handle h) {
        Value v[2];
        if (!load_values(h.ptr(), Type::U32, v, 2))
            throw nb::type_error("a cell is a column and a row: Point2u");
        x = UInt32(v[0]);
        y = UInt32(v[1]);
    }
};

TexelDistribution texels(nb::handle data) {
    enter();
    nb::object tensor = steal(convert(tensor_class(variant().float_type()), data.ptr()));
    const TensorObject *t = as_tensor(as_array(tensor.ptr()));
    const std::vector<size_t> &shape = t->shape;
    if (shape.size() != 2 && !(shape.size() == 3 && shape[2] == 1))
        fail("DiscreteDistribution2D: an array of {} dimensions; it must be one of rows",
             shape.size());
    if (shape[0] == 0 || shape[1] == 0)
        fail("DiscreteDistribution2D: a table of {} rows and {} columns has no cells to choose "
             "from; give it at least one",
             shape[0], shape[1]);
    return TexelDistribution(read_floats(Float(t->v[0].detached())), shape[1], shape[0]);
}

void bind_cells(nb::module_ &m) {
    using D = TexelDistribution;
    nb::class_<D>(m, "DiscreteDistribution2D",
                  "A cell of a table, with a probability proportional to its entry")
        .def(
            "__init__", [](D *self, nb::handle data) { new (self) D(texels(data)); },
            nb::arg("data"))
        .def(
            "eval",
            [](const D &d, nb::handle pos, const Mask &active) {
                Cell cell(pos);
                return d.probability(cell.x, cell.y, active) * d.sum();
            },
            nb::arg("pos"), nb::arg("active") = true, "The entry of a cell, [column, row]")
        .def(
            "pdf",
            [](const D &d, nb::handle pos, const Mask &active) {
                Cell cell(pos);
                return d.probability(cell.x, cell.y, active);
            },
            nb::arg("pos"), nb::arg("active") = true, "The probability of a cell")
        .def(
            "sample",
            [](const D &d, const Vector2 &u, const Mask &active) {
                D::Sample s = d.sample(u, active);
                Value cell[2] = { s.x, s.y };
                return std::tuple(steal(store_values(cell, 2, Sense::Point)),
                                  d.probability(s.x, s.y, active), as_point(s.rest));
            },
            nb::arg("sample"), nb::arg("active") = true,
            "(cell, probability, numbers in [0, 1) made of what is left of the given ones)");
}

// ---- tables with parameters

void bind_grids(nb::module_ &m) {
    using G = ParametricGrid2D;
    auto result = [](const G::Sample &s) { return std::pair(as_point(s.p), s.pdf); };
    nb::class_<G>(m, "ParametricGrid2D")
        .def("__init__",
             [](G *self, nb::handle table, const std::vector<std::vector<double>> &axes,
                bool normalize) {
                 enter();
                 nb::object tensor = steal(convert(tensor_class(Type::F64), table.ptr()));
                 const TensorObject *t = as_tensor(as_array(tensor.ptr()));
                 check(t->shape.size() == 2 + axes.size());
                 new (self) G(read_floats(Float(t->v[0].detached())), t->shape.end()[-1],
                              t->shape.end()[-2], axes, true, !normalize);
             })
        .def("eval", [](const G &g, const Vector2 &p, const std::vector<Float> &parameters,
                        const Mask &active) { return g.eval(p, parameters, active); })
        .def("sample",
             [result](const G &g, const Vector2 &u, const std::vector<Float> &parameters,
                      const Mask &active) { return result(g.sample(u, parameters, active)); })
        .def("invert",
             [result](const G &g, const Vector2 &p, const std::vector<Float> &parameters,
                      const Mask &active) { return result(g.invert(p, parameters, active)); });
}

} // namespace

void bind_distributions(nb::module_ &m) {
    bind_discrete(m);
    bind_continuous(m);
    bind_irregular(m);
    bind_cells(m);
    bind_grids(m);
    m.def("sample_linear", [](const Float &f0, const Float &f1, const Float &t) {
        return sample_linear(f0, f1, t);
    });
}

} // namespace umbel::python
