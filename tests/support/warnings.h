// support/warnings.h: what was warned of while an object exists.
#pragma once
#include "core/warning.h"
#include "render/invalid_samples.h"
#include "render/lost_rays.h"

namespace umbel::test {

struct Warnings {
    std::string text;
    Warnings() {
        report_lost_rays(); // of others
        tell_invalid_samples_anew();
        set_warning_sink([this](const std::string &t) { text += t + "\n"; });
    }
    ~Warnings() { set_warning_sink({}); }
    bool tell(const std::string &what) const { return text.find(what) != text.npos; }
};

} // namespace umbel::test
