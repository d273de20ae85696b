// tests/jit/random_program_test.cpp: random programs give the same results on every backend and under
// every flag.
//
//   UMBEL_FUZZ_COUNT=10000     how many programs (default 500)
//   UMBEL_FUZZ_SEED=17         only this program, under all flags below
//   UMBEL_FUZZ_FIRST=1000      seeds from here on
//   UMBEL_FUZZ_THOROUGH=1      all of them under all flags below
//   UMBEL_FUZZ_VERBOSE=1       name each seed before it runs
//   UMBEL_TEST_BACKENDS=cuda   on that one, too
//   UMBEL_FUZZ_FORK=1          each program in a process of its own: crashes and hangs are shrunk too
#include "support/random_program.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace umbel;
using namespace umbel::test;
using jit::Flag;

namespace {

// Thousands of programs that nobody asks for again must not fill the disk cache.
const int no_disk_cache = setenv("UMBEL_CACHE", "", 1);

uint64_t number_from(const char *variable, uint64_t otherwise) {
    const char *s = std::getenv(variable);
    return s && *s ? std::strtoull(s, nullptr, 0) : otherwise;
}

struct Config {
    const char *backend;
    uint32_t flags;
    const char *unit_weight = "";    // small: functions are cut into many units
    const char *regroup_weight = ""; // small: lanes change packets
    Outcome play(const Plan &plan) const {
        setenv("UMBEL_UNIT_WEIGHT", unit_weight, 1);
        setenv("UMBEL_REGROUP_WEIGHT", regroup_weight, 1);
        return test::play(plan, jit::find_backend(backend), flags);
    }
};

// The plain reference and what is compared with it. Evaluated modes compile a kernel for each step, so
// they run on the interpreter most of the time.
std::vector<Config> configurations(uint64_t seed, bool thorough) {
    constexpr uint32_t Evaluated =
        uint32_t(Flag::RecordLoops) | uint32_t(Flag::RecordIfs) | uint32_t(Flag::RecordCalls);
    auto random = [&](uint64_t salt) { // about a third of the flags off
        uint64_t x = (seed * 16 + salt + 1) * 0x9e3779b97f4a7c15u,
                 y = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
        return jit::DefaultFlags &
               (uint32_t(y >> 32) | uint32_t(y >> 16) | uint32_t(Flag::KernelCache));
    };
    std::vector<Config> list{ { "interp", jit::DefaultFlags },
                              { "llvm", jit::DefaultFlags },
                              { "interp", random(0) },
                              { "interp", random(1) } };
    if (const char *more = std::getenv("UMBEL_TEST_BACKENDS"); more && *more)
        list.push_back({ more, jit::DefaultFlags });
    if (seed % 4 == 0 || thorough)
        list.push_back({ "llvm", random(2) | Evaluated });
    if (seed % 4 == 2 || thorough)
        list.push_back({ "llvm", jit::DefaultFlags & ~uint32_t(Flag::KernelCache), "20", "1" });
    if (seed % 4 == 3 || thorough)
        list.push_back({ "llvm", jit::DefaultFlags & ~uint32_t(Flag::KernelCache), "", "1" });
    if (seed % 16 == 1 || thorough)
        list.push_back({ "llvm", random(3) });
    if (thorough) {
        for (uint32_t i = 0; i < 10; ++i)
            for (const char *backend : { "interp", "llvm" })
                list.push_back({ backend, jit::DefaultFlags & ~(1u << i) });
        list.push_back({ "interp", jit::DefaultFlags & ~Evaluated });
        list.push_back({ "llvm", jit::DefaultFlags & ~Evaluated });
        list.push_back({ "interp", uint32_t(Flag::KernelCache) });
        list.push_back({ "llvm", uint32_t(Flag::KernelCache) | Evaluated });
    }
    return list;
}

std::optional<std::string> compare(const Outcome &reference, const Outcome &other) {
    if (!reference.error.empty())
        return "error: " + reference.error;
    return difference(reference, other);
}

std::optional<std::string> disagreement_here(const Plan &plan, const Config &a, const Config &b) {
    return compare(a.play(plan), b.play(plan));
}

// The same in a child process, whose death is a disagreement. The parent must not have run anything yet:
// threads do not survive a fork.
std::optional<std::string> disagreement_in_child(const Plan &plan, const Config &a,
                                                 const Config &b) {
    int ends[2];
    if (pipe(ends))
        return "no pipe";
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        std::string message = disagreement_here(plan, a, b).value_or("");
        if (write(ends[1], message.data(), message.size()) < 0)
            _exit(1);
        _exit(0);
    }
    close(ends[1]);
    std::string message;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        message.append(buffer, size_t(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? "hangs"
                                           : "dies by signal " + std::to_string(WTERMSIG(status));
    return message.empty() ? std::nullopt : std::optional(message);
}

// Whether all configurations agree with the first; reports the first that does not, shrunk.
bool agree(uint64_t seed, bool thorough) {
    bool forked = number_from("UMBEL_FUZZ_FORK", 0);
    auto disagreement = forked ? disagreement_in_child : disagreement_here;
    const Plan planned = random_plan(seed);
    std::vector<Config> list = configurations(seed, thorough);
    Outcome reference;
    if (!forked)
        reference = list[0].play(planned);
    for (const Config &config : list) {
        bool on_device = jit::find_backend(config.backend).device();
        Plan plan = on_device ? plan_for_devices(planned) : planned;
        auto message = forked || on_device ? disagreement(plan, list[0], config)
                                           : compare(reference, config.play(plan));
        if (!message)
            continue;
        Plan small = shrink(
            plan, [&](const Plan &p) { return disagreement(p, list[0], config).has_value(); },
            double(number_from("UMBEL_FUZZ_SHRINK", 10)));
        auto last = disagreement(small, list[0], config).value_or("gone");
        ADD_FAILURE() << "seed " << seed << ", interp (default) and " << config.backend << " ("
                      << flag_names(config.flags) << (*config.unit_weight ? ", small units" : "")
                      << ")\n"
                      << *message << "\nshrunk to " << active_steps(small) << " of "
                      << active_steps(plan) << " steps: " << last << "\n"
                      << describe(small) << "\nlast kernel:\n"
                      << (forked ? "unknown" : config.play(small).program_text)
                      << "\nreplay with UMBEL_FUZZ_SEED=" << seed;
        return false;
    }
    return true;
}

TEST(SlowRandomProgram, GivesTheSameResultsOnAllBackendsAndUnderAllFlags) {
    bool verbose = number_from("UMBEL_FUZZ_VERBOSE", 0);
    if (const char *s = std::getenv("UMBEL_FUZZ_SEED"); s && *s) {
        uint64_t seed = number_from("UMBEL_FUZZ_SEED", 0);
        if (verbose)
            std::fprintf(stderr, "%s\n", describe(random_plan(seed)).c_str());
        agree(seed, true);
        return;
    }
    bool thorough = number_from("UMBEL_FUZZ_THOROUGH", 0);
    uint64_t first = number_from("UMBEL_FUZZ_FIRST", 1),
             count = number_from("UMBEL_FUZZ_COUNT", 500);
    uint64_t most = number_from("UMBEL_FUZZ_FAILURES", 3), failures = 0;
    for (uint64_t seed = first; seed < first + count && failures < most; ++seed) {
        if (verbose)
            std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
        failures += !agree(seed, thorough);
    }
}

TEST(RandomProgram, IsTheSameForTheSameSeed) {
    EXPECT_EQ(describe(random_plan(5)), describe(random_plan(5)));
    EXPECT_NE(describe(random_plan(5)), describe(random_plan(6)));
}

TEST(RandomProgram, AddsFloatsOnDevicesToo) {
    int scatters = 0, reductions = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        std::istringstream text(describe(plan_for_devices(random_plan(seed))));
        for (std::string line; std::getline(text, line);) {
            auto has = [&](const std::string &part) { return line.find(part) != line.npos; };
            std::string add = std::string(" ") + name(ReduceOp::Add) + " #";
            scatters += has("Scatter f") && has(add);
            reductions += has("Reduce f") && has(add);
        }
    }
    EXPECT_GT(scatters, 10);
    EXPECT_GT(reductions, 0);
}

TEST(RandomProgram, ShrinksToTheStepsThatMatter) {
    Plan plan = random_plan(3);
    auto has_lane = [](const Plan &p) { return describe(p).find("Lane") != std::string::npos; };
    EXPECT_EQ(active_steps(shrink(plan, has_lane, 5)), 1u);
}

} // namespace
