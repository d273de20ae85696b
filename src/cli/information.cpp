// cli/information.cpp: `umbel variants`, `umbel help`, `umbel info`.
#include "cli/commands.h"
#include "core/scene_file.h"
#include "render/scene.h"

namespace umbel {

namespace {

int list_variants() {
    for (const Variant &v : all_variants())
        fmt::print("{}\n", v.name);
    return 0;
}

int help(const std::string &topic) {
    PluginRegistry &registry = PluginRegistry::instance();
    registry.load_libraries();
    size_t slash = topic.find('/');
    std::string kind = topic.substr(0, slash);
    if (slash == std::string::npos) {
        for (const Plugin *p : registry.all(kind))
            fmt::print("{}/{}\n", p->kind, p->name);
        return registry.all(kind).empty() ? (fail("no plugins of kind {}", quote(kind)), 1) : 0;
    }
    const Plugin *plugin = registry.find(kind, topic.substr(slash + 1));
    if (!plugin)
        fail("no plugin {}; `umbel help` lists them", quote(topic));
    Params params(Params::Mode::Describe);
    plugin->make()->declare(params);
    fmt::print("{} ({})\n\n", plugin->name, plugin->kind);
    for (const Param &p : params.all())
        fmt::print("  {:<24} {:<12} {}\n      {}\n", p.name, p.type,
                   p.is_required ? "required" : "default: " + p.otherwise, p.text);
    return 0;
}

int info(const std::string &path, const std::string &variant_name) {
    VariantScope scope(find_variant(variant_name));
    Ref<Scene> scene = load_scene(parse_scene_file(path));
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

} // namespace

void add_information_commands(CLI::App &app, std::function<int()> &run) {
    app.add_subcommand("variants", "List the variants")->callback([&run] { run = list_variants; });

    auto topic = std::make_shared<std::string>();
    CLI::App *h = app.add_subcommand("help", "List plugins, or describe one: bsdf/diffuse");
    h->add_option("topic", *topic, "A kind, or kind/plugin");
    h->callback([topic, &run] { run = [topic] { return help(*topic); }; });

    auto scene = std::make_shared<std::string>(),
         name = std::make_shared<std::string>("interp_rgb");
    CLI::App *i = app.add_subcommand("info", "Say what a scene holds");
    i->add_option("scene", *scene, "Scene file")->required();
    i->add_option("-m,--variant", *name, "Variant to load it in");
    i->callback([scene, name, &run] { run = [scene, name] { return info(*scene, *name); }; });
}

} // namespace umbel
