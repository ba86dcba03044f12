// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Credit for a valid result. Upstream's adaptive system ("CreditNew"): peak flop count (PFC) claims are scaled by the
// version's and the host's record so that versions and hosts get the same for the same job. Constants and formulas:
// upstream behaviour.
#include <vector>

#include "sluice/model/records.h"

namespace sluice {

enum class CreditMode { kAdaptive, kFromWorkunit, kFromRuntime, kNone };

/// One credit unit a day for 1/200 of a GFLOPS machine.
inline constexpr double kCobblestone = 200.0 / 86400e9;

/// What one valid result claims.
struct CreditClaim {
    enum class Kind { kNormal, kApprox, kInvalid };
    Kind kind = Kind::kApprox;
    double pfc = 0;  ///< scaled
    double raw_pfc = 0;
    bool outlier = false;  ///< not used for averages
    /// Sample for pfc averages (raw_pfc / rsc_fpops_est); < 0: none.
    double pfc_sample = -1;
    double et_sample = -1;  ///< elapsed / rsc_fpops_est
};

struct CreditInputs {
    const App& app;
    const Workunit& wu;
    double max_granted_credit = 73000000;
};

/// `hav` and `version` may be null (unknown).
CreditClaim claim_of(const Result& result, const HostAppVersion* hav, const AppVersion* version,
                     const CreditInputs& in);

/// The credit all valid results of the workunit get (adaptive mode).
double grant(const std::vector<CreditClaim>& claims, const CreditInputs& in);

/// credit_from_runtime: flops_estimate * elapsed, capped.
double runtime_credit(const std::vector<const Result*>& results, const CreditInputs& in);

}  // namespace sluice
