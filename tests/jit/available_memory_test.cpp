// tests/jit/available_memory_test.cpp: memory that the machine, control groups and limits leave, as files say it.
#include "jit/available_memory.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace umbel::jit {
namespace {

constexpr uint64_t GiB = uint64_t(1) << 30;

/// A system's files, below a folder of their own.
class AvailableMemory : public testing::Test {
protected:
    void SetUp() override {
        std::string name =
            (std::filesystem::temp_directory_path() / "umbel-memory-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root = name;
        write("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n"
                              "SwapTotal: 1048576 kB\nSwapFree:   1048576 kB\n");
    }
    void TearDown() override { std::filesystem::remove_all(root); }

    void write(const std::string &name, const std::string &text) const {
        std::filesystem::create_directories((root / name).parent_path());
        std::ofstream(root / name) << text;
    }
    void group(const std::string &folder, uint64_t limit, uint64_t used, uint64_t cache) const {
        bool is_first = folder.find("/memory") != folder.npos;
        write(folder + (is_first ? "/memory.limit_in_bytes" : "/memory.max"),
              std::to_string(limit) + "\n");
        write(folder + (is_first ? "/memory.usage_in_bytes" : "/memory.current"),
              std::to_string(used) + "\n");
        std::string prefix = is_first ? "total_" : "";
        write(folder + "/memory.stat", "inactive_file_of_others 1\n" + prefix + "inactive_file " +
                                           std::to_string(cache) + "\n" + prefix +
                                           "active_file 0\n");
    }
    uint64_t available() const { return available_memory(root.string()); }

    std::filesystem::path root;
};

TEST_F(AvailableMemory, IsThatOfTheMachineAndItsSwap) {
    EXPECT_EQ(available(), 9 * GiB);
    write("proc/self/cgroup", "nonsense\n0::without-a-slash\n0::/../x\n0::/\n");
    write("sys/fs/cgroup/memory.max", "max\n");
    EXPECT_EQ(available(), 9 * GiB);
}

TEST_F(AvailableMemory, IsWhatTheTightestGroupLeaves) {
    write("proc/self/cgroup", "0::/a/b\n");
    group("sys/fs/cgroup/a/b", 6 * GiB, 2 * GiB, GiB); // files that were read make room
    EXPECT_EQ(available(), 5 * GiB);
    group("sys/fs/cgroup/a", 4 * GiB, GiB, 0); // the group around it has less
    EXPECT_EQ(available(), 3 * GiB);
    group("sys/fs/cgroup", 8 * GiB, 7 * GiB, 0); // the root, which a container sees as its own
    EXPECT_EQ(available(), GiB);
    group("sys/fs/cgroup", 8 * GiB, 9 * GiB, 0);
    EXPECT_EQ(available(), 0u);
}

TEST_F(AvailableMemory, IsThatOfGroupsOfTheFirstVersion) {
    write("proc/self/cgroup", "5:cpu,cpuacct:/c\n4:hugetlb,memory:/a/b\n0::/\n");
    group("sys/fs/cgroup/memory", 0x7ffffffffffff000, 3 * GiB, 0); // no limit
    EXPECT_EQ(available(), 9 * GiB);
    group("sys/fs/cgroup/memory/a/b", 4 * GiB, 3 * GiB, GiB);
    EXPECT_EQ(available(), 2 * GiB);
    group("sys/fs/cgroup/memory/a", 2 * GiB, GiB, 0);
    EXPECT_EQ(available(), GiB);
}

TEST_F(AvailableMemory, OfSwapIsWhatAGroupLeavesOfIt) {
    write("proc/self/cgroup", "0::/a\n");
    group("sys/fs/cgroup/a", 4 * GiB, 2 * GiB, 0);
    EXPECT_EQ(available(), 2 * GiB);
    write("sys/fs/cgroup/a/memory.swap.max", "max\n");
    EXPECT_EQ(available(), 3 * GiB); // the machine has no more
    write("sys/fs/cgroup/a/memory.swap.max", std::to_string(GiB));
    write("sys/fs/cgroup/a/memory.swap.current", std::to_string(GiB / 4));
    EXPECT_EQ(available(), 2 * GiB + GiB * 3 / 4);
    write("sys/fs/cgroup/a/memory.swap.max", "0\n");
    EXPECT_EQ(available(), 2 * GiB);
}

TEST_F(AvailableMemory, OfSwapIsWhatGroupsOfTheFirstVersionLeaveOfIt) {
    write("proc/self/cgroup", "4:memory:/a\n");
    group("sys/fs/cgroup/memory/a", 4 * GiB, 2 * GiB, 0);
    write("sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes", std::to_string(5 * GiB));
    write("sys/fs/cgroup/memory/a/memory.memsw.usage_in_bytes", std::to_string(2 * GiB + GiB / 2));
    EXPECT_EQ(available(), 2 * GiB + GiB / 2); // memory and swap together
}

} // namespace
} // namespace umbel::jit
