// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// antique_file_deleter: uploads that belong to no workunit any more, and uploads that were never finished. They are
// files of the upload folder that are older than every workunit, and older than 32 days.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/db/cleaning_store.h"

namespace sluice {

/// Files that were changed at this time or before may go. `oldest_workunit`: its create_time.
std::int64_t antique_limit(std::int64_t now, std::int64_t oldest_workunit);

struct AntiqueOptions {
    std::filesystem::path upload_dir = {};
    int fanout = 0;
    std::optional<uid_t> owner{};  ///< only files of this account; nullopt: whoever's they are
    bool dry_run = false;
    int pause = 50000;                   ///< microseconds after each deletion
    std::function<void(int)> wait = {};  ///< sleeps so many microseconds; empty: usleep(). For tests.
};

/// Once over the upload folder.
class AntiqueFiles final : public Service {
  public:
    /// Both outlive it.
    AntiqueFiles(AntiqueOptions options, CleaningStore& store, const Clock& clock);
    Turn turn() override;

  private:
    struct Counts {
        std::int64_t looked_at = 0, deleted = 0;
    };
    void clean(const std::filesystem::path& folder, std::int64_t limit);
    void look_at(int folder, const std::filesystem::path& path, const char* name, std::int64_t limit);

    AntiqueOptions options_;
    CleaningStore& store_;
    const Clock& clock_;
    Counts counts_;
};

}  // namespace sluice
