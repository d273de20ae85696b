// cli/images.cpp: `umbel tonemap`, `umbel compare`.
#include "cli/commands.h"
#include "core/file_text.h"
#include "core/image_io.h"
#include "core/image_ops.h"

namespace umbel {

namespace {

struct TonemapOptions {
    std::vector<std::string> files;
    std::string output, format = "png";
    Tonemap map;
    bool reinhard = false;
    double key = 0.18, burn = 0;
};

int tonemap_files(const TonemapOptions &o) {
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
        fmt::print("{}\n", out.string());
    }
    return 0;
}

int compare(const std::string &a, const std::string &b, double tolerance) {
    ImageDifference d = compare_images(read_image(a), read_image(b));
    fmt::print("mean           {:g} and {:g}\nmse            {:g}\nrmse           {:g}\n"
               "relative mse   {:g}\nlargest        {:g} at ({}, {}), channel {}\n",
               d.mean_a, d.mean_b, d.mse, d.rmse, d.relative_mse, d.maximum, d.x, d.y, d.channel);
    if (d.not_finite)
        fmt::print("not finite     {} components\n", d.not_finite);
    return d.not_finite || d.rmse > tolerance ? 1 : 0;
}

} // namespace

void add_image_commands(CLI::App &app, std::function<int()> &run) {
    auto t = std::make_shared<TonemapOptions>();
    CLI::App *c =
        app.add_subcommand("tonemap", "Turn images of radiance into pictures for display");
    c->add_option("image", t->files, "Images of high dynamic range")->required();
    c->add_option("-o,--output", t->output, "Picture to write");
    c->add_option("-f,--format", t->format, "Extension of pictures without -o");
    c->add_option("-m,--multiplier", t->map.multiplier, "Multiplies all values");
    c->add_option("-e,--exposure", t->map.exposure, "In stops");
    c->add_option("-g,--gamma", t->map.gamma, "Gamma in place of the sRGB curve");
    c->add_flag("-r,--reinhard", t->reinhard, "Reinhard's global operator");
    c->add_option("--key", t->key, "Where it puts the mean brightness, in (0, 1]");
    c->add_option("--burn", t->burn, "How far highlights may burn out, in [0, 1)");
    c->callback([t, &run] { run = [t] { return tonemap_files(*t); }; });

    auto a = std::make_shared<std::string>(), b = std::make_shared<std::string>();
    auto tolerance = std::make_shared<double>(std::numeric_limits<double>::infinity());
    CLI::App *d = app.add_subcommand("compare", "Measure how two images differ");
    d->add_option("a", *a, "First image")->required();
    d->add_option("b", *b, "Second image, the reference")->required();
    d->add_option("--tolerance", *tolerance, "Fail if the root mean square difference is larger");
    d->callback([a, b, tolerance, &run] { run = [=] { return compare(*a, *b, *tolerance); }; });
}

} // namespace umbel
