// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A line on standard error now and then, so that long work does not look dead.
#include <chrono>
#include <cstdio>
#include <string>

namespace sluice {

class ProgressLine {
  public:
    /// The first line comes after as long as the others.
    explicit ProgressLine(std::chrono::seconds every = std::chrono::seconds(10)) : every_(every) {}
    /// `text` is asked for only when a line is due.
    template <class Text>
    void say(Text text) {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < every_) return;
        last_ = now;
        std::fputs((text() + "\n").c_str(), stderr);
    }

  private:
    const std::chrono::seconds every_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace sluice
