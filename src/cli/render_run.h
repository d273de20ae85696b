// cli/render_run.h: one image from its first launch to its file: progress, limits, checkpoints, signals.
#pragma once
#include "render/driver.h"

namespace umbel {

struct RunOptions {
    std::string checkpoint;   // empty: none
    double save_every = 30;   // seconds between checkpoints
    double time = 0;          // seconds; 0: no limit
    double refresh = 0;       // seconds between unfinished images; 0: none
    double target_error = 0;  // see Render::relative_error(); 0: all samples are taken
    bool quiet = false;       // errors only
    bool no_progress = false; // no bar
    bool verbose = false;     // what is compiled, too
    bool is_part = false;     // the checkpoint is a result, and stays
};

/// INT and TERM stop at the next launch, the second one, or one before the first launch, at once; HUP writes the unfinished image.
void install_signal_handlers();
bool stop_requested();

/// Renders and writes the image; `title` begins messages about it.
void run_render(const RunOptions &o, Render &render, const Sensor &sensor, const std::string &title,
                const std::filesystem::path &out);

} // namespace umbel
