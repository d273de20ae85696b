// cli/selftest.cpp: `umbel selftest`: whether a variant computes on this machine what it should.
//
// For machines that the tests do not run on, such as those with a GPU: what is compared with is computed on the same machine by other
// backends. Random programs cover all operations and all control flow; sums of floats must have the same bits twice; images and
// derivatives must be those of `llvm`.
#include "cli/commands.h"
#include "cli/progress.h"
// after CLI11, whose names our macros would take
#include "ad/ad.h"
#include "core/device_choice.h"
#include "core/host_array.h"
#include "core/scene_file.h"
#include "core/variant.h"
#include "jit/control.h"
#include "render/render_image.h"
#include "support/random_program.h"
#include <chrono>
#include <cmath>
#undef check // of jit/error.h; it is a method of the parser's options here

namespace umbel {

namespace {

struct Options {
    std::string variant = "llvm_ad_rgb";
    uint64_t programs = 200, first = 1;
    int device = -1; // as UMBEL_DEVICE says
};

// What failed is told at once; the test goes on.
class Report {
public:
    void start(const std::string &what) {
        m_what = what;
        m_failures = 0;
        m_start = std::chrono::steady_clock::now();
    }
    void failed(const std::string &why) {
        fmt::print("{}: FAILED: {}\n", m_what, why);
        std::fflush(stdout);
        ++m_failures;
        ++m_all;
    }
    void end(const std::string &facts) {
        std::chrono::duration<double> time = std::chrono::steady_clock::now() - m_start;
        if (!m_failures)
            fmt::print("{}: passed ({}; {:.1f} s)\n", m_what, facts, time.count());
        std::fflush(stdout);
    }
    int all() const { return m_all; }

private:
    std::string m_what;
    int m_failures = 0, m_all = 0;
    std::chrono::steady_clock::time_point m_start;
};

// ---- The compiler

void compare_programs(const Options &o, const Variant &v, Report &report) {
    constexpr int MostTold = 5;
    report.start("random programs");
    jit::Backend &backend = v.context().backend(), &reference = jit::interp_backend();
    int told = 0;
    for (uint64_t seed = o.first; seed < o.first + o.programs && told < MostTold; ++seed) {
        test::Plan plan = test::random_plan(seed);
        if (backend.device())
            plan = test::plan_for_devices(std::move(plan));
        test::Outcome want = test::play(plan, reference, jit::DefaultFlags),
                      got = test::play(plan, backend, jit::DefaultFlags);
        if (!got.error.empty() && want.error.empty()) {
            report.failed(fmt::format("seed {}: {}", seed, got.error));
            ++told;
        } else if (auto difference = test::difference(want, got)) {
            report.failed(fmt::format("seed {}: {}", seed, *difference));
            ++told;
        }
    }
    report.end(fmt::format("{} compared with interp", o.programs));
}

// Numbers of many sizes and both signs, added to few cells and to many, at the top and in a loop.
std::vector<double> sums(const Variant &v, uint32_t cells, bool in_loop) {
    VariantScope scope(v);
    constexpr uint32_t Lanes = 1 << 18;
    jit::UInt32 lane = jit::arange<uint32_t>(Lanes);
    jit::UInt32 hash = lane * 2654435761u;
    hash = hash ^ (hash >> jit::UInt32(15u));
    jit::Float32 value = jit::Float32(hash) * 1e-9f + 0.25f;
    value = jit::Float32(jit::ternary(jit::Op::Select, (hash & 64u) == 0u, value * 1e-6f, value));
    jit::Float32 target = jit::opaque(jit::zeros<float>(cells));
    struct Step {
        jit::UInt32 k;
        UMBEL_STRUCT(k)
    };
    if (in_loop)
        jit::loop(
            Step{ jit::UInt32(jit::literal(jit::Type::U32, 0, Lanes)) },
            [](const Step &s) { return s.k < 3u; },
            [&](Step &s) {
                jit::scatter_add(target, value, (hash + s.k) % cells);
                s.k += 1u;
            });
    else
        jit::scatter_add(target, value, hash % cells);
    std::vector<float> read = target.read();
    return { read.begin(), read.end() };
}

void compare_sums(const Variant &v, Report &report) {
    report.start("sums of floats");
    const Variant &reference = find_variant("interp_mono");
    for (uint32_t cells : { 1u, 16u, 1000u, 300'000u })
        for (bool in_loop : { false, true }) {
            std::string what = fmt::format("{} cells{}", cells, in_loop ? " in a loop" : "");
            std::vector<double> a = sums(v, cells, in_loop), b = sums(v, cells, in_loop),
                                want = sums(reference, cells, in_loop);
            // CPUs have copies of small arrays alone; see jit/private_copies.h
            if (a != b && (cells < 10'000 || v.context().backend().device()))
                report.failed(what + ": two runs differ");
            double worst = 0;
            for (size_t i = 0; i < want.size(); ++i)
                worst = std::max(worst, std::abs(a[i] - want[i]) / std::max(want[i], 1e-30));
            if (!(worst < 1e-4)) // `interp` adds in single precision in loops
                report.failed(fmt::format("{}: a relative difference of {:.2g}", what, worst));
        }
    report.end("same bits twice");
}

// ---- The renderer

constexpr const char *Room = R"(<scene version="3.0.0">
    <integrator type="INTEGRATOR"><integer name="max_depth" value="5"/></integrator>
    <sensor type="perspective">
        <float name="fov" value="40"/>
        <transform name="to_world"><lookat origin="0,0,4" target="0,0,0" up="0,1,0"/></transform>
        <film type="hdrfilm"><integer name="width" value="64"/><integer name="height" value="48"/>
            <rfilter type="box"/></film>
        <sampler type="independent"><integer name="sample_count" value="64"/></sampler>
    </sensor>
    <shape type="rectangle" id="back"><transform name="to_world"><scale value="2"/><translate z="-1"/></transform>
        <bsdf type="diffuse" id="wall"><rgb name="reflectance" value="0.6, 0.4, 0.3"/></bsdf></shape>
    <shape type="cube"><transform name="to_world"><scale value="0.4"/><rotate y="1" angle="30"/>
        <translate x="-0.6" y="-0.5"/></transform>
        <bsdf type="roughconductor"><float name="alpha" value="0.2"/></bsdf></shape>
    <shape type="sphere"><float name="radius" value="0.5"/><point name="center" x="0.7" y="0.1" z="0"/>
        <bsdf type="dielectric"/></shape>
    <shape type="rectangle"><transform name="to_world"><scale value="0.5"/><rotate x="1" angle="90"/>
        <translate y="1.5" z="0.5"/></transform>
        <emitter type="area"><rgb name="radiance" value="12, 10, 8"/></emitter></shape>
    <emitter type="constant"><rgb name="radiance" value="0.2, 0.3, 0.4"/></emitter>
</scene>)";

std::string room_with(const std::string &integrator) {
    std::string text = Room, word = "INTEGRATOR";
    return text.replace(text.find(word), word.size(), integrator);
}

Image render_room(const Variant &v) {
    VariantScope scope(v);
    Ref<Scene> scene = load_scene(parse_scene_string(room_with("path")));
    Render render(*scene, { .seed = 3 });
    render.run();
    return render.image();
}

// With operations that round as they should, lest the assembler fuse what is in one kernel: paths turn another way by a rounding.
Image render_room_exactly(const Variant &v, bool recorded) {
    using jit::Flag;
    VariantScope scope(v);
    jit::FlagScope exact(Flag::FastMath, false), loops(Flag::RecordLoops, recorded),
        ifs(Flag::RecordIfs, recorded), calls(Flag::RecordCalls, recorded);
    Ref<Scene> scene = load_scene(parse_scene_string(room_with("path")));
    Render render(*scene, { .spp = 1, .seed = 3 });
    render.run();
    return render.image();
}

// Of the sum of all pixels, by the colour of the wall.
std::vector<double> gradient_of_room(const Variant &v) {
    VariantScope scope(v);
    Ref<Scene> scene = load_scene(parse_scene_string(room_with("prb")));
    SceneParameters params(scene);
    std::vector<Value> values;
    params.each_value([&](Value &value, const std::string &key) {
        if (key.find("reflectance.value") == std::string::npos || !jit::is_float(value.type()))
            return;
        Float followed(value);
        ad::enable_grad(followed);
        value = followed;
        values.push_back(value);
    });
    Float image = render_image(scene, &params, { .seed = 3 }, { .seed = 4 });
    Float total(jit::reduce(jit::ReduceOp::Add, image));
    ad::backward(total);
    std::vector<double> out;
    for (Value &value : values)
        for (double g : read_floats(Float(ad::grad(Float(value)))))
            out.push_back(g);
    return out;
}

double mean_of(const Image &image) {
    double sum = 0;
    for (size_t y = 0; y < image.height(); ++y)
        for (size_t x = 0; x < image.width(); ++x)
            for (size_t c = 0; c < image.channel_count(); ++c)
                sum += image.get(x, y, c);
    return sum / double(image.pixels() * image.channel_count());
}

// Paths part where roundings decide: means agree all the same.
constexpr double MeansAgree = 0.01;

void compare_images(const Variant &v, const Variant &reference, Report &report) {
    report.start("an image");
    Image a = render_room(v), b = render_room(v), want = render_room(reference);
    if (a.byte_count() != b.byte_count() || std::memcmp(a.bytes(), b.bytes(), a.byte_count()) != 0)
        report.failed("two renders differ");
    double got = mean_of(a), expected = mean_of(want);
    if (!(std::abs(got - expected) < MeansAgree * expected))
        report.failed(
            fmt::format("its mean is {}, that of {} is {}", got, reference.name, expected));
    report.end(fmt::format("mean {:.6g}, by {} {:.6g}", got, reference.name, expected));
}

// Loops, branches and calls as a sequence of kernels.
void compare_evaluated(const Variant &v, Report &report) {
    report.start("an image by evaluated loops and calls");
    Image a = render_room_exactly(v, true), b = render_room_exactly(v, false);
    double worst = 0;
    for (size_t y = 0; y < a.height(); ++y)
        for (size_t x = 0; x < a.width(); ++x)
            for (size_t c = 0; c < a.channel_count(); ++c)
                worst = std::max(worst, std::abs(a.get(x, y, c) - b.get(x, y, c)) /
                                            (std::abs(a.get(x, y, c)) + 1e-2));
    if (!(worst < 1e-4))
        report.failed(fmt::format("a relative difference of {:.2g}", worst));
    report.end(fmt::format("the largest relative difference is {:.2g}", worst));
}

void compare_gradients(const Variant &v, const Variant &reference, Report &report) {
    report.start("derivatives of an image");
    std::vector<double> a = gradient_of_room(v), b = gradient_of_room(v),
                        want = gradient_of_room(reference);
    if (a != b)
        report.failed("two runs differ");
    if (a.size() != want.size() || a.empty())
        report.failed(fmt::format("{} numbers instead of {}", a.size(), want.size()));
    for (size_t i = 0; i < std::min(a.size(), want.size()); ++i)
        if (!(std::abs(a[i] - want[i]) <= 2 * MeansAgree * std::abs(want[i])))
            report.failed(
                fmt::format("number {} is {}, by {} {}", i, a[i], reference.name, want[i]));
    report.end(fmt::format("{} numbers, the first {:.6g}, by {} {:.6g}", a.size(),
                           a.empty() ? 0 : a[0], reference.name, want.empty() ? 0 : want[0]));
}

int self_test(const Options &o) {
    const Variant &v = on_device(find_variant(o.variant), o.device);
    if (o.device >= 0 && !v.context().backend().device())
        fail("--device: {} computes on the host; cuda variants compute on devices", v.name);
    std::string rest = v.name.substr(v.name.find('_'));
    const Variant &reference = find_variant((v.backend == "llvm" ? "interp" : "llvm") + rest);
    fmt::print("umbel {}, {}: {}\n", UMBEL_VERSION, v.name, v.context().backend().description());
    std::fflush(stdout);
    Report report;
    compare_programs(o, v, report);
    compare_sums(v, report);
    compare_images(v, reference, report);
    compare_evaluated(v, report);
    if (v.ad && !v.polarized) // which have no derivatives
        compare_gradients(v, reference, report);
    fmt::print("{}: {}\n", v.name, report.all() ? "FAILED" : "all passed");
    return report.all() ? 2 : 0;
}

} // namespace

void add_selftest_command(CLI::App &app, std::function<int()> &run) {
    auto o = std::make_shared<Options>();
    CLI::App *c = app.add_subcommand(
        "selftest", "Compares what a variant computes on this machine with other backends");
    c->add_option("-m,--variant", o->variant, "The variant to try");
    c->add_option("--device", o->device, "The GPU that a cuda variant computes on, from 0 on")
        ->check(CLI::Range(0, 1024));
    c->add_option("--programs", o->programs, "How many random programs to run");
    c->add_option("--first", o->first, "The seed of the first of them");
    c->callback([o, &run] { run = [o] { return self_test(*o); }; });
}

} // namespace umbel
