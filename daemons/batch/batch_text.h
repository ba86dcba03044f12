// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What sluice_batch prints of batches: tables for people, JSON for programs.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "daemons/batch/pack.h"
#include "daemons/batches/owners_page.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/batch_watch_store.h"
#include "sluice/model/eta.h"

namespace sluice {

/// A batch as it is now.
struct BatchView {
    OwnedBatch batch;
    BatchProgress progress{};                ///< counted from its workunits
    std::optional<BatchCost> cost = {};      ///< of `show` only
    double now = 0;                          ///< when it was looked at
    EtaFactors eta_factors = {};             ///< how sure an ETA is
    std::string no_eta = {};                 ///< of `show` only: why there is no ETA
    std::optional<GangsOfBatch> gangs = {};  ///< of `show` only
    std::vector<BatchEvent> notes = {};      ///< what batch_watch noted of it

    /// When it will be over, as published; nullopt: not known, or no more to be done.
    std::optional<double> eta() const;
    /// Sent instances per workunit of which one was sent.
    std::optional<double> instances_per_workunit() const;
    double wasted_core_hours() const { return cost ? cost->wasted_seconds / 3600 : 0; }
};

/// Columns padded to their widest cell, the first row is the head; numbers (`right`: by column) stand right.
std::string text_table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

/// How many wait and how many hosts are missing, and what the first of them waits for.
std::string gangs_text(const GangsOfBatch& gangs);
std::string gangs_json(const GangsOfBatch& gangs);

std::string list_text(const std::vector<BatchView>& batches);
std::string list_json(const std::vector<BatchView>& batches);
std::string show_text(const BatchView& batch);
std::string show_json(const BatchView& batch);
std::string packed_text(const Batch& batch, const std::filesystem::path& archive, const Packed& packed);
std::string packed_json(Id batch, const std::filesystem::path& archive, const Packed& packed);

/// "[########            ]  40 %  4000 jobs, 12 s left" of a bar that is 20 wide. `fraction` of the input that was read
/// in `seconds`; below 0: not known, then the jobs alone.
std::string progress_text(double fraction, std::size_t jobs, double seconds);

}  // namespace sluice
