// tables/make_upsampling_table.cpp: run by the build; writes the table behind core/upsampling.h to a file.
#include "core/upsampling_fit.h"
#include <cstdio>
#include <tbb/parallel_for.h>
#include <vector>

int main(int argc, char **argv) {
    using namespace umbel;
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    std::vector<float> table(UpsamplingSize);
    tbb::parallel_for(size_t(0), 3 * UpsamplingResolution, [&](size_t row) {
        fill_upsampling_row(row / UpsamplingResolution, row % UpsamplingResolution, table.data());
    });
    FILE *file = std::fopen(argv[1], "wb");
    bool good =
        file && std::fwrite(table.data(), sizeof(float), table.size(), file) == table.size();
    good = file && std::fclose(file) == 0 && good;
    if (!good)
        std::perror(argv[1]);
    return good ? 0 : 1;
}
