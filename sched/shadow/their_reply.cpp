// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/their_reply.h"

#include <map>
#include <span>

#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr std::size_t kMostText = 1000;

struct ToldText {
    const char* part;  ///< of the message, as volunteers' clients show it
    const char* reason;
};
// In order of weight. The first rows end a request before any job is looked at.
constexpr ToldText kTold[] = {
    {"temporarily shut down for maintenance", "stopped"},
    {"feeder not running", "feeder_not_running"},
    {"can't attach shared memory", "no_shared_memory"},
    {"can't parse configuration file", "bad_config"},
    {"can't find key file", "no_key"},
    {"Error in request message", "bad_request"},
    {"Server can't open database", "database_down"},
    {"a database query failed", "database_failed"},
    {"Invalid or missing account key", "unknown_account"},
    {"Can't find host record", "unknown_account"},
    {"Not accepting requests from this host", "host_banned"},
    {"Another scheduler instance is running", "host_busy"},
    {"client software is too old", "client_too_old"},
    {"doesn't support operating system", "os_banned"},
    {"doesn't support CPU type", "cpu_banned"},
    {"doesn't support computers of type", "unknown_platform"},
    {"has changed its security key", "key_unknown"},
    {"Last request too recent", "too_recent"},
    {"Project has no tasks available", "array_empty"},
    {"This computer has finished a daily quota", "daily_quota"},
    {"Daily job limit", "daily_quota"},
    {"reached a limit on tasks in progress", "in_progress_limit"},
    {"No tasks are available for the applications you have selected", "app_not_selected"},
    {"your preferences are set to not accept them", "refused_by_prefs"},
    {"Tasks are committed to other platforms", "hr_class_mismatch"},
    {"Your computer type is not supported", "hr_class_unknown"},
    {"Tasks won't finish in time", "deadline"},
    {" MB RAM but only ", "memory"},
    {"more disk space", "disk"},
    {"download bandwidth", "bandwidth"},
    {"of video RAM is needed", "gpu_memory"},
    {"Upgrade to the latest driver", "gpu_driver"},
    {"A newer version of BOINC is needed", "client_too_old"},
    {"is required to run tasks for this project", "gpu_missing"},
    {"doesn't have a usable version of", "no_app_version"},
    {"ruled out by your science/location preferences", "keyword_refused"},
};

void read_workunit(XmlReader& xml, std::map<std::string, std::string>& app_of_workunit) {
    std::string name, app;
    while (xml.next_child("workunit")) {
        if (xml.name() == "name")
            name = xml.text_cut(kMostText);
        else if (xml.name() == "app_name")
            app = xml.text_cut(kMostText);
        else
            xml.skip();
    }
    app_of_workunit[name] = app;
}

TheirJob read_result(XmlReader& xml, const std::map<std::string, std::string>& app_of_workunit) {
    TheirJob job;
    while (xml.next_child("result")) {
        if (xml.name() == "name") {
            job.result = xml.text_cut(kMostText);
        } else if (xml.name() == "wu_name") {
            const auto found = app_of_workunit.find(xml.text_cut(kMostText));
            if (found != app_of_workunit.end()) job.app = found->second;
        } else if (xml.name() == "plan_class") {
            job.plan_class = xml.text_cut(kMostText);
        } else {
            xml.skip();
        }
    }
    return job;
}

}  // namespace

TheirReply read_their_reply(std::string_view text) {
    TheirReply reply;
    const std::size_t begin = text.find("<scheduler_reply");
    if (begin == std::string_view::npos) return reply;
    reply.is_reply = text.find("</scheduler_reply>", begin) != std::string_view::npos;
    XmlReader xml(text.substr(begin));
    xml.next();
    std::map<std::string, std::string> app_of_workunit;
    while (xml.next_child("scheduler_reply")) {
        if (xml.name() == "workunit" && app_of_workunit.size() < kMostTheirJobs)
            read_workunit(xml, app_of_workunit);
        else if (xml.name() == "result" && reply.jobs.size() < kMostTheirJobs)
            reply.jobs.push_back(read_result(xml, app_of_workunit));
        else if (xml.name() == "message" && reply.messages.size() < kMostTheirJobs)
            reply.messages.push_back(xml.text_cut(kMostText));
        else if (xml.name() == "hostid")
            reply.hostid = xml.integer().value_or(0);
        else if (xml.name() == "request_delay")
            reply.delay = xml.number().value_or(0);
        else
            xml.skip();
    }
    return reply;
}

std::set<std::string> told_reasons(const std::vector<std::string>& messages) {
    std::set<std::string> reasons;
    for (const std::string& message : messages)
        for (const ToldText& told : kTold)
            if (message.find(told.part) != std::string::npos) reasons.insert(told.reason);
    return reasons;
}

std::string main_reason(const std::set<std::string>& told) {
    for (const ToldText& row : kTold)
        if (told.contains(row.reason)) return row.reason;
    return "";
}

}  // namespace sluice
