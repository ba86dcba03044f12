// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/json_script.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "daemons/validator/output_files.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/daemon.h"
#include "sluice/json/input.h"
#include "sluice/model/job.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> words_of(const JsonScriptOptions& options, const JsonScriptPlaces& places) {
    std::vector<std::string> words;
    for (const auto word : split(options.command, ' '))
        if (!trim(word).empty()) words.emplace_back(trim(word));
    if (words.empty()) throw ConfigError("--json_script needs the name of a script in bin/");
    words.front() = (places.project / "bin" / words.front()).string();
    return words;
}

fs::path own_folder() {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path() : self.parent_path();
}

/// Python finds sluice.py, which lies beside this program.
void offer_python_module() {
    const char* given = std::getenv("PYTHONPATH");  // NOLINT(concurrency-mt-unsafe): before any thread
    const std::string path = own_folder().string() + (given != nullptr ? ":" + std::string(given) : "");
    ::setenv("PYTHONPATH", path.c_str(), 1);      // NOLINT(concurrency-mt-unsafe)
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);  // NOLINT(concurrency-mt-unsafe)
}

std::vector<std::string> command_of(const JsonScriptOptions& options, const JsonScriptPlaces& places) {
    offer_python_module();
    const auto words = words_of(options, places);
    const std::string name = fs::path(words.front()).filename();
    if (options.no_sandbox) return words;
    if (::access(places.bwrap.c_str(), X_OK) != 0) {
        log_warning(
            "{} runs without a sandbox: bubblewrap is not installed (apt-get install bubblewrap; --no_sandbox if "
            "it is to be so)",
            name);
        return words;
    }
    for (const auto* paths : {&options.readable, &options.writable})
        for (const std::string& path : *paths)  // else bubblewrap fails, which must not mean: no sandbox
            if (::access(path.c_str(), F_OK) != 0)
                throw ConfigError(fmt::format("the sandbox of {} can't show {}: it is not there", name, path));
    if (const int status = run_script(sandboxed({"/usr/bin/true"}, options, places), 10); status != 0) {
        log_warning("{} runs without a sandbox: bubblewrap can't make one here (status {}; user namespaces may be off)",
                    name, status);
        return words;
    }
    return sandboxed(words, options, places);
}

LineScriptLimits limits_of(const JsonScriptOptions& options) {
    LineScriptLimits limits;
    limits.answer = options.time_limit;
    limits.memory = static_cast<std::uint64_t>(options.memory_limit * 1e6);
    return limits;
}

Json json_of(const Workunit& wu, const std::string& app) {
    return {{"id", wu.id}, {"name", wu.name}, {"app", app}, {"batch", wu.batch}};
}

Json json_of(const JsonResultFiles& r) {
    Json files = Json::array();
    for (const OutputFile& f : r.files)
        files.push_back(
            {{"name", f.logical}, {"path", f.path.string()}, {"optional", f.optional}, {"no_validate", f.no_validate}});
    return {{"id", r.result.id},
            {"name", r.result.name},
            {"host", r.result.hostid},
            {"user", r.result.userid},
            {"elapsed_time", r.result.elapsed_time},
            {"cpu_time", r.result.cpu_time},
            {"exit_status", r.result.exit_status},
            {"files", std::move(files)}};
}

/// Names in the database may hold any bytes.
std::string line_of(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace

void define_json_script(CommandLine& line, JsonScriptOptions& o) {
    line.option("--json_script", o.command, "script that stays, and answers JSON lines (docs/validators.md)",
                "\"PROG …\"");
    line.option("--json_time_limit", o.time_limit,
                "a workunit for which it takes longer comes again later; default 600; 0: no limit", "S");
    line.option("--memory_limit", o.memory_limit, "of private memory of the script; default 4000; 0: no limit", "MB");
    line.flag("--no_sandbox", o.no_sandbox, "the script sees all that this program may see");
    line.flag("--network", o.network, "the sandbox has the network");
    line.repeatable("--readable", o.readable, "the sandbox shows this, too", "PATH");
    line.repeatable("--writable", o.writable, "the script may write to this", "PATH");
}

std::string wrong_json_script(const JsonScriptOptions& o) {
    if (o.time_limit < 0) return "--json_time_limit is below 0; 0: no limit";
    if (o.memory_limit < 0) return "--memory_limit is below 0; 0: no limit";
    return "";
}

std::vector<std::string> sandboxed(const std::vector<std::string>& words, const JsonScriptOptions& options,
                                   const JsonScriptPlaces& places) {
    std::vector<std::string> all{places.bwrap.string(), "--unshare-all"};
    if (options.network) all.emplace_back("--share-net");
    all.insert(all.end(),
               {"--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"});
    const auto show = [&all](const char* how, const fs::path& path) {
        all.insert(all.end(), {how, path.string(), path.string()});
    };
    for (const char* path : {"/usr", "/bin", "/lib", "/lib64", "/etc", "/opt"}) show("--ro-bind-try", path);
    // A project may lie in one of those: config.xml and the keys are hidden there, too.
    std::error_code error;
    const fs::path project = fs::weakly_canonical(places.project, error);
    all.insert(all.end(), {"--tmpfs", error ? places.project.string() : project.string()});
    show("--ro-bind-try", own_folder());
    show("--ro-bind-try", places.project / "bin");
    show("--ro-bind-try", places.upload_dir);
    for (const std::string& path : options.readable) show("--ro-bind", path);
    for (const std::string& path : options.writable) show("--bind", path);
    all.insert(all.end(), {"--chdir", "/tmp", "--"});
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

JsonScript::JsonScript(const JsonScriptOptions& options, const JsonScriptPlaces& places, const Clock& clock)
    : name_(fs::path(words_of(options, places).front()).filename()),
      clock_(clock),
      script_(command_of(options, places), limits_of(options), [] { return stop_requested(); }) {}

JsonScript::Asked JsonScript::ask(std::span<const std::string> lines, const LineScript::Take& take) {
    if (clock_.now() < rests_until_) return {0, "", true};
    const double began = clock_.now();
    const LineScript::Asked asked =
        script_.ask(lines, [&take](std::size_t i, const std::string& answer) -> std::string {
            try {
                return take(i, answer);
            } catch (const json::InputError& e) {
                return std::string("what it answered is wrong: ") + e.what();
            }
        });
    const double took = clock_.now() - began;
    constexpr std::size_t kMost = 64;
    if (took < 0.5) at_once_ = std::min(kMost, 2 * at_once_);
    if (took > 2) at_once_ = std::max<std::size_t>(1, at_once_ / 2);
    if (asked.answered > 0) {
        failures_ = 0;
        rest_.reset();
    }
    if (asked.failure.empty()) return {asked.answered, "", false};
    if (asked.answered == lines.size()) {  // all is answered: no workunit pays for what came behind
        log_warning("{}: {}; it is started anew", name_, asked.failure);
        return {asked.answered, "", false};
    }
    if (++failures_ >= kFailures) {
        const double rest = rest_.next();
        rests_until_ = clock_.now() + rest;
        log_warning("{} rests for {:.0f} s after {} failures in a row, the last: {}", name_, rest, failures_,
                    asked.failure);
    }
    return {asked.answered, name_ + ": " + asked.failure, false};
}

std::string validator_question(const Workunit& wu, const std::string& app, Id canonical,
                               std::span<const JsonResultFiles> results) {
    Json line{{"workunit", json_of(wu, app)}};
    line["workunit"]["quorum"] = wu.min_quorum;
    line["canonical"] = canonical == 0 ? Json() : Json(canonical);
    line["results"] = Json::array();
    for (const JsonResultFiles& r : results) line["results"].push_back(json_of(r));
    return line_of(line);
}

std::string assimilator_question(const Workunit& wu, const std::string& app, const JsonResultFiles* canonical,
                                 const fs::path& folder) {
    Json line{{"workunit", json_of(wu, app)}};
    line["workunit"]["error_mask"] = wu.error_mask;
    line["folder"] = folder.string();
    line["canonical"] = canonical == nullptr ? Json() : json_of(*canonical);
    return line_of(line);
}

}  // namespace sluice
