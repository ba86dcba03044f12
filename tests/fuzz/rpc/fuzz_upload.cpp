// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as an upload, without certificates: an answer in form, and nothing outside the upload folder.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sched/upload/handler.h"
#include "sluice/base/log.h"
#include "tests/fuzz/rpc/require.h"

namespace {

namespace fs = std::filesystem;

/// A folder of this process, removed at its end.
struct Sandbox {
    fs::path root;
    Sandbox() {
        std::string name = (fs::temp_directory_path() / "sluice_fuzz_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root = name;
        fs::create_directory(root / "upload");
        sluice::log_set_level(sluice::LogLevel::kCritical);
    }
    ~Sandbox() {
        std::error_code ignored;
        fs::remove_all(root, ignored);
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice::upload;
    static const Sandbox sandbox;
    std::size_t at = 0;
    BodyReader body(
        [&](char* buffer, std::size_t most, Milliseconds) {
            const std::size_t n = std::min({most, size - at, std::size_t{13}});
            std::memcpy(buffer, data + at, n);
            at += n;
            return n;
        },
        std::nullopt);
    UploadSettings settings;
    settings.upload_dir = sandbox.root / "upload";
    settings.fanout = 16;
    settings.free_space = [](const fs::path&) { return 1e12; };
    const std::string text = answer_text(handle_upload_request(body, settings, "fuzz"));
    REQUIRE(at == size);
    REQUIRE(text.find("</data_server_reply>") == text.size() - 21);
    REQUIRE(std::distance(fs::directory_iterator(sandbox.root), {}) == 1);
    // Every file stands in one of 16 folders; they are emptied so that inputs do not depend on each other.
    for (const auto& folder : fs::directory_iterator(settings.upload_dir)) {
        REQUIRE(folder.path().filename().string().size() == 1 && folder.is_directory());
        for (const auto& file : fs::directory_iterator(folder)) {
            REQUIRE(file.is_regular_file() && file.file_size() <= size);
            fs::remove(file);
        }
    }
    return 0;
}
