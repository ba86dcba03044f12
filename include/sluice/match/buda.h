// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// BUDA: jobs that bring their science app along in a container. One wrapper app; the variants of each science app
// stand in PROJECT/buda_apps/APP/VARIANT/variant.json.
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

struct ProjectTables;
class BudaCatalogue;
class PlanClasses;

/// The resources for which the project has a version or a BUDA variant (PlanClasses::resource). `buda` may be null.
std::array<bool, kProcTypes> resources_with_versions(const ProjectTables& tables, const BudaCatalogue* buda,
                                                     const PlanClasses& classes, int compat_level);

struct BudaVariant {
    std::string name;        ///< folder
    std::string cpu_type;    ///< "intel" or "arm"; empty: any
    std::string plan_class;  ///< empty: plain CPU
    std::string file_infos;  ///< XML put before <workunit> of the reply
    std::string file_refs;   ///< XML put before </workunit>
};
struct BudaApp {
    std::string name;
    std::vector<BudaVariant> variants;
};

class BudaCatalogue {
  public:
    BudaCatalogue() = default;
    explicit BudaCatalogue(std::vector<BudaApp> apps);
    const BudaApp* find(std::string_view app) const;
    const BudaVariant* variant(std::string_view app, std::string_view variant) const;
    const std::vector<BudaApp>& apps() const { return apps_; }
    /// One line per variant.json that could not be used.
    const std::vector<std::string>& problems() const { return problems_; }

  private:
    friend BudaCatalogue load_buda_catalogue(const std::filesystem::path& project);
    std::vector<BudaApp> apps_;
    std::vector<std::string> problems_;
};

/// Empty if the project has no folder buda_apps.
BudaCatalogue load_buda_catalogue(const std::filesystem::path& project);

/// The text of <buda_app_name> of a workunit's XML; empty if there is none.
std::string buda_app_name(std::string_view workunit_xml);

/// "intel" (x86_64) or "arm" (arm, aarch64) against a platform's name; empty: any.
bool buda_cpu_matches(std::string_view cpu_type, std::string_view platform);

}  // namespace sluice
