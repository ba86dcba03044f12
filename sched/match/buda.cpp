// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/match/buda.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "sluice/base/files.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/project_tables.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Text, or a list of texts that are put one after another.
std::string joined(const nlohmann::json& json, const char* key) {
    const auto it = json.find(key);
    if (it == json.end()) return {};
    if (it->is_string()) return it->get<std::string>();
    std::string all;
    if (it->is_array())
        for (const auto& part : *it)
            if (part.is_string()) all += part.get<std::string>();
    return all;
}

BudaVariant read_variant(const fs::path& folder, const std::string& text) {
    const auto json = nlohmann::json::parse(text);
    BudaVariant v;
    v.name = folder.filename();
    v.cpu_type = joined(json, "cpu_type");
    v.plan_class = joined(json, "plan_class");
    v.file_infos = joined(json, "file_infos");
    v.file_refs = joined(json, "file_refs");
    return v;
}

std::vector<fs::path> folders(const fs::path& in) {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(in, none))
        if (entry.is_directory(none)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

std::array<bool, kProcTypes> resources_with_versions(const ProjectTables& tables, const BudaCatalogue* buda,
                                                     const PlanClasses& classes, int compat_level) {
    std::array<bool, kProcTypes> has{};
    const auto see = [&](const std::string& plan_class) {
        const auto types = classes.resources(plan_class, compat_level);
        std::ranges::transform(has, types, has.begin(), std::logical_or());
    };
    for (const AppVersion& v : tables.versions)
        if (!v.deprecated) see(v.plan_class);  // a pinned job may still need that one, nobody else gets it
    if (buda == nullptr) return has;
    for (const BudaApp& app : buda->apps())
        for (const BudaVariant& variant : app.variants) see(variant.plan_class);
    return has;
}

BudaCatalogue::BudaCatalogue(std::vector<BudaApp> apps) : apps_(std::move(apps)) {}

const BudaApp* BudaCatalogue::find(std::string_view app) const {
    for (const BudaApp& a : apps_)
        if (a.name == app) return &a;
    return nullptr;
}

const BudaVariant* BudaCatalogue::variant(std::string_view app, std::string_view variant) const {
    const BudaApp* a = find(app);
    if (!a) return nullptr;
    for (const BudaVariant& v : a->variants)
        if (v.name == variant) return &v;
    return nullptr;
}

BudaCatalogue load_buda_catalogue(const fs::path& project) {
    BudaCatalogue catalogue;
    for (const fs::path& app : folders(project / "buda_apps")) {
        BudaApp a{app.filename(), {}};
        for (const fs::path& folder : folders(app)) {
            const fs::path file = folder / "variant.json";
            try {
                if (const auto text = read_file(file)) a.variants.push_back(read_variant(folder, *text));
            } catch (const std::exception& e) {
                catalogue.problems_.push_back(file.string() + ": " + e.what() + "; this variant is not sent");
            }
        }
        catalogue.apps_.push_back(std::move(a));
    }
    return catalogue;
}

std::string buda_app_name(std::string_view workunit_xml) {
    const auto name = find_element(workunit_xml, "buda_app_name");
    return name ? std::string(*name) : std::string();
}

bool buda_cpu_matches(std::string_view cpu_type, std::string_view platform) {
    const auto has = [&](std::string_view part) { return platform.find(part) != std::string_view::npos; };
    if (cpu_type.empty()) return true;
    if (cpu_type == "intel") return has("x86_64");
    if (cpu_type == "arm") return has("arm") || has("aarch64");
    return false;
}

}  // namespace sluice
