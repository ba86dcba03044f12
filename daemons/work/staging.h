// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Input files in the download hierarchy: where they are, their MD5 and size, and the FILE.md5 cache beside them.
#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct StagingSettings {
    std::filesystem::path download_dir;
    std::string download_url;
    int fanout = 0;
    bool cache_md5 = false;  ///< <cache_md5_info>: FILE.md5 ("MD5 NBYTES\n") is read and written
};

struct StagedFile {
    std::string name;  ///< physical name
    std::string url;
    std::string md5;
    std::uint64_t nbytes = 0;
    std::uint64_t gzipped_nbytes = 0;  ///< size of FILE.gz; 0: there is none, or nobody asked
};

/// The fan-out folder of `file`, which lies in `download_dir`; the web server's account can read it. Throws FileError,
/// also if `download_dir` is not there.
void make_hash_folder(const std::filesystem::path& file, const std::filesystem::path& download_dir);

/// A file that stands in the hierarchy, or at the top of the download folder (then it is copied into the hierarchy,
/// as upstream does). Looks for FILE.gz only if `gzip`. Throws FileError that says where it was looked for and to use
/// stage_file.
StagedFile find_staged(const std::string& name, const StagingSettings& settings, bool gzip = false);

/// Throws FileError if that file of the hierarchy is gone: file_deleter may have deleted it since it was found.
void require_staged(const std::string& name, const StagingSettings& settings);

struct StageOptions {
    bool copy = false;  ///< keep the original (default: move)
    bool gzip = false;  ///< also make FILE.gz
};
/// Puts one file into the hierarchy under its own name and writes FILE.md5. A file of that name with other content is
/// an error (clients would mix them up): FileError. Same content: nothing to do. Returns what clients can fetch now.
StagedFile stage_file(const std::filesystem::path& file, const StagingSettings& settings, const StageOptions& options);

/// Why `file` is not published without a word of consent: it lies outside of the project, or a symbolic link leads
/// there. Such a file may have got into the command by mistake, and moving takes it away from where it is. "" if it may
/// be.
std::string consent_needed(const std::filesystem::path& file, const std::filesystem::path& project);
/// Files of the project that nobody means to publish, whatever was typed: config.xml, and all in `key_dir`.
bool is_secret(const std::filesystem::path& file, const std::filesystem::path& project,
               const std::filesystem::path& key_dir);

}  // namespace sluice
