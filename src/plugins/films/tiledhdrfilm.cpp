// tiledhdrfilm: a tiled OpenEXR file that is written while it is rendered, for images that do not fit into memory.
//
// `umbel render` computes strips of tiles, one after the other, each with all of its samples: a strip is all that is ever
// in memory. The file appears when the last one is done. Scripts, which ask for the image as a whole, get it as from
// `hdrfilm`.
#include "core/image_io.h"
#include "core/image_strips.h"
#include "render/colour_film.h"
#include <algorithm>

namespace umbel {

class TiledHdrFilm final : public ColourFilm {
public:
    void declare(Params &p) override {
        p.example("");
        Film::declare(p);
        declare_pixels(p, "rgb", { "luminance", "luminance_alpha", "rgb", "rgba", "xyz", "xyza" });
        declare_component(p);
    }

    std::filesystem::path file_name(const std::filesystem::path &path) const override {
        return with_only_extension(path, ".exr");
    }
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override {
        std::filesystem::path file = file_name(path);
        write_image(file, image, { .component = component(), .tile = Tile });
        return file;
    }
    int strip_rows() const override { // whole tiles, some two million pixels
        return std::max(1, (1 << 21) / m_crop.width / Tile) * Tile;
    }
    std::shared_ptr<ImageStrips> open_strips(const std::filesystem::path &path,
                                             const std::vector<std::string> &names) const override {
        return open_exr_strips(path, size_t(m_crop.width), size_t(m_crop.height), names,
                               component(), Tile);
    }

private:
    static constexpr int Tile = 64; // pixels, each way
};

UMBEL_PLUGIN(Film, TiledHdrFilm, "tiledhdrfilm")
} // namespace umbel
