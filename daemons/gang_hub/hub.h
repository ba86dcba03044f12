// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the hub does with what members of gangs say: the protocol of docs/gangs.md, without sockets and clock. A restart
// loses nothing: members say again which checkpoint they have, and the database knows which gangs have ended.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemons/gang_hub/hub_questions.h"
#include "sluice/base/log.h"
#include "sluice/base/timing.h"

namespace sluice {

using LinkId = std::uint64_t;

/// What one of many links may cost, and how long it may take.
struct HubLimits {
    int connections = 1000;
    std::size_t line = 65536;    ///< bytes, of a member
    std::size_t hello = 512;     ///< bytes, of who is not a member yet
    std::size_t queue = 262144;  ///< bytes that wait for a member who reads slowly
    double hello_time = 10;      ///< s until HELLO
    double silence = 120;        ///< s after which a member that says nothing is gone
    double wait = 300;           ///< s that a gang waits for its last member
    double absent = 120;         ///< s after which one that was there and does not come again is given up

    /// Links of which no HELLO has come.
    int strangers() const { return connections / 4 + 1; }
};

/// The links to members.
class HubLinks {
  public:
    virtual ~HubLinks() = default;
    /// `line` without its end.
    virtual void send(LinkId link, std::string_view line) = 0;
    /// When what was sent is gone; nothing that comes from it counts any more.
    virtual void close(LinkId link) = 0;
};

/// So many lines of a kind go into the log in a minute: nobody outside must fill it.
class LogRateLimit {
  public:
    explicit LogRateLimit(int most) : most_(most) {}
    /// The level of the next one.
    LogLevel next(double now);

  private:
    int most_, said_ = 0;
    double since_ = 0;
};

class GangHub {
  public:
    GangHub(HubQuestions& questions, HubLinks& links, const HubLimits& limits, std::string secret)
        : questions_(questions), links_(links), limits_(limits), secret_(std::move(secret)) {}

    /// `peer`: for the log. When there are too many, the stranger that has been silent for longest has to go.
    /// A later link has a greater number.
    void opened(LinkId link, const std::string& peer, double now);
    void line(LinkId link, std::string_view text, double now);
    /// Of a question that was asked.
    void answered(const HubAnswer& answer, double now);
    /// The other side is gone, or must go: it is told `why`, and so is its gang.
    void drop(LinkId link, const std::string& why, double now);
    /// What is due; call it every second or so.
    void tick(double now);

    /// The longest line that it may send now.
    std::size_t line_limit(LinkId link) const;
    std::size_t links() const { return known_.size(); }
    std::size_t gangs() const { return gangs_.size(); }

  private:
    struct Member {
        LinkId link = 0;    ///< 0: it is not here
        std::string tag{};  ///< of its instance
        std::int64_t checkpoint = 0;
        bool at_barrier = false, done = false;
    };
    struct Gang {
        GangId id;
        std::vector<Member> members;
        bool started = false;
        bool ending = false;       ///< all are done, and the database is to know it before anybody hears of it
        double since = 0;          ///< its first member came
        double half_since = 0;     ///< half of them are here; 0: they are not
        double last_came = 0;      ///< the last one that came
        double next_missed = 0;    ///< when to ask again whom it waits for
        std::int64_t common = 0;   ///< the newest checkpoint that all have
        std::int64_t written = 0;  ///< by some of them already; 0: by none

        int present() const;
        bool all(bool Member::*flag) const;
    };
    struct Link {
        std::string peer;
        double opened = 0, heard = 0;
        Gang* gang = nullptr;  ///< nullptr: it has no place yet
        int member = 0;
        bool asking = false;  ///< it has proven to be a member, and the database is asked about it

        bool stranger() const { return gang == nullptr && !asking; }
    };
    /// Which instance of which member.
    using Instance = std::tuple<GangId, int, std::string>;
    struct Asking {
        LinkId link = 0;
        std::int64_t checkpoint = 0;
    };
    using Words = std::vector<std::string_view>;

    void hello(LinkId link, const Words& words, double now);
    void answered_seat(const HubAnswer& answer, double now);
    void answered_end(const HubAnswer& answer, double now);
    bool database_is_away(double now) const;
    /// The database is asked about an instance of that member.
    bool is_asking(const GangSeat& place) const;
    /// False: that instance may not come in, and the link was told why.
    bool may_come(LinkId link, const HubAnswer& answer, double now);
    /// Is it another one's place, or an instance's that was given up? Then the link was told so.
    bool may_sit(LinkId link, const HubAnswer& answer, double now);
    /// Who sits there has to go: `tag` comes.
    void vacate(const GangSeat& place, const std::string& tag, double now);
    void seat(LinkId link, const GangSeat& place, int size, Member member, double now);
    void start(Gang& gang, double now);
    void remember(const GangSeat& place, const std::string& tag, double now);
    /// Whom the others of a gang wait for in vain.
    void give_up_missed(Gang& gang, bool long_since, double now);
    void message(Gang& gang, int from, std::string_view text, double now);
    void checkpoint(Gang& gang, int from, const Words& words, double now);
    void barrier(Gang& gang, int from);
    void done(Gang& gang, int from, double now);
    /// All are told to go on from their last common checkpoint another time.
    void dissolve(Gang& gang, const std::string& why, double now);
    void to_all(const Gang& gang, const std::string& line);
    /// Says a last line and forgets the link.
    void dismiss(LinkId link, const std::string& last_line);
    void lose(LinkId link, const std::string& last_line, const std::string& why, double now);
    void refuse(LinkId link, const std::string& why, double now);
    /// The project does not wait for this job any more, which is nobody's fault.
    void give_up(LinkId link, const std::string& why);
    void make_room(double now);

    HubQuestions& questions_;
    HubLinks& links_;
    HubLimits limits_;
    std::string secret_;
    std::unordered_map<LinkId, Link> known_;
    std::map<GangId, Gang> gangs_;
    /// About whom the database is asked: about each once, whatever number of links come.
    std::map<Instance, Asking> asking_;
    /// An instance that was here, or was told to come again.
    struct Known {
        std::string tag;
        double heard = 0;
    };
    std::map<GangId, std::map<int, Known>> lately_;  ///< by member
    double full_ = 0;                                ///< somebody was sent away for want of room
    TroubleLog database_;
    double ask_again_ = 0;  ///< the database was away until now
    LogRateLimit of_strangers_{20}, of_gangs_{200};
};

}  // namespace sluice
