#include "config/project/make_project/programs.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "config/project/entry/bytes.h"
#include "config/run/own_programs.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

/// Nobody writes into a program, not even its owner: it is replaced.
constexpr auto kProgramMode = static_cast<fs::perms>(0555);

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

std::vector<Program> programs_of(const fs::path& project, const fs::path& prefix) {
    std::vector<Program> programs;
    for (const char* folder : {"bin", "cgi-bin"})
        for (const auto& entry : fs::directory_iterator(prefix / folder))
            if (is_program(entry.path())) programs.push_back({folder, entry.path().filename().string(), entry.path()});
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(project / "cgi-bin/fcgi", ignored)))  // upstream's name for the same program
        programs.push_back({"cgi-bin", "fcgi", prefix / "cgi-bin/cgi"});
    return programs;
}

/// In place of a file or link, at once; a folder is not replaced. `make` makes what it is given the name of.
template <typename Make>
void replace(const fs::path& file, Make make) {
    const fs::path made = file.parent_path() / ("." + file.filename().string() + ".new");
    fs::remove(made);  // an earlier call was ended
    make(made);
    fs::rename(made, file);
}

void put_link(const fs::path& target, const fs::path& link) {
    replace(link, [&](const fs::path& made) { fs::create_symlink(target, made); });
}

void put_program(const Program& program, const fs::path& project, bool copy) {
    const fs::path file = project / program.folder / program.name;
    if (fs::is_symlink(program.installed) && !fs::read_symlink(program.installed).has_parent_path())
        return put_link(fs::read_symlink(program.installed), file);  // stop -> start
    replace(file, [&](const fs::path& made) {
        if (copy)
            fs::copy_file(fs::canonical(program.installed), made);
        else if (!(std::ofstream(made, std::ios::binary) << entry_program() << std::flush))
            throw FileError("Can't write " + made.string());
        fs::permissions(made, kProgramMode);
    });
}

void block_upgrade(const fs::path& project) {
    for (const char* name : {"cgi.old", "file_upload_handler.old"}) {
        const fs::path folder = project / "cgi-bin" / name;
        const fs::file_status there = fs::symlink_status(folder);
        // What upgrade has saved there is kept.
        if (fs::exists(there) && !fs::is_directory(there)) fs::rename(folder, folder.string() + ".saved");
        fs::create_directory(folder);
        write_file_atomically(folder / "README", kWhyBlocked, 0644);
    }
}

bool holds_copies(const fs::path& project) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(project / "bin", ignored))
        if (!entry.is_symlink() && is_own_program(entry.path())) return true;
    return false;
}

/// Who may write in the project could lead root elsewhere by links.
void become_owner_of(const fs::path& project) {
    struct stat info {};
    if (::geteuid() != 0 || ::stat(project.c_str(), &info) != 0 || info.st_uid == 0) return;
    if (::setgroups(0, nullptr) != 0 || ::setresgid(info.st_gid, info.st_gid, info.st_gid) != 0 ||
        ::setresuid(info.st_uid, info.st_uid, info.st_uid) != 0)
        throw FileError(fmt::format("Can't go on as the user of {}: {}", project.string(), std::strerror(errno)));
}

/// Where a folder in it is another account's, its links would lead us.
void require_one_owner(const fs::path& project) {
    struct stat own {
    }, part{};
    for (const char* name : {"bin", "cgi-bin"})
        if (::stat(project.c_str(), &own) != 0 || ::stat((project / name).c_str(), &part) != 0 ||
            own.st_uid != part.st_uid)
            throw ConfigError(fmt::format(
                "{} belongs to another account than {}: sluice_options --check {} prints the command that mends it",
                (project / name).string(), project.string(), project.string()));
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
    std::vector<Program> programs = programs_of(project, source.prefix);
    for (const std::string& name : names)
        if (std::ranges::find(programs, name, &Program::name) == programs.end())
            throw ConfigError(fmt::format("There is no program '{}' in {}", name, source.prefix.string()));
    std::erase_if(programs, [&](const Program& program) {
        return !names.empty() && std::ranges::find(names, program.name) == names.end();
    });
    if (names.empty() || !source.copy) put_link(source.prefix, project / kPrefixLink);
    for (const Program& program : programs) put_program(program, project, source.copy);
    block_upgrade(project);
}

void renew_programs(const fs::path& project, InstallSource source, const std::vector<std::string>& names) {
    check_prefix(source.prefix);
    become_owner_of(project);
    if (!fs::exists(project / "config.xml") || !fs::is_directory(project / "bin") ||
        !fs::is_directory(project / "cgi-bin"))
        throw ConfigError(fmt::format("{} is no project: config.xml, bin or cgi-bin is missing", project.string()));
    if (fs::equivalent(project, source.prefix))
        throw ConfigError(
            fmt::format("{} is the project itself: run the make_project that is installed, or say with --install_from "
                        "where that is",
                        project.string()));
    require_one_owner(project);
    const bool made_here = fs::is_symlink(project / kPrefixLink);
    source.copy = source.copy || (!made_here && !names.empty()) || holds_copies(project);
    put_programs(project, source, names);
}

}  // namespace sluice
