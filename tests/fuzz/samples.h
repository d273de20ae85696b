// fuzz/samples.h: undamaged files of all kinds that Umbel reads, small, with most of what each format can have.
#pragma once
#include "jit/kernel_cache.h"
#include <filesystem>
#include <string>
#include <vector>

namespace umbel::test {

/// A file, and what refers to it in a scene; or, where nothing does, a scene itself.
struct Sample {
    enum Kind { File, Checkpoint, Kernel, Program };

    std::string name, bytes;
    std::string object = {}; // as XML, with NAME for the file
    Kind kind = File;

    bool is_xml() const { return name.ends_with(".xml"); }
};
/// With files of OpenVDB only if asked for: what that library wants when they are damaged has no bound (docs/security.md).
std::vector<Sample> samples(bool with_vdb = false);
/// No file but a random program, of which the bytes give the number.
Sample program_sample();

// ---- What tests of particular damage begin with
extern const char *const ObjMesh;
std::string ply_mesh(const char *format);
/// An object of this kind and type that reads the file NAME; `more`: its other parameters.
std::string reading(const char *kind, const char *type, const char *more = "");
/// A surface with a material, or with a texture as its colour.
std::string with_bsdf(const std::string &bsdf);
std::string with_texture(std::string texture);
/// The scene of the checkpoint; what is in files of kernels, and under which name.
std::string checkpoint_scene();
std::string kernel_blob(bool is_long);
constexpr jit::Key FuzzKey{ 0x123456789abcdef, 42 };
constexpr const char *FuzzFingerprint = "a machine";

std::string read_whole(const std::filesystem::path &file);

} // namespace umbel::test
