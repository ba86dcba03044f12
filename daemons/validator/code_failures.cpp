// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/code_failures.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "daemons/validator/upload_tree.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// s that the failures of a workunit take at least: a short outage is nobody's fault.
constexpr std::int64_t kLeastTime = 3600;
/// So many workunits on which the code fails are no broken workunits: the code is.
constexpr std::size_t kManyFailing = 5;
/// Known at the same time; where there are more, the code is broken.
constexpr std::size_t kMostKnown = 10'000;

/// No number of a file is larger: others can be added to it.
constexpr std::int64_t kMostSaid = std::int64_t{1} << 53;
/// s after which a workunit is forgotten that nobody judges any more.
constexpr std::int64_t kKeptFor = 3 * kLongOutage;

}  // namespace

CodeFailures::CodeFailures(std::filesystem::path file) : file_(std::move(file)) {
    if (!file_.empty()) read();
}

void CodeFailures::judged(Id wu) {
    ++judged_;
    changed_ |= !failures_.empty();
    failures_.erase(wu);
}

void CodeFailures::failed(Id wu, std::int64_t now) {
    const auto known = failures_.find(wu);
    if (known == failures_.end() && failures_.size() >= kMostKnown) return;
    changed_ = true;
    if (known == failures_.end()) {
        failures_[wu] = {.count = 1, .all = 1, .first = now, .last = now, .since = judged_, .seen = judged_};
        return;
    }
    Failure& f = known->second;
    ++f.all;
    f.last = now;
    if (judged_ == f.seen) return;
    ++f.count;
    f.seen = judged_;
}

bool CodeFailures::is_to_blame(Id wu, std::int64_t now) const {
    const auto known = failures_.find(wu);
    if (known == failures_.end()) return false;
    const Failure& f = known->second;
    if (f.count >= kMost && f.first + kLeastTime <= now && judged_ - f.since > std::ssize(failures_)) return true;
    return f.all >= kMost && f.first + kLongOutage <= now && failures_.size() < kManyFailing;
}

int CodeFailures::count(Id wu) const {
    const auto known = failures_.find(wu);
    return known == failures_.end() ? 0 : static_cast<int>(known->second.all);
}

void CodeFailures::read() {
    try {
        const std::string text = read_file(file_).value_or("");
        for (const auto line : split(text, '\n')) {
            std::vector<std::int64_t> n;
            for (const auto word : split(line, ' '))
                n.push_back(std::clamp<std::int64_t>(parse_int(word).value_or(0), 0, kMostSaid));
            if (n.size() == 1) judged_ = std::max(judged_, n[0]);
            if (n.size() == 7) failures_[n[0]] = {n[1], n[2], n[3], n[4], n[5], n[6]};
        }
    } catch (const FileError& e) {
        log_warning("{}: how often the project's code failed is counted anew", e.what());
    }
}

void CodeFailures::save(std::int64_t now) {
    changed_ |= std::erase_if(failures_, [now](const auto& f) { return f.second.last + kKeptFor <= now; }) > 0;
    if (!changed_ || file_.empty()) return;
    std::string text = fmt::format("{}\n", judged_);
    for (const auto& [wu, f] : failures_)
        text += fmt::format("{} {} {} {} {} {} {}\n", wu, f.count, f.all, f.first, f.last, f.since, f.seen);
    try {
        write_file_atomically(file_, text);
        changed_ = false;
    } catch (const FileError& e) {
        log_once_an_hour(LogLevel::kWarning,
                         std::string(e.what()) + ": how often the project's code failed is not kept");
    }
}

}  // namespace sluice
