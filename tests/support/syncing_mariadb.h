// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A server that keeps what it commits, as Debian ships it: the log is written and synced at each commit
// (innodb_flush_log_at_trx_commit=1), files are opened with O_DIRECT, and there is no binary log that could be synced.
#include "tests/support/private_mariadb.h"

namespace sluice::test {

/// `memory_mb`: of the buffer pool; the log gets a quarter.
inline MariaDbOptions syncing_mariadb(int memory_mb = 64) {
    return {.flush_log_at_trx_commit = 1,
            .more = {"--innodb-flush-method=O_DIRECT", "--innodb-buffer-pool-size=" + std::to_string(memory_mb) + "M",
                     "--innodb-log-file-size=" + std::to_string(std::max(memory_mb / 4, 8)) + "M"}};
}

}  // namespace sluice::test
