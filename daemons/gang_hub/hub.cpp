// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/gang_hub/hub.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemons/gang_hub/hub_words.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr double kMissedPause = 60;  ///< s until members are given up again of whom others wait
constexpr double kQuarter = 900;     ///< s after which members come again that have waited in vain
constexpr std::size_t kFew = 8;      ///< one of so many members

}  // namespace

LogLevel LogRateLimit::next(double now) {
    if (now - since_ >= 60 || now < since_) since_ = now, said_ = 0;
    return ++said_ > most_ ? LogLevel::kDebug : LogLevel::kNormal;
}

int GangHub::Gang::present() const {
    return static_cast<int>(std::count_if(members.begin(), members.end(), [](const Member& m) { return m.link != 0; }));
}

bool GangHub::Gang::all(bool Member::*flag) const {
    return std::all_of(members.begin(), members.end(), [&](const Member& m) { return m.*flag; });
}

void GangHub::opened(LinkId link, const std::string& peer, double now) {
    make_room(now);
    known_[link] = {.peer = peer, .opened = now, .heard = now};
    if (static_cast<int>(known_.size()) <= limits_.connections) return;
    full_ = now;
    dismiss(link, "RETRY the hub has no room for more members: come again in a minute");
}

void GangHub::make_room(double now) {
    int strangers = 0;
    auto oldest = known_.end();
    for (auto at = known_.begin(); at != known_.end(); ++at) {
        if (!at->second.stranger()) continue;
        ++strangers;
        if (oldest == known_.end() || at->first < oldest->first) oldest = at;
    }
    if (strangers < limits_.strangers() && static_cast<int>(known_.size()) < limits_.connections) return;
    if (oldest != known_.end()) refuse(oldest->first, "others wait to say HELLO: say it at once", now);
}

std::size_t GangHub::line_limit(LinkId link) const {
    const auto at = known_.find(link);
    return at != known_.end() && !at->second.stranger() ? limits_.line : limits_.hello;
}

void GangHub::line(LinkId link, std::string_view text, double now) {
    const auto at = known_.find(link);
    if (at == known_.end()) return;
    Link& from = at->second;
    from.heard = now;
    if (from.stranger()) return hello(link, words_of_line(text, 6), now);
    if (text == "ALIVE" || (from.gang != nullptr && from.gang->ending)) return;
    const Words words = words_of_line(text, 2);
    const bool known = words[0] == "MESSAGE" || words[0] == "CHECKPOINT" || text == "BARRIER" || text == "DONE";
    if (!known)
        return drop(link, "'" + in_one_line(text, 40) + "' is not one of ALIVE, BARRIER, CHECKPOINT, DONE, MESSAGE",
                    now);
    if (from.gang == nullptr || !from.gang->started) return drop(link, "only ALIVE may come before START", now);
    Gang& gang = *from.gang;
    if (words[0] == "MESSAGE")
        message(gang, from.member, text.substr(std::min(text.size(), words[0].size() + 1)), now);
    else if (words[0] == "CHECKPOINT")
        checkpoint(gang, from.member, words, now);
    else if (text == "BARRIER")
        barrier(gang, from.member);
    else
        done(gang, from.member, now);
}

void GangHub::start(Gang& gang, double now) {
    gang.started = true;
    gang.common = gang.members[0].checkpoint;
    for (const Member& m : gang.members) gang.common = std::min(gang.common, m.checkpoint);
    for (Member& m : gang.members) m.checkpoint = gang.common;
    log_at(of_gangs_.next(now), "[gang#{}] all {} members are here: they go on from checkpoint {}", gang_name(gang.id),
           gang.members.size(), gang.common);
    to_all(gang, fmt::format("START {} {}", gang.members.size(), gang.common));
}

void GangHub::message(Gang& gang, int from, std::string_view text, double now) {
    const LinkId sender = gang.members[static_cast<std::size_t>(from)].link;
    const Words words = words_of_line(text, 2);
    const auto to = count_of<std::size_t>(words[0]);
    const bool everybody = words[0] == "*";
    if (words.size() < 2 ||
        (!everybody && (!to || *to >= gang.members.size() || *to == static_cast<std::size_t>(from))))
        return drop(sender, "MESSAGE needs another member's number, or * for all others, and a text", now);
    const std::string line = fmt::format("MESSAGE {} {}", from, words[1]);
    if (!everybody) return links_.send(gang.members[*to].link, line);
    for (const Member& m : gang.members)
        if (m.link != sender) links_.send(m.link, line);
}

void GangHub::checkpoint(Gang& gang, int from, const Words& words, double now) {
    Member& member = gang.members[static_cast<std::size_t>(from)];
    const auto number = words.size() == 2 ? count_of<std::int64_t>(words[1]) : std::nullopt;
    if (!number || *number <= gang.common)
        return drop(member.link, fmt::format("CHECKPOINT needs a number above {}", gang.common), now);
    if (member.checkpoint > gang.common)
        return drop(member.link, fmt::format("CHECKPOINT {} before COMMON {}", *number, member.checkpoint), now);
    if (gang.written != 0 && gang.written != *number)
        return dissolve(
            gang, fmt::format("member {} has written checkpoint {}, others {}", from, *number, gang.written), now);
    gang.written = member.checkpoint = *number;
    const bool common = std::all_of(gang.members.begin(), gang.members.end(),
                                    [&](const Member& m) { return m.checkpoint == gang.written; });
    if (!common) return;
    gang.common = std::exchange(gang.written, 0);
    log_debug("[gang#{}] all members have checkpoint {}", gang_name(gang.id), gang.common);
    to_all(gang, fmt::format("COMMON {}", gang.common));
}

void GangHub::barrier(Gang& gang, int from) {
    gang.members[static_cast<std::size_t>(from)].at_barrier = true;
    if (!gang.all(&Member::at_barrier)) return;
    for (Member& m : gang.members) m.at_barrier = false;
    to_all(gang, "BARRIER");
}

void GangHub::dissolve(Gang& gang, const std::string& why, double now) {
    log_at(of_gangs_.next(now), "[gang#{}] breaks off at checkpoint {}: {}", gang_name(gang.id), gang.common, why);
    for (std::size_t m = 0; m < gang.members.size(); ++m)
        if (gang.members[m].link != 0) remember({gang.id, static_cast<int>(m)}, gang.members[m].tag, now);
    for (const Member& m : gang.members)
        if (m.link != 0) dismiss(m.link, fmt::format("EXIT {} {}", gang.common, why));
    gangs_.erase(GangId(gang.id));
}

void GangHub::drop(LinkId link, const std::string& why, double now) { lose(link, "REFUSED " + why, why, now); }

void GangHub::lose(LinkId link, const std::string& last_line, const std::string& why, double now) {
    const auto at = known_.find(link);
    if (at == known_.end()) return;
    Gang* const gang = at->second.gang;
    const int member = at->second.member;
    if (at->second.stranger()) return refuse(link, why, now);
    if (gang == nullptr) return dismiss(link, last_line);
    log_at(of_gangs_.next(now), "[gang#{}] member {} ({}): {}", gang_name(gang->id), member, at->second.peer, why);
    remember({gang->id, member}, gang->members[static_cast<std::size_t>(member)].tag, at->second.heard);
    gang->members[static_cast<std::size_t>(member)] = {};
    dismiss(link, last_line);
    if (gang->ending) return;  // it is done: nobody waits for it
    if (gang->started)
        dissolve(*gang, fmt::format("member {} is gone", member), now);
    else if (gang->present() == 0)
        gangs_.erase(GangId(gang->id));
}

void GangHub::tick(double now) {
    std::vector<std::pair<LinkId, std::string>> gone;
    for (const auto& [id, link] : known_) {
        if (link.stranger() && now - link.opened >= limits_.hello_time)
            gone.emplace_back(id, fmt::format("no HELLO came within {} s", limits_.hello_time));
        if (!link.stranger() && now - link.heard >= limits_.silence)
            gone.emplace_back(id, fmt::format("it said nothing for {} s", limits_.silence));
    }
    // Its client may have suspended it: it is as welcome as the others when it goes on.
    for (const auto& [id, why] : gone) lose(id, "RETRY " + why, why, now);
    std::vector<GangId> late;
    for (auto& [id, gang] : gangs_) {
        if (gang.started) continue;
        const bool too_late = now - gang.since >= limits_.wait;
        if (too_late) late.push_back(id);
        if (too_late || now >= gang.next_missed) give_up_missed(gang, too_late, now);
    }
    for (const GangId& id : late) {
        Gang& gang = gangs_.at(id);
        dissolve(gang,
                 fmt::format("{} of {} members came within {} s", gang.present(), gang.members.size(), limits_.wait),
                 now);
    }
}

void GangHub::remember(const GangSeat& place, const std::string& tag, double now) {
    lately_[place.gang][place.member] = {tag, now};
    // Of gangs that ended while nobody looked something may be left.
    if (lately_.size() > static_cast<std::size_t>(limits_.connections))
        lately_.erase(lately_.begin()->first == place.gang ? std::next(lately_.begin()) : lately_.begin());
}

bool GangHub::is_asking(const GangSeat& place) const {
    const auto at = asking_.lower_bound({place.gang, place.member, ""});
    return at != asking_.end() && std::get<0>(at->first) == place.gang && std::get<1>(at->first) == place.member;
}

void GangHub::give_up_missed(Gang& gang, bool long_since, double now) {
    // Others may still be on their way: all come at the same time, but no two clocks are the same.
    const double quiet = std::max(gang.half_since, gang.last_came) + limits_.absent;
    if (gang.half_since == 0 || now < quiet || now < full_ + limits_.absent) return;
    const auto missing = gang.members.size() - static_cast<std::size_t>(gang.present());
    // Many absent members are not at fault: the scheduler may have told them to come at the next quarter of an hour.
    const bool few = kFew * missing <= gang.members.size() || missing == 1;
    const double patience = few ? limits_.absent : kQuarter + limits_.absent;
    const std::map<int, Known>& known = lately_[gang.id];
    std::vector<MissedMember> missed;
    for (std::size_t m = 0; m < gang.members.size(); ++m) {
        const int number = static_cast<int>(m);
        const auto at = known.find(number);
        if (gang.members[m].link != 0 || is_asking({gang.id, number})) continue;
        if (at == known.end() ? few : now - at->second.heard >= patience)
            missed.push_back({number, at == known.end() ? "" : at->second.tag});
    }
    if (missed.empty() || database_is_away(now)) return;
    gang.next_missed = now + kMissedPause;
    questions_.ask(
        {.kind = HubQuestion::Kind::kGiveUp, .seat = {gang.id}, .missed = std::move(missed), .long_since = long_since});
}

void GangHub::to_all(const Gang& gang, const std::string& line) {
    for (const Member& m : gang.members) links_.send(m.link, line);
}

void GangHub::dismiss(LinkId link, const std::string& last_line) {
    links_.send(link, last_line);
    links_.close(link);
    known_.erase(link);
}

void GangHub::give_up(LinkId link, const std::string& why) {
    log_debug("given up: {}: {}", known_.at(link).peer, why);
    dismiss(link, "GIVEN_UP " + why);
}

void GangHub::refuse(LinkId link, const std::string& why, double now) {
    log_at(of_strangers_.next(now), "refused {}: {}", known_.at(link).peer, why);
    dismiss(link, "REFUSED " + why);
}

}  // namespace sluice
