// support/film_files.h: films that write files into a folder of their own.
#pragma once
#include "core/file_text.h"
#include "core/image_io.h"
#include "support/scenes.h"
#include <unistd.h>

namespace umbel::test {

class FilmFileTest : public testing::Test {
protected:
    FilmFileTest() {
        static int count = 0;
        folder = std::filesystem::temp_directory_path() /
                 fmt::format("umbel-films-{}-{}", getpid(), count++);
        std::filesystem::create_directories(folder);
    }
    ~FilmFileTest() override { std::filesystem::remove_all(folder); }

    /// An image of 2 x 3 pixels that the film makes of means of these channels: value k of a pixel i is (1 + i) (1 + k) / 8.
    static Image image_for(const Film &film, const std::vector<std::string> &collected) {
        std::vector<double> means;
        for (size_t i = 0; i < 6; ++i)
            for (size_t k = 0; k < collected.size(); ++k)
                means.push_back(double(1 + i) * double(1 + k) / 8);
        std::vector<double> v =
            read_floats(film.develop(float_array(means), uint32_t(collected.size())));
        Image image(2, 3, film.image_names(collected), Component::F32);
        std::copy(v.begin(), v.end(), image.data<float>());
        return image;
    }

    VariantScope scope{ find_variant("interp_rgb") };
    std::filesystem::path folder;
};

} // namespace umbel::test
