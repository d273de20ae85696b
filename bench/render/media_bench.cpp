// bench/render/media_bench.cpp: light in media; prepare.py makes the scenes.
#include "render_program.h"

namespace umbel::bench {
namespace {

const int registered = [] {
    for (const char *name : { "glass", "cloud", "plume", "spectral" }) {
        std::string row = fmt::format("media, {}", name),
                    path = made_scene(fmt::format("media-{}", name));
        Register(row, "s", [=] { return hot(path, "llvm_rgb", 16); });
        Register(row + ", first image", "s",
                 [=] { return render_program(path, "llvm_rgb", Cache::Cold).seconds; });
        Register(row + ", memory", "B",
                 [=] { return render_program(path, "llvm_rgb", Cache::Warm, 16).bytes; });
    }
    std::string fog = made_scene("media-plume-in-fog"); // the rival knows no media that overlap
    Register("plume in fog", "s", [=] { return hot(fog, "llvm_rgb", 16); });
    return 0;
}();

// A grid of 512^3 halves, 268 MB.
BENCH("512^3 halves, loading", "s") {
    return seconds(
        [] {
            VariantScope scope(find_variant("llvm_rgb"));
            read_scene(made_scene("media-halves"), {});
        },
        1, 0);
}
BENCH("512^3 halves, memory over size", "x") {
    auto peak = [](const char *name) {
        return render_program(made_scene(name), "llvm_rgb", Cache::Warm).bytes;
    };
    return (peak("media-halves") - peak("media-cloud")) / (512.0 * 512 * 512 * 2);
}

} // namespace
} // namespace umbel::bench
