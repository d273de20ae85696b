// examples/mandelbrot.cpp: the Mandelbrot set in one recorded loop; mandelbrot [FILE.pgm]
//
// Each pixel is a lane. The loop is traced once and becomes one kernel, in which a lane stops when its
// point has left the circle of radius 2 or after 256 steps.
#include "jit/control.h"
#include <chrono>
#include <cstdio>

using namespace umbel::jit;

constexpr uint32_t Width = 768, Height = 512, MaxSteps = 256;

struct Orbit {
    Float32 re, im;
    UInt32 steps;
    UMBEL_STRUCT(re, im, steps) // all fields are state of the loop
};

UInt32 mandelbrot() {
    UInt32 lane = arange<uint32_t>(Width * Height);
    Float32 re = Float32(lane % Width) * (3.f / Width) - 2.f;
    Float32 im = Float32(lane / Width) * (2.f / Height) - 1.f;
    Orbit end = loop(
        Orbit{ Float32(0.f), Float32(0.f), UInt32(0u) },
        [](const Orbit &z) { return (z.re * z.re + z.im * z.im <= 4.f) & (z.steps < MaxSteps); },
        [&](Orbit &z) {
            Float32 next = z.re * z.re - z.im * z.im + re;
            z.im = 2.f * z.re * z.im + im;
            z.re = next;
            z.steps += 1u;
        });
    return end.steps;
}

// The same for one point, without the library.
uint32_t steps_at(uint32_t pixel) {
    float re = float(pixel % Width) * (3.f / Width) - 2.f,
          im = float(pixel / Width) * (2.f / Height) - 1.f;
    float x = 0, y = 0;
    uint32_t n = 0;
    for (; x * x + y * y <= 4 && n < MaxSteps; ++n) {
        float next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
    }
    return n;
}

bool write_pgm(const char *path, const std::vector<uint32_t> &steps) {
    FILE *f = std::fopen(path, "wb");
    if (!f)
        return false;
    std::fprintf(f, "P5\n%u %u\n255\n", Width, Height);
    for (uint32_t s : steps)
        std::fputc(s == MaxSteps ? 0 : int(255 - s * 255 / MaxSteps), f);
    return std::fclose(f) == 0;
}

int main(int argc, char **argv) {
    auto start = std::chrono::steady_clock::now();
    std::vector<uint32_t> steps = mandelbrot().read();
    std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;

    uint64_t inside = 0, wrong = 0;
    for (uint32_t i = 0; i < steps.size(); ++i) {
        inside += steps[i] == MaxSteps;
        wrong += i % 97 == 0 && steps[i] != steps_at(i);
    }
    std::printf("%u x %u points, %.1f %% in the set, %.1f ms with compilation\n", Width, Height,
                100.0 * double(inside) / double(steps.size()), ms.count());
    if (argc > 1 && !write_pgm(argv[1], steps)) {
        std::fprintf(stderr, "cannot write %s\n", argv[1]);
        return 1;
    }
    if (wrong)
        std::fprintf(stderr, "%llu points differ from the plain loop\n", (unsigned long long)wrong);
    return wrong ? 1 : 0;
}
