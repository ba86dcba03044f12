// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Homogeneous redundancy and the job array: with <hr_allocate_slots>, half of the slots of an HR type are for jobs that
// are not committed to a class yet, the other half is divided among the classes by their recent credit (hr_info.txt,
// written by census), at least one slot each. Upstream: hr.cpp, hr_info.cpp.
#include <array>
#include <string>
#include <vector>

#include "sluice/model/hr_info.h"
#include "sluice/model/project_tables.h"

namespace sluice {

/// The HR type of an app: its own or the project's.
int hr_type_of(const App& app, int project_type);
/// What is wrong with the HR settings; empty: nothing. `strict`: apps of different types need --allapps (upstream).
std::string hr_misconfiguration(const std::vector<App>& apps, int project_type, bool allapps, bool strict);

class HrQuota {
  public:
    /// No limits.
    HrQuota() = default;
    /// `slots` by type.
    HrQuota(const HrInfo& info, const std::array<int, kHrTypes>& slots);

    bool limits() const { return limits_; }
    /// Is there room for one more job of this type and class?
    bool accepts(int type, int hr_class) const;
    void add(int type, int hr_class, int n = 1);
    int limit(int type, int hr_class) const;
    void clear_counts();

  private:
    bool limits_ = false;
    std::array<std::vector<int>, kHrTypes> limit_{}, count_{};
};

/// Slots by HR type: all to the project's type, or (with --allapps) by weight of the apps.
std::array<int, kHrTypes> hr_slots(const std::vector<App>& apps, int project_type, int slots);

}  // namespace sluice
