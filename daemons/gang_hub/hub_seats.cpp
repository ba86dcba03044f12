// SPDX-License-Identifier: LGPL-3.0-or-later
// The hub's part that needs the database: who may come in, and that a gang has ended. It asks and goes on; what becomes
// of the question is decided by what holds when the answer comes.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemons/gang_hub/hub.h"
#include "daemons/gang_hub/hub_words.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr double kAtWork = 45;        ///< s since its last word; a member says ALIVE every 20 s
constexpr double kDatabasePause = 5;  ///< s in which a database that is away is not asked again
constexpr char kHasAnother[] = "another host computes this member";
constexpr char kDatabaseAway[] = "RETRY the project's database is away: come again in a minute";

std::optional<bool> in_progress(const std::vector<SeatInstance>& instances, const std::string& tag) {
    const auto at = std::find_if(instances.begin(), instances.end(), [&](const auto& i) { return i.tag == tag; });
    return at == instances.end() ? std::nullopt : std::optional(at->in_progress);
}

}  // namespace

void GangHub::hello(LinkId link, const Words& words, double now) {
    const auto gang = words.size() == 5 && words[0] == "HELLO" ? parse_gang_name(words[1]) : std::nullopt;
    const auto member = gang ? count_of<int>(words[2]) : std::nullopt;
    const auto checkpoint = member ? count_of<std::int64_t>(words[4]) : std::nullopt;
    if (!checkpoint) return refuse(link, "the first line must be: HELLO GANG MEMBER TOKEN CHECKPOINT", now);
    const GangSeat place{*gang, *member};
    const auto tag = proven_gang_tag(secret_, place, words[3]);
    if (!tag)
        return refuse(link, fmt::format("this is not the token of member {} of gang {}", *member, gang_name(*gang)),
                      now);
    if (database_is_away(now)) return remember(place, *tag, now), dismiss(link, kDatabaseAway);
    const Asking asking{link, *checkpoint};
    known_.at(link).asking = true;
    const auto [at, is_new] = asking_.try_emplace(Instance{place.gang, place.member, *tag}, asking);
    if (!is_new) {
        // Its host may have lost the link before the answer came: who comes last is the one that is there.
        const Asking earlier = std::exchange(at->second, asking);
        if (known_.contains(earlier.link))
            dismiss(earlier.link, "RETRY another process of this member has come: come again in a minute");
    } else if (!questions_.ask({.seat = place, .tag = *tag})) {
        asking_.erase(at);
        remember(place, *tag, now);
        dismiss(link, kDatabaseAway);
    }
}

bool GangHub::database_is_away(double now) const { return now < ask_again_ && ask_again_ <= now + kDatabasePause; }

void GangHub::answered(const HubAnswer& answer, double now) {
    if (answer.trouble.empty()) {
        database_.over();
    } else {
        database_.report({answer.trouble, "members are told to come again", true}, now);
        ask_again_ = now + kDatabasePause;
    }
    if (answer.question.kind == HubQuestion::Kind::kSeat) answered_seat(answer, now);
    if (answer.question.kind == HubQuestion::Kind::kEnd) answered_end(answer, now);
}

void GangHub::answered_seat(const HubAnswer& answer, double now) {
    const GangSeat& place = answer.question.seat;
    const auto asked = asking_.extract(Instance{place.gang, place.member, answer.question.tag});
    const Asking asking = asked.mapped();
    const auto at = known_.find(asking.link);
    if (at == known_.end()) return;  // it did not wait
    at->second.asking = false;
    if (!answer.trouble.empty()) {
        remember(place, answer.question.tag, now);
        dismiss(asking.link, kDatabaseAway);
    } else if (may_come(asking.link, answer, now) && may_sit(asking.link, answer, now)) {
        seat(asking.link, place, answer.gang->size, {asking.link, answer.question.tag, asking.checkpoint}, now);
    }
}

bool GangHub::may_come(LinkId link, const HubAnswer& answer, double now) {
    const GangSeat& place = answer.question.seat;
    const std::string name = gang_name(place.gang);
    const auto& facts = answer.gang;
    // There was one once, its token says: its batch was aborted and retired.
    if (!facts || facts->size < 1) return give_up(link, "there is no gang " + name), false;
    if (facts->given_up) return give_up(link, fmt::format("gang {}: a member can't be had any more", name)), false;
    // It has no result: another host was there in its stead.
    const bool was_given_up = !in_progress(answer.instances, answer.question.tag).value_or(true);
    if (facts->ended && was_given_up) return give_up(link, kHasAnother), false;
    if (facts->ended) return dismiss(link, "END"), false;
    if (place.member >= facts->size)
        return refuse(link, fmt::format("gang {} has {} members", name, facts->size), now), false;
    return true;
}

bool GangHub::may_sit(LinkId link, const HubAnswer& answer, double now) {
    const auto& [gang_id, number] = answer.question.seat;
    const std::string& tag = answer.question.tag;
    const auto mine = in_progress(answer.instances, tag);
    // Another machine of the database may not have heard of it yet.
    if (!mine) {
        remember(answer.question.seat, tag, now);
        return dismiss(link, "RETRY the project does not know this job yet: come again in a minute"), false;
    }
    if (!*mine) return give_up(link, kHasAnother), false;
    const auto gang = gangs_.find(gang_id);
    if (gang == gangs_.end()) return true;
    if (gang->second.ending) return dismiss(link, "RETRY the gang is about to end: come again in a minute"), false;
    const Member& there = gang->second.members.at(static_cast<std::size_t>(number));
    if (there.link == 0 || (there.tag != tag && !in_progress(answer.instances, there.tag).value_or(true))) return true;
    // One that says what it has to is at work, and the gang with it. Its host may have lost the link without a word:
    // who comes last is the one that is there.
    if (now - known_.at(there.link).heard >= kAtWork) return true;
    return dismiss(link, "RETRY another process is at work as this member: come again in a minute"), false;
}

void GangHub::vacate(const GangSeat& place, const std::string& tag, double now) {
    const auto gang = gangs_.find(place.gang);
    if (gang == gangs_.end()) return;
    const Member other = std::exchange(gang->second.members[static_cast<std::size_t>(place.member)], {});
    if (other.link == 0) return;
    if (other.tag == tag)
        dismiss(other.link, "REFUSED another process has taken the place of this member");
    else
        give_up(other.link, kHasAnother);
    if (gang->second.started) dissolve(gang->second, fmt::format("member {} has come anew", place.member), now);
}

void GangHub::seat(LinkId link, const GangSeat& place, int size, Member member, double now) {
    vacate(place, member.tag, now);
    Gang& room = gangs_[place.gang];
    if (room.members.empty()) {
        room.id = place.gang;
        room.members.resize(static_cast<std::size_t>(size));
        room.since = now;
    }
    Link& mine = known_.at(link);
    mine.gang = &room;
    mine.member = place.member;
    log_debug("[gang#{}] member {} is here ({}), with checkpoint {}", gang_name(room.id), place.member, mine.peer,
              member.checkpoint);
    remember(place, member.tag, now);
    room.members[static_cast<std::size_t>(place.member)] = std::move(member);
    room.last_came = now;
    if (room.half_since == 0 && 2 * static_cast<std::size_t>(room.present()) >= room.members.size())
        room.half_since = now;
    if (room.present() == static_cast<int>(room.members.size())) start(room, now);
}

void GangHub::done(Gang& gang, int from, double now) {
    gang.members[static_cast<std::size_t>(from)].done = true;
    if (!gang.all(&Member::done)) return;
    // Before anybody hears of it: who does not is told when it comes again.
    gang.ending = true;
    HubQuestion end{.kind = HubQuestion::Kind::kEnd, .seat = {gang.id}};
    if (!questions_.ask(end)) answered({.question = end, .trouble = "too many questions wait for it"}, now);
}

void GangHub::answered_end(const HubAnswer& answer, double now) {
    const auto at = gangs_.find(answer.question.seat.gang);
    if (at == gangs_.end() || !at->second.ending) return;
    Gang& gang = at->second;
    if (!answer.trouble.empty()) return dissolve(gang, "the project's database is away: come again in a minute", now);
    log_at(of_gangs_.next(now), "[gang#{}] has ended", gang_name(gang.id));
    for (const Member& m : gang.members)
        if (m.link != 0) dismiss(m.link, "END");
    lately_.erase(gang.id);
    gangs_.erase(at);
}

}  // namespace sluice
