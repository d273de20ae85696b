// cli/images.cpp: `umbel tonemap`, `umbel compare`, `umbel view`.
#include "cli/scene_options.h"
#include "cli/viewer.h"
#include "core/file_text.h"
#include "core/image_io.h"
#include "core/image_ops.h"
#include <cstdio>
#undef check // of jit/error.h; it is a method of the parser's options here

namespace umbel {

namespace {

struct TonemapOptions : ReadOptions {
    std::vector<std::string> files;
    std::string output, format = "png";
    Tonemap map;
    bool reinhard = false;
    double key = 0.18, burn = 0;
};

int tonemap_files(TonemapOptions o) {
    o.apply();
    Tonemap map = o.map;
    if (o.reinhard)
        map.reinhard = Reinhard{ o.key, o.burn, {}, {} };
    if (!o.output.empty() && o.files.size() > 1)
        fail("-o names one file, and there are {} inputs; leave it out", o.files.size());
    for (const std::string &file : o.files) {
        std::filesystem::path out = o.output;
        if (out.empty())
            out = std::filesystem::path(file).replace_extension(o.format);
        std::error_code ignored; // where one of them does not exist, they are two
        if (std::filesystem::equivalent(file, out, ignored))
            fail("{}: the picture would replace the image that it is made of; name another file "
                 "with -o, or another format with -f",
                 out.string());
        check_writable(out);
        write_image(out, tonemap(read_image(file), map));
        std::puts(out.c_str()); // who has read enough does not end this: main() tells what is lost
    }
    return 0;
}

void write_page(const std::filesystem::path &path, const std::vector<ViewedImage> &images,
                const std::string &note = {}) {
    if (path.extension() != ".html" && path.extension() != ".htm")
        fail("{}: what is written is a page for browsers; give it a name that ends with .html",
             path.string());
    write_file(path, viewer_page(images, note));
    std::puts(path.c_str());
}

struct ViewOptions : ReadOptions {
    std::vector<std::string> files;
    std::string output;
};

int view(ViewOptions o) {
    o.apply();
    std::vector<ViewedImage> images;
    for (const std::string &file : o.files)
        images.push_back({ std::filesystem::path(file).filename().string(), read_image(file) });
    std::filesystem::path page = o.output;
    if (o.output.empty())
        page = std::filesystem::path(o.files[0]).replace_extension("html");
    write_page(page, images);
    return 0;
}

struct CompareOptions : ReadOptions {
    std::string a, b, output;
    double tolerance = std::numeric_limits<double>::infinity();
};

int compare(CompareOptions o) {
    o.apply();
    Image a = read_image(o.a), b = read_image(o.b);
    ImageDifference d = compare_images(a, b);
    fmt::print("mean           {:g} and {:g}\nmse            {:g}\nrmse           {:g}\n"
               "relative mse   {:g}\n",
               d.mean_a, d.mean_b, d.mse, d.rmse, d.relative_mse);
    if (d.maximum == 0 && !d.not_finite)
        fmt::print("largest        0: the images are the same\n");
    else
        fmt::print("largest        {:g} at ({}, {}), channel {}\n", d.maximum, d.x, d.y, d.channel);
    if (d.not_finite)
        fmt::print("not finite     {} components\n", d.not_finite);
    if (!o.output.empty())
        write_page(o.output, { { o.a, std::move(a) }, { o.b, std::move(b) } },
                   fmt::format("rmse {:g}, relative mse {:g}, largest {:g} at ({}, {})", d.rmse,
                               d.relative_mse, d.maximum, d.x, d.y));
    return d.not_finite || d.rmse > o.tolerance ? 1 : 0;
}

} // namespace

void add_image_commands(CLI::App &app, std::function<int()> &run) {
    auto t = std::make_shared<TonemapOptions>();
    CLI::App *c =
        app.add_subcommand("tonemap", "Turn images of radiance into pictures for display");
    c->add_option("image", t->files, "Images of high dynamic range")->required();
    c->add_option("-o,--output", t->output, "Picture to write")->check(NotEmpty);
    add_read_options(*c, *t);
    c->add_option("-f,--format", t->format, "Extension of pictures without -o");
    c->add_option("-m,--multiplier", t->map.multiplier, "Multiplies all values");
    c->add_option("-e,--exposure", t->map.exposure, "In stops");
    c->add_option("-g,--gamma", t->map.gamma, "Gamma in place of the sRGB curve");
    c->add_flag("-r,--reinhard", t->reinhard, "Reinhard's global operator");
    c->add_option("--key", t->key, "Where it puts the mean brightness, in (0, 1]");
    c->add_option("--burn", t->burn, "How far highlights may burn out, in [0, 1)");
    c->callback([t, &run] { run = [t] { return tonemap_files(*t); }; });

    auto o = std::make_shared<CompareOptions>();
    CLI::App *d = app.add_subcommand("compare", "Measure how two images differ");
    d->add_option("a", o->a, "First image")->required();
    d->add_option("b", o->b, "Second image, the reference")->required();
    d->add_option("-o,--output", o->output, "Page that shows both and their difference: .html")
        ->check(NotEmpty);
    d->add_option("--tolerance", o->tolerance, "Fail if the root mean square difference is larger")
        ->check(NotNegative);
    add_read_options(*d, *o);
    d->callback([o, &run] { run = [o] { return compare(*o); }; });

    auto w = std::make_shared<ViewOptions>();
    CLI::App *v = app.add_subcommand("view", "Write a page for browsers that shows images");
    v->add_option("image", w->files,
                  "Images of any format; the last is what others are compared to")
        ->required();
    v->add_option("-o,--output", w->output,
                  "The page; by default beside the first image, with .html")
        ->check(NotEmpty);
    add_read_options(*v, *w);
    v->callback([w, &run] { run = [w] { return view(*w); }; });
}

} // namespace umbel
