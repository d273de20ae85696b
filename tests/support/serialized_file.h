// support/serialized_file.h: files of the shape `serialized`, written without a compressor.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace umbel::test {

template <class T> std::string bytes_of(T v) {
    std::string s(sizeof v, 0);
    std::memcpy(s.data(), &v, sizeof v);
    return s;
}

/// A zlib stream that holds the bytes as they are.
inline std::string stored(const std::string &data) {
    std::string out = "\x78\x01";
    size_t at = 0;
    do {
        size_t n = std::min<size_t>(data.size() - at, 0xffff);
        out += char(at + n == data.size());
        out += bytes_of(uint16_t(n)) + bytes_of(uint16_t(~n)) + data.substr(at, n);
        at += n;
    } while (at < data.size());
    uint32_t a = 1, b = 0; // Adler's checksum, its high byte first
    for (unsigned char c : data)
        a = (a + c) % 65521, b = (b + a) % 65521;
    std::string sum = bytes_of((b << 16) | a);
    return out + std::string(sum.rbegin(), sum.rend());
}

/// One mesh: what there is none of stays empty.
struct SerializedMesh {
    std::vector<double> positions, normals, uvs, colours;
    std::vector<uint32_t> triangles;
    bool face_normals = false, wide = false;
    std::string name = "mesh";

    std::string bytes(int version) const {
        uint32_t flags = (normals.empty() ? 0 : 1) | (uvs.empty() ? 0 : 2) |
                         (colours.empty() ? 0 : 8) | (face_normals ? 0x10 : 0) |
                         (wide ? 0x2000 : 0x1000);
        std::string data = bytes_of(flags);
        if (version >= 4)
            data += name + '\0';
        data += bytes_of(uint64_t(positions.size() / 3)) + bytes_of(uint64_t(triangles.size() / 3));
        for (const std::vector<double> *list : { &positions, &normals, &uvs, &colours })
            for (double v : *list)
                data += wide ? bytes_of(v) : bytes_of(float(v));
        for (uint32_t i : triangles)
            data += bytes_of(i);
        return bytes_of(uint16_t(0x041c)) + bytes_of(uint16_t(version)) + stored(data);
    }
};

inline std::string serialized_file(const std::vector<SerializedMesh> &meshes, int version = 4) {
    std::string out, table;
    for (const SerializedMesh &m : meshes) {
        table += version == 3 ? bytes_of(uint32_t(out.size())) : bytes_of(uint64_t(out.size()));
        out += m.bytes(version);
    }
    return out + table + bytes_of(uint32_t(meshes.size()));
}

/// Two rectangles that meet in a right angle along x = 0.
inline SerializedMesh folded_sheet() {
    SerializedMesh m;
    m.positions = { -1, -1, 0, 0, -1, 0, 0, 1, 0, -1, 1, 0, 0, -1, -1, 0, 1, -1 };
    m.uvs = { 0, 0, .5, 0, .5, 1, 0, 1, 1, 0, 1, 1 };
    m.triangles = { 0, 1, 2, 0, 2, 3, 1, 4, 5, 1, 5, 2 };
    return m;
}

} // namespace umbel::test
