// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The Unix sockets at which resident programs wait for those that the web server starts.
#include <sys/types.h>

#include <filesystem>
#include <string>

namespace sluice {

/// Below PROJECT: with the short host name behind it. <pid_HOST_dir> is not heeded: relays read no config.xml.
inline constexpr const char* kSocketFolder = "pid_";
inline constexpr int kListenBacklog = 4096;

/// Throws Error.
[[noreturn]] void cant_listen(const std::string& address, const std::string& why);

/// A non-blocking socket of `type` (SOCK_STREAM ...) that listens at `path`, for its owner and the group of its folder.
/// What a killed server left there is replaced; two that start at a time find out one after the other. Throws Error.
int listen_on_path(const std::string& path, int type);

/// Where programs in cgi-bin look for the resident one: PROJECT/pid_HOST/`socket`. Makes the folder if it is missing,
/// and PROJECT/cgi-bin the current folder, as it is for a program that the web server starts. Throws Error.
std::string place_for_relays(const std::filesystem::path& project, const char* socket);

/// Who connected is root, this account, or in `group`. The socket's mode says the same; it may have been changed.
bool is_peer_of_group(int fd, gid_t group);

}  // namespace sluice
