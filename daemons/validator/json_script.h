// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project's script that answers a JSON line with a JSON line, in a sandbox where there is one. docs/validators.md has
// the lines.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/base/line_script.h"
#include "sluice/base/process.h"
#include "sluice/base/timing.h"
#include "sluice/model/codes.h"

namespace sluice {

class CommandLine;
struct OutputFile;
struct Result;
struct Workunit;

struct JsonScriptOptions {
    std::string command;                   ///< "PROG word …", PROG in bin/; empty: there is none
    double time_limit = kScriptTimeLimit;  ///< s for one workunit; 0: none
    double memory_limit = 4000;            ///< MB of private memory of a process; 0: none
    bool no_sandbox = false, network = false;
    std::vector<std::string> readable, writable;  ///< what the sandbox shows beside what is always there
};

/// --json_script and what belongs to it.
void define_json_script(CommandLine& line, JsonScriptOptions& options);
/// "" or what is wrong with the values.
std::string wrong_json_script(const JsonScriptOptions& options);

/// Where things are.
struct JsonScriptPlaces {
    std::filesystem::path project, upload_dir;
    std::filesystem::path bwrap = "/usr/bin/bwrap";
};

/// The command of the script in bubblewrap: it sees the system's programs, PROJECT/bin and the upload folder, and
/// writes to what is `writable` and to a /tmp of its own. No config.xml, no keys, no network, no terminal.
std::vector<std::string> sandboxed(const std::vector<std::string>& words, const JsonScriptOptions& options,
                                   const JsonScriptPlaces& places);

class JsonScript {
  public:
    /// Says in the log if there is no sandbox, and why.
    JsonScript(const JsonScriptOptions& options, const JsonScriptPlaces& places, const Clock& clock);

    struct Asked {
        std::size_t answered = 0;
        std::string failure = {};  ///< why the next has no answer, with the script's name
        bool rests = false;        ///< nothing was asked: it failed too often in a row
    };
    /// As LineScript::ask(). `take` may throw json::InputError.
    Asked ask(std::span<const std::string> lines, const LineScript::Take& take);
    /// So many workunits a call, so that a call takes a second or so.
    std::size_t at_once() const { return at_once_; }
    const std::string& name() const { return name_; }

  private:
    static constexpr int kFailures = 3;  ///< in a row; then it rests

    std::string name_;
    const Clock& clock_;
    LineScript script_;
    std::size_t at_once_ = 1;
    int failures_ = 0;
    double rests_until_ = 0;
    /// Half of what a workunit waits that was not judged or stored: when it ends, others come first. Else one that
    /// always fails would be asked about after each rest, and no other ever.
    BackOff rest_{5, 300};
};

// Pieces of the lines.

struct JsonResultFiles {
    const Result& result;
    const std::vector<OutputFile>& files;
};
/// A line without its end. `canonical`: the result that others are compared with; 0: there is none yet.
std::string validator_question(const Workunit& wu, const std::string& app, Id canonical,
                               std::span<const JsonResultFiles> results);
/// `canonical` is null for a workunit that failed. `folder`: where its files go.
std::string assimilator_question(const Workunit& wu, const std::string& app, const JsonResultFiles* canonical,
                                 const std::filesystem::path& folder);

}  // namespace sluice
