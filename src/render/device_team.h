// render/device_team.h: one image by several devices.
//
// Launches of a render go to the devices in turn. Each further device has a thread, a scene and a Render of its own, made like the one
// that collects; what they compute comes to it as numbers of the host and is added to the film in the order of launches. So the image
// has the bits that one of these devices alone would give it.
#pragma once
#include "render/driver.h"
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace umbel {

class DeviceTeam {
public:
    struct Member {
        Ref<Scene> scene;
        RenderOptions options;
    };
    /// `devices` (see core/device_choice.h): the first is the caller's. `make` is called on the thread of each further one and loads what is to be
    /// rendered there.
    DeviceTeam(std::vector<int> devices, std::function<Member()> make);
    /// Waits for launches that are under way.
    ~DeviceTeam();
    DeviceTeam(const DeviceTeam &) = delete;

    /// The team takes part in all further launches of the render, which it must outlive. UserError if these cannot be divided.
    void share(Render &render);

private:
    struct Worker {
        std::thread thread;
        std::deque<Render::Numbers> results; // the first launches first
        std::exception_ptr error;
    };
    void stop();
    void work(size_t number) noexcept;
    void run(size_t number, const Member &member);
    bool deliver(size_t number, const std::vector<Float> &results);
    std::optional<Render::Numbers> next(const Render &render);

    const std::vector<int> m_devices;
    const std::function<Member()> m_make;
    std::mutex m_mutex; // guards all below
    std::condition_variable m_changed;
    std::deque<Worker> m_workers; // of devices from the second on
    std::optional<Render::Position> m_start;
    uint64_t m_launch = 0; // since then
    bool m_stops = false;
};

} // namespace umbel
