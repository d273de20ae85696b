// python/render_mueller.cpp: `umbel.mueller`: core/mueller.h for numbers, arrays and spectra.
//
// An argument without channels gives a 4x4 matrix of numbers, one with channels a matrix for each of them.
#include "core/device_choice.h"
#include "core/fresnel.h"
#include "core/mueller.h"
#include "python/arrays.h"
#include "python/helpers.h"
#include "python/render.h"
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <optional>

namespace umbel::python {
namespace {

/// The channels that arguments have: a spectrum has one of another number of them than the variant's, too.
class Channels {
public:
    /// 0: numbers only
    explicit Channels(std::initializer_list<nb::handle> arguments, int least = 0) : m_count(least) {
        enter();
        for (nb::handle h : arguments)
            find(h);
        std::string_view backend = variant().backend; // or cuda:1
        size_t colon = backend.find(':');
        int device = colon == backend.npos ? -1 : std::stoi(std::string(backend.substr(colon + 1)));
        for (const Variant &v : all_variants())
            if (v.backend == backend.substr(0, colon) &&
                v.double_precision == variant().double_precision && !v.polarized &&
                v.channels() == std::max(m_count, 1)) {
                m_scope.emplace(on_device(v, device));
                return;
            }
        throw nb::type_error(
            fmt::format("a spectrum has 1, 3 or 4 channels, not {}", m_count).c_str());
    }

    /// A number is the same in each channel.
    Spectrum load(nb::handle h, int width = 1) const {
        Object *a = is_array(h.ptr()) ? as_array(h.ptr()) : nullptr;
        int n = std::max(m_count, 1), entries = a && int(a->n) > width ? n : 1;
        std::vector<Value> values(size_t(width * entries));
        if (!load_values(h.ptr(), Type::Void, values.data(), int(values.size())))
            throw nb::type_error(fmt::format("a number, an array or a spectrum is needed, not '{}'",
                                             Py_TYPE(h.ptr())->tp_name)
                                     .c_str());
        Spectrum s;
        for (int i = 0; i < width; ++i)
            for (int k = 0; k < n; ++k)
                s.c.emplace_back(values[size_t(entries == 1 ? i : i * n + k)]);
        return s;
    }
    Spectrum matrix(nb::handle h) const { return load(h, 16); }

    nb::object store(const Spectrum &m) const {
        int dims[] = { 4, 4, m_count };
        Object *o = make_object(find_class(m.c[0].type(), Kind::Matrix, m_count ? 3 : 2, dims));
        nb::object result = steal(o);
        for (uint32_t i = 0; i < o->n; ++i)
            o->v[i] = m.c[i];
        return result;
    }

private:
    void find(nb::handle h) {
        if (nb::isinstance<nb::tuple>(h) || nb::isinstance<nb::list>(h)) {
            for (nb::handle part : h)
                find(part);
            return;
        }
        if (!is_array(h.ptr()))
            return;
        const Object *a = as_array(h.ptr());
        bool is_matrix = a->cls->kind == Kind::Matrix;
        if (a->cls->kind == Kind::Complex || a->cls->depth < (is_matrix ? 3 : 1))
            return;
        int n = is_matrix ? int(a->n) / 16 : int(a->n);
        if (m_count && m_count != n)
            throw nb::type_error(
                fmt::format("spectra of {} and of {} channels do not go together", m_count, n)
                    .c_str());
        m_count = n;
    }

    int m_count = 0;
    std::optional<VariantScope> m_scope;
};

/// Real and imaginary part of a number, a Complex2f, or a pair.
std::pair<nb::object, nb::object> parts(nb::handle h) {
    if (PyComplex_Check(h.ptr()))
        return { h.attr("real"), h.attr("imag") };
    bool is_complex = is_array(h.ptr()) && as_array(h.ptr())->cls->kind == Kind::Complex;
    if (is_complex || nb::isinstance<nb::tuple>(h) || nb::isinstance<nb::list>(h))
        return { nb::object(h[0]), nb::object(h[1]) };
    return { nb::borrow(h), nb::cast(0.0) };
}

using Element = Spectrum (*)(const Spectrum &);

void bind_elements(nb::module_ &m) {
    auto def = [&](const char *name, Element f, const auto &argument, const char *doc) {
        m.def(
            name,
            [f](nb::handle v) {
                Channels c({ v });
                return c.store(f(c.load(v)));
            },
            argument, doc);
    };
    def("depolarizer", mueller::depolarizer, nb::arg("value") = 1.0,
        "Makes light unpolarized and scales it.");
    def("absorber", mueller::absorber, nb::arg("value"),
        "Scales light, whatever its polarization.");
    def("linear_polarizer", mueller::linear_polarizer, nb::arg("value") = 1.0,
        "Lets through what oscillates along the frame's axis, times `value`.");
    def("linear_retarder", mueller::linear_retarder, nb::arg("phase"),
        "Delays one component against the other, by radians.");
    def("rotator", mueller::rotator, nb::arg("theta"),
        "Rotates the frame by an angle, counter-clockwise looking against the light.");
    for (bool right : { true, false })
        m.def(
            right ? "right_circular_polarizer" : "left_circular_polarizer",
            [right] {
                Channels c({});
                return c.store(mueller::circular_polarizer(right));
            },
            "Lets through light that turns to one side.");
    m.def(
        "diattenuator",
        [](nb::handle x, nb::handle y) {
            Channels c({ x, y });
            return c.store(mueller::diattenuator(c.load(x), c.load(y)));
        },
        nb::arg("x"), nb::arg("y"), "Scales the components along the axis (x) and across it (y).");
    m.def(
        "rotated_element",
        [](nb::handle theta, nb::handle element) {
            Channels c({ theta, element });
            return c.store(mueller::rotated_element(c.load(theta), c.matrix(element)));
        },
        nb::arg("theta"), nb::arg("M"), "The element turned by an angle.");
    m.def(
        "specular_reflection",
        [](const Float &cos_theta_i, nb::handle eta) {
            auto [re, im] = parts(eta);
            Channels c({ re, im });
            return c.store(mueller::specular_reflection(cos_theta_i, c.load(re), c.load(im)));
        },
        nb::arg("cos_theta_i"), nb::arg("eta"),
        "Reflection at a smooth interface of complex relative index eta; frames are perpendicular "
        "to the plane of incidence.");
    m.def(
        "specular_transmission",
        [](const Float &cos_theta_i, nb::handle eta) {
            Channels c({ eta });
            return c.store(mueller::specular_transmission(cos_theta_i, c.load(eta)));
        },
        nb::arg("cos_theta_i"), nb::arg("eta"),
        "Transmission through a smooth interface of dielectrics, without the change of solid "
        "angle.");
}

void bind_frames(nb::module_ &m) {
    m.def(
        "stokes_basis", [](const Vector3 &w) { return stokes_basis(w); }, nb::arg("w"),
        "The axis that Stokes vectors of light along w refer to.");
    for (bool spectra : { false, true })
        m.def(
            spectra ? "rotate_stokes_basis_m" : "rotate_stokes_basis",
            [spectra](const Vector3 &wi, const Vector3 &current, const Vector3 &target) {
                enter();
                Channels c({}, spectra ? variant().channels() : 0);
                return c.store(mueller::rotate_stokes_basis(wi, current, target));
            },
            nb::arg("wi"), nb::arg("basis_current"), nb::arg("basis_target"),
            "Changes the frame of light along wi from one axis to another; _m: for spectra.");
    m.def(
        "rotate_mueller_basis",
        [](nb::handle element, const Vector3 &in_forward, const Vector3 &in_current,
           const Vector3 &in_target, const Vector3 &out_forward, const Vector3 &out_current,
           const Vector3 &out_target) {
            Channels c({ element });
            return c.store(mueller::rotate_basis(c.matrix(element), in_forward, in_current,
                                                 in_target, out_forward, out_current, out_target));
        },
        nb::arg("M"), nb::arg("in_forward"), nb::arg("in_basis_current"),
        nb::arg("in_basis_target"), nb::arg("out_forward"), nb::arg("out_basis_current"),
        nb::arg("out_basis_target"), "The matrix in other frames, on both sides.");
    m.def(
        "rotate_mueller_basis_collinear",
        [](nb::handle element, const Vector3 &w, const Vector3 &current, const Vector3 &target) {
            Channels c({ element });
            return c.store(
                mueller::rotate_basis(c.matrix(element), w, current, target, w, current, target));
        },
        nb::arg("M"), nb::arg("forward"), nb::arg("basis_current"), nb::arg("basis_target"),
        "The same where light goes straight on.");
}

} // namespace

void bind_mueller(nb::module_ &m) {
    nb::module_ mueller = m.def_submodule(
        "mueller", "Mueller matrices of optical elements, and the frames that they refer to");
    bind_elements(mueller);
    bind_frames(mueller);
    m.def("fresnel_polarized", [](const Float &cos_theta_i, nb::handle eta) {
        enter();
        auto [re, im] = parts(eta);
        auto f = fresnel_polarized(cos_theta_i, nb::cast<Float>(re), nb::cast<Float>(im));
        auto pair = [](const Complex &c) { return std::make_pair(c.re, c.im); };
        return std::make_tuple(pair(f.a_s), pair(f.a_p), f.cos_theta_t, pair(f.eta_it),
                               pair(f.eta_ti));
    });
}

} // namespace umbel::python
