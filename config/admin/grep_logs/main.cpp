// SPDX-License-Identifier: LGPL-3.0-or-later
// grep_logs: finds a word in logs. Upstream's program of that name.
#include <fmt/core.h>
#include <regex.h>

#include <deque>
#include <fstream>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/log_record.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct GrepWords {
    std::vector<std::string> words;  ///< STRING FILE…
    int lines = 0;
    bool html = false;
};

/// A regular expression of POSIX, extended. wu_12 is not found in wu_125.
class LogPattern {
  public:
    explicit LogPattern(const std::string& text) : whole_(!text.empty() && text.back() >= '0' && text.back() <= '9') {
        const std::string expression = whole_ ? "(" + text + ")($|[^0-9])" : "(" + text + ")";
        if (const int error = ::regcomp(&compiled_, expression.c_str(), REG_EXTENDED); error != 0) {
            char why[200];
            ::regerror(error, &compiled_, why, sizeof why);
            throw ConfigError("'" + in_one_line(text) + "' is no regular expression: " + why);
        }
    }
    LogPattern(const LogPattern&) = delete;
    LogPattern& operator=(const LogPattern&) = delete;
    ~LogPattern() { ::regfree(&compiled_); }

    /// Where it stands in `line` behind `at`, counted from there; false: nowhere. A power cut leaves NUL bytes in logs.
    bool find(const std::string& line, std::size_t at, std::size_t& begin, std::size_t& end) const {
        regmatch_t match[2];
        match[0].rm_so = 0, match[0].rm_eo = static_cast<regoff_t>(line.size() - at);
        if (::regexec(&compiled_, line.c_str() + at, 2, match, REG_STARTEND | (at == 0 ? 0 : REG_NOTBOL)) != 0)
            return false;
        begin = static_cast<std::size_t>(match[1].rm_so), end = static_cast<std::size_t>(match[1].rm_eo);
        return true;
    }

  private:
    bool whole_;
    regex_t compiled_{};
};

std::string marked(const std::string& line, const LogPattern& pattern) {
    std::string out;
    std::size_t at = 0, begin = 0, end = 0;
    while (at < line.size() && pattern.find(line, at, begin, end) && end > begin) {
        out += xml_escape(line.substr(at, begin)) + "<b>" + xml_escape(line.substr(at + begin, end - begin)) + "</b>";
        at += end;
    }
    out += xml_escape(line.substr(at));
    if (contains_ignoring_case(line, "critical") || contains_ignoring_case(line, "error"))
        return "<font color=red>" + out + "</font>";
    return contains_ignoring_case(line, "debug") ? "<font color=grey>" + out + "</font>" : out;
}

class LogSearch {
  public:
    LogSearch(const GrepWords& words) : words_(words), pattern_(words.words[0]) {}

    void search(const std::string& file) {
        std::ifstream in(file);
        if (!in || fs::is_directory(file)) {
            const int why = in ? EISDIR : errno;
            if (failed_++ == 0) first_failure_ = in_one_line(file, 1000) + ": " + file_problem(why, file);
            return;
        }
        std::deque<std::string> last;
        int found = 0;
        std::string line;
        for (std::int64_t number = 1; std::getline(in, line); ++number) {
            line = as_text_line(line);
            std::size_t begin = 0, end = 0;
            if (!pattern_.find(line, 0, begin, end)) continue;
            if (found++ == 0) head(file);
            if (words_.lines > 0 && found > words_.lines) break;
            last.push_back(text_of(file, number, line));
            if (words_.lines < 0 && std::ssize(last) <= -static_cast<std::int64_t>(words_.lines)) continue;
            if (words_.lines >= 0) fmt::print("{}", last.front());
            last.pop_front();
        }
        for (const std::string& each : last) fmt::print("{}", each);
    }
    /// In one line; empty: all files were read.
    std::string failure() const {
        return failed_ > 1 ? fmt::format("{}; and {} more files", first_failure_, failed_ - 1) : first_failure_;
    }

  private:
    void head(const std::string& file) const {
        if (words_.html)
            fmt::print("</pre><h2>{}</h2><pre>", xml_escape(file));
        else
            fmt::print("\n\n{}:\n", file);
    }
    std::string text_of(const std::string& file, std::int64_t number, const std::string& line) const {
        if (!words_.html) return fmt::format("  {:05}: {}\n", number, line);
        return fmt::format("<font size=-1><a name={0} href=\"show_log.php?f={1}#{0}\">{0:05}</a></font>  {2}\n", number,
                           xml_escape(file), marked(line, pattern_));
    }

    const GrepWords& words_;
    LogPattern pattern_;
    int failed_ = 0;  ///< files that could not be read
    std::string first_failure_;
};

int search_all(const GrepWords& words) {
    LogSearch search(words);
    if (words.html) fmt::print("<pre>");
    for (std::size_t i = 1; i < words.words.size(); ++i) search.search(words.words[i]);
    if (words.html) fmt::print("</pre>");
    if (const std::string failure = search.failure(); !failure.empty()) throw FileError(failure);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    GrepWords words;
    CommandLine line(
        "grep_logs", "find a word in logs",
        "Prints the lines in which STRING stands, with their numbers, file by file. Records of <log_format>json</log_format> count and are "
        "printed as lines of text. STRING is a regular expression "
        "(extended, POSIX). If it ends in a digit, no other digit may follow: wu_12 is not found in wu_125.");
    line.option("-l", words.lines, "only the first N lines of each file; -N: the last N");
    line.flag("--html", words.html, "for a web page: the word is bold, errors are red");
    line.section("EXAMPLES", "grep_logs -l -20 'WU#1234' log_*/*.log");
    line.section("EXIT STATUS", "0: all files were read. 1: one could not be, or STRING is no regular expression.");
    line.positional("STRING FILE", words.words, "what to look for, and in which files");
    return tool_main({"grep_logs"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        return words.words.size() < 2 ? line.fail("give STRING and at least one file") : search_all(words);
    });
}
