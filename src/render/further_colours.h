// render/further_colours.h: light as numbers of further channels.
#pragma once
#include "core/spectrum.h"

namespace umbel {

class Sensor;

/// While it lives, the rays of this thread are this sensor's.
class SeenBy {
public:
    explicit SeenBy(const Sensor &sensor);
    SeenBy(const SeenBy &) = delete;
    ~SeenBy();

private:
    const Sensor *m_before;
};

/// The names of what further_colours() returns.
std::vector<std::string> further_colour_names();
/// Colours of light along a camera's ray, for channels that the driver does not weight by the density of wavelengths: R, G and
/// B, or Y in monochromatic variants. Rays that are no sensor's have wavelengths by sample_wavelengths().
std::vector<Float> further_colours(const Spectrum &light, const Wavelengths &wavelengths);

} // namespace umbel
