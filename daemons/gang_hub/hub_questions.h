// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the hub asks the project's database. The hub goes on with its members' messages until the answer comes.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemons/gang_hub/gang_token.h"

namespace sluice {

/// What a member's instance is to the project; by its tag, which its token proves.
struct SeatInstance {
    std::string tag;
    bool in_progress = false;  ///< false: it was given up, or came back
};
/// One for whom the others of its gang wait.
struct MissedMember {
    int member = 0;
    std::string last_there;  ///< the tag of the instance that was here last; empty: not known
};

/// Which gangs there are. Waits for the database. Throws DbError.
class GangDirectory {
  public:
    virtual ~GangDirectory() = default;
    virtual std::optional<GangFacts> find(const GangId& gang) = 0;
    virtual std::vector<SeatInstance> instances(const GangSeat& seat) = 0;
    /// Another host is to get these members. `long_since`: also where nothing was ever heard of the instance, if it
    /// had time to come.
    virtual void give_up(const GangId& gang, std::span<const MissedMember> members, bool long_since) = 0;
    virtual void end(const GangId& gang) = 0;
};

struct HubQuestion {
    enum class Kind {
        kSeat,    ///< may an instance of this seat come in?
        kGiveUp,  ///< another host is to get `missed` of seat.gang
        kEnd      ///< seat.gang has ended
    };
    Kind kind = Kind::kSeat;
    GangSeat seat;
    std::string tag{};  ///< kSeat: of the instance
    std::vector<MissedMember> missed{};
    bool long_since = false;  ///< kGiveUp: as GangDirectory has it
};
struct HubAnswer {
    HubQuestion question;
    std::string trouble{};  ///< why the database did not answer; empty: it did
    std::optional<GangFacts> gang{};
    std::vector<SeatInstance> instances{};
};
/// Asks the directory, and waits for it.
HubAnswer answer_of(GangDirectory& directory, HubQuestion question);

class HubQuestions {
  public:
    virtual ~HubQuestions() = default;
    /// Each question is answered once, by GangHub::answered(), in the order in which they were asked; perhaps before
    /// this returns. False: too many wait, and this one is not answered.
    virtual bool ask(HubQuestion question) = 0;
};

}  // namespace sluice
