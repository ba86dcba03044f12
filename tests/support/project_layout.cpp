// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/project_layout.h"

#include <fstream>
#include <stdexcept>

#include "config/run/hash_folders.h"
#include "sluice/base/project.h"
#include "tests/support/accounts.h"

namespace sluice::test {

namespace fs = std::filesystem;

void lay_out_for_web_server(const fs::path& project) {
    if (!accounts_apart()) return;
    const auto share_folder = [&](const std::string& name, int mode) {
        fs::create_directories(project / name);
        share_with_web_server(project / name, mode);
    };
    fs::permissions(project, fs::perms(0755));
    share_folder("html/cache", 02770);
    for (const char* folder : {"log_", "pid_"}) share_folder(folder + short_host_name(), 02750);
    if (fs::exists(project / "upload")) {
        share_folder("upload", 02770);
        make_hash_folders(project / "upload", kTestFanout, EmptyFolder::kFill);
    }
    for (const char* log : {"scheduler.log", "file_upload_handler.log"}) make_web_servers_log(project, log);
    for (const char* file : {"config.xml", "keys/upload_private"}) share_with_web_server(project / file, 0640);
    const fs::path signing_key = project / "keys/code_sign_private";
    if (fs::exists(signing_key)) fs::permissions(signing_key, fs::perms(0600));
}

std::string httpd_user_element() {
    return accounts_apart() ? "<httpd_user>" + account_name(Role::kWeb) + "</httpd_user>\n" : "";
}

void make_web_servers_log(const fs::path& project, const std::string& name) {
    if (!accounts_apart()) return;
    const fs::path log = log_dir(project) / name;
    if (!std::ofstream(log)) throw std::runtime_error("can't write " + log.string());
    share_with_web_server(log, 0660);
}

}  // namespace sluice::test
