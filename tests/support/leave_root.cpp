// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/leave_root.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/accounts.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

/// As the effective user.
bool can_reach(const std::string& folder) { return ::eaccess(folder.c_str(), R_OK | X_OK) == 0; }

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s: %s (SLUICE_ALLOW_ROOT=1 runs the tests as root)\n", what, std::strerror(errno));
    std::exit(1);
}

}  // namespace

void leave_root(char** argv, GoesOnAs whose) {
    const char* allowed = std::getenv("SLUICE_ALLOW_ROOT");
    if (::geteuid() != 0 || (allowed != nullptr && std::strcmp(allowed, "1") == 0)) return;
    if (whose == GoesOnAs::kAccounts && set_accounts_apart()) {
        ::setenv("HOME", "/nonexistent", 1);
        return;
    }
    const passwd* account = ::getpwnam("sluice-test");
    if (account == nullptr) account = ::getpwnam("nobody");
    if (whose == GoesOnAs::kRoot || account == nullptr) {
        ::setenv("SLUICE_ALLOW_ROOT", "1", 1);
        return;
    }
    const uid_t user = account->pw_uid;
    const gid_t group = account->pw_gid;
    if (::setegid(group) != 0 || ::seteuid(user) != 0) fail("Can't become another user");
    const bool reachable = can_reach(source_dir()) && can_reach(binary_dir() + "/tests");
    if (::seteuid(0) != 0 || ::setegid(0) != 0) fail("Can't become root again");
    if (!reachable) {
        std::fprintf(stderr,
                     "%s can't read %s: these tests run as root; a build elsewhere, in /var/tmp say, would not\n",
                     account->pw_name, binary_dir().c_str());
        ::setenv("SLUICE_ALLOW_ROOT", "1", 1);
        return;
    }
    ::setenv("HOME", "/nonexistent", 1);
    if (::setgroups(0, nullptr) != 0 || ::setresgid(group, group, group) != 0 || ::setresuid(user, user, user) != 0)
        fail("Can't become another user");
    ::execv("/proc/self/exe", argv);
    fail("Can't start anew as another user");
}

}  // namespace sluice::test
