// cli/render.cpp: `umbel render`.
#include "cli/commands.h"
#include "cli/render_run.h"
#include "cli/scene_options.h"
#include "core/device_choice.h"
#include "core/file_resolver.h"
#include "core/file_text.h"
#include "core/limits.h"
#include "core/load_warnings.h"
#include "core/scene_file.h"
#include "core/warning.h"
#include "render/device_team.h"
#include "render/invalid_samples.h"
#include "render/strips.h"
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <tbb/global_control.h>
#include <thread>
#undef check // of jit/error.h; it is a method of the parser's options here

namespace umbel {

namespace {

struct Options {
    std::vector<std::string> scenes;
    SceneOptions read;
    std::string output, variant = "llvm_rgb", size, crop, part;
    std::vector<std::string> merged; // states of parts
    int spp = 0, threads = 0, sensor = 0, jobs = 1, block = 0;
    std::vector<int> devices; // none: as UMBEL_DEVICE says
    uint32_t seed = 0;
    bool skip_invalid = false;
    RunOptions run;
    bool skip_existing = false, strict = false;
};

/// The file that the image will be written to: the film says, which is made on its own.
std::filesystem::path image_file(const Options &o, const Properties &root,
                                 const std::filesystem::path &out) {
    std::vector<PropertiesPtr> sensors = root.objects("sensor"), films;
    if (size_t(o.sensor) < sensors.size())
        films = sensors[size_t(o.sensor)]->objects("film");
    return make_object<Film>(films.empty() ? Properties("film", "hdrfilm") : *films[0])
        ->file_name(out);
}

/// The numbers of a text such as `640x480`, and no other text; false where they are not that, or too large.
bool read_integers(std::string_view text, char separator, std::initializer_list<int *> numbers) {
    for (int **n = const_cast<int **>(numbers.begin()); n != numbers.end(); ++n) {
        if (n != numbers.begin()) {
            if (!text.starts_with(separator))
                return false;
            text.remove_prefix(1);
        }
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), **n);
        if (error != std::errc())
            return false;
        text.remove_prefix(size_t(end - text.data()));
    }
    return text.empty();
}

void set_window(const Options &o, Sensor &sensor) {
    int w = 0, h = 0;
    if (!o.size.empty()) {
        if (!read_integers(o.size, 'x', { &w, &h }) || w < 1 || h < 1)
            fail("--size {}: expected WIDTHxHEIGHT", o.size);
        sensor.film().set_size(w, h);
    }
    Film::Crop c;
    if (!o.crop.empty()) {
        if (!read_integers(o.crop, ',', { &c.x, &c.y, &c.width, &c.height }))
            fail("--crop {}: expected X,Y,WIDTH,HEIGHT in pixels", o.crop);
        sensor.film().set_crop(c);
    }
    sensor.configure();
    const Film::Crop &crop = sensor.film().crop();
    size_t pixels = size_t(crop.width) * size_t(crop.height), most = o.read.max_pixels;
    if (most > 0 && pixels > most)
        fail("the image has {} x {} = {} pixels, more than the {} that are allowed; --max-pixels "
             "raises that",
             crop.width, crop.height, pixels, most);
}

/// FNV-1a, eight bytes at a time and with a shift, so that no two changes of the last bit of words make up for each other.
uint64_t hash_of(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325u) {
    for (size_t i = 0; i < bytes.size(); i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return (hash ^ bytes.size()) * 0x100000001b3u;
}

/// Values that make no difference to a fingerprint, such as folders of files, or that XML has no place for: images, which come from
/// files that count.
void put_aside(const Properties &object, std::vector<std::pair<Property *, PropertyValue>> &values,
               std::set<const Properties *> &seen) {
    for (Property &p : const_cast<Properties &>(object).all()) {
        if (std::holds_alternative<std::shared_ptr<const Image>>(p.value))
            values.emplace_back(&p, std::exchange(p.value, std::string("image")));
        else if (object.kind == "sampler" && p.name == "sample_count")
            values.emplace_back(&p, std::exchange(p.value, int64_t(0)));
        else if (auto *s = std::get_if<std::string>(&p.value);
                 s && p.name == "filename" && std::filesystem::path(*s).is_absolute())
            values.emplace_back(
                &p, std::exchange(p.value, std::filesystem::path(*s).filename().string()));
        else if (const PropertiesPtr *o = p.object(); o && *o && seen.insert(o->get()).second)
            put_aside(**o, values, seen);
    }
}

/// Tells checkpoints of different scenes apart; the number of samples may differ.
std::string fingerprint(const Properties &root) {
    std::vector<std::pair<Property *, PropertyValue>> values;
    std::set<const Properties *> seen;
    put_aside(root, values, seen);
    uint64_t hash = hash_of(to_xml(root));
    for (auto &[property, value] : values)
        property->value = std::move(value);
    return fmt::format("scene {:016x}", hash);
}

/// The same of what is in the files that a scene has read. Of their names the last part counts, as parts of a render may be
/// computed in other folders.
std::string fingerprint(const FileResolver &files) {
    std::set<std::filesystem::path> real; // a file may have been asked for by several names
    for (const std::filesystem::path &file : files.found()) {
        std::error_code error;
        std::filesystem::path path = std::filesystem::canonical(file, error);
        real.insert(error ? file : path);
    }
    uint64_t sum = 0; // in any order
    for (const std::filesystem::path &file : real)
        sum += hash_of(FileBytes(file).view(), hash_of(file.filename().string()));
    return fmt::format("files {:016x}", sum);
}

void report_scene(const std::string &title, const Scene &scene, double read, double loaded) {
    size_t triangles = 0;
    for (const Shape *s : scene.surfaces())
        if (auto *mesh = dynamic_cast<const Mesh *>(s))
            triangles += mesh->triangle_count();
    say(fmt::format("{}: read in {:.2f} s, loaded in {:.2f} s for {}\n"
                    "{}: {} shapes of {} triangles, {} instances, {} bsdfs, {} emitters",
                    title, read, loaded, scene.scene_variant().name, title, scene.surfaces().size(),
                    triangles, scene.instance_count(), scene.bsdfs().objects().size(),
                    scene.emitters().objects().size()));
}

/// From 0, and of how many.
std::pair<int, int> part_of(const Options &o) {
    int part = 1, parts = 1;
    if (o.part.empty())
        return { 0, 1 };
    if (!read_integers(o.part, '/', { &part, &parts }) || part < 1 || part > parts)
        fail("--part {}: expected K/N, from 1/N to N/N", o.part);
    if (o.run.checkpoint.empty())
        fail("--part {}: name the file for its state with --checkpoint; --merge puts them together",
             o.part);
    return { part - 1, parts };
}

void merge_parts(const Options &o, Render &render, const Film &film,
                 const std::filesystem::path &out) {
    int wanted = render.spp();
    for (const std::string &file : o.merged) {
        FileBytes state(file);
        try {
            render.merge(state.view());
        } catch (const UserError &e) {
            fail("{}: {}", file, e.what());
        }
    }
    std::filesystem::path image = write_result(film, out, render.image());
    if (render.spp() != wanted)
        say(fmt::format("umbel: these parts have {} of {} samples a pixel", render.spp(), wanted));
    if (!o.run.quiet)
        say(fmt::format("umbel: {} parts merged into {}", o.merged.size(), image.string()));
}

/// For films whose image is never in memory as a whole.
void run_strips(const Options &o, const Scene &scene, const Integrator::Progress &prepared,
                Progress &progress, const std::filesystem::path &out) {
    const Film &film = scene.sensors()[size_t(o.sensor)]->film();
    if (!o.run.checkpoint.empty() || !o.merged.empty() || o.run.target_error > 0 ||
        o.run.time > 0 || o.run.refresh > 0)
        film.complain("is written strip by strip: checkpoints, parts, limits of time or error and "
                      "unfinished images need the image as a whole; use hdrfilm");
    int spp = o.spp > 0 ? o.spp : scene.sensors()[size_t(o.sensor)]->sampler().sample_count();
    uint64_t samples = uint64_t(film.crop().width) * uint64_t(film.crop().height) * uint64_t(spp);
    UnsavedWork file_to_be;
    file_to_be.begin();
    auto go_on = [&](double done) {
        progress.update(done, -1, sample_rate(done * double(samples), progress.seconds()));
        return !stop_requested();
    };
    std::filesystem::path file = render_strips(scene,
                                               { .sensor = o.sensor,
                                                 .spp = o.spp,
                                                 .seed = o.seed,
                                                 .progress = prepared,
                                                 .skip_invalid = o.skip_invalid },
                                               out, go_on);
    if (file.empty())
        say("umbel: stopped; there is no image, as it is not complete");
    else
        progress.finish(fmt::format("{}: {} samples a pixel in {}, {}", file.string(), spp,
                                    duration(progress.seconds()),
                                    sample_rate(double(samples), progress.seconds())));
}

void render_one(const Options &o, const std::string &path) {
    std::filesystem::path out = o.output.empty() ? std::filesystem::path(path).replace_extension()
                                                 : std::filesystem::path(o.output);
    if (!o.devices.empty())
        set_device(o.devices[0]);
    VariantScope scope(find_variant(o.variant));
    if (!o.devices.empty() && !variant().context().backend().device())
        fail("--device: {} computes on the host; cuda variants compute on devices", o.variant);
    variant().context().set(jit::Flag::History, true); // which kernels are compiled
    auto start = std::chrono::steady_clock::now();
    auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    std::vector<std::string> warnings;
    Properties root = parse_scene_file(path, o.read.for_scene(path, &warnings));
    double read = seconds();
    auto report = [&](const std::vector<std::string> &warnings) {
        for (const std::string &w : warnings)
            if (!o.run.quiet)
                say("umbel: " + w);
        if (o.strict && !warnings.empty())
            fail("{}; with -w, warnings are errors", warnings[0]);
    };
    report(warnings);
    if (o.skip_existing && std::filesystem::exists(image_file(o, root, out)))
        return;
    std::string title = std::filesystem::path(path).filename().string();
    bool has_states = !o.run.checkpoint.empty() || !o.merged.empty();
    std::string label = has_states ? fingerprint(root) : "";
    std::shared_ptr<const FileResolver> files = root.files;
    LoadWarnings loading;
    Ref<Scene> scene = load_scene(std::move(root));
    if (has_states && files)
        label += ", " + fingerprint(*files);
    report(loading.texts);
    if (o.run.verbose)
        report_scene(title, *scene, read, seconds() - read);
    if (scene->sensors().empty())
        fail("{}: the scene has no sensor", path);
    if (size_t(o.sensor) >= scene->sensors().size())
        fail("--sensor {}: the scene has {}, counted from 0", o.sensor, scene->sensors().size());
    Sensor &sensor = *scene->sensors()[size_t(o.sensor)];
    set_window(o, sensor);
    const Film &film = sensor.film();
    const Integrator &integrator = *scene->integrator();
    check_output(film, film.image_names(film.channel_names(integrator.aov_names())), out);
    if (!o.run.checkpoint.empty())
        check_checkpoint(o.run.checkpoint, film.file_name(out), path, files.get());
    auto [part, parts] = part_of(o);
    using Show = Progress::Show;
    Progress progress(title, o.run.quiet         ? Show::Nothing
                             : o.run.no_progress ? Show::Result
                                                 : Show::All);
    auto prepared = [&](double done) {
        progress.update(done, -1, "preparing");
        return !stop_requested();
    };
    if (film.strip_rows() > 0 && o.devices.size() > 1)
        film.complain("is written strip by strip, which devices do not share; name one");
    if (film.strip_rows() > 0)
        return run_strips(o, *scene, prepared, progress, out);
    bool has_estimate = !film.splats() && !integrator.splats();
    RenderOptions options{ .sensor = o.sensor,
                           .spp = o.spp,
                           .seed = o.seed,
                           .estimate_error = has_estimate || o.run.target_error > 0,
                           .launch_pixels = uint32_t(o.block) * uint32_t(o.block),
                           .launch_seconds = 0.1,
                           .part = part,
                           .parts = parts,
                           .progress = prepared,
                           .label = label,
                           .skip_invalid = o.skip_invalid,
                           .go_on = [] {
                               jit::synchronize();
                               return !stop_requested();
                           } };
    options.tally = number_for_invalid_samples(); // one for all devices
    Render render(*scene, options);
    if (!o.merged.empty())
        return merge_parts(o, render, film, out);
    std::unique_ptr<DeviceTeam> team;
    if (o.devices.size() > 1) {
        options.progress = {};
        options.go_on = {};
        team = std::make_unique<DeviceTeam>(o.devices, [&o, &path, options] {
            VariantScope scope(find_variant(o.variant));
            LoadWarnings heard_before;
            std::vector<std::string> warnings;
            Ref<Scene> scene =
                load_scene(parse_scene_file(path, o.read.for_scene(path, &warnings)));
            set_window(o, *scene->sensors()[size_t(o.sensor)]);
            return DeviceTeam::Member{ scene, options };
        });
        team->share(render);
    }
    run_render(o.run, render, film, progress, out);
}

/// Several at a time. A scene that fails does not keep the others from being rendered; returns the exit code.
int render_all(const Options &o) {
    std::atomic<size_t> next = 0;
    std::vector<int> codes(o.scenes.size());
    auto work = [&] {
        for (size_t i; !stop_requested() && (i = next++) < o.scenes.size();) {
            codes[i] = reporting_errors([&] {
                render_one(o, o.scenes[i]);
                return 0;
            });
            end_if_stopped();
        }
    };
    std::vector<std::jthread> others;
    int jobs = std::min(o.jobs, int(o.scenes.size()));
    try {
        for (int i = 1; i < jobs; ++i)
            others.emplace_back(work);
    } catch (const std::system_error &e) { // those that there are will do
        if (!o.run.quiet)
            say(fmt::format("umbel: {} of {} jobs run at a time: a thread cannot be started: {}; "
                            "raise the process's limits of threads and memory, or lower -j",
                            others.size() + 1, jobs, e.what()));
    }
    work();
    others.clear(); // waits for them

    std::string failed;
    for (size_t i = 0; i < codes.size(); ++i)
        if (codes[i] != 0)
            failed += "\n  " + o.scenes[i];
    if (o.scenes.size() > 1 && !failed.empty())
        say(fmt::format("umbel: {} of {} scenes failed:{}",
                        codes.size() - size_t(std::count(codes.begin(), codes.end(), 0)),
                        codes.size(), failed));
    return *std::max_element(codes.begin(), codes.end());
}

int render_command(const Options &given) {
    Options o = given;
    std::unique_ptr<tbb::global_control> limit;
    if (o.threads > 0)
        limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                      size_t(o.threads));
    if (o.scenes.size() > 1)
        for (const char *option : { "-o", "--checkpoint" })
            if (!(option[1] == 'o' ? o.output : o.run.checkpoint).empty())
                fail("{} names one file, and there are {} scenes; leave it out", option,
                     o.scenes.size());
    o.run.is_part = !o.part.empty();
    if (o.run.keep_checkpoint && o.run.checkpoint.empty())
        fail("--keep-checkpoint: name the file with --checkpoint");
    if (o.run.quiet)
        set_warning_sink([](const std::string &) {});
    o.read.apply();
    install_signal_handlers();
    PluginRegistry::instance().load_libraries(); // before there are threads
    int code = render_all(o);
    return stop_requested() ? 130 : code;
}

} // namespace

std::map<std::string, std::string, std::less<>>
read_definitions(const std::vector<std::string> &given) {
    std::map<std::string, std::string, std::less<>> definitions;
    for (const std::string &d : given) {
        size_t eq = d.find('=');
        if (eq == std::string::npos || eq == 0)
            fail("-D {}: expected name=value", d);
        definitions[d.substr(0, eq)] = d.substr(eq + 1);
    }
    return definitions;
}

void add_render_command(CLI::App &app, std::function<int()> &run) {
    auto o = std::make_shared<Options>();
    CLI::App *c = app.add_subcommand("render", "Render scenes to image files");
    c->add_option("scene", o->scenes, "Scene files")->required();
    c->add_option("-o,--output", o->output, "Image file; by default beside the scene")
        ->check(NotEmpty);
    add_scene_options(*c, o->read);
    c->add_option("--max-pixels", o->read.max_pixels, "Most pixels of the image that is rendered")
        ->check(CLI::Range(size_t(1), size_t(1) << 62));
    c->add_option("-p,--threads", o->threads, "Threads; by default one a core")
        ->check(CLI::Range(1, 4096));
    c->add_option("-j,--jobs", o->jobs, "Scenes to render at a time")->check(CLI::Range(1, 1024));
    auto *quiet = c->add_flag("-q,--quiet", o->run.quiet, "Print errors only");
    c->add_flag("-v,--verbose", o->run.verbose, "Say what is loaded and compiled")->excludes(quiet);
    c->add_option("-m,--variant", o->variant, "What to compute in; `umbel variants` lists them");
    c->add_option("--device", o->devices,
                  "The GPU that cuda variants compute on, from 0 on; several, such as 0,1, share "
                  "the image")
        ->delimiter(',')
        ->check(CLI::Range(0, 1024));
    c->add_option("--spp", o->spp, "Samples a pixel, in place of the scene's")
        ->check(CLI::Range(1, MostSamplesAPixel));
    c->add_option("--size", o->size, "WIDTHxHEIGHT, in place of the scene's")->check(NotEmpty);
    c->add_option("--crop", o->crop, "X,Y,WIDTH,HEIGHT: render that part of the image only")
        ->check(NotEmpty);
    auto *part = c->add_option(
        "--part", o->part,
        "K/N: take that part of the samples; its state stays in the file of --checkpoint");
    part->check(NotEmpty);
    c->add_option("--merge", o->merged,
                  "Instead of rendering, put the states of parts together, given in their order")
        ->excludes(part);
    c->add_flag("--skip-invalid", o->skip_invalid,
                "Samples that are NaN or infinite count as black; they are warned of either way");
    c->add_option("--seed", o->seed, "Another seed gives another, equally good, set of samples");
    c->add_option("--time", o->run.time, "Stop after so many seconds and write what there is")
        ->check(Positive);
    c->add_option("--target-error", o->run.target_error,
                  "Stop when the image's estimated relative error is below this, such as 0.01")
        ->check(Positive);
    c->add_option("--error-measure", o->run.measure,
                  "What --target-error is compared with: the error of the whole `image`, or of its "
                  "`median` pixel")
        ->check(CLI::IsMember({ "image", "median" }));
    c->add_option("--checkpoint", o->run.checkpoint,
                  "File to save the state to, now and then and when interrupted, and to go on from")
        ->check(NotEmpty);
    c->add_flag("--keep-checkpoint", o->run.keep_checkpoint,
                "Leave that file after the last sample: with a greater --spp, the render goes on");
    c->add_option("--checkpoint-every", o->run.save_every, "In seconds; 30 by default")
        ->check(NotNegative);
    c->add_option("-r,--refresh", o->run.refresh,
                  "Write the unfinished image every so many seconds")
        ->check(Positive);
    c->add_option("-b,--block", o->block, "A launch computes at most a block of N x N pixels")
        ->check(CLI::Range(4, 32768));
    c->add_flag("-x,--skip-existing", o->skip_existing, "Leave scenes alone whose image exists");
    c->add_flag("-w,--strict", o->strict, "Treat warnings as errors");
    c->add_flag("-z,--no-progress", o->run.no_progress, "No progress bar");
    c->add_option("--sensor", o->sensor, "Which camera, from 0")->check(CLI::Range(0, 1 << 20));
    c->callback([o, &run] { run = [o] { return render_command(*o); }; });
}

} // namespace umbel
