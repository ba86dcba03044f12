// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/credit.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr double kMinHostSamples = 10, kMinVersionSamples = 100, kMaxHostScale = 10;
constexpr double kTypicalFlops = 4.3e9;  ///< upstream's figure for a CPU when a host's speed is not known
constexpr int kConsecutiveValid = 10;

bool host_scale_allowed(const HostAppVersion& hav, const App& app) {
    return hav.pfc_n >= kMinHostSamples && hav.pfc_avg > 0 &&
           (!app.host_scale_check || hav.consecutive_valid >= kConsecutiveValid);
}

/// What the job should take, where no record says better.
double estimated_pfc(const CreditInputs& in) {
    return in.wu.rsc_fpops_est * (in.app.min_avg_pfc > 0 ? in.app.min_avg_pfc : 1);
}

void scale_anonymous(CreditClaim& c, const HostAppVersion* hav, const CreditInputs& in) {
    if (hav != nullptr && host_scale_allowed(*hav, in.app)) {
        c.pfc = c.raw_pfc * in.app.min_avg_pfc / hav->pfc_avg;
    } else {
        c.pfc = estimated_pfc(in);
    }
}

void scale_normal(CreditClaim& c, const HostAppVersion* hav, const AppVersion& version, const CreditInputs& in) {
    bool version_scaled = false, host_scaled = false;
    c.pfc = c.raw_pfc;
    if (version.pfc_scale > 0) {
        c.pfc *= version.pfc_scale;
        version_scaled = true;
    }
    if (hav != nullptr && version.pfc_n >= kMinVersionSamples && host_scale_allowed(*hav, in.app)) {
        c.pfc *= std::min(version.pfc_avg / hav->pfc_avg, kMaxHostScale);
        host_scaled = true;
    }
    if (version_scaled && host_scaled) c.kind = CreditClaim::Kind::kNormal;
}

/// Mean in which values far from `anchor` count less.
double pegged_average(const std::vector<double>& values, double anchor) {
    double sum = 0, weights = 0;
    for (const double v : values) {
        const double w = 1 / (0.1 * anchor + std::abs(anchor - v));
        sum += w * v;
        weights += w;
    }
    return weights > 0 ? sum / weights : anchor;
}

}  // namespace

CreditClaim claim_of(const Result& r, const HostAppVersion* hav, const AppVersion* version, const CreditInputs& in) {
    CreditClaim c;
    c.outlier = r.runtime_outlier;  // the project's own code may say so
    const double elapsed = r.elapsed_time < 1e-6 ? r.cpu_time : r.elapsed_time;
    double flops = r.flops_estimate;
    if (!(flops > 0) || flops == 1e9) {  // 1e9 is a client that was never benchmarked
        flops = kTypicalFlops;
        c.outlier = true;
    }
    c.raw_pfc = elapsed * flops;
    if (hav != nullptr && r.app_version_id < 0)
        scale_anonymous(c, hav, in);
    else if (hav != nullptr && version != nullptr)
        scale_normal(c, hav, *version, in);
    else
        c.pfc = estimated_pfc(in);
    c.pfc = std::min(c.pfc, in.wu.rsc_fpops_bound);
    if (in.max_granted_credit > 0 && c.pfc * kCobblestone > in.max_granted_credit) {
        c.kind = CreditClaim::Kind::kInvalid;
        c.pfc = in.max_granted_credit / kCobblestone;
    }
    if (in.wu.rsc_fpops_est > 0 && hav != nullptr && !c.outlier) {
        const double x = c.raw_pfc / in.wu.rsc_fpops_est;
        if (x >= 1e-4 && x <= 1e4) c.pfc_sample = x;
        if (elapsed > 0) c.et_sample = elapsed / in.wu.rsc_fpops_est;  // old clients report CPU time only
    }
    return c;
}

double grant(const std::vector<CreditClaim>& claims, const CreditInputs& in) {
    std::vector<double> normal, all;
    for (const CreditClaim& c : claims) {
        if (c.kind == CreditClaim::Kind::kInvalid) continue;
        if (c.kind == CreditClaim::Kind::kNormal) {
            normal.push_back(c.pfc);
            all.push_back(c.pfc);  // twice: a normal claim counts as two approximate ones
        }
        all.push_back(c.pfc);
    }
    const double anchor = std::max(estimated_pfc(in), 1.0);
    double credit = pegged_average(normal.size() >= 2 ? normal : all, anchor) * kCobblestone;
    if (in.max_granted_credit > 0) credit = std::min(credit, in.max_granted_credit);
    return credit;
}

double runtime_credit(const std::vector<const Result*>& results, const CreditInputs& in) {
    std::vector<double> claims;
    for (const Result* r : results) {
        double pfc = r->flops_estimate * r->elapsed_time;
        if (pfc > 2 * in.wu.rsc_fpops_bound) pfc = in.wu.rsc_fpops_bound;
        const double credit = pfc * kCobblestone;
        if (credit > 0 && (in.max_granted_credit <= 0 || credit <= in.max_granted_credit)) claims.push_back(credit);
    }
    if (claims.empty()) return 0;
    if (claims.size() == 1) return claims.front();
    // Each is weighted by the sum of the others: the mean leans to the low claims.
    double total = 0, sum = 0, weights = 0;
    for (const double c : claims) total += c;
    for (const double c : claims) {
        sum += c * (total - c);
        weights += total - c;
    }
    return sum / weights;
}

}  // namespace sluice
