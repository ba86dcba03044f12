// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "db/memory/memory_db.h"
#include "sluice/base/text.h"
#include "sluice/db/feeder_store.h"
#include "sluice/model/job.h"

namespace sluice {

struct Batch;
struct Host;
struct Result;
struct Workunit;

/// FeederStore over the maps of a MemoryDb.
class MemoryFeederStore final : public FeederStore {
  public:
    explicit MemoryFeederStore(MemoryDb& db) : db_(db) {}
    /// MemoryDb has no user_submit rows.
    std::map<Id, double> quota_of;
    /// Rows that unsent_page() gave since the test last looked.
    std::size_t rows_read = 0;

    std::vector<UnsentRow> unsent_page(const UnsentFilter& filter, WalkOrder order, const WalkPosition& from,
                                       int limit) override {
        db_.enter("feeder.unsent_page");
        std::vector<UnsentRow> rows;
        const auto take = [&](Id id) {
            if (const std::optional<UnsentRow> row = row_of(filter, id)) rows.push_back(*row);
            return static_cast<int>(rows.size()) < limit;
        };
        if (limit > 0) walk(order, filter, from, take);
        rows_read += rows.size();
        return rows;
    }

    std::vector<UnsentJob> load(std::span<const Id> results) override {
        db_.enter("feeder.load");
        std::vector<UnsentJob> jobs;
        for (const Id id : sorted(results)) {
            const Result* r = db_.results.get(id);
            const Workunit* w = r == nullptr ? nullptr : db_.workunits.get(r->workunitid);
            if (w == nullptr) continue;
            UnsentJob& job = jobs.emplace_back();
            job.workunit = *w;
            job.result.id = id, job.result.name = r->name, job.result.priority = r->priority;
            job.result.report_deadline = r->report_deadline, job.result.server_state = r->server_state;
            job.result.create_time = r->create_time;
            job.result.workunitid = r->workunitid, job.result.appid = w->appid;
            job.result_is_whole = is_whole(r->xml_doc_in, "result");
        }
        return jobs;
    }

    std::vector<JobState> look_at(std::span<const Id> results) override {
        db_.enter("feeder.look_at");
        std::vector<JobState> states;
        states.reserve(results.size());
        for (const Id id : sorted(results)) {
            const Result* r = db_.results.get(id);
            const Workunit* w = r == nullptr ? nullptr : db_.workunits.get(r->workunitid);
            if (w == nullptr) continue;
            states.push_back({id, r->server_state, r->priority, w->priority, w->hr_class, w->error_mask, w->size_class,
                              w->app_version_id, w->canonical_resultid, w->transitioner_flags});
        }
        return states;
    }

    std::int64_t mark_didnt_need(std::span<const Id> results, std::int64_t now) override {
        db_.enter("feeder.mark_didnt_need");
        std::int64_t marked = 0;
        for (const Id id : results) {
            const Result* there = db_.results.get(id);
            if (there == nullptr || there->server_state != ServerState::kUnsent) continue;
            db_.results.change(id, [](Result& r) {
                r.server_state = ServerState::kOver;
                r.outcome = Outcome::kDidntNeed;
            });
            db_.workunits.change(there->workunitid,
                                 [now](Workunit& w) { w.transition_time = std::min(w.transition_time, now); });
            ++marked;
        }
        return marked;
    }

    std::int64_t release_hr_class(std::span<const Id> workunits, std::int64_t now, bool extra_instance) override {
        db_.enter("feeder.release_hr_class");
        std::int64_t released = 0;
        for (const Id id : workunits) {
            const Workunit* there = db_.workunits.get(id);
            if (there == nullptr || there->hr_class == 0) continue;
            if (!extra_instance && is_bound(id)) continue;
            db_.workunits.change(id, [&](Workunit& w) {
                w.hr_class = 0;
                w.transition_time = now;
                w.target_nresults += extra_instance ? 1 : 0;
            });
            ++released;
        }
        return released;
    }

    std::vector<Submitter> submitters(std::span<const Id> users) override {
        db_.enter("feeder.submitters");
        std::vector<Submitter> found;
        for (const Id id : sorted(users))
            if (db_.users.get(id) != nullptr && quota_of.contains(id)) found.push_back({id, quota_of.at(id)});
        return found;
    }

    std::vector<std::pair<Id, Id>> batch_owners(std::span<const Id> batches) override {
        db_.enter("feeder.batch_owners");
        std::vector<std::pair<Id, Id>> found;
        for (const Id id : sorted(batches))
            if (const Batch* b = db_.batches.get(id)) found.emplace_back(id, b->user_id);
        return found;
    }

    std::optional<HostFit> hosts_that_fit(double memory, double disk, std::int64_t heard_since) override {
        db_.enter("feeder.hosts_that_fit");
        HostFit fit;
        std::vector<const Host*> hosts;
        hosts.reserve(db_.hosts.rows().size());
        for (const auto& [id, h] : db_.hosts.rows()) hosts.push_back(&h);
        if (hosts.size() > kHostsLookedAt) {
            const auto most = hosts.begin() + kHostsLookedAt;
            std::nth_element(hosts.begin(), most, hosts.end(), [](const Host* a, const Host* b) {
                return std::pair(-a->expavg_credit, a->id) < std::pair(-b->expavg_credit, b->id);
            });
            hosts.erase(most, hosts.end());
        }
        for (const Host* h : hosts) {
            if (h->rpc_time < heard_since) continue;
            const bool m = h->m_nbytes >= memory, d = h->d_free >= disk;
            ++fit.hosts, fit.enough_memory += m, fit.enough_disk += d, fit.both += m && d;
        }
        return fit;
    }

  private:
    static std::vector<Id> sorted(std::span<const Id> ids) {
        std::vector<Id> all(ids.begin(), ids.end());
        sort_out(all);
        return all;
    }
    static bool matches(const UnsentFilter& f, const Result& r) {
        if (!f.appids.empty() && std::find(f.appids.begin(), f.appids.end(), r.appid) == f.appids.end()) return false;
        if (!f.part.has(r.id) && r.create_time >= f.others_before) return false;
        if (f.share.n > 0 && r.id % f.share.n != f.share.i) return false;
        return f.workunit_share.n <= 0 || r.workunitid % f.workunit_share.n == f.workunit_share.i;
    }
    std::optional<UnsentRow> row_of(const UnsentFilter& filter, Id id) const {
        const Result& r = *db_.results.get(id);
        if (!matches(filter, r)) return std::nullopt;
        UnsentRow row{id, r.workunitid, r.appid, r.batch, r.priority, r.random, 0};
        if (!filter.with_hr_class) return row;
        const Workunit* wu = db_.workunits.get(r.workunitid);
        if (wu == nullptr) return std::nullopt;
        row.hr_class = wu->hr_class;
        return row;
    }
    /// Unsent results behind `from`, until `take` says false.
    template <typename Take>
    void walk(WalkOrder order, const UnsentFilter& filter, const WalkPosition& from, const Take& take) const {
        const ResultIndex& index = db_.results.index();
        const auto ids = [&](const IdSet& set, bool whole) {
            for (auto id = from.begun && !whole ? set.upper_bound(from.id) : set.begin(); id != set.end(); ++id)
                if (!take(*id)) return false;
            return true;
        };
        if (order == WalkOrder::kById) {
            IdSet several;
            for (const auto& [app, unsent] : index.unsent_of_app)
                if (filter.appids.size() == 1 && app == filter.appids.front()) return void(ids(unsent, false));
            for (const auto& [app, unsent] : index.unsent_of_app)
                for (const Id id : unsent) several.insert(id);
            ids(several, false);
            return;
        }
        const auto& by_priority = index.unsent_by_priority;
        const auto all = [&](auto at, auto end) {
            for (; at != end; ++at)
                if (!ids(at->second, at->first != from.priority)) return;
        };
        if (order == WalkOrder::kPriorityUp)
            all(from.begun ? by_priority.lower_bound(from.priority) : by_priority.begin(), by_priority.end());
        else
            all(std::make_reverse_iterator(from.begun ? by_priority.upper_bound(from.priority) : by_priority.end()),
                by_priority.rend());
    }
    bool is_bound(Id workunit) const {
        const auto& instances = db_.results.index().instances(workunit);
        return std::any_of(instances.begin(), instances.end(), [&](Id id) {
            const Result& r = *db_.results.get(id);
            return r.server_state == ServerState::kInProgress ||
                   (r.server_state == ServerState::kOver && r.outcome == Outcome::kSuccess);
        });
    }
    MemoryDb& db_;
};

}  // namespace sluice
