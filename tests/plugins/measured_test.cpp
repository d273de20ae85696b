// tests/plugins/measured_test.cpp: materials from files: colours in all variants, symmetries, and damaged files.
#include "support/bsdf_fixture.h"
#include "support/scattering.h"
#include "support/surface.h"
#include "support/tensor_files.h"
#include <fstream>
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendMeasured : public BsdfTest {
protected:
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("umbel_measured_{}.bsdf", getpid());

    void TearDown() override {
        std::filesystem::remove(path);
        BsdfTest::TearDown();
    }
    Ref<BSDF> load(const std::vector<TensorField> &fields) {
        std::ofstream(path, std::ios::binary) << tensor_file(fields);
        return make("<bsdf type='measured'><string name='filename' value='" + path.string() +
                    "'/></bsdf>");
    }
    static TensorField &field(std::vector<TensorField> &fields, const std::string &name) {
        for (TensorField &f : fields)
            if (f.name == name)
                return f;
        throw std::out_of_range(name);
    }
};
UMBEL_VARIANTS(BackendMeasured, "interp_rgb", "llvm_rgb", "llvm_spectral_double", "llvm_mono",
               "llvm_spectral_polarized")

// What reflects all wavelengths alike is grey in all variants.
TEST_P(BackendMeasured, FlatSpectraAreGrey) {
    std::vector<TensorField> fields = measured_fields({ 0 });
    for (double &v : field(fields, "spectra").values)
        v = 0.5;
    for (double &v : field(fields, "ndf").values)
        v = 2;
    for (double &v : field(fields, "sigma").values)
        v = 0.8;
    Spectrum value =
        unpolarized(load(fields)->eval({}, hit_from(opaque_direction({ 0.3, 0.1, 0.9 })),
                                       opaque_direction({ -0.2, 0.4, 0.7 }), true));
    ASSERT_EQ(value.c.size(), size_t(variant().channels()));
    for (const Float &v : value.c)
        EXPECT_NEAR(read_floats(v)[0], 0.5 * 2 / (4 * 0.8), 1e-4);
}

TEST_P(BackendMeasured, WavelengthsAreInterpolated) {
    if (variant().colour != Colour::Spectral)
        return;
    std::vector<TensorField> fields = measured_fields({ 0 });
    std::vector<double> &spectra = field(fields, "spectra").values; // at 400, 500, 600 and 700 nm
    for (size_t i = 0; i < spectra.size(); ++i)
        spectra[i] = 0.1 * double(1 + i / 25 % 4);
    for (const char *name : { "ndf", "sigma" })
        for (double &v : field(fields, name).values)
            v = 1;
    SurfaceInteraction si = hit_from(opaque_direction({ 0.3, 0.1, 0.9 }));
    si.wavelengths = Spectrum(std::vector<Float>{ opaque_float(380), opaque_float(450),
                                                  opaque_float(680), opaque_float(800) });
    Spectrum value =
        unpolarized(load(fields)->eval({}, si, opaque_direction({ -0.2, 0.4, 0.7 }), true));
    const double want[] = { 0.1, 0.15, 0.38, 0.4 };
    for (size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(read_floats(value[i])[0], want[i] / 4, 1e-5) << i;
}

// Half of the circle stands for all of it.
TEST_P(BackendMeasured, WhatWasMeasuredOfOneSideIsTurned) {
    Ref<BSDF> bsdf = load(measured_fields({ -Pi, -2 * Pi / 3, -Pi / 3, 0 }));
    auto value = [&](double sign) {
        Vector3 wi = opaque_direction({ 0.3 * sign, 0.4 * sign, 0.9 }),
                wo = opaque_direction({ 0.5 * sign, -0.1 * sign, 0.7 });
        return read_floats(unpolarized(bsdf->eval({}, hit_from(wi), wo, true))[0])[0];
    };
    EXPECT_GT(value(1), 0.001);
    EXPECT_NEAR(value(1), value(-1), 1e-6);
}

TEST_P(BackendMeasured, DamagedFilesAreRefused) {
    auto message = [&](const std::function<void(std::vector<TensorField> &)> &damage) {
        std::vector<TensorField> fields = measured_fields({ 0 });
        damage(fields);
        return user_error([&] { load(fields); });
    };
    auto expect = [&](const std::string &said, const char *part) {
        EXPECT_NE(said.find(part), std::string::npos) << said;
        EXPECT_NE(said.find("umbel_measured_"), std::string::npos) << said;
    };
    expect(message([&](auto &f) { field(f, "vndf").name = "wndf"; }), "no field \"vndf\"");
    expect(message([&](auto &f) { field(f, "vndf").values[3] = -1; }), "field \"vndf\"");
    expect(message([&](auto &f) { field(f, "luminance").values[3] = NAN; }),
           "field \"luminance\": number 3 is nan");
    expect(message([&](auto &f) { field(f, "spectra").values[0] = INFINITY; }),
           "field \"spectra\"");
    expect(message([&](auto &f) { field(f, "theta_i").values[2] = 0; }), "they must increase");
    expect(message([&](auto &f) { field(f, "spectra").shape = { 1, 5, 5, 4, 5 }; }),
           "its shape is 1 x 5 x 5 x 4 x 5");
}

} // namespace umbel
