// cli/render_run.cpp: the loop around a render.
#include "cli/render_run.h"
#include "core/file_text.h"
#include "core/image_io.h"
#include "jit/buffer.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

namespace umbel {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
}
constexpr double Infinity = std::numeric_limits<double>::infinity();

// What signals ask for is done between two launches.
volatile std::sig_atomic_t g_stop = 0, g_hang_ups = 0;
std::atomic<int> g_renders{ 0 }; // with something to save

/// Beside the checkpoint: the one before it, for the case that the newest is damaged.
fs::path previous_checkpoint(fs::path file) { return file += ".previous"; }

/// Makes the checkpoint the previous one, and leaves it: whoever kills us finds one of that name at any time. What fails here
/// leaves us without a second one, which is no reason to do without the first.
void keep_previous(const fs::path &file) {
    fs::path previous = previous_checkpoint(file), copy = temporary_name(previous);
    std::error_code error;
    fs::create_hard_link(file, copy, error);
    if (error) // some file systems have no links
        fs::copy_file(file, copy, error);
    if (!error)
        fs::rename(copy, previous, error);
    fs::remove(copy, error); // also where both were one file already, which rename() leaves alone
}

void write_checkpoint(const std::string &file, const Render &render) {
    // Whoever kills us finds the old one or the new one; where the disk is full, the old ones stay
    fs::path target = followed(file), next = temporary_name(target);
    try {
        std::string state = render.save();
        write_file(next, ""); // nobody is to read it who may not read the old one
        keep_mode(target, next);
        write_file(next, state);
        if (fs::exists(target))
            keep_previous(target);
        fs::rename(next, target);
    } catch (const std::exception &e) {
        std::error_code ignored;
        fs::remove(next, ignored);
        throw DeviceError(fmt::format("the checkpoint is not saved: {}", e.what()));
    }
}

void resume(const RunOptions &o, Render &render) {
    try {
        check_writable(o.checkpoint);
    } catch (const UserError &e) {
        if (o.is_part) // its state is the result
            throw;
        say(fmt::format("umbel: no checkpoint can be saved: {}; rendering goes on without",
                        e.what()));
    }
    if (!fs::exists(o.checkpoint))
        return;
    auto restore = [&](const fs::path &file) { render.restore(read_text_file(file, SIZE_MAX)); };
    try {
        restore(o.checkpoint);
    } catch (const DamagedState &) {
        fs::path target = followed(o.checkpoint), previous = previous_checkpoint(target);
        if (!fs::exists(previous))
            throw;
        restore(previous);
        say(fmt::format("umbel: {} is damaged; {} takes its place", o.checkpoint,
                        previous.string()));
        std::error_code ignored; // so that the damaged one never is the previous one
        fs::rename(previous, target, ignored);
    }
    if (!o.quiet)
        say(fmt::format("umbel: going on from {}, at {:.0f} %", o.checkpoint,
                        render.progress() * 100));
}

/// For what is of use, but not worth an image if it fails.
template <class F> void attempt(const F &f) {
    try {
        f();
    } catch (const std::exception &e) {
        say(fmt::format("umbel: {}; rendering goes on", e.what()));
    }
}

/// Counts the kernels that a render needs.
class Kernels {
public:
    explicit Kernels(bool verbose) : m_verbose(verbose) {}
    /// Those since the last call.
    void look(const std::string &title) {
        for (const jit::KernelRecord &r : variant().context().take_history()) {
            if (r.memory_hit || r.operations == 0)
                continue;
            m_compiled += !r.disk_hit;
            m_seconds += r.backend_seconds;
            if (m_verbose)
                say(fmt::format("{}: {}: {} operations, {} functions, {} kB, {}{}", title, r.name,
                                r.operations, r.functions, r.code_bytes / 1024,
                                r.disk_hit ? "read from the cache"
                                           : "compiled in " + duration(r.backend_seconds),
                                on_device(r.resources)));
        }
    }
    std::string summary() const {
        if (m_compiled == 0)
            return "no kernels compiled";
        return fmt::format("{} kernel{} compiled in {}", m_compiled, m_compiled == 1 ? "" : "s",
                           duration(m_seconds));
    }

private:
    static std::string on_device(const jit::KernelResources &r) {
        return r.registers
                   ? fmt::format("; {} registers, {} bytes of local memory, occupancy {:.0f} %",
                                 r.registers, r.local_bytes, 100 * r.occupancy)
                   : "";
    }

    bool m_verbose;
    int m_compiled = 0;
    double m_seconds = 0;
};

std::string memory() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    double megabytes = double(usage.ru_maxrss) * 1024 / 1e6; // of KiB
    return megabytes < 1000 ? fmt::format("{:.0f} MB", megabytes)
                            : fmt::format("{:.1f} GB", megabytes / 1000);
}

// ---- limits

/// What ends a render: its last sample, the time, or the error.
class Limits {
public:
    Limits(const RunOptions &o, const Render &render)
        : m_options(o), m_render(render), m_before(render.progress()) {}

    /// To be called after each launch; whether a limit is reached.
    bool reached(double seconds) {
        double done = m_render.progress();
        if (m_options.target_error > 0 && m_render.at_full_group()) {
            m_error =
                m_options.measure == "image" ? m_render.relative_error() : m_render.median_error();
            if (m_error < Infinity) // it falls with the square root of the number of samples
                m_needed = done * std::pow(m_error / m_options.target_error, 2);
        }
        m_good_enough = m_error <= m_options.target_error;
        fraction = done;
        left = left_until(1, seconds);
        auto nearer = [&](double f, double time) {
            if (time <= left)
                fraction = f, left = time;
        };
        if (m_options.time > 0)
            nearer(seconds / m_options.time, m_options.time - seconds);
        if (m_needed > 0)
            nearer(done / m_needed, left_until(m_needed, seconds));
        return m_good_enough || (m_options.time > 0 && seconds >= m_options.time);
    }
    bool good_enough() const { return m_good_enough; }
    /// What to do where the last sample came before the error was reached; else nothing.
    std::string shortfall() const {
        if (!(m_options.target_error > 0) || m_good_enough || !m_render.done())
            return {};
        int spp = m_render.spp();
        std::string more = "see --spp";
        if (double needed = spp * m_needed; needed > spp && needed < 1e9)
            more = fmt::format("about --spp {:.0f} would be enough", std::ceil(needed / 16) * 16);
        return fmt::format("; the error is still above {:g}: {}", m_options.target_error, more);
    }
    std::string detail(double seconds) const {
        std::string text =
            fmt::format("{} of {} samples a pixel", m_render.samples_done(), m_render.spp());
        if (m_error < Infinity)
            text += fmt::format(", error {:.2g}", m_error);
        double samples = double(m_render.total_samples()) * (m_render.progress() - m_before);
        return text + ", " + sample_rate(samples, seconds);
    }

    double fraction = 0, left = Infinity; // towards the limit that will be the first

private:
    double left_until(double progress, double seconds) const {
        double rate = (m_render.progress() - m_before) / seconds;
        return rate > 0 ? std::max(0.0, (progress - m_render.progress()) / rate) : Infinity;
    }

    const RunOptions &m_options;
    const Render &m_render;
    double m_before; // the fraction that was done by another run
    double m_error = Infinity;
    double m_needed = 0; // fraction of all samples that the error needs; 0: not known
    bool m_good_enough = false;
};

/// `64 samples a pixel in 3.2 s, 4.1 M samples/s, relative error 0.02 (median pixel 0.01), 312 MB, 3 kernels compiled`
std::string summary(const Render &render, double before, double seconds, const Kernels &kernels) {
    int done = render.samples_done();
    std::string text = fmt::format("{} samples a pixel", done);
    if (!render.at_full_group()) // stopped in the middle of a group
        text = fmt::format("{} samples a pixel and more", done);
    double samples = double(render.total_samples()) * (render.progress() - before);
    text += fmt::format(" in {}, {}", duration(seconds), sample_rate(samples, seconds));
    if (render.estimates_error()) {
        double error = render.relative_error();
        text += error < Infinity ? fmt::format(", relative error {:.2g} (median pixel {:.2g})",
                                               error, render.median_error())
                                 : std::string(", relative error unknown for so few samples");
    }
    return fmt::format("{}, {}, {}", text, memory(), kernels.summary());
}

} // namespace

void UnsavedWork::begin() {
    if (!std::exchange(m_has_begun, true))
        ++g_renders;
}
UnsavedWork::~UnsavedWork() { g_renders -= m_has_begun; }

void install_signal_handlers() {
    auto stop = [](int) {
        // Managers of processes, and impatient hands, send several at once: those are one
        static std::atomic<Clock::time_point> first;
        Clock::time_point now = Clock::now();
        // While scenes are loaded, kernels compiled, and during the first launch, which may be long, there is nothing to save
        if (g_renders == 0 || (g_stop && now - first.load() > std::chrono::seconds(1)))
            std::_Exit(130);
        if (!g_stop)
            first = now;
        g_stop = 1;
    };
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    std::signal(SIGHUP, [](int) { g_hang_ups = g_hang_ups + 1; });
}

bool stop_requested() { return g_stop; }

void end_if_stopped() {
    if (g_stop && g_renders == 0)
        std::_Exit(130);
}

/// The folder for temporary files; the current one where there is none.
static fs::path temporary_folder() {
    std::error_code error;
    fs::path folder = fs::temp_directory_path(error);
    return error ? fs::path(".") : folder;
}

// A picture of one pixel goes all the way, elsewhere: channels that a format has no place for are found, too.
void check_output(const Film &film, const std::vector<std::string> &channels, const fs::path &out) {
    if (fs::path name = out.filename(); name.empty() || name == "." || name == "..")
        fail("{}: this is a folder; name a file in it", out.string());
    fs::path file = film.file_name(out);
    check_writable(file);
    std::string name = (temporary_folder() / "umbel-XXXXXX").string();
    if (!mkdtemp(name.data()))
        return; // it was only a trial
    struct Folder {
        fs::path path;
        ~Folder() {
            std::error_code ignored;
            fs::remove_all(path, ignored);
        }
    } folder{ name };
    try {
        film.write(folder.path / file.filename(), Image(1, 1, channels));
    } catch (const UserError &e) {
        fail("{}: the image could not be written: {}", file.string(), e.what());
    }
}

/// What a name means, whether or not there is such a file.
static fs::path real_path(const fs::path &path) {
    std::error_code error;
    fs::path absolute = fs::absolute(followed(path), error),
             real = fs::weakly_canonical(absolute, error);
    return error ? absolute.lexically_normal()
                 : real; // what cannot be looked at complains where it is used
}

void check_checkpoint(const std::string &checkpoint, const fs::path &image, const fs::path &scene,
                      const FileResolver *files) {
    fs::path file = real_path(checkpoint), previous = previous_checkpoint(file);
    auto keep = [&](const fs::path &used, const char *as) {
        fs::path real = real_path(used);
        if (real == file)
            fail("--checkpoint {}: this is {}; name another file", checkpoint, as);
        if (real == previous)
            fail("--checkpoint {}: the one before it is kept as {}, which is {}; name another file",
                 checkpoint, previous.string(), as);
    };
    keep(image, "the image");
    keep(scene, "the scene");
    if (files)
        for (const fs::path &read : files->found())
            keep(read, "a file that the scene reads");
}

fs::path write_result(const Film &film, const fs::path &out, const Image &image) {
    try {
        return film.write(out, image);
    } catch (const std::exception &e) {
        std::string stem = film.file_name(out).stem().string();
        fs::path other = temporary_folder() / fmt::format("umbel-{}-{}.exr", getpid(), stem);
        try {
            write_image(other, image);
        } catch (const std::exception &second) {
            fail("{}\nnor can the image be saved elsewhere: {}", e.what(), second.what());
        }
        fail("{}\nthe image is saved as {}", e.what(), other.string());
    }
}

void run_render(const RunOptions &o, Render &render, const Film &film, Progress &progress,
                const fs::path &out) {
    UnsavedWork samples;
    bool has_checkpoint = !o.checkpoint.empty();
    if (has_checkpoint)
        resume(o, render);
    progress.restart();
    double before = render.progress();
    Limits limits(o, render);
    Kernels kernels(o.verbose);
    auto start = Clock::now(), written = start, saved = start;
    int hang_ups = g_hang_ups;
    bool is_kept = false; // the state from which more samples can follow
    while (!render.stopped() && !g_stop) {
        if (o.keep_checkpoint && !is_kept && render.at_full_group() && render.next_group_is_small())
            attempt([&] {
                write_checkpoint(o.checkpoint, render);
                is_kept = true;
            });
        render.step();
        render.wait();
        samples.begin();
        kernels.look(progress.title());
        double seconds = since(start);
        bool is_reached = limits.reached(seconds);
        progress.update(limits.fraction, limits.left, limits.detail(seconds));
        if (g_stop || is_reached)
            break;
        if (hang_ups != g_hang_ups || (o.refresh > 0 && since(written) >= o.refresh)) {
            hang_ups = g_hang_ups;
            attempt([&] { film.write(out, render.image()); });
            written = Clock::now();
        }
        if (has_checkpoint && !is_kept && since(saved) >= o.save_every) {
            attempt([&] { write_checkpoint(o.checkpoint, render); });
            saved = Clock::now();
        }
    }
    if (render.progress() == 0) { // stopped before the first launch
        say("umbel: stopped; there is no image yet");
        return;
    }
    double seconds = since(start);
    bool is_complete = render.done() || limits.good_enough(),
         keeps = o.keep_checkpoint || o.is_part || !is_complete;
    std::string unsaved; // the image comes first
    if (has_checkpoint && !is_kept && keeps)
        try {
            write_checkpoint(o.checkpoint, render);
        } catch (const DeviceError &e) {
            unsaved = e.what();
        }
    jit::trim(); // what launches needed makes room for the image
    fs::path file = write_result(film, out, render.image());
    kernels.look(progress.title());
    progress.finish(fmt::format("{}: {}{}", file.string(),
                                summary(render, before, seconds, kernels), limits.shortfall()));

    if (!unsaved.empty())
        throw DeviceError(unsaved);
    std::error_code ignored;
    if (is_complete) {
        if (has_checkpoint)
            fs::remove(previous_checkpoint(followed(o.checkpoint)), ignored);
        if (has_checkpoint && !keeps)
            fs::remove(followed(o.checkpoint), ignored);
    } else if (has_checkpoint)
        say(fmt::format("umbel: stopped; the same command goes on from {}", o.checkpoint));
    else if (g_stop)
        say("umbel: stopped; with --checkpoint FILE the same command would go on from there");
}

} // namespace umbel
