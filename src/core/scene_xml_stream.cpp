// core/scene_xml_stream.cpp: large scene files, read a few elements at a time.
//
// A tree of a whole file takes several times its size. Here the text is cut between the children of an element: a pass that knows
// no more of XML than where markup ends finds the cuts, and the pieces are parsed and read as small files are. Children that are
// large themselves are cut in turn.
#include "core/scene_parser.h"
#include "jit/error.h"
#include <sys/mman.h>

namespace umbel::scene_xml {

size_t stream_from = size_t(1) << 20;

namespace {

constexpr size_t None = std::string_view::npos;
constexpr size_t PieceBytes = 1 << 16; // at least, but for the last

struct Markup {
    enum Kind {
        Start,
        Empty,
        End,
        Other
    } kind;            // Other: a comment, an instruction, CDATA, a declaration
    size_t begin, end; // None: there is no more; it does not end
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Behind `what`, from `from` on.
size_t behind(std::string_view text, std::string_view what, size_t from) {
    size_t at = text.find(what, from);
    return at == None ? None : at + what.size();
}

Markup next_markup(std::string_view text, size_t from) {
    size_t begin = text.find('<', from);
    if (begin == None)
        return { Markup::Other, None, None };
    std::string_view rest = text.substr(begin);
    if (rest.starts_with("<!--"))
        return { Markup::Other, begin, behind(text, "-->", begin + 4) };
    if (rest.starts_with("<![CDATA["))
        return { Markup::Other, begin, behind(text, "]]>", begin + 9) };
    if (rest.starts_with("<?"))
        return { Markup::Other, begin, behind(text, "?>", begin + 2) };
    if (rest.starts_with("<!"))
        return { Markup::Other, begin, behind(text, ">", begin + 2) };
    if (rest.starts_with("</"))
        return { Markup::End, begin, behind(text, ">", begin + 2) };
    size_t at = begin + 1;
    while ((at = text.find_first_of("\"'>", at)) != None) { // a value may contain the end
        if (text[at] == '>')
            return { text[at - 1] == '/' ? Markup::Empty : Markup::Start, begin, at + 1 };
        at = behind(text, text.substr(at, 1), at + 1);
        if (at == None)
            break;
    }
    return { Markup::Start, begin, None };
}

// Behind the end tag of the element that begins there.
size_t end_of_element(std::string_view text, Markup m) {
    for (int depth = 0; m.end != None; m = next_markup(text, m.end)) {
        depth += m.kind == Markup::Start ? 1 : m.kind == Markup::End ? -1 : 0;
        if (depth == 0)
            return m.end;
        if (m.begin == None)
            break;
    }
    return None;
}

// Gives the memory of text back that nobody will look at again: whole pages of it, which would read as zeros.
void forget(std::string_view text) {
    constexpr uintptr_t Page = 4096;
    uintptr_t begin = (uintptr_t(text.data()) + Page - 1) & ~(Page - 1),
              end = uintptr_t(text.data() + text.size()) & ~(Page - 1);
    if (begin < end) // where it is refused, memory is taken longer
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

// Of the element whose content begins there.
size_t count_children(std::string_view text, size_t begin) {
    size_t count = 0;
    Markup m = next_markup(text, begin);
    for (; m.kind != Markup::End && m.begin != None; m = next_markup(text, m.end)) {
        count += m.kind != Markup::Other;
        m.end = end_of_element(text, m);
        if (m.end == None)
            break;
    }
    return count;
}

// Declarations, which may stand before the root only.
bool is_declaration(std::string_view text, const Markup &m) {
    std::string_view rest = text.substr(m.begin);
    if (m.kind != Markup::Other || rest.starts_with("<!--") || rest.starts_with("<![CDATA["))
        return false;
    if (rest.starts_with("<!"))
        return true;
    bool xml =
        rest.size() > 5 && (rest[2] | 32) == 'x' && (rest[3] | 32) == 'm' && (rest[4] | 32) == 'l';
    return xml && (is_space(rest[5]) || rest[5] == '?');
}

std::string_view name_of(std::string_view text, size_t at) {
    size_t end = at;
    while (end < text.size() && !is_space(text[end]) && text[end] != '>' && text[end] != '/')
        ++end;
    return text.substr(at, end - at);
}

} // namespace

// The text from `begin` to `end`, with the messages of the whole file.
void SceneParser::parse_piece(const File &file, pugi::xml_document &document, std::string &piece,
                              size_t begin, size_t end) const {
    piece.assign(file.text, begin, end - begin);
    file.base = begin;
    check_parsed(file, document.load_buffer_inplace(piece.data(), piece.size(),
                                                    pugi::parse_default | pugi::parse_fragment,
                                                    pugi::encoding_utf8));
}

// The start tag of the element there, closed: its children will follow.
void SceneParser::parse_start(const File &file, pugi::xml_document &document, std::string &piece,
                              size_t begin, size_t end) const {
    piece.assign(file.text, begin, end - begin);
    piece.insert(piece.size() - 1, "/");
    file.base = begin;
    check_parsed(file, document.load_buffer_inplace(piece.data(), piece.size(), pugi::parse_default,
                                                    pugi::encoding_utf8));
}

// Of a text that has no root: the parser says what is wrong with it.
void SceneParser::refuse_text_without_root(File &file) const {
    file.base = 0;
    check_parsed(file, file.document.load_buffer(file.text.data(), file.text.size(),
                                                 pugi::parse_default, pugi::encoding_utf8));
    fail("{}:1: this is not well-formed XML: it has no root; correct it", *file.name);
}

void SceneParser::open_streamed(File &file) {
    std::string_view text = file.text;
    Markup m = next_markup(text, 0);
    for (; m.kind == Markup::Other; m = next_markup(text, m.end)) {
        if (m.end == None)
            refuse_text_without_root(file);
        std::string_view all = text.substr(m.begin, m.end - m.begin);
        if (all[1] == '!' && is_declaration(text, m) &&
            (!all.starts_with("<!DOCTYPE") || all.find('[') != None))
            refuse_entities(location_of(file, m.begin).str());
    }
    if (m.kind == Markup::Empty) {
        parse_piece(file, file.document, file.piece, m.begin, m.end);
        return refuse_second_root(file, m.end);
    }
    if (m.kind != Markup::Start || m.end == None)
        refuse_text_without_root(file);
    parse_start(file, file.document, file.piece, m.begin, m.end);
    m_streamed.push_back({ file.document.document_element(), m.end });
}

// The children of an element whose start tag has been parsed; the rest of the file, if it is the root.
void SceneParser::parse_streamed(const Scope &scope, pugi::xml_node parent, size_t begin) {
    const File &file = scope.file;
    std::string_view text = file.text;
    const size_t base = file.base;
    bool is_root = parent == file.document.document_element();
    // Room for just as many: a list of a million that grows, or is made to fit, is in memory twice
    std::vector<Property> &list = scope.object.all();
    list.reserve(list.size() + count_children(text, begin));
    pugi::xml_document document;
    std::string piece;
    auto flush = [&](size_t end) {
        if (begin == end)
            return;
        parse_piece(file, document, piece, begin, end);
        for (pugi::xml_node node : document)
            if (node.type() == pugi::node_element)
                parse_element(scope, node);
        forget(text.substr(begin, end - begin));
        begin = end;
    };
    auto expect_blank = [&](size_t from, size_t to) {
        std::string_view between = text.substr(from, to - from);
        if (between.find_first_not_of(" \t\r\n") == None)
            return;
        flush(from); // what is wrong before it comes first
        file.base = base;
        refuse_text(scope, parent, between);
    };
    size_t last = begin; // the end of the last markup
    Markup m = next_markup(text, begin);
    for (; m.kind != Markup::End; last = m.end, m = next_markup(text, m.end)) {
        expect_blank(last, std::min(m.begin, text.size()));
        if (m.begin != None && m.end != None && text.substr(m.begin).starts_with("<![CDATA["))
            expect_blank(m.begin + 9, m.end - 3);
        size_t end = m.begin == None ? None : end_of_element(text, m);
        if (end == None || is_declaration(text, m)) { // the parser says what is wrong, as a rule
            flush(text.size());
            fail("{}: this is not well-formed XML: <{}> has no end, or a declaration inside; "
                 "correct "
                 "it",
                 location_of(file, std::min(m.begin, text.size())).str(), parent.name());
        }
        if (m.kind == Markup::Start && end - m.begin >= stream_from &&
            makes_object(name_of(text, m.begin + 1))) {
            flush(m.begin);
            parse_start(file, document, piece, m.begin, m.end);
            m_streamed.push_back({ document.document_element(), m.end });
            parse_element(scope, document.document_element());
            begin = end;
        }
        m.end = end;
        if (end - begin >= PieceBytes)
            flush(end);
    }
    expect_blank(last, m.begin);
    flush(m.begin);
    file.base = base;
    if (m.end == None || name_of(text, m.begin + 2) != parent.name())
        fail("{}: this is not well-formed XML: <{}> ends with another tag; correct it",
             location_of(file, m.begin).str(), parent.name());
    if (is_root)
        refuse_second_root(file, m.end);
}

void SceneParser::refuse_second_root(const File &file, size_t from) const {
    std::string_view text = file.text;
    for (Markup m = next_markup(text, from); m.begin != None; m = next_markup(text, m.end)) {
        if (m.kind == Markup::Start || m.kind == Markup::Empty)
            fail("{}: <{}> is a second root element; put everything into one <scene>",
                 location_of(file, m.begin).str(), name_of(text, m.begin + 1));
        if (m.kind == Markup::End || m.end == None)
            fail("{}: this is not well-formed XML: something follows the end of the scene; correct "
                 "it",
                 location_of(file, m.begin).str());
    }
}

} // namespace umbel::scene_xml
