// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Owners and modes of a test's project, as make_project's (docs/security.md), so that the web server's account may do
// what it may in a real one, and nothing else. All of it does nothing where accounts are not apart
// (tests/support/accounts.h).
#include <filesystem>
#include <string>

namespace sluice::test {

/// <uldl_dir_fanout> of the projects of tests.
inline constexpr int kTestFanout = 1024;

/// config.xml and keys/upload_private are there. Hash folders are made where there is an upload/.
void lay_out_for_web_server(const std::filesystem::path& project);
/// The element of config.xml that names the web server's account; "" where accounts are not apart.
std::string httpd_user_element();
/// An empty log that the web server's account may write: it makes no file in log_HOST.
void make_web_servers_log(const std::filesystem::path& project, const std::string& name);

}  // namespace sluice::test
