// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a request to a whole project (on fakes of the stores, tests/db/rpc_stores): exactly one reply; a job is
// in it if and only if the database has it in progress on that host; no claim is left; nothing of another account
// changes; what is stored fits its columns.
#include <cmath>
#include <cstdint>

#include "sluice/base/hash.h"
#include "sluice/base/log.h"
#include "tests/fuzz/rpc/require.h"
#include "tests/support/project_rows.h"
#include "tests/support/rpc_world.h"

namespace {

using namespace sluice;
using namespace sluice::test;

constexpr Id kAlice = 1, kBob = 2, kBobsHost = 2;
const char kBobsKey[] = "ba987654321000000000000000000bob";
/// Jobs and hosts that the captured requests name.
constexpr Id kNamedHosts[] = {1, 13, 26};
const char* const kNamedJobs[] = {"first_1795226726995219247_1_0", "first_1795226727006776187_2_0",
                                  "fail_1795226858864108818_1_0",  "long_1795226913546255820_1_0",
                                  "long_1795226913557610530_2_0",  "lost_1795226990480178378_1_0"};

class Project {
  public:
    Project(const std::string& options, int compat_level) : world_(options, compat_level) {
        tables();
        accounts();
        jobs();
        world_.reload_tables();
        rows_ = world_.db;
        slots_ = world_.pool.slots;
    }
    void handle(const std::string& request) {
        world_.db = rows_;
        world_.pool.slots = slots_;
        world_.rng = FixedRng(5);
        const ReplyText reply = world_.send(request);
        REQUIRE(reply.malformed().empty());
        REQUIRE(world_.pool.held.empty());
        check_jobs(reply);
        check_bob();
        check_rows();
    }

  private:
    void tables() {
        FakeDb& db = world_.db;
        for (const char* name : {"windows_intelx86", "windows_x86_64", "arm64-apple-darwin", "arm-android-linux-gnu"}) {
            const Id id = db.platforms.next_key();
            db.platforms[id] = {id, name, name, false};
        }
        for (Id id : {2, 3, 4}) db.apps[id] = db.apps[1], db.apps[id].id = id;
        db.apps[2].name = db.apps[2].user_friendly_name = "gpu";
        db.apps[2].homogeneous_redundancy = HrType::kFine;
        db.apps[3].name = "nci";
        db.apps[3].non_cpu_intensive = true;
        db.apps[4].name = "two";
        db.apps[4].homogeneous_app_version = true;
        db.apps[4].target_nresults = 2;
        AppVersion v = db.versions[1];
        for (const auto& [platform, unused] : db.platforms)
            for (const Id app : {1, 2, 3, 4})
                for (const char* plan_class :
                     {"", "mt", "cuda", "opencl_nvidia_101", "opencl_apple_gpu_101", "vbox64"}) {
                    if (platform == 2 || (app != 2 && *plan_class != 0)) continue;
                    v.id = db.versions.next_key();
                    v.platformid = platform;
                    v.appid = app;
                    v.plan_class = plan_class;
                    db.versions[v.id] = v;
                }
    }
    void accounts() {
        world_.add_user("bob", kBobsKey);
        world_.db.users[kAlice].passwd_hash = "x";
        world_.db.users[kAlice].project_prefs = "<project_preferences><max_jobs>20</max_jobs></project_preferences>";
        Host h;
        h.rpc_time = world_.clock.now_sec() - 90000;
        h.p_ncpus = 2;
        h.m_nbytes = 8e9;
        h.d_free = h.d_total = 1e11;
        const auto add = [&](Id id, Id user, std::int64_t seqno) {
            h.id = id;
            h.userid = user;
            h.rpc_seqno = seqno;
            world_.db.hosts[id] = h;
        };
        for (const Id id : kNamedHosts) add(id, kAlice, 0);
        add(kBobsHost, kBob, 0);
        add(7, 0, 13);  // merged into 13
        add(8, 0, 8);   // merged into itself
        world_.db.host_app_versions[{1, 1}] = {1, 1, 0, 0, {}, 100, 3, {}, 5};
        world_.db.to_host[1] = {1, 1, 5, "v", "<trickle_down>hello</trickle_down>", false};
    }
    void jobs() {
        for (int i = 0; i < 12; ++i)
            world_.add_job([&](Workunit& w) {
                w.appid = 1 + i % 4;
                if (i % 3 == 0) w.target_nresults = 2;
                w.keywords = i % 2 == 0 ? "1 2" : "";
            });
        for (const char* name : kNamedJobs) world_.add_in_progress(1).name = name;
        world_.add_in_progress(13);
        for (int i = 0; i < 2; ++i) world_.add_in_progress(kBobsHost, kBob);
        for (Id id : {1, 2}) {  // a targeted and a broadcast job
            const Workunit w = a_workunit(world_.db.workunits.next_key(), world_.clock.now_sec());
            world_.db.workunits[w.id] = w;
            Assignment a;
            a.id = id;
            a.target_type = id == 1 ? AssignTarget::kHost : AssignTarget::kNone;
            a.target_id = id == 1 ? 26 : 0;
            a.multi = id == 2;
            a.workunitid = w.id;
            world_.db.assignments[id] = a;
        }
    }

    void check_jobs(const ReplyText& reply) {
        std::set<std::string> sent;
        for (const std::string& name : reply.result_names()) REQUIRE(sent.insert(name).second);
        for (const auto& [id, r] : world_.db.results) {
            const auto before = rows_.results.find(id);
            const bool was = before != rows_.results.end() && before->second.server_state == ServerState::kInProgress;
            const bool is = r.server_state == ServerState::kInProgress;
            if (sent.erase(r.name) > 0)
                REQUIRE(is && r.hostid != 0 && world_.db.hosts.at(r.hostid).userid == kAlice);
            else
                REQUIRE(!is || was);
        }
        REQUIRE(sent.empty());
    }
    void check_bob() {
        for (const auto& [id, before] : rows_.results) {
            if (before.userid != kBob) continue;
            const Result& r = world_.db.results.at(id);
            REQUIRE(r.server_state == before.server_state && r.hostid == before.hostid && r.stderr_out.empty());
            REQUIRE(r.report_deadline == before.report_deadline);
        }
        const Host& host = world_.db.hosts.at(kBobsHost);
        REQUIRE(host.userid == kBob && host.rpc_time == rows_.hosts.at(kBobsHost).rpc_time && host.misc.empty());
        REQUIRE(world_.db.users.at(kBob).global_prefs.empty());
    }
    void check_rows() {
        for (const auto& [id, h] : world_.db.hosts) {
            for (const double x :
                 {h.p_fpops, h.m_nbytes, h.d_total, h.d_free, h.on_frac, h.active_frac, h.gpu_active_frac,
                  h.connected_frac, h.duration_correction_factor, h.n_bwup, h.d_boinc_max, h.p_gpu_fpops})
                REQUIRE(std::isfinite(x));
            for (const std::string* s : {&h.domain_name, &h.last_ip_addr, &h.host_cpid, &h.p_vendor, &h.p_model,
                                         &h.os_name, &h.os_version, &h.product_name, &h.external_ip_addr})
                REQUIRE(s->size() <= 254);
            REQUIRE(h.misc.size() <= 65535);
        }
        for (const auto& [id, m] : world_.db.from_host) REQUIRE(m.variety.size() <= 254 && m.xml.size() <= 262143);
        for (const auto& [id, v] : world_.db.host_app_versions) REQUIRE(v.n_jobs_today >= 0 && v.max_jobs_per_day >= 0);
    }

    RpcWorld world_;
    FakeDb rows_;
    std::vector<MemoryRpcPool::Slot> slots_;
};

const char kEverything[] =
    "<msg_to_host>1</msg_to_host><send_result_abort>1</send_result_abort><resend_lost_results>1</resend_lost_results>"
    "<enable_assignment>1</enable_assignment><enable_assignment_multi>1</enable_assignment_multi>"
    "<one_result_per_user_per_wu>1</one_result_per_user_per_wu><workload_sim>1</workload_sim>"
    "<keyword_sched>1</keyword_sched><report_max>20</report_max><debug_send>1</debug_send>"
    "<debug_send_job>1</debug_send_job><debug_handle_results>1</debug_handle_results><debug_prefs>1</debug_prefs>"
    "<debug_resend>1</debug_resend><debug_quota>1</debug_quota><debug_version_select>1</debug_version_select>"
    "<debug_keyword>1</debug_keyword><debug_edf_sim_detail>1</debug_edf_sim_detail>"
    "<debug_edf_sim_workload>1</debug_edf_sim_workload><debug_client_files>1</debug_client_files>"
    "<debug_request_details>1</debug_request_details><debug_user_messages>1</debug_user_messages>"
    "<request_time_stats_log>1</request_time_stats_log>";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const bool quiet = (log_open({.file = "/dev/null", .level = LogLevel::kDebug}), true);
    static Project upstreams("", 0), ours(kEverything, 1);
    const std::string request(reinterpret_cast<const char*>(data), size);
    // Who knows Bob's key is Bob; the fuzzer sees comparisons and would find it.
    static const std::string weak = "2_" + md5_hex(kBobsKey);
    if (!quiet || request.find(kBobsKey) != request.npos || request.find(weak) != request.npos) return 0;
    upstreams.handle(request);
    ours.handle(request);
    return 0;
}
