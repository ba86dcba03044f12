// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What db_purge wrote into a folder archives/, plain or compressed.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "sluice/model/codes.h"
#include "tests/support/test_project.h"

namespace sluice::test {

inline std::string unpacked(const std::filesystem::path& file) {
    std::string text;
    char buffer[1 << 16];
    gzFile in = gzopen(file.c_str(), "rb");
    int n = 0;
    while ((n = gzread(in, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(n));
    EXPECT_EQ(n, 0) << file << " is damaged";
    EXPECT_EQ(gzclose(in), Z_OK) << file << " ends too early";
    return text;
}

/// The records of a kind ("workunit", "result"), each as often as it is there. Every archive must be whole.
inline void each_archived(const std::filesystem::path& archives, const std::string& kind,
                          const std::function<void(const std::string& record)>& take) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(archives)) {
        const std::string name = entry.path().filename().string();
        EXPECT_FALSE(name.starts_with(".open")) << name;
        if (!name.starts_with((kind == "workunit" ? "wu" : kind) + "_archive")) continue;
        const std::string text = unpacked(entry.path());
        EXPECT_TRUE(text.ends_with("</archive>\n")) << name;
        for (const std::string& record : elements(text, kind + "_archive")) take(record);
    }
}

/// The first <tag> of a record.
inline std::string field(const std::string& record, const std::string& tag) {
    const auto found = elements(record, tag);
    return found.empty() ? "" : found[0];
}

inline std::multiset<Id> archived_ids(const std::filesystem::path& archives, const std::string& kind) {
    std::multiset<Id> ids;
    each_archived(archives, kind, [&](const std::string& record) { ids.insert(std::stoll(field(record, "id"))); });
    return ids;
}

struct FolderSize {
    std::int64_t files = 0, bytes = 0;
};
inline FolderSize size_of(const std::filesystem::path& folder) {
    FolderSize size;
    std::error_code gone;
    for (std::filesystem::recursive_directory_iterator at(folder, gone), end; at != end; at.increment(gone)) {
        std::error_code error;
        if (!at->is_regular_file(error) || error) continue;
        const auto bytes = at->file_size(error);
        if (!error) ++size.files, size.bytes += static_cast<std::int64_t>(bytes);
    }
    return size;
}

}  // namespace sluice::test
