// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of Sluice's own tables that stand for hosts, users, batches, jobs and days that are gone: nothing reads them any
// more, and nothing else removes them. For update_stats.
#include <memory>
#include <string_view>

#include "sluice/db/database.h"

namespace sluice {

class GoneRowsStore {
  public:
    static constexpr int kAtOnce = 1000;  ///< rows a DELETE
    virtual ~GoneRowsStore() = default;
    /// Kinds of rows that can be gone, by number from 0 on; the name of a kind's table.
    virtual int kinds() const = 0;
    virtual std::string_view table(int kind) const = 0;
    struct Page {
        Id last = 0;            ///< the page ends here: the next one begins above
        bool end = true;        ///< there is no next one
        std::int64_t rows = 0;  ///< that were removed; in a dry run, keys of rows that would be
    };
    /// Looks at the next `keys` keys above `after` (a host, a batch …), and removes at most kAtOnce rows of those that
    /// are gone, in one statement. If more are left, `last` is `after`. What lives is asked for again, with its row
    /// locked, before anything is removed. A table that is not there has no rows.
    virtual Page remove(int kind, Id after, double now, int keys) = 0;
};

/// `db` outlives the store. `dry_run`: removes nothing. `message_days`: trickle messages that were handled and are
/// older are gone, too; 0: they stay, as with upstream.
std::unique_ptr<GoneRowsStore> make_gone_rows_store(Database& db, bool dry_run, double message_days = 0);

}  // namespace sluice
