// core/load_warnings.h: remarks on what is being loaded that are no errors.
#pragma once
#include <string>
#include <vector>

namespace umbel {

/// Collects what this thread's loaders remark while it lives.
class LoadWarnings {
public:
    LoadWarnings();
    ~LoadWarnings();
    LoadWarnings(const LoadWarnings &) = delete;

    std::vector<std::string> texts;

private:
    LoadWarnings *m_outer;
};

/// Where nobody collects remarks, they are warnings.
void warn_while_loading(std::string text);

} // namespace umbel
