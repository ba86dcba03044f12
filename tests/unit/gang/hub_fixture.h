// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A hub without sockets, and the gangs 12.0, of four, and 12.1, of two.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "daemons/gang_hub/hub.h"
#include "sluice/base/error.h"
#include "sluice/model/gang.h"

namespace sluice::test {

using Lines = std::vector<std::string>;

inline const std::string kSecret = "the secret of this project";

struct FakeLinks final : HubLinks {
    std::map<LinkId, Lines> lines;
    std::set<LinkId> closed;
    void send(LinkId link, std::string_view line) override { lines[link].emplace_back(line); }
    void close(LinkId link) override { closed.insert(link); }
};

struct FakeGangs final : GangDirectory {
    std::map<GangId, GangFacts> gangs{{{12, 0}, {4}}, {{12, 1}, {2}}};
    bool away = false;
    int asked = 0;
    std::optional<GangFacts> find(const GangId& gang) override {
        ++asked;
        if (away) throw DbError(DbError::Kind::kCantConnect, 2002, "it is away");
        const auto at = gangs.find(gang);
        return at == gangs.end() ? std::nullopt : std::optional(at->second);
    }
    /// Of each seat: "a", in progress, if nothing else is said.
    std::map<std::pair<GangId, int>, std::vector<SeatInstance>> seats;
    std::vector<std::string> given_up;
    std::vector<SeatInstance> instances(const GangSeat& seat) override {
        if (away) throw DbError(DbError::Kind::kCantConnect, 2002, "it is away");
        const auto at = seats.find({seat.gang, seat.member});
        return at == seats.end() ? std::vector<SeatInstance>{{gang_tag("a"), true}} : at->second;
    }
    void give_up(const GangId& gang, std::span<const MissedMember> members, bool long_since) override {
        if (away) throw DbError(DbError::Kind::kCantConnect, 2002, "it is away");
        std::string all = gang_name(gang);
        for (const MissedMember& m : members)
            all += " " + std::to_string(m.member) +
                   (m.last_there.empty()            ? ""
                    : m.last_there == gang_tag("a") ? "a"
                                                    : "?");
        given_up.push_back(all + (long_since ? " long since" : ""));
    }
    void end(const GangId& gang) override {
        if (away) throw DbError(DbError::Kind::kLost, 2006, "it is away");
        gangs.at(gang).ended = true;
    }
};

/// Questions are answered at once, or, while it is hung, when it goes on.
struct FakeDesk final : HubQuestions {
    explicit FakeDesk(FakeGangs& gangs) : gangs_(gangs) {}
    GangHub* hub = nullptr;
    std::function<double()> now;
    bool hung = false;
    std::vector<HubQuestion> waiting;
    std::size_t most = 1000;
    bool ask(HubQuestion question) override {
        if (waiting.size() >= most) return false;
        waiting.push_back(std::move(question));
        if (!hung) go_on();
        return true;
    }
    void go_on() {
        hung = false;
        for (const HubQuestion& q : std::exchange(waiting, {})) hub->answered(answer_of(gangs_, q), now());
    }

  private:
    FakeGangs& gangs_;
};

class GangHubTest : public testing::Test {
  protected:
    GangHubTest() {
        desk.hub = &hub;
        desk.now = [this] { return now; };
    }
    static HubLimits limits() {
        HubLimits l;
        l.connections = 12;
        return l;
    }
    LinkId open() {
        hub.opened(++last, "192.0.2.1", now);
        return last;
    }
    static std::string token(const GangSeat& seat, const std::string& instance = "a") {
        return gang_instance_token(gang_token(kSecret, seat), gang_tag(instance));
    }
    static std::string hello(const GangId& gang, int member, std::int64_t checkpoint,
                             const std::string& instance = "a") {
        return "HELLO " + gang_name(gang) + " " + std::to_string(member) + " " + token({gang, member}, instance) + " " +
               std::to_string(checkpoint);
    }
    LinkId come(const GangId& gang, int member, std::int64_t checkpoint = 0, const std::string& instance = "a") {
        const LinkId link = open();
        hub.line(link, hello(gang, member, checkpoint, instance), now);
        return link;
    }
    /// Members 0 … 3 of gang 12.0 on links that follow each other; what they were told is forgotten.
    LinkId meet(std::vector<std::int64_t> checkpoints = {0, 0, 0, 0}) {
        LinkId first = 0;
        for (int i = 0; i < 4; ++i) {
            const LinkId link = come({12, 0}, i, checkpoints[static_cast<std::size_t>(i)]);
            if (i == 0) first = link;
        }
        started = links.lines[first];
        links.lines.clear();
        return first;
    }
    /// While members wait they say so.
    void wait(const std::vector<LinkId>& here, double seconds, double step = 10) {
        for (const double until = now + seconds; now < until;) {
            now += step;
            for (const LinkId link : here) hub.line(link, "ALIVE", now);
            hub.tick(now);
        }
    }
    std::string told(LinkId link) { return links.lines[link].empty() ? "" : links.lines[link].back(); }
    /// Refused and dropped, with one line.
    std::string refused(const std::string& first_line) {
        const LinkId link = open();
        hub.line(link, first_line, now);
        EXPECT_TRUE(links.closed.contains(link)) << first_line;
        EXPECT_EQ(links.lines[link].size(), 1u) << first_line;
        return told(link);
    }

    double now = 1'700'000'000;
    FakeLinks links;
    FakeGangs gangs;
    FakeDesk desk{gangs};
    GangHub hub{desk, links, limits(), kSecret};
    LinkId last = 0;
    Lines started;
};

}  // namespace sluice::test
