// tests/faults/faults_test.cpp: memory runs out at each moment of a small render: an error, or the same image.
//
// A child process fails one request after the other; where it dies, its successor goes on behind. UMBEL_FAULTS=all tries every
// request instead of some hundreds, UMBEL_FAULTS=K the K-th alone and in this process, for a debugger,
// UMBEL_FAULTS=K,N every N-th from there on.
#include "core/image_io.h"
#include "core/scene_file.h"
#include "faults/allocation.h"
#include "jit/stream.h"
#include "render/driver.h"
#include "render/scene.h"
#include "support/image_samples.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace umbel::test {
namespace {

namespace fs = std::filesystem;

/// What parent and child share.
struct Report {
    std::atomic<uint64_t> k, tried, errors, survived, total;
    std::atomic<bool> done;
    char message[600]; // what is wrong; empty: nothing
};

class Faults : public testing::TestWithParam<const char *> {
protected:
    Faults() {
        folder = fs::temp_directory_path() / fmt::format("umbel-faults-{}", getpid());
        fs::create_directories(folder);
        std::ofstream(folder / "a.png", std::ios::binary)
            << encode_image("png", random_image(1, 4, 4, { "R", "G", "B" }, Component::U8, true));
        std::ofstream(folder / "a.obj") << "v -1 -1 0\nv 1 -1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"
                                           "f 1/1 2/2 3/3\n";
        report = static_cast<Report *>(mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    }
    ~Faults() override {
        munmap(report, sizeof(Report));
        fs::remove_all(folder);
    }

    std::string scene_text() const {
        return fmt::format(
            R"(<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='3'/></integrator>
<sensor type='perspective'><transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>
  <film type='hdrfilm'><integer name='width' value='4'/><integer name='height' value='4'/></film>
  <sampler type='independent'><integer name='sample_count' value='2'/></sampler></sensor>
<shape type='obj'><string name='filename' value='{0}/a.obj'/><bsdf type='twosided'><bsdf type='diffuse'>
  <texture type='bitmap' name='reflectance'><string name='filename' value='{0}/a.png'/></texture></bsdf></bsdf></shape>
<shape type='sphere'><bsdf type='roughconductor'/></shape>
<emitter type='constant'/></scene>)",
            folder.string());
    }

    /// Bytes of the image.
    std::string render() const {
        VariantScope scope(find_variant(GetParam()));
        Ref<Scene> scene = load_scene(parse_scene_string(scene_text()));
        Render render(*scene);
        render.run();
        Image image = render.image();
        return { reinterpret_cast<const char *>(image.bytes()),
                 image.row_bytes() * image.height() };
    }

    bool wrong(const char *what, const std::string &detail = "") const {
        std::snprintf(report->message, sizeof report->message, "%s %s", what, detail.c_str());
        return false;
    }

    /// False where something is wrong, or where there is no such request.
    bool try_one(uint64_t k, const std::string &reference) {
        std::string image;
        bool failed = false;
        fail_allocation(k);
        try {
            image = render();
        } catch (const std::bad_alloc &) {
            failed = true;
        } catch (const DeviceError &e) {
            failed = true;
        } catch (const std::exception &e) {
            fail_allocation(0);
            if (std::string(e.what()).find("memory") == std::string::npos)
                return wrong("says something else:", e.what());
            failed = true;
        }
        uint64_t seen = allocations();
        fail_allocation(0);
        report->errors += failed;
        report->survived += !failed;
        if (!failed && image != reference)
            return wrong("another image");
        report->total = std::max<uint64_t>(report->total, seen);
        return seen >= k;
    }

    /// Requests from `first` on, in steps; afterwards all is as it was.
    void child(uint64_t first, uint64_t step) {
        std::set_terminate([] {
            void *frames[40]; // as offsets: `gdb -batch -ex "info symbol 0x..."` names them
            backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
            std::abort();
        });
        std::string reference = render();
        if (render() != reference)
            wrong("renders differ");
        for (uint64_t k = first; !*report->message; k += step) {
            report->k = k;
            alarm(30);
            if (!try_one(k, reference))
                break;
            report->tried++;
            if (report->tried % 16 == 0 && render() != reference)
                wrong("the render after one that failed gives another image");
        }
        report->done = !*report->message;
    }

    fs::path folder;
    Report *report;
};

TEST_P(Faults, EveryRequestForMemoryMayFail) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer has no threads after a fork";
#endif
    find_own_code();
    const char *setting = std::getenv("UMBEL_FAULTS");
    bool all = setting && !std::strcmp(setting, "all");
    if (setting && !all) {
        const char *step = std::strchr(setting, ',');
        std::string reference = render();
        if (step)
            child(std::strtoull(setting, nullptr, 10), std::strtoull(step + 1, nullptr, 10));
        else
            try_one(std::strtoull(setting, nullptr, 10), reference);
        EXPECT_STREQ(report->message, "");
        EXPECT_EQ(render(), reference);
        return;
    }
    uint64_t first = 1, step = all ? 1 : 97;
    int found = 0;
    while (!report->done && found < 40) {
        pid_t pid = fork(); // nothing has begun in this process that a child could miss
        if (pid == 0) {
            child(first, step);
            _exit(0);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        if (report->done)
            break;
        ++found;
        ADD_FAILURE() << "request " << report->k << ": "
                      << (*report->message      ? report->message
                          : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                : "the process ends");
        *report->message = 0;
        first = report->k + step;
    }
    EXPECT_GT(report->errors, 20u);
    std::printf("%s: %llu of %llu requests failed: %llu errors, %llu images\n", GetParam(),
                (unsigned long long)report->tried, (unsigned long long)report->total,
                (unsigned long long)report->errors, (unsigned long long)report->survived);
}

// Where the list of queues could not grow, a thread was there already, and ended the process.
TEST(StreamFaults, AQueueThatCannotBeMadeLeavesNothing) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer has no threads after a fork";
#endif
    auto tries = [] {
        find_own_code();
        jit::Stream others[3]; // so that the list is full, and must grow
        int errors = 0;
        for (uint64_t k = 1; k < 100; ++k) {
            fail_allocation(k);
            bool is_made = false;
            try {
                jit::Stream stream;
                is_made = true;
                uint64_t seen = allocations();
                fail_allocation(0);
                int ran = 0;
                stream.enqueue("one", [&] { ++ran; });
                stream.synchronize();
                if (ran != 1)
                    _exit(2);
                if (seen < k)
                    _exit(errors > 0 ? 0 : 3);
            } catch (const std::bad_alloc &) {
                fail_allocation(0);
                ++errors;
            }
            if (!is_made && errors > 90)
                _exit(4);
        }
        _exit(5);
    };
    EXPECT_EXIT(tries(), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Variants, Faults,
                         testing::Values("interp_rgb", "interp_rgb_double", "llvm_rgb"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
} // namespace umbel::test
