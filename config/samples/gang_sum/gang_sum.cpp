// SPDX-License-Identifier: LGPL-3.0-or-later
// An example of an application whose members run at the same time on computers of volunteers and need each other's data
// at every step: each has a number, and a step makes new ones of all of them. What comes out is right only if every
// member has contributed at every step; `out` then says the same sum for all.
//
//   gang_sum --steps N --checkpoint_every N [--step_ms N] --gang … (the rest is sluice_batch's)
//
// Exit status 1 with a line on stderr if the hub refuses it; 202 if the project has given it up.
#include <boinc/boinc_api.h>
#include <boinc/filesys.h>
#include <dirent.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "gang_link.h"

namespace {

constexpr std::int64_t kModulus = 1'000'003;
// s: the client runs something else until the clock says the next quarter of an hour, when all come again
constexpr int kComeAgain = 900;
constexpr std::chrono::seconds kPatience{300};  // so long a gang is tried to be met in vain
constexpr std::chrono::milliseconds kFirstWait{50}, kLongestWait{60'000};

struct Settings {
    std::int64_t steps = 1000, every = 100;
    std::chrono::milliseconds step_time{0};
};

Settings settings_of(int argc, char** argv) {
    Settings s;
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::strcmp(argv[i], "--steps") == 0) s.steps = std::atoll(argv[i + 1]);
        if (std::strcmp(argv[i], "--checkpoint_every") == 0) s.every = std::atoll(argv[i + 1]);
        if (std::strcmp(argv[i], "--step_ms") == 0) s.step_time = std::chrono::milliseconds(std::atoll(argv[i + 1]));
    }
    if (s.steps < 1 || s.every < 1) throw std::runtime_error("--steps and --checkpoint_every are numbers above 0");
    return s;
}

std::string checkpoint_file(std::int64_t step) { return "checkpoint_" + std::to_string(step); }

/// Steps of which a checkpoint is there, in order.
std::vector<std::int64_t> checkpoints() {
    std::map<std::int64_t, bool> found;
    DIR* const folder = ::opendir(".");
    for (const dirent* e = ::readdir(folder); e != nullptr; e = ::readdir(folder)) {
        const std::int64_t step = std::strncmp(e->d_name, "checkpoint_", 11) == 0 ? std::atoll(e->d_name + 11) : 0;
        if (step > 0 && checkpoint_file(step) == e->d_name) found[step] = true;
    }
    ::closedir(folder);
    std::vector<std::int64_t> steps;
    for (const auto& each : found) steps.push_back(each.first);
    return steps;
}

void write_file(const std::string& name, const std::string& text) {
    FILE* const file = boinc_fopen("new", "wb");
    const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                         std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
    if (file != nullptr) std::fclose(file);
    if (!written || boinc_rename("new", name.c_str()) != 0) throw std::runtime_error("can't write " + name);
}

class Member {
  public:
    Member(const gang::Membership& place, const Settings& settings, gang::Link& link)
        : place_(place), settings_(settings), link_(link) {
        const std::int64_t start = link.start();
        value_ = place.member + 1;
        if (start > 0 && !(std::ifstream(checkpoint_file(start)) >> value_))
            throw std::runtime_error("checkpoint " + std::to_string(start) + " can't be read");
        for (const std::int64_t step : checkpoints())
            if (step > start) ::unlink(checkpoint_file(step).c_str());
        step_ = written_ = common_ = start;
        std::cerr << "all members are there: from step " << start << std::endl;
    }

    /// The line of the result.
    std::string run() {
        while (step_ < settings_.steps) {
            const auto began = std::chrono::steady_clock::now();
            const std::vector<std::int64_t> values = exchange();
            std::int64_t sum = value_ * 3 + ++step_;
            for (int j = 0; j < place_.size; ++j)
                if (j != place_.member) sum += (j + 1) * values[static_cast<std::size_t>(j)];
            value_ = sum % kModulus;
            if (step_ % settings_.every == 0) checkpoint();
            boinc_fraction_done(static_cast<double>(step_) / static_cast<double>(settings_.steps));
            std::this_thread::sleep_until(began + settings_.step_time);
        }
        const std::vector<std::int64_t> last = exchange();
        return "gang " + place_.gang + " steps " + std::to_string(settings_.steps) + " sum " +
               std::to_string(std::accumulate(last.begin(), last.end(), std::int64_t{0})) + "\n";
    }

    /// Returns by gang::Ended, when all are.
    [[noreturn]] void done() {
        link_.say("DONE");
        while (true) take(link_.next_line());
    }

  private:
    /// The values of all members at this step, by member.
    std::vector<std::int64_t> exchange() {
        link_.say("MESSAGE * " + std::to_string(step_) + " " + std::to_string(value_));
        auto& now = values_[step_];
        now[place_.member] = value_;
        while (static_cast<int>(now.size()) < place_.size) take(link_.next_line());
        std::vector<std::int64_t> all;
        for (const auto& each : now) all.push_back(each.second);
        values_.erase(step_);
        return all;
    }

    void take(const std::string& line) {
        long long from = 0, step = 0, value = 0;
        if (std::sscanf(line.c_str(), "MESSAGE %lld %lld %lld", &from, &step, &value) == 3)
            values_[step][static_cast<int>(from)] = value;  // of the next step, perhaps
        if (std::sscanf(line.c_str(), "COMMON %lld", &step) != 1) return;
        common_ = step;
        for (const std::int64_t old : checkpoints())
            if (old < common_) ::unlink(checkpoint_file(old).c_str());
    }

    void checkpoint() {
        while (common_ < written_) take(link_.next_line());  // two are kept, not more
        write_file(checkpoint_file(step_), std::to_string(value_) + "\n");
        written_ = step_;
        link_.say("CHECKPOINT " + std::to_string(step_));
        boinc_checkpoint_completed();
    }

    const gang::Membership& place_;
    const Settings& settings_;
    gang::Link& link_;
    std::int64_t value_ = 0, step_ = 0, written_ = 0, common_ = 0;
    std::map<std::int64_t, std::map<int, std::int64_t>> values_;  // by step and member
};

std::string result_file() {
    char path[512];
    if (boinc_resolve_filename("out", path, sizeof path) != 0)
        throw std::runtime_error("can't resolve the file name out");
    return path;
}

using Time = std::chrono::steady_clock::time_point;

/// `met`: when the gang was met last.
void work(const gang::Membership& place, const Settings& settings, Time& met) {
    const auto steps = checkpoints();
    gang::Link link(place, steps.empty() ? 0 : steps.back());
    met = std::chrono::steady_clock::now();
    Member member(place, settings, link);
    const std::string result = member.run();
    // Before DONE: who comes again afterwards hears END at once.
    std::ofstream out(result_file(), std::ios::trunc);
    if (!(out << result).flush()) throw std::runtime_error("can't write the result: is the disk full?");
    member.done();
}

/// Until the gang has ended, or can't be met.
void work_until_the_end(const gang::Membership& place, const Settings& settings) {
    Time met = std::chrono::steady_clock::now();
    std::chrono::milliseconds wait{0};
    while (true) {
        const Time before = met;
        try {
            work(place, settings, met);
        } catch (const gang::LinkLost& e) {
            std::cerr << e.what() << std::endl;
            if (met != before) met = std::chrono::steady_clock::now();  // until now it was met
        }
        if (std::chrono::steady_clock::now() - met > kPatience)
            boinc_temporary_exit(kComeAgain - static_cast<int>(std::time(nullptr) % kComeAgain));
        wait = met != before ? kFirstWait : std::min(2 * wait + kFirstWait, kLongestWait);
        std::this_thread::sleep_for(wait);
    }
}

}  // namespace

int main(int argc, char** argv) {
    boinc_init();
    try {
        const gang::Membership place = gang::place_of(argc, argv);
        const Settings settings = settings_of(argc, argv);
        work_until_the_end(place, settings);
    } catch (const gang::Ended&) {
        boinc_finish(0);
    } catch (const gang::GangGivenUp& e) {
        std::cerr << "gang_sum: " << e.what() << '\n';
        boinc_finish(gang::kGivenUp);
    } catch (const std::exception& e) {
        std::cerr << "gang_sum: " << e.what() << '\n';
        boinc_finish(1);
    }
}
