// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Jobs in the array that no host takes: since when, how often they were passed over, and how many hosts of the last day
// have room for them.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "feeder/array_mirror.h"
#include "sluice/db/feeder_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/hr_info.h"
#include "sluice/model/project_tables.h"

namespace sluice {

class StarvationWatch {
  public:
    /// Since when it is on offer. A job that gave way to others meanwhile keeps its age, which ends the reservation for
    /// low-turnaround hosts.
    double offered(Id result, double now);
    void taken(Id result) { waits_.erase(result); }
    /// It gave way; its counts in the array are lost with the slot.
    void withdrawn(Id result, std::uint32_t passed_over);
    /// It gave way to others; how often that makes.
    int rotated(Id result);
    std::size_t size() const { return waits_.size(); }

    struct Finding {
        std::size_t jobs = 0;  ///< waiting for longer than asked for, and passed over at least once
        Id oldest = 0;
        double waited = 0;  ///< of the oldest
        std::uint64_t passed_over = 0;
        std::size_t slot = 0;
    };
    /// nullopt: nobody starves.
    std::optional<Finding> find(const ArrayMirror& mirror, const JobArray& array, double now, double age) const;

  private:
    struct Wait {
        double since = 0;
        std::uint64_t passed_over = 0;  ///< in slots it had before
        int rotations = 0;
    };
    std::unordered_map<Id, Wait> waits_;
};

/// One line for the log.
std::string starvation_text(const StarvationWatch::Finding& finding, const JobSummary& job, const std::string& app,
                            const std::optional<HostFit>& fit);

// Homogeneous redundancy and the job array: with <hr_allocate_slots>, half of the slots of an HR type are for jobs that
// are not committed to a class yet, the other half is divided among the classes by their recent credit (hr_info.txt,
// written by census), at least one slot each. Upstream: hr.cpp, hr_info.cpp.

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
