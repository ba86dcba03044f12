// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as batch_stats.state, with the hash that makes the file look whole, and without: read, or refused in one
// line.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemons/batches/turnaround_state.h"
#include "sluice/base/error.h"
#include "tests/fuzz/files/one_line.h"
#include "tests/fuzz/rpc/require.h"

namespace {

namespace fs = std::filesystem;
using namespace sluice;

/// A folder of this process, removed at its end.
struct Sandbox {
    fs::path root;
    Sandbox() {
        std::string name = (fs::temp_directory_path() / "sluice_fuzz_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root = name;
    }
    ~Sandbox() {
        std::error_code ignored;
        fs::remove_all(root, ignored);
    }
};

/// FNV-1a, as the format has it at its end.
std::uint64_t hash_of(std::string_view bytes) {
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

void read(const fs::path& file) {
    std::string why;
    auto reader = StateReader::open(file, why);
    if (!reader) return fuzz::require_one_line(why, {"is damaged or of another version"});
    try {
        BatchSection section;
        while (reader->next(section)) continue;
    } catch (const FileError& error) {
        fuzz::require_one_line(error.what(), {"is another batch_stats running?"});
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Sandbox sandbox;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const fs::path file = sandbox.root / "state";
    std::ofstream(file, std::ios::binary) << text;
    read(file);
    const std::uint64_t hash = hash_of(text);
    std::ofstream(file, std::ios::binary)
        << text << std::string_view(reinterpret_cast<const char*>(&hash), sizeof hash);
    read(file);
    return 0;
}
