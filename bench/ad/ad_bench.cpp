// bench/ad/ad_bench.cpp: Umbel's rows of the ad suite; README.md says what each row measures.
//
// A row checks what it times: gradients have the checksum that the rival's have, too, and kernels
// are warm where running is measured.
#include "ad/ad.h"
#include "harness.h"
#include <array>
#include <cmath>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace umbel;
using namespace umbel::jit;

namespace {

template <class... Args> void require(bool ok, fmt::format_string<Args...> what, Args &&...args) {
    if (!ok)
        throw std::runtime_error(fmt::format(what, std::forward<Args>(args)...));
}

// A context of the row's own: nothing of other rows lives in its graph.
struct Setup {
    Setup() : context(llvm_backend()), scope(context) {}
    Context context;
    ContextScope scope;
};

// ---- Inputs: the same on both sides

std::vector<uint32_t> random_bits(uint32_t n, uint32_t seed) {
    std::vector<uint32_t> v(n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t h = i * 2654435769u + seed * 40503u + 1;
        for (uint32_t factor : { 2246822519u, 3266489917u })
            h = (h ^ h >> 15) * factor;
        v[i] = h ^ h >> 16;
    }
    return v;
}

Float32 random_floats(uint32_t n, uint32_t seed, double low = 0, double high = 1) {
    std::vector<float> v;
    for (uint32_t bits : random_bits(n, seed))
        v.push_back(float(low + (high - low) * (bits >> 8) * 0x1p-24));
    return copy(v);
}

// ---- Timing

double checksum(const Float32 &gradient) {
    double sum = 0;
    std::vector<float> g = gradient.read();
    for (size_t i = 0; i < g.size(); ++i)
        sum += std::abs(double(g[i])) * double(i % 7 + 1);
    return sum;
}

// Kernels of a step that the history has seen, one a line, where the environment asks for it.
void report(const std::vector<KernelRecord> &launches) {
    if (!std::getenv("UMBEL_BENCH_HISTORY"))
        return;
    for (const KernelRecord &r : launches)
        fmt::print(
            stderr,
            "{} {} lanes {} operations {} functions {} in {} out: codegen {:.3g} run {:.3g} s\n",
            r.name, r.size, r.operations, r.functions, r.inputs, r.outputs, r.codegen_seconds,
            r.run_seconds);
}

// Time of recording a step, launching it and waiting for it, with warm kernels. `step()` gives the
// result; its gradients go to `variables`, whose checksum must be `want`.
template <class Step>
double timed(Step &&step, const std::vector<Float32 *> &variables, double want) {
    for (Float32 *v : variables)
        ad::enable_grad(*v);
    std::vector<Float32> gradients;
    auto once = [&] {
        for (Float32 *v : variables)
            ad::clear_grad(*v);
        Float32 result = step();
        ad::backward(result);
        gradients.clear();
        for (Float32 *v : variables)
            gradients.push_back(ad::grad(*v));
        std::vector<const Value *> all{ &result };
        for (const Float32 &g : gradients)
            all.push_back(&g);
        eval(std::span<const Value *const>(all));
        synchronize();
    };
    once();
    double got = 0;
    for (const Float32 &g : gradients)
        got += checksum(g);
    require(std::abs(got - want) <= 1e-3 * want, "the gradients' checksum is {} and should be {}",
            got, want);
    double best = bench::seconds(once);

    FlagScope history(Flag::History, true);
    Context &context = Context::current();
    context.take_history();
    once();
    std::vector<KernelRecord> launches = context.take_history();
    report(launches);
    for (const KernelRecord &r : launches)
        require(r.backend == "builtin" || r.memory_hit, "{} is not warm", r.name);
    return best;
}

// ---- Element-wise arithmetic

Float32 expression(Float32 x, const Float32 &y) {
    for (int i = 0; i < 20; ++i) { // ten operations each
        Float32 b = x * y + 0.4f;
        Float32 g = sin(b) / sqrt(b * b + 1.f);
        x = x + exp(g) * 0.1f;
    }
    return x;
}

BENCH("expression", "s") {
    Setup setup;
    Float32 x = random_floats(1 << 22, 1), y = random_floats(1 << 22, 2);
    return timed([&] { return expression(x, y); }, { &x, &y }, 39362220);
}

BENCH("expression primal", "s") {
    Setup setup;
    Float32 x = random_floats(1 << 22, 1), y = random_floats(1 << 22, 2);
    return bench::seconds([&] {
        eval(expression(x, y));
        synchronize();
    });
}

// A graph that is kept and traversed often, in small: recording, not arithmetic, takes the time.
double kept_graph(bool eliminate) {
    Setup setup;
    Float32 x = random_floats(1024, 1), y = random_floats(1024, 2);
    ad::enable_grad(x);
    ad::enable_grad(y);
    Float32 result = expression(x, y);
    eval(result);
    size_t nodes = ad::live_nodes();
    if (eliminate)
        require(ad::tape().eliminate_vertices() > 0 && ad::live_nodes() < nodes, "all are left");
    return bench::seconds(
        [&] {
            ad::clear_grad(x);
            ad::clear_grad(y);
            ad::backward(result, ad::ClearInput | ad::ClearInterior);
            Float32 gx = ad::grad(x), gy = ad::grad(y);
            eval(gx, gy);
            synchronize();
        },
        200);
}

BENCH("kept graph", "s") { return kept_graph(false); }
BENCH("kept graph, eliminated", "s") { return kept_graph(true); }

// ---- A perceptron

std::vector<Float32> layer(const std::vector<Float32> &inputs, const Float32 &weights,
                           const Float32 &biases) {
    std::vector<Float32> outputs;
    for (uint32_t j = 0; j < biases.size(); ++j) {
        Float32 total = gather(biases, UInt32(j));
        for (uint32_t i = 0; i < inputs.size(); ++i)
            total = fma(gather(weights, UInt32(j * uint32_t(inputs.size()) + i)), inputs[i], total);
        outputs.push_back(total);
    }
    return outputs;
}

BENCH("perceptron", "s") {
    Setup setup;
    std::vector<Float32> inputs;
    for (uint32_t i = 0; i < 16; ++i)
        inputs.push_back(random_floats(1 << 18, 10 + i, -1, 1));
    Float32 w1 = random_floats(512, 3, -0.5, 0.5), b1 = random_floats(32, 4, -0.1, 0.1);
    Float32 w2 = random_floats(128, 5, -0.5, 0.5), b2 = random_floats(4, 6, -0.1, 0.1);
    auto step = [&] {
        std::vector<Float32> hidden = layer(inputs, w1, b1);
        for (Float32 &h : hidden)
            h = max(h, 0.f);
        std::vector<Float32> y = layer(hidden, w2, b2);
        return y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3];
    };
    return timed(step, { &w1, &b1, &w2, &b2 }, 77054524);
}

// ---- A texture

Float32 lerp(const Float32 &a, const Float32 &b, const Float32 &t) { return fma(b, t, a - a * t); }

double texture(uint32_t channels, double want) {
    constexpr uint32_t Resolution = 1024, Points = 1 << 22;
    Setup setup;
    Float32 texels = random_floats(Resolution * Resolution * channels, 7);
    Float32 u = random_floats(Points, 8), v = random_floats(Points, 9);
    auto step = [&] {
        Float32 fx = u * float(Resolution - 1), fy = v * float(Resolution - 1);
        UInt32 ix(fx), iy(fy);
        Float32 tx = fx - Float32(ix), ty = fy - Float32(iy);
        UInt32 corner = iy * Resolution + ix;
        Float32 total = 0.f;
        for (uint32_t c = 0; c < channels; ++c) {
            auto fetch = [&](uint32_t offset) {
                return gather(texels, (corner + offset) * channels + c);
            };
            Float32 top = lerp(fetch(0), fetch(1), tx);
            Float32 bottom = lerp(fetch(Resolution), fetch(Resolution + 1), tx);
            Float32 value = lerp(top, bottom, ty);
            total = total + value * value;
        }
        return total;
    };
    return timed(step, { &texels }, want);
}

BENCH("texture", "s") { return texture(1, 16772737); }
BENCH("texture 3 channels", "s") { return texture(3, 50339872); }

// ---- A call

struct Item : Instance<Item> {
    Float32 scale, shift;
    explicit Item(uint32_t k)
        : scale(opaque(float(0.5 + 0.01 * k))), shift(opaque(float(0.25 + 0.02 * k))) {}
    virtual Float32 apply(Float32 x) const = 0;
};

template <int K> struct ItemOf final : Item {
    ItemOf() : Item(K) {}
    Float32 apply(Float32 x) const override {
        for (int i = 0; i < 5 + K / 2; ++i) // five operations each
            x = sqrt(x * scale + float(K + 1)) * shift + x * 0.5f;
        return x;
    }
};

constexpr uint32_t Classes = 20;

template <size_t... K> std::vector<std::unique_ptr<Item>> make_items(std::index_sequence<K...>) {
    std::vector<std::unique_ptr<Item>> items;
    (items.push_back(std::make_unique<ItemOf<int(K)>>()), ...);
    return items;
}

BENCH("call", "s") {
    constexpr uint32_t N = 1 << 20;
    Setup setup;
    auto items = make_items(std::make_index_sequence<Classes>());
    std::vector<uint32_t> ids = random_bits(N, 30);
    for (uint32_t &id : ids)
        id = items[(id >> 8) % Classes]->id();
    Pointer<Item> self(copy(ids));
    Float32 x = random_floats(N, 31);
    std::vector<Float32 *> variables{ &x };
    for (auto &item : items)
        variables.insert(variables.end(), { &item->scale, &item->shift });
    auto step = [&] {
        return call(self, [](Item *item, const Float32 &x) { return item->apply(x); }, x);
    };
    return timed(step, variables, 8112470);
}

// ---- Optimization

// Each lane looks for an x of its own with f(x) = target, by gradient descent with momentum.
struct Descent {
    static constexpr uint32_t N = 4096;
    // Where the gradient has become 0, momentum would decay to subnormal numbers, which take the
    // processor ten times as long: that is no growth of ours.
    static constexpr float Rest = 1e-12f;
    Setup setup;
    Float32 x = random_floats(N, 40), momentum = opaque(zeros<float>(N));
    Float32 target = random_floats(N, 41, 0.2, 0.8);
    float slope; // part of the kernel's text

    explicit Descent(float slope = 0.1f) : slope(slope) {}
    Float32 error() const { return sin(x) * x + slope * x - target; }
    void step() {
        ad::enable_grad(x);
        Float32 e = error(), loss = e * e;
        ad::backward(loss);
        momentum = 0.9f * momentum + ad::grad(x) + Rest;
        x = ad::detach(x) - 0.01f * momentum;
        eval(x, momentum);
        synchronize();
    }
};

BENCH("step", "s") {
    Descent problem;
    return bench::seconds([&] { problem.step(); }, 1000);
}

double resident_mib() {
    long total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return double(resident) * double(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct LongRun {
    double time_growth, memory_growth, kernels; // the last steps over those from the 100th on
};

// The tenth percentile of a window: a step that the machine interrupts is no slower step of ours.
LongRun run_long() {
    constexpr int Steps = 10'000, Warm = 100, Window = 1000;
    using Clock = std::chrono::steady_clock;
    static uint32_t runs = std::random_device()() & 0xffff; // a slope that no cache has seen
    Descent problem(0.1f + float(++runs) * 0x1p-24f);
    FlagScope history(Flag::History, true);
    problem.setup.context.take_history();
    std::vector<double> times;
    double kernels = 0, memory = 0;
    for (int i = 0; i < Steps; ++i) {
        if (i == Warm)
            memory = resident_mib();
        Clock::time_point start = Clock::now();
        problem.step();
        times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
        for (const KernelRecord &r : problem.setup.context.take_history())
            kernels += r.backend != "builtin" && !r.memory_hit;
    }
    double memory_after = resident_mib();
    require(kernels > 0, "the history is empty");
    require(ad::live_nodes() == 0, "left on the tape: {}", ad::listing());
    float rest = item(maximum(abs(problem.error())));
    require(rest < 1e-3f, "the optimization ends with an error of {}", rest);
    auto typical = [&](auto begin) {
        std::vector<double> v(begin, begin + Window);
        std::nth_element(v.begin(), v.begin() + Window / 10, v.end());
        return v[Window / 10];
    };
    return { typical(times.end() - Window) / typical(times.begin() + Warm), memory_after / memory,
             kernels };
}

BENCH("10000 steps, kernels", "kernels") { return run_long().kernels; }
BENCH("10000 steps, time growth", "x") { return run_long().time_growth; }
BENCH("10000 steps, memory growth", "x") { return run_long().memory_growth; }

} // namespace

BENCH_MAIN
