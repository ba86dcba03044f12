// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which app versions a host returns quickly: `sluice_host_ltt`, a table of our own beside host.error_rate (seed 004:
// the one flag of a host "won't work as intended where a host succeeds with CPU versions but fails with GPU versions").
// batch_stats keeps it at compat_level 1; the table does not exist before.
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

struct VersionTurnaround {
    Id host_id = 0;
    Id version = 0;    ///< generalized_version_id()
    bool ltt = false;  ///< low turnaround time
    double ratio = 0;  ///< mean of turnaround / median of the batch
    int jobs = 0;      ///< that it rests on
};

class HostLttStore {
  public:
    virtual ~HostLttStore() = default;
    /// What is known of one host; empty if nothing is, or if batch_stats never ran at level 1. One statement.
    virtual std::vector<VersionTurnaround> of_host(Id host) = 0;
    /// Every row, by host and version.
    virtual void all(const std::function<void(const VersionTurnaround&)>& row) = 0;
    /// Makes the table if it is missing; rows are inserted or replaced, then those of `gone` (host, version) deleted.
    virtual void write(std::span<const VersionTurnaround> rows, std::span<const std::pair<Id, Id>> gone) = 0;
};
std::unique_ptr<HostLttStore> make_host_ltt_store(Database& db);

}  // namespace sluice
