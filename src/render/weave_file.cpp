// render/weave_file.cpp: see weave_file.h.
#include "render/weave_file.h"
#include "core/file_text.h"
#include "jit/error.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace umbel {

namespace {

constexpr double Degree = 3.14159265358979323846 / 180;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class WeaveReader {
public:
    WeaveReader(const std::filesystem::path &file,
                const std::function<double(const std::string &)> &number)
        : m_file(file.string()), m_text(read_text_file(file, 16 << 20)), m_number(number) {
        advance();
    }

    WeavePattern read() {
        WeavePattern w;
        if (!accept("weave"))
            complain("expected \"weave\" in place of {}; is this a weave file?", quoted());
        each_entry([&](const std::string &name) { read_entry(name, w); });
        if (!m_token.empty())
            complain("{} after the end of the weave; a file holds one", quoted());
        check_weave(w);
        return w;
    }

private:
    template <class... Args>
    [[noreturn]] void complain(fmt::format_string<Args...> f, Args &&...args) const {
        fail("{}:{}: {}{}", m_file, m_token_line, fmt::format(f, std::forward<Args>(args)...),
             m_token.empty() && m_at >= m_text.size() ? "; get a complete copy" : "");
    }
    std::string quoted() const { return m_token.empty() ? "the file's end" : '"' + m_token + '"'; }

    // ---- tokens: words, `$names`, numbers, strings with their first quote, and single signs
    void skip() {
        for (; m_at < m_text.size(); ++m_at) {
            if (m_text.compare(m_at, 2, "/*") == 0) {
                size_t end = m_text.find("*/", m_at + 2);
                if (end == std::string::npos) {
                    m_token_line = m_line;
                    complain("a comment has no end; it takes a \"*/\"");
                }
                m_line +=
                    int(std::count(m_text.begin() + long(m_at), m_text.begin() + long(end), '\n'));
                m_at = end + 1;
            } else if (m_text[m_at] == '\n')
                ++m_line;
            else if (!std::isspace(static_cast<unsigned char>(m_text[m_at])))
                break;
        }
    }
    void advance() {
        skip();
        m_token_line = m_line;
        size_t begin = m_at;
        if (m_at == m_text.size()) {
            m_token.clear();
            return;
        }
        char c = m_text[m_at++];
        if (c == '"') {
            size_t end = m_text.find_first_of("\"\n", m_at);
            if (end == std::string::npos || m_text[end] == '\n')
                complain("a name has no closing quote on its line");
            m_token = m_text.substr(begin, end - begin);
            m_at = end + 1;
            return;
        }
        bool is_number = std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == '-';
        if (is_number || is_word(c) || c == '$')
            while (m_at < m_text.size() &&
                   (is_word(m_text[m_at]) || (is_number && is_number_part())))
                ++m_at;
        m_token = m_text.substr(begin, m_at - begin);
    }
    bool is_number_part() const {
        char c = m_text[m_at], before = m_text[m_at - 1];
        return c == '.' || ((c == '-' || c == '+') && (before == 'e' || before == 'E'));
    }
    std::string take() {
        std::string t = m_token;
        advance();
        return t;
    }
    bool accept(const char *token) {
        if (m_token != token)
            return false;
        advance();
        return true;
    }
    void expect(const char *token) {
        if (!accept(token))
            complain("expected \"{}\" in place of {}", token, quoted());
    }

    // ---- what is made of them
    // Entries in braces, with commas in between, and one at the end where somebody likes that.
    template <class F> void each_entry(F &&f) {
        expect("{");
        while (m_token != "}") {
            f(m_token);
            if (!accept(",") && m_token != "}")
                complain("expected \",\" or \"}}\" in place of {}", quoted());
        }
        advance();
    }
    double read_literal() {
        double v = 0;
        const char *end = m_token.data() + m_token.size();
        auto [at, error] = std::from_chars(m_token.data(), end, v);
        if (error != std::errc() || at != end || !std::isfinite(v))
            complain("expected a number in place of {}", quoted());
        advance();
        return v;
    }
    double read_number() {
        return m_token.starts_with('$') ? m_number(read_name()) : read_literal();
    }
    std::string read_name() {
        if (m_token.size() < 2 || std::isdigit(static_cast<unsigned char>(m_token[1])))
            complain("{} is no parameter; names have letters, as in \"$warp_kd\"", quoted());
        return take().substr(1);
    }
    uint32_t read_count(uint32_t most) {
        double v = read_literal();
        if (v != std::floor(v) || v < 1 || v > most)
            complain("{} is no whole number from 1 to {}", v, most);
        return uint32_t(v);
    }
    Yarn::Colour read_colour() {
        if (m_token.starts_with('$'))
            return read_name();
        std::array<double, 3> rgb{};
        size_t n = 0;
        each_entry([&](const std::string &) {
            if (n == 3)
                complain("a colour has three numbers, as in {{0.2, 0.1, 0.1}}");
            rgb[n++] = read_literal();
        });
        if (n != 3)
            complain("a colour has three numbers, as in {{0.2, 0.1, 0.1}}");
        return rgb;
    }

    struct Entry {
        const char *name;
        double *to;
        double scale = 1;
    };
    // Reads the entry if it is one of these.
    template <size_t N> bool read_one_of(const std::string &name, const Entry (&all)[N]) {
        for (const Entry &e : all)
            if (name == e.name) {
                advance();
                expect("=");
                *e.to = read_number() * e.scale;
                return true;
            }
        return false;
    }
    void read_entry(const std::string &key, WeavePattern &w) {
        std::string name = key;
        auto &vary = w.umax_variation;
        const Entry numbers[] = { { "ss", &w.ss },
                                  { "alpha", &w.alpha },
                                  { "beta", &w.beta },
                                  { "warpArea", &w.warp_area },
                                  { "weftArea", &w.weft_area },
                                  { "hWidth", &w.highlight_width },
                                  { "dWarpUmaxOverDWarp", &vary[0][0], Degree },
                                  { "dWarpUmaxOverDWeft", &vary[0][1], Degree },
                                  { "dWeftUmaxOverDWarp", &vary[1][0], Degree },
                                  { "dWeftUmaxOverDWeft", &vary[1][1], Degree },
                                  { "fineness", &w.fineness },
                                  { "period", &w.period } };
        if (read_one_of(name, numbers))
            return;
        int line = m_token_line;
        advance();
        if (name == "name") {
            expect("=");
            if (!m_token.starts_with('"'))
                complain("expected a name in quotes in place of {}", quoted());
            w.name = take().substr(1);
        } else if (name == "tileWidth" || name == "tileHeight") {
            expect("=");
            (name == "tileWidth" ? w.width : w.height) = int(read_count(4096));
        } else if (name == "pattern") {
            m_pattern_line = line;
            each_entry([&](const std::string &) { w.pattern.push_back(read_count(1 << 24)); });
        } else if (name == "yarn") {
            Yarn y;
            each_entry([&](const std::string &entry) { read_yarn_entry(entry, y); });
            check_yarn(y, line);
            w.yarns.push_back(std::move(y));
        } else {
            m_token_line = line;
            complain("a weave has no \"{}\"; it has name, tileWidth, tileHeight, alpha, beta, ss, "
                     "hWidth, warpArea, weftArea, fineness, period, dWarpUmaxOverDWarp and the "
                     "like, pattern and yarn",
                     name);
        }
    }
    void read_yarn_entry(const std::string &key, Yarn &y) {
        std::string name = key;
        const Entry numbers[] = { { "psi", &y.psi, Degree }, { "umax", &y.umax, Degree },
                                  { "kappa", &y.kappa },     { "width", &y.width },
                                  { "length", &y.length },   { "centerU", &y.u },
                                  { "centerV", &y.v } };
        if (read_one_of(name, numbers))
            return;
        if (name != "type" && name != "kd" && name != "ks")
            complain("a yarn has no {}; it has type, psi, umax, kappa, width, length, centerU, "
                     "centerV, kd and ks",
                     quoted());
        advance();
        expect("=");
        if (name != "type") {
            (name == "kd" ? y.kd : y.ks) = read_colour();
            return;
        }
        if (m_token != "warp" && m_token != "weft")
            complain("a yarn is \"warp\" or \"weft\", not {}", quoted());
        y.is_weft = take() == "weft";
    }

    // ---- whether it makes sense
    void check_yarn(const Yarn &y, int line) {
        m_token_line = line;
        if (!(y.width > 0 && y.length > 0))
            complain("the yarn is {} wide and {} long; both must be above 0", y.width, y.length);
        if (!(y.umax > 0 && y.umax < 90 * Degree))
            complain("umax of the yarn is {:g}; it must lie between 0 and 90", y.umax / Degree);
        if (!(std::abs(y.psi) < 90 * Degree))
            complain("psi of the yarn is {:g}; it must lie between -90 and 90", y.psi / Degree);
        if (y.kappa < -1)
            complain("kappa of the yarn is {}; it must be -1 or more", y.kappa);
        m_token_line = m_line;
    }
    void check_weave(const WeavePattern &w) {
        if (w.yarns.empty())
            complain("the weave has no yarn; add \"yarn {{ ... }}\"");
        if (!(w.highlight_width > 0 && w.highlight_width <= 1))
            complain("hWidth is {}; it must be above 0 and at most 1", w.highlight_width);
        if (!(w.ss >= 0 && w.ss < 1))
            complain("ss is {}; it must be at least 0 and below 1", w.ss);
        if (w.alpha < 0 || !(w.beta >= 0 && w.beta <= 500))
            complain("alpha is {} and beta is {}; alpha must be 0 or more, and beta between 0 and "
                     "500",
                     w.alpha, w.beta);
        if (!(w.warp_area > 0 && w.weft_area > 0))
            complain("warpArea is {} and weftArea is {}; both must be above 0", w.warp_area,
                     w.weft_area);
        if (w.fineness < 0 || w.period < 0)
            complain("fineness is {} and period is {}; neither may be below 0", w.fineness,
                     w.period);
        if (m_pattern_line)
            m_token_line = m_pattern_line;
        if (w.pattern.empty() || w.pattern.size() != size_t(w.width) * size_t(w.height))
            complain("the pattern has {} numbers; a tile of tileWidth {} and tileHeight {} takes "
                     "{}",
                     w.pattern.size(), w.width, w.height, size_t(w.width) * size_t(w.height));
        for (uint32_t yarn : w.pattern)
            if (yarn > w.yarns.size())
                complain("the pattern names yarn {} of {}", yarn, w.yarns.size());
    }

    std::string m_file, m_text, m_token; // what comes next; empty at the end
    size_t m_at = 0;
    int m_line = 1, m_token_line = 1, m_pattern_line = 0;
    const std::function<double(const std::string &)> &m_number;
};

} // namespace

WeavePattern read_weave(const std::filesystem::path &file,
                        const std::function<double(const std::string &)> &number) {
    return WeaveReader(file, number).read();
}

} // namespace umbel
