// bench/harness.h: Umbel's side of a benchmark: rows, timing, the conversation with run.py.
//
//     BENCH("saxpy", "s") {
//         Array x = ..., y = ...;                        // set-up is not timed
//         return bench::seconds([&] { ... });            // one measurement; run.py keeps the best
//     }
//     BENCH_MAIN
//
// BENCH_MAIN goes into one source file of a suite. The program reads commands from standard input,
// one a line, and answers each with one line of JSON; bench/README.md has the protocol.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace umbel::bench {

struct Row {
    std::string name, unit;
    std::function<double()> run;
};

inline std::vector<Row> &rows() {
    static std::vector<Row> list;
    return list;
}

struct Register {
    Register(std::string name, std::string unit, std::function<double()> run) {
        rows().push_back({ std::move(name), std::move(unit), std::move(run) });
    }
};

/// The fastest of several calls of `fn`, in seconds: after one call that warms up, at least `least`
/// calls, and as many as fit into `budget` seconds. `fn` must wait for its own results.
template <class Fn> double seconds(Fn &&fn, int least = 3, double budget = 0.2) {
    using Clock = std::chrono::steady_clock;
    auto since = [](Clock::time_point start) {
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    fn();
    double best = 1e300;
    auto begin = Clock::now();
    for (int i = 0; i < least || since(begin) < budget; ++i) {
        auto start = Clock::now();
        fn();
        best = std::min(best, since(start));
    }
    return best;
}

/// Keeps the compiler from removing the computation of `value`.
template <class T> void keep(const T &value) { asm volatile("" : : "g"(&value) : "memory"); }

inline std::string quote(const std::string &text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        if (c == '"' || c == '\\')
            out += { '\\', char(c) };
        else if (c < 0x20)
            out += ' ';
        else
            out += char(c);
    }
    return out + '"';
}

inline std::string answer(const std::string &name) {
    std::string head = "{\"name\": " + quote(name);
    for (const Row &row : rows()) {
        if (row.name != name)
            continue;
        try {
            char value[40];
            std::snprintf(value, sizeof(value), "%.9g", row.run());
            return head + ", \"value\": " + value + ", \"unit\": " + quote(row.unit) + "}";
        } catch (const std::exception &e) {
            return head + ", \"error\": " + quote(e.what()) + "}";
        }
    }
    return head + ", \"error\": \"no such row\"}";
}

inline std::string list() {
    std::string out;
    for (const Row &row : rows())
        out += (out.empty() ? "" : ", ") + quote(row.name);
    return "{\"rows\": [" + out + "]}";
}

inline int serve() {
    // Answers start with a mark: whatever else a library prints is not mistaken for one.
    for (std::string line; std::getline(std::cin, line);) {
        if (line == "quit")
            break;
        std::string reply = line == "list"                    ? list()
                            : line.compare(0, 4, "run ") == 0 ? answer(line.substr(4))
                                                              : "{\"error\": \"unknown command\"}";
        std::cout << "@bench " << reply << std::endl;
    }
    return 0;
}

} // namespace umbel::bench

#define UMBEL_BENCH_JOIN2(a, b) a##b
#define UMBEL_BENCH_JOIN(a, b) UMBEL_BENCH_JOIN2(a, b)
#define UMBEL_BENCH_ROW(fn, name, unit)                                                            \
    static double fn();                                                                            \
    static const ::umbel::bench::Register UMBEL_BENCH_JOIN(fn, _entry)(name, unit, fn);            \
    static double fn()
/// Declares a row; the body returns its value in `unit`.
#define BENCH(name, unit) UMBEL_BENCH_ROW(UMBEL_BENCH_JOIN(bench_row_, __COUNTER__), name, unit)
#define BENCH_MAIN                                                                                 \
    int main() { return ::umbel::bench::serve(); }
