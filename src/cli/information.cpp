// cli/information.cpp: `umbel variants`, `umbel help`, `umbel info`.
#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/progress.h"
#include "cli/scene_options.h"
#include "core/image_io.h"
#include "core/printable.h"
#include "core/scene_file.h"
#include "jit/backends.h"
#include "render/scene.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

int list_variants() {
    for (const Variant &v : all_variants())
        fmt::print("{}\n", v.name);
    return 0;
}

int help(const std::string &topic, bool markdown) {
    fmt::print("{}", markdown ? plugin_manual() : describe(topic));
    return 0;
}

std::string metadata_text(const ImageValue &value) {
    if (auto *s = std::get_if<std::string>(&value))
        return quote(*s);
    if (auto *d = std::get_if<double>(&value))
        return fmt::format("{:g}", *d);
    if (auto *i = std::get_if<int64_t>(&value))
        return fmt::format("{}", *i);
    if (auto *v = std::get_if<std::array<double, 3>>(&value))
        return fmt::format("{:g}, {:g}, {:g}", (*v)[0], (*v)[1], (*v)[2]);
    return fmt::format("{:g}", fmt::join(std::get<TransformData>(value).m, ", "));
}

int image_info(const std::string &path, const std::string &format) {
    Image image = read_image(path);
    fmt::print("format      {}\nsize        {} x {}\nchannels    {}\ncomponents  {}, {}\n", format,
               image.width(), image.height(),
               printable(fmt::format("{}", fmt::join(image.channels(), ", "))),
               name(image.component()), image.srgb() ? "sRGB" : "linear");
    // Over all pixels, channel by channel
    size_t n = image.channel_count(), odd = 0;
    std::vector<double> row(image.width() * n), low(n, INFINITY), high(n, -INFINITY), sum(n);
    for (size_t y = 0; y < image.height(); ++y) {
        image.read_row(y, row.data());
        for (size_t i = 0; i < row.size(); ++i) {
            if (!std::isfinite(row[i])) {
                ++odd;
                continue;
            }
            low[i % n] = std::min(low[i % n], row[i]);
            high[i % n] = std::max(high[i % n], row[i]);
            sum[i % n] += row[i] / double(image.pixels());
        }
    }
    for (size_t c = 0; c < n; ++c)
        fmt::print("{:<11} {:g} to {:g}, mean {:g}\n", printable(image.channels()[c]), low[c],
                   high[c], sum[c]);
    if (odd)
        fmt::print("not finite  {} components\n", odd);
    for (auto &[key, value] : image.metadata)
        fmt::print("{:<11} {}\n", printable(key), printable(metadata_text(value)));
    return 0;
}

struct InfoOptions : SceneOptions {
    std::string file, variant = "interp_rgb";
};

int scene_info(const InfoOptions &o) {
    VariantScope scope(find_variant(o.variant));
    std::vector<std::string> warnings;
    Ref<Scene> scene = load_scene(parse_scene_file(o.file, o.for_scene(o.file, &warnings)));
    for (const std::string &w : warnings)
        say("umbel: " + w);
    size_t triangles = 0;
    for (const Shape *s : scene->surfaces())
        if (auto *mesh = dynamic_cast<const Mesh *>(s))
            triangles += mesh->triangle_count();
    fmt::print("shapes      {}\ntriangles   {}\ninstances   {}\nbsdfs       {}\nemitters    "
               "{}\nsensors     {}\n",
               scene->surfaces().size(), triangles, scene->instance_count(),
               scene->bsdfs().objects().size(), scene->emitters().objects().size(),
               scene->sensors().size());
    const BoundingBox &b = scene->bounds();
    if (!b.is_empty())
        fmt::print("bounds      {:g}, {:g}, {:g} to {:g}, {:g}, {:g}\n", b.min[0], b.min[1],
                   b.min[2], b.max[0], b.max[1], b.max[2]);
    for (const Ref<Sensor> &s : scene->sensors())
        fmt::print("sensor      {}: {} x {}, {} samples a pixel\n", s->plugin(), s->film().width(),
                   s->film().height(), s->sampler().sample_count());
    return 0;
}

// What there is to compute with, or why not.
int machine_info() {
    fmt::print("{:<11} {}\n", "umbel", UMBEL_VERSION);
    for (const jit::BackendEntry &b : jit::backends())
        if (b.has_variants)
            try {
                fmt::print("{:<11} {}\n", b.name, b.open().description());
            } catch (const DeviceError &e) {
                fmt::print("{:<11} {}\n", b.name, e.what());
            }
    return 0;
}

int info(InfoOptions o) {
    o.apply();
    if (o.file.empty())
        return machine_info();
    std::string format = std::filesystem::is_regular_file(o.file) ? image_format(o.file) : "";
    return format.empty() ? scene_info(o) : image_info(o.file, format);
}

} // namespace

void add_information_commands(CLI::App &app, std::function<int()> &run) {
    app.add_subcommand("variants", "List the variants")->callback([&run] { run = list_variants; });

    auto topic = std::make_shared<std::string>();
    auto markdown = std::make_shared<bool>(false);
    CLI::App *h =
        app.add_subcommand("help", "List plugins, or describe one: diffuse, bsdf/diffuse");
    h->add_option("topic", *topic, "A kind, a plugin, or kind/plugin");
    h->add_flag("--markdown", *markdown, "The manual of all plugins");
    h->callback([=, &run] { run = [=] { return help(*topic, *markdown); }; });

    auto o = std::make_shared<InfoOptions>();
    CLI::App *i = app.add_subcommand("info", "Say what a scene, or an image, holds; without one, "
                                             "what this machine computes with");
    i->add_option("scene", o->file, "Scene or image file");
    i->add_option("-m,--variant", o->variant, "Variant to load it in");
    add_scene_options(*i, *o);
    i->callback([o, &run] { run = [o] { return info(*o); }; });
}

} // namespace umbel
