// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What each voice of a project says while nobody looks: sluice health, its mails, bin/start --cron, the status page and
// the alert rules. It is asked after each call of cron.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/db/soak/month_project.h"

namespace sluice::test {

/// Something that was not well, from one step to another, both included.
struct Complaint {
    std::string voice, what, text, remedy;
    int from = 0, to = 0;
};
/// Said once: a mail, or a line of cron.
struct Message {
    std::string voice, text;
    int step = 0;
};

class WeekVoices {
  public:
    static constexpr int kStep = 300;  ///< s of the clock between two calls of cron

    /// `start`: what the clock shows at step 0. `mails`: a folder with a file for each.
    WeekVoices(MonthProject& project, int metrics_port, double start, fs::path mails);

    /// `health`: asks it, too, beside what it tells cron.
    void hear(int step, bool health);
    /// s that the test had taken at that step.
    double real_at(int step) const { return real_at_.at(static_cast<std::size_t>(step)); }
    /// Evaluates config/monitoring/alerts.yml on all that was scraped.
    void evaluate_alerts();
    const std::vector<Complaint>& complaints() const { return complaints_; }
    const std::vector<Message>& messages() const { return messages_; }
    int mails(int from, int to) const;
    /// The last look at all voices found nothing; "" or what is left.
    std::string left() const;

  private:
    /// What a voice complains of now, by what it names: text and remedy.
    using Now = std::map<std::string, std::pair<std::string, std::string>>;
    void note(const std::string& voice, const Now& now);
    void say(const std::string& voice, const std::string& text);
    void ask_health();
    void read_mails();
    void read_page();
    void scrape();
    std::string series() const;

    MonthProject& project_;
    int port_, step_ = 0, last_step_ = 0;
    double begin_ = real_seconds(), start_ = 0;
    std::vector<double> real_at_;
    std::vector<Complaint> complaints_;
    std::map<std::string, std::map<std::string, std::size_t>> open_;  ///< by voice and what
    std::vector<Message> messages_;
    fs::path mails_;
    std::set<std::string> read_;
    std::map<std::string, std::map<int, double>> scraped_;  ///< by series, by step
};

}  // namespace sluice::test
