// cli/render.cpp: `umbel render`.
#include "cli/commands.h"
#include "cli/progress.h"
#include "core/scene_file.h"
#include "render/driver.h"
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
    bool quiet = false;
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

void render_one(const Options &o, const std::string &path) {
    VariantScope scope(find_variant(o.variant));
    std::vector<std::string> warnings;
    Properties root = parse_scene_file(path, file_options(o, warnings));
    for (const std::string &w : warnings)
        fmt::print(stderr, "umbel: {}\n", w);
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

    Render render(*scene, { .sensor = o.sensor, .spp = o.spp, .seed = o.seed });
    std::filesystem::path out = o.output.empty() ? std::filesystem::path(path).replace_extension()
                                                 : std::filesystem::path(o.output);
    Progress progress(std::filesystem::path(path).filename().string(), render.total_samples(),
                      o.quiet);
    while (!render.done()) {
        render.step();
        render.wait();
        progress.update(render.progress());
    }
    std::filesystem::path written = sensor.film().write(out, render.image());
    progress.finish(written.string());
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
    c->add_option("--sensor", o->sensor, "Which camera, from 0");
    c->callback([o, &run] {
        run = [o] {
            std::unique_ptr<tbb::global_control> limit;
            if (o->threads > 0)
                limit = std::make_unique<tbb::global_control>(
                    tbb::global_control::max_allowed_parallelism, size_t(o->threads));
            for (const std::string &scene : o->scenes)
                render_one(*o, scene);
            return 0;
        };
    });
}

} // namespace umbel
