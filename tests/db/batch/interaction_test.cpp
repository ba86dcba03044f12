// SPDX-License-Identifier: LGPL-3.0-or-later
// Size classes, batch acceleration, logical end times, HR and --allapps switched on together, in all pairs and all at
// once: none changes what another guarantees. The real daemons run in random order on random data, and the real
// scheduler answers; hosts are played here. HR is upstream's: the workunit is committed to one class, and slots are
// shared among the classes by what census found.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <random>
#include <set>

#include "sluice/base/signing.h"
#include "sluice/shmem/scheduler_array.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/db/batch/interaction_cases.h"
#include "tests/support/paths.h"
#include "tests/support/project_rows.h"
#include "tests/support/segment_files.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

constexpr int kLow = 3, kHigh = 7, kSlots = 25, kHosts = 12;

class Interaction : public BatchFixture, public testing::WithParamInterface<Case> {
  protected:
    Interaction() : random_(seed()) {
        const Case& p = GetParam();
        key_ = 0x5eed0000 + (::getpid() & 0xffff);
        config(
            "<upload_url>http://x/fuh</upload_url><dont_generate_upload_certificates>1</dont_generate_upload_certificates>"
            "<daily_result_quota>100</daily_result_quota><min_sendwork_interval>0</min_sendwork_interval><shmem_work_items>" +
                std::to_string(kSlots) + "</shmem_work_items>" +
                (p.has(kHr)
                     ? "<homogeneous_redundancy>1</homogeneous_redundancy><hr_allocate_slots>1</hr_allocate_slots>"
                     : "") +
                (p.has(kSizes) ? "<size_classes>1</size_classes>" : "") +
                (p.has(kAccel) ? "<batch_accel>1</batch_accel>" : ""),
            p.level);
        // The fixture's own key may be in use by another test.
        std::string text = *read_file_text("config.xml");
        text.replace(text.find("0x1<"), 3, std::to_string(key_));
        project.write("config.xml", text);
        project.write("templates/out", "<file_info><name><OUTFILE_0/></name></file_info><result>\n</result>");
        const KeyPairText keys = generate_key_pair();
        project.write("keys/code_sign_public", keys.public_key);
        std::filesystem::create_directories(project / "cgi-bin");
    }
    ~Interaction() override { remove_segment_files(name()); }
    static unsigned seed() {
        unsigned n = static_cast<unsigned>(GetParam().level);
        for (const Feature f : GetParam().on) n = 10 * n + static_cast<unsigned>(f);
        return n;
    }
    std::optional<std::string> read_file_text(const char* file) const {
        std::ifstream in(project / file);
        return std::string{std::istreambuf_iterator<char>(in), {}};
    }
    JobArrayName name() const { return job_array_name(key_, std::filesystem::canonical(project.path())); }
    int roll(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    void fill() {
        const Case& p = GetParam();
        const FakeDb small = small_project();
        world.platforms = small.platforms;
        world.users = small.users;
        app(1, p.has(kSizes) ? 3 : 0);
        app(2, p.has(kAccel) ? 1 : 0);
        app(3, p.has(kSizes) && p.has(kAccel) ? 3 : 0);
        for (auto& [id, a] : world.apps) {
            a.weight = p.has(kAllApps) ? static_cast<double>(Id{1} << (id - 1)) : 1;
            AppVersion v = small.versions.at(1);
            v.id = 6 + id;
            v.appid = id;
            world.versions[v.id] = v;
        }
        for (Id id = 1; id <= kHosts; ++id) machine(id);
        for (Id b = 1; b <= 4; ++b) {
            batch(b, 1 + b % 3);
            for (int i = 0; i < 24; ++i) add_job(b);
        }
        for (int i = 0; i < 20; ++i) add_job(0);
        store();
        // A good part is done already: there are medians, and batches that are almost complete.
        run_ok({"transitioner", "--one_pass"});
        db.execute(Sql("UPDATE result SET server_state=4, hostid=1+id%12, sent_time=")
                   << now - 6000 << Sql(", report_deadline=") << now + 90000 << Sql(" WHERE batch<>0 AND id%8<>0"));
        if (p.has(kHr)) {
            db.execute(Sql(
                "UPDATE workunit w JOIN result r ON r.workunitid=w.id SET w.hr_class=CASE r.hostid%3 WHEN 0 THEN 277 "
                "WHEN 1 THEN 392 ELSE 516 END WHERE r.server_state=4"));
            run_ok({"census"});
        }
        for (int i = 0; i < 60; ++i) report();
    }
    void machine(Id id) {
        Host& h = host(id);
        const Kind& kind = kind_of(id);
        h.os_name = kind.os, h.p_vendor = kind.vendor, h.p_model = kind.model;
        h.expavg_credit = kind.credit;
        h.domain_name = fmt::format("host{}", id);
        h.p_ncpus = 4;
        h.create_time = now - 86400 * 30;
    }
    void add_job(Id batch_id) {
        Workunit& wu = job(batch_id);
        wu.appid = batch_id == 0 ? 1 + roll(3) : world.batches[batch_id].app_id;
        wu.transition_time = now - 100;
        wu.result_template_file = "templates/out";
        wu.xml_doc = "<workunit>\n</workunit>\n";
        wu.rsc_fpops_bound = 1e17, wu.rsc_memory_bound = 1e7, wu.rsc_disk_bound = 1e7;
        wu.delay_bound = 86400;
        wu.max_error_results = 20;
        wu.max_total_results = 2 + roll(12);
        wu.max_success_results = 20;
        if (world.apps[wu.appid].size_classes() > 0) wu.size_class = roll(3);
        if (GetParam().has(kLet)) wu.priority = roll(2) == 0 ? -1790000000 - roll(10000) : roll(3) * 4;
        submitted_[wu.id] = wu.priority;
    }

    // Steps
    // ------------------------------------------------------------------------------------------------------------
    void feed() {
        std::vector<std::string> args{"feeder", "--one_pass"};
        if (GetParam().has(kAllApps)) args.emplace_back("--allapps");
        if (GetParam().has(kAccel)) args.emplace_back("--batch_accel");
        run_ok(args);
        check_array();
    }
    std::string request(Id id, int seconds) {
        std::string text = work_request(id, ++seqno_[id], seconds, "", 4, fmt::format("host{}", id));
        const Kind& kind = kind_of(id);
        for (const auto& [from, to] : {std::pair{"<os_name>Linux<", fmt::format("<os_name>{}<", kind.os)},
                                       {"<p_vendor>GenuineIntel<", fmt::format("<p_vendor>{}<", kind.vendor)},
                                       {"<p_model>Xeon<", fmt::format("<p_model>{}<", kind.model)}})
            text.replace(text.find(from), std::string(from).size(), to);
        return text;
    }
    /// So many of a hundred hosts ask for work, each for one to four jobs of a thousand seconds.
    void send(int percent) {
        RunOptions o;
        o.unset = {"BOINC_PROJECT_DIR", "REQUEST_METHOD", "GATEWAY_INTERFACE"};
        o.cwd = project / "cgi-bin";
        std::size_t asked = 0;
        const Id first = roll(kHosts);
        for (Id i = 0; i < kHosts; ++i) {
            if (roll(100) >= percent) continue;
            o.stdin_text += request(1 + (first + i) % kHosts, 1000 * (1 + roll(4)));
            ++asked;
        }
        if (asked == 0) return;
        const RunResult r = run({binary_dir() + "/cgi-bin/cgi", "--batch"}, o);
        ASSERT_EQ(r.status, 0) << r.err;
        const auto replies = elements(r.out, "scheduler_reply");
        EXPECT_EQ(replies.size(), asked);
        for (const std::string& reply : replies) {
            EXPECT_EQ(reply.find("project_is_down"), std::string::npos) << reply;
            sent_ += elements(reply, "result").size();
        }
    }
    /// One job in progress comes back; one in ten failed.
    bool report(bool always_good = false) {
        Rows r = db.query(Sql("SELECT id, workunitid FROM result WHERE server_state=4 ORDER BY RAND(")
                          << roll(1 << 20) << Sql(") LIMIT 1"));
        if (!r.next()) return false;
        const Id id = r.i64(0), wu = r.i64(1);
        const bool good = always_good || roll(10) != 0;
        Sql sql("UPDATE result SET server_state=5, outcome=");
        db.execute(sql << (good ? 1 : 3) << ", validate_state=" << (good ? 1 : 2)
                       << ", received_time=" << std::time(nullptr) << " WHERE id=" << id);
        Sql touch("UPDATE workunit SET transition_time=1, canonical_resultid=IF(canonical_resultid=0,");
        db.execute(touch << (good ? id : 0) << ",canonical_resultid) WHERE id=" << wu);
        if (good) db.execute(Sql("UPDATE workunit SET assimilate_state=2 WHERE canonical_resultid<>0"));
        return true;
    }
    void time_passes(int seconds) {
        for (const SqlLiteral column :
             {SqlLiteral("sent_time"), SqlLiteral("received_time"), SqlLiteral("report_deadline")}) {
            Sql sql("UPDATE result SET ");
            db.execute(sql << column << "=" << column << "-" << seconds << " WHERE " << column << ">" << seconds);
        }
        Sql sql("UPDATE workunit SET transition_time=transition_time-");
        db.execute(sql << seconds << " WHERE transition_time<2147483647");
    }
    void regulate() {
        for (const char* name : {"app1", "app3"}) {
            Sql sql("SELECT n_size_classes FROM app WHERE name=");
            if (number(sql << SqlText{name}) < 2) continue;
            run_ok({"size_regulator", "--app_name", name, "--lo", std::to_string(kLow), "--hi", std::to_string(kHigh),
                    "--one_pass"});
        }
    }
    void statistics() {
        run_ok({"batch_stats", "--min_success", "5", "--min_hosts", "3"});
        check_flags();
    }
    void step() {
        switch (roll(9)) {
            case 0: regulate(); break;
            case 1: statistics(); break;
            case 2: run_ok({"batch_accel", "--no_stats"}); break;
            case 3: run_ok({"batch_upkeep", "--one_pass"}); break;
            case 4: run_ok({"transitioner", "--one_pass"}); break;
            case 5:
            case 6:
                feed();
                send(30 + roll(70));
                break;
            case 7:
                for (int i = roll(12); i >= 0; --i) report();
                break;
            case 8: time_passes(200 + roll(90000)); break;
        }
        check();
    }

    // What must hold
    // ------------------------------------------------------------------------------------------------------
    void check() {
        if (GetParam().has(kHr)) check_hr();
        EXPECT_LE(
            number(Sql(
                "SELECT IFNULL(MAX(n),0) FROM (SELECT COUNT(*) n FROM result WHERE server_state=2 AND size_class>=0 "
                "GROUP BY appid, size_class) c")),
            kHigh)
            << "no result UNSENT above the mark";
        EXPECT_EQ(
            number(Sql("SELECT COUNT(*) FROM workunit w WHERE (SELECT COUNT(*) FROM result r WHERE r.workunitid=w.id)>"
                       "w.max_total_results")),
            0)
            << "no job has more instances than allowed";
        for (const auto& row : rows(Sql("SELECT id, n_size_classes FROM app"), 2)) {
            const int before = world.apps[std::stoll(row[0])].n_size_classes, after = std::stoi(row[1]);
            EXPECT_TRUE(before > 1 ? after == before : after <= 1)
                << "app " << row[0] << ": " << before << " size classes, now " << after;
        }
        // A priority is the submitter's, or 1 with the submitter's kept aside.
        const bool tables =
            number(Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND "
                       "table_name='sluice_accel_job'")) == 1;
        std::map<Id, Id> kept;
        if (tables)
            for (const auto& row : rows(Sql("SELECT workunit_id, priority FROM sluice_accel_job WHERE marked=1"), 2))
                kept[std::stoll(row[0])] = std::stoll(row[1]);
        for (const auto& row :
             rows(Sql("SELECT id, priority, canonical_resultid, error_mask, batch FROM workunit"), 5)) {
            const Id id = std::stoll(row[0]), priority = std::stoll(row[1]);
            if (priority == submitted_[id]) {
                if (row[2] != "0" || row[3] != "0") final_.try_emplace(id, priority);
                continue;
            }
            EXPECT_EQ(priority, 1) << "workunit " << id << " of batch " << row[4];
            const bool over = row[2] != "0" || row[3] != "0";
            if (!over) {
                EXPECT_TRUE(kept.contains(id)) << "the priority of workunit " << id << " is lost";
                EXPECT_EQ(kept[id], submitted_[id]) << "workunit " << id;
                continue;
            }
            // A finished job is never rewritten.
            EXPECT_EQ(final_.try_emplace(id, priority).first->second, priority) << "workunit " << id;
        }
    }
    /// All that counts of a workunit is of one class, the one that it is committed to.
    void check_hr() {
        for (const auto& row :
             rows(Sql("SELECT w.id, w.hr_class, r.hostid FROM workunit w JOIN result r ON r.workunitid=w.id WHERE "
                      "r.server_state=4 OR (r.server_state=5 AND r.outcome=1)"),
                  3))
            EXPECT_EQ(std::stoi(row[1]), kind_of(std::stoll(row[2])).hr_class)
                << "workunit " << row[0] << ", host " << row[2];
    }
    /// Straight after the feeder filled it: with --allapps each app has its share of the slots, with
    /// <hr_allocate_slots> half of them are for what is not committed, the rest is shared by recent credit, one slot
    /// each at least.
    void check_array() {
        std::map<int, int> of_class, of_app;
        const auto array = SchedulerArray::attach(name());
        for (std::uint32_t i = 0; i < array->size(); ++i) {
            JobSummary job;
            SlotRef ref;
            if (array->read(i, job, ref) != SlotState::kPresent) continue;
            ++of_class[job.hr_class];
            ++of_app[job.app_id];
        }
        for (const auto& [id, n] : of_app)
            if (GetParam().has(kAllApps)) {
                EXPECT_LE(n, kSlots * (1 << (id - 1)) / 7 + 1) << "app " << id;
            }
        if (!GetParam().has(kHr)) return;
        EXPECT_LE(of_class[0], kSlots / 2) << "jobs of no class yet";
        double all = 0;
        for (const Kind& kind : kKinds) all += kind.credit * kHosts / 3;
        for (const Kind& kind : kKinds) {
            const double share = (kSlots - kSlots / 2) * kind.credit * kHosts / 3 / all;
            EXPECT_LE(of_class[kind.hr_class], std::max(1, static_cast<int>(share))) << kind.os;
        }
    }
    /// host.error_rate and app.n_size_classes as upstream defines them, computed the slow and obvious way.
    void check_flags() {
        if (GetParam().level != 0) return;
        const FakeDb now_there = load_rows(db);
        std::map<Id, std::pair<double, int>> hosts;
        std::map<Id, std::set<Id>> of_app;
        for (const auto& [bid, b] : now_there.batches) {
            if (b.state != BatchState::kInProgress && b.state != BatchState::kComplete) continue;
            std::vector<double> times;
            for (const auto& [rid, r] : now_there.results)
                if (r.batch == bid && r.outcome == Outcome::kSuccess)
                    times.push_back(static_cast<double>(r.received_time - r.sent_time));
            std::sort(times.begin(), times.end());
            const double median = times.size() < 5 ? 0 : times[times.size() / 2];
            EXPECT_EQ(b.expire_time, median) << "batch " << bid;
            if (median == 0) continue;
            for (const auto& [rid, r] : now_there.results) {
                if (r.batch != bid) continue;
                const bool good = r.outcome == Outcome::kSuccess;
                if (!good && r.outcome != Outcome::kNoReply) continue;
                hosts[r.hostid].first += good ? static_cast<double>(r.received_time - r.sent_time) / median : 10;
                ++hosts[r.hostid].second;
                if (good) of_app[b.app_id].insert(r.hostid);
            }
        }
        const auto ltt = [&](Id id) { return hosts.contains(id) && hosts[id].first / hosts[id].second < 1; };
        for (const auto& [id, h] : now_there.hosts) EXPECT_EQ(h.error_rate, ltt(id) ? 1 : 0) << "host " << id;
        for (const auto& [id, a] : now_there.apps) {
            if (a.n_size_classes > 1) continue;
            const auto fast = std::count_if(of_app[id].begin(), of_app[id].end(), ltt);
            const bool accelerable =
                of_app[id].size() > 3 && static_cast<double>(fast) > 0.25 * static_cast<double>(of_app[id].size());
            EXPECT_EQ(a.n_size_classes, accelerable ? 1 : 0) << "app " << id;
        }
    }
    /// Whatever was done before: with all daemons running, every job gets its turn.
    void drain() {
        // At level 0 a job of high priority waits for hosts of low turnaround for ever, as upstream's does; at level 1
        // so does what is sent once more, for six hours, which don't pass here.
        if (GetParam().has(kAccel) || GetParam().level == 1) db.execute(Sql("UPDATE host SET error_rate=1"));
        for (int round = 0; round < 80; ++round) {
            const auto open = number(Sql("SELECT COUNT(*) FROM workunit WHERE canonical_resultid=0 AND error_mask=0"));
            if (open == 0) return;
            run_ok({"transitioner", "--one_pass"});
            regulate();
            if (GetParam().has(kAccel)) run_ok({"batch_accel", "--no_stats"});
            feed();
            send(100);
            while (report(true)) {
            }
        }
        const std::string job = text(Sql("SELECT MAX(id) FROM result WHERE server_state=2"));
        ADD_FAILURE()
            << "host 1: " << run_ok({"sched_explain", "--host", "1", "--job", job}) << "jobs are unreachable: "
            << testing::PrintToString(rows(
                   Sql("SELECT w.id, w.appid, w.size_class, w.priority, w.hr_class, r.id, r.server_state, r.outcome FROM workunit w LEFT JOIN result r ON r.workunitid=w.id "
                       "WHERE w.canonical_resultid=0 AND w.error_mask=0 LIMIT 20"),
                   8));
    }

    std::mt19937 random_;
    std::int64_t key_ = 0;
    std::map<Id, int> seqno_;
    std::size_t sent_ = 0;        ///< by the scheduler
    std::map<Id, Id> submitted_;  ///< workunit -> priority that its submitter wanted
    std::map<Id, Id> final_;      ///< … that it had when it was done
};

TEST_P(Interaction, NoneChangesWhatAnotherGuarantees) {
    fill();
    check();
    for (int i = 0; i < 25 && !HasFailure(); ++i) step();
    // Nothing is accelerable any more: what submitters wanted is back for every open job.
    if (GetParam().has(kAccel) && !GetParam().has(kSizes)) {
        db.execute(Sql("UPDATE app SET n_size_classes=0 WHERE n_size_classes=1"));
        run_ok({"batch_accel", "--no_stats"});
        for (const auto& row :
             rows(Sql("SELECT w.id, w.priority FROM workunit w JOIN batch b ON b.id=w.batch WHERE b.state=1 AND "
                      "w.canonical_resultid=0 AND w.error_mask=0"),
                  2))
            EXPECT_EQ(std::stoll(row[1]), submitted_[std::stoll(row[0])]) << "workunit " << row[0];
    }
    drain();
    check();
    EXPECT_GT(sent_, 20u);
    if (GetParam().has(kHr)) {
        EXPECT_GE(number(Sql("SELECT COUNT(DISTINCT w.hr_class) FROM workunit w JOIN result r ON r.workunitid=w.id "
                             "WHERE r.outcome=1 AND r.app_version_id BETWEEN 7 AND 9")),
                  2)
            << "the scheduler sent to hosts of one class only";
    }
}
INSTANTIATE_TEST_SUITE_P(Cases, Interaction, testing::ValuesIn(all_cases()),
                         [](const auto& tested) { return name_of(tested.param); });

}  // namespace
}  // namespace sluice::test
