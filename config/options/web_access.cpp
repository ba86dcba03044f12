// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/web_access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <span>

#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {

WebAccount web_account(const ProjectConfig& config) {
    WebAccount web{account_of(config.httpd_user), false};
    web.is_named = web.account.has_value();
    for (const std::string& name : usual_web_users())
        if (!web.account) web.account = account_of(name);
    return web;
}

std::vector<std::string> missing_folders(const ProjectConfig& config) {
    struct stat project {};
    if (::stat(config.project_dir.c_str(), &project) != 0) return {};
    const std::string owner = user_name(project.st_uid), group = first_group(owner, project.st_gid);
    const auto web = web_account(config).account;
    std::vector<std::string> missing;
    const auto need = [&](const char* option, const std::string& folder, const std::string& of, const char* mode) {
        std::error_code ignored;
        if (std::filesystem::is_directory(folder, ignored)) return;
        missing.push_back(fmt::format(
            "<{}>: {} is not a folder: set the option, or make the folder; as root: install -d -o {} -g {} -m {} {}",
            option, folder, owner, of, mode, shell_quoted(folder)));
    };
    need("download_dir", config.download_dir, group, "755");
    need("upload_dir", config.upload_dir, web ? group_name(web->user.gid) : group, "2770");
    return missing;
}

namespace {

namespace fs = std::filesystem;

bool become(const MachineAccount& account) {
    return ::setgroups(account.groups.size(), account.groups.data()) == 0 &&
           ::setresgid(account.user.gid, account.user.gid, account.user.gid) == 0 &&
           ::setresuid(account.user.uid, account.user.uid, account.user.uid) == 0;
}

int refusal(const AccessCheck& wish) {
    return ::faccessat(AT_FDCWD, wish.path.c_str(), wish.rights, AT_EACCESS) == 0 ? 0 : errno;
}

/// By the modes of the path and of all folders that lead to it.
int refusal_by_mode(const MachineAccount& account, const AccessCheck& wish) {
    std::error_code error;
    const fs::path real = fs::canonical(wish.path, error);
    if (error) return error.value();
    int rights = wish.rights;
    for (fs::path at = real;; at = at.parent_path(), rights = X_OK) {
        struct stat info {};
        if (::stat(at.c_str(), &info) != 0) return errno;
        if (!mode_grants({info.st_uid, info.st_gid, info.st_mode}, account, rights)) return EACCES;
        if (!at.has_relative_path()) return 0;
    }
}

}  // namespace

std::optional<MachineAccount> account_of(const std::string& name) {
    const auto user = find_user(name);
    if (!user) return std::nullopt;
    return MachineAccount{*user, groups_of(*user)};
}

MachineAccount account_of(uid_t uid) {
    const std::string name = user_name(uid);
    if (auto known = account_of(name)) return *known;
    return {{name, uid, static_cast<gid_t>(-1)}, {}};
}

bool mode_grants(const Ownership& what, const MachineAccount& account, int rights) {
    if (account.user.uid == 0) return true;
    const bool in_group = std::ranges::find(account.groups, what.group) != account.groups.end();
    const int shift = what.owner == account.user.uid ? 6 : in_group ? 3 : 0;
    return (static_cast<int>(what.mode >> shift) & rights) == rights;  // R_OK, W_OK, X_OK are the bits of a mode
}

std::optional<int> run_as(const MachineAccount& account, const std::function<int()>& action) {
    if (::geteuid() == account.user.uid) return action();
    if (::geteuid() != 0) return std::nullopt;
    ::signal(SIGCHLD, SIG_DFL);  // ignored, as a caller may leave it, the child's exit status would be lost
    const pid_t child = ::fork();
    constexpr int kCant = 255;
    if (child == 0) ::_exit(become(account) ? action() : kCant);
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == kCant) return std::nullopt;
    return WEXITSTATUS(status);
}

std::vector<int> refusals_of(const MachineAccount& account, const std::vector<AccessCheck>& wishes) {
    std::vector<int> refusals(wishes.size(), 0);
    if (wishes.empty()) return refusals;
    const std::size_t bytes = wishes.size() * sizeof(int);
    void* const shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const std::span<int> answers(static_cast<int*>(shared), shared == MAP_FAILED ? 0 : wishes.size());
    const auto asked = run_as(account, [&] {
        std::ranges::transform(wishes, answers.begin(), refusal);
        return 0;
    });
    if (asked && !answers.empty())
        std::ranges::copy(answers, refusals.begin());
    else
        std::ranges::transform(wishes, refusals.begin(),
                               [&](const AccessCheck& w) { return refusal_by_mode(account, w); });
    if (shared != MAP_FAILED) ::munmap(shared, bytes);
    return refusals;
}

fs::path first_shut(const MachineAccount& account, const fs::path& folder) {
    std::vector<AccessCheck> way;
    fs::path at;
    for (const fs::path& part : folder) {
        at /= part;
        way.push_back({at, X_OK});
    }
    const std::vector<int> refused = refusals_of(account, way);
    const auto first = std::ranges::find(refused, EACCES);
    if (first == refused.end()) return {};
    const fs::path shut = way[static_cast<std::size_t>(first - refused.begin())].path;
    std::error_code error;
    const fs::path real = fs::canonical(shut, error);
    return error || real == shut ? shut : first_shut(account, real);
}

ActingAs::ActingAs(const MachineAccount& account) {
    if (::geteuid() != 0 || account.user.uid == 0) return;
    group_ = ::getegid();
    groups_.resize(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
    if (::getgroups(static_cast<int>(groups_.size()), groups_.data()) < 0) return;
    if (::setgroups(account.groups.size(), account.groups.data()) != 0) return;
    changed_ = true;
    if (::setegid(account.user.gid) != 0 || ::seteuid(account.user.uid) != 0) return;  // then it acts as root
}

ActingAs::~ActingAs() {
    if (!changed_) return;
    const bool back = ::seteuid(0) == 0 && ::setegid(group_) == 0 && ::setgroups(groups_.size(), groups_.data()) == 0;
    if (!back) std::abort();  // nobody knows who this process is
}

namespace {

constexpr int kAll = R_OK | W_OK | X_OK;
constexpr int kFilesLookedAt = 8;  ///< in each folder: the files of a project are alike

/// "upload/3a", "upload/3a and 7 others".
std::string named(const std::vector<fs::path>& paths) {
    const std::size_t others = paths.size() - 1;
    if (others == 0) return paths[0].string();
    return fmt::format("{} and {} other{}", paths[0].string(), others, others > 1 ? "s" : "");
}

template <typename Is>
std::vector<fs::path> folders_that(const UploadFacts& facts, Is is) {
    std::vector<fs::path> paths;
    for (const UploadFolder& folder : facts.folders)
        if (is(folder)) paths.push_back(folder.path);
    return paths;
}

/// In a folder with the sticky bit only its owner and the file's delete.
bool keeps_files(const struct stat& folder, const MachineAccount& project) {
    return (folder.st_mode & S_ISVTX) != 0 && folder.st_uid != project.user.uid;
}

/// Asks for both accounts. Who has all hash folders need not be able to make more.
void ask(std::vector<UploadFolder>& folders, bool complete, const MachineAccount& project,
         const std::optional<MachineAccount>& web) {
    std::vector<AccessCheck> of_project, of_web;
    for (const UploadFolder& folder : folders) {
        const bool only_entered = complete && of_project.empty();
        of_project.push_back({folder.path, only_entered ? R_OK | X_OK : kAll});
        of_web.push_back({folder.path, only_entered ? X_OK : W_OK | X_OK});
    }
    const std::vector<int> project_refused = refusals_of(project, of_project);
    const std::vector<int> web_refused = web ? refusals_of(*web, of_web) : std::vector<int>(folders.size(), 0);
    for (std::size_t i = 0; i < folders.size(); ++i) {
        struct stat info {};
        const bool seen = ::stat(folders[i].path.c_str(), &info) == 0;
        folders[i].project_may_delete = project_refused[i] == 0 && (i == 0 || !seen || !keeps_files(info, project));
        folders[i].web_may_write = web_refused[i] == 0;
        folders[i].everybody_writes = seen && (info.st_mode & S_IWOTH) != 0;
    }
}

/// A few of each folder that is open. What is not complete nobody but the upload handler reads.
std::vector<fs::path> unreadable_files(const std::vector<UploadFolder>& folders, const MachineAccount& project) {
    std::vector<AccessCheck> files;
    for (const UploadFolder& folder : folders) {
        if (!folder.project_may_delete) continue;
        int n = 0;
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(folder.path, ignored)) {
            if (!entry.is_regular_file(ignored) || entry.path().string().ends_with("..part")) continue;
            if (++n > kFilesLookedAt) break;
            files.push_back({entry.path(), R_OK});
        }
    }
    const std::vector<int> refused = refusals_of(project, files);
    std::vector<fs::path> found;
    for (std::size_t i = 0; i < files.size(); ++i)
        if (refused[i] == EACCES) found.push_back(files[i].path);
    return found;
}

/// How <fuh_set_completed_permission> leaves a file of the web server's account.
Ownership complete_file(const MachineAccount& web, const struct stat& folder, const ProjectConfig& config) {
    const bool inherited = (folder.st_mode & S_ISGID) != 0;
    return {web.user.uid, inherited ? folder.st_gid : web.user.gid,
            static_cast<mode_t>(config.fuh_set_completed_permission)};
}

std::vector<UploadFolder> folders_in(const fs::path& top, int fanout) {
    std::vector<UploadFolder> folders{{.path = top}};
    std::error_code ignored;
    for (int i = 0; i < fanout; ++i) {
        const fs::path path = top / fanout_folder(static_cast<unsigned>(i));
        if (fs::is_directory(path, ignored)) folders.push_back({.path = path});
    }
    return folders;
}

}  // namespace

std::vector<PermissionFinding> upload_findings(const UploadFacts& facts) {
    const std::string top = shell_quoted(facts.folders[0].path.string());
    // As make_project makes them.
    const std::string as_made = fmt::format(
        "chown {0} {1} && chmod 2770 {1} && find {1} -mindepth 1 -maxdepth 1 -type d -exec chown {0} {{}} + -exec chmod "
        "2770 {{}} +",
        facts.project + ":" + facts.group, top);
    std::vector<PermissionFinding> found;
    const auto parent = [&](const fs::path& shut, const std::string& account, const char* role, bool refused) {
        found.push_back(
            {fmt::format("{}, above the upload folder, can't be entered by {}, {}", shut.string(), account, role),
             "chmod a+x " + shell_quoted(shut.string()), refused});
    };
    if (!facts.shut_to_project.empty())
        parent(facts.shut_to_project, facts.project, "the project's account: nobody reads or deletes results", true);
    if (!facts.shut_to_web.empty())
        parent(facts.shut_to_web, facts.web, "the web server's account: uploads fail", facts.web_is_named);
    const auto closed = folders_that(facts, [](const auto& folder) { return !folder.project_may_delete; });
    if (!closed.empty() && facts.shut_to_project.empty())
        found.push_back({fmt::format("{} can't be read and changed by {}, the project's account: its validators and "
                                     "assimilators can't read results there, its file_deleter can't delete them",
                                     named(closed), facts.project),
                         as_made, true});
    if (!facts.unreadable.empty())
        found.push_back({fmt::format("{} can't be read by {}, the project's account: validators and assimilators "
                                     "can't use results",
                                     named(facts.unreadable), facts.project),
                         fmt::format("find {} -type f ! -name '*..part' -execdir chown -h {}:{} {{}} + -execdir chmod "
                                     "444 {{}} +",
                                     top, facts.web.empty() ? facts.project : facts.web, facts.group),
                         true});
    if (facts.completed_unreadable)
        found.push_back(
            {fmt::format("<fuh_set_completed_permission>: {}, the project's account, can't read files of {} "
                         "with that mode: remove the option from config.xml, or set it to 444",
                         facts.project, facts.web),
             "", true});
    const auto shut = folders_that(facts, [](const auto& folder) { return !folder.web_may_write; });
    if (!shut.empty() && facts.shut_to_web.empty())
        found.push_back(
            {fmt::format("{} can't be written by {}, the web server's account: uploads fail", named(shut), facts.web),
             as_made, facts.web_is_named});
    const auto open =
        folders_that(facts, [&](const auto& folder) { return facts.open_to_all && folder.everybody_writes; });
    if (!open.empty())
        found.push_back(
            {named(open) + " can be changed by everybody on this machine, results in it, too", as_made, false});
    return found;
}

std::optional<UploadFacts> read_upload_facts(const fs::path& project, const ProjectConfig& config) {
    std::error_code error;
    const fs::path top = fs::canonical(config.upload_dir, error);
    struct stat owner {
    }, info{};
    if (error || ::stat(project.c_str(), &owner) != 0 || ::stat(top.c_str(), &info) != 0 || owner.st_uid == 0 ||
        ::faccessat(AT_FDCWD, top.c_str(), R_OK | X_OK, AT_EACCESS) != 0)
        return std::nullopt;
    UploadFacts facts;
    const MachineAccount account = account_of(owner.st_uid);
    const auto [web, is_named] = web_account(config);
    facts.web_is_named = is_named;
    const bool in_group = !web || std::ranges::find(web->groups, info.st_gid) != web->groups.end();
    facts.group = group_name(in_group ? info.st_gid : web->user.gid);
    facts.project = account.user.name;
    facts.web = web ? web->user.name : "";
    facts.shut_to_project = first_shut(account, top.parent_path());
    if (web) facts.shut_to_web = first_shut(*web, top.parent_path());
    facts.open_to_all = (info.st_mode & S_IXOTH) != 0;
    facts.folders = folders_in(top, config.uldl_dir_fanout);
    const bool complete =
        config.uldl_dir_fanout > 0 && facts.folders.size() == static_cast<std::size_t>(config.uldl_dir_fanout) + 1;
    ask(facts.folders, complete, account, web);
    facts.unreadable = unreadable_files(facts.folders, account);
    if (web && config.fuh_set_completed_permission > 0)
        facts.completed_unreadable = !mode_grants(complete_file(*web, info, config), account, R_OK);
    return facts;
}

}  // namespace sluice
