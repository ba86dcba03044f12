// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Files in the project's folder that stop or change what programs do while they are there. Admins forget them.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct TriggerFile {
    const char* name;
    const char* effect;  ///< what holds while it is there, and what to do
    bool stops_scheduler = false;
};
/// Of all that programs look for, those that are there now.
std::vector<TriggerFile> triggers_present(const std::filesystem::path& project);
/// Has the feeder read apps, versions and what else goes out with its tables again. Throws FileError.
void ask_feeder_to_reread(const std::filesystem::path& project);
/// "stop_sched is present: …".
std::string trigger_text(const TriggerFile& trigger);

}  // namespace sluice
