#pragma once
#include <algorithm>
#include <map>
#include <set>

#include "sluice/db/feeder_store.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

/// FeederStore over the maps of a FakeDb.
class FakeFeederStore final : public FeederStore {
  public:
    explicit FakeFeederStore(FakeDb& db) : db_(db) {}
    /// FakeDb has no user_submit rows.
    std::map<Id, double> quota_of;
    /// Rows that unsent_page() gave since the test last looked.
    std::size_t rows_read = 0;

    std::vector<UnsentRow> unsent_page(const UnsentFilter& filter, WalkOrder order, const WalkPosition& from,
                                       int limit) override {
        db_.enter("feeder.unsent_page");
        const auto behind = [&](const UnsentRow& a, std::int64_t priority, Id id) {
            if (order != WalkOrder::kById && a.priority != priority)
                return order == WalkOrder::kPriorityDown ? a.priority < priority : a.priority > priority;
            return a.id > id;
        };
        std::vector<UnsentRow> rows;
        for (const auto& [id, r] : db_.results) {
            if (r.server_state != ServerState::kUnsent || !matches(filter, r)) continue;
            UnsentRow row{id, r.workunitid, r.appid, r.batch, r.priority, r.random, 0};
            const auto wu = db_.workunits.find(r.workunitid);
            if (filter.with_hr_class && wu == db_.workunits.end()) continue;
            if (filter.with_hr_class) row.hr_class = wu->second.hr_class;
            if (!from.begun || behind(row, from.priority, from.id)) rows.push_back(row);
        }
        std::sort(rows.begin(), rows.end(),
                  [&](const UnsentRow& a, const UnsentRow& b) { return behind(b, a.priority, a.id); });
        if (static_cast<int>(rows.size()) > limit) rows.resize(static_cast<std::size_t>(limit));
        rows_read += rows.size();
        return rows;
    }

    std::vector<UnsentJob> load(std::span<const Id> results) override {
        db_.enter("feeder.load");
        std::vector<UnsentJob> jobs;
        for (const Id id : std::set<Id>(results.begin(), results.end())) {
            const auto r = db_.results.find(id);
            if (r == db_.results.end()) continue;
            const auto w = db_.workunits.find(r->second.workunitid);
            if (w == db_.workunits.end()) continue;
            UnsentJob& job = jobs.emplace_back();
            job.workunit = w->second;
            job.result.id = id, job.result.name = r->second.name, job.result.priority = r->second.priority;
            job.result.report_deadline = r->second.report_deadline, job.result.server_state = r->second.server_state;
            job.result.create_time = r->second.create_time;
            job.result.workunitid = w->first, job.result.appid = w->second.appid;
        }
        return jobs;
    }

    std::vector<JobState> look_at(std::span<const Id> results) override {
        db_.enter("feeder.look_at");
        std::vector<JobState> states;
        for (const Id id : std::set<Id>(results.begin(), results.end())) {
            const auto r = db_.results.find(id);
            if (r == db_.results.end()) continue;
            const auto w = db_.workunits.find(r->second.workunitid);
            if (w == db_.workunits.end()) continue;
            states.push_back({id, r->second.server_state, r->second.priority, w->second.priority, w->second.hr_class,
                              w->second.error_mask, w->second.size_class, w->second.app_version_id,
                              w->second.canonical_resultid, w->second.transitioner_flags});
        }
        return states;
    }

    std::int64_t mark_didnt_need(std::span<const Id> results, std::int64_t now) override {
        db_.enter("feeder.mark_didnt_need");
        std::int64_t marked = 0;
        for (const Id id : results) {
            const auto r = db_.results.find(id);
            if (r == db_.results.end() || r->second.server_state != ServerState::kUnsent) continue;
            r->second.server_state = ServerState::kOver;
            r->second.outcome = Outcome::kDidntNeed;
            if (const auto w = db_.workunits.find(r->second.workunitid); w != db_.workunits.end())
                w->second.transition_time = std::min(w->second.transition_time, now);
            ++marked;
        }
        return marked;
    }

    std::int64_t release_hr_class(std::span<const Id> workunits, std::int64_t now, bool extra_instance) override {
        db_.enter("feeder.release_hr_class");
        std::int64_t released = 0;
        for (const Id id : workunits) {
            const auto w = db_.workunits.find(id);
            if (w == db_.workunits.end() || w->second.hr_class == 0) continue;
            if (!extra_instance && is_bound(id)) continue;
            w->second.hr_class = 0;
            w->second.transition_time = now;
            if (extra_instance) ++w->second.target_nresults;
            ++released;
        }
        return released;
    }

    std::vector<Submitter> submitters(std::span<const Id> users) override {
        db_.enter("feeder.submitters");
        std::vector<Submitter> found;
        for (const Id id : std::set<Id>(users.begin(), users.end()))
            if (db_.users.count(id) != 0 && quota_of.count(id) != 0) found.push_back({id, quota_of.at(id)});
        return found;
    }

    std::vector<std::pair<Id, Id>> batch_owners(std::span<const Id> batches) override {
        db_.enter("feeder.batch_owners");
        std::vector<std::pair<Id, Id>> found;
        for (const Id id : std::set<Id>(batches.begin(), batches.end()))
            if (const auto b = db_.batches.find(id); b != db_.batches.end()) found.emplace_back(id, b->second.user_id);
        return found;
    }

    std::optional<HostFit> hosts_that_fit(double memory, double disk, std::int64_t heard_since) override {
        db_.enter("feeder.hosts_that_fit");
        HostFit fit;
        std::vector<Host> hosts;
        for (const auto& [id, h] : db_.hosts) hosts.push_back(h);
        std::stable_sort(hosts.begin(), hosts.end(),
                         [](const Host& a, const Host& b) { return a.expavg_credit > b.expavg_credit; });
        hosts.resize(std::min<std::size_t>(hosts.size(), kHostsLookedAt));
        for (const Host& h : hosts) {
            if (h.rpc_time < heard_since) continue;
            const bool m = h.m_nbytes >= memory, d = h.d_free >= disk;
            ++fit.hosts, fit.enough_memory += m, fit.enough_disk += d, fit.both += m && d;
        }
        return fit;
    }

  private:
    static bool matches(const UnsentFilter& f, const Result& r) {
        if (!f.appids.empty() && std::find(f.appids.begin(), f.appids.end(), r.appid) == f.appids.end()) return false;
        if (!f.part.has(r.id) && r.create_time >= f.others_before) return false;
        if (f.share.n > 0 && r.id % f.share.n != f.share.i) return false;
        return f.workunit_share.n <= 0 || r.workunitid % f.workunit_share.n == f.workunit_share.i;
    }
    bool is_bound(Id workunit) const {
        return std::any_of(db_.results.begin(), db_.results.end(), [&](const auto& entry) {
            const Result& r = entry.second;
            return r.workunitid == workunit &&
                   (r.server_state == ServerState::kInProgress ||
                    (r.server_state == ServerState::kOver && r.outcome == Outcome::kSuccess));
        });
    }
    FakeDb& db_;
};

}  // namespace sluice::test
