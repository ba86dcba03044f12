// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>

#include "sluice/base/download_folder.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

fs::path beside(const fs::path& file, const char* suffix) { return fs::path(file.string() + suffix); }

/// Throws FileError if that can't be found out: a file behind a closed folder is not missing.
bool is_there(const fs::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw FileError("can't look for " + file.string() + ": " + file_problem(errno, file));
}

/// Of a regular file; nullopt: there is none. Throws as is_there().
std::optional<std::uint64_t> size_of(const fs::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return static_cast<std::uint64_t>(info.st_size);
    is_there(file);
    return std::nullopt;
}

/// The cached MD5 and size; false if there is none, it is malformed, or it is older than the file.
bool read_md5_cache(const fs::path& file, StagedFile& out) {
    const fs::path cache = beside(file, ".md5");
    std::error_code ec;
    const auto cached_at = fs::last_write_time(cache, ec);
    if (ec || cached_at < fs::last_write_time(file, ec) || ec) return false;
    const auto text = read_file(cache, 4096);
    if (!text || text->size() < 34 || text->back() != '\n') return false;
    const auto parts = split(trim(*text), ' ');
    if (parts.size() != 2 || parts[0].size() != 32) return false;
    const auto size = parse_double(parts[1]);
    if (!size || *size != static_cast<double>(fs::file_size(file, ec)) || ec) return false;
    out.md5 = std::string(parts[0]);
    out.nbytes = static_cast<std::uint64_t>(*size);
    return true;
}

/// Whatever the umask: to change the mode afterwards would cost an entry in the file system's journal.
int open_new_file(const std::string& path, mode_t mode) {
    const mode_t umask = ::umask(0);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    const int error = errno;
    ::umask(umask);
    errno = error;
    return fd;
}

/// A folder's default ACL may have taken bits away.
bool ensure_mode(int fd, mode_t mode) {
    struct stat made {};
    return ::fstat(fd, &made) == 0 && ((made.st_mode & 0777) == mode || ::fchmod(fd, mode) == 0);
}

/// False, and errno, if that fails, as where there is such a file.
bool write_new_file(const std::string& path, const std::string& text) {
    constexpr mode_t kMode = 0664;
    const OwnedFd out(open_new_file(path, kMode));
    if (out.get() < 0) return false;
    if (write_all(out.get(), text) && ensure_mode(out.get(), kMode)) return true;
    const int error = errno;
    ::unlink(path.c_str());
    errno = error;
    return false;
}

/// A new one is written in its place, and an old one replaced at once. It is not synced, which would cost more than all
/// else of a small job: read_md5_cache() refuses what a kill or a power failure can leave.
void write_md5_cache(const fs::path& file, const StagedFile& staged) {
    const std::string cache = file.string() + ".md5";
    const std::string text = staged.md5 + ' ' + std::to_string(staged.nbytes) + '\n';
    if (write_new_file(cache, text)) return;
    int error = errno;
    const std::string temp =
        (file.parent_path() / ("." + file.filename().string() + ".md5." + std::to_string(::getpid()))).string();
    if (error == EEXIST) {
        ::unlink(temp.c_str());  // of a process that was killed
        if (write_new_file(temp, text) && ::rename(temp.c_str(), cache.c_str()) == 0) return;
        error = errno;
        ::unlink(temp.c_str());
    }
    throw FileError("can't write " + cache + ": " + file_problem(error, cache));
}

/// Whatever mode it had, and whatever the umask: the web server's account, which is another, serves it.
void let_everybody_read(const fs::path& path, std::error_code& failed) {
    if (fs::is_directory(path, failed))
        fs::permissions(path, fs::perms(0755), fs::perm_options::add, failed);  // and its set-group-ID bit
    else if (!failed)
        fs::permissions(path, fs::perms(0644), failed);
}

void copy_into_place(const fs::path& from, const fs::path& to) {
    const fs::path temporary = beside(to, ".new");
    std::error_code ec;
    fs::copy_file(from, temporary, fs::copy_options::overwrite_existing, ec);
    if (!ec) let_everybody_read(temporary, ec);
    if (!ec) fs::rename(temporary, to, ec);
    if (ec) {
        const std::string why = ec.message();
        fs::remove(temporary, ec);
        throw FileError("can't copy " + from.string() + " to " + to.string() + ": " + why);
    }
}

/// To stage it again would be wrong while its file system is away.
FileError not_staged(const std::string& name, const fs::path& file, const StagingSettings& settings) {
    require_download_folder(settings.download_dir);
    return FileError("input file " + name + " is not in the download hierarchy (" + file.string() + ")" +
                     (has_files(settings.download_dir)
                          ? ": stage it first with bin/stage_file"
                          : ", nor is any other file below " + settings.download_dir.string() +
                                ": is a file system not mounted? Otherwise stage it first with bin/stage_file"));
}

void gzip_file(const fs::path& file) {
    const fs::path temporary = beside(file, ".gz.new");
    std::ifstream in(file, std::ios::binary);
    gzFile out = gzopen(temporary.c_str(), "wb9");
    if (!in || out == nullptr) throw FileError("can't write " + temporary.string());
    char block[65536];
    bool good = true;
    while (good && in) {
        in.read(block, sizeof block);
        const auto n = static_cast<unsigned>(in.gcount());
        if (n > 0) good = gzwrite(out, block, n) == static_cast<int>(n);
    }
    good = gzclose(out) == Z_OK && good;
    std::error_code ec;
    if (good) let_everybody_read(temporary, ec);
    if (good && !ec) fs::rename(temporary, beside(file, ".gz"), ec);
    if (!good || ec) throw FileError("can't write " + temporary.string() + ": is the disk full?");
}

}  // namespace

void make_hash_folder(const fs::path& file, const fs::path& download_dir) {
    require_download_folder(download_dir);
    std::error_code ec;
    if (fs::create_directory(file.parent_path(), ec)) let_everybody_read(file.parent_path(), ec);
    if (ec) throw FileError("can't make the folder " + file.parent_path().string() + ": " + ec.message());
}

StagedFile find_staged(const std::string& name, const StagingSettings& settings, bool gzip) {
    if (!is_valid_file_name(name)) throw FileError("'" + name + "' is no valid name for an input file");
    const fs::path file = fanout_path(settings.download_dir, name, settings.fanout);
    auto size = size_of(file);
    if (!size) {
        const fs::path top = settings.download_dir / name;
        if (top == file || !(size = size_of(top))) throw not_staged(name, file, settings);
        make_hash_folder(file, settings.download_dir);
        copy_into_place(top, file);
    }
    StagedFile staged;
    staged.name = name;
    staged.url = fanout_url(settings.download_url, name, settings.fanout);
    if (!settings.cache_md5 || !read_md5_cache(file, staged)) {
        staged.md5 = md5_hex_of_file(file);
        staged.nbytes = *size;
        if (settings.cache_md5) write_md5_cache(file, staged);
    }
    if (!gzip) return staged;
    std::error_code ec;
    const auto gz = fs::file_size(beside(file, ".gz"), ec);
    if (!ec) staged.gzipped_nbytes = gz;
    return staged;
}

void require_staged(const std::string& name, const StagingSettings& settings) {
    const fs::path file = fanout_path(settings.download_dir, name, settings.fanout);
    if (!is_there(file)) throw not_staged(name, file, settings);
}

StagedFile stage_file(const fs::path& file, const StagingSettings& settings, const StageOptions& options) {
    const std::string name = file.filename().string();
    std::error_code ec;
    if (name.starts_with('-')) throw FileError("'" + name + "' begins with '-': programs would take it for an option");
    if (!is_valid_file_name(name)) throw FileError("'" + name + "' is no valid name for an input file");
    if (!is_there(file)) throw FileError("there is no file " + file.string());
    if (!fs::is_regular_file(file, ec)) throw FileError(file.string() + " is not a regular file");
    const fs::path target = fanout_path(settings.download_dir, name, settings.fanout);
    make_hash_folder(target, settings.download_dir);
    StagedFile staged;
    staged.name = name;
    staged.url = fanout_url(settings.download_url, name, settings.fanout);
    staged.md5 = md5_hex_of_file(file);
    staged.nbytes = fs::file_size(file);
    if (is_there(target)) {
        if (md5_hex_of_file(target) != staged.md5)
            throw FileError("a file named " + name + " with other content is staged already (" + target.string() +
                            "): names must be unique, rename yours");
        let_everybody_read(target, ec);  // if it is ours to change
    } else {
        copy_into_place(file, target);
    }
    write_md5_cache(target, staged);
    if (options.gzip) gzip_file(target);
    if (!options.copy && !fs::equivalent(file, target, ec)) fs::remove(file, ec);
    return staged;
}

namespace {

bool is_below(const fs::path& file, const fs::path& folder) {
    std::error_code ec;
    // Of a relative path that leads nowhere weakly_canonical() makes no absolute one.
    const fs::path inner = fs::weakly_canonical(fs::absolute(file, ec), ec), outer = fs::weakly_canonical(folder, ec);
    return !outer.empty() && std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

std::string consent_needed(const fs::path& file, const fs::path& project) {
    if (is_below(file, project)) return "";
    std::error_code ec;
    return fs::weakly_canonical(file, ec).string() +
           " lies outside of the project, and everybody "
           "could download it: if that is meant, say --copy, or --move to take it away from there";
}

bool is_secret(const fs::path& file, const fs::path& project, const fs::path& key_dir) {
    std::error_code ec;
    return is_below(file, key_dir) || fs::equivalent(file, project / "config.xml", ec);
}

}  // namespace sluice
