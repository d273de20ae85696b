// heightfield: the square from (-1, -1) to (1, 1) in the plane z = 0, raised by the values of an image or texture.
//
// A pixel is a vertex: the first is at (-1, -1), where u = v = 0, the last one at (1, 1). Between four of them are two
// triangles. Colours count by their luminance.
#include "core/colour.h"
#include "core/host_array.h"
#include "core/image_io.h"
#include "core/reads_files.h"
#include "jit/element_count.h"
#include "render/shape.h"
#include "render/texture.h"

namespace umbel {

class Heightfield final : public Mesh, public ReadsFiles {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/image.png'/>");
        p.example("<texture type='checkerboard'/><integer name='width' value='7'/>"
                  "<integer name='height' value='5'/><float name='scale' value='.3'/>"
                  "<boolean name='shading_normals' value='false'/>");
        Mesh::declare(p);
        std::string file;
        p.string("filename", file, "").doc("An image of heights; or give a texture");
        if (p.loading() && !file.empty())
            m_file = p.properties()->get_file("filename");
        p.boolean("shading_normals", m_is_smooth, true)
            .doc("Whether normals are interpolated, or those of triangles");
        p.integer("width", m_width, 0, 0)
            .doc(
                "Vertices along x, where heights come from a texture; its own if that is a bitmap");
        p.integer("height", m_height, 0, 0).doc("Vertices along y, likewise");
        p.number("scale", m_scale, 1).fixed().doc("Multiplies heights");
        if (!p.loading())
            return;
        for (const Property &q : p.properties()->all())
            if (q.object() && (*q.object())->kind == Texture::Kind) {
                m_texture = p.loader()->load_as<Texture>(*q.object());
                remove_attribute(q.name); // it is none
            }
        if (m_file.empty() == !m_texture)
            fail("{}: give either a filename or a texture", p.properties()->describe());
    }

    void read_files() override {
        if (m_texture)
            return;
        Image image =
            to_model(convert(read_image(m_file), Component::F64, false), ColourModel::Y, false);
        const double *v = image.data<double>();
        set_heights(image.width(), image.height(), { v, v + image.pixels() });
    }

    void configure() override {
        take_files();
        if (m_texture)
            rasterize();
        finish_mesh(false);
    }

private:
    void rasterize() {
        auto [w, h] = m_texture->resolution();
        if (m_width)
            w = size_t(m_width);
        if (m_height)
            h = size_t(m_height);
        if (w < 2 || h < 2)
            complain("heights from a texture need a width and a height of 2 at least");
        UInt32 lane(jit::lane_index(jit::element_count(w * h))), y = lane / UInt32(uint32_t(w)),
                                                                 x = lane - y * UInt32(uint32_t(w));
        SurfaceInteraction si;
        // In the middle of pixels
        si.uv = { (Float(x) + 0.5) / double(w), (Float(y) + 0.5) / double(h) };
        si.wavelengths = {};
        set_heights(w, h, read_floats(m_texture->eval_1(si, true)));
    }

    void set_heights(size_t w, size_t h, const std::vector<double> &heights) {
        if (w < 2 || h < 2 || w * h >= (1u << 28))
            complain("a height field of {} x {} vertices; 2 x 2 to 2^28 of them are possible", w,
                     h);
        std::vector<double> &p = positions.get(), &uv = uvs.get();
        std::vector<uint32_t> &index = indices.get();
        normals.clear();
        p.resize(3 * w * h);
        uv.resize(2 * w * h);
        index.clear();
        index.reserve(6 * (w - 1) * (h - 1));
        for (size_t y = 0; y < h; ++y)
            for (size_t x = 0; x < w; ++x) {
                size_t i = y * w + x;
                double u = double(x) / double(w - 1), v = double(y) / double(h - 1);
                p[3 * i] = 2 * u - 1;
                p[3 * i + 1] = 2 * v - 1;
                p[3 * i + 2] = m_scale * heights[i];
                uv[2 * i] = u;
                uv[2 * i + 1] = v;
                if (x + 1 == w || y + 1 == h)
                    continue;
                auto a = uint32_t(i), b = a + 1, c = uint32_t(i + w), d = c + 1;
                for (uint32_t k : { a, b, d, a, d, c })
                    index.push_back(k);
            }
        to_world_space();
        if (m_is_smooth)
            smooth_normals();
    }

    std::filesystem::path m_file;
    Ref<Texture> m_texture;
    bool m_is_smooth = true;
    int m_width = 0, m_height = 0;
    double m_scale = 1;
};

UMBEL_PLUGIN(Shape, Heightfield, "heightfield")
} // namespace umbel
