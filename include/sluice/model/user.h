// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of the database, as plain values. Names, units and meaning are those of db/schema.sql; times are
// UNIX seconds, sizes bytes, speeds flops per second. Only columns that some part of Sluice reads are here.
#include <cstdint>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

struct User {
    Id id = 0;
    std::int64_t create_time = 0;
    std::string email_addr, name, authenticator, passwd_hash;
    double total_credit = 0, expavg_credit = 0, expavg_time = 0;
    std::string global_prefs, project_prefs, venue;
    Id teamid = 0;
    Id seti_id = 0;  ///< nonzero: "only run jobs on my computers"
    std::string cross_project_id;
};

struct Team {
    Id id = 0;
    std::string name;
};

}  // namespace sluice
