// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project of tests with accounts: "games" runs it, "www-data" is the web server's, and neither is in a group of the
// other's.
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/db/project/make_project_command.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

namespace fs = std::filesystem;

class Accounts : public testing::Test {
  protected:
    Accounts() : root_(dir_ / "tiles") { fs::permissions(dir_.path(), fs::perms(0755)); }
    RunResult make_project(const std::vector<std::string>& more, bool allow_root = false) {
        std::vector<std::string> words = make_project_command(root_, binary_dir(), more);
        words.insert(words.end(), {"--no_db", "--copy"});
        return run(words, options(allow_root));
    }
    static RunOptions options(bool allow_root) {
        RunOptions options;
        if (!allow_root) options.unset = {"SLUICE_ALLOW_ROOT"};
        if (allow_root) options.env["SLUICE_ALLOW_ROOT"] = "1";
        return options;
    }
    /// As root: this user, or a root of a namespace of its own.
    RunResult as_root(std::vector<std::string> words, bool allow_root) const {
        if (::geteuid() != 0) words.insert(words.begin(), {"unshare", "--map-root-user"});
        RunOptions in_project = options(allow_root);
        in_project.env["BOINC_PROJECT_DIR"] = root_.string();
        return run(words, in_project);
    }
    TempDir dir_;
    fs::path root_;
};

/// Whether `action` works for another account; it does not if it throws.
inline bool can(const char* account, const std::function<bool()>& action) {
    const passwd* entry = ::getpwnam(account);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool changed =
            ::setgroups(0, nullptr) == 0 && ::setgid(entry->pw_gid) == 0 && ::setuid(entry->pw_uid) == 0;
        try {
            ::_exit(!changed ? 2 : action() ? 0 : 1);
        } catch (const std::exception&) {
            ::_exit(1);
        }
    }
    int status = 2 << 8;
    ::waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 2) throw std::runtime_error("can't become another user");
    return WEXITSTATUS(status) == 0;
}
inline bool writes(const fs::path& file) {
    return static_cast<bool>(std::ofstream(file, std::ios::app) << "x" << std::flush);
}

}  // namespace sluice::test
