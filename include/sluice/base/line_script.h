// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An admin's program that stays: it reads lines from standard input, and answers each with a line on standard output,
// in the same order. So what it costs to start it is paid once.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/files.h"

namespace sluice {

struct LineScriptLimits {
    double answer = 300;                            ///< s for one answer; 0: none
    std::size_t longest = std::size_t{4} << 20;     ///< bytes of an answer
    std::uint64_t memory = std::uint64_t{4} << 30;  ///< bytes of private memory of a process; 0: none
};

class LineScript {
  public:
    /// What an answer is worth: "" or what is wrong with it, in one line.
    using Take = std::function<std::string(std::size_t line, const std::string& answer)>;
    struct Asked {
        std::size_t answered = 0;
        /// Why the next line has no answer: the script could not be started, ended, took too long or wrote what `take`
        /// refuses, with the last lines of its standard error. It and what it started are ended then; the next call
        /// starts it anew. Empty: all are answered, or `stop` said so.
        std::string failure = {};
    };

    /// From now on SIGPIPE does not end this process. `words`: the command; without a shell. `stop`: asked every second
    /// while it waits; may be empty.
    LineScript(std::vector<std::string> words, LineScriptLimits limits, std::function<bool()> stop = {});
    LineScript(const LineScript&) = delete;
    ~LineScript();

    /// Lines without their ends. Its standard error is copied to ours, but no more than 100 kB a call.
    Asked ask(std::span<const std::string> lines, const Take& take);

  private:
    bool start();
    void end();
    /// "" or why the script is of no more use.
    std::string exchange(std::span<const std::string> lines, const Take& take, std::size_t& answered);
    std::string wait_for_script(bool writes, double until);
    std::string write_some();
    std::string read_some();
    void read_errors();
    std::string how_it_ended();
    std::string with_last_lines(std::string why) const;

    std::vector<std::string> words_;
    LineScriptLimits limits_;
    std::function<bool()> stop_;
    pid_t pid_ = 0;
    OwnedFd in_, out_, err_;
    std::string to_write_, read_;
    std::string errors_;  ///< the end of its standard error
    std::size_t copied_ = 0;
    bool stopped_ = false;
};

}  // namespace sluice
