// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/brake.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/base/log.h"

namespace sluice {
namespace {

using Files = OutputCheck::Files;

/// Fewer can be lost by chance.
constexpr int kFew = 5;
/// s after which a missing file says nothing about the others.
constexpr std::int64_t kNews = 86400;

/// Readable less unreadable, of each user or host; how many are above and below 0.
std::pair<std::int64_t, std::int64_t> voters(const std::map<Id, int>& votes) {
    return {std::ranges::count_if(votes, [](const auto& v) { return v.second > 0; }),
            std::ranges::count_if(votes, [](const auto& v) { return v.second < 0; })};
}

}  // namespace

void ReadMemory::add(FileReading look) {
    if (look.files == Files::kNone) return;
    tallies_.clear();
    look.first = look.at;
    if (const auto known = place_.find(look.result); known != place_.end()) {
        const auto before = looks_.find(known->second);
        if (before->second.files == Files::kMissing) look.first = before->second.first;
        looks_.erase(before);
    }
    place_[look.result] = ++added_;
    looks_.emplace(added_, std::move(look));
    while (looks_.size() > most_) {
        place_.erase(looks_.begin()->second.result);
        looks_.erase(looks_.begin());
    }
}

const ReadMemory::Tally& ReadMemory::tally(double since, std::int64_t now) const {
    const auto [at, is_new] = tallies_.try_emplace({since, now});
    if (!is_new) return at->second;
    Tally& t = at->second;
    std::map<Id, int> votes;
    for (const auto& [place, look] : looks_) {
        if (look.at < since) continue;
        if (look.files == Files::kMissing && look.received + kNews < now) {
            ++t.old;
            continue;
        }
        const bool read = look.files == Files::kRead;
        (read ? t.readable : t.unreadable) += 1;
        votes[look.whose] += read ? 1 : -1;
    }
    const auto [for_tree, against] = voters(votes);
    t.most_for = for_tree >= against;
    return t;
}

bool ReadMemory::vouches_against(Id result, std::int64_t now) const {
    const auto place = place_.find(result);
    if (place == place_.end()) return false;
    const FileReading& asked = looks_.at(place->second);
    const Tally& t = tally(asked.first, now);
    if (t.readable > t.unreadable || (t.readable >= kFew && t.most_for)) return true;
    return asked.received + kLongOutage < now && t.unreadable + t.old < kFew;
}

std::string doubt_of(bool sure, const std::string& file, const UploadTree& tree) {
    if (!sure) return "too few files of other results can be read to call it lost";
    if (file.empty()) return "";
    if (const auto there = tree.elsewhere(file))
        return "it lies in " + there->string() + ": was <uldl_dir_fanout> changed?";
    return "";
}

void ReadTally::add(const FileReading& look) {
    if (look.files == Files::kNone) return;
    looks_.push_back(look);
    (look.files == Files::kRead ? readable_ : look.files == Files::kMissing ? missing_ : shut_) += 1;
    if (first_.empty() && look.files != Files::kRead) first_ = look.why;
}

bool ReadTally::most_unreadable() const {
    std::map<Id, int> votes;
    for (const FileReading& look : looks_) votes[look.whose] += look.files == Files::kRead ? 1 : -1;
    const auto [for_tree, against] = voters(votes);
    const int unreadable = missing_ + shut_;
    return unreadable >= kFew && unreadable > readable_ && against > for_tree;
}

std::string ReadTally::text() const {
    return fmt::format("the files of {} of {} results can't be read, the first: {}", missing_ + shut_, looks_.size(),
                       first_);
}

void Brake::hold(const ReadTally& tally, const char* doing, double now) {
    if (!said_.take(now)) return;
    const bool nothing = tally.most_shut() || tally.none_readable();
    log_critical("{} {}: {}; looked at again every {:.0f} s", nothing ? "nothing is" : "only what can be read is",
                 doing, tally.text(), kHold);
}

}  // namespace sluice
