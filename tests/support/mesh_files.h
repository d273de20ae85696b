// support/mesh_files.h: meshes from files that a test writes.
#pragma once
#include "support/scenes.h"
#include <fstream>

namespace umbel::test {

class MeshFileTest : public testing::Test {
protected:
    MeshFileTest() {
        folder = std::filesystem::temp_directory_path() / fmt::format("umbel-mesh-{}", getpid());
        std::filesystem::create_directories(folder);
    }
    ~MeshFileTest() override { std::filesystem::remove_all(folder); }

    std::string write(const std::string &name, const std::string &bytes) {
        std::ofstream(folder / name, std::ios::binary) << bytes;
        return (folder / name).string();
    }
    static Ref<Shape> load(const char *type, const std::string &file) {
        return make_object<Shape>(Properties("shape", type).set("filename", file));
    }
    static const Mesh &mesh(const Ref<Shape> &s) { return dynamic_cast<const Mesh &>(*s); }

    VariantScope scope{ find_variant("interp_rgb") };
    std::filesystem::path folder;
};

} // namespace umbel::test
