#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/project/project_xml.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {

struct AddedRows {
    int added = 0;
    std::vector<std::string> lines;  ///< one for each row wanted: added, or why not
};

/// Adds the platforms and apps whose names are not in the database yet; others stay as they are.
AddedRows add_rows(ProjectSetupStore& store, const ProjectXml& wanted, std::int64_t now);

}  // namespace sluice
