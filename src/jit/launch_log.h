// jit/launch_log.h: messages and failed assertions of one launch, shown in the order of lanes.
#pragma once
#include "jit/backend.h"
#include <functional>
#include <mutex>

namespace umbel::jit {

class CollectingLog final : public LaunchLog {
public:
    explicit CollectingLog(const std::vector<ExternSite> &sites) : m_sites(sites) {}

    void print(uint32_t site, uint64_t first_lane, uint32_t lanes, const int32_t *mask,
               const void *frame) override;
    void assertion(uint32_t site, uint64_t first_lane, uint32_t lanes,
                   const int32_t *mask) override;
    void error(const std::string &message) override;
    /// So many more messages or failures of a site, of which nothing else is known.
    void missed(uint32_t site, uint64_t count);

    /// Shows what was printed; throws UserError for the first failed lane, DeviceError for calls that were missed.
    void finish();

    /// Lines that are shown, at most: those of the first lanes.
    static constexpr size_t MostLines = 100'000;

private:
    struct Line {
        uint64_t lane;
        std::string text;
    };
    void drop_last_lanes();

    const std::vector<ExternSite> &m_sites;
    std::mutex m_mutex;
    std::vector<Line> m_lines; // of one lane: in program order
    uint64_t m_dropped = 0;
    uint64_t m_failed_lane = ~0ull, m_failures = 0;
    uint32_t m_failed_site = 0;
    std::string m_error, m_missed;
};

/// A device carries out calls of host functions that return nothing when a kernel has ended, those that its log had room for. Functions
/// that merely count may be told of the others: `tell` how many calls of functions of that name were missed, from any thread. Where
/// nobody is told, the launch fails.
void allow_missed_calls(const std::string &name, void (*tell)(uint64_t count));

/// Where kernel-side print() goes; by default standard output. Null: default.
void set_print_sink(std::function<void(const std::string &)> sink);

} // namespace umbel::jit
