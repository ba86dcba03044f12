// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/accounts.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "tests/support/paths.h"

namespace sluice::test {
namespace {

constexpr std::array<const char*, 4> kNames = {"sluice-test", "sluice-test-db", "sluice-test-web",
                                               "sluice-test-client"};

struct Account {
    uid_t user = 0;
    gid_t group = 0;
};
/// By role; the last one is root.
std::array<Account, kNames.size() + 1> accounts;
bool apart = false;

const Account& account_of(Role role) { return accounts.at(static_cast<std::size_t>(role)); }

/// The capabilities of this thread, which glibc has no functions for.
using Capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;
bool get_capabilities(Capabilities& sets) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capget, &header, sets.data()) == 0;
}
bool set_capabilities(const Capabilities& sets) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

bool use_all_rights() {
    Capabilities sets{};
    if (!get_capabilities(sets)) return false;
    for (auto& set : sets) set.effective = set.permitted;
    return set_capabilities(sets);
}

[[noreturn]] void fail_with(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "%s: %s (SLUICE_ALLOW_ROOT=1 runs the tests as root)\n", what, std::strerror(errno));
    std::exit(1);
}

bool reads_the_build(const Account& account) {
    if (::setegid(account.group) != 0 || ::seteuid(account.user) != 0) give_up("Can't become another user");
    bool reads = true;
    for (const std::string& folder : {source_dir(), binary_dir() + "/tests"})
        reads = reads && ::eaccess(folder.c_str(), R_OK | X_OK) == 0;
    if (::seteuid(0) != 0 || ::setegid(0) != 0) give_up("Can't become root again");
    return reads;
}

/// A link itself, not what it leads to.
void change_owner(const std::filesystem::path& path, uid_t user, gid_t group) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || ::lchown(path.c_str(), user, group) != 0)
        fail_with("can't give " + path.string());
    // The change has taken setgid away.
    if (!S_ISLNK(info.st_mode) && ::chmod(path.c_str(), info.st_mode & 07777) != 0)
        fail_with("can't set the mode of " + path.string());
}

}  // namespace

bool accounts_apart() { return apart; }

std::string account_name(Role role) {
    if (apart) return role == Role::kRoot ? "root" : kNames.at(static_cast<std::size_t>(role));
    const passwd* own = ::getpwuid(::geteuid());
    return own != nullptr ? own->pw_name : std::to_string(::geteuid());
}

std::vector<std::string> make_project_accounts() {
    if (apart) return {"--user", account_name(Role::kProject), "--web_user", account_name(Role::kWeb)};
    return {"--web_user", ::geteuid() == 0 ? "www-data" : ""};
}

void give(const std::filesystem::path& path, Role owner) {
    if (!apart) return;
    const RightsToAllFiles rights;
    const auto& [user, group] = account_of(owner);
    change_owner(path, user, group);
    if (!std::filesystem::is_directory(std::filesystem::symlink_status(path))) return;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) change_owner(entry, user, group);
}

void share_with_web_server(const std::filesystem::path& path, int mode) {
    if (!apart) return;
    const RightsToAllFiles rights;
    change_owner(path, account_of(Role::kProject).user, account_of(Role::kWeb).group);
    if (::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0) fail_with("can't set the mode of " + path.string());
}

RightsToAllFiles::RightsToAllFiles() {
    if (!apart) return;
    Capabilities sets{};
    if (!get_capabilities(sets)) fail_with("capget");
    for (std::size_t i = 0; i < sets.size(); ++i) before_[i] = sets[i].effective;
    if (!use_all_rights()) fail_with("capset");
}

RightsToAllFiles::~RightsToAllFiles() {
    if (!apart) return;
    Capabilities sets{};
    if (!get_capabilities(sets)) return;
    for (std::size_t i = 0; i < sets.size(); ++i) sets[i].effective = before_[i];
    set_capabilities(sets);
}

// Bare system calls: glibc's functions would have the other threads of the test program change, too. Another account
// than root has no rights of root's after exec().
bool become(Role role) {
    if (!apart || role == Role::kProject) return true;
    const auto& [user, group] = account_of(role);
    return use_all_rights() && ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
           ::syscall(SYS_setresgid, group, group, group) == 0 && ::syscall(SYS_setresuid, user, user, user) == 0;
}

bool set_accounts_apart() {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        const passwd* entry = ::getpwnam(kNames[i]);
        if (entry == nullptr) {
            std::fprintf(stderr, "there is no account %s (config/test-accounts makes it): one account for all\n",
                         kNames[i]);
            return false;
        }
        accounts[i] = {entry->pw_uid, entry->pw_gid};
        if (!reads_the_build(accounts[i])) {
            std::fprintf(stderr, "%s can't read %s: one account for all\n", kNames[i], binary_dir().c_str());
            return false;
        }
    }
    const auto& [user, group] = accounts.front();
    if (::prctl(PR_SET_KEEPCAPS, 1) != 0 || ::setgroups(0, nullptr) != 0 || ::setresgid(group, group, group) != 0 ||
        ::setresuid(user, user, user) != 0)
        give_up("Can't become another user");
    Capabilities sets{};
    if (!get_capabilities(sets)) give_up("capget");
    // Its servers are others' processes; the kernel asks for this right, too, when it ends them with this process.
    for (auto& set : sets) set.effective = 0;
    sets[CAP_TO_INDEX(CAP_KILL)].effective = CAP_TO_MASK(CAP_KILL);
    if (!set_capabilities(sets)) give_up("capset");
    ::prctl(PR_SET_DUMPABLE, 1);
    apart = true;
    return true;
}

}  // namespace sluice::test
