// render/further_colours.cpp: which wavelengths the rays of a sensor have.
#include "render/further_colours.h"
#include "core/spectra.h"
#include "render/sensor.h"

namespace umbel {

namespace {
thread_local const Sensor *s_sensor = nullptr;
}

SeenBy::SeenBy(const Sensor &sensor) : m_before(s_sensor) { s_sensor = &sensor; }
SeenBy::~SeenBy() { s_sensor = m_before; }

std::vector<std::string> further_colour_names() {
    if (variant().colour == Colour::Mono)
        return { "Y" };
    return { "R", "G", "B" };
}

std::vector<Float> further_colours(const Spectrum &light, const Wavelengths &wavelengths) {
    Spectrum L = unpolarized(light);
    if (variant().colour == Colour::Spectral)
        L = L *
            (s_sensor && s_sensor->has_response()
                 ? s_sensor->wavelength_weight(wavelengths, Mask(true))
                 : map(wavelengths, [](const Float &w) { return rcp(sample_wavelength_pdf(w)); }));
    return to_rgb(L, wavelengths);
}

} // namespace umbel
