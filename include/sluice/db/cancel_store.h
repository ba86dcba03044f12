// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What cancel_jobs writes.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

/// Which workunits are cancelled: those that fulfil all that is said here.
struct CancelFilter {
    std::optional<Id> first{}, last{};  ///< ids, both included
    std::optional<Id> batch{}, appid{};
    std::optional<std::string> name{};       ///< exactly
    std::optional<std::string> name_like{};  ///< with the wildcards % and _ of SQL's LIKE
};

struct Cancelled {
    std::int64_t workunits = 0;
    std::int64_t unsent = 0;       ///< results that no host gets any more
    std::int64_t in_progress = 0;  ///< results that their hosts are told to abort

    Cancelled& operator+=(const Cancelled& other) {
        workunits += other.workunits, unsent += other.unsent, in_progress += other.in_progress;
        return *this;
    }
};

class CancelStore {
  public:
    virtual ~CancelStore() = default;
    virtual std::optional<Id> app_id(const std::string& name) = 0;
    /// The next `limit` workunits above `after`, ascending.
    virtual std::vector<Id> page(const CancelFilter& filter, Id after, int limit) = 0;
    /// What cancel() would do to them.
    virtual Cancelled count(const std::vector<Id>& workunits) = 0;
    /// In one transaction: each gets the error bit of a cancelled workunit and is due at `now`, results that were not
    /// sent are over and not needed. May be repeated.
    virtual Cancelled cancel(const std::vector<Id>& workunits, std::int64_t now) = 0;
};

/// `db` outlives the store.
std::unique_ptr<CancelStore> make_cancel_store(Database& db);

}  // namespace sluice
