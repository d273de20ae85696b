// bench/cuda/cuda_bench.cpp: renders, derivatives and arrays on a GPU; README.md says what each row measures.
#include "../render/scenes.h"
#include "ad/ad.h"
#include "jit/array_device.h"
#include "jit/control.h"
#include "render/render_image.h"
#include <unistd.h>

namespace umbel::bench {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- Scenes

struct Job {
    const char *name, *file, *variant;
    int spp;
    Definitions definitions;
    bool is_gradient; // by all reflectances
};
Definitions wide() { return { { "width", "1280" }, { "height", "720" } }; }
const Job jobs[] = {
    { "cbox", "cbox/cbox.xml", "rgb", 256, { { "res", "1024" }, { "max_depth", "6" } }, false },
    { "matpreview", "matpreview/matpreview.xml", "rgb", 256, {}, false },
    { "staircase", "staircase/scene-v3.xml", "rgb", 64, wide(), false },
    { "living-room", "living-room/scene-v3.xml", "rgb", 64, wide(), false },
    { "veach-bidir", "veach-bidir/scene-v3.xml", "rgb", 64, wide(), false },
    { "staircase spectral", "staircase/scene-v3.xml", "spectral", 64, wide(), false },
    { "staircase prb", "staircase/scene-v3.xml", "ad_rgb", 16, wide(), true },
    { "living-room prb", "living-room/scene-v3.xml", "ad_rgb", 16, wide(), true },
    { "cbox prb", "cbox/cbox.xml", "ad_rgb", 64, { { "res", "512" } }, true },
};

std::string variant_of(const Job &job) {
    return variable("UMBEL_BENCH_BACKEND", "cuda") + "_" + job.variant;
}

void render(const Loaded &l, const Job &job, uint32_t seed) {
    Render render(*l.scene, { .spp = job.spp, .seed = seed });
    render.run();
    render.wait();
}

// The mean of an image's squares, and its gradient by all reflectances of the scene.
void differentiate(const Loaded &l, const Job &job, uint32_t seed) {
    static Ref<Integrator> prb =
        make_object<Integrator>(Properties("integrator", "prb").set("max_depth", 8));
    SceneParameters params(l.scene);
    std::vector<Value *> followed;
    params.each_value([&](Value &v, const std::string &key) {
        if (key.find("reflectance") == key.npos || !jit::is_float(v.type()))
            return;
        v = v.detached();
        ad::enable_grad(v);
        followed.push_back(&v);
    });
    if (followed.empty())
        fail("{} has no reflectances", job.name);
    RenderOptions primal{ .spp = job.spp, .seed = 2 * seed, .integrator = prb }, gradient = primal;
    ++gradient.seed;
    Float image = render_image(l.scene, &params, primal, gradient);
    Float loss(jit::reduce(jit::ReduceOp::Add, image * image));
    ad::backward(loss);
    std::vector<Value> gradients;
    for (Value *v : followed) {
        gradients.push_back(ad::grad(*v));
        jit::schedule(gradients.back());
    }
    jit::eval();
    jit::synchronize();
    for (Value *v : followed)
        ad::disable_grad(*v);
}

void run(const Loaded &l, const Job &job, uint32_t seed) {
    (job.is_gradient ? differentiate : render)(l, job, seed);
}

const Loaded &scene_of(const Job &job) {
    return load(shared_scene(job.file), variant_of(job), job.definitions);
}

double hot(const Job &job) {
    const Loaded &l = scene_of(job);
    VariantScope scope(*l.variant);
    uint32_t seed = 0;
    return seconds([&] { run(l, job, ++seed); }, 3, 0);
}

// In a process that has loaded the scene, and has no kernels.
double first(const Job &job) {
    const Loaded &l = scene_of(job);
    VariantScope scope(*l.variant);
    Clock::time_point start = Clock::now();
    run(l, job, 1);
    return since(start);
}

double in_a_process(const std::string &words) {
    std::string command = fmt::format("UMBEL_CACHE= CUDA_CACHE_DISABLE=1 /proc/{}/exe {}", getpid(),
                                      words),
                answer;
    FILE *pipe = popen(command.c_str(), "r");
    if (!pipe)
        throw std::runtime_error("cannot start a process");
    for (char text[256]; fgets(text, sizeof(text), pipe);)
        answer = text;
    if (pclose(pipe) || answer.empty())
        throw std::runtime_error("a process failed: " + words);
    return std::stod(answer);
}

const int registered = [] {
    for (const Job &job : jobs) {
        Register(fmt::format("{}: hot", job.name), "s", [&] { return hot(job); });
        Register(fmt::format("{}: first", job.name), "s",
                 [&] { return in_a_process(fmt::format("first {}", &job - jobs)); });
    }
    return 0;
}();

// ---- Arrays

constexpr uint32_t Lanes = 1u << 28;

struct Setup {
    jit::Context context{ jit::find_backend(variable("UMBEL_BENCH_BACKEND", "cuda")) };
    jit::ContextScope scope{ context };
};

BENCH("saxpy, 2^28 lanes", "GB/s") {
    Setup setup;
    using namespace jit;
    Float32 x = opaque(Float32(arange<uint32_t>(Lanes)) * 1e-6f), y = opaque(x + 1.f),
            a = opaque(2.f);
    double t = seconds([&] {
        Float32 z = a * x + y;
        eval(z);
        synchronize();
    });
    return 3 * 4 * double(Lanes) / t * 1e-9;
}

BENCH("copy, 2^28 lanes", "GB/s") {
    Setup setup;
    auto *device = dynamic_cast<jit::ArrayDevice *>(setup.context.backend().device());
    if (!device)
        fail("there is no device");
    uint64_t bytes = 4 * uint64_t(Lanes), from = device->allocate(bytes),
             to = device->allocate(bytes);
    device->fill(from, 1, 4, Lanes);
    uint32_t word = 0;
    double t = seconds([&] {
        for (int i = 0; i < 4; ++i)
            device->copy(to, from, bytes);
        device->download(&word, to, 4); // which waits
    });
    device->release(from, bytes);
    device->release(to, bytes);
    return 4 * 2 * double(bytes) / t * 1e-9;
}

// Each lane adds to one of 16 cells, or takes the greater of it and a number.
template <class T> double added(jit::ReduceOp op = jit::ReduceOp::Add, uint32_t cells = 16) {
    Setup setup;
    using namespace jit;
    constexpr uint32_t N = 1u << 26;
    UInt32 lane = arange<uint32_t>(N), hash = lane * 2654435761u;
    UInt32 cell = opaque((hash ^ (hash >> UInt32(15u))) % cells);
    Array<T> value = opaque(Array<T>(lane & 255u)), target = opaque(zeros<T>(cells));
    double t = seconds([&] {
        scatter_reduce(op, target, value, cell);
        eval();
        synchronize();
    });
    return double(N) / t * 1e-9;
}
BENCH("scatter-add to 16 cells", "G/s") { return added<float>(); }
BENCH("integers to 16 cells", "G/s") { return added<uint32_t>(); }
// Of which lanes of a warp do not agree first
BENCH("one atomic a lane to 16 cells", "G/s") { return added<uint32_t>(jit::ReduceOp::Max); }

BENCH("sort of 2^24 numbers", "s") {
    Setup setup;
    using namespace jit;
    constexpr uint32_t N = 1u << 24;
    UInt32 keys = opaque(arange<uint32_t>(N) * 2654435761u);
    return seconds(
        [&] {
            Value order = sort_permutation(keys, false);
            eval(order);
            synchronize();
        },
        3, 0);
}

} // namespace

int main_of(int argc, char **argv) {
    if (argc == 1)
        return serve();
    if (argc == 3 && std::string(argv[1]) == "first") {
        fmt::print("{}\n", first(jobs[std::stoul(argv[2])]));
        std::fflush(stdout);
        _exit(0);
    }
    return 1;
}

} // namespace umbel::bench

int main(int argc, char **argv) { return umbel::bench::main_of(argc, argv); }
