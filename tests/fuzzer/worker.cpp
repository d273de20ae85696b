// tests/fuzzer/worker.cpp: one process that tries damaged files of one sample, until its turn is over, or dies of one.
//
// libFuzzer leads it where there is one: files that reach new code are kept, and damaged further, by its own means and by ours.
// Elsewhere the sample is damaged again and again.
#include "core/variant.h"
#include "fuzz/trial.h"
#include "fuzzer/fuzzer.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

#ifdef UMBEL_LIBFUZZER
extern "C" int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*)(const uint8_t *, size_t));
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
#endif

namespace umbel::test {

namespace fs = std::filesystem;

constexpr int64_t ProgramsOneIn = 100; // files: so much longer does a program take

std::vector<Sample> chosen_samples(const std::string &format) {
    std::vector<Sample> out = samples(/* with_vdb */ !format.empty());
    out.push_back(program_sample());
    std::erase_if(out, [&](const Sample &s) {
        return !format.empty() && s.name != format && !s.name.ends_with("." + format);
    });
    return out;
}

std::string short_hash(const std::string &bytes) {
    char text[17];
    std::snprintf(text, sizeof text, "%08x", unsigned(XXH64(bytes.data(), bytes.size(), 0)));
    return text;
}

namespace {

class Worker {
public:
    Worker(const Options &options, Shared &shared, int number)
        : m_options(options), m_shared(shared), m_slot(shared.slots[number]) {
        std::vector<Sample> all = chosen_samples(options.format);
        uint32_t turn = shared.next_turn++;
        m_sample = all[turn % all.size()];
        m_seed = (options.seed << 20) + turn * uint32_t(shared.turn); // that of the first damage
        bool is_program = m_sample.kind == Sample::Program;
        m_left = is_program ? 1 + shared.turn / ProgramsOneIn : shared.turn;
        std::snprintf(m_slot.sample, sizeof m_slot.sample, "%s", m_sample.name.c_str());
        m_trial.emplace();
    }

    [[noreturn]] void run() {
        attempt(m_sample.bytes);
#ifdef UMBEL_LIBFUZZER
        if (m_sample.kind == Sample::File || m_sample.kind == Sample::Checkpoint)
            run_libfuzzer(); // others have no readers that tell where they are
#endif
        for (;; ++m_seed)
            attempt_damaged(damaged(m_sample, m_sample.bytes, m_seed));
    }

#ifdef UMBEL_LIBFUZZER
    // What libFuzzer asks for.
    static Worker *current;

    size_t mutate(uint8_t *data, size_t size, size_t max_size, uint32_t seed) {
        m_is_damaged = true;
        auto *chars = reinterpret_cast<char *>(data);
        std::string bytes;
        switch (seed % 3) {
        case 0: bytes = damaged(m_sample, { chars, size }, seed / 3); break;
        case 1: // what was kept is refused for the most part, and early
            bytes = damaged(m_sample, m_sample.bytes, seed / 3);
            break;
        default:
            bytes.assign(chars, LLVMFuzzerMutate(data, size, max_size));
            repair_checksum(m_sample, bytes, seed / 3);
        }
        size = std::min(bytes.size(), max_size);
        std::memcpy(data, bytes.data(), size);
        return size;
    }

    void attempt_next(const std::string &bytes) {
        bool is_kept = !std::exchange(m_is_damaged, false); // those are read first
        is_kept ? attempt(bytes) : attempt_damaged(bytes);
    }
#endif

private:
    void attempt_damaged(const std::string &bytes) {
        if (m_shared.stop || m_left-- == 0 || m_shared.left.fetch_sub(1) <= 0)
            end(WorkerIsDone);
        m_slot.runs++;
        attempt(bytes);
    }

    [[noreturn]] void end(int code) {
        m_trial.reset(); // removes its folder
        _exit(code);     // libFuzzer takes exit for a crash
    }

    void attempt(std::string bytes) {
        const auto &variants = trial_variants();
        uint64_t hash = XXH64(bytes.data(), bytes.size(), m_options.seed);
        VariantScope scope(find_variant(variants[hash % variants.size()]));
        bytes.resize(std::min<size_t>(bytes.size(), Slot::MaxBytes));
        std::snprintf(m_slot.variant, sizeof m_slot.variant, "%s", variant().name.c_str());
        std::memcpy(m_slot.bytes, bytes.data(), bytes.size());
        m_slot.size = uint32_t(bytes.size());
        try {
            m_slot.accepted += m_trial->run(m_sample, bytes);
        } catch (const Finding &e) {
            std::snprintf(m_slot.message, sizeof m_slot.message, "%s", e.what());
            end(e.kind == Finding::TooMuchMemory ? WorkerFoundTooMuchMemory
                                                 : WorkerFoundWrongResult);
        }
        m_slot.tries++;
    }

#ifdef UMBEL_LIBFUZZER
    // Crashes, hangs and memory are the fuzzer's: it asks libFuzzer for files, and for nothing else.
    void run_libfuzzer() {
        reached = m_shared.reached;
        current = this;
        fs::path folder = m_options.work / m_sample.name;
        fs::create_directories(folder);
        std::ofstream(folder / short_hash(m_sample.bytes), std::ios::binary) << m_sample.bytes;
        size_t max_bytes = std::max<size_t>(64 << 10, 2 * m_sample.bytes.size());
        std::vector<std::string> words = { "umbel_fuzzer",
                                           "-seed=" + std::to_string(m_seed + 1),
                                           "-max_len=" + std::to_string(max_bytes),
                                           "-verbosity=0",
                                           "-timeout=0",
                                           "-rss_limit_mb=0",
                                           "-detect_leaks=0",
                                           "-exact_artifact_path=/dev/null" };
        for (const char *signal : { "abrt", "bus", "fpe", "ill", "int", "segv", "term", "xfsz" })
            words.push_back(std::string("-handle_") + signal + "=0");
        words.push_back(folder.string());
        std::vector<char *> argv;
        for (std::string &w : words)
            argv.push_back(w.data());
        argv.push_back(nullptr);
        int argc = int(words.size());
        char **arguments = argv.data();
        LLVMFuzzerRunDriver(&argc, &arguments, [](const uint8_t *data, size_t size) {
            current->attempt_next({ reinterpret_cast<const char *>(data), size });
            return 0;
        });
        end(1); // it stops only if something is wrong
    }
#endif

    const Options &m_options;
    Shared &m_shared;
    Slot &m_slot;
    Sample m_sample;
    uint32_t m_seed = 0;
    int64_t m_left = 0;
    bool m_is_damaged = false; // what libFuzzer tries next
    std::optional<Trial> m_trial;
};

#ifdef UMBEL_LIBFUZZER
Worker *Worker::current = nullptr;
#endif

} // namespace

void run_worker(const Options &options, Shared &shared, int number) {
    Worker(options, shared, number).run();
}

} // namespace umbel::test

#ifdef UMBEL_LIBFUZZER
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                          unsigned seed) {
    return umbel::test::Worker::current->mutate(data, size, max_size, seed);
}
#endif
