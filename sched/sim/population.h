// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Hosts as they are drawn: what a machine is, and when it is on.
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "sched/sim/scenario.h"
#include "sluice/base/rng.h"

namespace sluice::sim {

// Randomness of the simulation: a generator of eight bytes for each host and each purpose. What one of them draws never
// changes another, so every configuration meets the same fleet.

/// What is drawn by the programs, one purpose among those that runs draw for.
inline constexpr std::uint64_t kServerPurpose = 11;

/// SplitMix64.
class SmallRng final : public Rng {
  public:
    explicit SmallRng(std::uint64_t seed) : state_(seed) {}
    /// Of one thing among many of one kind.
    SmallRng(std::uint64_t seed, std::uint64_t kind, std::uint64_t number)
        : state_(SmallRng(SmallRng(seed).next() ^ (kind * 0x9E3779B97F4A7C15u)).next() + number * 0xD1B54A32D192ED03u) {
        next();
    }
    std::uint64_t next() override {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    bool chance(double part) { return uniform() < part; }
    double exponential(double mean) { return -mean * std::log(1 - uniform()); }
    double weibull(double shape, double mean) {
        return mean / std::tgamma(1 + 1 / shape) * std::pow(-std::log(1 - uniform()), 1 / shape);
    }
    /// Log-normal with that mean.
    double log_normal(double mean, double sigma) { return mean * std::exp(sigma * gaussian() - sigma * sigma / 2); }

  private:
    std::uint64_t state_;
};

enum class Habit { kAlways, kDaily, kSporadic, kNeverOff };

/// On and off as it was recorded, again and again from the simulation's start.
struct RecordedSessions {
    std::vector<double> lengths;  ///< s: off, on, off, on, …; a length may be 0; their number is even
    double period = 0, on = 0;    ///< their sum, and that of the sessions
};

struct HostSpec {
    std::uint64_t number = 0;  ///< of all hosts that there ever were
    double speed = 1;          ///< 1 is 1e9 flops per second and core
    int cores = 1;
    int gpus = 0;  ///< each ten times as fast as a core
    double memory = 8e9, disk = 100e9;
    double files_room = 10e9;  ///< bytes that its client keeps of sticky input files
    Habit habit = Habit::kAlways;
    double lifetime = 0;                            ///< s after it joined; infinite for ever
    double buffer_min = 8640, buffer_more = 43200;  ///< s
    double error_rate = 0.015, wrong_rate = 0;
    double clock_error = 0;      ///< s that its clock is ahead
    double other_share = 0;      ///< part of its time that other projects have
    int max_jobs_per_core = 35;  ///< it asks for no more than that
    std::string os, vendor, model;
    std::shared_ptr<const RecordedSessions> sessions{};  ///< null: drawn, by `habit`
};

/// When a host computes: alternating sessions and gaps. A copy goes on by itself from where it was taken.
class Sessions {
  public:
    /// `since_start`: s from the simulation's start until the host joins.
    Sessions(const HostSpec& host, std::uint64_t seed, double since_start);
    bool on() const { return on_; }
    /// Seconds until the first change; `rng` says where in its session the host joins.
    double first(SmallRng& rng);
    /// Seconds since the last change, when first() was called; of a recorded host 0.
    double passed() const { return passed_; }
    /// Seconds until the change after the next one, drawn anew.
    double next();
    void toggle() { on_ = !on_; }
    /// Long-run part of the time.
    double part_on() const;

  private:
    Habit habit_;
    std::shared_ptr<const RecordedSessions> recorded_;
    SmallRng rng_;
    bool on_;
    std::size_t at_ = 0;    ///< of recorded lengths: the next one
    double remaining_ = 0;  ///< of the one in which the host joined
    double passed_ = 0;
};

/// The host that stands at `number` of a simulation; the same for every configuration.
HostSpec draw_host(const Fleet& fleet, std::uint64_t seed, std::uint64_t number);
/// Hosts of fleet.trace: CSV with a header; columns speed, cores, gpus, memory_gb, disk_gb, habit (always, daily,
/// sporadic, never_off), os, vendor, model, lifetime_days, buffer_min_days, buffer_additional_days, error_rate; speed
/// must be there. Throws Error that names the line.
std::vector<HostSpec> read_trace(const Fleet& fleet, std::uint64_t seed);

/// Of fleet.sessions: CSV "host,from_hours,until_hours": sessions of hosts 0, 1, … in ascending order, in hours from
/// the start. After its whole length in days it is repeated. Throws Error that names the line.
std::vector<std::shared_ptr<const RecordedSessions>> read_sessions(const std::string& file);

}  // namespace sluice::sim
