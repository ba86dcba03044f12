// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Hands metrics out: over HTTP on this machine's own address, and as a file for node_exporter. A request over HTTP asks
// neither the database nor the job array: it reads the programs' files of counts, and has the facts of the last turn.
#include <filesystem>
#include <memory>
#include <string>

#include "daemons/status/exposition.h"

namespace sluice {

/// "127.0.0.1:9188" of "9188", "localhost:9188" …; "" if others than this machine could connect, or if it is none.
std::string loopback_address(const std::string& text);

class Exporter {
  public:
    Exporter(std::filesystem::path project, ExpositionWords words);
    ~Exporter();
    /// Serves http://ADDRESS/metrics from now on, in threads of its own. Throws ConfigError: the port is taken.
    void listen(const std::string& address);
    void publish(ProjectSurvey survey);
    /// What a request would get.
    std::string text() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
