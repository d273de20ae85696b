// tests/cli/program.h: runs the `umbel` program of the same build.
#pragma once
#include <array>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace umbel::test {

/// build/PRESET/umbel, beside the folder of the tests.
inline std::filesystem::path program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "umbel";
}

struct Ran {
    int code;
    std::string output; // both streams
};

inline Ran shell(const std::string &command) {
    FILE *pipe = popen(command.c_str(), "r");
    Ran r{ -1, "" };
    std::array<char, 4096> buffer;
    while (size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
        r.output.append(buffer.data(), n);
    int status = pclose(pipe);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return r;
}
/// `setting`: assignments of variables for the shell.
inline Ran umbel(const std::string &arguments, const std::string &setting = "") {
    return shell(fmt::format("{} '{}' {} 2>&1 </dev/null", setting, program().string(), arguments));
}

inline std::string contents(const std::filesystem::path &path) {
    std::ifstream in(path, std::ios::binary);
    return { std::istreambuf_iterator<char>(in), {} };
}

/// A folder of its own for each test, removed afterwards.
class Cli : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "umbel-cli-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string path(const std::string &name) const { return (folder / name).string(); }
    /// Writes a file, returns its path.
    std::string file(const std::string &name, const std::string &text) const {
        std::ofstream(folder / name, std::ios::binary) << text;
        return path(name);
    }
    void expect_output(const Ran &r, int code, const std::string &text) const {
        EXPECT_EQ(r.code, code) << r.output;
        EXPECT_NE(r.output.find(text), std::string::npos)
            << "wanted: " << text << "\ngot: " << r.output;
    }

    std::filesystem::path folder;
};

} // namespace umbel::test
