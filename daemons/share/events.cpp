// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/share/events.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "sluice/share/logical_clock.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;
using json::InputError;
using json::Object;

/// Beyond them, sums are not numbers any more, or nothing is added by what is added.
constexpr double kMost = 1e12;  ///< s

/// The names of people's files stand for the numbers of the clock.
class NumberedNames {
  public:
    std::int64_t number(const std::string& name) {
        const auto [place, is_new] = numbers_.emplace(name, static_cast<std::int64_t>(names_.size()));
        if (is_new) names_.push_back(name);
        return place->second;
    }
    const std::string& name(std::int64_t number) const { return names_[static_cast<std::size_t>(number)]; }

  private:
    std::map<std::string, std::int64_t> numbers_;
    std::vector<std::string> names_;
};

class Replay {
  public:
    Replay(share::ShareRule rule, double clamp) : clock_(rule, clamp) {}

    void apply(const Object& event) {
        event.only({"t", "user", "quota", "submit", "move", "done", "leave"});
        const double t = event.number("t", {-kMost, kMost});
        if (t < last_t_) throw InputError(event.place("t"), "is before the event in front of it");
        last_t_ = t;
        int kinds = 0;
        for (const char* kind : {"quota", "submit", "move", "done", "leave"}) kinds += event.has(kind);
        if (kinds != 1) throw InputError(event.place(), "has exactly one of quota, submit, move, done, leave");
        try {
            carry_out(event, t, users_.number(event.text("user")));
        } catch (const share::ShareError& e) {
            throw InputError(event.place(), e.what());
        }
    }

    /// After `event`.
    Json tags(const Object& event) const {
        const auto number = [&](double tag) {
            if (std::isfinite(tag)) return tag;
            throw InputError(event.place(), "tags grow beyond all numbers: take quotas that differ less");
        };
        Json lst = Json::object(), start = Json::object(), end = Json::object(), order = Json::array();
        for (const auto& [id, user] : clock_.users())
            if (user.known) lst[users_.name(id)] = number(user.lst);
        for (const share::BatchTags& b : clock_.batches()) {
            start[batches_.name(b.id)] = number(b.start);
            end[batches_.name(b.id)] = number(b.end);
        }
        for (const auto id : clock_.order()) order.push_back(batches_.name(id));
        return {{"lst", std::move(lst)},
                {"lst_start", std::move(start)},
                {"let", std::move(end)},
                {"order", std::move(order)}};
    }

  private:
    void carry_out(const Object& event, double t, share::UserId user) {
        if (event.has("quota")) return clock_.set_quota(t, user, event.number("quota"));
        if (event.has("leave")) {
            if (!event.boolean("leave")) throw InputError(event.place("leave"), "must be true");
            return clock_.leave(t, user);
        }
        if (event.has("submit")) {
            const Object what = event.object("submit");
            what.only({"batch", "seconds"});
            return clock_.submit(t, user, batches_.number(what.text("batch")), what.number("seconds", {-kMost, kMost}));
        }
        if (event.has("move")) {
            const Object what = event.object("move");
            what.only({"batch", "before"});
            return clock_.move(user, batches_.number(what.text("batch")), batches_.number(what.text("before")));
        }
        const Object what = event.object("done");
        what.only({"batch", "seconds"});
        const auto batch = batches_.number(what.text("batch"));
        if (clock_.batch(batch).user != user) throw share::ShareError("the batch is another user's");
        clock_.finish(batch, what.number("seconds", {0, kMost}));
    }

    share::LogicalClock clock_;
    NumberedNames users_, batches_;
    double last_t_ = std::numeric_limits<double>::lowest();
};

}  // namespace

std::string tags_after_events(const Object& document) {
    document.only({"rule", "clamp", "events"});
    const std::string rule = document.has("rule") ? document.text("rule") : "settled";
    if (rule != "seed" && rule != "settled") throw InputError("rule", "must be \"seed\" or \"settled\"");
    const double clamp = document.has("clamp") ? document.number("clamp", {0, kMost}) : 86400;
    Replay replay(rule == "seed" ? share::ShareRule::kSeed : share::ShareRule::kSettled, clamp);
    Json after = Json::array();
    for (const Object& event : document.objects("events")) {
        replay.apply(event);
        after.push_back(replay.tags(event));
    }
    return Json{{"after", std::move(after)}}.dump(2) + "\n";
}

}  // namespace sluice
