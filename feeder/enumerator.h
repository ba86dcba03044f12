// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Finds unsent results and keeps the backlog filled, without ever forgetting one and without reading the same head of
// the queue again and again while there is something to send:
//  - a cycle walks the unsent results page by page (keyset), best first, until the backlog is full or everything was
//    seen. It starts again now and then, at once when slots stay empty, so that whatever became unsent meanwhile (put
//    back, released, re-prioritised, newly made) comes up;
//  - a peek at the head of the queue every second lets new jobs of high priority come to the front;
//  - where there is more than the backlog holds, a slow walk goes on behind the cycle's end for what the index's order
//    hides (a retry of an old workunit has a high id; batches and random numbers are in no index).
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "feeder/backlog.h"
#include "feeder/options.h"
#include "sluice/base/rng.h"
#include "sluice/db/feeder_store.h"

namespace sluice {

struct EnumeratorSettings {
    FeederOptions options;
    bool hr_quotas = false;    ///< queued jobs are kept apart by HR class
    bool needs_batch = false;  ///< jobs without a batch are left out
    std::size_t slots = 100;
    int page = 5000;       ///< rows a query before the first fill, and while jobs for empty slots are looked for
    int small_page = 200;  ///< otherwise: a refill waits for the query, 20 us a row that is not in the server's memory
    int head = 200;        ///< rows of a peek at most: <feeder_query_size>
    std::size_t backlog = 100000;   ///< queued jobs kept
    std::size_t rows_a_turn = 200;  ///< of a cycle; likewise
    std::size_t rows_a_hungry_turn = 10000;
    std::size_t rows_before_first_fill = 100000;  ///< at most
};

class Enumerator {
  public:
    /// `held` says whether a result is in the array.
    Enumerator(EnumeratorSettings settings, FeederStore& store, Rng& rng, std::function<bool(Id)> held);

    /// For whom slots stay empty: of an app, or this very row. Without it, when hungry, for everybody.
    struct Lack {
        std::function<bool(Id app)> of_app;
        std::function<bool(const UnsentRow&)> for_row;
    };
    void set_lack(Lack lack) { lack_ = std::move(lack); }
    /// The apps whose jobs may be sent, and (with --allapps or --appids) are walked one by one. Starts all over.
    void set_apps(const std::vector<Id>& apps);
    /// Jobs of other parts are left to other feeders, until they have waited for long and slots are empty here. A
    /// change starts all over.
    void set_part(const FeederPart& part);
    /// FeederOrder::kShares: batches are kept apart, or not while nothing is known of shares. A change starts all over.
    void keep_batches_apart(bool apart);
    /// Reads what is due. `hungry`: slots are empty and nothing here fits them. Throws DbError.
    void turn(double now, bool hungry);
    /// A whole walk is over (or has gone far enough) since set_apps(): the array may be filled.
    bool has_surveyed() const { return surveyed_; }

    Backlog& backlog() { return backlog_; }
    const Backlog& backlog() const { return backlog_; }
    QueuedJob queued_job_of(const UnsentRow& row);
    /// Back into the backlog (it was taken out for a slot and did not get there, or gave way).
    void put_back(QueuedJob queued) { backlog_.insert(queued); }
    /// Not to be found until `until`. `may_return_early`: sooner if slots would stay empty otherwise.
    void rest(Id result, double until, bool may_return_early = false);
    void forget_rests() { rests_.clear(); }
    std::size_t resting() const { return rests_.size(); }
    /// True: another walk is due sooner or later; all that is unsent is not known at the moment.
    bool cycle_running() const { return cycle_running_; }
    /// True: there is more than the backlog holds, and a walk goes on behind it.
    bool goes_deeper() const {
        return std::any_of(walkers_.begin(), walkers_.end(), [](const Walker& w) { return w.deep.begun; });
    }
    /// What was left out for want of a batch since the last call.
    struct LeftOut {
        std::unordered_set<Id> results;  ///< at most kMostLeftOut
        UnsentRow first;
    };
    static constexpr std::size_t kMostLeftOut = 100'000;
    LeftOut take_left_out() { return std::exchange(left_out_, {}); }
    std::uint64_t rows_read() const { return rows_read_; }

  private:
    struct Walker {
        UnsentFilter filter;
        WalkOrder order = WalkOrder::kPriorityDown;
        WalkPosition at;       ///< of the cycle
        WalkPosition deep;     ///< of the slow walk behind the cycles' end
        std::size_t seen = 0;  ///< in this cycle: queued jobs, known or new
        bool over = false;     ///< this cycle's part is done
    };
    struct Rest {
        double until = 0;
        bool may_return_early = false;
    };

    struct PageRead {
        std::size_t useful = 0;
        bool at_end = false;
    };
    PageRead read_page(const Walker& walker, WalkPosition& at, int rows);
    /// Whether the row is of use now (in the array or backlog already counts).
    bool take_in(const UnsentRow& row);
    bool is_resting(const UnsentRow& row) const;
    /// It needs a batch and has none.
    bool leaves_out(const UnsentRow& row);
    void learn_owners(const std::vector<UnsentRow>& rows);
    bool full_cycle_is_due() const;
    bool cycle_is_due() const;
    /// Jobs for empty slots are looked for, and may be found: large pages, though a refill of other slots waits for
    /// them. An app without any job leaves its slots empty for ever.
    bool urgent() const { return hungry_ && !futile_; }
    int page() const;  ///< rows of the next query
    std::size_t rows_before_first_fill() const;
    void start_cycle();
    void go_on_with_cycle();
    void end_cycle();
    void peek_at_head();
    void go_deeper();
    void drop_expired_rests();

    EnumeratorSettings settings_;
    FeederStore& store_;
    Rng& rng_;
    std::function<bool(Id)> held_;
    Lack lack_;
    Backlog backlog_;
    std::vector<Walker> walkers_;
    std::unordered_set<Id> apps_;
    std::vector<Id> apps_in_order_;  ///< as given
    bool batches_apart_ = false;
    FeederPart part_;
    std::unordered_map<Id, Rest> rests_;
    std::unordered_map<Id, Id> owner_of_batch_;
    double now_ = 0;
    bool hungry_ = false, cycle_running_ = false, surveyed_ = false;
    bool partial_ = false;     ///< the cycle: for the apps whose slots are empty only
    bool found_more_ = false;  ///< in this cycle: jobs, for the empty slots if there are any
    bool futile_ = false;      ///< the last cycle found nothing for the slots that stay empty
    double cycle_ended_ = 0, full_cycle_ended_ = 0, next_peek_ = 0, next_deep_ = 0;
    std::uint64_t rows_read_ = 0, rows_at_cycle_start_ = 0, rows_of_cycle_ = 0, rows_of_full_cycle_ = 0;
    std::size_t deep_walker_ = 0;  ///< whose turn it is
    LeftOut left_out_;
};

}  // namespace sluice
