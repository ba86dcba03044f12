// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads config.xml and config_aux.xml. It reads the options twice: first to find <compat_level>, which
// decides the defaults wherever it stands; the second stores values.
#include "config/load.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/config_element.h"
#include "config/option_table.h"
#include "config/resolve.h"
#include "sluice/base/address_range.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// A config.xml is a few kilobytes.
constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

struct Source {
    std::string_view text;
    const std::string& name;
};

/// A value that is not allowed. It costs its option, not the project: its readers go on without it.
struct BadValue {
    std::string problem;
};

[[noreturn]] void bad_value(const Source& source, const ConfigElement& element, const std::string& allowed) {
    throw BadValue{fmt::format("{}: <{}>{}</{}> {}", source.name, in_one_line(element.name), in_one_line(element.text),
                               in_one_line(element.name), allowed)};
}

/// Without these no program finds its rows and files; with a default in their place it would find others.
bool is_vital(std::string_view tag) {
    constexpr std::string_view kVital[] = {"db_name", "db_user",      "db_passwd",  "db_host",        "project_dir",
                                           "key_dir", "download_dir", "upload_dir", "uldl_dir_fanout"};
    return std::ranges::find(kVital, tag) != std::end(kVital);
}

/// Tags whose names hold a host's name or a family of web options.
bool is_host_dir(std::string_view tag) {
    return tag.ends_with("_dir") && (tag.starts_with("tmp_") || tag.starts_with("log_") || tag.starts_with("pid_"));
}
bool is_web_family(std::string_view tag) {
    return tag.starts_with("profile_") || tag.starts_with("moderators_") || tag.starts_with("recaptcha_");
}
bool is_known(std::string_view tag) { return find_option(tag) != nullptr || is_host_dir(tag) || is_web_family(tag); }

/// The known options between <config> and </config>, in file order; unknown ones are skipped with a warning.
std::vector<ConfigElement> read_options(const Source& source, std::vector<std::string>& warnings,
                                        bool (*known)(std::string_view)) {
    XmlReader reader(source.text);
    XmlReader::Kind kind = reader.next();
    while (kind != XmlReader::Kind::kEof && !(kind == XmlReader::Kind::kStart && reader.name() == "config")) {
        kind = reader.next();
    }
    if (kind == XmlReader::Kind::kEof) throw ConfigError(fmt::format("{}: there is no <config> element", source.name));
    std::vector<ConfigElement> options;
    std::set<std::string, std::less<>> warned;
    if (reader.empty_element()) return options;
    while (true) {
        kind = reader.next();
        if (kind == XmlReader::Kind::kEof) {
            throw ConfigError(fmt::format("{}: </config> is missing", source.name));
        }
        if (kind == XmlReader::Kind::kText) continue;
        if (kind == XmlReader::Kind::kEnd) {
            if (reader.name() == "config") return options;
            throw ConfigError(fmt::format("{}: </{}> has no start tag",
                                          where(source.text, reader.position(), source.name),
                                          in_one_line(reader.name())));
        }
        if (known(reader.name())) {
            options.push_back(read_element(reader, source.text, source.name));
            continue;
        }
        if (warned.emplace(reader.name()).second) {
            warnings.push_back(
                fmt::format("{}: unknown option <{}> is ignored{}", source.name, in_one_line(reader.name()),
                            reader.name() == "max_jobs_in_progress" ? ": it belongs in config_aux.xml"
                                                                    : ": see docs/options.md for the names"));
        }
        skip_element(reader, source.text, source.name);
    }
}

void store_weights(const Source& source, const OptionRow& row, const ConfigElement& element, LoadedConfig& loaded) {
    if (!element.text.empty()) bad_value(source, element, allowed_values(row));
    for (const ConfigElement& weight : element.children) {
        const auto value = parse_double(weight.text);
        const bool fits = value && *value >= row.range.min && *value <= row.range.max;
        if (fits && !weight.text.empty() && weight.children.empty()) {
            loaded.config.score_weights[weight.name] = *value;
        } else {
            loaded.errors.push_back(fmt::format("{}: <{}><{}>{}</{}> must be a number from {} to {}: ignored",
                                                source.name, row.tag, in_one_line(weight.name),
                                                in_one_line(weight.text), in_one_line(weight.name), row.range.min,
                                                row.range.max));
        }
    }
}

/// Why an element of a list can't be used; nullptr: it can. Upstream logs a bad expression and goes on without it.
const char* what_it_is_not(const OptionRow& row, const std::string& pattern) {
    if (row.tag == "trusted_proxy")
        return AddressRange::parse(trim(pattern)) ? nullptr : "an address (192.0.2.7, 10.0.0.0/8)";
    regex_t compiled;
    if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return "a regular expression";
    regfree(&compiled);
    return nullptr;
}

/// <x/> of a number, and a mode without digits, say nothing: the default stays. <x></x> of a number is 0.
bool says_nothing(const OptionRow& row, const ConfigElement& element) {
    const bool number = std::holds_alternative<int ProjectConfig::*>(row.member) ||
                        std::holds_alternative<std::int64_t ProjectConfig::*>(row.member) ||
                        std::holds_alternative<double ProjectConfig::*>(row.member) ||
                        std::holds_alternative<std::vector<std::int64_t> ProjectConfig::*>(row.member);
    return number && element.children.empty() && element.text.empty() &&
           (element.self_closing || row.base == OptionRow::Base::kOctal);
}

void store(const Source& source, const ConfigElement& element, LoadedConfig& loaded) {
    const OptionRow* row = find_option(element.name);
    if (row == nullptr) {
        if (is_host_dir(element.name)) loaded.config.host_dirs[element.name] = element.text;
        return;
    }
    if (std::holds_alternative<std::monostate>(row->member) || says_nothing(*row, element)) return;
    if (std::holds_alternative<std::map<std::string, double> ProjectConfig::*>(row->member)) {
        store_weights(source, *row, element, loaded);
        return;
    }
    if (!element.children.empty()) bad_value(source, element, "holds other elements; it " + allowed_values(*row));
    const bool listed = std::holds_alternative<std::vector<std::string> ProjectConfig::*>(row->member);
    if (const char* what = listed ? what_it_is_not(*row, element.text) : nullptr) {
        loaded.errors.push_back(fmt::format("{}: <{}>{}</{}> is not {} and is ignored", source.name, element.name,
                                            in_one_line(element.text), element.name, what));
        return;
    }
    const bool is_flag = std::holds_alternative<bool ProjectConfig::*>(row->member);
    const std::string_view text = is_flag && element.self_closing ? "1" : std::string_view(element.text);
    if (!set_option(*row, text, loaded.config)) bad_value(source, element, allowed_values(*row));
    if (element.name == "grace_period_hours") {
        loaded.config.report_grace_period = static_cast<int>(loaded.config.grace_period_hours * 3600);
    }
}

/// What holds instead of a value that was refused: the default, or what stood before in the file.
std::string what_holds(const OptionRow& row, const ProjectConfig& config) {
    const auto values = std::holds_alternative<std::map<std::string, double> ProjectConfig::*>(row.member)
                            ? std::vector<std::string>{}
                            : option_values(row, config);
    const bool is_list = std::holds_alternative<std::vector<std::string> ProjectConfig::*>(row.member) ||
                         std::holds_alternative<std::vector<std::int64_t> ProjectConfig::*>(row.member);
    if (is_list || values.empty() || values[0].empty()) return "ignored";
    return fmt::format("ignored, {} is used", in_one_line(values[0]));
}

void store_or_tell(const Source& source, const ConfigElement& element, LoadedConfig& loaded) {
    try {
        store(source, element, loaded);
    } catch (const BadValue& bad) {
        if (is_vital(element.name)) throw ConfigError(bad.problem);
        loaded.errors.push_back(
            fmt::format("{}: {}", bad.problem, what_holds(*find_option(element.name), loaded.config)));
    }
}

/// What of config_aux.xml is being read, and where the problems go.
struct AuxSource {
    Source source;
    std::vector<std::string>& warnings;
    std::vector<std::string>& errors;

    /// `parse()`, or what is left of the settings around it without it.
    template <typename Parse>
    void or_tell(Parse parse) const {
        try {
            parse();
        } catch (const BadValue& bad) {
            errors.push_back(bad.problem + ": ignored");
        }
    }

    void unknown(const ConfigElement& parent, const ConfigElement& child, std::string_view known) const {
        const std::string warning = fmt::format("{}: unknown element <{}> in <{}> is ignored: it may hold {}",
                                                source.name, in_one_line(child.name), parent.name, known);
        if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
    }
};

JobLimit parse_limit(const AuxSource& aux, const ConfigElement& element) {
    JobLimit limit;
    for (const ConfigElement& child : element.children) {
        const auto value = parse_int(child.text);
        if (child.name == "jobs") {
            if (!value || *value < 0 || *value > 2147483647)
                bad_value(aux.source, child, "must be a whole number from 0 to 2147483647");
            limit.jobs = static_cast<int>(*value);
        } else if (child.name == "per_proc") {
            if (!value) bad_value(aux.source, child, "must be 0 or 1");
            limit.per_proc = child.self_closing || *value != 0;
        } else {
            aux.unknown(element, child, "<jobs> and <per_proc>");
        }
    }
    return limit;
}

/// `app`: where the name goes; null: the project's.
JobLimits parse_limits(const AuxSource& aux, const ConfigElement& element, std::string* app) {
    JobLimits parsed;
    for (const ConfigElement& child : element.children) {
        if (child.name == "total_limit")
            aux.or_tell([&] { parsed.total = parse_limit(aux, child); });
        else if (child.name == "cpu_limit")
            aux.or_tell([&] { parsed.cpu = parse_limit(aux, child); });
        else if (child.name == "gpu_limit")
            aux.or_tell([&] { parsed.gpu = parse_limit(aux, child); });
        else if (child.name == "app_name" && app)
            *app = child.text;
        else
            aux.unknown(element, child, "<total_limit>, <cpu_limit> and <gpu_limit>");
    }
    if (app && app->empty()) bad_value(aux.source, element, "needs an <app_name>");
    return parsed;
}

MaxJobsInProgress parse_aux(const AuxSource& aux) {
    MaxJobsInProgress parsed;
    const auto known = [](std::string_view tag) { return tag == "max_jobs_in_progress"; };
    for (const ConfigElement& element : read_options(aux.source, aux.warnings, known)) {
        for (const ConfigElement& child : element.children) {
            if (child.name == "project")
                parsed.project = parse_limits(aux, child, nullptr);
            else if (child.name == "app")
                aux.or_tell([&] {
                    std::string name;
                    const JobLimits limits = parse_limits(aux, child, &name);
                    parsed.apps[name] = limits;
                });
            else
                aux.unknown(element, child, "<project> and <app>");
        }
    }
    return parsed;
}

void set_defaults(ProjectConfig& config, int compat_level) {
    for (const OptionSection& section : option_sections()) {
        for (const OptionRow& row : section.rows) {
            const std::string_view text = compat_level == 0 ? row.level0 : row.level1;
            const bool is_list = text.empty();  // texts and lists are empty already
            if (!is_list && !set_option(row, text, config)) {
                throw ConfigError(fmt::format("option table: the default '{}' of <{}> is out of range", text, row.tag));
            }
        }
    }
    config.compat_level = compat_level;
}

LoadedConfig parse_unresolved(const Source& source, const Source& aux) {
    LoadedConfig loaded;
    const std::vector<ConfigElement> options = read_options(source, loaded.warnings, is_known);
    std::optional<LoadedConfig> level;  // the second reading names its problems
    for (const ConfigElement& element : options) {
        if (element.name != "compat_level") continue;
        if (!level) level.emplace();
        store_or_tell(source, element, *level);
    }
    // Defaults are read from the table each time: a process of the web server does it once.
    if (level && level->config.compat_level != 0) set_defaults(loaded.config, level->config.compat_level);
    for (const ConfigElement& element : options) store_or_tell(source, element, loaded);
    if (!trim(aux.text).empty()) loaded.config.max_jobs_in_progress = parse_aux({aux, loaded.warnings, loaded.errors});
    return loaded;
}

}  // namespace

ProjectConfig::ProjectConfig() { set_defaults(*this, 0); }

ProjectConfig default_config(int compat_level) {
    ProjectConfig config;
    if (compat_level != 0) set_defaults(config, compat_level);
    return config;
}

LoadedConfig parse_config(std::string_view text, const std::string& name, std::string_view aux,
                          const std::string& aux_name) {
    LoadedConfig loaded = parse_unresolved({text, name}, {aux, aux_name});
    resolve_config("", loaded);
    return loaded;
}

LoadedConfig load_config(const std::filesystem::path& project) {
    return load_config_file(project / "config.xml", project);
}

LoadedConfig load_config_file(const std::filesystem::path& file, const std::filesystem::path& project) {
    const fs::path aux_file = project / "config_aux.xml";
    const auto text = read_file(file, kMaxFileBytes);
    if (!text) {
        throw ConfigError(
            fmt::format("{} does not exist: run in a project's folder or set BOINC_PROJECT_DIR", file.string()));
    }
    const auto aux = read_file(aux_file, kMaxFileBytes);
    if (aux && trim(*aux).empty())
        throw ConfigError(fmt::format("{} is empty: remove it or fill it", aux_file.string()));
    LoadedConfig loaded = parse_unresolved({*text, file.string()}, {aux.value_or(""), aux_file.string()});
    resolve_config(fs::absolute(project).lexically_normal(), loaded);
    return loaded;
}

void log_problems(const LoadedConfig& loaded) {
    for (const std::string& error : loaded.errors) log_critical("{}", error);
    for (const std::string& warning : loaded.warnings) log_warning("{}", warning);
}

ProjectConfig load_config_and_warn(const std::filesystem::path& project) {
    LoadedConfig loaded = load_config(project);
    log_problems(loaded);
    return std::move(loaded.config);
}

void drop_unknown_weights(LoadedConfig& loaded, std::span<const std::string_view> known) {
    std::erase_if(loaded.config.score_weights, [&](const auto& entry) {
        const auto& [name, weight] = entry;
        if (std::ranges::find(known, name) != known.end()) return false;
        if (name == "share") {  // make_project wrote it into every config.xml while it was a weight
            loaded.warnings.push_back(
                "config.xml: <score_weights><share> is not a weight any more and is ignored: the order of shares comes "
                "before all scores (<share_rule>off</share_rule> switches it off); what a lag within 6 hours is worth is "
                "<share_lag>");
            return true;
        }
        loaded.errors.push_back(
            fmt::format("config.xml: <score_weights><{}>{}</{}>: there is no such term: ignored; the terms are {}",
                        in_one_line(name), weight, in_one_line(name), fmt::join(known, ", ")));
        return true;
    });
}

}  // namespace sluice
