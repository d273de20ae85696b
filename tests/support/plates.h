// support/plates.h: what a camera sees through plates that polarize light.
#pragma once
#include "support/scenes.h"

namespace umbel::test {

/// Between the camera and uniform light, `plates` at distances 1, 2, ... in front of it.
inline Image seen_through(const std::vector<std::string> &plates) {
    std::string body = "<emitter type='constant'><rgb name='radiance' value='1, 1, 1'/></emitter>";
    int z = 0;
    for (const std::string &p : plates)
        body += fmt::format("<shape type='rectangle'><transform name='to_world'><scale "
                            "value='50'/><translate z='{}'/>"
                            "</transform>{}</shape>",
                            --z, p);
    return render_image(*scene_from(scene_xml(body, 8, 16)));
}
inline std::string polarizer(double degrees) {
    return fmt::format("<bsdf type='polarizer'><float name='theta' value='{}'/></bsdf>", degrees);
}

class PolarizedTest : public VariantTest {};
#define UMBEL_POLARIZED_VARIANTS(suite)                                                            \
    UMBEL_VARIANTS(suite, "llvm_mono_polarized", "interp_rgb_polarized",                           \
                   "llvm_spectral_polarized_double")

} // namespace umbel::test
