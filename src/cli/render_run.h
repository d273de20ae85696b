// cli/render_run.h: one image from its first launch to its file: progress, limits, checkpoints, signals.
#pragma once
#include "cli/progress.h"
#include "core/file_resolver.h"
#include "render/driver.h"

namespace umbel {

struct RunOptions {
    std::string checkpoint;       // empty: none
    double save_every = 30;       // seconds between checkpoints
    bool keep_checkpoint = false; // also after the last sample, so that more can follow
    bool is_part = false;         // the checkpoint is the result, and stays
    double time = 0;              // seconds; 0: no limit
    double refresh = 0;           // seconds between unfinished images; 0: none
    double target_error = 0;      // 0: all samples are taken
    std::string measure =
        "image";        // what errors are compared with it: of the image, or of the median pixel
    bool quiet = false; // errors only
    bool no_progress = false; // no bar
    bool verbose = false;     // what is compiled, too
};

/// INT and TERM stop at the next launch; at once another one more than a second later, or one before the end of the first launch. HUP
/// writes the unfinished image.
void install_signal_handlers();
bool stop_requested();
/// While it lives and has begun, an interrupt lets a render come to the end of its launch: there are samples that no file has yet, or
/// a file to be removed.
class UnsavedWork {
public:
    UnsavedWork() = default;
    UnsavedWork(const UnsavedWork &) = delete;
    ~UnsavedWork();
    void begin();

private:
    bool m_has_begun = false;
};
/// Ends the process if it was told to stop and nothing is left to be saved, whatever other threads load or compile.
void end_if_stopped();

/// UserError where the film could not write an image of these channels there. To be asked before the first sample.
void check_output(const Film &film, const std::vector<std::string> &channels,
                  const std::filesystem::path &out);
/// UserError where saving states in the file `checkpoint` would replace, or remove, the image, the scene or a file that it has read.
void check_checkpoint(const std::string &checkpoint, const std::filesystem::path &image,
                      const std::filesystem::path &scene, const FileResolver *files);
/// Film::write(); where that fails, the image is saved in the folder for temporary files, and the error says so.
std::filesystem::path write_result(const Film &film, const std::filesystem::path &out,
                                   const Image &image);

/// Renders and writes the image.
void run_render(const RunOptions &o, Render &render, const Film &film, Progress &progress,
                const std::filesystem::path &out);

} // namespace umbel
