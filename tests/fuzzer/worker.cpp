// tests/fuzzer/worker.cpp: one process that tries damaged files, until it is told to stop, or dies of one.
#include "core/variant.h"
#include "fuzz/trial.h"
#include "fuzzer/coverage.h"
#include "fuzzer/fuzzer.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <xxhash.h>

namespace umbel::test {

namespace fs = std::filesystem;

constexpr size_t MaxPool = 400;           // files a sample that reached something new ...
constexpr size_t MaxPoolBytes = 64 << 10; // ... if they are no longer than this
constexpr uint32_t ProgramsOneIn = 8; // rounds: a program takes a hundred times as long as a file

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

/// A sample, and what its damage has led to.
struct Pool {
    Sample sample;
    std::vector<std::string> files;
};

class Worker {
public:
    Worker(const Options &options, Shared &shared, int number)
        : m_options(options), m_shared(shared), m_slot(shared.slots[number]),
          m_random(options.seed) {
        for (Sample &s : chosen_samples(options.format))
            m_pools.push_back({ s, { s.bytes } });
    }

    int run() {
        warm_up();
        while (!m_shared.stop) {
            if (m_shared.left.fetch_sub(1) <= 0)
                break;
            uint32_t seed = m_shared.next_seed++;
            size_t count = m_pools.size(), round = seed / count;
            Pool &pool = m_pools[seed % count];
            if (pool.sample.kind == Sample::Program && count > 1 && round % ProgramsOneIn) {
                m_shared.left++;
                continue;
            }
            m_random.seed(seed);
            if (int code = attempt(pool, make(pool, seed), round); code != WorkerIsDone)
                return code;
            m_slot.runs++;
        }
        return WorkerIsDone;
    }

private:
    // What earlier workers and runs have reached is not new.
    void warm_up() {
        for (Pool &p : m_pools) {
            begin_coverage();
            attempt(p, p.sample.bytes, 0);
            if (m_options.work.empty() || !fs::exists(m_options.work / p.sample.name))
                continue;
            for (const auto &entry : fs::directory_iterator(m_options.work / p.sample.name))
                if (p.files.size() < MaxPool && !m_shared.stop)
                    attempt(p, read_whole(entry.path()), 0);
        }
    }

    std::string make(const Pool &pool, uint32_t seed) {
        std::string bytes = pool.files[m_random() % pool.files.size()];
        if (m_random() % 8 == 0 &&
            pool.files.size() > 1) { // the beginning of one, the end of another
            const std::string &other = pool.files[m_random() % pool.files.size()];
            size_t at = m_random() % (std::min(bytes.size(), other.size()) + 1);
            bytes = bytes.substr(0, at) + other.substr(at);
        }
        if (m_random() % 3 == 0 && pool.sample.kind != Sample::Program)
            use_comparison(bytes, m_random);
        return damaged(pool.sample, bytes, seed);
    }

    int attempt(Pool &pool, std::string bytes, size_t round) {
        const auto &variants = trial_variants();
        VariantScope scope(find_variant(variants[round % variants.size()]));
        bytes.resize(std::min<size_t>(bytes.size(), Slot::MaxBytes));
        std::snprintf(m_slot.sample, sizeof m_slot.sample, "%s", pool.sample.name.c_str());
        std::snprintf(m_slot.variant, sizeof m_slot.variant, "%s", variant().name.c_str());
        std::memcpy(m_slot.bytes, bytes.data(), bytes.size());
        m_slot.size = uint32_t(bytes.size());
        begin_coverage();
        try {
            m_slot.accepted += m_trial.run(pool.sample, bytes);
        } catch (const Finding &e) {
            std::snprintf(m_slot.message, sizeof m_slot.message, "%s", e.what());
            return e.kind == Finding::TooMuchMemory ? WorkerFoundTooMuchMemory
                                                    : WorkerFoundWrongResult;
        }
        if (end_coverage() && bytes.size() <= MaxPoolBytes && pool.files.size() < MaxPool)
            keep(pool, bytes);
        m_slot.places = covered_places();
        return WorkerIsDone;
    }

    void keep(Pool &pool, const std::string &bytes) {
        pool.files.push_back(bytes);
        m_slot.kept++;
        if (m_options.work.empty())
            return;
        fs::create_directories(m_options.work / pool.sample.name);
        fs::path file = m_options.work / pool.sample.name / short_hash(bytes);
        if (!fs::exists(file))
            std::ofstream(file, std::ios::binary) << bytes;
    }

    const Options &m_options;
    Shared &m_shared;
    Slot &m_slot;
    std::mt19937 m_random;
    Trial m_trial;
    std::vector<Pool> m_pools;
};

} // namespace

int run_worker(const Options &options, Shared &shared, int number) {
    return Worker(options, shared, number).run();
}

} // namespace umbel::test
