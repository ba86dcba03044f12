// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What db_dump reads: the rows that a project publishes for statistics sites, streamed, and what goes with them.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

enum class DumpOrder { kNone, kId, kTotalCredit, kRecentCredit };  ///< both credits: the most first

struct DumpedUser {
    Id id = 0;
    std::string name, country, url, email_addr, cross_project_id;
    std::int64_t create_time = 0;
    double total_credit = 0, expavg_credit = 0, expavg_time = 0;
    Id teamid = 0;
    bool has_profile = false;
};
struct DumpedHost {
    Id id = 0, userid = 0;
    bool owner_is_there = false, show_owner = false;
    double total_credit = 0, expavg_credit = 0, expavg_time = 0;
    std::string p_vendor, p_model, os_name, os_version, misc;
    std::int64_t create_time = 0, rpc_time = 0;
    int timezone = 0, ncpus = 0;
    double p_fpops = 0, p_iops = 0, p_membw = 0, m_nbytes = 0, m_cache = 0, m_swap = 0, d_total = 0, d_free = 0;
    double n_bwup = 0, n_bwdown = 0, avg_turnaround = 0, credit_per_cpu_sec = 0;
    std::string host_cpid;
};
struct DumpedTeam {
    Id id = 0, userid = 0;
    int type = 0;
    std::string name, founder_name, url, name_html, description, country;
    double total_credit = 0, expavg_credit = 0, expavg_time = 0;
    std::int64_t create_time = 0;
};
struct DeletedRow {
    Id id = 0;
    std::string cpid;
};
struct DumpTotals {
    std::int64_t users = 0, teams = 0, hosts = 0, users_deleted = 0, hosts_deleted = 0;
    double total_credit = 0;  ///< of all users
};
struct DumpedBadge {
    Id id = 0;
    std::string name, title, image_url;
};
struct BadgeHolder {
    Id owner = 0, badge = 0;
    double create_time = 0;
};

struct CreditByApp {
    Id owner = 0;
    std::string app;  ///< as volunteers see it; empty: no credit by app is kept of this owner
    std::int64_t jobs = 0;
    double total = 0, recent = 0;
};

class DumpStore {
  public:
    virtual ~DumpStore() = default;
    /// The project asks its users whether their statistics may be published.
    virtual bool needs_consent() = 0;
    /// Users with credit, without accounts that were deleted; `consenting`: only who agreed. `team`: its members, also
    /// those without credit; 0: all users.
    virtual void users(DumpOrder order, bool consenting, Id team,
                       const std::function<void(const DumpedUser&)>& row) = 0;
    /// Hosts with credit and an owner, but deleted ones; `consenting`: only of owners who agreed.
    virtual void hosts(DumpOrder order, bool consenting, const std::function<void(const DumpedHost&)>& row) = 0;
    /// Teams with credit; `consenting`: without the number and name of a founder who did not agree.
    virtual void teams(DumpOrder order, bool consenting, const std::function<void(const DumpedTeam&)>& row) = 0;
    virtual void deleted_users(const std::function<void(const DeletedRow&)>& row) = 0;
    virtual void deleted_hosts(const std::function<void(const DeletedRow&)>& row) = 0;
    /// Of the users that users() shows, or of teams with credit: by owner, then by app. At least one row for each.
    virtual void credit_by_app(bool teams, bool consenting, const std::function<void(const CreditByApp&)>& row) = 0;
    virtual DumpTotals totals() = 0;
    virtual std::vector<std::string> app_names() = 0;  ///< as volunteers see them
    virtual std::vector<DumpedBadge> badges() = 0;     ///< none where the web site's tables are not there
    /// `consenting`: of users only those who agreed.
    virtual void badge_holders(bool teams, bool consenting, const std::function<void(const BadgeHolder&)>& row) = 0;
};

/// `db` outlives the store.
std::unique_ptr<DumpStore> make_dump_store(Database& db);

}  // namespace sluice
