// bench/render/render_bench.cpp: Umbel's side of the render suite; README.md says what each row measures.
#include "core/image_io.h"
#include "render_program.h"
#include "scenes.h"

namespace umbel::bench {
namespace {

// ---- shared scenes, in both kinds of colour

struct Shared {
    const char *name, *file; // no file: prepare.py has changed it a little
    int spp;
    Definitions size;  // of images that are timed
    Definitions small; // of those that are compared
};
Definitions pixels(const char *width, const char *height) {
    return { { "width", width }, { "height", height } };
}
const Shared scenes[] = {
    { "cbox", "cbox/cbox.xml", 64, { { "res", "256" } }, { { "res", "64" } } },
    { "matpreview", "matpreview/matpreview.xml", 16, pixels("480", "360"), pixels("128", "96") },
    { "staircase", "staircase/scene-v3.xml", 16, pixels("270", "480"), pixels("72", "128") },
    { "living-room", "", 16, pixels("480", "270"), pixels("128", "72") },
    { "veach-bidir", "veach-bidir/scene-v3.xml", 16, pixels("480", "270"), pixels("128", "72") },
};

double loading(const std::string &path, const std::string &variant_name,
               const Definitions &definitions = {}) {
    loaded_scenes().clear();
    VariantScope scope(find_variant(variant_name));
    return seconds([&] { read_scene(path, definitions); }, 1, 0);
}

/// Writes the images that run.py compares; returns their mean.
double images(const std::string &row, const std::string &path, const std::string &variant_name,
              const Definitions &definitions) {
    constexpr int Count = 12, Samples = 64;
    std::string folder = variable("UMBEL_BENCH_FOLDER", "build/bench/render") + "/images/" + row;
    std::filesystem::create_directories(folder);
    const Loaded &l = load(path, variant_name, definitions);
    VariantScope scope(*l.variant);
    double sum = 0;
    for (int i = 0; i < Count; ++i) {
        Render render(*l.scene, { .spp = Samples, .seed = uint32_t(i) });
        render.run();
        Image image = render.image();
        double part = 0;
        for (size_t y = 0; y < image.height(); ++y)
            for (size_t x = 0; x < image.width(); ++x)
                for (size_t c = 0; c < 3; ++c)
                    part += image.get(x, y, c);
        sum += part / double(3 * image.width() * image.height());
        write_image(fmt::format("{}/umbel-{}.pfm", folder, i), image);
    }
    return sum / Count;
}

const int registered = [] {
    for (const Shared &s : scenes)
        for (const char *colour : { "rgb", "spectral" }) {
            std::string row = fmt::format("{} {}", s.name, colour),
                        path = *s.file ? shared_scene(s.file) : made_scene(s.name),
                        variant_name = fmt::format("llvm_{}", colour);
            auto add = [&](const char *what, const char *unit, auto run) {
                Register(fmt::format("{}: {}", row, what), unit, run);
            };
            auto program = [=](Cache cache, int spp) {
                return render_program(path, variant_name, cache, spp, s.size);
            };
            add("hot", "s", [=] { return hot(path, variant_name, s.spp, s.size); });
            add("first image, cold", "s", [=] { return program(Cache::Cold, 1).seconds; });
            add("first image, warm", "s", [=] { return program(Cache::Warm, 1).seconds; });
            add("loading", "s", [=] { return loading(path, variant_name, s.size); });
            add("peak memory", "B", [=] { return program(Cache::Warm, s.spp).bytes; });
            // The rival's colours of measured spectra are off by 0.1 %, which the comparison would see; so are its metals
            // (prepare.py).
            std::string name = s.name,
                        compared = name == "cbox"
                                       ? shared_scene(fmt::format("cbox/cbox-{}.xml", colour))
                                   : name == "staircase" || name == "living-room"
                                       ? made_scene(name + "-compared")
                                       : path;
            add("agreement", "mean",
                [=] { return images(row + ": agreement", compared, variant_name, s.small); });
        }
    return 0;
}();

// ---- large files

BENCH("5.1 million triangles: loading", "s") {
    return loading(made_scene("large-ply"), "llvm_rgb");
}
BENCH("5.1 million triangles: memory", "B") {
    return render_program(made_scene("large-ply"), "llvm_rgb", Cache::Warm).bytes;
}

/// Megabytes a second of a mesh's file, from the disk's cache to vertices in memory.
double reading(const char *type) {
    std::string file = large_file(std::string("grid.") + type);
    VariantScope scope(find_variant("llvm_rgb"));
    double time = seconds(
        [&] {
            make_object<Shape>(Properties("shape", type).set("filename", file));
            jit::eval();
            jit::synchronize();
        },
        1, 0);
    return double(std::filesystem::file_size(file)) / 1e6 / time;
}
BENCH("reading binary PLY", "MB/s") { return reading("ply"); }
BENCH("reading OBJ", "MB/s") { return reading("obj"); }

/// What `count` of something take at the peak of a render, by the difference of two scenes.
double bytes_each(const char *many, const char *few, double count) {
    auto peak = [](const char *name) {
        return render_program(made_scene(name), "llvm_rgb", Cache::Warm).bytes;
    };
    return (peak(many) - peak(few)) / count;
}
BENCH("memory of a triangle", "B") { return bytes_each("large-ply", "small-ply", 5.12e6); }
BENCH("memory of a texel", "B") {
    return bytes_each("large-texture", "small-texture", 4096 * 4096);
}

} // namespace
} // namespace umbel::bench

BENCH_MAIN
