// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Command lines as upstream's programs have them: --name VALUE and -name VALUE are the same, values are the
// next arguments, -h/--help prints the usage on stdout (exit 0), -v/--version the version on stdout (exit 0),
// an unknown option or a missing value prints one line on stderr that names it and --help (exit 1). CLI11 does
// the parsing (in the .cpp).
// --man prints the man page (roff), made from the same text.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/model/id_share.h"

namespace sluice {

class CommandLine {
  public:
    /// `summary`: one line. `description`: paragraphs for --help and the man page.
    CommandLine(std::string program, std::string summary, std::string description = "");
    ~CommandLine();

    /// `names`: "--one_pass" or "-d,--debug_level": comma-separated, as admins type them.
    void flag(const std::string& names, bool& target, const std::string& help);
    void option(const std::string& names, int& target, const std::string& help, const std::string& value = "N");
    void option(const std::string& names, std::int64_t& target, const std::string& help,
                const std::string& value = "N");
    /// Real numbers: -1e12 to 1e12, so that they stay whole numbers of 64 bits as microseconds, or days as seconds.
    void option(const std::string& names, double& target, const std::string& help, const std::string& value = "X");
    /// Operations, bytes, credit: any finite number. It is not made a whole number.
    void amount_option(const std::string& names, double& target, const std::string& help);
    void amount_option(const std::string& names, std::optional<double>& target, const std::string& help);
    void option(const std::string& names, std::string& target, const std::string& help,
                const std::string& value = "TEXT");
    /// The same for values that have no default: without the option `target` stays empty.
    void option(const std::string& names, std::optional<int>& target, const std::string& help,
                const std::string& value = "N");
    void option(const std::string& names, std::optional<std::int64_t>& target, const std::string& help,
                const std::string& value = "N");
    void option(const std::string& names, std::optional<double>& target, const std::string& help,
                const std::string& value = "X");
    /// An id of a database row: above 0.
    void id_option(const std::string& names, std::optional<std::int64_t>& target, const std::string& help);
    /// Two values, N > 0 and 0 <= I < N: --mod N I.
    void option(const std::string& names, IdShare& target, const std::string& help);
    /// May be given many times; one value each.
    void repeatable(const std::string& names, std::vector<std::string>& target, const std::string& help,
                    const std::string& value = "TEXT");
    /// Beside `other`, `option` would have no effect: parse() refuses a command line with both. Each is one name of an
    /// option that was defined before.
    void exclude(const std::string& option, const std::string& other);
    /// The same of a command line with `option` and without `other`.
    void require(const std::string& option, const std::string& other);
    /// Of all options on the command line, one long name each. After parse().
    std::vector<std::string> given() const;
    /// What remains: file names and the like.
    void positional(const std::string& name, std::vector<std::string>& target, const std::string& help);
    /// What it does not know is not refused but put here, as it was typed and in that order: options of somebody else.
    void rest(std::vector<std::string>& target);
    /// -d / --debug_level N: sets the log level (1 critical … 4 debug); default 3.
    void debug_level_option();
    /// Sections of the man page: "FILES", "SIGNALS", "EXIT STATUS", "EXAMPLES"; plain text.
    void section(const std::string& title, const std::string& text);
    /// Exit status of a wrong command line (default 1).
    void failure_status(int status);
    /// Refuse the command line after parsing, in one line: required options, lo > hi …
    int fail(const std::string& message) const;

    /// Takes `words`, as somebody would type them behind the program's name, and prints nothing. "" or what is wrong
    /// with them. Instead of parse().
    std::string take(const std::string& words);
    /// nullopt: go on; otherwise the status to exit with (everything has been printed).
    std::optional<int> parse(int argc, const char* const* argv);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
