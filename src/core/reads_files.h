// core/reads_files.h: objects that read files, which all cores do while a scene is loaded.
#pragma once
#include <exception>
#include <utility>

namespace umbel {

/// What an object takes from files. The loader has it read between declare() and configure(), on any thread; the outcome,
/// and which of several errors is reported, does not depend on how many threads there are.
class ReadsFiles {
public:
    virtual ~ReadsFiles() = default;
    /// Reads, and prepares what it can. No variant is active: nothing is to be recorded here.
    virtual void read_files() = 0;

protected:
    /// To be called first by configure(): throws what went wrong, and reads again if configure() runs again.
    void take_files() {
        if (m_error)
            std::rethrow_exception(std::exchange(m_error, nullptr));
        if (!std::exchange(m_is_read, false))
            read_files();
    }

private:
    friend class Loader;
    void read_ahead() noexcept {
        try {
            read_files();
            m_is_read = true;
        } catch (...) {
            m_error = std::current_exception();
        }
    }

    bool m_is_read = false;
    std::exception_ptr m_error;
};

} // namespace umbel
