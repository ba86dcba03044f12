#include "config/options/permissions.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "config/run/remote.h"
#include "sluice/base/project.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

class Audit {
  public:
    explicit Audit(const fs::path& project) : project_(project) {}

    std::vector<PermissionFinding> run() {
        struct stat root {};
        if (::stat(project_.c_str(), &root) != 0) return {};
        owner_ = root.st_uid;
        if (owner_ == 0)
            found_.push_back({project_.string() + " belongs to root: its daemons would run as root",
                              "adduser --system --group --home " + word(project_) +
                                  " boincadm; chown -R boincadm: " + word(project_)});
        for (const char* name : {"", "bin", "cgi-bin", "keys", "apps", "templates", "config.xml", "config_aux.xml",
                                 "project.xml", "plan_class_spec.xml", "gui_urls.xml", "project_files.xml"})
            nobody_else_writes(project_ / name);
        for (const char* name : {"bin", "cgi-bin", "keys", "templates"})
            for (const fs::path& file : files_in(project_ / name)) nobody_else_writes(file);
        for (const fs::path& file : files_in(project_))
            if (steers_programs(file.filename().string())) nobody_else_writes(file, 0002);
        secrets();
        run_folders();
        return std::move(found_);
    }

  private:
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

    /// Links lead to the installed programs: what they lead to counts.
    void nobody_else_writes(const fs::path& path, mode_t others = 0022) {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0) return;
        if ((info.st_mode & others) != 0)
            found_.push_back({fmt::format("{} can be changed by {}", path.string(),
                                          (info.st_mode & 0002) != 0 ? "everybody" : "its group"),
                              "chmod go-w " + word(path)});
        if (info.st_uid != owner_ && info.st_uid != 0)
            found_.push_back({path.string() + " belongs to another user than the project's folder",
                              fmt::format("chown {} {}", owner_, word(path))});
    }

    void not_read_by(const fs::path& path, mode_t bits, const char* whom, const char* command) {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0 || (info.st_mode & bits) == 0) return;
        found_.push_back({fmt::format("{} can be read by {}", path.string(), whom), command + word(path)});
    }

    void secrets() {
        not_read_by(project_ / "config.xml", 0004, "everybody: it holds the database's password", "chmod o-rwx ");
        not_read_by(project_ / "keys/upload_private", 0004, "everybody", "chmod o-rwx ");
        not_read_by(project_ / "keys/code_sign_private", 0044,
                    "others: who has it can run programs on all volunteers' computers", "chmod go-rwx ");
    }

    /// Not the logs that were rotated.
    static bool is_in_use(const fs::path& file) {
        const std::string kind = file.extension().string();
        return kind == ".log" || kind == ".out" || kind == ".pid" || kind == ".lock" ||
               file.filename() == "start.lock." + short_host_name();
    }

    /// What root has left where the project's user has to write: by a program that was run with sudo, say.
    void roots(const fs::path& path) {
        struct stat info {};
        if (owner_ == 0 || ::lstat(path.c_str(), &info) != 0 || info.st_uid != 0 || (info.st_mode & 0022) != 0) return;
        found_.push_back({path.string() + " belongs to root: the project's user can't write it",
                          fmt::format("chown {} {}", owner_, word(path)), true});
    }

    /// As start makes a folder anew where its account may not give it to the web server's group.
    void closed_to_web_server(const fs::path& folder, const struct stat& info) {
        struct stat upload {};
        if (::stat((project_ / "upload").c_str(), &upload) != 0 || upload.st_gid == info.st_gid) return;
        found_.push_back({folder.string() + " has another group than upload/: the web server's account can't get in",
                          fmt::format("chgrp -R --reference={} {}", word(project_ / "upload"), word(folder))});
    }

    /// Daemons write here: in a folder that the web server's account can write to it could put links in their way.
    void run_folders() {
        for (const char* kind : {"log_", "pid_"}) {
            const fs::path folder = project_ / (kind + short_host_name());
            struct stat info {};
            if (::lstat(folder.c_str(), &info) != 0) continue;
            roots(folder);
            closed_to_web_server(folder, info);
            for (const fs::path& file : files_in(folder)) {
                const bool in_use = is_in_use(file);
                if (fs::is_symlink(file))
                    found_.push_back(
                        {file.string() + " is a symbolic link: daemons don't follow it", "rm " + word(file), in_use});
                else if (in_use)
                    roots(file);
            }
            if ((info.st_mode & 0027) == 0) continue;
            std::string command;
            if (std::string_view(kind) == "log_")
                for (const char* log : {"scheduler.log", "file_upload_handler.log"})
                    command += fmt::format("touch {0}; chown --reference={1} {0}; chmod 660 {0}; ", word(folder / log),
                                           word(folder));
            found_.push_back({fmt::format("{} can be {} others than the project's user", folder.string(),
                                          (info.st_mode & 0022) != 0 ? "written by" : "read by"),
                              command + "chmod g-w,o-rwx " + word(folder)});
        }
    }

    fs::path project_;
    uid_t owner_ = 0;
    std::vector<PermissionFinding> found_;
};

}  // namespace

std::vector<PermissionFinding> permission_findings(const fs::path& project) {
    return Audit(fs::absolute(project).lexically_normal()).run();
}

}  // namespace sluice
