// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/telling.h"

#include <fmt/core.h>

#include <algorithm>

#include "config/run/command_words.h"
#include "daemons/batches/owners_page.h"
#include "daemons/batches/watch_plan.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

constexpr int kMostAtOnce = 20;  ///< events of a pass

std::string headline(BatchEventKind kind) {
    switch (kind) {
        case BatchEventKind::kSlow: return "its jobs take far longer than estimated";
        case BatchEventKind::kLate: return "it is late";
        case BatchEventKind::kStopped: return "it was stopped, as its jobs fail";
        case BatchEventKind::kDone: break;
    }
    return "it is done";
}

}  // namespace

TellingSettings telling_settings(const ProjectConfig& config) {
    TellingSettings settings{.project = config.long_name, .folder = config.project_dir, .sendmail = config.sendmail};
    settings.command = command_words(config.batch_event_command);
    if (needs_shell(settings.command))
        throw ConfigError("<batch_event_command> is run without a shell: put pipes and redirections into a script");
    if (!settings.command.empty() && settings.command.front().find('/') == std::string::npos)
        settings.command.front() = (settings.folder / "bin" / settings.command.front()).string();
    std::string others = config.batch_event_mail;
    std::ranges::replace(others, ',', ' ');
    for (const std::string_view word : split(others, ' ')) {
        if (word == "owner") {
            settings.mail_owner = true;
            continue;
        }
        for (std::string& address : mail_addresses(word, "batch_event_mail"))
            settings.addresses.push_back(std::move(address));
    }
    return settings;
}

std::vector<std::string> command_line_of(const TellingSettings& settings, const EventToTell& event) {
    std::vector<std::string> words = settings.command;
    words.emplace_back(event_name(event.event.kind));
    words.push_back(std::to_string(event.event.batch));
    return words;
}

std::vector<std::string> environment_of(const TellingSettings& settings, const EventToTell& event) {
    constexpr std::size_t kLongest = 1000;
    std::vector<std::string> all;
    const auto set = [&](const char* name, const std::string& value) {
        all.push_back(fmt::format("SLUICE_{}={}", name, in_one_line(value, kLongest)));
    };
    set("EVENT", event_name(event.event.kind));
    set("EVENT_TIME", std::to_string(event.event.at));
    set("EVENT_TEXT", event.event.says);
    set("BATCH", std::to_string(event.event.batch));
    set("BATCH_NAME", event.batch_name);
    set("BATCH_APP", event.app_name);
    set("BATCH_JOBS", std::to_string(event.jobs));
    set("BATCH_FAILED", std::to_string(event.failed));
    set("OWNER", std::to_string(event.owner));
    set("OWNER_NAME", event.owner_name);
    set("OWNER_EMAIL", event.owner_address);
    set("PROJECT_DIR", settings.folder.string());
    return all;
}

Mail mail_of(const TellingSettings& settings, const EventToTell& event) {
    Mail mail{.to = settings.addresses, .subject = {}, .text = {}};
    if (settings.mail_owner && is_mail_address(event.owner_address)) mail.to.push_back(event.owner_address);
    mail.subject = fmt::format("{}: batch {}: {}", settings.project, event.event.batch, event_name(event.event.kind));
    mail.text = fmt::format(
        "Batch {} of {}: {}.\n\n{}.\n\nName: {}\nApplication: {}\nOwner: {}\nJobs: {}, {} of them failed\nSince: {}\n\n"
        "sluice_batch show {} has more.\n",
        event.event.batch, settings.project, headline(event.event.kind), event.event.says,
        in_one_line(event.batch_name), in_one_line(event.app_name), in_one_line(event.owner_name), event.jobs,
        event.failed, utc_text(static_cast<double>(event.event.at)), event.event.batch);
    return mail;
}

std::string BatchTelling::tell(EventToTell& event) const {
    std::string problem;
    if (!settings_.command.empty() && !event.told_command) {
        const std::string nothing;
        const int status = run_script(
            command_line_of(settings_, event),
            ScriptRun{.limit = kCommandLimit, .input = &nothing, .environment = environment_of(settings_, event)});
        event.told_command = status == 0;
        if (status == kScriptTimedOut)
            problem = fmt::format("{} took longer than {:.0f} s", settings_.command.front(), kCommandLimit);
        else if (status != 0)
            problem = fmt::format("{} ended with status {}{}", settings_.command.front(), status,
                                  status == 127 ? " (is it there and executable?)" : "");
    }
    const Mail mail = mail_of(settings_, event);
    if (settings_.mail_owner && !is_mail_address(event.owner_address))
        log_warning("[batch#{}] its owner {} has no e-mail address", event.event.batch, event.owner);
    if (!mail.to.empty() && !event.told_mail) {
        const std::string failed = send_mail(settings_.sendmail, mail);
        event.told_mail = failed.empty();
        if (!failed.empty()) problem += (problem.empty() ? "" : "; ") + failed;
    }
    return problem;
}

void BatchTelling::pass() {
    const double started = clock_.now();
    for (EventToTell& event : events_.due(clock_.now_sec(), kMostAtOnce)) {
        if (stop_requested() || clock_.now() - started >= kLongestPass) return;
        const std::string problem = tell(event);
        if (problem.empty()) {
            log_normal("[batch#{}] told: {}", event.event.batch, event_name(event.event.kind));
            events_.settle(event, 0);
            continue;
        }
        ++event.tries;
        const std::int64_t wait = wait_after(event.tries);
        log_warning("[batch#{}] {} could not be told: {}; trying again in {} s", event.event.batch,
                    event_name(event.event.kind), problem, wait);
        events_.settle(event, clock_.now_sec() + wait);
    }
}

}  // namespace sluice
