// cli/render_run.cpp: the loop around a render.
#include "cli/render_run.h"
#include "cli/progress.h"
#include "core/file_text.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>

namespace umbel {

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
}

// What signals ask for is done between two launches.
volatile std::sig_atomic_t g_stop = 0, g_hang_ups = 0;
std::atomic<int> g_renders{ 0 }; // under way
struct UnderWay {
    UnderWay() { ++g_renders; }
    ~UnderWay() { --g_renders; }
};

void write_checkpoint(const std::string &file, const Render &render) {
    std::string bytes = render.save(), temporary = file + ".new";
    std::unique_ptr<FILE, int (*)(FILE *)> f(std::fopen(temporary.c_str(), "wb"), &std::fclose);
    bool ok = f && std::fwrite(bytes.data(), 1, bytes.size(), f.get()) == bytes.size() &&
              std::fflush(f.get()) == 0;
    if (!ok)
        throw DeviceError(
            fmt::format("{}: the checkpoint cannot be written: {}", file, std::strerror(errno)));
    f.reset();
    std::filesystem::rename(temporary, file); // whoever kills us finds the old one or the new one
}

// New kernels since the last call.
void report_kernels(const std::string &title, const Variant &v) {
    for (const jit::KernelRecord &r : v.context().take_history()) {
        if (r.memory_hit || r.operations == 0)
            continue;
        std::string how = r.disk_hit ? "read from the cache"
                                     : fmt::format("compiled in {:.2f} s", r.backend_seconds);
        fmt::print(stderr, "{}: {}: {} operations, {} functions, {} kB, {}\n", title, r.name,
                   r.operations, r.functions, r.code_bytes / 1024, how);
    }
}

} // namespace

void install_signal_handlers() {
    auto stop = [](int) {
        if (g_stop || g_renders == 0) // while scenes are loaded, there is nothing to save
            std::_Exit(130);
        g_stop = 1;
    };
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    std::signal(SIGHUP, [](int) { g_hang_ups = g_hang_ups + 1; });
}

bool stop_requested() { return g_stop; }

void run_render(const RunOptions &o, Render &render, const Sensor &sensor, const std::string &title,
                const std::filesystem::path &out) {
    UnderWay counted;
    bool has_checkpoint = !o.checkpoint.empty();
    if (has_checkpoint && std::filesystem::exists(o.checkpoint)) {
        render.restore(read_text_file(o.checkpoint));
        if (!o.quiet)
            fmt::print(stderr, "umbel: going on from {}, at {:.0f} %\n", o.checkpoint,
                       render.progress() * 100);
    }
    using Show = Progress::Show;
    Show show = o.quiet ? Show::Nothing : o.no_progress ? Show::Result : Show::All;
    Progress progress(title, render.total_samples(), show, render.progress());
    auto start = Clock::now(), written = start, saved = start;
    int hang_ups = g_hang_ups;
    bool good_enough = false;
    while (!render.stopped() && !g_stop) {
        render.step();
        render.wait();
        progress.update(render.progress());
        if (o.verbose)
            report_kernels(title, variant());
        if (o.target_error > 0 && render.at_full_group() &&
            render.relative_error() <= o.target_error) {
            good_enough = true;
            break;
        }
        if (g_stop || (o.time > 0 && since(start) >= o.time))
            break;
        if (hang_ups != g_hang_ups || (o.refresh > 0 && since(written) >= o.refresh)) {
            hang_ups = g_hang_ups;
            sensor.film().write(out, render.image());
            written = Clock::now();
        }
        if (has_checkpoint && since(saved) >= o.save_every) {
            write_checkpoint(o.checkpoint, render);
            saved = Clock::now();
        }
    }
    if (render.progress() == 0) { // stopped before the first launch
        fmt::print(stderr, "umbel: stopped; there is no image yet\n");
        return;
    }
    std::filesystem::path file = sensor.film().write(out, render.image());
    progress.finish(file.string(), render.progress());
    if (o.target_error > 0 && !o.quiet)
        fmt::print(stderr, "{}: relative error {:.3g} after {} samples a pixel\n", title,
                   render.relative_error(), render.samples_done());

    if (render.done() || good_enough) {
        if (o.is_part)
            write_checkpoint(o.checkpoint, render);
        else if (has_checkpoint)
            std::filesystem::remove(o.checkpoint);
        return;
    }
    if (has_checkpoint) {
        write_checkpoint(o.checkpoint, render);
        fmt::print(stderr, "umbel: stopped; the same command goes on from {}\n", o.checkpoint);
    } else if (g_stop)
        fmt::print(
            stderr,
            "umbel: stopped; with --checkpoint FILE the same command would go on from there\n");
}

} // namespace umbel
