// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/live_shadow.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>

#include "sched/shadow/progress_line.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/db/snapshot.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

/// Snapshots at a time, and one for requests that found none. Each has a connection of its own.
constexpr int kLanes = 4;
/// A snapshot is from before the other scheduler reads: it starts, and connects, for longer than that.
constexpr milliseconds kBeforeItReads{2};
/// Jobs that wait are read anew after so long; where that takes long, less often.
constexpr std::chrono::seconds kFreshFor{5};
constexpr int kPartOfTime = 20;
/// For what is still being answered at the end.
constexpr std::chrono::seconds kForLast{5};

double seconds_since(LiveClock::time_point when) {
    return std::chrono::duration<double>(LiveClock::now() - when).count();
}

bool can_be_read(int fd) {
    pollfd file{fd, POLLIN, 0};
    return ::poll(&file, 1, 0) > 0;
}

}  // namespace

/// A connection, and the project as it shows it.
class LiveShadow::Lane {
  public:
    /// The stores ask for a table of our own, and try to make it: that is refused, but would end a snapshot. So they
    /// find it out now.
    explicit Lane(std::unique_ptr<LiveProject> project) : project_(std::move(project)), decider_(*project_, {}) {
        project_->stores.stores().accounts.host_and_account(0, true);
        filled();
    }
    bool in_use() const { return in_use_; }
    PastDecider& decider() { return decider_; }
    const LiveProject& project() const { return *project_; }

    void take_snapshot() {
        in_use_ = true;
        sluice::take_snapshot(project_->db);
    }
    void drop_snapshot() noexcept {
        in_use_ = false;
        try {
            sluice::drop_snapshot(project_->db);
        } catch (const std::exception&) {
            project_->db.disconnect();
        }
    }
    void refresh() {
        const auto began = LiveClock::now();
        if (began < fresh_until_) return;
        decider_.refill();
        took_ = LiveClock::now() - began;
        filled();
    }

  private:
    void filled() { fresh_until_ = LiveClock::now() + std::max<LiveClock::duration>(kFreshFor, kPartOfTime * took_); }

    std::unique_ptr<LiveProject> project_;
    PastDecider decider_;
    bool in_use_ = false;
    LiveClock::duration took_{};
    LiveClock::time_point fresh_until_{};
};

LiveShadow::LiveShadow(const std::function<std::unique_ptr<LiveProject>()>& open_project, TeedRequests& teed,
                       LiveOptions options)
    : teed_(teed), options_(std::move(options)), sum_(options_.comparing) {
    for (int i = 0; i < kLanes; ++i) lanes_.push_back(std::make_unique<Lane>(open_project()));
    Comparison& c = sum_.result();
    name_sides(c, lanes_[0]->project(), "the live replies");
    c.jobs_from = lanes_[0]->decider().past().origin();
    c.live.is_live = true;
}

LiveShadow::~LiveShadow() = default;

/// The last lane stays for those that found no snapshot.
void LiveShadow::begin(TeedRequest& request) {
    for (std::size_t i = 0; i + 1 < lanes_.size(); ++i) {
        if (lanes_[i]->in_use()) continue;
        try {
            lanes_[i]->take_snapshot();
            request.lane = static_cast<int>(i);
            request.at_once = LiveClock::now() - request.shown_at < kBeforeItReads;
        } catch (const DbError&) {
            lanes_[i]->drop_snapshot();  // it is decided on the state of later, if that can be had
        }
        return;
    }
}

void LiveShadow::decide(TeedRequest& request) {
    Comparison& c = sum_.result();
    const bool has_snapshot = request.lane >= 0;
    Lane& lane = has_snapshot ? *lanes_[static_cast<std::size_t>(request.lane)] : *lanes_.back();
    if (request.given_up) {
        if (has_snapshot) lane.drop_snapshot();
        return;
    }
    ++c.requests;
    try {
        if (!has_snapshot) lane.take_snapshot();
        compare(lane, request);
        ++(request.at_once ? c.live.at_once : c.live.later);
    } catch (const DbError& e) {
        if (c.live.failed++ == 0) c.notes.emplace_back(e.what());
    }
    lane.drop_snapshot();
}

void LiveShadow::compare(Lane& lane, const TeedRequest& request) {
    Comparison& c = sum_.result();
    const auto number = static_cast<std::size_t>(request.number);
    std::string why;
    const auto rpc = parse_rpc({request.at, fmt::format("live request {}", request.number), {}, {}}, request.request,
                               request.reply_text(), request_limits(lane.project().config), why);
    if (!can_be_compared(c, rpc, why)) return;
    lane.refresh();
    lane.decider().add_sent(jobs_sent_by(*rpc->reply, number));
    lane.decider().move_to(number, *rpc);
    ComparedRpc compared =
        compare_one(lane.decider(), *rpc, options_.comparing.seed + 1000 * static_cast<std::uint64_t>(number));
    if (compared.theirs.word == "too_recent") {
        ++c.not_judged;
        return;
    }
    if (!compared.same && !options_.keep.empty()) keep(compared, request);
    if (request.their_ms) c.their_ms.push_back(*request.their_ms);
    sum_.add(compared);
}

/// They hold keys of accounts.
void LiveShadow::keep(ComparedRpc& rpc, const TeedRequest& request) const {
    const fs::path folder = options_.keep;
    const std::string name = fmt::format("{}_{}", static_cast<std::int64_t>(request.at), request.number);
    write_file_atomically(folder / (name + "_sched_request.xml"), request.request, 0600);
    write_file_atomically(folder / (name + "_sched_reply.xml"), request.reply_text(), 0600);
    rpc.file = (folder / (name + "_sched_request.xml")).string();
}

std::string LiveShadow::state() {
    const Comparison& c = sum_.result();
    return fmt::format("{:.0f} s: {} requests, {} compared, {} differ", seconds_since(began_), c.requests, c.compared,
                       c.compared - c.same);
}

void LiveShadow::look(int stop) {
    ProgressLine progress;
    bool more = false;
    while (!can_be_read(stop) && (options_.seconds <= 0 || seconds_since(began_) < options_.seconds)) {
        for (TeedRequest* request : teed_.wait(milliseconds(more ? 0 : 500), stop)) begin(*request);
        TeedRequest ended;
        more = teed_.take_ended(ended);
        if (more) decide(ended);
        progress.say([this] { return state(); });
    }
}

Comparison LiveShadow::finish() {
    Comparison& c = sum_.result();
    c.live.lasted = seconds_since(began_);
    teed_.close();
    const auto until = LiveClock::now() + kForLast;
    while (teed_.open() > 0 && LiveClock::now() < until) {
        for (TeedRequest* request : teed_.wait(milliseconds(50), -1)) begin(*request);
        TeedRequest ended;
        while (teed_.take_ended(ended)) decide(ended);
    }
    c.live.refused = teed_.refused();
    c.live.given_up = teed_.given_up() + static_cast<std::int64_t>(teed_.open());
    c.live.full_for = teed_.full_for();
    return sum_.take();
}

}  // namespace sluice
