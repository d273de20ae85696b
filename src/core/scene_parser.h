// core/scene_parser.h: the walk over a scene's XML, with everything that a walk has to remember.
#pragma once
#include "core/scene_xml.h"
#include <initializer_list>
#include <pugixml.hpp>
#include <set>
#include <unordered_map>

namespace umbel::scene_xml {

struct File {
    std::shared_ptr<const std::string> name; // as shown in messages
    std::filesystem::path path;              // canonical; empty for text without a file
    std::string text;                        // which the document points into, or ...
    std::string piece;                       // ... this, of large files
    pugi::xml_document document;             // of large files: the start of the root
    mutable size_t base = 0; // in the text: where the document begins that is being read
    std::vector<size_t> line_ends;
    Version version;
};

/// An element's attributes, `$names` replaced.
struct Attributes {
    std::vector<std::pair<std::string, std::string>> list;

    const std::string *find(std::string_view name) const;
    /// Empty if absent.
    std::string_view operator[](std::string_view name) const;
};

/// Where the walk stands.
struct Scope {
    const File &file;
    Properties &object;                                     // what is being filled
    std::unordered_map<std::string, SourceLocation> &names; // its named parameters so far
    bool in_emitter;                                        // colours here are illuminants
    int depth;
};

class SceneParser {
public:
    explicit SceneParser(const SceneFileOptions &options);

    Properties parse_file(const std::filesystem::path &path);
    Properties parse_text(std::string_view text, std::string_view name);

private:
    using Names = std::initializer_list<std::string_view>;

    // Files and the root: scene_xml.cpp
    Properties parse_main(File &file, std::string text);
    void load(File &file, std::string text, const std::string &where);
    void count_bytes(size_t bytes, const std::string &where);
    Version read_version(const Scope &scope, pugi::xml_node root, const Version *inherited);
    void note(const File &file, const Version &version) const;
    void check_parsed(const File &file, const pugi::xml_parse_result &result) const;
    [[noreturn]] static void refuse_entities(const std::string &where);
    void parse_include(const Scope &scope, pugi::xml_node node);
    void warn_about_definitions() const;
    void warn(std::string text) const;

    // Large files: scene_xml_stream.cpp
    void open_streamed(File &file);
    void parse_streamed(const Scope &scope, pugi::xml_node parent, size_t begin);
    void parse_piece(const File &file, pugi::xml_document &document, std::string &piece,
                     size_t begin, size_t end) const;
    void parse_start(const File &file, pugi::xml_document &document, std::string &piece,
                     size_t begin, size_t end) const;
    void refuse_second_root(const File &file, size_t from) const;
    [[noreturn]] void refuse_text_without_root(File &file) const;

    // Objects and what they contain: scene_xml.cpp
    static bool makes_object(std::string_view tag);
    void parse_children(const Scope &scope, pugi::xml_node parent);
    void parse_element(const Scope &scope, pugi::xml_node node);
    PropertiesPtr parse_object(const Scope &scope, pugi::xml_node node, bool is_root);
    void add(const Scope &scope, pugi::xml_node node, std::string_view name, PropertyValue value);
    void parse_default(const Scope &scope, pugi::xml_node node);
    void parse_path(const Scope &scope, pugi::xml_node node);

    // Values: scene_xml_elements.cpp. parse_value() is false for tags that are no values.
    bool parse_value(const Scope &scope, pugi::xml_node node, std::string_view tag);
    SpectrumData read_spectrum(const Scope &scope, pugi::xml_node node, std::string_view tag,
                               const Attributes &a);
    TransformData read_transform(const Scope &scope, pugi::xml_node node);
    TransformData read_step(const Scope &scope, pugi::xml_node node);
    AnimationData read_animation(const Scope &scope, pugi::xml_node node);

    // Attributes and messages: scene_xml_elements.cpp
    Attributes attributes(const Scope &scope, pugi::xml_node node, Names required,
                          Names optional = {});
    std::string expand(const Scope &scope, pugi::xml_node node, std::string_view text);
    void expect_no_children(const Scope &scope, pugi::xml_node node) const;
    /// Elements below `node`; anything but elements and comments is an error.
    std::vector<pugi::xml_node> elements(const Scope &scope, pugi::xml_node node) const;
    /// Runs `f` and says where a Problem in it stands.
    template <class F> auto located(const Scope &scope, pugi::xml_node node, F f) const;
    std::string place(const Scope &scope, pugi::xml_node node) const;
    /// Of an offset in the document that is being read, or in the whole text.
    SourceLocation location(const File &file, ptrdiff_t offset) const;
    static SourceLocation location_of(const File &file, size_t offset);
    [[noreturn]] void refuse_text(const Scope &scope, pugi::xml_node parent,
                                  std::string_view text) const;
    [[noreturn]] void error(const Scope &scope, pugi::xml_node node, std::string_view what) const;

    const SceneFileOptions &m_options;
    std::shared_ptr<FileResolver> m_files = std::make_shared<FileResolver>();
    std::map<std::string, std::string, std::less<>> m_parameters; // <default> and -D
    std::set<std::string, std::less<>> m_used; // parameters that were substituted
    std::vector<Alias> m_aliases;
    Remarks m_remarks;                         // about old files
    std::vector<std::filesystem::path> m_open; // the chain of includes
    size_t m_bytes = 0, m_expanded_bytes = 0;
    int m_file_count = 0;
    struct Streamed { // an element of which the start has been parsed
        pugi::xml_node node;
        size_t children; // where they begin in the text
    };
    std::vector<Streamed> m_streamed; // those whose children are to be read, at once
};

template <class F> auto SceneParser::located(const Scope &scope, pugi::xml_node node, F f) const {
    try {
        return f();
    } catch (const Problem &problem) {
        std::string_view name = node.attribute("name").value();
        error(scope, node,
              name.empty() ? problem.what : "parameter " + quote(name) + ": " + problem.what);
    }
}

} // namespace umbel::scene_xml
