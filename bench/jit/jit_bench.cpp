// bench/jit/jit_bench.cpp: Umbel's rows of the jit suite; README.md says what each row measures.
//
// A row checks what it times: that one launch was made, compiled where compiling is measured and
// found in the cache where running is, and that results are right.
#include "harness.h"
#include "jit/control.h"
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace umbel;
using namespace umbel::jit;

namespace {

constexpr uint32_t N = 1 << 24;
constexpr uint32_t Records = 1 << 22, RecordSize = 16;
constexpr uint32_t ChainLanes = 1000;

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class... Args> void require(bool ok, fmt::format_string<Args...> what, Args &&...args) {
    if (!ok)
        throw std::runtime_error(fmt::format(what, std::forward<Args>(args)...));
}

// A context of the row's own: nothing of other rows lives in its graph.
struct Setup {
    explicit Setup(Backend &backend = llvm_backend()) : context(backend), scope(context) {}
    Context context;
    ContextScope scope;
};

// ---- Inputs

std::vector<float> random_floats(uint32_t n, float low = 0, float high = 1) {
    std::mt19937 engine(1);
    std::vector<float> v(n);
    for (float &x : v)
        x = low + (high - low) * float(engine() >> 8) * 0x1p-24f;
    return v;
}

std::vector<uint32_t> random_indices(uint32_t n, uint64_t below) {
    std::mt19937 engine(2);
    std::vector<uint32_t> v(n);
    for (uint32_t &x : v)
        x = uint32_t(engine() * below >> 32);
    return v;
}

// A factor that no kernel in a cache has seen before.
float fresh_factor() {
    static uint32_t k = std::random_device()() & 0xffff;
    return 1 + float(k++) * 0x1p-23f;
}

// ---- Timing

// Time of recording, launching and waiting for `make()`, with warm kernels. The step must be one
// launch: of a kernel from the cache, or of a built-in algorithm.
template <class Make> double timed(Make &&make) {
    auto once = [&] {
        auto result = make();
        eval(result);
        synchronize();
    };
    double best = bench::seconds(once);

    FlagScope history(Flag::History, true);
    Context &context = Context::current();
    context.take_history();
    once();
    std::vector<KernelRecord> launches = context.take_history();
    require(launches.size() == 1, "{} launches where one was expected", launches.size());
    require(launches[0].backend == "builtin" || launches[0].memory_hit, "the kernel is not warm");
    return best;
}

// Some lanes of a result, its last one included, beside a double computation of the same.
template <class Expected> void check_lanes(const Float32 &result, Expected &&expected) {
    for (uint32_t i = 0; i < 100; ++i) {
        uint32_t lane = i == 0 ? result.size() - 1 : i * (result.size() / 101) + i;
        float got = item(result, lane);
        double want = expected(lane);
        require(std::abs(got - want) <= 2e-6 * std::max(1.0, std::abs(want)),
                "lane {} is {} and should be {}", lane, got, want);
    }
}

BENCH("memory bandwidth", "GB/s") {
    BufferRef from = allocate(uint64_t(N) * 4), to = allocate(uint64_t(N) * 4);
    auto *source = static_cast<char *>(from->data()), *target = static_cast<char *>(to->data());
    std::memset(source, 1, from->bytes());
    double t = bench::seconds([&] {
        run_in_arena([&] {
            parallel_blocks(from->bytes(), from->bytes() / 64, [&](uint64_t begin, uint64_t end) {
                std::memcpy(target + begin, source + begin, end - begin);
            });
        });
    });
    return 2.0 * double(from->bytes()) / t * 1e-9;
}

// ---- Recording and compiling

// x = x*y; x = x+z, over and over. Factors so near 1 that no step is lost to rounding, overflow or
// a fixed point: a chain that is one operation too short has another result.
struct Chain {
    std::vector<float> x, y, z;
    float factor = fresh_factor();

    explicit Chain(uint32_t lanes = ChainLanes) : x(random_floats(lanes)), y(lanes), z(lanes) {
        for (uint32_t i = 0; i < lanes; ++i) {
            y[i] = 1 + (x[i] - 0.5f) * 0x1p-17f;
            z[i] = x[lanes - 1 - i] * 0.01f;
        }
    }

    static Float32 record(Float32 x, const Float32 &y, const Float32 &z, uint32_t operations) {
        for (uint32_t i = 0; i < operations; i += 2) {
            x = x * y;
            x = x + z;
        }
        return x;
    }

    void verify(const std::vector<float> &result, uint32_t operations) const {
        std::vector<float> want(x.size());
        for (size_t i = 0; i < want.size(); ++i)
            want[i] = x[i] * factor;
        for (uint32_t k = 0; k < operations; k += 2)
            for (size_t i = 0; i < want.size(); ++i) {
                float product = want[i] * y[i];
                want[i] = product + z[i];
            }
        for (size_t i = 0; i < want.size(); ++i)
            require(std::bit_cast<uint32_t>(want[i]) == std::bit_cast<uint32_t>(result[i]),
                    "lane {} is {} and should be {}", i, result[i], want[i]);
    }
};

struct ChainRun {
    double backend_seconds, seconds; // of the compiler alone; from recording to the result
};

ChainRun run_chain(uint32_t operations) {
    Setup setup;
    Chain chain;
    FlagScope history(Flag::History, true), cache(Flag::KernelCache, false);
    Float32 x = copy(chain.x), y = copy(chain.y), z = copy(chain.z);
    setup.context.take_history();

    Clock::time_point start = Clock::now();
    std::vector<float> result = Chain::record(x * Float32(chain.factor), y, z, operations).read();
    double seconds = since(start);

    std::vector<KernelRecord> launches = setup.context.take_history();
    require(launches.size() == 1, "{} launches where one was expected", launches.size());
    const KernelRecord &r = launches[0];
    require(!r.memory_hit && !r.disk_hit && r.backend == "llvm", "{} was not compiled", r.name);
    require(r.operations >= operations, "a kernel of {} operations", r.operations);
    chain.verify(result, operations);
    return { r.backend_seconds, seconds };
}

BENCH("record", "ns") {
    constexpr uint32_t Operations = 1'000'000;
    Setup setup;
    Chain chain;
    double best = 1e300;
    for (int i = 0; i < 10; ++i) { // the first one also waits for the system to make its pages
        Float32 x = copy(chain.x), y = copy(chain.y), z = copy(chain.z);
        Clock::time_point start = Clock::now();
        x = Chain::record(std::move(x), y, z, Operations);
        best = std::min(best, since(start));
        require(setup.context.graph.live_nodes() >= Operations, "operations are missing");
    }
    return best / Operations * 1e9;
}

BENCH("chain 10000", "s") { return run_chain(10'000).backend_seconds; }
BENCH("chain 30000", "s") { return run_chain(30'000).backend_seconds; }
BENCH("chain 100000", "s") { return run_chain(100'000).seconds; }
BENCH("chain 1000000", "s") { return run_chain(1'000'000).seconds; }

// ---- Streaming, 2^24 lanes

BENCH("saxpy", "s") {
    Setup setup;
    std::vector<float> hx = random_floats(N), hy = random_floats(N, 1, 2);
    Float32 x = copy(hx), y = copy(hy), a = opaque(1.5f);
    auto make = [&] { return fma(a, x, y); };
    check_lanes(make(), [&](uint32_t i) { return 1.5 * hx[i] + hy[i]; });
    return timed(make);
}

template <class Make, class Expected>
double unary_row(float low, float high, Make &&f, Expected &&expected) {
    Setup setup;
    std::vector<float> hx = random_floats(N, low, high);
    Float32 x = copy(hx);
    auto make = [&] { return f(x); };
    check_lanes(make(), [&](uint32_t i) { return expected(double(hx[i])); });
    return timed(make);
}

BENCH("sin", "s") {
    return unary_row(-10, 10, [](auto &x) { return sin(x); }, [](double x) { return std::sin(x); });
}
BENCH("exp", "s") {
    return unary_row(-10, 10, [](auto &x) { return exp(x); }, [](double x) { return std::exp(x); });
}
BENCH("log", "s") {
    return unary_row(
        0.001f, 100, [](auto &x) { return log(x); }, [](double x) { return std::log(x); });
}

BENCH("pow", "s") {
    Setup setup;
    std::vector<float> hx = random_floats(N, 0.001f, 100), hy = random_floats(N, -3, 3);
    std::rotate(hy.begin(), hy.begin() + 12345, hy.end()); // or large x would meet large y only
    Float32 x = copy(hx), y = copy(hy);
    auto make = [&] { return pow(x, y); };
    check_lanes(make(), [&](uint32_t i) { return std::pow(double(hx[i]), double(hy[i])); });
    return timed(make);
}

BENCH("sum", "s") {
    Setup setup;
    std::vector<float> hx = random_floats(N);
    Float32 x = copy(hx);
    double want = 0;
    for (float v : hx)
        want += v;
    float got = item(sum(x));
    require(std::abs(got - want) <= 1e-6 * want, "the sum is {} and should be {}", got, want);
    return timed([&] { return sum(x); });
}

BENCH("prefix sum", "s") {
    Setup setup;
    std::vector<float> hx = random_floats(N);
    Float32 x = copy(hx);
    std::vector<double> want(N);
    double total = 0;
    for (uint32_t i = 0; i < N; ++i)
        want[i] = total += hx[i];
    check_lanes(cumsum(x), [&](uint32_t i) { return want[i]; });
    return timed([&] { return cumsum(x); });
}

BENCH("sort permutation", "s") {
    Setup setup;
    std::vector<uint32_t> keys = random_indices(N, 1ull << 32);
    UInt32 k = copy(keys);
    auto make = [&] { return UInt32(sort_permutation(k)); };
    std::vector<uint32_t> order = make().read();
    std::vector<bool> seen(N);
    for (uint32_t i = 0; i < N; ++i) {
        require(order[i] < N && !seen[order[i]], "no permutation at {}", i);
        seen[order[i]] = true;
        require(i == 0 || keys[order[i - 1]] <= keys[order[i]], "out of order at {}", i);
    }
    return timed(make);
}

// ---- Random access

BENCH("gather", "s") {
    Setup setup;
    std::vector<float> hx = random_floats(N);
    std::vector<uint32_t> hindex = random_indices(N, N);
    Float32 x = copy(hx);
    UInt32 index = copy(hindex);
    auto make = [&] { return gather(x, index); };
    check_lanes(make(), [&](uint32_t i) { return hx[hindex[i]]; });
    return timed(make);
}

double scatter_add_row(uint32_t cells) {
    Setup setup;
    std::vector<float> hx = random_floats(N);
    std::vector<uint32_t> hindex = random_indices(N, cells);
    Float32 x = copy(hx), target = opaque(zeros<float>(cells));
    UInt32 index = copy(hindex);

    std::vector<double> want(cells);
    for (uint32_t i = 0; i < N; ++i)
        want[hindex[i]] += hx[i];
    scatter_add(target, x, index);
    std::vector<float> got = target.read();
    for (uint32_t i = 0; i < cells; ++i)
        require(std::abs(got[i] - want[i]) <= 1e-4 * std::max(1.0, want[i]),
                "cell {} is {} and should be {}", i, got[i], want[i]);

    void *memory = setup.context.data(target.id())->data();
    double t = timed([&]() -> const Float32 & {
        scatter_add(target, x, index);
        return target;
    });
    require(setup.context.data(target.id())->data() == memory, "the target was copied");
    return t;
}

BENCH("scatter-add random", "s") { return scatter_add_row(N); }
BENCH("scatter-add 16 cells", "s") { return scatter_add_row(16); }

// The sum of a record's fields: one store a lane, so that the fetch decides.
double record_row(bool packet) {
    Setup setup;
    std::vector<float> hx = random_floats(Records * RecordSize);
    std::vector<uint32_t> hindex = random_indices(Records, Records);
    Float32 x = copy(hx);
    UInt32 index = copy(hindex);
    auto make = [&] {
        std::array<Float32, RecordSize> record;
        if (packet)
            record = gather_packet<float, RecordSize>(x, index);
        else
            for (uint32_t i = 0; i < RecordSize; ++i)
                record[i] = gather(x, index * RecordSize + i);
        Float32 total = record[0];
        for (uint32_t i = 1; i < RecordSize; ++i)
            total = total + record[i];
        return total;
    };
    check_lanes(make(), [&](uint32_t i) {
        double total = 0;
        for (uint32_t k = 0; k < RecordSize; ++k)
            total += hx[hindex[i] * RecordSize + k];
        return total;
    });
    return timed(make);
}

BENCH("packet gather", "s") { return record_row(true); }
BENCH("record by single gathers", "s") { return record_row(false); }

// ---- Calls

struct Item : Instance<Item> {
    virtual Float32 apply(const Float32 &x) const = 0;
    virtual float apply(float x) const = 0;
};

// Classes of distinct code, some 40 to 80 operations each, instances of distinct data.
template <int K> struct ItemOf final : Item {
    float host_scale, host_shift;
    Float32 scale, shift;
    explicit ItemOf(float seed)
        : host_scale(0.5f + 0.001f * seed), host_shift(0.25f + 0.002f * seed),
          scale(opaque(host_scale)), shift(opaque(host_shift)) {}

    template <class F> static F body(F x, const F &scale, const F &shift) {
        using std::sqrt;
        for (int i = 0; i < 10 + K / 2; ++i)
            x = sqrt(x * scale + F(float(K + 1))) * shift + x;
        return x;
    }
    Float32 apply(const Float32 &x) const override { return body(x, scale, shift); }
    float apply(float x) const override { return body(x, host_scale, host_shift); }
};

constexpr int Classes = 20;

template <size_t... K> std::unique_ptr<Item> make_item(uint32_t i, std::index_sequence<K...>) {
    std::unique_ptr<Item> item;
    ((i % Classes == K ? void(item = std::make_unique<ItemOf<int(K)>>(float(i % 997))) : void()),
     ...);
    return item;
}

struct CallRun {
    uint32_t functions;
    double codegen;
};

// A call over all 20 classes; the same lanes and the same results whatever else exists.
struct CallScene {
    Setup setup;
    std::vector<std::unique_ptr<Item>> items;
    std::vector<uint32_t> ids;
    std::vector<float> xs;

    explicit CallScene(uint32_t instances) : xs(random_floats(10'000)) {
        for (uint32_t i = 0; i < instances; ++i)
            items.push_back(make_item(i, std::make_index_sequence<Classes>()));
        for (uint32_t i : random_indices(uint32_t(xs.size()), instances))
            ids.push_back(items[i]->id());
        synchronize();
    }

    std::vector<float> evaluate() const {
        Pointer<Item> self(copy(ids));
        return call(
                   self, [](Item *item, const Float32 &x) { return item->apply(x); }, copy(xs))
            .read();
    }

    void verify(const std::vector<float> &result) const {
        for (size_t i = 0; i < ids.size(); ++i) {
            float want = items[ids[i] - 1]->apply(xs[i]);
            require(result[i] == want, "lane {} is {} and should be {}", i, result[i], want);
        }
    }

    CallRun compile() {
        FlagScope history(Flag::History, true), cache(Flag::KernelCache, false);
        setup.context.take_history();
        verify(evaluate());
        std::vector<KernelRecord> launches = setup.context.take_history();
        require(launches.size() == 1, "{} launches where one was expected", launches.size());
        const KernelRecord &r = launches[0];
        require(!r.memory_hit && !r.disk_hit, "{} was not compiled", r.name);
        require(r.functions == Classes + 1, "{} functions for {} classes", r.functions, Classes);
        return { r.functions, r.codegen_seconds + r.backend_seconds };
    }
};

CallRun best_call(uint32_t instances) {
    CallScene scene(instances);
    CallRun best = scene.compile();
    for (int i = 0; i < 4; ++i)
        best.codegen = std::min(best.codegen, scene.compile().codegen);
    return best;
}

BENCH("call subroutines, 100 to 10000", "x") {
    return double(CallScene(10'000).compile().functions) / CallScene(100).compile().functions;
}
BENCH("call codegen, 100 to 10000", "x") {
    double few = best_call(100).codegen;
    double many = best_call(10'000).codegen;
    return many / std::min(few, best_call(100).codegen);
}

// ---- Closures: as renderers call, without arguments: all operands come from around the call

struct Lobe : Instance<Lobe> {
    Float32 scale, shift;
    explicit Lobe(uint32_t i)
        : scale(opaque(0.5f + 0.0001f * float(i))), shift(opaque(0.25f + 0.0002f * float(i))) {}
    Float32 apply(Float32 x, const Float32 &y) const {
        for (int i = 0; i < 8; ++i) // five operations each
            x = sqrt(x * scale + y) * shift + x * 0.5f;
        return x;
    }
};

double closures(uint32_t instances) {
    Setup setup;
    std::vector<std::unique_ptr<Lobe>> lobes;
    for (uint32_t i = 0; i < instances; ++i)
        lobes.push_back(std::make_unique<Lobe>(i));
    constexpr uint32_t Lanes = 1 << 22;
    Float32 x = copy(random_floats(Lanes)), y = x + 1.f;
    UInt32 ids = copy(random_indices(Lanes, instances)) + 1u;
    eval(x, y, ids);
    return bench::seconds([&] {
        eval(call(Pointer<Lobe>(ids), [&](Lobe *l) { return l->apply(x * y, y); }));
        synchronize();
        require(setup.context.last_program().functions.size() <= 2, "more than one subroutine");
    });
}

BENCH("closures, 1 instance", "s") { return closures(1); }
BENCH("closures, 16 instances", "s") { return closures(16); }
BENCH("closures, 1,000 instances", "s") { return closures(1000); }

// ---- First results

BENCH("interp first result", "s") {
    constexpr uint32_t Operations = 1000;
    double best = 1e300;
    for (int i = 0; i < 5; ++i) {
        Setup setup(interp_backend());
        Chain chain; // its factor makes it a program of which nothing is cached
        Float32 x = copy(chain.x), y = copy(chain.y), z = copy(chain.z);
        synchronize();
        Clock::time_point start = Clock::now();
        std::vector<float> result =
            Chain::record(x * Float32(chain.factor), y, z, Operations).read();
        best = std::min(best, since(start));
        chain.verify(result, Operations);
    }
    return best;
}

// ---- Rows that need a process of their own

struct ChildOutput {
    std::string text;
    double peak_mib; // resident memory at its highest
};

// This program again, with `arguments`, as another process whose kernel cache is `folder`.
ChildOutput run_self(const std::string &folder, std::vector<std::string> arguments) {
    int ends[2];
    require(pipe(ends) == 0, "no pipe");
    std::string program = std::filesystem::read_symlink("/proc/self/exe");
    std::vector<char *> argv{ program.data() };
    for (std::string &a : arguments)
        argv.push_back(a.data());
    argv.push_back(nullptr);
    // The environment is made before the fork: other threads may hold the allocator's locks.
    std::string cache = "UMBEL_CACHE=" + folder;
    std::vector<char *> env{ cache.data() };
    for (char **e = environ; *e; ++e)
        if (std::strncmp(*e, "UMBEL_CACHE=", 12) != 0)
            env.push_back(*e);
    env.push_back(nullptr);

    pid_t child = fork();
    require(child >= 0, "no process");
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execve(program.c_str(), argv.data(), env.data());
        _exit(127);
    }
    close(ends[1]);
    ChildOutput out;
    char chunk[256];
    for (ssize_t n; (n = read(ends[0], chunk, sizeof(chunk))) > 0;)
        out.text.append(chunk, size_t(n));
    close(ends[0]);
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the process ended with status {}: {}",
            status, out.text);
    out.peak_mib = double(usage.ru_maxrss) / 1024;
    return out;
}

// Kernels of arithmetic, a loop, memory operations and a call; prints how many there were, how many
// of them were compiled, and how many came from the disk.
void second_run_child() {
    CallScene scene(100);
    scene.setup.context.set(Flag::History, true);
    scene.verify(scene.evaluate());

    struct State {
        UInt32 i;
        Float32 x;
        UMBEL_STRUCT(i, x)
    };
    UInt32 lane = arange<uint32_t>(1000);
    State s = loop(
        State{ UInt32(0u), Float32(lane) }, [&](const State &s) { return s.i < lane % 7u; },
        [](State &s) {
            s.x = sin(s.x) + 1.f;
            s.i += 1u;
        });
    Float32 bins = opaque(zeros<float>(10));
    scatter_add(bins, s.x, lane % 10u);
    eval(bins, sqrt(s.x));

    uint32_t kernels = 0, compiled = 0, loaded = 0;
    for (const KernelRecord &r : scene.setup.context.take_history()) {
        if (r.backend == "builtin")
            continue;
        kernels += 1;
        compiled += !r.memory_hit && !r.disk_hit;
        loaded += r.disk_hit;
    }
    std::printf("%u %u %u\n", kernels, compiled, loaded);
}

BENCH("second run compiles", "kernels") {
    namespace fs = std::filesystem;
    struct Folder {
        std::string path = (fs::temp_directory_path() / "umbel-bench-XXXXXX").string();
        Folder() { require(mkdtemp(path.data()), "cannot make {}", path); }
        ~Folder() {
            std::error_code ignored;
            fs::remove_all(path, ignored);
        }
    } folder;
    uint32_t compiled[2], loaded[2], kernels[2];
    for (int i = 0; i < 2; ++i) {
        std::string text = run_self(folder.path, { "second-run" }).text;
        require(std::sscanf(text.c_str(), "%u %u %u", &kernels[i], &compiled[i], &loaded[i]) == 3,
                "the process said: {}", text);
    }
    require(compiled[0] > 1 && compiled[0] == kernels[0], "the first run compiled {} of {} kernels",
            compiled[0], kernels[0]);
    require(kernels[1] == kernels[0] && loaded[1] + compiled[1] == kernels[1],
            "the second run loaded {} and compiled {} of {} kernels", loaded[1], compiled[1],
            kernels[0]);
    return compiled[1];
}

BENCH("chain 1000000 memory", "MiB") { return run_self("", { "chain", "1000000" }).peak_mib; }

} // namespace

int main(int argc, char **argv) {
    std::string_view job = argc > 1 ? argv[1] : "";
    try {
        if (job == "second-run")
            second_run_child();
        else if (job == "chain" && argc > 2)
            run_chain(uint32_t(std::atoi(argv[2])));
        else
            return bench::serve();
    } catch (const std::exception &e) {
        std::printf("%s\n", e.what());
        return 1;
    }
    return 0;
}
