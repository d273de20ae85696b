// core/cie_data.h: CIE's tables, apart from core/spectra.h for the sake of programs without a compiler.
#pragma once
#include <cstddef>

namespace umbel {

constexpr double WavelengthMin = 360, WavelengthMax = 830, CieStep = 5; // nm
constexpr size_t CieCount = 95;
extern const double Cie1931[CieCount][3]; // x, y, z
extern const double D65Data[CieCount];    // relative, 100 at 560 nm

} // namespace umbel
