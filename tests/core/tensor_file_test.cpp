// tests/core/tensor_file_test.cpp: files of arrays, whole and damaged.
#include "core/tensor_file.h"
#include "jit/error.h"
#include "support/tensor_files.h"
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

class TensorFiles : public testing::Test {
protected:
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("umbel_tensors_{}", getpid());

    void TearDown() override { std::filesystem::remove(path); }
    TensorFile read(const std::string &bytes) {
        std::ofstream(path, std::ios::binary) << bytes;
        return TensorFile(path);
    }
    std::string message(const std::string &bytes) {
        try {
            read(bytes);
        } catch (const UserError &e) {
            return e.what();
        }
        return "";
    }
};

const std::vector<TensorField> Fields = { { "bytes", { 3 }, { 1, 2, 255 }, 1 },
                                          { "grid", { 2, 2 }, { 0.5, -1, 2, 1e9 } },
                                          { "axis", { 2 }, { 1, 2 }, 11 } };

} // namespace

TEST_F(TensorFiles, AreReadAsTheyWereWritten) {
    TensorFile file = read(tensor_file(Fields));
    EXPECT_EQ(file.get("bytes", { 3 }).values, Fields[0].values);
    EXPECT_EQ(file.get("grid", { 2, 0 }).values, Fields[1].values);
    EXPECT_EQ(file.axis("axis"), Fields[2].values);
    EXPECT_TRUE(file.has("grid"));
    EXPECT_FALSE(file.has("spectra"));
}

// However much is missing, something is said and nothing else happens.
TEST_F(TensorFiles, TellWhereTheyEndTooEarly) {
    std::string whole = tensor_file(Fields);
    for (size_t n = 0; n < whole.size(); ++n) {
        std::string said = message(whole.substr(0, n));
        ASSERT_NE(said.find("byte "), std::string::npos) << n << ": " << said;
    }
    EXPECT_NE(message(whole.substr(0, 20)).find("byte 20: the file ends within"),
              std::string::npos);
}

TEST_F(TensorFiles, TellWhatIsDamaged) {
    std::string whole = tensor_file(Fields);
    auto changed = [&](size_t at, char to) {
        std::string bytes = whole;
        bytes[at] = to;
        return message(bytes);
    };
    EXPECT_NE(changed(3, 'x').find("byte 0: \"tensor_file\" is missing"), std::string::npos);
    EXPECT_NE(changed(12, 7).find("byte 12: the version is 7.0"), std::string::npos);
    // The first field: 2 + 5 bytes of its name and 2 of its dimensions, then type, offset and shape
    EXPECT_NE(changed(27, 99).find("byte 27: field \"bytes\" has numbers of the unknown type 99"),
              std::string::npos);
    EXPECT_NE(changed(30, 1).find("goes beyond the end"), std::string::npos);
    EXPECT_NE(changed(40, 1).find("byte 36: field \"bytes\" is larger than the file"),
              std::string::npos)
        << changed(40, 1);
}

TEST_F(TensorFiles, TellWhichFieldIsNotAsExpected) {
    TensorFile file = read(tensor_file(Fields));
    auto said = [&](auto f) -> std::string {
        try {
            f();
        } catch (const UserError &e) {
            return e.what();
        }
        return "";
    };
    EXPECT_NE(said([&] { file.get("vndf", { 1 }); }).find("no field \"vndf\", but axis, bytes"),
              std::string::npos);
    EXPECT_NE(
        said([&] { file.get("grid", { 2, 3 }); }).find("its shape is 2 x 2 in place of 2 x 3"),
        std::string::npos);
    TensorFile falling = read(tensor_file({ { "axis", { 3 }, { 1, 3, 2 } } }));
    EXPECT_NE(said([&] { falling.axis("axis"); }).find("number 2 is 2; they must increase"),
              std::string::npos);
}

} // namespace umbel
