// cli/render.cpp: `umbel render`.
#include "cli/commands.h"
#include "cli/progress.h"
#include "core/file_text.h"
#include "core/scene_file.h"
#include "render/driver.h"
#include <chrono>
#include <csignal>
#include <tbb/global_control.h>

namespace umbel {

namespace {

struct Options {
    std::vector<std::string> scenes;
    std::vector<std::string> definitions;
    std::string output, variant = "llvm_rgb", size;
    std::vector<std::string> search;
    int spp = 0, threads = 0, sensor = 0;
    uint32_t seed = 0;
    std::string checkpoint;
    double time = 0, refresh = 0;
    bool quiet = false, no_progress = false, skip_existing = false, strict = false;
};

SceneFileOptions file_options(const Options &o, std::vector<std::string> &warnings) {
    SceneFileOptions f;
    f.warnings = &warnings;
    for (const std::string &d : o.definitions) {
        size_t eq = d.find('=');
        if (eq == std::string::npos || eq == 0)
            fail("-D {}: expected name=value", d);
        f.definitions[d.substr(0, eq)] = d.substr(eq + 1);
    }
    for (const std::string &s : o.search)
        f.search_folders.push_back(s);
    return f;
}

// ---- signals: what they ask for is done between two launches

volatile std::sig_atomic_t g_stop = 0, g_write = 0;

void install_handlers() {
    auto stop = [](int) {
        if (g_stop) // the second time at once
            std::_Exit(130);
        g_stop = 1;
    };
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    std::signal(SIGHUP, [](int) { g_write = 1; });
}

/// Whether the image that would be written is there.
bool exists_as(const std::filesystem::path &out) {
    if (std::filesystem::exists(out))
        return true;
    std::filesystem::path exr = out;
    exr += ".exr";
    return std::filesystem::exists(exr);
}

void write_checkpoint(const std::string &file, const Render &render) {
    std::string bytes = render.save(), temporary = file + ".new";
    std::unique_ptr<FILE, int (*)(FILE *)> f(std::fopen(temporary.c_str(), "wb"), &std::fclose);
    bool ok = f && std::fwrite(bytes.data(), 1, bytes.size(), f.get()) == bytes.size() &&
              std::fflush(f.get()) == 0;
    if (!ok)
        throw DeviceError(
            fmt::format("{}: the checkpoint cannot be written: {}", file, std::strerror(errno)));
    f.reset();
    std::filesystem::rename(temporary, file);
}

void run(const Options &o, Render &render, const Sensor &sensor, const std::string &path,
         const std::filesystem::path &out) {
    using Clock = std::chrono::steady_clock;
    if (!o.checkpoint.empty() && std::filesystem::exists(o.checkpoint)) {
        render.restore(read_text_file(o.checkpoint));
        if (!o.quiet)
            fmt::print(stderr, "umbel: going on from {}, at {:.0f} %\n", o.checkpoint,
                       render.progress() * 100);
    }
    Progress progress(std::filesystem::path(path).filename().string(), render.total_samples(),
                      o.quiet || o.no_progress, render.progress());
    auto start = Clock::now(), written = start, saved = start;
    auto since = [](Clock::time_point t) {
        return std::chrono::duration<double>(Clock::now() - t).count();
    };
    while (!render.done()) {
        render.step();
        render.wait();
        progress.update(render.progress());
        if (g_stop || (o.time > 0 && since(start) >= o.time))
            break;
        if (std::exchange(g_write, 0) || (o.refresh > 0 && since(written) >= o.refresh)) {
            sensor.film().write(out, render.image());
            written = Clock::now();
        }
        if (!o.checkpoint.empty() && since(saved) >= 30) {
            write_checkpoint(o.checkpoint, render);
            saved = Clock::now();
        }
    }
    std::filesystem::path file = sensor.film().write(out, render.image());
    progress.finish(file.string(), render.progress());
    if (render.done()) {
        if (!o.checkpoint.empty())
            std::filesystem::remove(o.checkpoint);
        return;
    }
    if (!o.checkpoint.empty()) {
        write_checkpoint(o.checkpoint, render);
        fmt::print(stderr, "umbel: stopped; the same command goes on from {}\n", o.checkpoint);
    } else if (g_stop)
        fmt::print(
            stderr,
            "umbel: stopped; with --checkpoint FILE the same command would go on from there\n");
    if (g_stop)
        std::exit(130);
}

void render_one(const Options &o, const std::string &path) {
    VariantScope scope(find_variant(o.variant));
    std::vector<std::string> warnings;
    Properties root = parse_scene_file(path, file_options(o, warnings));
    for (const std::string &w : warnings)
        fmt::print(stderr, "umbel: {}\n", w);
    if (o.strict && !warnings.empty())
        fail("-w: warnings are errors");
    Ref<Scene> scene = load_scene(root);
    if (scene->sensors().empty())
        fail("{}: the scene has no sensor", path);
    if (o.sensor < 0 || size_t(o.sensor) >= scene->sensors().size())
        fail("--sensor {}: the scene has {}", o.sensor, scene->sensors().size());
    Sensor &sensor = *scene->sensors()[size_t(o.sensor)];
    if (!o.size.empty()) {
        int w = 0, h = 0;
        if (std::sscanf(o.size.c_str(), "%dx%d", &w, &h) != 2 || w < 1 || h < 1)
            fail("--size {}: expected WIDTHxHEIGHT", o.size);
        sensor.film().set_size(w, h);
        sensor.configure();
    }

    std::filesystem::path out = o.output.empty() ? std::filesystem::path(path).replace_extension()
                                                 : std::filesystem::path(o.output);
    if (o.skip_existing && exists_as(out))
        return;
    Render render(*scene, { .sensor = o.sensor, .spp = o.spp, .seed = o.seed });
    run(o, render, sensor, path, out);
}

} // namespace

void add_render_command(CLI::App &app, std::function<int()> &run) {
    auto o = std::make_shared<Options>();
    CLI::App *c = app.add_subcommand("render", "Render scenes to image files");
    c->add_option("scene", o->scenes, "Scene files")->required();
    c->add_option("-D", o->definitions, "Define a parameter of the scene: name=value");
    c->add_option("-o,--output", o->output, "Image file; by default beside the scene");
    c->add_option("-a,--search", o->search, "Folders to search for files that the scene names")
        ->delimiter(';');
    c->add_option("-p,--threads", o->threads, "Threads; by default one a core");
    c->add_flag("-q,--quiet", o->quiet, "Print errors only");
    c->add_option("-m,--variant", o->variant, "What to compute in; `umbel variants` lists them");
    c->add_option("--spp", o->spp, "Samples a pixel, in place of the scene's");
    c->add_option("--size", o->size, "WIDTHxHEIGHT, in place of the scene's");
    c->add_option("--seed", o->seed, "Another seed gives another, equally good, set of samples");
    c->add_option("--time", o->time, "Stop after so many seconds and write what there is");
    c->add_option("--checkpoint", o->checkpoint,
                  "File to save the state to, every 30 s and when interrupted, and to go on from");
    c->add_option("-r,--refresh", o->refresh, "Write the unfinished image every so many seconds");
    c->add_flag("-x,--skip-existing", o->skip_existing, "Leave scenes alone whose image exists");
    c->add_flag("-w,--strict", o->strict, "Treat warnings as errors");
    c->add_flag("-z,--no-progress", o->no_progress, "No progress bar");
    c->add_option("--sensor", o->sensor, "Which camera, from 0");
    c->callback([o, &run] {
        run = [o] {
            std::unique_ptr<tbb::global_control> limit;
            if (o->threads > 0)
                limit = std::make_unique<tbb::global_control>(
                    tbb::global_control::max_allowed_parallelism, size_t(o->threads));
            if (!o->output.empty() && o->scenes.size() > 1)
                fail("-o names one file, and there are {} scenes; leave it out", o->scenes.size());
            install_handlers();
            for (const std::string &scene : o->scenes)
                render_one(*o, scene);
            return 0;
        };
    });
}

} // namespace umbel
