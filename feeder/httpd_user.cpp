// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/httpd_user.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {

std::vector<std::string> web_server_accounts(const ProjectConfig& config) {
    if (find_user(config.httpd_user)) return {config.httpd_user};
    return usual_web_users();
}

std::string unknown_httpd_user(const ProjectConfig& config) {
    if (config.httpd_user == ProjectConfig().httpd_user || find_user(config.httpd_user)) return "";
    return fmt::format(
        "<httpd_user>{}</httpd_user>: this machine has no such account, and {} is taken for the web server's; name the "
        "account that the web server runs as",
        in_one_line(config.httpd_user), fmt::join(usual_web_users(), " or "));
}

}  // namespace sluice
