// support/volume_file.h: files of volume data.
#pragma once
#include <array>
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

} // namespace umbel::test
