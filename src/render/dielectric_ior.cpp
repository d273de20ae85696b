// render/dielectric_ior.cpp: indices of dielectrics.
#include "render/dielectric_ior.h"
#include "core/spectra.h"

namespace umbel {

double read_ior(const Properties &p, const char *name, const char *otherwise) {
    const Property *v = p.query(name);
    if (!v)
        return dielectric_ior(otherwise);
    double value = 0;
    if (auto *text = std::get_if<std::string>(&v->value)) {
        try {
            value = dielectric_ior(*text);
        } catch (const UserError &e) {
            p.fail_at(*v, e.what());
        }
    } else
        value = p.get<double>(name);
    if (!(value > 0))
        p.fail_at(*v, fmt::format("{} is {}; an index of refraction is positive", name, value));
    return value;
}

void DielectricIor::declare(Params &p, const char *int_default, const char *ext_default) {
    std::string text; // for the manual only
    if (p.loading()) {
        interior = read_ior(*p.properties(), "int_ior", int_default);
        exterior = read_ior(*p.properties(), "ext_ior", ext_default);
        eta = opaque_float(interior / exterior);
        return;
    }
    if (p.traversing()) {
        p.exposed("eta", &eta).differentiable();
        return;
    }
    p.string("int_ior", text, int_default)
        .doc("Index of refraction inside, as a number or a material's name");
    p.string("ext_ior", text, ext_default).doc("Index of refraction outside, likewise");
}

} // namespace umbel
