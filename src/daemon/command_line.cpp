// SPDX-License-Identifier: LGPL-3.0-or-later
// CLI11 parses; in front of it stands what it does not know: upstream's single dash in front of long names.
#include "sluice/daemon/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/check_arguments.h"
#include "sluice/daemon/version.h"

namespace sluice {

const char kCheckArgumentsHelp[] =
    "Check the other arguments, say what is wrong, and end: sluice_options --check asks daemons so.";  // kOwnProgramText

namespace {

// One description of a program, rendered as --help and as a manual page.

struct OptionDoc {
    std::string names;  ///< "-d, --debug_level"; of a positional: its name
    std::string value;  ///< "N"; empty for flags
    std::string help;
    bool positional = false;
};

struct ProgramDoc {
    std::string program, summary, description;
    std::vector<OptionDoc> options;
    std::vector<std::pair<std::string, std::string>> sections;  ///< title, text
};

constexpr std::size_t kWidth = 80, kHelpColumn = 30;

/// Words of `text`, wrapped at kWidth, every line but the first indented.
std::string wrapped(const std::string& text, std::size_t indent) {
    std::string out;
    std::size_t column = indent;
    for (const auto line : split(text, '\n')) {
        if (!out.empty()) {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        }
        for (const auto word : split(line, ' ')) {
            if (column > indent && column + word.size() > kWidth) {
                out.pop_back();
                out += '\n' + std::string(indent, ' ');
                column = indent;
            }
            out.append(word) += ' ';
            column += word.size() + 1;
        }
        out.pop_back();
    }
    return out;
}

std::string synopsis(const ProgramDoc& doc) {
    std::string out = doc.program + " [options]";
    for (const auto& option : doc.options) {
        if (option.positional) out += " [" + option.names + " ...]";
    }
    return out;
}

/// Text for roff: backslashes, minus signs, and lines that would be taken for a request.
std::string roff(const std::string& text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) out += "\\&";
        line_start = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

/// Paragraphs are separated by empty lines in our texts, by .PP in roff.
std::string roff_paragraphs(std::string text) {
    text = roff(text);
    replace_all(text, "\n\n", "\n.PP\n");
    return text;
}

/// Sections are lists of files, signals, commands: their lines stay lines.
std::string roff_lines(std::string text) {
    replace_all(text, "\n\n", "\f");
    text = roff(text);
    replace_all(text, "\n", "\n.br\n");
    replace_all(text, "\f", "\n.PP\n");
    return text;
}

std::string usage_text(const ProgramDoc& doc) {
    std::string out = "usage: " + synopsis(doc) + "\n" + wrapped(doc.summary, 0) + "\n";
    if (!doc.description.empty()) out += "\n" + wrapped(doc.description, 0) + "\n";
    out += "\noptions (--name and -name are the same):\n";
    for (const auto& option : doc.options) {
        std::string left = "  " + option.names;
        if (!option.value.empty()) left += ' ' + option.value;
        left += ' ';
        if (left.size() < kHelpColumn) {
            left.resize(kHelpColumn, ' ');
        } else {
            left += '\n' + std::string(kHelpColumn, ' ');
        }
        out += left + wrapped(option.help, kHelpColumn) + "\n";
    }
    for (const auto& [title, text] : doc.sections) out += "\n" + title + "\n" + wrapped(text, 0) + "\n";
    return out;
}

/// roff with the man macros, section 1.
std::string man_page(const ProgramDoc& doc, const std::string& version) {
    std::string name = doc.program;  // of the page: a command of a program is one word, as git-commit
    std::replace(name.begin(), name.end(), ' ', '-');
    std::string title = name;
    for (char& c : title) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    std::string out = ".TH " + title + " 1 \"\" \"Sluice " + version + "\" \"Sluice\"\n";
    out += ".SH NAME\n" + roff(name) + " \\- " + roff(doc.summary) + "\n";
    out += ".SH SYNOPSIS\n" + roff(synopsis(doc)) + "\n";
    if (!doc.description.empty()) out += ".SH DESCRIPTION\n" + roff_paragraphs(doc.description) + "\n";
    out += ".SH OPTIONS\n--name and -name are the same; a value is the next argument.\n";
    for (const auto& option : doc.options) {
        out += ".TP\n.B " + roff(option.names);
        if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
        out += "\n" + roff(option.help) + "\n";
    }
    for (const auto& [heading, text] : doc.sections) out += ".SH " + roff(heading) + "\n" + roff_lines(text) + "\n";
    return out;
}

[[noreturn]] void refuse(const std::string& option, const std::string& value, const std::string& why) {
    throw CLI::ValidationError(option, "'" + value + "' " + why);
}

/// Decimal, as atoi reads it ("010" is ten), but the whole text must be a number.
std::int64_t whole_number(const std::string& option, const std::string& value,
                          std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                          std::int64_t max = std::numeric_limits<std::int64_t>::max()) {
    std::string_view digits = trim(value);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || end != digits.data() + digits.size() || error == std::errc::invalid_argument) {
        refuse(option, value, "is not a whole number");
    }
    if (error != std::errc{} || number < min || number > max)
        refuse(option, value, "is out of range: give " + std::to_string(min) + " to " + std::to_string(max));
    return number;
}

int small_number(const std::string& option, const std::string& value) {
    return static_cast<int>(
        whole_number(option, value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

double amount(const std::string& option, const std::string& value) {
    const auto number = trim(value).empty() ? std::nullopt : parse_double(value);
    if (!number || !std::isfinite(*number)) refuse(option, value, "is not a number");
    return *number;
}

/// Times and counts: programs turn them into whole numbers, also as microseconds, or days as seconds.
double real_number(const std::string& option, const std::string& value) {
    const double number = amount(option, value);
    if (std::abs(number) > 1e12) refuse(option, value, "is out of range: give -1e12 to 1e12");
    return number;
}

std::string without_dashes(std::string_view name) {
    return std::string(name.substr(std::min(name.find_first_not_of('-'), name.size())));
}

}  // namespace

struct CommandLine::Impl {
    CLI::App app;
    ProgramDoc doc;
    std::map<std::string, int> values;  ///< option name without dashes -> number of values that follow it
    struct Pair {
        const CLI::Option *option, *other;
        bool together;  ///< or neither is
    };
    std::vector<Pair> pairs;
    int debug_level = 3;
    bool man = false, only_check = false;
    int failure = 1;
    std::vector<std::string>* rest = nullptr;

    /// Documents an option and makes its names known; returns the names as CLI11 wants them.
    std::string add(const std::string& names, const std::string& value, int count, const std::string& help) {
        std::string shown;
        for (const auto name : split(names, ',')) {
            values[without_dashes(trim(name))] = count;
            shown += (shown.empty() ? "" : ", ") + std::string(trim(name));
        }
        doc.options.push_back({shown, value, help});
        return names;
    }
    /// The last of several wins, as upstream.
    template <typename Convert>
    void add_value(const std::string& names, const std::string& value, const std::string& help, Convert convert) {
        const std::string shown = std::string(split(names, ',').back());
        app.add_option_function<std::string>(add(names, value, 1, help),
                                             [shown, convert](const std::string& text) { convert(shown, text); })
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    void add_standard_options() {
        if (!values.contains("h")) app.set_help_flag(add("-h,--help", "", 0, "Print this text."));
        if (!values.contains("v")) {
            app.set_version_flag(add("-v,--version", "", 0, "Print the version."),
                                 std::string("Sluice ") + sluice_version());
        }
        app.add_flag(add("--man", "", 0, "Print the manual page (roff)."), man);
        const char* const volatile help = kCheckArgumentsHelp;  // stays one piece in the program's file
        app.add_flag(add(kCheckArguments, "", 0, help), only_check);
    }
    /// Options that would have no effect; "": there is none.
    std::string clash() const;
    std::vector<std::string> normalized(int argc, const char* const* argv) const;
    std::string normalized_option(const std::string& typed, int& values_to_come) const;
    bool knows(const std::string& typed) const;
};

std::string CommandLine::Impl::clash() const {
    for (const Pair& pair : pairs) {
        if (pair.option->empty() || pair.other->empty() != pair.together) continue;
        return pair.option->get_name() + " has no effect with" + (pair.together ? "out " : " ") +
               pair.other->get_name() + (pair.together ? ": give both, or neither" : ": leave one out");
    }
    return "";
}

/// --name for every spelling of a long name, -x for every spelling of a letter.
std::string CommandLine::Impl::normalized_option(const std::string& typed, int& values_to_come) const {
    const std::string name = without_dashes(typed);
    const bool dashed = typed.size() > name.size() && typed.size() - name.size() <= 2 && !name.empty();
    if (!dashed || (name[0] >= '0' && name[0] <= '9')) return typed;
    if (const auto known = values.find(name); known != values.end()) values_to_come = known->second;
    return (name.size() == 1 ? "-" : "--") + name;
}

std::vector<std::string> CommandLine::Impl::normalized(int argc, const char* const* argv) const {
    std::vector<std::string> out;
    int values_to_come = 0;
    for (int i = 1; i < argc; ++i) {
        if (values_to_come > 0) {
            --values_to_come;
            out.emplace_back(argv[i]);
        } else if (rest != nullptr && !knows(argv[i])) {
            rest->emplace_back(argv[i]);
        } else {
            out.push_back(normalized_option(argv[i], values_to_come));
        }
    }
    return out;
}

bool CommandLine::Impl::knows(const std::string& typed) const {
    const std::string name = without_dashes(typed);
    return typed.size() > name.size() && values.contains(name.substr(0, name.find('=')));
}

CommandLine::CommandLine(std::string program, std::string summary, std::string description)
    : impl_(std::make_unique<Impl>()) {
    impl_->doc.program = std::move(program);
    impl_->doc.summary = std::move(summary);
    impl_->doc.description = std::move(description);
    impl_->app.set_help_flag();  // ours is added last, and only if the program has no -h of its own
}

CommandLine::~CommandLine() = default;

void CommandLine::flag(const std::string& names, bool& target, const std::string& help) {
    impl_->app.add_flag_callback(impl_->add(names, "", 0, help), [&target] { target = true; });
}

void CommandLine::option(const std::string& names, int& target, const std::string& help, const std::string& value) {
    impl_->add_value(names, value, help, [&target](const auto&... text) { target = small_number(text...); });
}

void CommandLine::option(const std::string& names, std::optional<int>& target, const std::string& help,
                         const std::string& value) {
    impl_->add_value(names, value, help, [&target](const auto&... text) { target = small_number(text...); });
}

void CommandLine::option(const std::string& names, std::int64_t& target, const std::string& help,
                         const std::string& value) {
    impl_->add_value(names, value, help, [&target](const auto&... text) { target = whole_number(text...); });
}

void CommandLine::option(const std::string& names, std::optional<std::int64_t>& target, const std::string& help,
                         const std::string& value) {
    impl_->add_value(names, value, help, [&target](const auto&... text) { target = whole_number(text...); });
}

void CommandLine::id_option(const std::string& names, std::optional<std::int64_t>& target, const std::string& help) {
    impl_->add_value(names, "ID", help, [&target](const std::string& name, const std::string& text) {
        target = whole_number(name, text);
        if (*target <= 0) refuse(name, text, "is not the id of a row: they are above 0");
    });
}

void CommandLine::option(const std::string& names, double& target, const std::string& help, const std::string& value) {
    impl_->add_value(names, value, help, [&target](const auto&... text) { target = real_number(text...); });
}

void CommandLine::option(const std::string& names, std::optional<double>& target, const std::string& help,
                         const std::string& value) {
    impl_->add_value(names, value, help, [&target](const auto&... text) { target = real_number(text...); });
}

void CommandLine::amount_option(const std::string& names, double& target, const std::string& help) {
    impl_->add_value(names, "X", help, [&target](const auto&... text) { target = amount(text...); });
}

void CommandLine::amount_option(const std::string& names, std::optional<double>& target, const std::string& help) {
    impl_->add_value(names, "X", help, [&target](const auto&... text) { target = amount(text...); });
}

void CommandLine::option(const std::string& names, std::string& target, const std::string& help,
                         const std::string& value) {
    impl_->add_value(names, value, help, [&target](const std::string&, const std::string& text) { target = text; });
}

void CommandLine::option(const std::string& names, IdShare& target, const std::string& help) {
    const auto convert = [&target, names](const std::vector<std::string>& texts) {
        target = {whole_number(names, texts.at(0)), whole_number(names, texts.at(1))};
        if (target.n <= 0 || target.i < 0 || target.i >= target.n)
            refuse(names, texts[0] + " " + texts[1], "is not N I with N > 0 and 0 <= I < N");
    };
    impl_->app.add_option_function<std::vector<std::string>>(impl_->add(names, "N I", 2, help), convert)
        ->type_size(2)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void CommandLine::repeatable(const std::string& names, std::vector<std::string>& target, const std::string& help,
                             const std::string& value) {
    impl_->app.add_option(impl_->add(names, value, 1, help), target)->allow_extra_args(false);
}

void CommandLine::exclude(const std::string& option, const std::string& other) {
    impl_->pairs.push_back({impl_->app.get_option(option), impl_->app.get_option(other), false});
}

void CommandLine::require(const std::string& option, const std::string& other) {
    impl_->pairs.push_back({impl_->app.get_option(option), impl_->app.get_option(other), true});
}

std::vector<std::string> CommandLine::given() const {
    std::vector<std::string> names;
    for (const CLI::Option* option : impl_->app.get_options())
        if (!option->empty() && !option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
    return names;
}

void CommandLine::positional(const std::string& name, std::vector<std::string>& target, const std::string& help) {
    impl_->doc.options.push_back({name, "", help, true});
    impl_->app.add_option(name, target);
}

void CommandLine::rest(std::vector<std::string>& target) { impl_->rest = &target; }

void CommandLine::debug_level_option() {
    option("-d,--debug_level", impl_->debug_level, "Log level: 1 critical, 2 warning, 3 normal, 4 debug. Default 3.");
}

void CommandLine::section(const std::string& title, const std::string& text) {
    impl_->doc.sections.emplace_back(title, text);
}

void CommandLine::failure_status(int status) { impl_->failure = status; }

int CommandLine::fail(const std::string& message) const {
    // Words of the command line are repeated: they may be anything.
    const std::string& program = impl_->doc.program;
    std::fputs((program + ": " + in_one_line(message, 1000) + " (" + program + " --help tells more)\n").c_str(),
               stderr);
    return impl_->failure;
}

std::string CommandLine::take(const std::string& words) {
    std::istringstream in(words);
    std::vector<std::string> list{impl_->doc.program};
    for (std::string word; in >> word;) list.push_back(word);
    std::vector<const char*> argv;
    for (const std::string& word : list) argv.push_back(word.c_str());
    std::vector<std::string> args = impl_->normalized(static_cast<int>(argv.size()), argv.data());
    std::reverse(args.begin(), args.end());
    try {
        impl_->app.parse(std::move(args));
    } catch (const CLI::ParseError& error) {
        return error.what();
    }
    return impl_->clash();
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
    impl_->add_standard_options();
    std::vector<std::string> args = impl_->normalized(argc, argv);
    std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
    try {
        impl_->app.parse(std::move(args));
    } catch (const CLI::CallForHelp&) {
        std::fputs(usage_text(impl_->doc).c_str(), stdout);
        return 0;
    } catch (const CLI::CallForVersion& version) {
        std::puts(version.what());
        return 0;
    } catch (const CLI::ParseError& error) {
        return fail(error.what());
    }
    if (impl_->man) {
        std::fputs(man_page(impl_->doc, sluice_version()).c_str(), stdout);
        return 0;
    }
    if (const std::string wrong = impl_->clash(); !wrong.empty()) return fail(wrong);
    if (impl_->only_check) return 0;
    if (impl_->values.contains("debug_level")) {
        const int level = std::clamp(impl_->debug_level, 1, 4);
        // Upstream takes any number; an old command line must go on starting its daemon. Said before level 1 hides it.
        if (level != impl_->debug_level)
            log_warning("--debug_level {} is taken as {}: the levels are 1 to 4", impl_->debug_level, level);
        log_set_level(static_cast<LogLevel>(level));
    }
    return std::nullopt;
}

}  // namespace sluice
