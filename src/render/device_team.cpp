// render/device_team.cpp: see render/device_team.h.
#include "render/device_team.h"
#include "core/device_choice.h"

namespace umbel {

namespace {
constexpr size_t MostUnderWay = 2; // launches of a device, and results that nobody has taken yet
} // namespace

DeviceTeam::DeviceTeam(std::vector<int> devices, std::function<Member()> make)
    : m_devices(std::move(devices)), m_make(std::move(make)) {
    m_workers.resize(m_devices.size() - 1);
    try {
        for (size_t k = 1; k < m_devices.size(); ++k)
            m_workers[k - 1].thread = std::thread([this, k] { work(k); });
    } catch (const std::system_error &e) {
        stop();
        throw DeviceError(fmt::format("a thread for a device cannot be made: {}; raise the "
                                      "process's limits of threads and memory (ulimit), or name "
                                      "fewer devices",
                                      e.what()));
    }
}

DeviceTeam::~DeviceTeam() { stop(); }

void DeviceTeam::stop() {
    {
        std::lock_guard lock(m_mutex);
        m_stops = true;
    }
    m_changed.notify_all();
    for (Worker &w : m_workers)
        if (w.thread.joinable())
            w.thread.join();
}

void DeviceTeam::share(Render &render) {
    render.share(m_devices.size(), [this](const Render &r) { return next(r); });
}

void DeviceTeam::work(size_t number) noexcept {
    try {
        set_device(m_devices[number]);
        run(number, m_make());
    } catch (...) {
        std::lock_guard lock(m_mutex);
        m_workers[number - 1].error = std::current_exception();
        m_changed.notify_all();
    }
}

void DeviceTeam::run(size_t number, const Member &member) {
    VariantScope scope(member.scene->scene_variant());
    Render render(*member.scene, member.options);
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_stops || m_start; });
        if (m_stops)
            return;
        render.follow(*m_start);
    }
    std::deque<std::vector<Float>> under_way;
    auto deliver_first = [&] {
        bool goes_on = deliver(number, under_way.front());
        under_way.pop_front();
        return goes_on;
    };
    for (uint64_t launch = 0; !render.done(); ++launch) {
        if (launch % m_devices.size() != number) {
            render.skip();
            continue;
        }
        under_way.push_back(render.compute());
        if (under_way.size() == MostUnderWay && !deliver_first())
            return;
    }
    while (!under_way.empty())
        if (!deliver_first())
            return;
}

bool DeviceTeam::deliver(size_t number, const std::vector<Float> &results) {
    Render::Numbers numbers;
    for (const Float &v : results) {
        std::vector<char> &bytes = numbers.emplace_back(v.size() * jit::bytes(v.type()));
        jit::read(v, bytes.data(), 0, v.size());
    }
    Worker &w = m_workers[number - 1];
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_stops || w.results.size() < MostUnderWay; });
    w.results.push_back(std::move(numbers));
    m_changed.notify_all();
    return !m_stops;
}

std::optional<Render::Numbers> DeviceTeam::next(const Render &render) {
    std::unique_lock lock(m_mutex);
    if (!m_start) {
        m_start = render.position();
        m_changed.notify_all();
    }
    size_t number = m_launch++ % m_devices.size();
    if (number == 0)
        return std::nullopt;
    Worker &w = m_workers[number - 1];
    m_changed.wait(lock, [&] { return w.error || !w.results.empty(); });
    if (w.results.empty())
        std::rethrow_exception(w.error);
    Render::Numbers numbers = std::move(w.results.front());
    w.results.pop_front();
    m_changed.notify_all();
    return numbers;
}

} // namespace umbel
