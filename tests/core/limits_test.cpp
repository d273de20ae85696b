// tests/core/limits_test.cpp: sizes, memory, and text of files in messages.
#include "core/file_resolver.h"
#include "core/limits.h"
#include "core/printable.h"
#include "core/warning.h"
#include "jit/available_memory.h"
#include "jit/error.h"
#include "jit/warning.h"
#include <gtest/gtest.h>

namespace umbel {

TEST(Limits, SizesHaveUnits) {
    EXPECT_EQ(parse_bytes("512", "x"), 512u);
    EXPECT_EQ(parse_bytes("64K", "x"), 65536u);
    EXPECT_EQ(parse_bytes("1.5M", "x"), size_t(3) << 19);
    EXPECT_EQ(parse_bytes("2GiB", "x"), size_t(2) << 30);
    EXPECT_EQ(parse_bytes("1TB", "x"), size_t(1) << 40);
    for (const char *text :
         { "", "M", "-1", "0", "nan", "inf", "1e30", "5X", "5 M", "5Mi b", "0x10" })
        EXPECT_THROW(parse_bytes(text, "x"), UserError) << text;
    EXPECT_EQ(format_bytes(512), "512 B");
    EXPECT_EQ(format_bytes(1.5 * 1024 * 1024), "1.5 MiB");
}

TEST(Limits, MemoryIsAskedFor) {
    size_t there_is = available_memory();
    EXPECT_GT(there_is, size_t(1) << 20);
    EXPECT_LT(there_is, size_t(1) << 56);
    ask_for_memory(1000, "x");
    EXPECT_THROW(ask_for_memory(1e18, "x"), DeviceError);
    EXPECT_TRUE(jit::memory_left().ends_with(" MiB of memory are left")) << jit::memory_left();
}

TEST(Limits, AnEmptyFolderIsNoFence) {
    FileResolver files;
    EXPECT_THROW(files.restrict_to({ "" }), UserError);
    EXPECT_THROW(files.restrict_to({ "/tmp", "" }), UserError);
}

TEST(Printable, ShowsWhatCommandsTerminalsAndLeavesTextAlone) {
    for (const char *text : { "", "plain\ttext\n", "Größe, 大きさ, 🙂" })
        EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
    EXPECT_EQ(printable("a\rb\x7f\x07"), "a\\x0d"
                                         "b\\x7f\\x07");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\xc2\\x9b31m"); // a control character beyond ASCII
    EXPECT_EQ(printable("\x9b"
                        "31m"),
              "\\x9b31m");                                                       // no UTF-8
    EXPECT_EQ(printable("\xc0\x9b \xe0\x80\x9b"), "\\xc0\\x9b \\xe0\\x80\\x9b"); // too long a form
    EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");                              // cut
}

// The rest of what there was to say was lost.
TEST(UserErrors, GoOnBehindANul) {
    try {
        fail("{}: unknown parameter \"{}\"; leave it out", "a.xml:3", std::string("x\0y\0", 4));
    } catch (const UserError &e) {
        EXPECT_STREQ(e.what(), "a.xml:3: unknown parameter \"x\\x00y\\x00\"; leave it out");
    }
}

// All layers warn in one place, and names of files in what they say do not command a terminal.
TEST(Warnings, HaveOneSink) {
    std::string text;
    set_warning_sink([&](const std::string &t) { text += t + "\n"; });
    warn("a name\x1b[2J");
    jit::warn("a cache");
    set_warning_sink({});
    EXPECT_EQ(text, "a name\\x1b[2J\na cache\n");
}

} // namespace umbel
