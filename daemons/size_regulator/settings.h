// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a size_regulator is to do: by its command line as upstream's, or by <size_regulator> of config.xml.
#include <string>
#include <string_view>
#include <vector>

#include "daemons/size_regulator/plan.h"
#include "sluice/daemon/program.h"
#include "sluice/db/size_store.h"

namespace sluice {

struct RegulatedApp {
    std::string name;
    WaterMarks marks;
    double sleep_time = 0;  ///< s between polls
    ReleaseOrder order = ReleaseOrder::kNone;
};

struct RegulatorSettings {
    std::vector<RegulatedApp> apps;
    bool dry_run = false, reclassify = false, one_pass = false;
    /// With <share_rule>, an app for which no order was asked is released by users' shares.
    bool by_shares = false;
    double share_floor = 0;  ///< part of the jobs released that is reserved for those who have fewest UNSENT ones
};

/// The command line of size_regulator.
class RegulatorOptions {
  public:
    void define(CommandLine& line);
    /// Everything but the apps of config.xml; "" or what is wrong.
    std::string take(const DaemonStart& start, RegulatorSettings& settings) const;

  private:
    std::vector<std::string> names_, lo_, hi_, sleep_time_;
    bool random_ = false, ascending_ = false, priority_ = false, create_time_ = false;
    bool reclassify_ = false;
    int debug_level_ = 0;
};

struct ProjectConfig;
/// What config.xml says of shares.
void take_shares(const ProjectConfig& config, RegulatorSettings& settings);

/// The apps of <boinc><size_regulator>; none if there is no such section. Throws ConfigError.
std::vector<RegulatedApp> regulated_apps(std::string_view config_xml, const std::string& file);

}  // namespace sluice
