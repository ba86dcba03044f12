// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/backlog.h"

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr Id kLeast = std::numeric_limits<Id>::min();
constexpr int kLeastClass = std::numeric_limits<int>::min();

bool same_part(const StreamKey& a, const StreamKey& b) {
    return a.app == b.app && a.user == b.user && a.part == b.part;
}

}  // namespace

void set_place(QueuedJob& c, FeederOrder order, double draw) {
    const auto priority = static_cast<double>(c.row.priority);
    c.minor = 0;
    switch (order) {
        case FeederOrder::kDefault:
        case FeederOrder::kByBatch:
        case FeederOrder::kBatchAccel:
        case FeederOrder::kShares:
            c.major = -priority;
            c.minor = c.row.workunit_id;
            break;
        case FeederOrder::kPriority: c.major = -priority; break;
        case FeederOrder::kPriorityAsc: c.major = priority; break;
        case FeederOrder::kRandomColumn: c.major = static_cast<double>(c.row.random); break;
        case FeederOrder::kRandom: c.major = draw; break;
    }
}

bool Backlog::insert(const QueuedJob& queued) {
    if (places_.count(queued.row.id) != 0) return false;
    places_[queued.row.id] = lines_[queued.stream].insert(queued).first;
    return true;
}

const QueuedJob* Backlog::find(Id result) const {
    const auto place = places_.find(result);
    return place == places_.end() ? nullptr : &*place->second;
}

QueuedJob Backlog::extract(Lines::iterator line, Line::iterator place) {
    const QueuedJob queued = *place;
    line->second.erase(place);
    if (line->second.empty()) lines_.erase(line);
    places_.erase(queued.row.id);
    return queued;
}

bool Backlog::remove(Id result) {
    const auto place = places_.find(result);
    if (place == places_.end()) return false;
    extract(lines_.find(place->second->stream), place->second);
    return true;
}

void Backlog::clear() {
    lines_.clear();
    places_.clear();
}

Backlog::Lines::const_iterator Backlog::best_line(const StreamKey& stream, const Accepts& accepts) const {
    auto best = lines_.end();
    auto line = lines_.lower_bound({stream.app, stream.user, stream.part, kLeastClass});
    for (; line != lines_.end() && same_part(line->first, stream); ++line) {
        if (accepts && !accepts(line->first)) continue;
        if (best == lines_.end() || *line->second.begin() < *best->second.begin()) best = line;
    }
    return best;
}

std::optional<QueuedJob> Backlog::take(const StreamKey& stream, const Accepts& accepts) {
    const auto found = best_line(stream, accepts);
    if (found == lines_.end()) return std::nullopt;
    const auto line = lines_.find(found->first);
    return extract(line, line->second.begin());
}

bool Backlog::has(const StreamKey& stream, const Accepts& accepts) const {
    return best_line(stream, accepts) != lines_.end();
}

Backlog::Lines::const_iterator Backlog::end_of(Id app, Id user) const {
    return lines_.upper_bound({app, user, std::numeric_limits<Id>::max(), std::numeric_limits<int>::max()});
}

std::optional<Id> Backlog::next_part(Id app, Id user, Id after, const Accepts& accepts) const {
    const auto first_usable = [&](Lines::const_iterator from, Lines::const_iterator to) -> std::optional<Id> {
        for (; from != to; ++from) {
            if (!accepts || accepts(from->first)) return from->first.part;
        }
        return std::nullopt;
    };
    const auto begin = lines_.lower_bound({app, user, kLeast, kLeastClass});
    const auto behind = lines_.upper_bound({app, user, after, std::numeric_limits<int>::max()});
    const auto end = end_of(app, user);
    if (const auto part = first_usable(behind, end)) return part;
    return first_usable(begin, behind);
}

std::vector<Id> Backlog::parts(Id app, Id user) const {
    std::vector<Id> all;
    const auto end = end_of(app, user);
    for (auto line = lines_.lower_bound({app, user, kLeast, kLeastClass}); line != end; ++line)
        if (all.empty() || all.back() != line->first.part) all.push_back(line->first.part);
    return all;
}

std::size_t Backlog::trim(std::size_t most) {
    std::size_t dropped = 0;
    while (places_.size() > most) {
        const auto longest = std::max_element(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) {
            return a.second.size() < b.second.size();
        });
        // Several at once: looking for the longest line costs more than dropping from it.
        const std::size_t n = std::min(places_.size() - most, 1 + longest->second.size() / 8);
        for (std::size_t i = 1; i < n; ++i) extract(longest, std::prev(longest->second.end()));
        extract(longest, std::prev(longest->second.end()));
        dropped += n;
    }
    return dropped;
}

std::map<StreamKey, std::size_t> Backlog::lengths() const {
    std::map<StreamKey, std::size_t> all;
    for (const auto& [key, line] : lines_) all[key] = line.size();
    return all;
}

}  // namespace sluice
