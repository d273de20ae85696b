// jit/cuda/kernel_log.cpp: see jit/cuda/kernel_log.h.
#include "jit/cuda/kernel_log.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/error.h"
#include "jit/launch_log.h"
#include <algorithm>
#include <cstring>

namespace umbel::jit::cuda {

namespace {

template <class T> T read(const char *from) {
    T v;
    std::memcpy(&v, from, sizeof(v));
    return v;
}

struct Record {
    uint64_t lane;
    uint32_t site;
    const char *inputs; // 8 bytes each
};

void carry_out(const Record &r, const ExternSite &site, LaunchLog &log) {
    int32_t mask = -1;
    const char *from = r.inputs + (site.kind == ExternSite::Function ? 16 : 0);
    std::string frame; // one lane's inputs, end to end
    for (Type t : site.in_types) {
        frame.append(from, bytes(t));
        from += 8;
    }
    if (site.kind == ExternSite::Print)
        return log.print(r.site, r.lane, 1, &mask, frame.data());
    auto fn = reinterpret_cast<ExternFn>(read<uint64_t>(r.inputs));
    fn(reinterpret_cast<void *>(read<uint64_t>(r.inputs + 8)), r.lane, 1, &mask, frame.data());
}

// That there are more than what `log` was told.
void tell_missing(uint32_t site, uint64_t count, LaunchLog &log) {
    if (auto *collecting = dynamic_cast<CollectingLog *>(&log); collecting && count)
        collecting->missed(site, count);
}

void tell_failures(uint32_t site, const ptx::LogTally &tally, LaunchLog &log) {
    if (!tally.first_lane)
        return;
    int32_t mask = -1;
    log.assertion(site, uint32_t(~tally.first_lane), 1, &mask);
    tell_missing(site, std::max(tally.count, 1u) - 1, log); // 0 if it has wrapped around
}

} // namespace

LaunchedLog::LaunchedLog(CudaDevice &device, uint64_t address, const std::vector<ExternSite> &sites)
    : m_device(device), m_address(address), m_sites(sites), m_end(device) {
    uint64_t bytes = ptx::log_header_bytes(sites.size());
    if (bytes <= CudaDevice::PinnedBytes) {
        m_head = device.allocate_pinned();
        need(driver().download(m_head, address, bytes, device.stream()), "reading a log");
    }
    m_end.record();
}

LaunchedLog::~LaunchedLog() {
    if (m_head)
        m_device.free_pinned(m_head);
}

void LaunchedLog::deliver(LaunchLog &log) const {
    CudaDevice &device = m_device;
    const std::vector<ExternSite> &sites = m_sites;
    uint64_t address = m_address;
    std::string head(ptx::log_header_bytes(sites.size()), 0);
    m_end.wait();
    if (m_head)
        std::memcpy(head.data(), m_head, head.size());
    else
        device.download(head.data(), address, head.size());
    auto header = read<ptx::LogHeader>(head.data());
    std::vector<uint32_t> missing(sites.size()); // modulo 2^32, as they are counted
    uint64_t wanted = 0;
    for (size_t s = 0; s < sites.size(); ++s) {
        auto tally = read<ptx::LogTally>(head.data() + sizeof(header) + sizeof(ptx::LogTally) * s);
        if (sites[s].kind == ExternSite::Assert)
            tell_failures(uint32_t(s), tally, log);
        else
            wanted += missing[s] = tally.count;
    }
    if (!wanted && !header.used)
        return;
    std::string text(std::min(header.used, header.capacity), 0);
    device.download(text.data(), address + head.size(), text.size());
    std::vector<Record> records;
    for (size_t at = 0; at + ptx::LogRecordBytes <= text.size();) {
        const char *p = text.data() + at;
        uint32_t site = read<uint32_t>(p), bytes = read<uint32_t>(p + 4);
        if (site >= sites.size() || bytes < ptx::LogRecordBytes || at + bytes > text.size())
            break; // the last one found no room
        records.push_back({ read<uint64_t>(p + 8), site, p + ptx::LogRecordBytes });
        --missing[site];
        at += bytes;
    }
    std::stable_sort(records.begin(), records.end(),
                     [](const Record &a, const Record &b) { return a.lane < b.lane; });
    for (const Record &r : records)
        carry_out(r, sites[r.site], log);
    for (size_t s = 0; s < sites.size(); ++s)
        tell_missing(uint32_t(s), missing[s], log);
}

} // namespace umbel::jit::cuda
