#pragma once
#include <string>
#include <string_view>

namespace sluice {

/// Who asks, for the log and host.external_ip_addr; never trusted. Anybody can send X-Forwarded-For: it counts where a
/// proxy of this machine or of a private network handed the request on, and of it the last address, which is the one
/// that the proxy saw itself. A public proxy is the web server's to know (Apache: mod_remoteip). "?.?.?.?": nobody
/// says.
std::string client_address(const std::string& remote_addr, std::string_view forwarded_for);

}  // namespace sluice
