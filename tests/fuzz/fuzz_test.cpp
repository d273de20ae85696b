// tests/fuzz/fuzz_test.cpp: damaged files of all kinds, loaded all the way: each gives an error or a scene.
//
// UMBEL_FUZZ_COUNT says how many files are damaged (default: 600), UMBEL_FUZZ_FIRST with which seed to begin. A case that
// ends the program, or that takes more than a minute, is named on stderr; UMBEL_FUZZ_FIRST=seed UMBEL_FUZZ_COUNT=1 runs it
// alone. `./umbel fuzz` does the same at length, led by what the files make the readers do.
#include "core/image_io.h"
#include "core/variant.h"
#include "fuzz/largest_block.h"
#include "fuzz/trial.h"
#include "support/image_samples.h"
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

namespace umbel {
namespace {

namespace fs = std::filesystem;
using namespace test;

constexpr unsigned SecondsLimit = 60;

char current_case[200];

void report_and_die(int signal) {
    [[maybe_unused]] auto ignored = write(2, current_case, std::strlen(current_case));
    std::signal(signal, SIG_DFL);
    raise(signal);
}

class Fuzz : public testing::Test {
protected:
    Fuzz() {
        for (int s : { SIGALRM, SIGSEGV, SIGFPE, SIGABRT })
            std::signal(s, report_and_die);
    }
    ~Fuzz() override {
        alarm(0);
        for (int s : { SIGALRM, SIGSEGV, SIGFPE, SIGABRT })
            std::signal(s, SIG_DFL);
    }

    bool load(const Sample &s, const std::string &bytes) {
        try {
            return trial.run(s, bytes);
        } catch (const Finding &e) {
            ADD_FAILURE() << current_case << e.what();
        }
        return false;
    }

    Trial trial;
};

uint32_t setting(const char *name, uint32_t otherwise) {
    const char *text = std::getenv(name);
    return text ? uint32_t(std::strtoul(text, nullptr, 10)) : otherwise;
}

// Found by the test below: a table of as many entries as rows was allocated before the file's end was noticed.
TEST_F(Fuzz, AnExrFileThatClaimsManyRowsOrTilesAllocatesNothing) {
    VariantScope scope(find_variant("interp_rgb"));
    Image f = test::random_image(22, 13, 9, { "R", "G", "B" }, Component::F16);
    Sample picture{ "rows.exr", {}, with_texture(reading("texture", "bitmap")) };
    for (size_t tile : { 0, 8 }) {
        std::string bytes = encode_image("exr", f, { .compression = "none", .tile = tile });
        size_t window = bytes.find("dataWindow") + sizeof "dataWindow" + sizeof "box2i" + 4;
        bytes[window + 12 + 3] = 0x0e; // the last row's highest byte
        EXPECT_FALSE(load(picture, bytes));
        bytes[window + 12 + 3] = 0;
        bytes[window + 12 + 2] = 0x07; // within the largest side
        bytes[window + 8 + 2] = 0x07;
        EXPECT_FALSE(load(picture, bytes));
        EXPECT_LT(largest_block, size_t(16) << 20);
    }
}

// Likewise: elements without properties take no bytes, so that any number of them fits a file.
TEST_F(Fuzz, APlyFileOfCountlessEmptyElementsEnds) {
    VariantScope scope(find_variant("interp_rgb"));
    Sample mesh{ "x.ply", {}, reading("shape", "ply") };
    std::string good = ply_mesh("ascii"), bytes = good;
    bytes.insert(bytes.find("element face"), "element nothing 18446744073709551615\n");
    EXPECT_TRUE(load(mesh, bytes)) << trial.error();
    bytes = good;
    bytes.replace(bytes.find("element face 2\nproperty list uchar int vertex_indices"),
                  sizeof "element face 2\nproperty list uchar int vertex_indices" - 1,
                  "element face 18446744073709551615");
    EXPECT_FALSE(load(mesh, bytes));
    bytes = good; // the second list of vertices is shorter than what faces refer to
    bytes.insert(bytes.find("end_header"), "element vertex 1\nproperty float x\n");
    EXPECT_FALSE(load(mesh, bytes));
}

// Likewise: rays that begin beyond what single precision can square, or that have no direction, ended the program.
TEST_F(Fuzz, MeshesThatRaysCannotLeaveAreRefused) {
    VariantScope scope(find_variant("interp_rgb"));
    Sample mesh{ "x.obj", {}, reading("shape", "obj") };
    auto with = [&](const std::string &from, const std::string &to) {
        std::string text = ObjMesh;
        return load(mesh, text.replace(text.find(from), from.size(), to));
    };
    EXPECT_FALSE(with("v 2 1 0\n", "v 2e30 1 0\n"));
    EXPECT_NE(trial.error().find("scale the scene down"), std::string::npos) << trial.error();
    EXPECT_FALSE(with("vn 0 0 1\n", "vn nan 0 1\n"));
    EXPECT_NE(trial.error().find("the normal of vertex 0 is not a finite number"),
              std::string::npos)
        << trial.error();
    EXPECT_FALSE(with("vt 1 1\n", "vt inf 1\n"));
    EXPECT_TRUE(with("vn 0 0 1\n", "vn 0 0 0\n")) << trial.error();
    EXPECT_TRUE(with("vn 0 0 1\n", "vn 0 0 1e300\n")) << trial.error();
}

TEST_F(Fuzz, DamagedFilesGiveAnErrorOrAScene) {
    std::vector<Sample> all = samples();
    for (const Sample &s : all) { // the undamaged ones are all right
        VariantScope scope(find_variant("interp_rgb"));
        std::snprintf(current_case, sizeof current_case, "%s, undamaged\n", s.name.c_str());
        ASSERT_TRUE(load(s, s.bytes)) << s.name << ": " << trial.error();
    }
    uint32_t first = setting("UMBEL_FUZZ_FIRST", 0), count = setting("UMBEL_FUZZ_COUNT", 600);
    uint32_t accepted = 0;
    for (uint32_t seed = first; seed < first + count && !HasFailure(); ++seed) {
        const Sample &s = all[seed % all.size()];
        const auto &variants = trial_variants();
        VariantScope scope(find_variant(variants[seed / all.size() % variants.size()]));
        std::snprintf(current_case, sizeof current_case, "seed %u, %s, %s: ", seed, s.name.c_str(),
                      variant().name.c_str());
        alarm(SecondsLimit);
        accepted += load(s, damaged(s, s.bytes, seed));
        alarm(0);
    }
    if (count >= 100) { // the damage is not all of one kind
        EXPECT_GT(accepted, count / 50);
        EXPECT_LT(accepted, count - count / 50);
    }
}

// Files that once did harm: tests/fuzz/corpus/SAMPLE.NUMBER, the damaged form of a sample. `./umbel fuzz` adds to them.
TEST_F(Fuzz, FilesThatOnceDidHarmDoNoMore) {
    std::vector<Sample> all = samples(/* with_vdb */ true);
    all.push_back(program_sample());
    size_t count = 0;
    for (const auto &entry : fs::directory_iterator(UMBEL_FUZZ_CORPUS)) {
        auto s = std::find_if(all.begin(), all.end(), [&](const Sample &sample) {
            return sample.name == entry.path().stem().string();
        });
        if (s == all.end()) // a dictionary, for instance, which Python replays
            continue;
        ++count;
        for (const char *name : trial_variants()) {
            VariantScope scope(find_variant(name));
            std::snprintf(current_case, sizeof current_case, "%s, %s: ", entry.path().c_str(),
                          name);
            alarm(SecondsLimit);
            load(*s, read_whole(entry.path()));
            alarm(0);
        }
    }
    EXPECT_GE(count, 3u);
}

} // namespace
} // namespace umbel
