// SPDX-License-Identifier: LGPL-3.0-or-later
// Functions of filesys.h and sched_util_basic.h.
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "include/sluice/compat/error_numbers.h"
#include "include/sluice/compat/filesys.h"
#include "include/sluice/compat/md5_file.h"
#include "include/sluice/compat/sched_util_basic.h"
#include "include/sluice/compat/str_util.h"

namespace {

namespace fs = std::filesystem;

mode_t mode_of(const char* path, bool follow) {
    struct stat s {};
    return (follow ? ::stat(path, &s) : ::lstat(path, &s)) == 0 ? s.st_mode : 0;
}

/// BOINC's fan-out: 7 hexadecimal digits of the name's MD5, from the second one, modulo `fanout`.
std::string fan_out_folder(const char* name, int fanout) {
    const std::string digits = md5_string(std::string(name)).substr(1, 7);
    char folder[32];
    std::snprintf(folder, sizeof folder, "%lx",
                  std::strtoul(digits.c_str(), nullptr, 16) % static_cast<unsigned long>(fanout));
    return folder;
}

std::string in_fan_out(const char* name, const std::string& root, int fanout) {
    return root + "/" + (fanout > 0 ? fan_out_folder(name, fanout) + "/" : "") + name;
}

}  // namespace

extern "C" {

int boinc_delete_file(const char* path) {
    if (::unlink(path) == 0 || errno == ENOENT) return 0;
    return ERR_UNLINK;
}

int boinc_touch_file(const char* path) {
    if (boinc_file_exists(path) != 0) return ::utime(path, nullptr) == 0 ? 0 : ERR_FOPEN;
    FILE* f = std::fopen(path, "we");
    if (f == nullptr) return ERR_FOPEN;
    std::fclose(f);
    return 0;
}

FILE* boinc_fopen(const char* path, const char* mode) { return std::fopen(path, (std::string(mode) + "e").c_str()); }

int boinc_copy(const char* from, const char* to) {
    std::error_code error;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    return error ? ERR_FOPEN : 0;
}

int boinc_rename(const char* from, const char* to) {
    if (std::rename(from, to) == 0) return 0;
    if (errno != EXDEV) return ERR_RENAME;
    // Never half a file under the new name.
    const std::string beside = std::string(to) + "..part";
    if (boinc_copy(from, beside.c_str()) != 0 || std::rename(beside.c_str(), to) != 0) {
        ::unlink(beside.c_str());
        return ERR_RENAME;
    }
    return boinc_delete_file(from);
}

int boinc_mkdir(const char* path) {
    if (is_dir(path) != 0) return 0;
    const mode_t old = ::umask(0);
    const int made = ::mkdir(path, 0771);
    ::umask(old);
    return made == 0 || is_dir(path) != 0 ? 0 : ERR_MKDIR;
}

int boinc_rmdir(const char* path) { return ::rmdir(path) == 0 ? 0 : ERR_RMDIR; }

int boinc_make_dirs(const char* folder, const char* file) {
    std::error_code error;
    fs::create_directories((fs::path(folder) / file).parent_path(), error);
    return error ? ERR_MKDIR : 0;
}

void boinc_getcwd(char* path) {
    if (::getcwd(path, MAXPATHLEN) == nullptr) *path = '\0';
}

int is_file(const char* path) { return S_ISREG(mode_of(path, true)) ? 1 : 0; }
int is_dir(const char* path) { return S_ISDIR(mode_of(path, true)) ? 1 : 0; }
int is_symlink(const char* path) { return S_ISLNK(mode_of(path, false)) ? 1 : 0; }
int boinc_file_exists(const char* path) { return mode_of(path, true) != 0 ? 1 : 0; }
}

int file_size(const char* path, double& bytes) {
    struct stat s {};
    if (::stat(path, &s) != 0) return ERR_NOT_FOUND;
    bytes = static_cast<double>(s.st_size);
    return 0;
}

int read_file_string(const char* path, std::string& text, size_t max, bool tail) {
    double bytes = 0;
    if (const int error = file_size(path, bytes)) return error;
    FILE* f = std::fopen(path, "re");
    if (f == nullptr) return ERR_FOPEN;
    const auto all = static_cast<size_t>(bytes);
    const size_t wanted = max == 0 ? all : std::min(max, all);
    if (tail) std::fseek(f, -static_cast<long>(wanted), SEEK_END);
    text.resize(wanted);
    text.resize(std::fread(text.data(), 1, wanted, f));
    std::fclose(f);
    return 0;
}

int read_file_malloc(const char* path, char*& text, size_t max, bool tail) {
    std::string read;
    if (const int error = read_file_string(path, read, max, tail)) return error;
    text = static_cast<char*>(std::malloc(read.size() + 1));
    if (text == nullptr) return ERR_MALLOC;
    std::memcpy(text, read.c_str(), read.size() + 1);
    return 0;
}

DIRREF dir_open(const char* path) { return ::opendir(path); }
void dir_close(DIRREF folder) {
    if (folder != nullptr) ::closedir(folder);
}

int dir_scan(std::string& name, DIRREF folder) {
    while (const dirent* entry = ::readdir(folder)) {
        name = entry->d_name;
        if (name != "." && name != "..") return 0;
    }
    return ERR_READDIR;
}

int dir_scan(char* name, DIRREF folder, int size) {
    std::string found;
    const int error = dir_scan(found, folder);
    if (error == 0) strlcpy(name, found.c_str(), static_cast<size_t>(size));
    return error;
}

int try_fopen(const char* path, FILE*& file, const char* mode) {
    file = std::fopen(path, mode);
    if (file != nullptr) return 0;
    // A folder that can't be opened is a file system that is away.
    const std::string folder = fs::path(path).parent_path().string();
    DIR* opened = ::opendir(folder.empty() ? "." : folder.c_str());
    if (opened == nullptr) return ERR_OPENDIR;
    ::closedir(opened);
    return ERR_FOPEN;
}

int dir_hier_path(const char* name, const char* root, int fanout, char* path, bool create) {
    const std::string whole = in_fan_out(name, root, fanout);
    strlcpy(path, whole.c_str(), MAXPATHLEN);
    return create ? boinc_mkdir(fs::path(whole).parent_path().c_str()) : 0;
}

int dir_hier_url(const char* name, const char* root, int fanout, char* url) {
    strlcpy(url, in_fan_out(name, root, fanout).c_str(), 1024);
    return 0;
}

bool is_arg(const char* word, const char* name) {
    if (*word != '-') return false;
    return std::strcmp(word + 1, name) == 0 || (word[1] == '-' && std::strcmp(word + 2, name) == 0);
}
