// examples/gradient_descent.cpp: a damped oscillation is measured with noise; its parameters are found.
//
//     y(t) = amplitude exp(-decay t) sin(frequency t + phase)
//
// Each step records the squared error over all samples and its derivatives as one program. The program
// is the same in every step, so it is compiled once.
#include "ad/ad.h"
#include <array>
#include <cmath>
#include <cstdio>

using namespace umbel::jit;
using namespace umbel::ad;

constexpr uint32_t Samples = 4096;
using Parameters = std::array<Float64, 4>; // amplitude, decay, frequency, phase

Float64 oscillation(const Parameters &p, const Float64 &t) {
    return p[0] * exp(-p[1] * t) * sin(p[2] * t + p[3]);
}

int main() {
    const char *names[] = { "amplitude", "decay", "frequency", "phase" };
    const double truth[] = { 2.0, 0.35, 3.0, 0.4 };

    // The measurement: the truth and a little noise from a hash of the sample's number
    UInt32 sample = arange<uint32_t>(Samples);
    Float64 t = linspace(0.0, 6.0, Samples);
    Float64 noise = Float64((sample * 2654435761u) >> 8u) * (1.0 / (1 << 24)) - 0.5;
    Parameters exact;
    for (int i = 0; i < 4; ++i)
        exact[i] = truth[i];
    Float64 measured = oscillation(exact, t) + noise * 0.1;
    eval(measured);

    // Adam: steps of about the same length in all parameters
    Parameters p, first, second;
    const double start[] = { 1.0, 0.1, 2.7, 0.0 };
    for (int i = 0; i < 4; ++i) {
        p[i] = opaque(start[i]);
        first[i] = second[i] = opaque(0.0);
    }
    const double rate = 0.02, b1 = 0.9, b2 = 0.999;
    for (int step = 1; step <= 1500; ++step) {
        for (int i = 0; i < 4; ++i)
            enable_grad(p[i], names[i]);
        Float64 error = oscillation(p, t) - measured, loss = error * error * (1.0 / Samples);
        backward(loss);

        Float64 correct_1 =
            opaque(1 / (1 - std::pow(b1, step))); // data: the program stays the same
        Float64 correct_2 = opaque(1 / (1 - std::pow(b2, step)));
        for (int i = 0; i < 4; ++i) {
            Float64 g = grad(p[i]);
            first[i] = first[i] * b1 + g * (1 - b1);
            second[i] = second[i] * b2 + g * g * (1 - b2);
            p[i] =
                detach(p[i]) - first[i] * correct_1 / (sqrt(second[i] * correct_2) + 1e-9) * rate;
        }
        eval(p[0], p[1], p[2], p[3], first[0], first[1], first[2], first[3], second[0], second[1],
             second[2], second[3]);
        if (step % 250 == 0)
            std::printf("step %4d: mean squared error %.6f\n", step, item(sum(detach(loss))));
    }

    double worst = 0;
    for (int i = 0; i < 4; ++i) {
        double found = item(p[i]);
        worst = std::max(worst, std::abs(found - truth[i]));
        std::printf("%-9s %8.4f, in truth %.4f\n", names[i], found, truth[i]);
    }
    std::printf("%zu nodes left on the tape\n", live_nodes());
    return worst < 0.02 && live_nodes() == 0 ? 0 : 1;
}
