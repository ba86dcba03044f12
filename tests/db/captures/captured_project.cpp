// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/captures/captured_project.h"

#include <algorithm>
#include <stdexcept>

#include "tests/support/captures.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/project_rows.h"

namespace sluice::test {
namespace {

constexpr std::int64_t kWeek = 7 * 86400;

std::string element(const std::string& text, const std::string& tag) {
    return part_of(text, "<" + tag + ">", "</" + tag + ">");
}
double number(const std::string& text, const std::string& tag) {
    const std::string value = element(text, tag);
    return value.empty() ? 0 : std::stod(value);
}
std::int64_t integer(const std::string& text, const std::string& tag) {
    return static_cast<std::int64_t>(number(text, tag));
}

/// Everything from `from` up to and including `to`, taken out of `text`.
std::string without(std::string text, const std::string& from, const std::string& to) {
    const auto begin = text.find(from);
    const auto end = begin == std::string::npos ? begin : text.find(to, begin);
    if (end == std::string::npos) throw std::runtime_error("a captured document without " + from + " … " + to);
    const auto kept = begin + from.size();
    return text.erase(kept, end + to.size() - kept);
}

struct Documents {
    std::vector<std::string> apps, versions, workunits, results;
};

/// The work of a reply, document by document, each with the <file_info> elements before it.
Documents documents_of(const std::string& reply) {
    std::size_t at = 0;
    for (const char* end : {"</team_name>\n", "</result_ack>\n", "</result_abort>\n"})
        if (const auto found = reply.rfind(end); found != std::string::npos)
            at = std::max(at, found + std::string_view(end).size());
    Documents d;
    const std::pair<std::string, std::vector<std::string>*> kinds[] = {{"</app>\n", &d.apps},
                                                                       {"</app_version>\n", &d.versions},
                                                                       {"</workunit>\n", &d.workunits},
                                                                       {"</result>\n", &d.results}};
    for (;;) {
        std::size_t next = std::string::npos;
        const auto* kind = &kinds[0];
        for (const auto& k : kinds)
            if (const auto end = reply.find(k.first, at); end != std::string::npos && end + k.first.size() < next) {
                next = end + k.first.size();
                kind = &k;
            }
        if (next == std::string::npos) return d;
        kind->second->push_back(reply.substr(at, next - at));
        at = next;
    }
}

Id app_id(const std::string& name) { return name == "gpu" ? 2 : 1; }

}  // namespace

std::vector<std::string> parts_of(const std::string& text, const std::string& open, const std::string& close) {
    std::vector<std::string> parts;
    for (auto at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
        at += open.size();
        const auto end = text.find(close, at);
        if (end == std::string::npos) break;
        parts.push_back(text.substr(at, end - at));
    }
    return parts;
}
std::string part_of(const std::string& text, const std::string& open, const std::string& close) {
    const auto parts = parts_of(text, open, close);
    return parts.empty() ? "" : parts.front();
}

CapturedProject::CapturedProject(const std::string& name)
    : world(
          "<msg_to_host>1</msg_to_host><send_result_abort>1</send_result_abort>"
          "<resend_lost_results>1</resend_lost_results><min_sendwork_interval>6</min_sendwork_interval>"),
      request(capture(name + ".request")),
      reply(capture(name + ".reply")),
      hostid_(integer(request, "hostid")) {
    // When it was: a new host is as old as its reply, a job's time of one week begins with it.
    now = integer(reply, "host_create_time");
    if (hostid_ != 0) now += 3000;
    if (reply.find("<report_deadline>") != std::string::npos) now = integer(reply, "report_deadline") - kWeek;
    if (now > 0) world.clock.set(static_cast<double>(now));
    options();
    versions();
    account();
    host();
    jobs();
    // Half-way between 0 and 1, and a multiple of all numbers up to 30: the scan of the array starts at its first slot.
    constexpr std::uint64_t kBits = 2329089562800u * 3960000u;
    for (int i = 0; i < 10000; ++i) world.rng.push(kBits);
}

void CapturedProject::options() {
    world.config.master_url = "http://127.0.0.1:18080/test/";
    world.config.long_name = "Upstream Test";
    world.files().write("keys/code_sign_public",
                        element(capture("01_client_attach_first_contact.reply"), "code_sign_key"));
    world.files().write("gui_urls.xml", kCapturedGuiUrls);
    world.reload_files();
}

void CapturedProject::versions() {
    FakeDb& db = world.db;
    db.apps[2] = db.apps[1];
    db.apps[2].id = 2;
    db.apps[2].name = "gpu";
    db.apps[2].user_friendly_name = "GPU app";
    db.platforms.clear();
    db.platforms[1] = {1, "anonymous", "anonymous", false};
    db.versions.clear();
    std::map<std::string, Id> platforms;
    std::set<std::string> known;
    for (const std::string& name : capture_names("reply")) {
        if (name.starts_with("7")) continue;  // another server's
        for (const std::string& text : documents_of(capture(name)).versions) {
            AppVersion v;
            v.version_num = static_cast<int>(integer(text, "version_num"));
            v.plan_class = element(text, "plan_class");
            v.appid = app_id(element(text, "app_name"));
            const std::string platform = element(text, "platform");
            v.xml_doc = text.substr(0, text.find("    <platform>")) + "</app_version>\n";
            if (!known.insert(platform + " " + v.plan_class + v.xml_doc).second) continue;
            if (!platforms.contains(platform)) {
                const Id id = db.platforms.next_key();
                db.platforms[id] = {id, platform, platform, false};
                platforms[platform] = id;
            }
            v.platformid = platforms[platform];
            v.id = db.versions.next_key();
            db.versions[v.id] = v;
        }
    }
    AppVersion ati = db.versions.begin()->second;  // no capture shows it, but its client is told that there is one
    ati.id = db.versions.next_key();
    ati.plan_class = "opencl_ati_101";
    db.versions[ati.id] = ati;
    world.reload_tables();
}

void CapturedProject::account() {
    User& alice = world.db.users[1];
    alice.email_addr = "a@example.com";
    alice.passwd_hash = "x";
    alice.create_time = 1795226623;
    alice.cross_project_id = "aaaabbbbccccddddeeeeffff00001111";
    alice.total_credit = number(reply, "user_total_credit");
    alice.expavg_credit = number(reply, "user_expavg_credit");
    for (const auto& [tag, prefs] : {std::pair{"global_preferences", &alice.global_prefs},
                                     std::pair{"project_preferences", &alice.project_prefs}}) {
        const std::string open = fmt::format("<{}>\n", tag), close = fmt::format("</{}>\n", tag);
        if (reply.find(open) != std::string::npos) *prefs = open + part_of(reply, open, close) + close;
    }
    for (const std::string& text : parts_of(reply, "<trickle_down>", "</trickle_down>"))
        world.db.to_host[1] = {1, hostid_, now - 10, "", "<trickle_down>" + text + "</trickle_down>", false};
}

void CapturedProject::host() {
    Host h;
    const std::int64_t created = integer(reply, "host_create_time");
    const std::string announced = element(reply, "hostid");
    if (!announced.empty()) {  // made by this request: the one before it is another user's
        world.add_user("bob", "bobs_key");
        h.id = std::stoll(announced) - 1;
        h.userid = 2;
    } else {
        h.id = hostid_;
        h.userid = 1;
        h.create_time = created;
        h.total_credit = number(reply, "host_total_credit");
        h.expavg_credit = number(reply, "host_expavg_credit");
        h.rpc_seqno = integer(request, "rpc_seqno");
        h.rpc_time = now - 100;
    }
    if (h.id > 0) world.db.hosts[h.id] = h;
    if (announced.empty() || created >= now) return;
    // The machine had asked before, without getting a job, and was found again.
    world.clock.set(static_cast<double>(created));
    world.send(request);
    world.clock.set(static_cast<double>(now));
}

void CapturedProject::jobs() {
    const Documents d = documents_of(reply);
    FakeDb& db = world.db;
    const Id jobs = static_cast<Id>(d.results.size());
    for (Id i = 0; i < jobs; ++i) {
        const auto n = static_cast<std::size_t>(i);
        std::string text = d.workunits.at(n);
        text.erase(0, text.find_first_not_of('\n'));
        Workunit w = a_workunit(i + 1, now - 100);
        w.name = element(text.substr(text.find("<workunit>")), "name");
        w.appid = app_id(element(text, "app_name"));
        w.rsc_fpops_est = number(text, "rsc_fpops_est");
        w.rsc_fpops_bound = number(text, "rsc_fpops_bound");
        w.rsc_memory_bound = number(text, "rsc_memory_bound");
        w.rsc_disk_bound = number(text, "rsc_disk_bound");
        w.xml_doc = without(text, "<workunit>\n", "</app_name>\n");
        w.xml_doc.pop_back();
        db.workunits[w.id] = w;
        const std::string& result = d.results[n];
        Result r = a_result(w.id, w, 0);
        r.name = part_of(result, "</wu_name>\n<name>", "</name>");
        const std::string rest = without(result, "<result>\n", "</name>\n");
        r.xml_doc_in = rest.substr(0, rest.find("\n    <platform>")) + "</result>";
        if (reply.find("Resent lost task " + r.name + "<") != std::string::npos) {
            r.id = jobs - i;  // the newest comes first
            r.server_state = ServerState::kInProgress;
            r.hostid = hostid_;
            r.userid = 1;
            r.sent_time = now - 10;
            r.report_deadline = now + kWeek;
            r.app_version_id = 1;
        } else {
            world.pool.slots.push_back(
                {summary_of_rows(w, r), {w.name, w.xml_doc, w.keywords, r.name}, SlotState::kPresent});
        }
        db.results[r.id] = r;
    }
    for (const char* list : {"result", "other_result"})
        for (const std::string& known : parts_of(request, fmt::format("<{}>\n", list), fmt::format("</{}>", list)))
            in_progress(element(known, "name"));
}

Result& CapturedProject::in_progress(const std::string& name) {
    Result& r = world.add_in_progress(hostid_);
    r.name = name;
    return r;
}

void CapturedProject::add_more_jobs(int n, Id app) {
    for (int i = 0; i < n; ++i)
        world.add_job([&](Workunit& w) {
            w.appid = app;
            if (!world.db.workunits.empty()) w.rsc_fpops_est = world.db.workunits.begin()->second.rsc_fpops_est;
            w.rsc_disk_bound = 1e8;  // as the captured ones
        });
}

std::string CapturedProject::answer(Database* db) {
    std::optional<MysqlRpcStores> stores;
    if (db != nullptr) {
        truncate_all_tables(*db);
        store_rows(*db, world.db);
        stores.emplace(*db);
        world.real_stores.emplace(stores->stores());
    }
    const std::string out = world.send(request).text();
    world.real_stores.reset();
    if (db != nullptr) world.db = load_rows(*db);
    return out;
}

}  // namespace sluice::test
