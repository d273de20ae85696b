// jit/launch_log.cpp: formatting of kernel-side messages.
#include "jit/launch_log.h"
#include "jit/error.h"
#include "jit/value.h"
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

namespace umbel::jit {

namespace {
std::mutex g_sink_mutex;
std::function<void(const std::string &)> g_sink;

template <class T> T element(const void *array, uint32_t i) {
    T v;
    std::memcpy(&v, static_cast<const char *>(array) + i * sizeof(T), sizeof(T));
    return v;
}

std::string format_element(Type t, const void *array, uint32_t i) {
    switch (t) {
    case Type::Bool: return element<uint8_t>(array, i) ? "true" : "false";
    case Type::I8: return fmt::format("{}", int(element<int8_t>(array, i)));
    case Type::U8: return fmt::format("{}", int(element<uint8_t>(array, i)));
    case Type::I16: return fmt::format("{}", element<int16_t>(array, i));
    case Type::U16: return fmt::format("{}", element<uint16_t>(array, i));
    case Type::I32: return fmt::format("{}", element<int32_t>(array, i));
    case Type::U32: return fmt::format("{}", element<uint32_t>(array, i));
    case Type::I64: return fmt::format("{}", element<int64_t>(array, i));
    case Type::U64: return fmt::format("{}", element<uint64_t>(array, i));
    case Type::F16: return fmt::format("{}", half_to_float(element<uint16_t>(array, i)));
    case Type::F32: return fmt::format("{}", element<float>(array, i));
    case Type::F64: return fmt::format("{}", element<double>(array, i));
    case Type::Ptr: return fmt::format("{:#x}", element<uint64_t>(array, i));
    case Type::Void: break;
    }
    return "?";
}

std::mutex g_missed_mutex;
using TellMissed = void (*)(uint64_t);
std::map<std::string, TellMissed> &tellers() {
    static auto *map = new std::map<std::string, TellMissed>; // kernels may outlive static objects
    return *map;
}
TellMissed teller_of(const std::string &name) {
    std::lock_guard lock(g_missed_mutex);
    auto it = tellers().find(name);
    return it == tellers().end() ? nullptr : it->second;
}
} // namespace

void allow_missed_calls(const std::string &name, void (*tell)(uint64_t)) {
    std::lock_guard lock(g_missed_mutex);
    tellers()[name] = tell;
}

void set_print_sink(std::function<void(const std::string &)> sink) {
    std::lock_guard lock(g_sink_mutex);
    g_sink = std::move(sink);
}

void CollectingLog::print(uint32_t site, uint64_t first_lane, uint32_t lanes, const int32_t *mask,
                          const void *frame) {
    const ExternSite &s = m_sites[site];
    std::lock_guard lock(m_mutex);
    for (uint32_t i = 0; i < lanes; ++i) {
        if (!mask[i])
            continue;
        std::string text;
        auto *array = static_cast<const char *>(frame);
        size_t next = 0;
        for (size_t p = 0; p < s.text.size(); ++p) {
            if (s.text.compare(p, 2, "{}") == 0 && next < s.in_types.size()) {
                text += format_element(s.in_types[next], array, i);
                array += size_t(lanes) * bytes(s.in_types[next]);
                ++next;
                ++p;
            } else {
                text += s.text[p];
            }
        }
        m_lines.push_back({ first_lane + i, std::move(text) });
    }
    if (m_lines.size() >= 2 * MostLines)
        drop_last_lanes();
}

// In the order of lanes, and no more than are shown; which ones does not depend on threads.
void CollectingLog::drop_last_lanes() {
    std::stable_sort(m_lines.begin(), m_lines.end(),
                     [](const Line &a, const Line &b) { return a.lane < b.lane; });
    if (m_lines.size() <= MostLines)
        return;
    m_dropped += m_lines.size() - MostLines;
    m_lines.resize(MostLines);
}

void CollectingLog::assertion(uint32_t site, uint64_t first_lane, uint32_t lanes,
                              const int32_t *mask) {
    std::lock_guard lock(m_mutex);
    for (uint32_t i = 0; i < lanes; ++i) {
        if (!mask[i])
            continue;
        ++m_failures;
        if (first_lane + i < m_failed_lane) {
            m_failed_lane = first_lane + i;
            m_failed_site = site;
        }
    }
}

void CollectingLog::missed(uint32_t site, uint64_t count) {
    if (!count)
        return;
    const ExternSite &s = m_sites[site];
    TellMissed tell = s.kind == ExternSite::Function ? teller_of(s.text) : nullptr;
    if (tell)
        return tell(count);
    std::lock_guard lock(m_mutex);
    if (s.kind == ExternSite::Print)
        m_dropped += count;
    else if (s.kind == ExternSite::Assert)
        m_failures += count;
    else if (m_missed.empty())
        m_missed =
            fmt::format("{} calls of the function \"{}\" of the host found no room in the log of "
                        "a kernel: launches of fewer lanes have room for all of theirs",
                        count, s.text);
}

void CollectingLog::error(const std::string &message) {
    std::lock_guard lock(m_mutex);
    if (!m_error.empty())
        m_error += '\n';
    m_error += message;
}

void CollectingLog::finish() {
    drop_last_lanes();
    if (m_dropped)
        m_lines.push_back({ ~0ull, fmt::format("({} more lines are not shown)", m_dropped) });
    {
        std::lock_guard lock(g_sink_mutex);
        for (const Line &l : m_lines) {
            if (g_sink)
                g_sink(l.text);
            else
                std::printf("%s\n", l.text.c_str());
        }
    }
    if (m_failed_lane != ~0ull)
        throw UserError(fmt::format("assertion failed in lane {} ({} in all): {}", m_failed_lane,
                                    m_failures, m_sites[m_failed_site].text));
    if (!m_error.empty())
        throw UserError(m_error);
    if (!m_missed.empty())
        throw DeviceError(m_missed);
}

} // namespace umbel::jit
