// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The project as the upload handler needs it: config.xml, the public key, the upload folder; read again when one of the
// files changes, because as FastCGI the process lives on.
#include <filesystem>
#include <optional>
#include <string>

#include "sched/upload/handler.h"
#include "sluice/base/project.h"

namespace sluice::upload {

/// What the client is told while the project can't take uploads. It may pass.
struct NotReady {
    std::string message;
};

class Site {
  public:
    /// `variety`: empty, or "_V": suffix of log and upload folder.
    Site(std::filesystem::path project, std::string variety)
        : project_(std::move(project)), variety_(std::move(variety)) {}

    /// Reads what changed. The reason is logged, the client learns the kind only.
    std::optional<NotReady> refresh();
    const UploadSettings& settings() const { return settings_; }

  private:
    std::optional<NotReady> load();

    std::filesystem::path project_;
    std::string variety_;
    bool loaded_ = false;
    WatchedFiles watched_config_, watched_key_;
    std::optional<PublicKey> key_;
    UploadSettings settings_;
};

}  // namespace sluice::upload
