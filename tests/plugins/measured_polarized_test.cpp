// tests/plugins/measured_polarized_test.cpp: Mueller matrices from files.
#include "core/mueller.h"
#include "support/bsdf_fixture.h"
#include "support/scattering.h"
#include "support/surface.h"
#include "support/tensor_files.h"
#include <fstream>
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendMeasuredPolarized : public BsdfTest {
protected:
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("umbel_measured_{}.pbsdf", getpid());

    void TearDown() override {
        std::filesystem::remove(path);
        BsdfTest::TearDown();
    }
    Ref<BSDF> load(const std::vector<TensorField> &fields, const std::string &more = "") {
        std::ofstream(path, std::ios::binary) << tensor_file(fields);
        return make("<bsdf type='measured_polarized'><string name='filename' value='" +
                    path.string() + "'/>" + more + "</bsdf>");
    }
};
UMBEL_VARIANTS(BackendMeasuredPolarized, "interp_rgb", "llvm_mono_polarized_double",
               "llvm_spectral_polarized")

// A matrix that is the same for all directions, in the frame of the plane of reflection.
TEST_P(BackendMeasuredPolarized, AxesAreThoseOfThePlaneOfReflection) {
    std::vector<TensorField> fields = measured_polarized_fields();
    for (size_t i = 0; i < fields[4].values.size(); ++i)
        fields[4].values[i] = i % 16 < 2 || i % 16 == 4 || i % 16 == 5 ? 0.2 : 0; // a polarizer
    Ref<BSDF> bsdf = load(fields, "<float name='wavelength' value='550'/>");
    Vector3 wi = opaque_direction({ 0.3, 0.1, 0.9 }), wo = opaque_direction({ -0.2, 0.4, 0.7 });
    Spectrum got = bsdf->eval({}, hit_from(wi), wo, true) / wo.z;
    EXPECT_NEAR(read_floats(unpolarized(got)[0])[0], 0.2, 1e-5);
    if (!variant().polarized)
        return;
    Vector3 axis = cross(wo, wi);
    Spectrum want = mueller::rotate_basis(mueller::linear_polarizer(Spectrum(0.4)), -wo, axis,
                                          stokes_basis(-wo), wi, axis, stokes_basis(wi));
    expect_equal("matrix", all_numbers(got, 1), all_numbers(want.dense(), 1), 1e-4);
}

TEST_P(BackendMeasuredPolarized, WhatWasNotMeasuredIsBlack) {
    std::vector<TensorField> fields = measured_polarized_fields();
    for (double &v : fields[4].values)
        v = NAN;
    Ref<BSDF> bsdf = load(fields, "<float name='wavelength' value='550'/>");
    Spectrum value = bsdf->eval({}, hit_from(opaque_direction({ 0.3, 0.1, 0.9 })),
                                opaque_direction({ -0.2, 0.4, 0.7 }), true);
    for (double v : all_numbers(value, 1))
        EXPECT_EQ(v, 0);
}

TEST_P(BackendMeasuredPolarized, SpectralVariantsInterpolateWavelengths) {
    std::vector<TensorField> fields = measured_polarized_fields();
    if (variant().colour != Colour::Spectral) {
        std::string said = user_error([&] { load(fields); });
        EXPECT_NE(said.find("wavelength"), std::string::npos) << said;
        return;
    }
    std::vector<double> &m = fields[4].values; // at 450, 500, ... nm
    for (size_t i = 0; i < m.size(); ++i)
        m[i] = i % 16 == 0 ? 0.1 * double(1 + i / 16 % 5) : 0;
    SurfaceInteraction si = hit_from(opaque_direction({ 0.3, 0.1, 0.9 }));
    si.wavelengths = Spectrum(std::vector<Float>{ opaque_float(400), opaque_float(475),
                                                  opaque_float(640), opaque_float(700) });
    Vector3 wo = opaque_direction({ -0.2, 0.4, 0.7 });
    Spectrum value = unpolarized(load(fields)->eval({}, si, wo, true) / wo.z);
    const double want[] = { 0.1, 0.15, 0.48, 0.5 };
    for (size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(read_floats(value[i])[0], want[i], 1e-5) << i;
}

TEST_P(BackendMeasuredPolarized, DamagedFilesAreRefused) {
    std::vector<TensorField> fields = measured_polarized_fields();
    fields[1].values[2] = 9;
    std::string said = user_error([&] { load(fields, "<float name='wavelength' value='550'/>"); });
    EXPECT_NE(said.find("field \"theta_d\": number 3"), std::string::npos) << said;
    fields = measured_polarized_fields();
    fields[4].shape = { 9, 5, 6, 4, 4, 5 };
    said = user_error([&] { load(fields, "<float name='wavelength' value='550'/>"); });
    EXPECT_NE(said.find("field \"M\": its shape is"), std::string::npos) << said;
    said = user_error(
        [&] { load(measured_polarized_fields(), "<float name='wavelength' value='-550'/>"); });
    EXPECT_NE(said.find("wavelength is -550"), std::string::npos) << said;
}

} // namespace umbel
