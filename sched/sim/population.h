#pragma once
// Hosts as they are drawn: what a machine is, and when it is on.
#include <cstdint>
#include <string>
#include <vector>

#include "random.h"
#include "scenario.h"

namespace sluice::sim {

/// When a host computes: alternating sessions and gaps. A copy goes on by itself from where it was taken.
class Sessions {
  public:
    enum class Habit { kAlways, kDaily, kSporadic, kNeverOff };
    Sessions(Habit habit, std::uint64_t seed, std::uint64_t host);
    bool on() const { return on_; }
    /// Seconds until the next change, drawn anew.
    double next();
    void toggle() { on_ = !on_; }
    Habit habit() const { return habit_; }
    /// Long-run part of the time.
    double part_on() const;

  private:
    Habit habit_;
    SmallRng rng_;
    bool on_;
};

struct HostSpec {
    std::uint64_t number = 0;  ///< of all hosts that there ever were
    double speed = 1;          ///< 1 is 1e9 flops per second and core
    int cores = 1;
    int gpus = 0;  ///< each ten times as fast as a core
    double memory = 8e9, disk = 100e9;
    Sessions::Habit habit = Sessions::Habit::kAlways;
    double lifetime = 0;                            ///< s after it joined; infinite for ever
    double buffer_min = 8640, buffer_more = 43200;  ///< s
    double error_rate = 0.015, wrong_rate = 0;
    double clock_error = 0;      ///< s that its clock is ahead
    double other_share = 0;      ///< part of its time that other projects have
    int max_jobs_per_core = 35;  ///< it asks for no more than that
    std::string os, vendor, model;
};

/// The host that stands at `number` of a run; the same for every configuration.
HostSpec draw_host(const Fleet& fleet, std::uint64_t seed, std::uint64_t number);
/// Hosts of a trace: CSV with a header; columns speed, cores, gpus, memory_gb, habit (always, daily, sporadic,
/// never_off), lifetime_days, buffer_min_days, buffer_additional_days, error_rate; speed must be there. Throws Error
/// that names the line.
std::vector<HostSpec> read_trace(const std::string& file, const Fleet& fleet, std::uint64_t seed);

}  // namespace sluice::sim
