// python/render_core.cpp: what Python uses of the renderer's ground: interfaces, spectra, quadrature, files of numbers, plugins.
#include "core/fresnel.h"
#include "core/image_ops.h"
#include "core/object.h"
#include "core/permutation.h"
#include "core/quadrature.h"
#include "core/random.h"
#include "core/spectra.h"
#include "core/tensor_file.h"
#include "core/upsampling.h"
#include "core/voxel_bytes.h"
#include "python/arrays.h"
#include "python/helpers.h"
#include "python/render.h"
#include "render/field_of_view.h"
#include "render/microfacet.h"
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {
namespace {

using Nodes = std::pair<std::vector<double>, std::vector<double>>;

template <Quadrature (*rule)(size_t)> Nodes nodes(size_t n) {
    Quadrature q = rule(n);
    return { std::move(q.nodes), std::move(q.weights) };
}

void bind_fresnel(nb::module_ &m) {
    m.def(
        "fresnel",
        [](const Float &cos_theta_i, const Float &eta) {
            FresnelResult f = fresnel(cos_theta_i, eta);
            return std::make_tuple(f.r, f.cos_theta_t, f.eta_it, f.eta_ti);
        },
        nb::arg("cos_theta_i"), nb::arg("eta"),
        "Reflectance of unpolarized light at a smooth interface of dielectrics, the cosine of the "
        "refracted direction, and the relative indices from and to the incident side");
    m.def("fresnel_conductor", [](const Float &cos_theta_i, const Float &eta, const Float &k) {
        return fresnel_conductor(cos_theta_i, eta, k);
    });
    m.def("reflect", [](const Vector3 &wi) { return reflect(wi); }, nb::arg("wi"));
    m.def(
        "reflect", [](const Vector3 &wi, const Vector3 &n) { return reflect(wi, n); },
        nb::arg("wi"), nb::arg("m"), "The direction mirrored in the z axis, or in a normal");
    m.def(
        "refract",
        [](const Vector3 &wi, const Float &cos_theta_t, const Float &eta_ti) {
            return refract(wi, cos_theta_t, eta_ti);
        },
        nb::arg("wi"), nb::arg("cos_theta_t"), nb::arg("eta_ti"));
    m.def(
        "refract",
        [](const Vector3 &wi, const Vector3 &n, const Float &cos_theta_t, const Float &eta_ti) {
            return refract(wi, n, cos_theta_t, eta_ti);
        },
        nb::arg("wi"), nb::arg("m"), nb::arg("cos_theta_t"), nb::arg("eta_ti"),
        "The refracted direction, from what fresnel() returns");
}

void bind_spectra(nb::module_ &m) {
    m.def("rgb_to_coefficients", [](const Colour3 &rgb) { return rgb_to_coefficients(rgb); });
    m.def("eval_coefficients", [](const Vector3 &c, const Float &wavelength) {
        return eval_coefficients(c, wavelength);
    });
    m.def("table_coefficients",
          [](const Vector3 &rgb) { return as_color(table_coefficients(rgb)); });
    m.def("cie1931_xyz", [](const Float &wavelength) { return as_color(cie1931_xyz(wavelength)); });
    m.def("d65", [](const Float &wavelength) { return d65(wavelength); });
    m.def("sample_wavelength", [](const Float &u) { return sample_wavelength(u); });
    m.def("sample_wavelength_pdf", [](const Float &w) { return sample_wavelength_pdf(w); });
    m.def("dielectric_ior", [](const std::string &name) { return dielectric_ior(name); });
    m.def("reflectance_to_srgb", [](nb::callable f) {
        return reflectance_to_srgb([&](double w) { return nb::cast<double>(f(w)); });
    });
    m.def("spectrum_to_xyz", [](nb::callable f) {
        return spectrum_to_xyz([&](double w) { return nb::cast<double>(f(w)); });
    });
    m.def("srgb_to_xyz_matrix", [] { return srgb_to_xyz_matrix(); });
    m.def("xyz_to_srgb_matrix", [] { return xyz_to_srgb_matrix(); });
    m.attr("cie_y_integral") = cie_y_integral();
    // A number or colour as a texture; the intent as in core/spectrum_data.h
    m.def("make_spectrum", [](double value, int intent) {
        return to_python(Loader().load_spectrum(
            SpectrumData::uniform(value, SpectrumData::Intent(intent)), Properties()));
    });
    m.def("make_colour", [](const Colour3 &rgb, int intent) {
        return to_python(Loader().load_spectrum(
            SpectrumData::from_rgb(rgb, SpectrumData::Intent(intent)), Properties()));
    });
}

void bind_microfacets(nb::module_ &m) {
    nb::class_<Microfacet>(m, "Microfacet")
        .def("__init__",
             [](Microfacet *self, const std::string &type, const Float &alpha_u,
                const Float &alpha_v, bool visible) {
                 new (self) Microfacet(microfacet_type(type), alpha_u, alpha_v, visible);
             })
        .def("eval", &Microfacet::eval, nb::arg("m"), "Density of normals per area and solid angle")
        .def("pdf", &Microfacet::pdf, nb::arg("wi"), nb::arg("m"), "Density of sample()")
        .def("smith_g1", &Microfacet::smith_g1, nb::arg("v"), nb::arg("m"),
             "Masking of a direction")
        .def("G", &Microfacet::g, nb::arg("wi"), nb::arg("wo"), nb::arg("m"), "Of two directions")
        .def("sample_visible", &Microfacet::visible)
        .def(
            "sample",
            [](const Microfacet &d, const Vector3 &wi, const Vector2 &u) {
                auto [normal, pdf] = d.sample(wi, u);
                return std::make_pair(as_normal(normal), pdf);
            },
            nb::arg("wi"), nb::arg("sample"), "(normal, density)");
}

void bind_sequences(nb::module_ &m) {
    nb::class_<RadicalInverse>(m, "RadicalInverse", "Digits of numbers, mirrored at the point")
        .def(nb::init<size_t, int>(), nb::arg("max_base"), nb::arg("scramble") = -1)
        .def("bases", &RadicalInverse::size)
        .def("base", &RadicalInverse::base, nb::arg("index"))
        .def("permutation",
             [](const RadicalInverse &r, size_t i) {
                 auto p = r.permutation(i);
                 return std::vector<uint16_t>(p.begin(), p.end());
             })
        .def("eval", &RadicalInverse::eval, nb::arg("base_index"), nb::arg("index"));
}

// (voxels along x, y and z, channels, box, numbers)
auto from_voxels(const Voxels &v) {
    std::vector<float> numbers(v.count());
    for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = float(v.number(i));
    return std::tuple(v.size, v.channels, v.box,
                      nb::bytes(numbers.data(), numbers.size() * sizeof(float)));
}

void bind_files(nb::module_ &m) {
    m.def("read_voxels", [](const std::string &path) { return from_voxels(read_voxels(path)); });
    m.def("decode_voxels", [](nb::bytes bytes, const std::string &name) {
        return from_voxels(decode_voxels({ bytes.c_str(), bytes.size() }, name));
    });
    // {name: (type, offset, shape)}
    m.def("tensor_fields", [](const std::string &path) {
        TensorFile file(path);
        std::map<size_t, std::string> in_order; // of the table of contents
        for (auto &[name, f] : file.fields())
            in_order[f.entry] = name;
        nb::dict out;
        for (auto &[entry, name] : in_order) {
            const TensorFile::Field &f = file.fields().at(name);
            out[name.c_str()] = nb::make_tuple(f.type, f.offset, f.shape);
        }
        return out;
    });
    // (begin, source, weight, weight of the constant beyond the ends); see core/image_ops.h
    m.def("resampling_taps", [](size_t from, size_t to, double radius, nb::callable f, int bc) {
        ResamplingTaps t = resampling_taps(
            from, to, { radius, [&](double x) { return nb::cast<double>(f(x)); } }, Boundary(bc));
        return std::tuple(t.begin, t.source, t.weight, t.rest);
    });
}

} // namespace

void bind_core(nb::module_ &m) {
    bind_files(m);
    // Tangent of half the angle of view along x
    m.def("half_width", [](double fov, std::string focal_length, std::string axis, double aspect) {
        FieldOfView view;
        view.fov = fov;
        view.focal_length = std::move(focal_length);
        view.axis = std::move(axis);
        return view.half_width("parse_fov", aspect);
    });
    m.def("permute", [](const UInt32 &index, const UInt32 &count, const UInt32 &key) {
        return permute(index, count, key);
    });
    bind_fresnel(m);
    bind_spectra(m);
    bind_microfacets(m);
    bind_sequences(m);
    m.def("gauss_legendre", nodes<gauss_legendre>);
    m.def("gauss_lobatto", nodes<gauss_lobatto>);
    m.def("composite_simpson", nodes<composite_simpson>);
    m.def("composite_simpson_38", nodes<composite_simpson_38>);
    m.def("chebyshev", chebyshev);
    m.def(
        "radical_inverse_2",
        [](const UInt32 &i, const UInt32 &scramble) { return radical_inverse_2(i, scramble); },
        nb::arg("index"), nb::arg("scramble"));
    m.def(
        "sobol_2", [](const UInt32 &i, const UInt32 &scramble) { return sobol_2(i, scramble); },
        nb::arg("index"), nb::arg("scramble"));
    // Kinds of the plugins of that name: "constant" is an emitter and a volume.
    m.def("plugin_kinds", [](const std::string &name) {
        PluginRegistry &registry = PluginRegistry::instance();
        registry.load_libraries();
        std::vector<std::string> kinds;
        for (const Plugin *p : registry.all())
            if (p->name == name)
                kinds.push_back(p->kind);
        return kinds;
    });
}

} // namespace umbel::python
