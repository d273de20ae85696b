// support/volume_file.h: files of volume data.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace umbel::test {

struct VolumeFile {
    std::array<int32_t, 3> size; // along x, y and z
    int32_t channels = 1;
    std::vector<float> values = {};
    std::array<float, 6> box = { -1, -0.5f, 0, 1, 1.5f, 2 };
    int32_t encoding = 1; // floats; 2: halves, 3: bytes

    std::string bytes() const {
        std::string out = "VOL\x03";
        auto add = [&](const auto &v) {
            out.append(reinterpret_cast<const char *>(&v), sizeof(v));
        };
        add(encoding), add(size), add(channels), add(box);
        for (float v : values)
            if (encoding == 1)
                add(v);
            else if (encoding == 2)
                add(_Float16(v));
            else
                add(uint8_t(v * 255 + 0.5f));
        return out;
    }
};

/// Distances to a ball in the unit cube, at points that reach its faces.
inline VolumeFile ball_of_distances(std::array<int32_t, 3> size, double radius = 0.38,
                                    std::array<double, 3> centre = { 0.5, 0.48, 0.52 }) {
    VolumeFile file{ size };
    for (int z = 0; z < size[2]; ++z)
        for (int y = 0; y < size[1]; ++y)
            for (int x = 0; x < size[0]; ++x)
                file.values.push_back(float(std::hypot(x / double(size[0] - 1) - centre[0],
                                                       y / double(size[1] - 1) - centre[1],
                                                       z / double(size[2] - 1) - centre[2]) -
                                            radius));
    return file;
}

} // namespace umbel::test
