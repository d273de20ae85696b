// support/gltf_file.h: a small glTF file.
#pragma once
#include <cstdint>
#include <string>

namespace umbel::test {

/// The binary form: the text, and the bytes of its first buffer.
inline std::string glb(std::string text, std::string bytes = "") {
    auto number = [](size_t v) {
        auto n = uint32_t(v);
        return std::string(reinterpret_cast<const char *>(&n), 4);
    };
    text.resize((text.size() + 3) / 4 * 4, ' ');
    bytes.resize((bytes.size() + 3) / 4 * 4, '\0');
    std::string chunks = number(text.size()) + "JSON" + text;
    if (!bytes.empty())
        chunks += number(bytes.size()) + std::string("BIN\0", 4) + bytes;
    return "glTF" + number(2) + number(12 + chunks.size()) + chunks;
}

/// A triangle from (-1, -1) over (1, -1) to (0, 1), with texture coordinates. `more` goes into the file, `material` into the
/// only material, and `nodes` are the nodes of its scene.
inline std::string gltf_triangle(const std::string &nodes = R"({"mesh": 0})",
                                 const std::string &material = "", const std::string &more = "") {
    const char *bytes = "AACAvwAAgL8AAAAAAACAPwAAgL8AAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/"
                        "AAAAAAAAAD8AAIA/AAABAAIAAAA=";
    size_t count = 1;
    for (size_t i = 0, depth = 0; i < nodes.size(); ++i) {
        depth += nodes[i] == '{' || nodes[i] == '[';
        depth -= nodes[i] == '}' || nodes[i] == ']';
        count += nodes[i] == ',' && depth == 0;
    }
    std::string all = "0";
    for (size_t i = 1; i < count; ++i)
        all += ", " + std::to_string(i);
    return R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [)" + all +
           R"(]}], "nodes": [)" + nodes +
           R"(], "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1},
           "indices": 2, "material": 0}]}], "materials": [{)" +
           material +
           R"(}], "accessors": [
           {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
            "min": [-1, -1, 0], "max": [1, 1, 0]},
           {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"},
           {"bufferView": 2, "componentType": 5123, "count": 3, "type": "SCALAR"}],
           "bufferViews": [{"buffer": 0, "byteLength": 36},
           {"buffer": 0, "byteOffset": 36, "byteLength": 24},
           {"buffer": 0, "byteOffset": 60, "byteLength": 6}],
           "buffers": [{"byteLength": 66, "uri": "data:application/octet-stream;base64,)" +
           bytes + R"("}])" + more + "}";
}

} // namespace umbel::test
