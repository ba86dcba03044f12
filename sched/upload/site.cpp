// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/site.h"

#include <unistd.h>

#include "config/load.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/process.h"

namespace sluice::upload {
namespace {

namespace fs = std::filesystem;

/// Uploaded files are never executable.
constexpr int kNoExecute = 0666;

UploadSettings settings_of(const ProjectConfig& config, const std::string& variety) {
    UploadSettings out;
    out.upload_dir = config.upload_dir + variety;
    out.fanout = config.uldl_dir_fanout;
    out.initial_permission =
        config.fuh_set_initial_permission > 0 ? config.fuh_set_initial_permission & kNoExecute : 0664;
    out.completed_permission =
        config.fuh_set_completed_permission >= 0 ? config.fuh_set_completed_permission & kNoExecute : -1;
    out.hide_incomplete = config.hide_incomplete_uploads;
    return out;
}

}  // namespace

std::optional<NotReady> Site::refresh() {
    if (fs::exists(project_ / "stop_upload")) return NotReady{"File uploads are temporarily disabled."};
    const bool config_changed = watched_config_.changed(), key_changed = watched_key_.changed();
    if (loaded_ && !config_changed && !key_changed) return std::nullopt;
    loaded_ = false;
    return load();
}

std::optional<NotReady> Site::load() {
    watched_config_.watch({project_ / "config.xml"});  // before it is read: what changes meanwhile is read again
    std::optional<LoadedConfig> loaded;
    try {
        loaded = load_config(project_);
    } catch (const Error& e) {
        log_critical("{}", e.what());
        return NotReady{"can't parse config file"};
    }
    const ProjectConfig& config = loaded->config;
    limit_memory(static_cast<std::uint64_t>(config.max_process_memory));
    if (config.fuh_debug_level >= 1 && config.fuh_debug_level <= 4)
        log_set_level(static_cast<LogLevel>(config.fuh_debug_level));
    settings_ = settings_of(config, variety_);
    key_.reset();
    const fs::path key_file = fs::path(config.key_dir) / "upload_public";
    watched_key_.watch({key_file});
    if (!config.ignore_upload_certificates) {
        try {
            key_.emplace(PublicKey::read(key_file));
        } catch (const Error& e) {
            log_critical("{}", e.what());
            return NotReady{"can't read key file"};
        }
        settings_.key = &*key_;
    }
    if (::access(settings_.upload_dir.c_str(), W_OK | X_OK) != 0) {
        log_critical("can't write to upload_dir {}", settings_.upload_dir.string());
        return NotReady{"can't write to upload_dir"};
    }
    loaded_ = true;
    return std::nullopt;
}

}  // namespace sluice::upload
