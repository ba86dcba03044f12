// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/project_check.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/option_table.h"
#include "config/options/app_findings.h"
#include "config/options/daemon_findings.h"
#include "config/options/permissions.h"
#include "config/options/schema_findings.h"
#include "config/options/web_access.h"
#include "config/options/web_files.h"
#include "config/project/download_files.h"
#include "config/run/canary_settings.h"
#include "config/run/command_words.h"
#include "config/run/configured_programs.h"
#include "config/run/divided_copies.h"
#include "config/run/own_programs.h"
#include "config/run/run_state.h"
#include "daemons/batches/shares.h"
#include "daemons/size_regulator/settings.h"
#include "feeder/chain.h"
#include "feeder/httpd_user.h"
#include "feeder/starvation.h"
#include "sched/cgi/relay_protocol.h"
#include "sched/cgi/resident.h"
#include "sched/cgi/unreached.h"
#include "sched/check/catalogue_findings.h"
#include "sched/check/crontab.h"
#include "sched/check/differences.h"
#include "sched/check/foreign_code.h"
#include "sched/check/machine.h"
#include "sched/handle/project_files.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "sluice/base/tee_mark.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/check_arguments.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/catalogue_store.h"
#include "sluice/db/move_survey.h"
#include "sluice/db/project_setup_store.h"
#include "sluice/db/schema_survey.h"
#include "sluice/db/share_store.h"
#include "sluice/db/size_store.h"
#include "sluice/db/tables_version.h"
#include "sluice/match/plan_classes.h"
#include "sluice/match/policies.h"
#include "sluice/xml/result_template.h"

namespace sluice {
namespace {

constexpr std::string_view kEnds = "|&;<>\n", kReplaced = "*?[](){}#~!";

/// "2" of "2>file" is no word.
std::string_view without_descriptor(std::string_view text) {
    const auto n = text.size();
    const bool digit = n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9';
    return digit && (n == 1 || text[n - 2] == ' ' || text[n - 2] == '\t') ? text.substr(0, n - 1) : text;
}

/// From a redirection on: are there no more words of the command?
bool ends_behind_files(std::string_view text) {
    const auto go_to = [&](std::size_t at) { text.remove_prefix(std::min(at, text.size())); };
    while (!text.empty() && (text[0] == '<' || text[0] == '>')) {
        go_to(text.find_first_not_of("<>&|"));
        go_to(text.find_first_not_of(" \t"));
        go_to(text.find_first_of(" \t|&;<>\n"));
        go_to(text.find_first_not_of(" \t"));
        if (text.size() > 1 && text[0] >= '0' && text[0] <= '9' && (text[1] == '<' || text[1] == '>')) go_to(1);
    }
    return text.empty() || kEnds.find(text[0]) != std::string_view::npos;
}

/// Of a <cmd> that the shell reads, the words of its first command, up to a pipe, a redirection, or another command.
/// nullopt: what they are only a shell knows, which replaces variables and patterns.
std::optional<std::vector<std::string>> first_command(std::string_view command) {
    char quote = 0;
    bool behind_a_word = false;  // before it, X=1 sets a variable
    command.remove_prefix(std::min(command.find_first_not_of(" \t"), command.size()));
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        if (quote != '\'' && (c == '$' || c == '`' || c == '\\')) return std::nullopt;
        if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (kEnds.find(c) != std::string_view::npos) {
            const bool redirects = c == '<' || c == '>';
            if (redirects && !ends_behind_files(command.substr(i))) return std::nullopt;
            command = redirects ? without_descriptor(command.substr(0, i)) : command.substr(0, i);
            break;
        } else if (kReplaced.find(c) != std::string_view::npos || (c == '=' && !behind_a_word)) {
            return std::nullopt;
        } else if (c == ' ' || c == '\t') {
            behind_a_word |= i > 0;
        }
    }
    try {
        std::vector<std::string> words = command_words(command);
        if (!words.empty() && words[0] == "exec") words.erase(words.begin());
        if (!words.empty()) return words;
    } catch (const ConfigError&) {  // the shell says it better
    }
    return std::nullopt;
}

/// Is it one that the shell has itself, as `cd` or `if`?
bool is_of_the_shell(const std::string& word) {
    return refusal_of("/bin/sh", {"-c", "PATH=; command -v -- \"$1\" > /dev/null", "sh", word}).empty();
}

// Output templates of a project of which no result can be made, or whose jobs BOINC's own scheduler can't send.

/// One line for each such file of PROJECT/templates, with file and line; by name.
std::vector<std::string> joined_templates(const fs::path& project) {
    constexpr std::size_t kLongestTemplate = 1 << 20;
    std::vector<std::string> findings;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(project / "templates", none)) {
        if (!entry.is_regular_file(none)) continue;
        try {
            const std::string text = read_file(entry.path(), kLongestTemplate).value_or("");
            const std::string name = "templates/" + in_one_line(entry.path().filename().string());
            if (const int line = line_of_joined_result(text); line > 0)
                findings.push_back(fmt::format(
                    "{}:{}: something stands behind <result> on its line: BOINC's own scheduler can't send such "
                    "jobs; begin a new line there",
                    name, line));
            for (const char* tag : {"<result/>", "<result />"})
                if (find_outside_comments(text, tag) != text.npos)
                    findings.push_back(fmt::format(
                        "{}: no result can be made of {}; write <result> and, on the next line, </result>", name, tag));
        } catch (const FileError& e) {
            findings.emplace_back(e.what());
        }
    }
    std::ranges::sort(findings);
    return findings;
}

constexpr FindingGroup kBroken = FindingGroup::kWouldNotWork;
constexpr FindingKind kPrograms{kBroken, "daemon_or_task"};

void add(ProjectFindings& found, const std::vector<PermissionFinding>& more) {
    for (const PermissionFinding& finding : more)
        found.add({finding.refused ? Importance::kError : Importance::kWarning, FindingGroup::kUnsafe, "permissions",
                   finding.what, finding.command});
}
/// What `read` throws is an error.
template <typename Read>
void expect(ProjectFindings& found, std::string_view id, Read read) {
    try {
        read();
    } catch (const Error& error) {
        found.error({kBroken, id}, error.what());
    }
}

struct CheckArguments {
    fs::path file;     ///< the config.xml
    fs::path project;  ///< empty: only the file is checked
    CheckScope scope;
};

bool is_program(const fs::path& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

/// As start finds it: in bin/, then in PATH; a name with a slash from tmp_HOST. Empty: there is none.
fs::path program_of(const std::string& word, const HostFolders& folders) {
    std::vector<fs::path> places{folders.bin};
    const char* path = std::getenv("PATH");
    for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) places.emplace_back(folder);
    if (word.find('/') != std::string::npos) places.assign(1, folders.tmp);
    for (const fs::path& place : places) {
        const fs::path file = (place / word).lexically_normal();  // tmp_HOST may not be there yet
        if (is_program(file)) return file;
    }
    return {};
}

/// To ask a program is to run it: not as root, and none that a third account could have put there.
bool may_be_asked(const fs::path& program) {
    struct stat info {};
    return ::geteuid() != 0 && ::stat(program.c_str(), &info) == 0 &&
           (info.st_uid == 0 || info.st_uid == ::geteuid()) && (info.st_mode & 0022) == 0;
}

/// What the program says of its arguments. Ours only: what others do when they are run nobody knows.
void check_arguments(const ConfiguredProgram& program, const fs::path& file, ProjectFindings& found) {
    const fs::path installed = installed_program(file);
    if (!is_own_program(installed)) return;
    if (!may_be_asked(installed)) {
        found.note("daemon_arguments",
                   fmt::format("the arguments of '{}' were not looked at: the program would be run; check as the "
                               "project's user",
                               program.cmd));
        return;
    }
    // First: behind an option without its value, or behind "--", it would be a value, and the program would work.
    std::vector<std::string> arguments{kCheckArguments};
    arguments.insert(arguments.end(), program.words.begin() + 1, program.words.end());
    const std::string refusal = refusal_of(installed, arguments);
    if (!refusal.empty()) found.error(kPrograms, fmt::format("'{}' ends at once: {}", program.cmd, refusal));
}

/// That the program is there, and takes its arguments.
void check_command(const ConfiguredProgram& program, const HostFolders& folders, ProjectFindings& found) {
    const fs::path file = program_of(program.words[0], folders);
    if (file.empty())
        found.error(kPrograms, fmt::format("'{}' can't be started: there is no program '{}' in {} or the PATH",
                                           program.cmd, program.words[0], folders.bin.string()));
    else
        check_arguments(program, file, found);
}

/// What of a command that the shell reads can be known: that the shell understands it, and its first program.
void check_shell_command(ConfiguredProgram program, const HostFolders& folders, ProjectFindings& found) {
    const std::string refusal = refusal_of("/bin/sh", {"-n", "-c", shell_line(program)});
    const auto words = first_command(program.cmd);
    if (!refusal.empty()) {
        found.error(kPrograms, fmt::format("'{}' can't be started: the shell refuses it: {}", program.cmd, refusal));
    } else if (!words || (program_of(words->front(), folders).empty() && is_of_the_shell(words->front()))) {
        found.note("shell_command", fmt::format("the programs of '{}' were not looked at: only the shell knows which "
                                                "they are",
                                                program.cmd));
    } else {
        program.words = *words;
        check_command(program, folders, found);
    }
}

void check_programs(const DaemonsAndTasks& entries, const ProjectConfig& config, ProjectFindings& found) {
    const HostFolders folders = host_folders(config, short_host_name());
    const ConfiguredPrograms programs = configured_programs(entries, config, folders);
    for (const auto* list : {&programs.daemons, &programs.tasks}) {
        for (const ConfiguredProgram& program : *list) {
            const bool told = program.cmd.empty() || (list == &programs.tasks && program.period <= 0);
            if (program.disabled || told) continue;
            if (!program.problem.empty())
                found.error(kPrograms, fmt::format("'{}' can't be started: {}", program.cmd, program.problem));
            else if (program.use_shell)
                check_shell_command(program, folders, found);
            else
                check_command(program, folders, found);
        }
    }
    expect(found, "run_state", [&] { read_run_state(folders.project / ("run_state_" + folders.host + ".xml")); });
}

struct Entries {
    DaemonsAndTasks list;
    std::vector<std::string> regulated;  ///< the apps of <size_regulator>
};

/// <daemons>, <tasks> and <size_regulator>, as far as the file alone tells.
Entries check_entries(const fs::path& file, ProjectFindings& found) {
    Entries entries;
    const std::string text = read_file(file).value_or("");
    expect(found, "config", [&] { entries.list = parse_daemons_and_tasks(text, file.string()); });
    found.lines({kBroken, "config"}, entries.list.errors, entries.list.warnings);
    expect(found, "config", [&] {
        for (const RegulatedApp& app : regulated_apps(text, file.string())) entries.regulated.push_back(app.name);
    });
    return entries;
}

bool divides_slots_among_apps(const DaemonsAndTasks& list) {
    return std::ranges::any_of(list.daemons, [](const DaemonEntry& daemon) {
        const auto words = split(daemon.cmd, ' ');
        return !daemon.disabled && !words.empty() && words[0] == "feeder" &&
               std::ranges::any_of(words, [](auto word) { return word == "-allapps" || word == "--allapps"; });
    });
}

DataForDaemons data_for_daemons(Database& db) {
    return {!make_batch_owner_store(db)->list({0, false, 1}).empty(), make_gang_store(db)->standing_of(0).gangs};
}

/// What only rows tell: whether an app has size classes, or homogeneous redundancy, and whether there are batches.
void check_rows(Database& db, const ProjectConfig& config, const Entries& entries, ProjectFindings& found) {
    found.lines({kBroken, "size_classes"}, {},
                unattended_apps(make_size_census_store(db)->apps(false), entries.list, entries.regulated));
    const auto setup = make_project_setup_store(db);
    found.lines({kBroken, "app_without_daemon"}, {}, unserved_apps(setup->apps(), entries.list));
    if (const std::string away = missing_download_files(config, *setup); !away.empty())
        found.warning({kBroken, "download_files"}, away + "; clients can't fetch them");
    const bool strict = config.compat_level == 0 || config.hr_allocate_slots;
    const std::string wrong =
        hr_misconfiguration(make_catalogue_store(db)->load_tables().apps, config.homogeneous_redundancy,
                            divides_slots_among_apps(entries.list), strict);
    if (!wrong.empty()) found.error({kBroken, "homogeneous_redundancy"}, wrong);
    found.lines({kBroken, "missing_daemon"}, {}, missing_daemons(config, data_for_daemons(db), entries.list));
    found.lines({kBroken, "jobs_without_batch"}, {},
                findings_without_batch(config, *make_quota_store(db), *make_batch_owner_store(db)));
}

void add(ProjectFindings& found, std::vector<Finding> more) {
    for (Finding& finding : more) found.add(std::move(finding));
}

/// What the data of a project means for a move. Only counts; a question that takes too long is left out.
void check_data(Database& db, const CheckArguments& checked, const ProjectConfig& config, const Entries& entries,
                ProjectFindings& found) {
    const auto setup = make_project_setup_store(db);
    CatalogueRows rows{setup->apps(), setup->platforms(), {}};
    for (const App& app : rows.apps)
        for (AppVersion& version : setup->versions(app.id)) rows.versions.push_back(std::move(version));
    const PlanClasses classes = load_plan_classes(checked.project);
    add(found, catalogue_findings(rows, classes, config.compat_level));
    const MoveSurvey survey = survey_for_move(db);
    add(found, missing_templates(survey.result_templates, checked.project));
    if (!survey.not_counted.empty())
        found.note("not_counted", fmt::format("not counted, as the database took too long or lacks a column: {}",
                                              fmt::join(survey.not_counted, ", ")));
    if (config.compat_level > 0) return;
    std::map<std::string, std::int64_t> counts = configured_facts(checked.project, config, entries.list);
    counts.insert(survey.counts.begin(), survey.counts.end());
    if (!classes.problems().empty()) counts["bad_plan_classes"] = static_cast<std::int64_t>(classes.problems().size());
    add(found, difference_findings(counts));
}

/// Which release's tables sluice_* these are.
void check_tables_version(Database& db, const CheckArguments& checked, ProjectFindings& found) {
    const TablesVersion tables = readable_tables_version(db).value_or(TablesVersion());
    if (!tables.any) return;
    found.tables = tables.number;
    const std::string command = sluice_command("upgrade", checked.project);
    if (tables.number > kCurrentTables)
        found.error({kBroken, "tables_version"},
                    fmt::format("the tables sluice_* are of version {}, and these programs know versions up to {}: "
                                "install the newer Sluice, or call its sluice upgrade --to {} {}",
                                tables.number, kCurrentTables, kCurrentTables, checked.project.string()));
    else if (tables.number < kCurrentTables)
        found.add({Importance::kWarning, kBroken, "tables_version",
                   fmt::format("the tables sluice_* are of version {}, and these programs make version {}; stop the "
                               "project, then: {}",
                               tables.number, kCurrentTables, command),
                   command});
}

/// Whether its tables are as the programs need them, then what they hold. Asked as the project's user: the server may
/// know that account by its socket, and no password.
void check_database(const CheckArguments& checked, const ProjectConfig& config, const Entries& entries,
                    ProjectFindings& found) {
    if (config.db_name.empty()) return;
    struct stat owner {};
    const bool known = ::stat(checked.project.c_str(), &owner) == 0;
    const ActingAs as_owner(account_of(known ? owner.st_uid : ::geteuid()));
    try {
        DbSettings settings = db_settings(config);
        settings.read_only = true;
        settings.interactive = checked.scope.move;  // of a large project no question may take long
        Database db(settings);
        const Schema expected = expected_schema();
        const SchemaFindings schema = schema_findings(expected, survey_schema(db, expected));
        found.lines({kBroken, "schema"}, schema.errors, schema.warnings);
        check_tables_version(db, checked, found);
        if (const std::string missing = checked.scope.move ? rights_missing_for_way_back(db) : ""; !missing.empty())
            found.error({kBroken, "rights_for_way_back"}, missing);
        check_rows(db, config, entries, found);
        if (checked.scope.move) check_data(db, checked, config, entries, found);
    } catch (const DbError& error) {
        const bool reached = error.kind() != DbError::Kind::kCantConnect;
        found.error({kBroken, "database"},
                    fmt::format("{}; the database was not looked at{}", error.what(), reached ? " to its end" : ""));
    } catch (const Error& error) {
        found.error({kBroken, "database"}, error.what());
    }
}

/// What start and update_versions want of config.xml.
void check_set_up(const CheckArguments& checked, const ProjectConfig& config, ProjectFindings& found) {
    struct stat folder {};
    const bool known = ::stat(checked.project.c_str(), &folder) == 0;
    if (known && !config.project_user_name.empty() && config.project_user_name != user_name(folder.st_uid))
        found.error(
            {kBroken, "project_user_name"},
            fmt::format("<project_user_name>: start runs as user '{}' only, and {} belongs to '{}'",
                        in_one_line(config.project_user_name), checked.project.string(), user_name(folder.st_uid)));
    if (const std::string wrong = unknown_httpd_user(config); !wrong.empty())
        found.error({kBroken, "httpd_user"}, wrong);
    if (config.download_url.empty())
        found.error({kBroken, "download_url"},
                    "<download_url> is missing: update_versions refuses, and clients fetch no files");
}

/// What lies beside config.xml.
void check_files(const ProjectConfig& config, ProjectFindings& found) {
    expect(found, "project_files", [&] {
        const ProjectFiles files = load_project_files(config);
        found.lines({kBroken, "project_files"}, {}, files.problems);
        found.lines({kBroken, "plan_class_name"}, {}, files.plan_classes.name_problems(config.compat_level));
    });
    const fs::path keys = config.key_dir;
    if (!config.ignore_upload_certificates) expect(found, "keys", [&] { PublicKey::read(keys / "upload_public"); });
    if (!config.dont_generate_upload_certificates)
        expect(found, "keys", [&] { PrivateKey::read(keys / "upload_private"); });
    found.lines({kBroken, "folders"}, missing_folders(config), {});
    if (config.hr_allocate_slots) expect(found, "hr_info", [&] { read_hr_info(config.project_dir); });
}

/// As the web server's account: where that is refused, the relay does without the resident scheduler.
void try_relay_socket(const fs::path& project, const WebAccount& web, ProjectFindings& found) {
    const fs::path socket = project / (relay::kSocketFolder + short_host_name()) / relay::kSocket;
    std::error_code error;
    const bool there = fs::exists(socket, error) || error;  // nobody wants one that is not there
    if (!there || !web.account) return;
    const auto refused = run_as(*web.account, [&] { return relay::Resident().connect(project.string()); });
    if (!refused)
        found.note("scheduler_socket",
                   fmt::format("whether {}, the web server's account, reaches {} was not tried: check as root",
                               web.account->user.name, socket.string()));
    if (refused.value_or(0) == 0 || *refused == ENOENT) return;
    const ConnectFailure problem = connect_failure(project, *refused, web.account->user);
    const bool only = fs::exists(project / relay::kRelayOnly, error);
    const char* follows = only ? "clients are told to come back later" : "each request starts a scheduler of its own";
    add(found, {{problem.what + ", so that " + follows, problem.command, only && web.is_named}});
}

/// Who may change what the project runs, and who reaches its scheduler; that results can be read, and deleted.
void check_accounts(const CheckArguments& checked, const ProjectConfig& config, ProjectFindings& found) {
    std::error_code ignored;
    const auto facts = read_upload_facts(checked.project, config);
    add(found, permission_findings(checked.project, facts ? facts->group : ""));
    if (const auto web = read_web_files(checked.project, config)) add(found, web_file_findings(*web));
    try_relay_socket(checked.project, web_account(config), found);
    if (facts)
        add(found, upload_findings(*facts));
    else if (fs::is_directory(config.upload_dir, ignored))
        found.note("uploads", fmt::format("who may read and delete uploads was not looked at: only root and the "
                                          "project's user see into {}",
                                          config.upload_dir));
}

/// Options of BOINC's that are in the file and that Sluice reads without effect.
void check_options_without_effect(const fs::path& file, ProjectFindings& found) {
    const std::string text = read_file(file).value_or("");
    for (const OptionSection& section : option_sections())
        for (const OptionRow& row : section.rows)
            if (row.readers == "none" && find_outside_comments(text, fmt::format("<{}>", row.tag)) != text.npos)
                found.add({Importance::kDifference, FindingGroup::kNotThere, "option_without_effect",
                           fmt::format("<{}> has no effect: {}", row.tag, row.doc), ""});
}

std::string when(fs::file_time_type time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::file_clock::to_sys(time));
    return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

/// What `sluice canary` and `sluice shadow --tee` have put there, for which adopt refuses the project.
void check_trials(const fs::path& project, ProjectFindings& found) {
    const auto tell = [&](Importance importance, std::string_view id, const std::string& text,
                          const std::string& command) {
        found.add({importance, kBroken, std::string(id), text + command, command});
    };
    const fs::path folder = project / kCanaryFolder, settings = folder / kCanarySettings;
    const std::string end = sluice_command("canary --stop", project);
    std::error_code none;
    if (fs::exists(folder, none))
        expect(found, "canary", [&] {
            const std::string state = read_file(folder / kCanaryState, 4096).value_or("");
            const auto since = fs::last_write_time(settings, none);
            if (state.starts_with(kDividingState) && !none)
                tell(Importance::kNote, "canary",
                     fmt::format(
                         "{} % of the hosts go to Sluice since {}, and adopt refuses the project. Figures: {}; to "
                         "end it: ",
                         canary_share(read_file(settings, 4096).value_or("")) / 100., when(since),
                         sluice_command("canary", project)),
                     end);
            else
                tell(Importance::kWarning, "canary",
                     "a call of sluice canary was broken off, and adopt refuses the project; to undo it: ", end);
        });
    expect(found, "canary", [&] {
        if (const auto old = old_divided_programs(project, own_prefix()); !old.empty())
            tell(Importance::kWarning, "canary_old",
                 fmt::format("programs that sluice canary has put there are of another release: {}. Call bin/stop and "
                             "bin/start after this: ",
                             fmt::join(old, " ")),
                 sluice_command("upgrade", project));
    });
    if (fs::exists(project / "cgi-bin" / tee::kBehind, none))
        tell(Importance::kNote, "tee",
             "sluice shadow --tee looks at the requests, and adopt and canary refuse the project; where it runs no "
             "longer: ",
             sluice_command("shadow --remove_tee", project));
}

/// What adopt and canary would find out by trying it.
void check_groups(const CheckArguments& checked, const HostFolders& folders, ProjectFindings& found) {
    for (const PermissionFinding& group : groups_not_to_give(checked.project, folders.log))
        found.add({group.refused ? Importance::kError : Importance::kWarning, kBroken, "group_of_new_files", group.what,
                   group.command});
}

/// What lies outside of config.xml and the database, and matters to who moves.
void check_surroundings(const CheckArguments& checked, const ProjectConfig& config, const Entries& entries,
                        ProjectFindings& found) {
    struct stat owner {};
    const bool known = ::stat(checked.project.c_str(), &owner) == 0;
    std::string unseen;
    add(found, cron_findings(read_crontabs(user_name(known ? owner.st_uid : ::geteuid()), unseen), checked.project));
    if (!unseen.empty()) found.note("crontab", unseen);
    add(found, linked_programs(host_folders(config, short_host_name()).bin, entries.list));
    check_trials(checked.project, found);
    check_groups(checked, host_folders(config, short_host_name()), found);
    add(found, page_findings(checked.project));
    add(found, room_findings(checked.project, config));
    add(found, web_server_findings(checked.project, web_server_folders()));
    check_options_without_effect(checked.file, found);
}

void check_all(const CheckArguments& checked, ProjectFindings& found) {
    LoadedConfig loaded = load_config_file(checked.file, checked.file.parent_path());
    drop_unknown_weights(loaded, score_term_names());
    found.lines({kBroken, "config"}, loaded.errors, loaded.warnings);
    expect(found, "database", [&] { require_database(loaded.config); });
    const Entries entries = check_entries(checked.file, found);
    const bool only_file = checked.project.empty();
    found.lines({kBroken, "strict_xml"}, {},
                only_file ? strict_xml_findings(checked.file) : strict_xml_findings_of_project(checked.project));
    if (only_file) return;
    check_programs(entries.list, loaded.config, found);
    for (const std::string& advice : missing_tasks(entries.list, checked.project))
        found.add({Importance::kNote, kBroken, "missing_task", advice, ""});
    if (const ForeignPrograms foreign = foreign_programs(checked.project); !foreign.names.empty())
        found.add({Importance::kError, kBroken, "foreign_programs", foreign.line, foreign.command,
                   static_cast<std::int64_t>(foreign.names.size())});
    if (checked.scope.database)
        check_database(checked, loaded.config, entries, found);
    else
        found.note("database", "the database was not looked at: --no_database");
    found.lines({kBroken, "scripts"},
                scripts_that_fail(entries.list, host_folders(loaded.config, short_host_name()).bin), {});
    check_set_up(checked, loaded.config, found);
    found.lines({kBroken, "templates"}, {}, joined_templates(checked.project));
    check_files(loaded.config, found);
    check_accounts(checked, loaded.config, found);
    if (checked.scope.move) check_surroundings(checked, loaded.config, entries, found);
}

CheckArguments what_is_meant(const std::string& given) {
    std::error_code ignored;
    fs::path path = fs::absolute(given).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // "." and "PROJECT/" end with a slash
    if (fs::is_directory(path, ignored)) return {path / "config.xml", path, {}};
    return {path, path.filename() == "config.xml" ? path.parent_path() : fs::path(), {}};
}

}  // namespace

ProjectFindings check_project(const std::string& given, CheckScope scope) {
    CheckArguments arguments = what_is_meant(given);
    arguments.scope = scope;
    ProjectFindings found;
    found.file = arguments.file;
    try {
        check_all(arguments, found);
    } catch (const Error& error) {
        found.error({kBroken, "config"}, error.what());
        found.readable = false;
    }
    found.sort();
    return found;
}

}  // namespace sluice
