// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a daemon says of its turns, for who asks how a project is (sluice health): that a process is there does not
// prove that it does its work.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/base/files.h"
#include "sluice/base/service_manager.h"

namespace sluice {

/// Times are UNIX s; 0: never.
struct LifeSign {
    std::string name;  ///< of the daemon, or of the service of a daemon that has several
    pid_t pid = 0;
    double began = 0;               ///< the turn that goes on, or follows within two seconds; 0: none, it waits
    double ended = 0;               ///< the last turn that went well
    double due = 0;                 ///< the next turn
    double failing = 0;             ///< since then every turn has failed; 0: the last one went well
    std::string error = {};         ///< of the last turn, if that failed; at most 500 bytes
    std::uint64_t start_ticks = 0;  ///< of the process, clock ticks after boot: pids are used again; 0: not told
};

std::string life_sign_text(const LifeSign& sign);
/// What is not understood is left out: the file is for people and monitors.
LifeSign parse_life_sign(std::string_view text);

/// Of all processes of this host that are there. What can't be read is left out.
std::vector<LifeSign> life_signs(const std::filesystem::path& project);

/// s that the next turn of `sign` is late; 0: it is not, or it waits for another service of its process, which works or
/// fails. `signs`: of all processes.
double lateness(const LifeSign& sign, const std::vector<LifeSign>& signs, double now);

/// Writes PROJECT/pid_HOST/NAME.PID.life and removes it at the end. A daemon whose turns follow within two seconds
/// writes every two seconds at most. A file that can't be written stops nobody. The daemon's service manager, if there
/// is one, is told the same.
class LifeSignWriter {
  public:
    /// Writes nothing.
    LifeSignWriter() = default;
    /// `manager`: of the process; nullptr: of a service that is a part of its daemon.
    LifeSignWriter(const std::filesystem::path& project, std::string name, const Clock& clock,
                   ServiceManager* manager = nullptr);
    LifeSignWriter(const LifeSignWriter&) = delete;
    LifeSignWriter& operator=(const LifeSignWriter&) = delete;
    ~LifeSignWriter();

    void begin_turn();
    /// `wait`: s until the next turn.
    void end_turn(double wait);
    void fail_turn(const std::string& error, double wait);

  private:
    void write(bool changed);
    void tell(std::string_view sentence, bool well);

    const Clock* clock_ = nullptr;
    ServiceManager* manager_ = nullptr;
    std::filesystem::path file_;
    OwnedFd fd_;
    LifeSign sign_;
    double written_ = 0;
    bool shown_waiting_ = false;  ///< what the file says
};

}  // namespace sluice
