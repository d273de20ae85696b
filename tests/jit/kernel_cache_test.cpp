// tests/jit/kernel_cache_test.cpp: the cache compiles once, survives bad files and bad disks.
#include "jit/background.h"
#include "jit/error.h"
#include "jit/kernel_cache.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace umbel::jit {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A kernel that is its own bytes, and a backend that counts.
class FakeKernel final : public Kernel {
public:
    static constexpr size_t CodeBytes = 1000;
    size_t code_bytes() const override { return CodeBytes; }
    explicit FakeKernel(std::string bytes) : bytes(std::move(bytes)) {}
    void run(const Launch &, uint64_t, uint64_t) const override {}
    std::string save() const override { return bytes; }
    uint32_t width() const override { return 1; }
    const std::string bytes;
};

class FakeBackend final : public Backend {
public:
    const char *name() const override { return "fake"; }
    std::string fingerprint() const override { return machine; }
    std::unique_ptr<Kernel> compile(const Program &program, const std::string &) override {
        ++compiled;
        std::this_thread::sleep_for(delay);
        if (fails)
            throw DeviceError("no compiler today");
        return std::make_unique<FakeKernel>(bytes_of(program));
    }
    std::unique_ptr<Kernel> load(std::string_view bytes) override {
        ++loaded;
        if (refuses || !bytes.starts_with("kernel "))
            return nullptr;
        return std::make_unique<FakeKernel>(std::string(bytes));
    }
    // Random letters do not compress, so that the size on disk is known.
    std::string bytes_of(const Program &program) const {
        uint64_t number = program.functions[0].insts[0].imm;
        std::string s = "kernel " + std::to_string(number) + " ";
        std::minstd_rand random{ uint32_t(number + 1) };
        while (s.size() < kernel_size)
            s += compressible ? 'x' : char(random() >> 8);
        return s;
    }

    std::string machine = "cpu 1";
    size_t kernel_size = 300;
    bool compressible = false, fails = false, refuses = false;
    std::chrono::milliseconds delay{ 0 };
    std::atomic<int> compiled{ 0 }, loaded{ 0 };
};

Program numbered(uint64_t number) {
    Program p;
    p.functions.resize(1);
    Inst i{};
    i.op = Op::Literal;
    i.type = Type::U64;
    i.imm = number;
    p.functions[0].insts = { i };
    return p;
}

class KernelCacheTest : public testing::Test {
protected:
    KernelCacheTest() {
        std::string name = (fs::temp_directory_path() / "umbel-cache-XXXXXX").string();
        folder = mkdtemp(name.data());
        options.folder = folder;
    }
    ~KernelCacheTest() override { fs::remove_all(folder); }

    std::string get(KernelCache &cache, uint64_t number) {
        Program p = numbered(number);
        auto kernel = cache.get(backend, p, p.serialize(), &in_memory, &on_disk);
        return kernel->save();
    }
    Key key(uint64_t number) const {
        return hash_program(numbered(number).serialize(), KernelCache::fingerprint(backend));
    }
    std::string expected(uint64_t number) const { return backend.bytes_of(numbered(number)); }
    size_t files() const {
        return size_t(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }
    static std::string read(const std::string &path) {
        std::ifstream in(path, std::ios::binary);
        return { std::istreambuf_iterator<char>(in), {} };
    }
    static void write(const std::string &path, std::string_view bytes) {
        std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    }
    // A new process would see the folder like this.
    void expect_recompiled(uint64_t number, const std::string &why) {
        int before = backend.compiled;
        KernelCache cache(options);
        EXPECT_EQ(get(cache, number), expected(number)) << why;
        EXPECT_FALSE(on_disk) << why;
        EXPECT_EQ(backend.compiled, before + 1) << why;
    }
    void expect_on_disk(uint64_t number) {
        KernelCache cache(options);
        EXPECT_EQ(get(cache, number), expected(number));
        EXPECT_TRUE(on_disk);
    }

    std::string folder;
    CacheOptions options;
    FakeBackend backend;
    bool in_memory = false, on_disk = false;
};

// ---- Keys

TEST(HashProgram, SeparatesProgramsAndMachines) {
    EXPECT_EQ(hash_program("a program", "cpu"), hash_program("a program", "cpu"));
    EXPECT_NE(hash_program("a program", "cpu"), hash_program("a programc", "pu"));
    EXPECT_NE(hash_program("a program", "cpu"), hash_program("cpu", "a program"));
    EXPECT_NE(hash_program("", ""), hash_program(std::string_view("\0", 1), ""));
    std::string bytes = numbered(7).serialize();
    Key original = hash_program(bytes, "cpu");
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        std::string other = bytes;
        other[bit / 8] = char(other[bit / 8] ^ (1 << bit % 8));
        Key changed = hash_program(other, "cpu");
        // Half of the key is not enough to be equal by accident.
        EXPECT_TRUE(changed.lo != original.lo && changed.hi != original.hi) << "bit " << bit;
    }
}

// ---- Memory

TEST_F(KernelCacheTest, SecondRequestHitsMemory) {
    KernelCache cache(options);
    EXPECT_EQ(get(cache, 1), expected(1));
    EXPECT_FALSE(in_memory || on_disk);
    EXPECT_EQ(get(cache, 1), expected(1));
    EXPECT_TRUE(in_memory && !on_disk);
    EXPECT_EQ(backend.compiled, 1);
    EXPECT_EQ(cache.stats().memory_hits, 1u);
    EXPECT_EQ(cache.stats().misses, 1u);
}

TEST_F(KernelCacheTest, LeastRecentlyUsedKernelsLeaveMemory) {
    options.folder.clear();
    options.max_kernels = 3;
    KernelCache cache(options);
    for (int k : { 1, 2, 3, 1, 4 }) // 2 is the oldest when 4 comes
        get(cache, uint64_t(k));
    EXPECT_EQ(cache.stats().evictions, 1u);
    for (int k : { 1, 3, 4 }) {
        get(cache, uint64_t(k));
        EXPECT_TRUE(in_memory) << k;
    }
    get(cache, 2);
    EXPECT_FALSE(in_memory);
    EXPECT_EQ(backend.compiled, 5);
}

TEST_F(KernelCacheTest, CodeInMemoryIsBounded) {
    options.folder.clear();
    options.max_code = 3 * FakeKernel::CodeBytes;
    KernelCache cache(options);
    for (uint64_t k : { 1, 2, 3, 4, 4 })
        get(cache, k);
    EXPECT_EQ(cache.stats().evictions, 1u);
    get(cache, 1);
    EXPECT_FALSE(in_memory);
    get(cache, 4);
    EXPECT_TRUE(in_memory);
}

TEST_F(KernelCacheTest, ClearedMemoryIsReadAgainFromDisk) {
    KernelCache cache(options);
    get(cache, 1);
    cache.clear_memory();
    EXPECT_EQ(get(cache, 1), expected(1));
    EXPECT_TRUE(on_disk);
}

TEST_F(KernelCacheTest, FindAndPutUseMemoryAndDisk) {
    KernelCache cache(options);
    EXPECT_EQ(cache.find(key(1), backend), nullptr);
    cache.put(key(1), std::make_shared<FakeKernel>(expected(1)), backend);
    ASSERT_NE(cache.find(key(1), backend), nullptr);
    EXPECT_EQ(backend.loaded, 0);
    ASSERT_NE(KernelCache(options).find(key(1), backend), nullptr);
    EXPECT_EQ(backend.loaded, 1);
}

TEST_F(KernelCacheTest, ThreadsThatAskForOneKernelCompileItOnce) {
    backend.delay = 30ms;
    KernelCache cache(options);
    std::atomic<int> right{ 0 };
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            Program p = numbered(5);
            right += cache.get(backend, p, p.serialize())->save() == expected(5);
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(right, 8);
    EXPECT_EQ(backend.compiled, 1);
    EXPECT_EQ(cache.stats().memory_hits, 7u);
}

TEST_F(KernelCacheTest, FailedCompilationReachesAllAndLeavesNothing) {
    backend.delay = 30ms;
    backend.fails = true;
    KernelCache cache(options);
    std::atomic<int> failures{ 0 };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            Program p = numbered(5);
            try {
                cache.get(backend, p, p.serialize());
            } catch (const DeviceError &e) {
                failures += std::string(e.what()) == "no compiler today";
            }
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(failures, 4);
    EXPECT_EQ(files(), 0u);
    backend.fails = false;
    EXPECT_EQ(get(cache, 5), expected(5));
}

// Leaves at the second look.
struct Leaver {
    static inline std::atomic<int> looks = 0;
    Leaver() {
        looks = 0;
        set_look([] {
            if (++looks == 2)
                throw Interrupted();
        });
    }
    ~Leaver() { set_look(nullptr); }
};

TEST_F(KernelCacheTest, WhoWaitsForAKernelMayLeaveAndFindsItLater) {
    KernelCache cache(options);
    backend.delay = 300ms;
    Leaver leaver;
    auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW(get(cache, 1), Interrupted);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 200ms);
    EXPECT_EQ(get(cache, 1), expected(1)); // as it is under way
    EXPECT_TRUE(in_memory);
    EXPECT_EQ(backend.compiled, 1);
}

TEST_F(KernelCacheTest, ACacheThatGoesWaitsForWhatIsMadeForNobody) {
    backend.delay = 200ms;
    {
        KernelCache cache(options);
        Leaver leaver;
        EXPECT_THROW(get(cache, 1), Interrupted);
    }
    KernelCache again(options);
    EXPECT_EQ(get(again, 1), expected(1));
    EXPECT_TRUE(on_disk);
}

TEST_F(KernelCacheTest, ErrorsReachThoseWhoWaitForTheBackground) {
    KernelCache cache(options);
    set_look([] {});
    backend.fails = true;
    EXPECT_THROW(get(cache, 1), DeviceError);
    backend.fails = false;
    EXPECT_EQ(get(cache, 1), expected(1));
    set_look(nullptr);
}

// ---- Disk

TEST_F(KernelCacheTest, NewCacheHitsDisk) {
    {
        KernelCache cache(options);
        get(cache, 1);
    }
    KernelCache cache(options);
    EXPECT_EQ(get(cache, 1), expected(1));
    EXPECT_TRUE(on_disk && !in_memory);
    EXPECT_EQ(backend.compiled, 1);
    EXPECT_EQ(cache.stats().disk_hits, 1u);
    EXPECT_TRUE(fs::exists(cache.path(key(1))));
    EXPECT_EQ(fs::path(cache.path(key(1))).filename().string().size(), 32 + strlen(".kernel"));
    EXPECT_EQ(files(), 1u) << "a temporary file was left";
}

TEST_F(KernelCacheTest, LongKernelsAreStoredCompressed) {
    backend.kernel_size = 100000;
    backend.compressible = true;
    {
        KernelCache cache(options);
        get(cache, 1);
        EXPECT_LT(fs::file_size(cache.path(key(1))), 5000u);
    }
    expect_on_disk(1);
}

TEST_F(KernelCacheTest, TruncatedFilesAreReplaced) {
    KernelCache first(options);
    get(first, 1);
    std::string path = first.path(key(1)), whole = read(path);
    for (size_t length = 0; length < whole.size(); length += length < 80 ? 1 : 13) {
        write(path, whole.substr(0, length));
        expect_recompiled(1, "length " + std::to_string(length));
        EXPECT_EQ(read(path), whole) << "length " << length;
    }
    write(path, whole + "x");
    expect_recompiled(1, "one byte too long");
}

TEST_F(KernelCacheTest, FlippedBitsAreReplaced) {
    for (bool compressible : { false, true }) {
        backend.compressible = compressible;
        backend.kernel_size = compressible ? 5000 : 300;
        uint64_t number = 1 + compressible;
        KernelCache first(options);
        get(first, number);
        std::string path = first.path(key(number)), whole = read(path);
        for (size_t bit = 0; bit < 8 * whole.size(); bit += bit < 8 * 64 ? 1 : 11) {
            std::string damaged = whole;
            damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << bit % 8));
            write(path, damaged);
            expect_recompiled(number, "bit " + std::to_string(bit));
            EXPECT_EQ(read(path), whole) << "bit " << bit;
        }
    }
}

TEST_F(KernelCacheTest, FilesOfOtherMachinesAndKernelsAreIgnored) {
    KernelCache cache(options);
    get(cache, 1);
    std::string path = cache.path(key(1)), whole = read(path);

    backend.machine = "cpu 2"; // another key
    expect_recompiled(1, "another machine");
    write(cache.path(key(1)), whole); // another machine's file under our key
    expect_recompiled(1, "another machine's file");
    write(cache.path(key(2)), read(cache.path(key(1)))); // another kernel under our key
    expect_recompiled(2, "another kernel's file");
    expect_on_disk(2);

    // The right key, but written for another machine
    KernelFiles(folder, 1 << 20).write(key(3), "fake:cpu 9", "kernel 3 of another machine");
    expect_recompiled(3, "foreign fingerprint");
    expect_on_disk(3);
}

TEST_F(KernelCacheTest, KernelsThatTheBackendRefusesAreRecompiled) {
    KernelCache cache(options);
    get(cache, 1);
    backend.refuses = true;
    expect_recompiled(1, "refused");
    EXPECT_EQ(backend.loaded, 1);
}

TEST_F(KernelCacheTest, FoldersAndPipesInPlaceOfFilesDoNoHarm) {
    KernelCache cache(options);
    fs::create_directories(cache.path(key(1)));
    ASSERT_EQ(mkfifo(cache.path(key(2)).c_str(), 0600), 0);
    testing::internal::CaptureStderr();
    expect_recompiled(1, "a folder");
    testing::internal::GetCapturedStderr();
    expect_recompiled(2, "a pipe");
}

TEST_F(KernelCacheTest, OldestFilesAreRemovedWhenTheFolderIsFull) {
    backend.kernel_size = 4000; // one block each
    options.max_bytes = 10 * 4096;
    auto age = [&](const std::string &path, std::chrono::minutes minutes) {
        fs::last_write_time(path, fs::file_time_type::clock::now() - minutes);
    };
    KernelCache cache(options);
    for (uint64_t k = 0; k < 10; ++k) {
        get(cache, k);
        age(cache.path(key(k)), std::chrono::minutes(100 - k));
    }
    EXPECT_EQ(files(), 10u);
    EXPECT_EQ(cache.stats().removals, 0u);
    expect_on_disk(0); // used: now the youngest

    get(cache, 10);
    EXPECT_EQ(files(), 8u); // 80 % of 10
    EXPECT_EQ(cache.stats().removals, 3u);
    for (uint64_t k = 0; k <= 10; ++k)
        EXPECT_EQ(fs::exists(cache.path(key(k))), k == 0 || k > 3) << k;
}

TEST_F(KernelCacheTest, FolderIsBoundedFromTheFirstFileOn) {
    backend.kernel_size = 4000;
    {
        KernelCache cache(options);
        for (uint64_t k = 0; k < 20; ++k)
            get(cache, k);
    }
    options.max_bytes = 10 * 4096;
    write(folder + "/not-ours.txt", "stays");
    write(folder + "/x.kernel.1.1.tmp", "left by a process that died");
    fs::last_write_time(folder + "/x.kernel.1.1.tmp",
                        fs::file_time_type::clock::now() - std::chrono::hours(2));
    write(folder + "/y.kernel.1.1.tmp", "being written");
    KernelCache cache(options);
    get(cache, 100);
    EXPECT_TRUE(fs::exists(folder + "/not-ours.txt"));
    EXPECT_FALSE(fs::exists(folder + "/x.kernel.1.1.tmp"));
    EXPECT_TRUE(fs::exists(folder + "/y.kernel.1.1.tmp"));
    EXPECT_LE(files(), 10u + 2);
}

TEST_F(KernelCacheTest, KernelsLargerThanTheBoundAreNotStored) {
    options.max_bytes = 4096;
    backend.kernel_size = 10000;
    expect_recompiled(1, "too large");
    EXPECT_EQ(files(), 0u);
}

TEST_F(KernelCacheTest, ImpossibleFolderCostsOneWarning) {
    write(folder + "/file", "");
    options.folder = folder + "/file/below";
    testing::internal::CaptureStderr();
    KernelCache cache(options);
    for (uint64_t k = 0; k < 5; ++k)
        EXPECT_EQ(get(cache, k), expected(k));
    std::string warnings = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1) << warnings;
    EXPECT_NE(warnings.find(options.folder), std::string::npos);
}

TEST_F(KernelCacheTest, FullDiskCostsOneWarning) {
    pid_t child = fork();
    if (child == 0) {
        // A limit on file sizes looks like a full disk: the write fails half-way.
        signal(SIGXFSZ, SIG_IGN);
        rlimit limit{ 2000, 2000 };
        setrlimit(RLIMIT_FSIZE, &limit);
        backend.kernel_size = 5000;
        testing::internal::CaptureStderr();
        KernelCache cache(options);
        bool right = get(cache, 1) == expected(1) && get(cache, 2) == expected(2);
        // What the capture holds goes to a file, which is limited, too: one line fits.
        std::string warnings = testing::internal::GetCapturedStderr();
        _exit(right && std::count(warnings.begin(), warnings.end(), '\n') == 1 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(files(), 0u) << "half a file was left";
}

TEST_F(KernelCacheTest, ReadOnlyFolderIsStillRead) {
    if (geteuid() == 0)
        GTEST_SKIP() << "root may write everywhere";
    {
        KernelCache cache(options);
        get(cache, 1);
    }
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
    expect_on_disk(1);
    testing::internal::CaptureStderr();
    expect_recompiled(2, "cannot be written");
    EXPECT_FALSE(testing::internal::GetCapturedStderr().empty());
    fs::permissions(folder, fs::perms::owner_all);
}

TEST_F(KernelCacheTest, RemovedFolderIsMadeAgain) {
    KernelCache cache(options);
    get(cache, 1);
    fs::remove_all(folder);
    get(cache, 2);
    expect_on_disk(2);
}

// ---- Many at once

// Each thread asks for kernels in an order of its own; some files are damaged or removed meanwhile,
// and the bound is so low that eviction never rests.
bool hammer(const CacheOptions &options, uint32_t seed, int threads, int rounds) {
    std::atomic<bool> right{ true };
    FakeBackend backend;
    backend.kernel_size = 4000;
    std::optional<KernelCache> cache(std::in_place, options);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
        workers.emplace_back([&, t] {
            std::minstd_rand random(seed * 97 + uint32_t(t));
            for (int i = 0; i < rounds; ++i) {
                Program p = numbered(random() % 24);
                std::string bytes = p.serialize();
                if (cache->get(backend, p, bytes)->save() != backend.bytes_of(p))
                    right = false;
                std::string path =
                    cache->path(hash_program(bytes, KernelCache::fingerprint(backend)));
                if (random() % 8 == 0)
                    cache->clear_memory();
                if (random() % 16 == 0)
                    unlink(path.c_str());
                if (random() % 16 == 0 && truncate(path.c_str(), off_t(random() % 4000)) != 0)
                    continue; // was not there
            }
        });
    for (std::thread &w : workers)
        w.join();
    return right;
}

TEST_F(KernelCacheTest, EightThreadsInEachOfFourProcessesShareAFolder) {
    options.max_bytes = 12 * 4096;
    std::vector<pid_t> children;
    for (uint32_t k = 0; k < 4; ++k) {
        pid_t child = fork();
        if (child == 0)
            _exit(hammer(options, k, 8, 200) ? 0 : 1);
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (const auto &entry : fs::directory_iterator(folder))
        EXPECT_EQ(entry.path().extension(), ".kernel") << "a temporary file was left";
    // Each process may be behind by what the others wrote since it last looked.
    EXPECT_LE(files(), 24u);
}

// ---- Environment

class CacheEnvironment : public testing::Test {
protected:
    static constexpr const char *names[] = { "UMBEL_CACHE", "UMBEL_CACHE_SIZE", "XDG_CACHE_HOME",
                                             "HOME" };
    CacheEnvironment() {
        for (const char *name : names) {
            const char *value = getenv(name);
            saved.push_back(value ? std::optional<std::string>(value) : std::nullopt);
            unsetenv(name);
        }
    }
    ~CacheEnvironment() override {
        for (size_t k = 0; k < saved.size(); ++k)
            if (saved[k])
                setenv(names[k], saved[k]->c_str(), 1);
            else
                unsetenv(names[k]);
    }
    std::vector<std::optional<std::string>> saved;
};

TEST_F(CacheEnvironment, ChoosesTheFolder) {
    EXPECT_EQ(CacheOptions::from_environment().folder, "");
    setenv("HOME", "/home/u", 1);
    EXPECT_EQ(CacheOptions::from_environment().folder, "/home/u/.cache/umbel");
    setenv("XDG_CACHE_HOME", "relative", 1);
    EXPECT_EQ(CacheOptions::from_environment().folder, "/home/u/.cache/umbel");
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    EXPECT_EQ(CacheOptions::from_environment().folder, "/xdg/umbel");
    setenv("UMBEL_CACHE", "/somewhere", 1);
    EXPECT_EQ(CacheOptions::from_environment().folder, "/somewhere");
    setenv("UMBEL_CACHE", "", 1);
    EXPECT_EQ(CacheOptions::from_environment().folder, "");
}

TEST_F(CacheEnvironment, ReadsSizes) {
    EXPECT_EQ(CacheOptions::from_environment().max_bytes, 1ull << 30);
    for (auto [text, bytes] :
         std::initializer_list<std::pair<const char *, uint64_t>>{ { "0", 0 },
                                                                   { "4096", 4096 },
                                                                   { "64k", 64 << 10 },
                                                                   { "500M", 500ull << 20 },
                                                                   { "2G", 2ull << 30 },
                                                                   { "1.5GiB", 3ull << 29 },
                                                                   { "1TB", 1ull << 40 } }) {
        setenv("UMBEL_CACHE_SIZE", text, 1);
        EXPECT_EQ(CacheOptions::from_environment().max_bytes, bytes) << text;
    }
    for (const char *text : { "much", "-1", "5Q", "1e9", "2 G", "nan", "inf", "9999999999999T" }) {
        setenv("UMBEL_CACHE_SIZE", text, 1);
        EXPECT_THROW(CacheOptions::from_environment(), UserError) << text;
    }
}

} // namespace
} // namespace umbel::jit
