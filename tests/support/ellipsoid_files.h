// support/ellipsoid_files.h: clouds of ellipsoids for tests.
#pragma once
#include <string>

namespace umbel::test {

/// Three Gaussians as trainers of radiance fields write them: logarithms of radii, spherical harmonics, opacities before a sigmoid.
inline std::string gaussians_ply() {
    std::string out = "ply\nformat ascii 1.0\nelement vertex 3\n";
    for (const char *name : { "x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2" })
        out += std::string("property float ") + name + "\n";
    for (int i = 0; i < 9; ++i)
        out += "property float f_rest_" + std::to_string(i) + "\n";
    for (const char *name :
         { "opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3" })
        out += std::string("property float ") + name + "\n";
    return out + "end_header\n"
                 "0 -.2 0 0 0 0 .1 .2 .3 1 2 3 4 5 6 7 8 9 1.5 -1.5 -2 -1.2 1 .2 -.3 .4\n"
                 "-.5 .4 .1 0 0 0 .4 .5 .6 9 8 7 6 5 4 3 2 1 -1 -1.9 -1.7 -2.2 .5 .5 .5 .5\n"
                 ".6 -.5 .2 0 0 0 .7 .8 .9 0 0 0 1 1 1 2 2 2 .3 -1.6 -1.8 -2 1 0 0 0\n";
}

/// Two ellipsoids with the attributes heat (two numbers) and tag.
inline std::string ellipsoids_ply() {
    return "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\n"
           "property float z\nproperty float heat_0\nproperty float heat_1\nproperty float tag\n"
           "property float scale_0\nproperty float scale_1\nproperty float scale_2\n"
           "property float rot_0\nproperty float rot_1\nproperty float rot_2\n"
           "property float rot_3\nend_header\n"
           "0 -.3 .1 .2 .3 5 -.7 -1.1 -.9 1 .3 0 -.2\n.4 .5 -.2 .6 .7 6 -.9 -1 -1.3 .2 .1 1 0\n";
}

} // namespace umbel::test
