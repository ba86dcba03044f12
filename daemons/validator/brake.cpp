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

void ReadMemory::add(Look look) {
    if (look.files == Files::kNone) return;
    look.first = look.at;
    if (const auto known = std::ranges::find(looks_, look.result, &Look::result); known != looks_.end()) {
        if (known->files == Files::kMissing) look.first = known->first;
        looks_.erase(known);
    }
    looks_.push_back(std::move(look));
    if (looks_.size() > kMost) looks_.pop_front();
}

bool ReadMemory::vouches_against(Id result, std::int64_t now) const {
    const auto asked = std::ranges::find(looks_, result, &Look::result);
    if (asked == looks_.end()) return false;
    int readable = 0, unreadable = 0, old = 0;
    std::map<Id, int> votes;
    for (const Look& look : looks_) {
        if (look.at < asked->first) continue;
        if (look.files == Files::kMissing && look.received + kNews < now) {
            ++old;
            continue;
        }
        const bool read = look.files == Files::kRead;
        (read ? readable : unreadable) += 1;
        votes[look.whose] += read ? 1 : -1;
    }
    const auto [for_tree, against] = voters(votes);
    if (readable > unreadable || (readable >= kFew && for_tree >= against)) return true;
    return asked->received + kLongOutage < now && unreadable + old < kFew;
}

std::string doubt_of(bool sure, const std::string& file, const UploadTree& tree) {
    if (!sure) return "too few files of other results can be read to call it lost";
    if (const auto there = tree.elsewhere(file))
        return "it lies in " + there->string() + ": was <uldl_dir_fanout> changed?";
    return "";
}

void ReadTally::add(const Look& look) {
    if (look.files == Files::kNone) return;
    looks_.push_back(look);
    (look.files == Files::kRead ? readable_ : look.files == Files::kMissing ? missing_ : shut_) += 1;
    if (first_.empty() && look.files != Files::kRead) first_ = look.why;
}

bool ReadTally::most_unreadable() const {
    std::map<Id, int> votes;
    for (const Look& look : looks_) votes[look.whose] += look.files == Files::kRead ? 1 : -1;
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
