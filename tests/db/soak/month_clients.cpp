// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/soak/month_clients.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sluice/base/hash.h"
#include "tests/db/soak/archived_rows.h"
#include "tests/support/request_text.h"

namespace sluice::test {
namespace {

/// In thousandths: an error, no word any more, a report a day too late, lost on the way, other output than the others'.
Fate fate_of(const std::string& name) {
    if (name.starts_with("bad_")) return Fate::kError;
    const auto n = std::stoul(md5_hex(name).substr(0, 6), nullptr, 16) % 1000;
    if (n < 20) return Fate::kError;
    if (n < 26) return Fate::kSilent;
    if (n < 32) return Fate::kLate;
    if (n < 42) return Fate::kLost;
    return n < 52 && name.find("_q2_") != name.npos ? Fate::kWrong : Fate::kRight;
}

std::string report(const std::string& name, const HostJob& job) {
    const bool fetched = job.fate != Fate::kNoInput, failed = !fetched || job.fate == Fate::kError;
    return fmt::format(
        "<result>\n<name>{0}</name>\n<final_cpu_time>{1}</final_cpu_time>\n<final_elapsed_time>{2}"
        "</final_elapsed_time>\n<exit_status>{3}</exit_status>\n<state>{4}</state>\n<app_version_num>100"
        "</app_version_num>\n<stderr_out>\n<![CDATA[\nstderr of {0}\n]]>\n</stderr_out>\n{5}</result>\n",
        name, failed ? 10 : 790, failed ? 12 : 850,
        !fetched ? -186
        : failed ? 1
                 : 0,
        !fetched ? 1
        : failed ? 3
                 : 5,
        failed ? "" : "<file_info><name>" + job.output + "</name></file_info>\n");
}

}  // namespace

std::string workunit_of(const std::string& result_name) { return result_name.substr(0, result_name.rfind('_')); }

MonthClients::MonthClients(MonthProject& project, int hosts, double first_contact) : project_(project) {
    for (int i = 0; i < hosts; ++i) {
        MadeUpHost host;
        host.number = i, host.user = 1 + i % MonthProject::kUsers;
        host.next_contact = first_contact + project_.plan().contact * i / hosts;
        hosts_.push_back(host);
    }
}

void MonthClients::serve() {
    for (MadeUpHost& host : hosts_)
        if (host.next_contact <= project_.clock().now()) serve(host);
}

bool MonthClients::upload(const std::string& name, HostJob& job) {
    std::string data = "output of " + (job.fate == Fate::kWrong ? name : workunit_of(name)) + "\n";
    while (data.size() < 1000) data += data;
    const std::string head = fmt::format(
        "<data_server_request>\n<core_client_major_version>8</core_client_major_version>\n<core_client_minor_version>0"
        "</core_client_minor_version>\n<core_client_release>2</core_client_release>\n<file_upload>\n<file_info>\n"
        "<name>{}</name>\n<xml_signature>{}</xml_signature>\n<max_nbytes>5000.000000</max_nbytes>\n</file_info>\n"
        "<nbytes>{}</nbytes>\n<md5_cksum>x</md5_cksum>\n<offset>0</offset>\n<data>\n",
        job.output, job.signature, data.size());
    job.uploaded = project_.upload(head + data);
    return job.uploaded;
}

std::string MonthClients::request_of(MadeUpHost& host, const std::set<std::string>& reported, std::string& variety) {
    RequestText r;
    r.authenticator = MonthProject::key_of(host.user);
    r.hostid = host.id, r.seqno = ++host.seqno;
    r.work_seconds = std::max(0.0, 40.0 - static_cast<double>(host.jobs.size() - reported.size())) * kJob;
    r.domain_name = fmt::format("box{}", host.number), r.cpid = fmt::format("cpid-of-box{}", host.number);
    for (const std::string& name : reported) r.more += report(name, host.jobs.at(name));
    for (const auto& [name, job] : host.jobs)
        if (!reported.contains(name)) r.others.push_back(name);
    if (project_.plan().messages && host.id != 0 && !host.jobs.empty() && project_.draw(5) == 0) {
        static const char* const kVarieties[] = {"echo", "credit", "deadline", "script"};
        variety = kVarieties[project_.draw(4)];
        r.more += fmt::format(
            "<msg_from_host>\n<result_name>{}</result_name>\n<time>{:.0f}</time>\n<variety>{}</variety>\n"
            "<runtime>432</runtime>\n<text>a message</text>\n</msg_from_host>\n",
            host.jobs.begin()->first, project_.clock().now(), variety);
    }
    return r.text();
}

void MonthClients::serve(MadeUpHost& host) {
    const double now = project_.clock().now();
    std::set<std::string> reported;
    for (auto& [name, job] : host.jobs) {
        if (job.ready > now || job.fate == Fate::kSilent) continue;
        if (job.fate == Fate::kError || job.fate == Fate::kNoInput || job.uploaded || upload(name, job))
            reported.insert(name);
    }
    // Nobody hears of these again; the volunteer takes the project out of his client one day.
    std::erase_if(host.jobs,
                  [&](const auto& j) { return j.second.fate == Fate::kSilent && j.second.deadline < now - 86400; });
    std::string variety;
    const std::string request = request_of(host, reported, variety);
    ++requests_;
    const auto answer = project_.ask_scheduler(request);
    host.next_contact = now + (answer ? project_.plan().contact * (0.8 + project_.draw(400) / 1000.0) : 600);
    if (!answer) return;  // it asks again, as if nothing had happened
    const std::string& reply = answer->out;
    ASSERT_NE(reply.find("</scheduler_reply>"), reply.npos) << reply << answer->err;
    if (variety == "credit" && reply.find("<message_ack/>") != reply.npos) told_runtime_[host.id] += 432;
    take(host, reply, reported);
}

void MonthClients::take(MadeUpHost& host, const std::string& reply, const std::set<std::string>& reported) {
    const double now = project_.clock().now();
    if (host.id == 0) host.id = std::atoll(field(reply, "hostid").c_str());
    for (const std::string& ack : elements(reply, "result_ack")) {
        const auto job = host.jobs.find(field(ack, "name"));
        if (job == host.jobs.end()) continue;
        ++fates_[job->second.fate];
        if (job->second.fate == Fate::kRight || job->second.fate == Fate::kLate) {
            right_.insert(job->first);
            if (now < job->second.deadline) right_in_time_.insert(job->first);
        }
        host.jobs.erase(job);
    }
    if (!reported.empty() && elements(reply, "result_ack").empty() && host.id != 0) host.next_contact = now + 3600;
    for (const std::string& abort : elements(reply, "result_abort"))
        aborted_ += static_cast<int>(host.jobs.erase(field(abort, "name")));
    take_jobs(host, reply);
}

void MonthClients::take_jobs(MadeUpHost& host, const std::string& reply) {
    std::map<std::string, std::string> signatures;
    for (const std::string& info : elements(reply, "file_info"))
        if (const std::string text = field(info, "xml_signature"); !text.empty())
            signatures[field(info, "name")] = text;
    for (const std::string& result : elements(reply, "result")) {
        const std::string name = field(result, "name");
        if (name.empty() || host.jobs.contains(name)) continue;
        HostJob job;
        job.fate = fate_of(name);
        if (job.fate == Fate::kLost) {
            if (host.forgotten.insert(name).second) {
                ++fates_[Fate::kLost];
                continue;
            }
            host.forgotten.erase(name);
            job.fate = Fate::kRight;
        }
        if (!fs::exists(project_.input("in_" + workunit_of(name)))) job.fate = Fate::kNoInput;
        job.output = field(result, "file_name"), job.signature = signatures[job.output];
        job.deadline = std::atof(field(result, "report_deadline").c_str());
        job.ready = job.fate == Fate::kLate ? job.deadline + 86400 : project_.clock().now() + 2 * kJob;
        if (job.fate == Fate::kSilent) ++fates_[Fate::kSilent];
        EXPECT_FALSE(job.signature.empty()) << name << " has no signed output file:\n" << reply.substr(0, 4000);
        host.jobs[name] = job;
    }
}

}  // namespace sluice::test
