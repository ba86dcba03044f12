// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Who runs what a test starts. In a test program that CMake marks ACCOUNTS, and that root starts, database server, web
// server, project and volunteers have an account each, those of config/test-accounts, as where an admin followed
// docs/setting_up_a_project.md: none is in a group of another. The test program itself is the project's account, and
// may start programs of the others and signal them. Started by anybody else, everything is that user's.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

enum class Role {
    kProject,   ///< programs and files of the project, and the test program
    kDatabase,  ///< its server
    kWeb,       ///< the web server, and what it runs
    kClient,    ///< volunteers' clients, and the applications that they run
    kRoot       ///< an admin who sets things up
};

/// The roles have an account each in this process; otherwise all of them are its own account.
bool accounts_apart();
/// The name of that role's account.
std::string account_name(Role role);
/// The words of make_project's command line that name them. It is kRoot's to run.
std::vector<std::string> make_project_accounts();

/// `path` and all below it are that role's from now on; symbolic links are not followed. Nothing where accounts are
/// not apart. Throws if it fails.
void give(const std::filesystem::path& path, Role owner);
/// The web server's group has a file or folder of the project, with that mode (02770, say): what make_project does.
/// Nothing where accounts are not apart. Throws if it fails.
void share_with_web_server(const std::filesystem::path& path, int mode);

/// While it lives this thread reads, changes and removes files of every account; what it makes belongs to the project.
/// For what a test looks at or clears away: no program of the project is ever started with it. Nothing where accounts
/// are not apart.
class RightsToAllFiles {
  public:
    RightsToAllFiles();
    RightsToAllFiles(const RightsToAllFiles&) = delete;
    RightsToAllFiles& operator=(const RightsToAllFiles&) = delete;
    ~RightsToAllFiles();

  private:
    unsigned before_[2] = {0, 0};  ///< effective capabilities
};

/// In a child between fork() and exec(), with system calls only: it is that role's account, without any rights beside.
/// False, with errno, if that fails. Nothing where accounts are not apart.
bool become(Role role);

/// For leave_root(): this process, root's, becomes the project's account and keeps the right to become the others.
/// False where one of the accounts is missing or can't read the build, which is said: then nothing has changed.
bool set_accounts_apart();

}  // namespace sluice::test
