// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/eta_record.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr std::size_t kMostSaid = 64;      ///< of a batch
constexpr std::size_t kMostBatches = 200;  ///< that are remembered
constexpr double kStoredWeight = 5;        ///< batches
constexpr double kMoment = 60;             ///< s
constexpr double kTail = 0.05;             ///< outside on each side: a tenth, and some for what is learnt from few
constexpr double kLeastFactor = 0.01, kMostFactor = 100;

/// Between what was stored and what `batches` batches say; factors are multiplied, so their logarithms are averaged.
double blend(double stored, double learnt, double batches) {
    const double from = kStoredWeight * std::log(std::clamp(stored, kLeastFactor, kMostFactor));
    return std::exp((from + batches * std::log(std::clamp(learnt, kLeastFactor, kMostFactor))) /
                    (kStoredWeight + batches));
}

}  // namespace

void EtaRecord::expect(Id batch, double now, double end) {
    if (end - now < kMoment) return;
    Open& o = open_[batch];
    if (o.passes++ % o.every != 0) return;
    o.said.push_back({now, end});
    if (o.said.size() < kMostSaid) return;
    for (std::size_t i = 0; 2 * i < o.said.size(); ++i) o.said[i] = o.said[2 * i];
    o.said.resize(kMostSaid / 2);
    o.every *= 2;
}

std::vector<Id> EtaRecord::open() const {
    std::vector<Id> ids;
    for (const auto& [id, o] : open_) ids.push_back(id);
    return ids;
}

void EtaRecord::ended(Id batch, double at) {
    const auto known = open_.find(batch);
    if (known == open_.end()) return;
    std::vector<Ratio> ratios;
    for (const Said& s : known->second.said)
        if (at > s.at) ratios.push_back({(at - s.at) / std::max(s.end - s.at, 1.0), double(known->second.every)});
    open_.erase(known);
    if (ratios.empty()) return;
    done_.push_back(std::move(ratios));
    if (done_.size() > kMostBatches) done_.pop_front();
}

EtaFactors EtaRecord::factors() const {
    std::vector<Ratio> all;
    double weight = 0;
    for (const auto& batch : done_)
        for (const Ratio& r : batch) all.push_back(r), weight += r.weight;
    if (all.empty()) return stored_;
    std::sort(all.begin(), all.end(), [](const Ratio& a, const Ratio& b) { return a.times < b.times; });
    const auto quantile = [&](double part) {
        double sum = 0;
        for (const Ratio& r : all)
            if ((sum += r.weight) >= part * weight) return r.times;
        return all.back().times;
    };
    const auto batches = static_cast<double>(done_.size());
    return {blend(stored_.least, quantile(kTail), batches), blend(stored_.most, quantile(1 - kTail), batches)};
}

}  // namespace sluice
