// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/health/gather.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options/web_access.h"
#include "config/run/configured_programs.h"
#include "config/run/own_programs.h"
#include "sched/cgi/relay_protocol.h"
#include "sched/cgi/resident.h"
#include "sched/cgi/unreached.h"
#include "sluice/base/apart.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

struct DiskLook {
    DiskFacts if_late;
    std::future<DiskFacts> found;
};

std::vector<DiskLook> begin_with_disks(const std::filesystem::path& project, const ProjectConfig& config) {
    std::vector<DiskLook> disks;
    for (const auto& [what, path] : {std::pair<std::string, std::string>{"uploads", config.upload_dir},
                                     {"downloads", config.download_dir},
                                     {"logs", host_folders(config, short_host_name()).log.string()},
                                     {"the project", project.string()}}) {
        DiskFacts late;
        late.what = what;
        late.path = path;
        late.error = "it does not answer; does the server of this file system run?";
        disks.push_back({late, begin_apart<DiskFacts>([late] { return look_at_disk(late.what, late.path); })});
    }
    return disks;
}

}  // namespace

std::string scheduler_url(const std::filesystem::path& project, const ProjectConfig& config) {
    constexpr std::string_view kBegin = "<scheduler>", kEnd = "</scheduler>";
    std::string page;
    try {
        page = read_file(project / "html/user/schedulers.txt", 64 << 10).value_or("");
    } catch (const FileError&) {  // the web server's account may keep it to itself
    }
    const std::size_t begin = page.find(kBegin), end = page.find(kEnd, begin == page.npos ? 0 : begin);
    if (begin != page.npos && end != page.npos)
        return std::string(trim(std::string_view(page).substr(begin + kBegin.size(), end - begin - kBegin.size())));
    const std::size_t folder = config.upload_url.rfind('/');
    return folder == std::string::npos ? "" : config.upload_url.substr(0, folder) + "/cgi";
}

std::string try_relay(const std::filesystem::path& project, const ProjectConfig& config) {
    const fs::path socket = project / (relay::kSocketFolder + short_host_name()) / relay::kSocket;
    std::error_code error;
    if (const bool there = fs::exists(socket, error) || error; !there) return "";
    const WebAccount web = web_account(config);
    if (!web.account) return "";
    const auto refused = run_as(*web.account, [&] { return relay::Resident().connect(project.string()); });
    if (refused.value_or(0) == 0 || *refused == ENOENT) return "";
    const ConnectFailure failure = connect_failure(project, *refused, web.account->user);
    return failure.what + (failure.command.empty() ? "" : "; as root: " + failure.command);
}

HealthFacts gather_health(const HealthOptions& options, const Clock& clock) {
    HealthFacts facts;
    facts.now = clock.now();
    facts.check = sluice_command("check", options.project);
    facts.upgrade = sluice_command("upgrade", options.project);
    LoadedConfig loaded;
    DaemonsAndTasks entries;
    try {
        loaded = load_config(options.project);
        entries = parse_daemons_and_tasks(read_file(options.project / "config.xml").value_or(""), "config.xml");
    } catch (const Error& error) {
        facts.config_error = error.what();
        facts.database.emplace().error = "config.xml does not tell where the database is";
        return facts;
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.patience);
    facts.relay_error = try_relay(options.project, loaded.config);
    // The server may know the project's account by its socket, and no password.
    struct stat owner {};
    const bool known = ::stat(options.project.c_str(), &owner) == 0;
    const ActingAs as_owner(account_of(known ? owner.st_uid : ::geteuid()));
    const auto answers = std::make_shared<AnswersSoFar>();
    auto database = begin_apart<bool>([=, now = facts.now, config = loaded.config] {
        look_at_database(config, entries, now, *answers);
        return true;
    });
    std::vector<DiskLook> disks = begin_with_disks(options.project, loaded.config);
    const std::string url = options.scheduler ? scheduler_url(options.project, loaded.config) : "";
    auto answer =
        begin_apart<UrlAnswer>([=] { return url.empty() ? UrlAnswer() : ask_scheduler(url, options.patience); });
    // stop_upload is named by itself, and is not the web server's fault.
    std::error_code ignored;
    const bool asks_for_uploads = options.scheduler && !fs::exists(options.project / "stop_upload", ignored);
    const std::string upload_url = asks_for_uploads ? loaded.config.upload_url : "";
    auto uploads = begin_apart<std::string>(
        [=] { return upload_url.empty() ? "" : ask_for_uploads(upload_url, options.patience); });
    look_at_host(options.project, loaded, entries, facts);
    facts.foreign_programs = foreign_programs(options.project).line;
    for (DiskLook& disk : disks)
        facts.disks.push_back(disk.found.wait_until(until) == std::future_status::ready ? disk.found.get()
                                                                                        : disk.if_late);
    const bool all = database.wait_until(until) == std::future_status::ready;
    {
        const std::scoped_lock lock(answers->mutex);
        if (all || !answers->facts.unanswered.empty()) facts.database = answers->facts;
    }
    const auto late = [&](const std::string& asked) {
        return fmt::format("{} does not answer within {:.1f} s", asked, options.patience);
    };
    if (answer.wait_until(until) == std::future_status::ready) {
        const UrlAnswer said = answer.get();
        facts.scheduler_error = said.error;
        facts.certificate_ends = said.certificate_ends;
    } else {
        facts.scheduler_error = late(url);
    }
    facts.upload_error = uploads.wait_until(until) == std::future_status::ready ? uploads.get() : late(upload_url);
    return facts;
}

}  // namespace sluice
