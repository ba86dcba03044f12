// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/make_project/install.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "config/project/entry/bytes.h"
#include "config/project/make_project/open_folder.h"
#include "config/run/hash_folders.h"
#include "config/run/own_programs.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/signing.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

void set_mode(const fs::path& path, int mode) {
    if (::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0) {
        throw FileError(fmt::format("Can't set the mode of {}: {}", path.string(), std::strerror(errno)));
    }
}

/// True if the web server's group has the file now, or the web server runs as this user.
bool give_to_web_user(const fs::path& path, const std::string& web_user) {
    const auto account = find_user(web_user);
    if (!account) return false;
    return account->uid == ::geteuid() || ::lchown(path.c_str(), static_cast<uid_t>(-1), account->gid) == 0;
}

}  // namespace

void check_new_folder(const NewProject& project) {
    std::error_code ignored;
    if (fs::exists(project.root, ignored) && !fs::is_empty(project.root, ignored)) {
        throw ConfigError(fmt::format("{} exists already: choose another --root, or remove it (and its database) first",
                                      project.root.string()));
    }
}

ProjectOnDisk::~ProjectOnDisk() {
    if (!made_ || kept_) return;
    std::error_code ignored;
    fs::remove_all(project_.root, ignored);
}

void ProjectOnDisk::make() {
    made_ = true;
    make_folders();
    make_keys();
    make_files();
    put_programs(project_.root, source_, {});
}

void ProjectOnDisk::make_folders() {
    project_.web_user_in_group = true;
    for (const NewFolder& folder : folders_of(project_)) {
        const fs::path path = project_.root / folder.name;
        fs::create_directories(path);
        if (folder.for_web_user && !give_to_web_user(path, project_.web_user)) project_.web_user_in_group = false;
        set_mode(path, folder.mode);  // after the change of group, which clears setgid
    }
    make_hash_folders(project_.root / "upload", kFanout, EmptyFolder::kFill);
}

void ProjectOnDisk::make_keys() {
    for (const char* name : {"upload", "code_sign"}) {
        const KeyPairText keys = generate_key_pair();
        const fs::path base = project_.root / "keys" / name;
        // The scheduler signs upload certificates of targeted jobs, so the web server must read that key.
        const bool for_web = std::string_view(name) == "upload";
        write_file_atomically(base.string() + "_private", keys.private_key, for_web ? 0640 : 0600);
        write_file_atomically(base.string() + "_public", keys.public_key, 0644);
        if (for_web) give_to_web_user(base.string() + "_private", project_.web_user);
    }
}

void ProjectOnDisk::make_files() {
    for (const NewFile& file : files_of(project_)) {
        const fs::path path = project_.root / file.name;
        write_file_atomically(path, file.text, file.mode);
        if ((file.mode & 0007) == 0) give_to_web_user(path, project_.web_user);
    }
}

/// Up to here nobody else could write in it.
void ProjectOnDisk::give_to_owner() {
    const auto owner = find_user(project_.user);
    if (!owner || owner->uid == ::geteuid()) return;
    const auto give = [&](const fs::path& path) {
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0) throw FileError("Can't look at " + path.string());
        const gid_t group = info.st_gid == ::getegid() ? owner->gid : info.st_gid;  // the web server's stays
        if (::lchown(path.c_str(), owner->uid, group) != 0) {
            throw FileError(fmt::format("Can't give {} to {}: {}", path.string(), project_.user, std::strerror(errno)));
        }
        if (!S_ISLNK(info.st_mode)) set_mode(path, static_cast<int>(info.st_mode & 07777));  // chown clears setgid
    };
    for (const auto& entry : fs::recursive_directory_iterator(project_.root)) give(entry.path());
    give(project_.root);
}

namespace {

/// Nobody writes into a program, not even its owner: it is replaced.
constexpr mode_t kProgramMode = 0555;
constexpr std::size_t kLongestProgram = 256u << 20;

constexpr const char* kWhyBlocked =
    "BOINC's tools/upgrade renames cgi to cgi.old before it copies its own programs. It can't, because this folder is\n"
    "here, and so ends before it has replaced a program of Sluice. Update the web pages with\n"
    "tools/upgrade --web_only. Then start the project again: bin/start.\n";

struct Program {
    std::string folder, name;
    fs::path installed;
};

bool is_program(const fs::path& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

std::vector<Program> programs_of(const OpenFolder& cgi_bin, const fs::path& prefix) {
    std::vector<Program> programs;
    for (const char* folder : {"bin", "cgi-bin"})
        for (const auto& entry : fs::directory_iterator(prefix / folder))
            if (is_program(entry.path())) programs.push_back({folder, entry.path().filename().string(), entry.path()});
    if (cgi_bin.look_at("fcgi"))  // upstream's name for the same program
        programs.push_back({"cgi-bin", "fcgi", prefix / "cgi-bin/cgi"});
    return programs;
}

void put_program(const Program& program, const OpenFolder& folder, bool copy) {
    if (fs::is_symlink(program.installed) && !fs::read_symlink(program.installed).has_parent_path())
        return folder.put_link(program.name, fs::read_symlink(program.installed));  // stop -> start
    if (!copy) return folder.put_file(program.name, entry_program(), kProgramMode);
    const auto text = read_file(fs::canonical(program.installed), kLongestProgram);
    if (!text) throw FileError(program.installed.string() + " is gone");
    folder.put_file(program.name, *text, kProgramMode);
}

void block_upgrade(const OpenFolder& cgi_bin) {
    for (const char* name : {"cgi.old", "file_upload_handler.old"}) {
        // What upgrade has saved there is kept.
        if (const auto there = cgi_bin.look_at(name); there && !S_ISDIR(there->st_mode))
            cgi_bin.rename(name, std::string(name) + ".saved");
        cgi_bin.make_folder(name);
        cgi_bin.folder(name).put_file("README", kWhyBlocked, 0644);
    }
}

bool holds_copies(const OpenFolder& bin) {
    return std::ranges::any_of(
        bin.names(), [&](const std::string& name) { return is_own_program_text(bin.text_of(name, kLongestProgram)); });
}

/// Who may write in the project could lead root elsewhere by links.
void become_owner_of(const OpenFolder& project) {
    const struct stat info = project.info();
    if (::geteuid() != 0 || info.st_uid == 0) return;
    if (::setgroups(0, nullptr) != 0 || ::setresgid(info.st_gid, info.st_gid, info.st_gid) != 0 ||
        ::setresuid(info.st_uid, info.st_uid, info.st_uid) != 0)
        throw FileError(
            fmt::format("Can't go on as the user of {}: {}", project.path().string(), std::strerror(errno)));
}

/// Where a folder in it is another account's, its links would lead us.
void require_one_owner(const OpenFolder& project, const OpenFolder& folder) {
    if (project.info().st_uid == folder.info().st_uid) return;
    throw ConfigError(
        fmt::format("{} belongs to another account than {}: sluice_options --check {} prints the command that mends it",
                    folder.path().string(), project.path().string(), project.path().string()));
}

/// The folders of a project that hold its programs.
struct ProgramFolders {
    OpenFolder project, bin, cgi_bin;
    explicit ProgramFolders(OpenFolder opened)
        : project(std::move(opened)), bin(project.folder("bin")), cgi_bin(project.folder("cgi-bin")) {}
};

void put_into(const ProgramFolders& folders, const InstallSource& source, const std::vector<std::string>& names) {
    std::vector<Program> programs = programs_of(folders.cgi_bin, source.prefix);
    for (const std::string& name : names)
        if (std::ranges::find(programs, name, &Program::name) == programs.end())
            throw ConfigError(fmt::format("There is no program '{}' in {}", name, source.prefix.string()));
    std::erase_if(programs, [&](const Program& program) {
        return !names.empty() && std::ranges::find(names, program.name) == names.end();
    });
    if (names.empty() || !source.copy) folders.project.put_link(kPrefixLink, source.prefix);
    for (const Program& program : programs)
        put_program(program, program.folder == "bin" ? folders.bin : folders.cgi_bin, source.copy);
    block_upgrade(folders.cgi_bin);
}

}  // namespace

void check_prefix(const fs::path& prefix) {
    if (is_program(prefix / "bin" / "start") && is_program(prefix / "cgi-bin" / "cgi")) return;
    throw ConfigError(
        fmt::format("{} holds no installed programs (bin/start, cgi-bin/cgi): give the prefix of "
                    "'cmake --install' with --install_from",
                    prefix.string()));
}

void put_programs(const fs::path& project, const InstallSource& source, const std::vector<std::string>& names) {
    put_into(ProgramFolders(OpenFolder(project)), source, names);
}

void renew_programs(const fs::path& project, InstallSource source, const std::vector<std::string>& names) {
    check_prefix(source.prefix);
    OpenFolder opened(project);
    become_owner_of(opened);
    const auto is_folder = [&](const char* name) {
        struct stat info {};
        return ::fstatat(opened.fd(), name, &info, 0) == 0 && S_ISDIR(info.st_mode);
    };
    if (!opened.look_at("config.xml") || !is_folder("bin") || !is_folder("cgi-bin"))
        throw ConfigError(fmt::format("{} is no project: config.xml, bin or cgi-bin is missing", project.string()));
    if (fs::equivalent(project, source.prefix))
        throw ConfigError(
            fmt::format("{} is the project itself: run the make_project that is installed, or say with --install_from "
                        "where that is",
                        project.string()));
    const auto link = opened.look_at(kPrefixLink);
    const bool made_here = link && S_ISLNK(link->st_mode);
    const ProgramFolders folders(std::move(opened));
    require_one_owner(folders.project, folders.bin);
    require_one_owner(folders.project, folders.cgi_bin);
    source.copy = source.copy || (!made_here && !names.empty()) || holds_copies(folders.bin);
    put_into(folders, source, names);
}

}  // namespace sluice
