// render/dielectric_ior.h: relative indices of dielectrics, given by numbers or by the names of materials.
#pragma once
#include "core/object.h"

namespace umbel {

/// The parameter `name`: a number, or the name of a dielectric.
double read_ior(const Properties &p, const char *name, const char *otherwise);

/// Declares int_ior and ext_ior; the value is their quotient, data of the program.
struct DielectricIor {
    double interior = 1, exterior = 1;
    Float eta;

    void declare(Params &p, const char *int_default, const char *ext_default = "air");
};

} // namespace umbel
