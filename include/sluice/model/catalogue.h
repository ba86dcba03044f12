// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of the database, as plain values. Names, units and meaning are those of db/schema.sql; times are
// UNIX seconds, sizes bytes, speeds flops per second. Only columns that some part of Sluice reads are here.
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

struct Platform {
    Id id = 0;
    std::string name, user_friendly_name;
    bool deprecated = false;
};

struct App {
    Id id = 0;
    std::string name, user_friendly_name;
    int min_version = 0;
    bool deprecated = false;
    HrType homogeneous_redundancy = HrType::kNone;
    double weight = 1;
    bool beta = false;
    int target_nresults = 0;
    double min_avg_pfc = 1;
    bool host_scale_check = false;
    bool homogeneous_app_version = false;
    bool non_cpu_intensive = false;
    int locality_scheduling = 0;
    int n_size_classes = 0;  ///< two meanings upstream: use size_classes() and accelerable()
    bool fraction_done_exact = false;

    /// Number of job size classes; 0 or 1 = the app has no size classes.
    int size_classes() const { return n_size_classes > 1 ? n_size_classes : 0; }
    /// Batch acceleration applies (seed 004: nonzero means accelerable).
    bool accelerable() const { return n_size_classes > 0; }
};

struct AppVersion {
    Id id = 0, appid = 0, platformid = 0;
    int version_num = 0;
    std::string xml_doc;
    int min_core_version = 0, max_core_version = 0;  ///< as loaded for use: values < 10000 are already * 100
    bool deprecated = false;
    std::string plan_class;
    double pfc_n = 0, pfc_avg = 0, pfc_scale = 0, expavg_credit = 0, expavg_time = 0;
    bool beta = false;
};

struct Assignment {
    Id id = 0;
    Id target_id = 0;
    AssignTarget target_type = AssignTarget::kNone;
    bool multi = false;
    Id workunitid = 0, resultid = 0;
};

}  // namespace sluice
