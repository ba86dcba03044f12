// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/permissions.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "config/run/own_programs.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// Of a project that root owns: an account that the command makes.
constexpr const char* kUsualOwner = "boincadm";

class Audit {
  public:
    Audit(const fs::path& project, const std::string& web_group) : project_(project), web_group_(web_group) {}

    std::vector<PermissionFinding> run() {
        struct stat root {};
        if (::stat(project_.c_str(), &root) != 0) return {};
        know_accounts(root);
        if (owner_ == 0)  // what is not root's, uploads say, stays whose it is
            found_.push_back({project_.string() + " belongs to root: its daemons would run as root",
                              fmt::format("adduser --system --group --home {0} {1}; chown -hR --from=root {1} {0} && "
                                          "chown -hR --from=:root :{1} {0}",
                                          word(project_), kUsualOwner)});
        for (const char* name : {"", "bin", "cgi-bin", "keys", "apps", "templates", "config.xml", "config_aux.xml",
                                 "project.xml", "plan_class_spec.xml", "gui_urls.xml", "project_files.xml"})
            nobody_else_writes(project_ / name);
        for (const char* name : {"bin", "cgi-bin", "keys", "templates"})
            for (const fs::path& file : files_in(project_ / name)) {
                nobody_else_writes(file);
                if (const fs::path program = installed_program(file); program != file) nobody_else_writes(program);
            }
        for (const fs::path& file : files_in(project_))
            if (steers_programs(file.filename().string())) nobody_else_writes(file, 0002);
        secrets();
        host_folders();
        return std::move(found_);
    }

  private:
    void know_accounts(const struct stat& root) {
        owner_ = root.st_uid;
        owner_name_ = owner_ == 0 ? kUsualOwner : user_name(owner_);
        own_group_ = owner_ == 0 && !find_user(kUsualOwner) ? kUsualOwner : first_group(owner_name_, root.st_gid);
        struct stat upload {};
        if (web_group_.empty() && ::stat((project_ / "upload").c_str(), &upload) == 0 && upload.st_gid != 0)
            web_group_ = group_name(upload.st_gid);
        knows_web_group_ = !web_group_.empty();
        if (!knows_web_group_) web_group_ = own_group_;
    }

    /// The scheduler runs as the web server's account, and reads these two, but where all of it is resident.
    std::string group_for(const fs::path& path) const {
        const bool read_by_web = path == project_ / "config.xml" || path == project_ / "keys/upload_private";
        std::error_code ignored;
        return read_by_web && !fs::exists(project_ / "relay_only", ignored) ? web_group_ : own_group_;
    }

    /// A file that has a right owner keeps its group, and an installed program that a link leads to its owner, too.
    std::string only_ours(const fs::path& path, const struct stat& info) const {
        const bool installed = info.st_uid == 0 && owner_ != 0;
        const bool right = installed || (info.st_uid == owner_ && owner_ != 0);
        return ownership_command(installed ? "root" : owner_name_, right ? group_name(info.st_gid) : group_for(path),
                                 "go-w", word(path));
    }

    /// As make_project makes it. Nobody puts links there any more when root touches the two logs.
    std::string run_folder_as_made(const fs::path& folder) const {
        const std::string at = word(folder);
        std::string command =
            ownership_command(owner_name_, web_group_, "2750", at) + fmt::format(" && chgrp -hR {} {}", web_group_, at);
        if (folder.filename().string().starts_with("log_")) {
            const std::string logs = word(folder / kWebLogs[0]) + " " + word(folder / kWebLogs[1]);
            command += fmt::format(" && find {} -maxdepth 1 -type l -name '*.log' -delete && touch {} && ", at, logs) +
                       ownership_command(owner_name_, web_group_, "660", logs);
        }
        return command;
    }

    static std::string word(const fs::path& path) { return shell_quoted(path.string()); }

    std::vector<fs::path> files_in(const fs::path& folder) const {
        std::vector<fs::path> files;
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(folder, ignored)) files.push_back(entry.path());
        std::ranges::sort(files);
        return files;
    }

    /// What daemons refuse otherwise (read_trusted_file()).
    static bool steers_programs(const std::string& name) {
        return name.starts_with("size_census_") || name == "hr_info.txt" || name.starts_with("run_state_");
    }

    /// Where the path leads, if that is out of the project: a link of the project's account must not have root change
    /// what is another's.
    fs::path elsewhere(const fs::path& path) const {
        if (!path.has_filename()) return {};  // the project itself
        std::error_code ignored;
        const fs::path real = fs::canonical(path, ignored), root = fs::canonical(project_, ignored);
        return real == (root / path.lexically_relative(project_)).lexically_normal() ? fs::path() : real;
    }

    void nobody_else_writes_what_it_leads_to(const fs::path& path, const fs::path& real, const struct stat& info) {
        const bool known = info.st_uid == owner_ || info.st_uid == 0;
        if (known && (info.st_mode & 0022) == 0) return;
        found_.push_back({fmt::format("{} leads to {}, which {}", path.string(), real.string(),
                                      known ? "others can change" : "belongs to another user"),
                          known ? "chmod go-w " + word(real) : "rm " + word(path)});
    }

    /// Links may lead to the installed programs: what they lead to counts.
    void nobody_else_writes(const fs::path& path, mode_t others = 0022) {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0) return;
        if (const fs::path real = elsewhere(path); !real.empty())
            return nobody_else_writes_what_it_leads_to(path, real, info);
        if ((info.st_mode & others) != 0)
            found_.push_back({fmt::format("{} can be changed by {}", path.string(),
                                          (info.st_mode & 0002) != 0 ? "everybody" : "its group"),
                              only_ours(path, info)});
        if (info.st_uid != owner_ && info.st_uid != 0)
            found_.push_back(
                {path.string() + " belongs to another user than the project's folder", only_ours(path, info)});
    }

    void not_read_by(const fs::path& path, mode_t bits, const char* whom, const char* mode) {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0 || (info.st_mode & bits) == 0) return;
        found_.push_back({fmt::format("{} can be read by {}", path.string(), whom),
                          elsewhere(path).empty() ? ownership_command(owner_name_, group_for(path), mode, word(path))
                                                  : "ls -l " + word(path)});
    }

    void secrets() {
        not_read_by(project_ / "config.xml", 0004, "everybody: it holds the database's password", "640");
        not_read_by(project_ / "keys/upload_private", 0004, "everybody", "640");
        not_read_by(project_ / "keys/code_sign_private", 0044,
                    "others: who has it can run programs on all volunteers' computers", "600");
    }

    /// Not the logs that were rotated.
    static bool is_in_use(const fs::path& file) {
        const std::string kind = file.extension().string();
        return kind == ".log" || kind == ".out" || kind == ".pid" || kind == ".lock" ||
               file.filename() == "start.lock." + short_host_name();
    }

    static const char* mode_of(const fs::path& file) {
        if (std::ranges::find(kWebLogs, file.filename().string()) != std::end(kWebLogs)) return "660";
        return file.extension() == ".lock" ? "600" : "640";
    }

    /// What root has left where the project's user has to write: by a program that was run with sudo, say.
    void roots(const fs::path& path, const std::string& command) {
        struct stat info {};
        if (owner_ == 0 || ::lstat(path.c_str(), &info) != 0 || info.st_uid != 0 || (info.st_mode & 0022) != 0) return;
        found_.push_back({path.string() + " belongs to root: the project's user can't write it", command, true});
    }

    /// As start makes a folder anew where its account may not give it to the web server's group.
    void closed_to_web_server(const fs::path& folder, const struct stat& info) {
        if (!knows_web_group_ || group_name(info.st_gid) == web_group_) return;
        found_.push_back({fmt::format("{} has not the group of uploads, {}: the web server's account can't get in",
                                      folder.string(), web_group_),
                          run_folder_as_made(folder)});
    }

    /// Daemons write here: in a folder that the web server's account can write to it could put links in their way.
    void host_folders() {
        for (const char* kind : {"log_", "pid_"}) {
            const fs::path folder = project_ / (kind + short_host_name());
            struct stat info {};
            if (::lstat(folder.c_str(), &info) != 0) continue;
            if (S_ISLNK(info.st_mode)) {
                found_.push_back(
                    {folder.string() + " is a symbolic link: root's commands would change what it leads to",
                     "rm " + word(folder)});
                continue;
            }
            roots(folder, run_folder_as_made(folder));
            closed_to_web_server(folder, info);
            for (const fs::path& file : files_in(folder)) {
                const bool in_use = is_in_use(file);
                if (fs::is_symlink(file))
                    found_.push_back(
                        {file.string() + " is a symbolic link: daemons don't follow it", "rm " + word(file), in_use});
                else if (in_use)
                    roots(file, ownership_command(owner_name_, web_group_, mode_of(file), word(file)));
            }
            if ((info.st_mode & 0027) == 0) continue;
            found_.push_back({fmt::format("{} can be {} others than the project's user", folder.string(),
                                          (info.st_mode & 0022) != 0 ? "written by" : "read by"),
                              run_folder_as_made(folder)});
        }
    }

    fs::path project_;
    uid_t owner_ = 0;
    bool knows_web_group_ = false;
    std::string owner_name_, own_group_, web_group_;
    std::vector<PermissionFinding> found_;
};

}  // namespace

std::vector<PermissionFinding> permission_findings(const fs::path& project, const std::string& web_group) {
    return Audit(fs::absolute(project).lexically_normal(), web_group).run();
}

namespace {

/// Of a process of the project's account: of this one, if it is.
std::vector<gid_t> groups_of_account(uid_t owner) {
    if (owner != ::geteuid()) {
        const auto user = find_user(user_name(owner));
        return user ? groups_of(*user) : std::vector<gid_t>();
    }
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
    groups.resize(static_cast<std::size_t>(std::max(0, ::getgroups(static_cast<int>(groups.size()), groups.data()))));
    groups.push_back(::getegid());
    return groups;
}

class NewFiles {
  public:
    explicit NewFiles(uid_t owner) : owner_(owner), groups_(groups_of_account(owner)) {}

    bool can_be_written_by_owner(const struct stat& info) const {
        return info.st_uid == owner_ && (info.st_mode & S_IWUSR) != 0;
    }
    /// Can a new file in `folder` have that group?
    bool can_have(gid_t group, const fs::path& folder) const {
        struct stat around {};
        const bool inherits = ::stat(folder.c_str(), &around) == 0 && (around.st_mode & S_ISGID) != 0;
        return std::ranges::find(groups_, group) != groups_.end() || (inherits && around.st_gid == group);
    }
    PermissionFinding finding(const fs::path& file, gid_t group, bool refused) const {
        const std::string command = fmt::format("usermod -aG {} {}", group_name(group), user_name(owner_));
        return {fmt::format("{} has the group {}, which {} cannot give to a new file: sluice {}canary will refuse. As "
                            "root: {}, then log in anew",
                            file.string(), group_name(group), user_name(owner_), refused ? "adopt and sluice " : "",
                            command),
                command, refused};
    }

  private:
    uid_t owner_;
    std::vector<gid_t> groups_;
};

}  // namespace

std::vector<PermissionFinding> groups_not_to_give(const fs::path& project, const fs::path& log_folder) {
    std::vector<PermissionFinding> found;
    std::error_code ignored;
    struct stat root {
    }, info{}, around{};
    if (fs::is_symlink(project / kPrefixLink, ignored) || ::stat(project.c_str(), &root) != 0) return found;
    const NewFiles made(root.st_uid);
    const fs::path config = fs::canonical(project / "config.xml", ignored);
    if (::stat(config.c_str(), &info) == 0 && ((info.st_mode >> 3) & 7) != (info.st_mode & 7) &&
        !made.can_have(info.st_gid, config.parent_path()))
        found.push_back(made.finding(config, info.st_gid, true));
    // The web server's account has made it, and both it and the daemon `scheduler` are to write it.
    const fs::path log = log_folder / kWebLogs[0];
    if (::lstat(log.c_str(), &info) == 0 && !made.can_be_written_by_owner(info) &&
        ::stat(log_folder.c_str(), &around) == 0 && !made.can_have(info.st_gid, log_folder) &&
        !((around.st_mode & S_IWGRP) != 0 && made.can_have(around.st_gid, log_folder)) &&
        (around.st_mode & S_IWOTH) == 0)
        found.push_back(made.finding(log, info.st_gid, true));
    const fs::path upload = project / "upload";
    if (::stat(upload.c_str(), &info) == 0 && !made.can_have(info.st_gid, project))
        found.push_back(made.finding(upload, info.st_gid, false));
    // One command mends all files of one group.
    std::vector<std::string> seen;
    std::erase_if(found, [&](const PermissionFinding& finding) {
        const bool again = std::ranges::find(seen, finding.command) != seen.end();
        if (!again) seen.push_back(finding.command);
        return again;
    });
    return found;
}

}  // namespace sluice
