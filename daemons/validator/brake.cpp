#include "daemons/validator/brake.h"

#include <fmt/core.h>

#include <algorithm>

#include "sluice/base/log.h"

namespace sluice {
namespace {

/// Fewer can be lost by chance.
constexpr int kFew = 5;

}  // namespace

void ReadTally::add(Id whose, const std::string& unreadable) {
    votes_[whose] += unreadable.empty() ? 1 : -1;
    (unreadable.empty() ? readable_ : unreadable_) += 1;
    if (first_.empty()) first_ = unreadable;
}

bool ReadTally::most_unreadable() const {
    const auto against = std::ranges::count_if(votes_, [](const auto& v) { return v.second < 0; });
    const auto in_favour = std::ranges::count_if(votes_, [](const auto& v) { return v.second > 0; });
    return unreadable_ >= kFew && unreadable_ > readable_ && against > in_favour;
}

std::string ReadTally::text() const {
    return fmt::format("the files of {} of {} results can't be read, the first: {}", unreadable_,
                       unreadable_ + readable_, first_);
}

void Brake::hold(const ReadTally& tally, const char* doing, double now) {
    if (said_.take(now)) log_critical("nothing is {}: {}; looked at again every {:.0f} s", doing, tally.text(), kHold);
}

}  // namespace sluice
