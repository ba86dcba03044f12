// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/resolve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr int kNoLimit = 999999;  ///< jobs per request, as upstream has it

void default_to(std::string& value, const std::string& fallback) {
    if (value.empty()) value = fallback;
}

bool is_this_host(const std::string& name) {
    std::array<char, 256> own{};
    return gethostname(own.data(), own.size() - 1) == 0 && name == own.data();
}

void resolve_folders(const fs::path& project, LoadedConfig& loaded) {
    ProjectConfig& config = loaded.config;
    if (!project.empty()) {
        const fs::path given = config.project_dir.empty() ? project : project / config.project_dir;
        std::error_code ignored;
        if (fs::is_directory(given, ignored)) {
            config.project_dir = given.lexically_normal().string();
        } else {
            loaded.warnings.push_back(fmt::format(
                "{0}/config.xml: <project_dir>{1}</project_dir> is not a folder; {0} is used. If the project was moved, "
                "write {0} in place of {1} everywhere in config.xml",
                project.string(), config.project_dir));
            config.project_dir = project.string();
        }
    }
    if (config.project_dir.empty()) return;
    const fs::path root = config.project_dir;
    // A relative folder is relative to the project, whatever the program's current directory.
    const auto below = [&](std::string& value, const fs::path& fallback) {
        value = (root / (value.empty() ? fallback : fs::path(value))).lexically_normal().string();
    };
    below(config.key_dir, "keys");
    below(config.download_dir, "download");
    below(config.upload_dir, "upload");
    below(config.bin_dir, "bin");
    below(config.app_dir, "apps");
    below(config.decision_log_dir, fs::path("log_" + short_host_name()) / "decisions");
}

/// With less memory than a program needs to start, every client would be told to come back.
void resolve_memory(const fs::path& project, LoadedConfig& loaded) {
    // A request takes twice its size at most; the rest is for a project's tables.
    constexpr std::int64_t kProgram = std::int64_t{512} << 20, kLeast = std::int64_t{16} << 20;
    ProjectConfig& config = loaded.config;
    const std::int64_t enough = kProgram + 4 * config.max_request_bytes;
    if (config.max_process_memory > 0 && config.max_process_memory < kLeast) {
        loaded.errors.push_back(
            fmt::format("{}: <max_process_memory>{}</max_process_memory> must be 0 or at least {}: ignored, {} is used",
                        (project / "config.xml").string(), config.max_process_memory, kLeast, enough));
        config.max_process_memory = 0;
    }
    if (config.max_process_memory == 0) config.max_process_memory = enough;
}

/// "free", "refuse", the number of a user or his e-mail address.
bool says_whose_jobs_are(const std::string& text) {
    if (text == "free" || text == "refuse" || text.find('@') != std::string::npos) return true;
    const auto number = parse_int(text);
    return number && *number >= 1 && *number <= 2147483647;
}

/// Without shares nobody is charged, and nothing comes first.
void resolve_jobs_without_batch(const fs::path& project, LoadedConfig& loaded) {
    ProjectConfig& config = loaded.config;
    std::string& given = config.jobs_without_batch;
    const std::string named = fmt::format("{}: <jobs_without_batch>{}</jobs_without_batch>",
                                          (project / "config.xml").string(), in_one_line(given));
    if (!says_whose_jobs_are(given)) {
        loaded.errors.push_back(named +
                                " must be free, refuse, or the number or e-mail address of a user: ignored, "
                                "free is used");
        given = "free";
    } else if (given != "free" && config.share_rule == ShareOrder::kOff) {
        loaded.warnings.push_back(named +
                                  " has no effect, for <share_rule> is off: set it to settled, or take the "
                                  "option out");
        given = "free";
    }
}

void resolve_limits(ProjectConfig& config) {
    JobLimits& limits = config.max_jobs_in_progress.project;
    if (limits.cpu.jobs == 0 && config.max_wus_in_progress > 0) limits.cpu = {config.max_wus_in_progress, true};
    if (limits.gpu.jobs == 0 && config.max_wus_in_progress_gpu > 0) limits.gpu = {config.max_wus_in_progress_gpu, true};
}

}  // namespace

void resolve_config(const fs::path& project, LoadedConfig& loaded) {
    ProjectConfig& config = loaded.config;
    resolve_folders(project, loaded);
    resolve_limits(config);
    resolve_memory(project, loaded);
    resolve_jobs_without_batch(project, loaded);
    if (is_this_host(config.db_host)) config.db_host = "localhost";
    default_to(config.replica_db_name, config.db_name);
    default_to(config.replica_db_user, config.db_user);
    default_to(config.replica_db_passwd, config.db_passwd);
    default_to(config.replica_db_host, config.db_host);
    if (is_this_host(config.replica_db_host)) config.replica_db_host = "localhost";
    default_to(config.host, short_host_name());
    // -1 and 0xffffffff are the same System V key.
    config.shmem_key = static_cast<std::uint32_t>(config.shmem_key);
    if (config.shmem_work_items == 0) config.shmem_work_items = 100;
    if (config.feeder_query_size == 0) {
        config.feeder_query_size = config.compat_level == 0 ? 200 : 2 * config.shmem_work_items;
    }
    if (config.max_wus_to_send == 0) config.max_wus_to_send = kNoLimit;
    config.max_wus_to_send = std::min(config.max_wus_to_send, kNoLimit);
    for (int* version : {&config.min_core_client_version, &config.min_core_client_version_announced}) {
        if (*version > 0 && *version < 10000) *version *= 100;
    }
    config.sched_debug_level = std::clamp(config.sched_debug_level, 1, 4);
    config.fuh_debug_level = std::clamp(config.fuh_debug_level, 1, 4);
    if (config.fuh_set_completed_permission == 0) config.fuh_set_completed_permission = -1;
    if (config.no_amd_k6) config.ban_cpu.emplace_back("AMD.*\t.*Family 5 Model 8 Stepping 0");
}

}  // namespace sluice
