#include "sched/upload/site.h"

#include <fmt/format.h>
#include <sys/stat.h>
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

/// Changes with what the file holds, where it is, and who may read it.
std::string fingerprint(const fs::path& file) {
    struct stat s {};
    if (::stat(file.c_str(), &s) != 0) return "absent";
    return fmt::format("{} {} {}.{} {}.{}", s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec,
                       s.st_ctim.tv_nsec);
}

std::string joined(const std::string& config, const std::string& key) { return config + "|" + key; }

}  // namespace

std::string Site::stamp() const { return joined(fingerprint(project_ / "config.xml"), fingerprint(key_file_)); }

std::optional<NotReady> Site::refresh() {
    if (fs::exists(project_ / "stop_upload")) return NotReady{"File uploads are temporarily disabled."};
    if (loaded_ && *loaded_ == stamp()) return std::nullopt;
    loaded_.reset();
    return load();
}

std::optional<NotReady> Site::load() {
    ProjectConfig config;
    const std::string config_before = fingerprint(project_ / "config.xml");
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
    key_file_ = fs::path(config.key_dir) / "upload_public";
    const std::string key_before = fingerprint(key_file_);
    if (!config.ignore_upload_certificates) {
        try {
            key_.emplace(PublicKey::read(key_file_));
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
    loaded_ = joined(config_before, key_before);  // what changed while it was read is read again
    return std::nullopt;
}

}  // namespace sluice::upload
