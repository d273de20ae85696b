// tests/jit/task_test.cpp: tasks of very many arrays.
#include "jit/task.h"
#include <ctime>
#include <gtest/gtest.h>

using namespace umbel::jit;

namespace {

struct NoTask final : Task {
    void run() override {}
    std::shared_ptr<Task> copy() const override { return std::make_shared<NoTask>(*this); }
    bool same(const Task &) const override { return true; }
};

// They were searched from the first to the last for each one that was added: minutes for scenes of many objects.
TEST(TaskTest, AnArrayIsFoundAsFastAmongManyAsAmongFew) {
    constexpr uint32_t Count = 200'000;
    float number = 0;
    std::vector<BufferRef> buffers;
    for (uint32_t i = 0; i < Count; ++i)
        buffers.push_back(borrow(&number, sizeof number, {}));
    NoTask task;
    std::clock_t begin = std::clock(); // of computing
    for (int round = 0; round < 2; ++round)
        for (uint32_t i = 0; i < Count; ++i)
            ASSERT_EQ(task.add({ buffers[i], Type::F32, 1, TaskArray::Read }), i);
    EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 5);
    // Another use is another place, and so is what is appended; a copy, which gets other arrays, finds them anew
    EXPECT_EQ(task.add({ buffers[7], Type::F32, 1, TaskArray::Write }), Count);
    EXPECT_EQ(task.append({ buffers[7], Type::F32, 1, TaskArray::Read }), Count + 1);
    EXPECT_EQ(task.add({ buffers[7], Type::F32, 1, TaskArray::Read }), 7u);
    std::shared_ptr<Task> copy = task.copy();
    copy->arrays[7].buffer = buffers[9];
    EXPECT_EQ(copy->add({ buffers[9], Type::F32, 1, TaskArray::Read }), 7u);
    EXPECT_EQ(copy->add({ buffers[7], Type::F32, 1, TaskArray::Read }), Count + 1);
}

} // namespace
