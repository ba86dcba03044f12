// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The files beside config.xml that a scheduler RPC needs, read once and again when they change.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/project_config.h"
#include "sched/rpc/key_change.h"
#include "sluice/match/buda.h"
#include "sluice/match/plan_classes.h"

namespace sluice {

/// POSIX extended regular expressions of admins' files, compiled once.
class RegexList {
  public:
    /// Bad expressions are left out and named in problems().
    explicit RegexList(const std::vector<std::string>& patterns = {});
    RegexList(RegexList&&) noexcept;
    RegexList& operator=(RegexList&&) noexcept;
    ~RegexList();
    bool matches(const std::string& text) const;
    const std::vector<std::string>& problems() const { return problems_; }

  private:
    struct Compiled;
    std::vector<std::unique_ptr<Compiled>> compiled_;
    std::vector<std::string> problems_;
};

struct ProjectFiles {
    std::string code_sign_key;  ///< keys/code_sign_public, trimmed
    std::vector<OldKey> old_keys;
    std::string gui_urls, project_files;
    RegexList ban_os, ban_cpu;  ///< of config.xml
    RegexList file_delete;      ///< names of sticky files that clients are told to delete
    std::vector<std::pair<int, std::string>> download_servers;  ///< UTC offset s, base URL
    PlanClasses plan_classes;
    BudaCatalogue buda;
    std::vector<std::string> problems;  ///< one line each: what could not be used
};

/// Throws ConfigError if the code-sign key can't be read: without it no client could trust what it is sent.
ProjectFiles load_project_files(const ProjectConfig& config);

}  // namespace sluice
