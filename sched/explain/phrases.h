#pragma once
#include <string>

#include "sluice/match/verdict.h"

namespace sluice {

/// What was measured and what was needed, as a person reads it: "needs 2.0 GB, host allows 1.6 GB". Empty: the reason's
/// name says all.
std::string phrase(const Verdict& verdict);
/// 1 GB = 1e9 bytes.
std::string bytes_text(double bytes);
/// "2000 s", "3.5 h", "12.0 d".
std::string duration_text(double seconds);

}  // namespace sluice
