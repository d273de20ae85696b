// examples/polymorphic_call.cpp: a thousand objects of three classes, called through one pointer array.
//
// Every lane has a reference to an object. The call becomes one kernel with a subroutine for each class,
// however many objects there are: their members are data.
#include "jit/control.h"
#include <cmath>
#include <cstdio>
#include <memory>

using namespace umbel::jit;

// The base names itself, so that its instances are numbered together.
struct Shape : Instance<Shape> {
    virtual Float32 area(const Float32 &scale) const = 0;
};

// opaque() makes a member data of the program; a literal would become part of its text.
struct Square : Shape {
    Float32 side;
    explicit Square(float s) : side(opaque(s)) {}
    Float32 area(const Float32 &scale) const override { return side * side * scale * scale; }
};

struct Disk : Shape {
    Float32 radius;
    explicit Disk(float r) : radius(opaque(r)) {}
    Float32 area(const Float32 &scale) const override {
        return 3.14159265f * radius * radius * scale * scale;
    }
};

struct Triangle : Shape { // by Heron's formula
    Float32 a, b, c;
    Triangle(float a, float b, float c) : a(opaque(a)), b(opaque(b)), c(opaque(c)) {}
    Float32 area(const Float32 &scale) const override {
        Float32 s = (a + b + c) * 0.5f;
        return sqrt(s * (s - a) * (s - b) * (s - c)) * scale * scale;
    }
};

int main() {
    Context &context = Context::current();

    // A thousand objects, and what each should answer
    std::vector<std::unique_ptr<Shape>> shapes;
    std::vector<double> expected;
    for (int i = 0; i < 1000; ++i) {
        float x = 1.f + float(i) / 1000;
        if (i % 3 == 0) {
            shapes.push_back(std::make_unique<Square>(x));
            expected.push_back(double(x) * x);
        } else if (i % 3 == 1) {
            shapes.push_back(std::make_unique<Disk>(x));
            expected.push_back(3.14159265 * x * x);
        } else {
            shapes.push_back(std::make_unique<Triangle>(3 * x, 4 * x, 5 * x));
            expected.push_back(6.0 * x * x);
        }
    }

    // A million lanes, each with an object and an argument of its own
    constexpr uint32_t n = 1 << 20;
    UInt32 lane = arange<uint32_t>(n);
    Pointer<Shape> shape(lane % uint32_t(shapes.size()) + 1u); // ids start at 1; 0 refers to none
    Float32 scale = Float32(lane & 3u);
    Float32 area = call(shape, [](Shape *s, const Float32 &k) { return s->area(k); }, scale);
    std::vector<float> result = area.read();

    size_t subroutines = context.last_program().functions.size() - 1;
    std::printf("%zu objects, %u lanes, %zu subroutines, %zu instructions\n", shapes.size(), n,
                subroutines, context.last_program().instruction_count());

    int wrong = 0;
    for (uint32_t i = 0; i < n; ++i) {
        double k = i & 3, e = expected[i % shapes.size()] * k * k;
        wrong += std::abs(result[i] - e) > 1e-5 * (1 + e);
    }
    if (wrong || subroutines != 3) {
        std::fprintf(stderr, "%d lanes are wrong\n", wrong);
        return 1;
    }
    return 0;
}
