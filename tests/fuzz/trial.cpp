// tests/fuzz/trial.cpp
#include "fuzz/trial.h"
#include "core/image_io.h"
#include "core/scene_file.h"
#include "fuzz/largest_block.h"
#include "jit/buffer.h"
#include "render/driver.h"
#include "render/scene.h"
#include "support/image_samples.h"
#include "support/mutator.h"
#include "support/random_program.h"
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

namespace umbel::test {

namespace fs = std::filesystem;

// For files of a few kilobytes
constexpr size_t BlockLimit = size_t(128) << 20, ResidentLimit = size_t(512) << 20;

static size_t resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return size_t(usage.ru_maxrss) * 1024;
}

// As Render::save ends a state
void repair_checksum(const Sample &sample, std::string &bytes, uint32_t seed) {
    if (sample.kind != Sample::Checkpoint || !(seed & 64) || bytes.size() < 8)
        return;
    size_t n = bytes.size() - 8;
    uint64_t sum =
        crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef *>(bytes.data()), n);
    std::memcpy(bytes.data() + n, &sum, sizeof sum);
}

std::string damaged(const Sample &sample, std::string bytes, uint32_t seed) {
    if (sample.kind == Sample::Program)
        return std::to_string(seed);
    Mutator mutator(seed);
    bytes = sample.is_xml() ? mutator.damage_xml(bytes) : mutator.damage_bytes(bytes);
    repair_checksum(sample, bytes, seed);
    return bytes;
}

const std::vector<const char *> &trial_variants() {
    static const std::vector<const char *> names = { "interp_rgb", "interp_spectral",
                                                     "interp_mono_polarized_double" };
    return names;
}

Trial::Trial() {
    static int number = 0;
    m_folder = fs::temp_directory_path() / fmt::format("umbel-fuzz-{}-{}", getpid(), number++);
    fs::create_directories(m_folder);
    Image image = random_image(1, 8, 8, { "R", "G", "B" }, Component::U8, true);
    save("good.png", encode_image("png", image));
    save("good.obj", ObjMesh);
    save("good.ply", ply_mesh("binary_little_endian"));
}

Trial::~Trial() {
    std::error_code ignored;
    fs::remove_all(m_folder, ignored);
}

std::string Trial::save(const std::string &name, const std::string &bytes) const {
    std::ofstream(m_folder / name, std::ios::binary) << bytes;
    return (m_folder / name).string();
}

static std::string scene_around(std::string object, const std::string &file) {
    object.replace(object.find("NAME"), 4, file);
    return "<scene version='3.0.0'><sensor type='perspective'><transform name='to_world'>"
           "<lookat origin='0, 0, 4' target='0, 0, 0' up='0, 1, 0'/></transform><film "
           "type='hdrfilm'><integer name='width' value='4'/><integer name='height' value='3'/>"
           "</film><sampler type='independent'><integer name='sample_count' value='1'/>"
           "</sampler></sensor><integrator type='path'><integer name='max_depth' value='3'/>"
           "</integrator>" +
           object + (object.starts_with("<emitter") ? "" : "<emitter type='constant'/>") +
           "</scene>";
}

// A few pixels, however large the image is to be.
static void render_corner(const Scene &scene) {
    if (scene.sensors().empty())
        return;
    Film::Crop window = scene.sensors()[0]->film().crop();
    window.width = std::min(window.width, 4);
    window.height = std::min(window.height, 3);
    Render render(scene, { .spp = 1, .window = window });
    render.run();
    render.wait();
}

void Trial::load_file(const Sample &s, const std::string &bytes) {
    SceneFileOptions options;
    options.base_folder = m_folder;
    Properties root;
    if (s.is_xml())
        root = parse_scene_string(bytes, options);
    else if (std::string file = save(s.name, bytes); s.object.empty())
        root = parse_scene_file(file, options);
    else
        root = parse_scene_string(scene_around(s.object, file), options);
    render_corner(*load_scene(root));
}

// A state either is refused or goes on to the same image; one whose checksum was made to fit may go on to another.
void Trial::resume(const std::string &bytes) {
    VariantScope scope(find_variant("interp_rgb"));
    Ref<Scene> scene = load_scene(parse_scene_string(checkpoint_scene()));
    if (m_reference.pixels() == 0) {
        Render whole(*scene, { .launch_pixels = 64 });
        for (int i = 0; i < 3; ++i)
            whole.step();
        m_untouched = whole.save();
        whole.run();
        m_reference = whole.image();
    }
    Render render(*scene, { .launch_pixels = 64 });
    render.restore(bytes);
    render.run();
    Image image = render.image();
    bool same =
        image.width() == m_reference.width() && image.height() == m_reference.height() &&
        std::memcmp(image.bytes(), m_reference.bytes(), image.row_bytes() * image.height()) == 0;
    if (!same && bytes == m_untouched)
        throw Finding(Finding::WrongResult, "a checkpoint goes on to another image");
}

void Trial::read_kernel(const Sample &s, const std::string &bytes) {
    jit::KernelFiles files((m_folder / "kernels").string(), 1 << 30);
    std::string want = kernel_blob(s.name.starts_with("long")), blob;
    files.write(FuzzKey, FuzzFingerprint, want); // makes the folder
    std::ofstream(files.path(FuzzKey), std::ios::binary) << bytes;
    if (!files.read(FuzzKey, FuzzFingerprint, blob))
        fail("the file of a kernel is not what was written");
    if (blob != want)
        throw Finding(Finding::WrongResult, "a damaged file of a kernel was believed");
}

static void compare_backends(uint32_t seed) {
    Plan plan = random_plan(seed);
    Outcome a = play(plan, jit::interp_backend(), jit::DefaultFlags);
    if (!a.error.empty())
        throw Finding(Finding::WrongResult, "a random program fails: " + a.error);
    if (auto d = difference(a, play(plan, jit::llvm_backend(), jit::DefaultFlags)))
        throw Finding(Finding::WrongResult, "backends differ: " + *d);
}

void Trial::check_memory() const {
    auto within = [](size_t bytes, size_t limit, const char *what) {
        if (bytes > limit)
            throw Finding(Finding::TooMuchMemory, fmt::format("{} {} MiB", what, bytes >> 20));
    };
    within(largest_block, BlockLimit, "asked at once for");
    within(jit::memory_stats().peak, BlockLimit, "arrays take");
    within(resident_bytes(), m_resident + ResidentLimit, "resident memory has grown to");
}

bool Trial::run(const Sample &s, const std::string &bytes) {
    if (!m_resident)
        m_resident = resident_bytes();
    largest_block = 0;
    bool accepted = true;
    try {
        switch (s.kind) {
        case Sample::File: load_file(s, bytes); break;
        case Sample::Checkpoint: resume(bytes); break;
        case Sample::Kernel: read_kernel(s, bytes); break;
        case Sample::Program:
            compare_backends(uint32_t(std::strtoul(bytes.c_str(), nullptr, 10)));
            break;
        }
    } catch (const UserError &e) {
        m_error = e.what();
        accepted = false;
        if (m_error.size() <= 10)
            throw Finding(Finding::WrongResult, "says nothing: \"" + m_error + "\"");
    } catch (const Finding &) {
        throw;
    } catch (const std::exception &e) {
        throw Finding(Finding::WrongResult, std::string("not an error of the file: ") + e.what());
    }
    if (s.kind != Sample::Program)
        check_memory();
    return accepted;
}

} // namespace umbel::test
