// core/scene_xml.cpp: reading scene files: files and includes, objects and their structure.
#include "core/gltf.h"
#include "core/image_io.h"
#include "core/nearest_name.h"
#include "core/scene_parser.h"
#include "jit/error.h"
#include <algorithm>

namespace umbel {
namespace scene_xml {
namespace {

// Tags that make objects. <spectrum> does with a type, and is a value without.
constexpr std::string_view ObjectTags[] = { "bsdf",    "shape",   "emitter",    "luminaire",
                                            "sensor",  "camera",  "sampler",    "film",
                                            "rfilter", "texture", "integrator", "medium",
                                            "phase",   "volume",  "subsurface", "spectrum" };
constexpr std::string_view OtherTags[] = { "scene",  "include",   "alias",     "default",
                                           "path",   "ref",       "boolean",   "integer",
                                           "float",  "string",    "point",     "vector",
                                           "rgb",    "srgb",      "resource",  "matrix",
                                           "lookat", "transform", "animation", "blackbody" };

bool is_object(std::string_view tag) {
    return std::find(std::begin(ObjectTags), std::end(ObjectTags), tag) != std::end(ObjectTags);
}

std::vector<std::string> all_tags() {
    std::vector<std::string> result(std::begin(ObjectTags), std::end(ObjectTags));
    result.insert(result.end(), std::begin(OtherTags), std::end(OtherTags));
    return result;
}

bool contains_ignoring_case(std::string_view text, std::string_view lower) {
    auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
    return std::search(text.begin(), text.end(), lower.begin(), lower.end(), same) != text.end();
}

// Everything below works on UTF-8. Converting here keeps byte offsets, and so line numbers, true.
void to_utf8(std::string &text, const std::string &where) {
    if (text.find('\0') != text.npos || text.starts_with("\xff\xfe") ||
        text.starts_with("\xfe\xff"))
        fail("{}: this is not text in UTF-8; save it in that encoding", where);
    std::string_view head = std::string_view(text).substr(0, 128);
    head = head.substr(0, head.find("?>"));
    if (!contains_ignoring_case(head, "encoding") ||
        !(contains_ignoring_case(head, "iso-8859-1") || contains_ignoring_case(head, "latin1")))
        return;
    std::string result;
    result.reserve(text.size());
    for (unsigned char c : text) {
        if (c < 128) {
            result += char(c);
        } else {
            result += char(0xc0 | (c >> 6));
            result += char(0x80 | (c & 63));
        }
    }
    text = std::move(result);
}

} // namespace

bool SceneParser::makes_object(std::string_view tag) { return is_object(tag) && tag != "spectrum"; }

// ---- Files

SceneParser::SceneParser(const SceneFileOptions &options) : m_options(options) {
    for (const auto &[name, value] : options.definitions)
        m_parameters.emplace(name, value);
    m_files->restrict_to(options.allowed_folders);
}

Properties SceneParser::parse_file(const std::filesystem::path &path) {
    File file;
    file.name = std::make_shared<std::string>(path.string());
    std::string text = read_text_file(path, m_options.max_bytes, *file.name);
    std::error_code ignored;
    file.path = std::filesystem::weakly_canonical(path, ignored);
    m_files->add_folder(path.has_parent_path() ? path.parent_path() : ".");
    return parse_main(file, std::move(text));
}

Properties SceneParser::parse_text(std::string_view text, std::string_view name) {
    File file;
    file.name = std::make_shared<std::string>(name);
    m_files->add_folder(m_options.base_folder);
    return parse_main(file, std::string(text));
}

Properties SceneParser::parse_main(File &file, std::string text) {
    for (const auto &folder : m_options.search_folders)
        m_files->add_folder(folder);
    m_open.push_back(file.path);
    load(file, std::move(text), *file.name);

    // The scene has a parent that is thrown away, so that the root is read like any object.
    Properties nothing("file", "file");
    std::unordered_map<std::string, SourceLocation> names;
    Scope scope{ file, nothing, names, false, -1 };
    pugi::xml_node root = file.document.document_element();
    file.version = read_version(scope, root, nullptr);
    PropertiesPtr scene = parse_object(scope, root, true);
    file.document.reset();
    file.text = {}; // places have line numbers by now
    if (!m_options.notes)
        resolve_references(*scene, m_options.max_depth, m_aliases);
    else {
        m_options.notes->aliases = m_aliases;
        m_options.notes->folders = m_files->folders();
    }
    warn_about_definitions();
    std::vector<std::string> remarks;
    finish_remarks(m_remarks, remarks);
    for (std::string &remark : remarks)
        warn(std::move(remark));
    return std::move(*scene);
}

void SceneParser::load(File &file, std::string text, const std::string &where) {
    count_bytes(text.size(), where);
    to_utf8(text, *file.name);
    for (size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n')
            file.line_ends.push_back(i);

    file.text = std::move(text);
    if (file.text.size() >= stream_from)
        return open_streamed(file);
    check_parsed(file, file.document.load_buffer_inplace(file.text.data(), file.text.size(),
                                                         pugi::parse_default | pugi::parse_doctype,
                                                         pugi::encoding_utf8));
    auto place = [&](ptrdiff_t offset) { return location(file, offset).str(); };
    int roots = 0;
    for (pugi::xml_node node : file.document) {
        if (node.type() == pugi::node_doctype &&
            std::string_view(node.value()).find('[') != std::string_view::npos)
            refuse_entities(place(node.offset_debug()));
        if (node.type() == pugi::node_element && ++roots > 1)
            fail("{}: <{}> is a second root element; put everything into one <scene>",
                 place(node.offset_debug()), node.name());
    }
}

void SceneParser::check_parsed(const File &file, const pugi::xml_parse_result &result) const {
    if (result.status == pugi::status_out_of_memory)
        throw DeviceError(fmt::format("{}: not enough memory to read the file", *file.name));
    if (!result)
        fail("{}: this is not well-formed XML: {}; correct it", location(file, result.offset).str(),
             result.description());
}

// Entities are never expanded; a file that declares some would silently lose its meaning.
void SceneParser::refuse_entities(const std::string &where) {
    fail("{}: document type declarations with entities are not supported; remove <!DOCTYPE>",
         where);
}

// The budget is for all files together: a small one may be named a million times.
void SceneParser::count_bytes(size_t bytes, const std::string &where) {
    m_bytes += bytes;
    if (m_bytes > m_options.max_bytes)
        fail("{}: the scene's files have more than {} bytes together; raise the limit with "
             "--max-scene or UMBEL_MAX_SCENE if this is intended",
             where, m_options.max_bytes);
}

Version SceneParser::read_version(const Scope &scope, pugi::xml_node root,
                                  const Version *inherited) {
    pugi::xml_attribute attribute = root.attribute("version");
    if (!attribute && inherited) {
        note(scope.file, *inherited);
        return *inherited;
    }
    if (!attribute)
        error(scope, root,
              fmt::format("<{}> has no version; write e.g. version=\"3.0.0\"", root.name()));
    Version version =
        located(scope, root, [&] { return parse_version(expand(scope, root, attribute.value())); });
    note(scope.file, version);
    std::string where = location(scope.file, root.offset_debug()).str();
    if (version.major > 3)
        warn(fmt::format("{}: version {} is newer than this program knows", where, version.major));
    if (version < Version{ 0, 5 })
        warn(fmt::format("{}: the file is older than 0.5 and is read like one of 0.5; check the "
                         "camera's handedness",
                         where));
    return version;
}

void SceneParser::note(const File &file, const Version &v) const {
    if (!m_options.notes)
        return;
    m_options.notes->files.push_back(*file.name);
    m_options.notes->versions.push_back(fmt::format("{}.{}.{}", v.major, v.minor, v.patch));
}

void SceneParser::parse_include(const Scope &scope, pugi::xml_node node) {
    Attributes a = attributes(scope, node, { "filename" }, { "name" });
    expect_no_children(scope, node);
    std::string where = place(scope, node);
    if (int(m_open.size()) > m_options.max_include_depth)
        fail("{}: includes are nested more than {} deep; flatten them", where,
             m_options.max_include_depth);
    if (++m_file_count > m_options.max_files)
        fail("{}: more than {} files are included; join some", where, m_options.max_files);

    // Below the main file's folder first, as the file's other names are, then beside this file.
    FileResolver files = *m_files;
    files.note_apart(); // what is in it counts, not its text
    if (!scope.file.path.empty())
        files.add_folder(scope.file.path.parent_path());
    std::filesystem::path path = files.resolve(a["filename"], where);
    File file;
    std::error_code ignored;
    file.path = std::filesystem::weakly_canonical(path, ignored);
    if (std::find(m_open.begin(), m_open.end(), file.path) != m_open.end())
        fail("{}: {} includes itself, directly or through others; break the circle", where,
             quote(a["filename"]));
    file.name = std::make_shared<std::string>(path.string());
    load(file, read_text_file(path, m_options.max_bytes, where), where);

    m_open.push_back(file.path);
    pugi::xml_node root = file.document.document_element();
    Scope inner{ file, scope.object, scope.names, scope.in_emitter, scope.depth };
    file.version = read_version(inner, root, &scope.file.version);
    if (std::string_view(root.name()) == "scene") { // its parts become the surrounding object's
        if (a.find("name"))
            fail(
                "{}: <include> has a name, and {} holds a <scene>, whose parts have names of their "
                "own; remove it",
                where, quote(a["filename"]));
        if (scope.depth > 0 && file.version.is_old() != scope.file.version.is_old())
            fail(
                "{}: {} is of another version than the object that includes it; give both the same",
                where, quote(a["filename"]));
        attributes(inner, root, {}, { "version", "id", "name" });
        parse_children(inner, root);
    } else { // in a scene, names of objects mean nothing
        std::string name(a["name"]);
        if (name.empty() && scope.depth > 0)
            name = expand(inner, root, root.attribute("name").value());
        PropertiesPtr object = parse_object(inner, root, true);
        add(inner, root, name, object);
    }
    m_open.pop_back();
}

// ---- Objects

void SceneParser::parse_children(const Scope &scope, pugi::xml_node parent) {
    if (!m_streamed.empty() && m_streamed.back().node == parent) {
        size_t begin = m_streamed.back().children;
        m_streamed.pop_back();
        return parse_streamed(scope, parent, begin);
    }
    for (pugi::xml_node node : elements(scope, parent)) {
        parse_element(scope, node);
        parent.remove_child(node); // lest a large scene be in memory twice
    }
}

void SceneParser::parse_element(const Scope &scope, pugi::xml_node node) {
    std::string_view tag = node.name();
    if (is_object(tag) && (tag != "spectrum" || node.attribute("type"))) {
        PropertiesPtr object = parse_object(scope, node, false);
        std::string name = expand(scope, node, node.attribute("name").value());
        add(scope, node, name, std::move(object));
    } else if (tag == "ref") {
        Attributes a = attributes(scope, node, { "id" }, { "name" });
        expect_no_children(scope, node);
        add(scope, node, a["name"], Reference{ std::string(a["id"]) });
    } else if (tag == "alias") {
        Attributes a = attributes(scope, node, { "id", "as" });
        expect_no_children(scope, node);
        m_aliases.push_back({ std::string(a["id"]), std::string(a["as"]),
                              location(scope.file, node.offset_debug()) });
    } else if (tag == "include") {
        parse_include(scope, node);
    } else if (tag == "default") {
        parse_default(scope, node);
    } else if (tag == "path" || tag == "resource") {
        parse_path(scope, node);
    } else if (tag == "scene") {
        error(scope, node,
              "<scene> may stand at the root only; use <include> for parts of a scene");
    } else if (!parse_value(scope, node, tag)) {
        error(scope, node,
              fmt::format("the element <{}> is unknown here{}", tag,
                          suggestion(tag, all_tags(), "elements")));
    }
}

PropertiesPtr SceneParser::parse_object(const Scope &scope, pugi::xml_node node, bool is_root) {
    std::string_view tag = node.name();
    bool is_scene = is_root && tag == "scene";
    if (!is_scene && !is_object(tag))
        error(scope, node,
              fmt::format("the root element <{}> is unknown; it must be <scene>", tag));
    if (scope.depth >= m_options.max_depth)
        error(scope, node,
              fmt::format("objects are nested more than {} deep; flatten the scene",
                          m_options.max_depth));

    Attributes a;
    if (is_scene)
        a = attributes(scope, node, {}, { "version", "type", "id", "name" });
    else if (is_root)
        a = attributes(scope, node, { "type" }, { "version", "id", "name" });
    else if (tag == "texture" && scope.file.version.is_old() && !node.attribute("type")) {
        a = attributes(scope, node, {}, { "id", "name" });
        a.list.emplace_back("type", "bitmap"); // what a texture is unless it says otherwise
    } else
        a = attributes(scope, node, { "type" }, { "id", "name" });
    auto object = std::make_shared<Properties>(std::string(canonical_kind(tag)),
                                               is_scene ? "scene" : std::string(a["type"]),
                                               std::string(a["id"]));
    object->where = location(scope.file, node.offset_debug());
    object->files = m_files;

    // Room for just as many: a list of a million that grows, or is made to fit, is in memory twice
    auto children = node.children();
    object->all().reserve(size_t(std::distance(children.begin(), children.end())));

    std::unordered_map<std::string, SourceLocation> names;
    Scope inner{ scope.file, *object, names, scope.in_emitter || object->kind == "emitter",
                 scope.depth + 1 };
    if (!is_scene && object->type.empty())
        error(inner, node, "the type is empty; name a plugin");
    parse_children(inner, node);
    if (!m_options.notes)
        upgrade_object(*object, scope.file.version, m_remarks);
    object->all().shrink_to_fit();
    return object;
}

void SceneParser::add(const Scope &scope, pugi::xml_node node, std::string_view name,
                      PropertyValue value) {
    bool is_old = scope.file.version.is_old() && !m_options.notes;
    std::string key = is_old ? snake_case(name) : std::string(name);
    SourceLocation where = location(scope.file, node.offset_debug());
    if (!key.empty())
        if (auto [it, fresh] = scope.names.emplace(key, where); !fresh)
            error(scope, node,
                  fmt::format("parameter {} is given twice, first at {}; remove one", quote(name),
                              it->second.str()));
    // Not set(): its search for the name would make a scene of n elements take n^2 steps.
    scope.object.all().push_back({ std::move(key), std::move(value), std::move(where) });
}

// The first default wins, as does a definition: a file may be told by the one that includes it.
void SceneParser::parse_default(const Scope &scope, pugi::xml_node node) {
    Attributes a = attributes(scope, node, { "name", "value" });
    expect_no_children(scope, node);
    if (a["name"].empty())
        error(scope, node, "<default> has an empty name; give one");
    m_parameters.emplace(a["name"], a["value"]);
}

void SceneParser::parse_path(const Scope &scope, pugi::xml_node node) {
    Attributes a = attributes(scope, node, {}, { "value", "path", "filename" });
    expect_no_children(scope, node);
    if (a.list.size() != 1)
        error(scope, node, fmt::format("<{}> names no folder; write value=\"...\"", node.name()));
    constexpr size_t MaxFolders = 100; // each is tried for every file
    if (m_files->folders().size() >= MaxFolders)
        error(scope, node,
              fmt::format("there are more than {} search folders; remove some", MaxFolders));
    m_files->add_folder(m_files->resolve_folder(a.list[0].second, place(scope, node)));
}

// ---- Remarks

void SceneParser::warn_about_definitions() const {
    std::vector<std::string> names;
    for (const auto &[name, value] : m_parameters)
        if (!m_options.definitions.contains(name) || m_used.contains(name))
            names.push_back(name);
    for (const auto &[name, value] : m_options.definitions)
        if (!m_used.contains(name))
            warn(fmt::format("-D {}={}: the scene does not use ${}{}", name, value, name,
                             suggestion(name, names, "names")));
}

void SceneParser::warn(std::string text) const {
    if (m_options.warnings)
        m_options.warnings->push_back(std::move(text));
}

} // namespace scene_xml

// What is no scene file, though it has the name of one that exists.
static void check_scene_name(const std::filesystem::path &path) {
    constexpr const char *Extensions[] = { ".xml", ".gltf", ".glb" };
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        std::vector<std::string> scenes;
        for (const auto &entry : std::filesystem::directory_iterator(path, ignored))
            if (std::ranges::find(Extensions, entry.path().extension()) != std::end(Extensions))
                scenes.push_back(entry.path().string());
        std::ranges::sort(scenes);
        if (scenes.size() > 5) {
            scenes.resize(5);
            scenes.push_back("...");
        }
        fail("{}: this is a folder; name a scene file{}{}", path.string(),
             scenes.empty() ? ", of which it has none" : ": ", fmt::join(scenes, ", "));
    }
    if (names_image_format(extension_of(path)) && std::filesystem::exists(path, ignored))
        fail("{}: this is an image; scene files end with .xml, .gltf or .glb", path.string());
}

Properties parse_scene_file(const std::filesystem::path &path, const SceneFileOptions &options) {
    check_scene_name(path);
    if (path.extension() == ".gltf" || path.extension() == ".glb")
        return gltf_scene(path, options);
    return scene_xml::SceneParser(options).parse_file(path);
}

Properties parse_scene_string(std::string_view text, const SceneFileOptions &options,
                              std::string_view name) {
    return scene_xml::SceneParser(options).parse_text(text, name);
}

} // namespace umbel
