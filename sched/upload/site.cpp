#include "sched/upload/site.h"

#include <unistd.h>

#include "config/load.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"

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
    return out;
}

}  // namespace

std::optional<NotReady> Site::refresh() {
    if (fs::exists(project_ / "stop_upload")) return NotReady{"File uploads are temporarily disabled."};
    std::error_code ignored;
    const auto stamp = fs::last_write_time(project_ / "config.xml", ignored);
    if (loaded_ && *loaded_ == stamp) return std::nullopt;
    loaded_.reset();
    if (auto problem = load()) return problem;
    loaded_ = stamp;
    return std::nullopt;
}

std::optional<NotReady> Site::load() {
    ProjectConfig config;
    try {
        config = load_config(project_).config;
    } catch (const Error& e) {
        log_critical("{}", e.what());
        return NotReady{"can't parse config file"};
    }
    if (config.fuh_debug_level >= 1 && config.fuh_debug_level <= 4)
        log_set_level(static_cast<LogLevel>(config.fuh_debug_level));
    settings_ = settings_of(config, variety_);
    key_.reset();
    if (!config.ignore_upload_certificates) {
        try {
            key_.emplace(PublicKey::read(fs::path(config.key_dir) / "upload_public"));
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
    return std::nullopt;
}

}  // namespace sluice::upload
