// fuzz/trial.h: a damaged file, loaded all the way to an image: what may come of it, and what may not.
#pragma once
#include "core/image.h"
#include "fuzz/samples.h"
#include <stdexcept>

namespace umbel::test {

/// Bytes of a sample with damage, the same for the same seed, and repaired.
std::string damaged(const Sample &sample, std::string bytes, uint32_t seed);
/// What has a checksum gets a right one half of the time: what is behind it must hold, too.
void repair_checksum(const Sample &sample, std::string &bytes, uint32_t seed);

/// What must not come of a file, as far as the program lives to tell.
struct Finding : std::runtime_error {
    enum Kind { WrongResult, TooMuchMemory } kind;
    Finding(Kind kind, const std::string &what) : std::runtime_error(what), kind(kind) {}
};

/// The variants in which files are tried.
const std::vector<const char *> &trial_variants();

/// A folder for files, with the good ones that scenes refer to.
class Trial {
public:
    Trial();
    ~Trial();

    /// In the active variant: all the way to what a renderer would use, and a few rays in it. Whether there was nothing to object
    /// to; Finding for errors that are not about the file, for results that are wrong, and for needs out of proportion.
    bool run(const Sample &sample, const std::string &bytes);
    /// Of the last run that returned false.
    const std::string &error() const { return m_error; }

private:
    std::string save(const std::string &name, const std::string &bytes) const;
    void load_file(const Sample &sample, const std::string &bytes);
    void resume(const std::string &bytes);
    void read_kernel(const Sample &sample, const std::string &bytes);
    void check_memory() const;

    std::filesystem::path m_folder;
    std::string m_error;
    size_t m_resident = 0;   // bytes before the first run
    Image m_reference;       // of the checkpoint's render
    std::string m_untouched; // the checkpoint's bytes
};

} // namespace umbel::test
