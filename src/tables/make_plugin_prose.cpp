// tables/make_plugin_prose.cpp: the comments that begin plugins' files, as a table of the program's manual.
//
//     make_plugin_prose OUTPUT FILE...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

int main(int argc, char **argv) {
    std::ofstream out(argv[1]);
    out << "#include \"cli/manual.h\"\n\nnamespace umbel {\n\nconst PluginProse plugin_prose[] = "
           "{\n";
    for (int i = 2; i < argc; ++i) {
        std::filesystem::path file = argv[i];
        std::ifstream in(file);
        out << "    { \"" << file.parent_path().filename().string() << "\", \""
            << file.stem().string() << "\", R\"prose(";
        for (std::string line; std::getline(in, line) && line.starts_with("//");)
            out << line.substr(line.starts_with("// ") ? 3 : 2) << "\n";
        out << ")prose\" },\n";
    }
    out << "    {}\n};\n\n} // namespace umbel\n";
    if (!out.flush()) {
        std::fprintf(stderr, "cannot write %s\n", argv[1]);
        return 1;
    }
}
