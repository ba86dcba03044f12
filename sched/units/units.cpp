// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/units/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/run/foreground.h"
#include "sluice/base/text.h"

namespace sluice {
namespace fs = std::filesystem;
namespace {

/// Between two signs of life of a daemon. A validator may work so long at one job without asking whether to stop.
constexpr const char* kWatchdog = "10min";

std::string mark_line(const std::string& project) {
    return "# Written by 'sluice units' for " + in_one_line(project, 4000);
}

/// What names of units may not hold is written as \xHH.
std::string unit_word(std::string_view text) {
    std::string word;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                           c == '.' || c == '-' || c == ':';
        word += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return word;
}

/// A word of a command line or of a list.
std::string quoted(const std::string& word) {
    std::string text = word;
    replace_all(text, "%", "%%");
    if (text.find_first_of(" \t\"'\\;$") == text.npos) return text;
    replace_all(text, "\\", "\\\\");
    replace_all(text, "\"", "\\\"");
    replace_all(text, "$", "$$");
    return "\"" + text + "\"";
}

std::string one_line(const std::string& text) {
    std::string line = in_one_line(text);
    replace_all(line, "%", "%%");
    return line;
}

bool lies_in(const std::string& path, std::string_view folder) {
    return path == folder || path.starts_with(std::string(folder) + "/");
}

/// A validator with a script makes a sandbox of its own for it, which needs what the others are denied.
bool makes_a_sandbox(const ConfiguredProgram& program) {
    return std::ranges::any_of(program.words, [](std::string_view word) { return word.ends_with("-json_script"); });
}

/// Folders that the words of its command name: where an assimilator puts files, say.
std::vector<std::string> named_folders(const ConfiguredProgram& program) {
    std::vector<std::string> folders;
    std::error_code unknown;
    for (const std::string& word : program.words)
        if (word.starts_with('/') && fs::is_directory(word, unknown)) folders.push_back(word);
    return folders;
}

std::string sandbox(const UnitsOf& of, const ConfiguredProgram& program) {
    std::set<std::string> writable(of.writable.begin(), of.writable.end());
    writable.insert({of.folders.project, of.folders.tmp, of.folders.log, of.folders.pid, "/dev/shm"});
    for (const std::string& folder : named_folders(program)) writable.insert(folder);
    std::string list;
    bool uses_tmp = false;
    for (const std::string& folder : writable) {
        list += " " + quoted("-" + folder);
        uses_tmp |= lies_in(folder, "/tmp") || lies_in(folder, "/var/tmp");
    }
    std::string text =
        "# It may write the project's folders, and little else. For more: systemctl edit, [Service], ReadWritePaths=/a/folder\n"
        "NoNewPrivileges=yes\nCapabilityBoundingSet=\nProtectSystem=strict\nReadWritePaths=" +
        list.substr(1) + "\nInaccessiblePaths=-" + quoted(of.private_key) +
        "\nProtectHome=read-only\nPrivateDevices=yes\nPrivateMounts=yes\nDevicePolicy=closed\nProtectControlGroups=yes\nProtectKernelModules=yes\n"
        "ProtectClock=yes\nProtectHostname=yes\nRestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK\n"
        "RestrictRealtime=yes\nLockPersonality=yes\nSystemCallArchitectures=native\n";
    if (!uses_tmp) text += "PrivateTmp=yes\n";
    text += "SystemCallErrorNumber=EPERM\nSystemCallFilter=@system-service\n";
    if (makes_a_sandbox(program))
        return text +
               "# Its script runs in a sandbox of its own (bubblewrap), which needs namespaces and mounts.\n"
               "SystemCallFilter=@mount\nSystemCallFilter=~@resources\nRestrictSUIDSGID=yes\nRestrictNamespaces=user pid net uts mnt ipc cgroup\n";
    return text + "ProtectKernelTunables=yes\nProtectKernelLogs=yes\nProtectProc=invisible\nRestrictNamespaces=yes\n";
}

/// What every service has in common; `verb`: --daemon or --task.
std::string service_text(const UnitsOf& of, const ConfiguredProgram& program, const char* verb) {
    std::string variables = quoted("BOINC_PROJECT_DIR=" + of.folders.project.string());
    for (const std::string& variable : of.environment) variables += " " + quoted(variable);
    return fmt::format("User={}\nEnvironment={}\nWorkingDirectory={}\nExecStart={} {} {}{}\n", of.account, variables,
                       one_line(of.folders.project.string()), quoted(of.start), verb, quoted(program.id),
                       of.journal ? " --journal" : "");
}

std::string daemon_text(const UnitsOf& of, const ConfiguredProgram& program) {
    return fmt::format(
        "{}\n[Unit]\nDescription=BOINC project {}: {}\nPartOf={}\nAfter=network.target mariadb.service mysql.service\n"
        "StartLimitIntervalSec=0\n\n[Service]\n"
        "# Ready when the first turn went well; killed when no sign of life came for so long.\n"
        "Type=notify\nWatchdogSec={}\nTimeoutStartSec=5min\nTimeoutStopSec=5min\nRestart=always\nRestartSec=5\nKillMode={}\n{}{}",
        mark_line(of.folders.project), one_line(of.name), one_line(program.cmd), target_name(of.name), kWatchdog,
        program.use_shell ? "control-group" : "mixed", service_text(of, program, "--daemon"), sandbox(of, program));
}

std::string task_text(const UnitsOf& of, const ConfiguredProgram& task) {
    return fmt::format(
        "{}\n[Unit]\nDescription=BOINC project {}: task {}\nAfter=network.target mariadb.service mysql.service\n\n"
        "[Service]\nType=oneshot\n{}{}{}",
        mark_line(of.folders.project), one_line(of.name), one_line(task.cmd),
        // Each look would be three lines in the journal.
        of.journal ? "" : "LogLevelMax=notice\n", service_text(of, task, "--task"), sandbox(of, task));
}

std::string timer_text(const UnitsOf& of, const ConfiguredProgram& task) {
    return fmt::format(
        "{}\n[Unit]\nDescription=BOINC project {}: is it time for {}?\nPartOf={}\n\n"
        "# The period is {:.0f} s, counted from the run before, as run_state_{}.xml has it.\n"
        "[Timer]\nOnActiveSec=60\nOnUnitActiveSec={:.0f}\nAccuracySec=10\n",
        mark_line(of.folders.project), one_line(of.name), one_line(task.cmd), target_name(of.name), task.period,
        of.folders.host, task_look_interval(task.period));
}

}  // namespace

std::string target_name(const std::string& project) { return "sluice@" + unit_word(project) + ".target"; }

std::vector<UnitFile> unit_files(const UnitsOf& of, const ConfiguredPrograms& programs) {
    std::vector<UnitFile> files(1);
    std::string wanted;
    const auto runs = [](const ConfiguredProgram& p) { return !p.disabled && p.problem.empty(); };
    const std::string head = "sluice-" + unit_word(of.name) + "-";
    for (const ConfiguredProgram& daemon : programs.daemons) {
        if (!runs(daemon)) continue;
        files.push_back({head + unit_word(daemon.id) + ".service", daemon_text(of, daemon)});
        wanted += "Wants=" + files.back().name + "\n";
    }
    for (const ConfiguredProgram& task : programs.tasks) {
        if (!runs(task)) continue;
        const std::string name = head + "task-" + unit_word(task.id);
        files.push_back({name + ".service", task_text(of, task)});
        files.push_back({name + ".timer", timer_text(of, task)});
        wanted += "Wants=" + files.back().name + "\n";
    }
    // It waits for none of them: a database that is away must not hold up the machine's start.
    files[0] = {
        target_name(of.name),
        fmt::format("{}\n[Unit]\nDescription=BOINC project {}\nDefaultDependencies=no\nConflicts=shutdown.target\n{}\n"
                    "[Install]\nWantedBy=multi-user.target\n",
                    mark_line(of.folders.project), one_line(of.name), wanted)};
    return files;
}

bool is_unit_of(std::string_view text, const std::string& project) {
    return text.starts_with(mark_line(project) + "\n");
}

}  // namespace sluice
