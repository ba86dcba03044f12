// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/as_account.h"

#include <fcntl.h>
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

namespace sluice {
namespace {

namespace fs = std::filesystem;

bool become(const MachineAccount& account) {
    return ::setgroups(account.groups.size(), account.groups.data()) == 0 &&
           ::setresgid(account.user.gid, account.user.gid, account.user.gid) == 0 &&
           ::setresuid(account.user.uid, account.user.uid, account.user.uid) == 0;
}

int refusal(const AccessWish& wish) {
    return ::faccessat(AT_FDCWD, wish.path.c_str(), wish.rights, AT_EACCESS) == 0 ? 0 : errno;
}

/// By the modes of the path and of all folders that lead to it.
int refusal_by_mode(const MachineAccount& account, const AccessWish& wish) {
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

bool mode_grants(const Owned& what, const MachineAccount& account, int rights) {
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

std::vector<int> refusals_of(const MachineAccount& account, const std::vector<AccessWish>& wishes) {
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
                               [&](const AccessWish& w) { return refusal_by_mode(account, w); });
    if (shared != MAP_FAILED) ::munmap(shared, bytes);
    return refusals;
}

fs::path first_shut(const MachineAccount& account, const fs::path& folder) {
    std::vector<AccessWish> way;
    fs::path at;
    for (const fs::path& part : folder) {
        at /= part;
        way.push_back({at, X_OK});
    }
    const std::vector<int> refused = refusals_of(account, way);
    const auto first = std::ranges::find(refused, EACCES);
    return first == refused.end() ? fs::path() : way[static_cast<std::size_t>(first - refused.begin())].path;
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

}  // namespace sluice
