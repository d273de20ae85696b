// core/nearest_name.cpp: edit distance over parameter, plugin and element names.
#include "core/nearest_name.h"
#include <algorithm>
#include <fmt/format.h>

namespace umbel {
namespace {

// Names come from untrusted files, and the distance is quadratic in their length.
constexpr size_t MaxLength = 64;
constexpr size_t MaxCandidates = 10'000;

std::string fold(std::string_view name) {
    std::string result;
    for (char c : name)
        if (c != '_')
            result += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return result;
}

} // namespace

// Optimal string alignment: three rows of the dynamic program suffice.
int name_distance(std::string_view first, std::string_view second) {
    std::string a = fold(first.substr(0, MaxLength)), b = fold(second.substr(0, MaxLength));
    std::vector<int> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
        row[j] = int(j);
    for (size_t i = 1; i <= a.size(); ++i) {
        std::swap(before, previous);
        std::swap(previous, row);
        row[0] = int(i);
        for (size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min(
                { previous[j] + 1, row[j - 1] + 1, previous[j - 1] + int(a[i - 1] != b[j - 1]) });
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
    if (name.empty() || name.size() > MaxLength)
        return {};
    // A third of the letters wrong is a typing error; more is another word.
    int best = std::max<int>(1, int(name.size()) / 3);
    std::string result;
    for (const std::string &candidate : known.first(std::min(known.size(), MaxCandidates))) {
        if (candidate.empty() || candidate.size() > MaxLength)
            continue;
        int d = name_distance(name, candidate);
        if (d < best || (d == best && result.empty())) {
            best = d;
            result = candidate;
        }
    }
    return result;
}

std::string suggestion(std::string_view name, std::span<const std::string> known,
                       std::string_view plural) {
    if (std::string near = nearest_name(name, known); !near.empty())
        return fmt::format("; did you mean \"{}\"?", near);
    std::vector<std::string> list;
    for (const std::string &candidate : known)
        if (!candidate.empty())
            list.push_back(candidate);
    if (list.empty())
        return {};
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::string text;
    constexpr size_t Shown = 30;
    for (size_t i = 0; i < std::min(list.size(), Shown); ++i)
        text += (i ? ", " : "") + list[i];
    return fmt::format("; known {}: {}{}", plural, text, list.size() > Shown ? ", ..." : "");
}

} // namespace umbel
