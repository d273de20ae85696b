// render/conductor_ior.cpp: presets of conductors.
#include "render/conductor_ior.h"
#include "core/spectra.h"
#include "render/dielectric_ior.h"

namespace umbel {

namespace {

SpectrumData table(const ConductorData &c, bool k) {
    SpectrumData d;
    d.kind = SpectrumData::Kind::Tabulated;
    // The renderer's whole range: beyond the measurement its ends go on
    for (double w : { MinWavelength, MaxWavelength }) {
        if (w == MaxWavelength)
            for (const ConductorSample &s : c.samples)
                if (s.wavelength > MinWavelength && s.wavelength < MaxWavelength) {
                    d.wavelengths.push_back(s.wavelength);
                    d.values.push_back(k ? s.k : s.eta);
                }
        d.wavelengths.push_back(w);
        d.values.push_back(k ? c.at(w).k : c.at(w).eta);
    }
    return d;
}

} // namespace

void ConductorIor::declare(Params &p) {
    p.string("material", material, "none").doc("A preset such as Au; none: a perfect mirror");
    p.unbounded_texture("eta", eta).doc("Real part of the index, in place of `material`'s");
    p.unbounded_texture("k", k).doc("Imaginary part of the index, in place of `material`'s");
    std::string none; // for the manual only
    if (p.traversing() && ext_eta)
        p.exposed("ext_eta", &*ext_eta).differentiable();
    else if (!p.loading() && !p.traversing())
        p.string("ext_eta", none, "vacuum")
            .doc("Index of the dielectric above it, as a number or a material's name");
    if (!p.loading())
        return;
    if (p.properties()->has("ext_eta"))
        ext_eta = opaque_float(read_ior(*p.properties(), "ext_eta", "vacuum"));
    if (eta && k) {
        if (material != "none")
            p.properties()->fail_at(
                *p.properties()->find("material"),
                "material has no effect beside eta and k; remove one or the other");
        return;
    }
    // What was not given is the material's; a perfect mirror has 0 and 1.
    SpectrumData real = SpectrumData::uniform(0), imaginary = SpectrumData::uniform(1);
    if (material != "none")
        try {
            const ConductorData &c = conductor_preset(material);
            real = table(c, false);
            imaginary = table(c, true);
        } catch (const UserError &e) {
            if (const Property *named = p.properties()->find("material"))
                p.properties()->fail_at(*named, e.what());
            throw;
        }
    auto load = [&](const SpectrumData &d) {
        return std::dynamic_pointer_cast<Texture>(p.loader()->load_spectrum(d, *p.properties()));
    };
    if (!eta)
        eta = load(real);
    if (!k)
        k = load(imaginary);
}

} // namespace umbel
