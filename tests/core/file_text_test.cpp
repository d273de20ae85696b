// tests/core/file_text_test.cpp: whole files as text, or as memory.
#include "core/file_text.h"
#include "core/image_io.h"
#include "jit/error.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace umbel {
namespace {

class FileText : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "umbel-text-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    /// What both readers say about a file.
    std::string complaint(const std::filesystem::path &path) const {
        std::string said;
        try {
            read_text_file(path);
        } catch (const UserError &e) {
            said = e.what();
        }
        try {
            FileBytes bytes(path);
        } catch (const UserError &e) {
            EXPECT_EQ(said, e.what());
        }
        return said;
    }

    std::filesystem::path folder;
};

TEST_F(FileText, IsWhatWasWritten) {
    // Small files are copied, large ones are mapped
    for (size_t size : { size_t(0), size_t(5), size_t(3) << 20 }) {
        std::string text(size, 'x');
        if (size)
            text.back() = 'y';
        write_file(folder / "a", text);
        EXPECT_EQ(read_text_file(folder / "a"), text);
        EXPECT_EQ(FileBytes(folder / "a").view(), text);
    }
    EXPECT_THROW(read_text_file(folder / "a", 1 << 20), UserError);
}

TEST_F(FileText, IsOfRegularFilesOnly) {
    std::filesystem::path pipe = folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0); // without a writer, which opening it waits for
    EXPECT_EQ(complaint(pipe),
              pipe.string() + ": cannot be read: it is a device or a pipe; name a regular file");
    EXPECT_NE(complaint("/dev/zero").find("a device"), std::string::npos);
    EXPECT_NE(complaint(folder).find("it is a folder"), std::string::npos);
    EXPECT_NE(complaint(folder / "none").find("No such file"), std::string::npos);
    EXPECT_THROW(read_image(pipe), UserError); // images, too
}

} // namespace
} // namespace umbel
