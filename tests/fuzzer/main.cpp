// tests/fuzzer/main.cpp: `./umbel fuzz`: damages files of all kinds and tries them, led by what they make the readers do.
//
//     umbel_fuzzer --corpus FOLDER --work FOLDER [--minutes N] [--count N] [--format NAME] [--seed N] [--jobs N]
//
// Files are tried by processes of their own, one kind after the other. One that dies, takes more than 10 s of computing for a
// file, needs memory out of all proportion, or finds a result that is wrong, leaves its file in the corpus, and another one
// takes its place.
#include "fuzzer/fuzzer.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace umbel::test;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double HangSeconds = 10, HangWallSeconds = 120; // of computing; of waiting
constexpr int MostDeaths = 200;
constexpr rlim_t AddressSpace = rlim_t(16) << 30;

volatile std::sig_atomic_t interrupted = 0;

double since(Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
}

double cpu_seconds(pid_t pid) {
    clockid_t clock;
    timespec t{};
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
        return 0;
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct Process {
    pid_t pid = 0;
    uint64_t first = 0, tries = 0; // when it began, and when it was last seen to make progress ...
    double cpu = 0;
    Clock::time_point time;
    bool hangs = false;
};

class Fuzzer {
public:
    Fuzzer(const Options &options, Shared &shared, const std::string &file)
        : m_options(options), m_shared(shared), m_file(file), m_processes(size_t(options.jobs)) {
        m_shared.left = options.count > 0 ? options.count : int64_t(1) << 62;
        // All kinds within a minute, or several times within a number; more at once needs fewer processes
        int64_t kinds = int64_t(chosen_samples(options.format).size());
        m_shared.turn =
            options.count > 0 ? std::clamp<int64_t>(options.count / kinds / 2, 50, 2000) : 300;
        m_shared.next_turn = options.seed;
    }

    int run() {
        for (size_t i = 0; i < m_processes.size(); ++i)
            start(i);
        Clock::time_point said = Clock::now();
        for (bool alive = true; alive;) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (interrupted || (m_options.minutes > 0 && since(m_begun) > 60 * m_options.minutes))
                m_shared.stop = true;
            alive = false;
            for (size_t i = 0; i < m_processes.size(); ++i)
                alive |= look_after(i);
            if (since(said) > 30) {
                said = Clock::now();
                std::fprintf(stderr, "fuzz: %llu after %.0f s, %zu places, %zu findings\n",
                             total(&Slot::runs), since(m_begun), places(), m_found.size());
            }
        }
        return summary();
    }

private:
    void start(size_t i) {
        Process &p = m_processes[i];
        p = {};
        p.time = Clock::now();
        p.first = p.tries = m_shared.slots[i].tries;
        std::string number = std::to_string(i), seed = std::to_string(m_options.seed),
                    work = m_options.work.string();
        p.pid = fork();
        if (p.pid == 0) {
            // A terminal sends Ctrl-C to all: the fuzzer says when to stop
            std::signal(SIGINT, SIG_IGN);
            std::signal(SIGTERM, SIG_IGN);
            rlimit limit{ AddressSpace, AddressSpace };
#ifndef UMBEL_SANITIZED // whose shadow takes terabytes
            setrlimit(RLIMIT_AS, &limit);
#endif
            limit = {};
            setrlimit(RLIMIT_CORE, &limit);
            std::freopen("/dev/null", "w", stdout);
            if (!std::getenv("UMBEL_FUZZ_VERBOSE"))
                std::freopen("/dev/null", "w", stderr); // warnings, and the last words of others
            execl("/proc/self/exe", "umbel_fuzzer", "--worker", number.c_str(), "--shared",
                  m_file.c_str(), "--seed", seed.c_str(), "--format", m_options.format.c_str(),
                  "--work", work.c_str(), nullptr);
            _exit(127);
        }
    }

    /// Whether there is still a worker in its place.
    bool look_after(size_t i) {
        Process &p = m_processes[i];
        if (p.pid == 0)
            return false;
        int status = 0;
        if (waitpid(p.pid, &status, WNOHANG) == p.pid) {
            bool done = WIFEXITED(status) && WEXITSTATUS(status) == WorkerIsDone;
            if (!done)
                note(i, status);
            p.pid = 0;
            if (m_shared.left <= 0 || m_shared.stop || m_deaths > MostDeaths)
                return false;
            start(i);
            return true;
        }
        uint64_t tries = m_shared.slots[i].tries;
        double cpu = cpu_seconds(p.pid);
        if (tries != p.tries) {
            p.tries = tries;
            p.cpu = cpu;
            p.time = Clock::now();
        } else if (cpu - p.cpu > HangSeconds + (p.tries == p.first ? 30 : 0) ||
                   since(p.time) > HangWallSeconds) {
            p.hangs = true;
            kill(p.pid, SIGKILL);
        }
        return true;
    }

    // What a worker died of goes to the corpus.
    void note(size_t i, int status) {
        const Slot &s = m_shared.slots[i];
        std::string kind = "crash", what;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        if (m_processes[i].hangs)
            kind = "hang", what = "more than 10 s";
        else if (code == WorkerFoundWrongResult || code == WorkerFoundTooMuchMemory)
            kind = code == WorkerFoundWrongResult ? "wrong" : "memory", what = s.message;
        else if (code)
            what = "exit code " + std::to_string(code);
        else
            what = std::string("signal ") + strsignal(WTERMSIG(status));
        std::string bytes(s.bytes, s.size);
        m_kinds[kind]++;
        m_deaths++;
        std::filesystem::create_directories(m_options.corpus);
        std::filesystem::path file =
            m_options.corpus / (std::string(s.sample) + "." + short_hash(bytes));
        std::ofstream(file, std::ios::binary) << bytes;
        m_found.insert(file.string());
        std::fprintf(stderr, "fuzz: %s: %s (%s): %s\n", kind.c_str(), file.c_str(), s.variant,
                     what.c_str());
    }

    unsigned long long total(std::atomic<uint64_t> Slot::*number) const {
        unsigned long long sum = 0;
        for (size_t i = 0; i < m_processes.size(); ++i)
            sum += m_shared.slots[i].*number;
        return sum;
    }
    size_t places() const {
        return Shared::Places - size_t(std::count(m_shared.reached, std::end(m_shared.reached), 0));
    }

    int summary() {
        std::printf("fuzz: %llu mutations of %zu samples in %.0f s (seed %u): %llu accepted, %zu "
                    "places; crashes %d, hangs %d, over memory %d, wrong %d\n",
                    total(&Slot::runs), chosen_samples(m_options.format).size(), since(m_begun),
                    m_options.seed, total(&Slot::accepted), places(), m_kinds["crash"],
                    m_kinds["hang"], m_kinds["memory"], m_kinds["wrong"]);
        return m_found.empty() ? 0 : 1;
    }

    const Options &m_options;
    Shared &m_shared;
    const std::string m_file;
    std::vector<Process> m_processes;
    std::map<std::string, int> m_kinds;
    int m_deaths = 0;
    std::set<std::string> m_found;
    Clock::time_point m_begun = Clock::now();
};

Shared *map_shared(const std::string &file, bool create) {
    FILE *f = std::fopen(file.c_str(), create ? "w+b" : "r+b");
    if (!f || (create && ftruncate(fileno(f), sizeof(Shared))))
        return nullptr;
    void *p = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
    std::fclose(f);
    return p == MAP_FAILED ? nullptr : static_cast<Shared *>(p);
}

int misuse(const std::string &what) {
    std::fprintf(stderr,
                 "umbel fuzz: %s\nusage: ./umbel fuzz [--minutes N] [--count N] [--format NAME] "
                 "[--seed N]\n",
                 what.c_str());
    return 2;
}

} // namespace

int main(int argc, char **argv) {
    setenv("UMBEL_CACHE", "", 1);    // thousands of programs that nobody asks for again
    setenv("UMBEL_THREADS", "1", 0); // a worker a core
    Options options;
    std::string shared_file;
    int worker = -1;
    for (int i = 1; i < argc; i += 2) {
        std::string name = argv[i];
        if (i + 1 == argc)
            return misuse(name + " needs a value");
        const char *value = argv[i + 1];
        char *end = nullptr;
        double number = std::strtod(value, &end);
        bool is_number = end != value && !*end && number >= 0;
        if (name == "--format")
            options.format = value;
        else if (name == "--corpus")
            options.corpus = value;
        else if (name == "--work")
            options.work = value;
        else if (name == "--shared")
            shared_file = value;
        else if (!is_number)
            return misuse(name + " " + value + ": not a number");
        else if (name == "--minutes")
            options.minutes = number;
        else if (name == "--count")
            options.count = int64_t(number);
        else if (name == "--seed")
            options.seed = uint32_t(number);
        else if (name == "--jobs")
            options.jobs = std::clamp(int(number), 1, Shared::MaxWorkers);
        else if (name == "--worker")
            worker = int(number);
        else
            return misuse("unknown option " + name);
    }
    if (worker >= 0) {
        Shared *shared = map_shared(shared_file, false);
        if (shared)
            run_worker(options, *shared, worker);
        return 1;
    }
    if (options.count == 0 && options.minutes == 0)
        options.minutes = 1;
    if (options.corpus.empty() || options.work.empty())
        return misuse("--corpus or --work is missing");
    if (!options.format.empty() && chosen_samples(options.format).empty()) {
        std::string names;
        for (const Sample &s : chosen_samples(""))
            names += " " + s.name;
        return misuse("--format " + options.format + ": there are" + names);
    }
    shared_file =
        (std::filesystem::temp_directory_path() / ("umbel-fuzz-shared-" + std::to_string(getpid())))
            .string();
    Shared *shared = map_shared(shared_file, true);
    if (!shared)
        return misuse("cannot make " + shared_file);
    std::signal(SIGINT, [](int) { interrupted = 1; });
    std::signal(SIGTERM, [](int) { interrupted = 1; });
    int code = Fuzzer(options, *shared, shared_file).run();
    std::filesystem::remove(shared_file);
    return code;
}
