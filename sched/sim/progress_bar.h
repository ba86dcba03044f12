// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice::sim {

/// A monotonic clock, in seconds.
double seconds_now();

/// A bar on the terminal, with the time that is left; nothing where standard error is none. Gone when it is destroyed.
class ProgressBar {
  public:
    ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ~ProgressBar();
    /// `part` of the work is done, above 0 to 1.
    void operator()(double part);

  private:
    bool shown_;
    double start_;
};

}  // namespace sluice::sim
