// core/limits.h: how much files may ask for, and how much there is.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace umbel {

/// For all scenes and images that the process reads from now on.
struct ReadLimits {
    size_t scene_bytes;           // XML and spectra of a scene together; UMBEL_MAX_SCENE, or 4 GiB
    size_t image_bytes;           // decoded pixels of one image; UMBEL_MAX_IMAGE, or 8 GiB
    bool plugin_libraries = true; // whether those of UMBEL_PLUGINS are opened
};
/// To be changed before there are threads. UserError where a variable holds no size.
ReadLimits &read_limits();

/// Of `--untrusted`, each of which an option of its own changes; without it there is none but those for files.
struct UntrustedLimits {
    static constexpr size_t SceneBytes = size_t(64) << 20, ImageBytes = size_t(256) << 20,
                            Memory = size_t(8) << 30, Pixels = size_t(1) << 26;
    static constexpr double Seconds = 600;
};

/// What a command that reads scenes or images may be told about files of others.
struct ReadOptions {
    bool untrusted = false;
    std::string max_scene, max_image, max_memory; // as given: 500M
    size_t max_pixels = 0;                        // of the image that is rendered; 0: no limit
    double max_time = 0;                          // seconds of the whole process; 0: no limit

    /// Makes them the process's; to be called once, first of all.
    void apply();
};

/// Rounded up, as samplers do, they are still a number.
constexpr int MostSamplesAPixel = 1 << 30;

/// Of text such as `500M` or `2.5GiB`: K, M, G and T are powers of 1024. UserError that begins with `where`.
size_t parse_bytes(std::string_view text, const std::string &where);
/// `512 B`, `1.5 GiB`
std::string format_bytes(double bytes);

/// What this process could still take: of the machine's memory, of its control group's, of its own limits.
size_t available_memory();
/// DeviceError that begins with `where` if less is left. To be asked before much is taken because a file says so: what does not
/// fit may be given by the system nevertheless, and ends the process when it is used.
void ask_for_memory(double bytes, const std::string &where);

} // namespace umbel
