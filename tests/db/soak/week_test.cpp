// SPDX-License-Identifier: LGPL-3.0-or-later
// A project that is left alone for a week: every daemon and task at its usual interval on a clock that is moved,
// bin/start --cron every five minutes, made-up volunteers, and faults at known times. What each voice says, and when,
// is asserted, and that the voices are silent otherwise. Every run of the tests does some hours with two faults. The
// week, docs/soak.md:
//   SLUICE_SOAK_WEEK=7 SLUICE_SOAK_TABLE=week.md tests/soak_week_test
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>

#include "sluice/base/files.h"
#include "sluice/base/life_sign.h"
#include "tests/db/soak/month_clients.h"
#include "tests/db/soak/month_samples.h"
#include "tests/db/soak/month_work.h"
#include "tests/db/soak/week_voices.h"
#include "tests/support/answering_server.h"
#include "tests/support/database_rows.h"
#include "tests/support/free_port.h"

namespace sluice::test {
namespace {

constexpr int kHour = 3600 / WeekVoices::kStep;  ///< steps

/// What a voice must say of a fault, and at the latest so many steps after it was planted.
struct Expected {
    std::string voice, what, words;
    int within = 0;
};

struct Fault {
    std::string name;
    int plant_at = 0, mend_at = 0;  ///< steps
    int calm = 0;                   ///< steps after the end until no voice speaks of it any more
    std::vector<Expected> expected;
    std::function<void()> plant, mend;
    std::function<void()> meanwhile = [] {};  ///< at each step between, before hosts come
};

struct WeekPlan {
    /// SLUICE_SOAK_WEEK: 3 or more, 7 for a week; 0: some hours with two faults.
    double days = std::getenv("SLUICE_SOAK_WEEK") != nullptr ? std::atof(std::getenv("SLUICE_SOAK_WEEK")) : 0;
    bool whole = days > 0;
    /// Steps until that hour of a run of three days; a longer one has more quiet between the faults.
    int at(int hour) const { return static_cast<int>(hour * (whole ? days / 3 : 1)) * kHour; }
    int steps = at(whole ? 72 : 7), work_until = at(whole ? 60 : 5);
    int an_hour = whole ? 24 : 12;  ///< single workunits that are made
};

MonthPlan plan_of(const WeekPlan& week, int web_port, int metrics_port, const fs::path& sendmail) {
    MonthPlan plan = MonthPlan::from_environment();
    plan.days = 1, plan.kills = 0, plan.log_mb = 2;
    plan.keep_days = week.whole ? 0.25 : 0.04;
    plan.delay_bound = (week.whole ? 6 : 3) * 3600, plan.contact = 3600;
    plan.moved_waits = plan.scripted_validator = true, plan.messages = false;
    plan.url_base = fmt::format("http://127.0.0.1:{}", web_port);
    plan.more_daemons = fmt::format("<daemon><cmd>status_page --listen {}</cmd></daemon>\n", metrics_port);
    plan.more_options = fmt::format(
        "<health_mail>admin@example.org</health_mail>\n<sendmail>{}</sendmail>\n"
        "<batch_event_mail>owner@example.org</batch_event_mail>\n<batch_stop_failing>1</batch_stop_failing>\n",
        sendmail.string());
    return plan;
}

class Week : public testing::Test {
  protected:
    Week()
        : metrics_port_(free_port()),
          project_(plan_of(plan_, web_.port(), metrics_port_, sendmail())),
          start_(project_.clock().now()),
          clients_(project_, 12, start_ + 1800),
          work_(project_, clients_),
          logs_(project_.log_folder()),
          voices_(project_, metrics_port_, start_, mails()) {
        faults_ = {hung_daemon(plan_.at(plan_.whole ? 3 : 2)), lost_database(plan_.at(plan_.whole ? 6 : 4))};
        if (!plan_.whole) return;
        for (const Fault& fault :
             std::vector<Fault>{lost_uploads(plan_.at(10)), forgotten_stop(plan_.at(14)), lost_inputs(plan_.at(20)),
                                refusing_validator(plan_.at(34)), failing_batch(plan_.at(48))})
            faults_.push_back(fault);
    }

    fs::path mails() const { return post_ / "mails"; }
    /// Keeps each mail as a file.
    fs::path sendmail() const {
        fs::create_directory(mails());
        const fs::path program = post_.write("sendmail", "#!/bin/sh\ncat >" + mails().string() + "/$$.$(date +%s%N)\n");
        fs::permissions(program, fs::perms(0755));
        return program;
    }

    Fault hung_daemon(int step) {
        return {"transitioner stopped by SIGSTOP",
                step,
                step + 3,
                2,
                {{"health", "daemons", "hangs", 1}, {"cron", "", "hangs", 3}},
                [this] {
                    const auto all = project_.running();
                    ASSERT_NE(all.find("transitioner"), all.end());
                    ::kill(stopped_ = all.find("transitioner")->second, SIGSTOP);
                },
                [] {}};
    }
    /// As if somebody had cleaned up.
    Fault lost_inputs(int step) {
        const auto remove = [this] {
            std::vector<std::string> names;
            for (const auto& row : rows_of(project_.db(), Sql("SELECT name FROM workunit WHERE appid=1"), 1))
                names.push_back(row[0]), fs::remove(project_.input("in_" + row[0]));
            work_.spoil(names);
        };
        return {"input files of an app deleted",
                step,
                step + 6 * kHour,
                5 * kHour,
                {{"health", "results", "download error", 4 * kHour},
                 {"mail", "", "results", 4 * kHour + 2},
                 {"page", "", "can't be downloaded", 4 * kHour + 1},
                 {"alerts", "SluiceResultsFail", "", 6 * kHour}},
                remove,
                [this] {
                    for (const auto& row : rows_of(
                             project_.db(), Sql("SELECT name FROM workunit WHERE appid=1 AND file_delete_state=0"), 1))
                        work_.write_input(row[0]);
                },
                remove};
    }
    Fault refusing_validator(int step) {
        const auto spoil = [this] {
            std::vector<std::string> names;
            for (const auto& row : rows_of(project_.db(), Sql("SELECT name FROM workunit WHERE appid=1"), 1))
                names.push_back(row[0]);
            work_.spoil(names);
        };
        return {"script of the validator fails each time",
                step,
                step + 6 * kHour,
                5 * kHour,
                {{"health", "results", "invalid", 4 * kHour},
                 {"mail", "", "results", 4 * kHour + 2},
                 {"page", "", "no result of the last hour was valid", 4 * kHour + 1},
                 {"alerts", "SluiceResultsInvalid", "", 4 * kHour + 3}},
                [this, spoil] { spoil(), std::ofstream(project_.outside("refuse")) << ""; },
                [this] { fs::remove(project_.outside("refuse")); },
                spoil};
    }
    Fault lost_database(int step) {
        return {"database away",
                step,
                step + 8,
                kHour,
                {{"health", "database", "", 1},
                 {"mail", "", "database", 2},
                 {"page", "", "database", 1},
                 {"alerts", "SluiceDatabaseDown", "", 2}},
                [this] { project_.server().stop(), database_ = false; },
                [this] { project_.server().start(), database_ = true; }};
    }
    Fault lost_uploads(int step) {
        const auto move = [this](const char* from, const char* to) {
            fs::rename(project_.folder() / from, project_.folder() / to);
        };
        return {"upload folder gone",
                step,
                step + 2 * kHour,
                kHour,
                {{"health", "disks", "upload", 1},
                 {"mail", "", "disks", 2},
                 {"page", "", "Uploads do not work", 1},
                 {"xml", "Upload server", "", 1},
                 {"alerts", "SluiceFolderUnusable", "", 3}},
                [move] { move("upload", "upload.away"); },
                [move] { move("upload.away", "upload"); }};
    }
    Fault forgotten_stop(int step) {
        const fs::path file = project_.folder() / "stop_sched";
        return {"stop_sched left behind",
                step,
                step + 2 * kHour,
                kHour,
                {{"health", "project", "stop_sched", 1},
                 {"mail", "", "project", 2},
                 {"page", "", "stop_sched", 1},
                 {"alerts", "SluiceSchedulerStopped", "", 8}},
                [file] { std::ofstream(file) << ""; },
                [file] { fs::remove(file); }};
    }
    Fault failing_batch(int step) {
        return {"batch whose jobs all fail",
                step,
                step + 6 * kHour,
                3 * kHour,
                {{"owner's mail", "", "stopped", 4 * kHour}, {"alerts", "SluiceBatchStopped", "", 4 * kHour + 1}},
                [this] {
                    const int n = 60;
                    bad_batch_ = work_.create_batch(step_, n, "bad_batch");
                },
                [this] {
                    const auto retired = project_.run_program({"sluice_batch", "retire", bad_batch_});
                    EXPECT_TRUE(retired && retired->status == 0) << (retired ? retired->out + retired->err : "");
                }};
    }

    void step();
    void move_clock();
    using Late = std::function<bool(const LifeSign&, const std::vector<LifeSign>&)>;
    void wait_until_none(const Late& late);
    void let_daemons_work(double since);
    void make_work();
    bool spoilt_now() const {
        return std::ranges::any_of(
            faults_, [this](const Fault& f) { return step_ >= f.plant_at && step_ <= f.mend_at + kHour / 2; });
    }
    const Fault* fault_at(int step) const {
        for (const Fault& f : faults_)
            if (step >= f.plant_at && step <= f.mend_at + f.calm) return &f;
        return nullptr;
    }
    std::string when(int step) const {
        const int minutes = step * WeekVoices::kStep / 60;
        return fmt::format("day {}, {:02}:{:02}", 1 + minutes / 1440, minutes / 60 % 24, minutes % 60);
    }
    /// What a voice says of a fault first: the step; nullopt: nothing.
    std::optional<int> heard(const Fault& fault, const Expected& expected) const;
    void expect_named(const Fault& fault) const;
    void expect_no_flood() const;
    void expect_silence() const;
    std::string table() const;

    WeekPlan plan_;
    TempDir post_;
    AnsweringServer web_;
    int metrics_port_;
    MonthProject project_;
    double start_;
    MonthClients clients_;
    MonthWork work_;
    LogWatch logs_;
    WeekVoices voices_;
    std::vector<Fault> faults_;
    int step_ = 0;
    pid_t stopped_ = 0;
    std::string bad_batch_;
    bool database_ = true;
};

/// One that hardly waits writes its sign every two seconds at most.
bool waits_long(const LifeSign& sign) { return sign.failing == 0 && sign.due - sign.ended > 2; }

void Week::wait_until_none(const Late& late) {
    const double patience = real_seconds() + 120;
    for (;; ::usleep(10000)) {
        const std::vector<LifeSign> signs = life_signs(project_.folder());
        const auto found = std::ranges::find_if(
            signs, [&](const LifeSign& sign) { return sign.pid != stopped_ && late(sign, signs); });
        if (found == signs.end()) return;
        ASSERT_LT(real_seconds(), patience) << found->name << " does not have its turn:\n" << life_sign_text(*found);
    }
}

/// Every daemon that was due has had its turn: in five minutes of real time it would have had many.
void Week::let_daemons_work(double since) {
    const double now = project_.clock().now();
    wait_until_none([&](const LifeSign& sign, const std::vector<LifeSign>& signs) {
        return sign.began > 0 ? (waits_long(sign) ? sign.ended : sign.began) < since : lateness(sign, signs, now) > 0;
    });
}

void Week::make_work() {
    if (step_ >= plan_.work_until || !database_) return;
    if (step_ % kHour == 0) work_.create_singles(step_, plan_.an_hour);
    if (step_ % (24 * kHour) == 8 * kHour && plan_.whole) work_.create_batch(step_, 4 * plan_.an_hour);
}

/// In two parts, as one daemon may wait for what another one has done: status_page, each minute, tells of the second
/// one. A turn that goes on while the clock is moved would tell an old time after it.
void Week::move_clock() {
    const double target = start_ + step_ * WeekVoices::kStep;
    for (const double before : {90, 0}) {
        wait_until_none([](const LifeSign& sign, const auto&) { return sign.began > 0 && waits_long(sign); });
        project_.clock().advance(std::max(0.0, target - before - project_.clock().now()));
        let_daemons_work(project_.clock().now());
    }
}

void Week::step() {
    move_clock();
    make_work();
    for (Fault& fault : faults_) {
        if (step_ == fault.plant_at) fault.plant();
        if (step_ == fault.mend_at) fault.mend();
        if (step_ > fault.plant_at && step_ < fault.mend_at) fault.meanwhile();
    }
    clients_.serve();
    project_.cron();
    logs_.look();
    voices_.hear(step_, step_ % 3 == 0 || fault_at(step_) != nullptr);
    if (step_ % kHour == 0 && !spoilt_now()) work_.look();
    if (step_ % (6 * kHour) == 0)
        std::cout << fmt::format("{}: {:.0f} s real, {} workunits made, {} requests\n", when(step_),
                                 voices_.real_at(step_), work_.created().size(), clients_.requests())
                  << voices_.left() << std::flush;
}

std::optional<int> Week::heard(const Fault& fault, const Expected& e) const {
    const auto in_time = [&](int step) { return step >= fault.plant_at && step <= fault.mend_at + fault.calm; };
    for (const Complaint& c : voices_.complaints())
        if (c.voice == e.voice && in_time(c.from) && (e.what.empty() || c.what == e.what) &&
            c.text.find(e.words) != c.text.npos)
            return c.from;
    for (const Message& m : voices_.messages())
        if (m.voice == e.voice && in_time(m.step) && m.text.find(e.words) != m.text.npos) return m.step;
    return std::nullopt;
}

void Week::expect_named(const Fault& fault) const {
    for (const Expected& e : fault.expected) {
        const auto step = heard(fault, e);
        EXPECT_TRUE(step.has_value()) << fault.name << ": " << e.voice << " says nothing of " << e.what << " "
                                      << e.words;
        if (step) {
            EXPECT_LE(*step, fault.plant_at + e.within) << fault.name << ": " << e.voice;
        }
    }
}

/// One mail when something is not well, one when it is well again, and one an hour between; a change more, where a
/// fault takes other things with it.
void Week::expect_no_flood() const {
    for (const Fault& fault : faults_) {
        int bad = 0, changes = 0;
        for (const Complaint& c : voices_.complaints())
            if (c.voice == "health" && fault_at(c.from) == &fault) bad += c.to - c.from + 1, changes += 2;
        EXPECT_LE(voices_.mails(fault.plant_at, fault.mend_at + fault.calm), changes + bad / kHour) << fault.name;
    }
}

/// Between the faults no voice speaks, and the one that spoke of a fault is silent after it.
void Week::expect_silence() const {
    for (const Complaint& c : voices_.complaints()) {
        const Fault* fault = fault_at(c.from);
        EXPECT_TRUE(fault != nullptr && fault_at(c.to) == fault)
            << when(c.from) << " to " << when(c.to) << " " << c.voice << ", " << c.what << ": " << c.text << "\n"
            << c.remedy;
        EXPECT_TRUE(c.voice != "health" || !c.remedy.empty()) << c.text;
    }
    for (const Message& m : voices_.messages())
        EXPECT_TRUE(fault_at(m.step) != nullptr || m.voice == "owner's mail")
            << when(m.step) << " " << m.voice << ": " << m.text;
    EXPECT_EQ(voices_.left(), "");
}

/// What each voice said first of each fault.
std::string Week::table() const {
    std::string text =
        "| Fault | Voice | Minutes later | Says | Silent, minutes after the end |\n|---|---|---|---|---|\n";
    for (const Fault& fault : faults_) {
        std::set<std::string> told;
        const auto row = [&](const std::string& voice, int from, const std::string& silent, std::string says) {
            if (!told.insert(voice).second) return;
            for (const std::string& path : {project_.folder().string(), project_.folder().parent_path().string()})
                for (auto at = says.find(path); at != says.npos; at = says.find(path))
                    says.replace(at, path.size(), "…");
            std::ranges::replace(says, '|', '/');
            text += fmt::format("| {} | {} | {} | {} | {} |\n", told.size() == 1 ? fault.name : "", voice,
                                (from - fault.plant_at) * WeekVoices::kStep / 60, says.substr(0, 120), silent);
        };
        for (const Complaint& c : voices_.complaints())
            if (fault_at(c.from) == &fault)
                row(c.voice == "page" ? c.voice : c.voice + ": " + c.what, c.from,
                    fmt::format("{}", std::max(0, c.to + 1 - fault.mend_at) * WeekVoices::kStep / 60),
                    c.voice == "alerts" ? "" : c.text);
        for (const Message& m : voices_.messages())
            if (fault_at(m.step) == &fault) row(m.voice, m.step, "", m.text);
        text += fmt::format("| | mails in all | | {} | |\n", voices_.mails(fault.plant_at, fault.mend_at + fault.calm));
    }
    return text;
}

TEST_F(Week, EachVoiceNamesEachFaultAndNothingElse) {
    for (; step_ < plan_.steps && !HasFatalFailure(); ++step_) step();
    const int most = plan_.steps + 48 * kHour;  // until the last row is archived
    for (; step_ < most && !HasFatalFailure() && project_.count(Sql("SELECT COUNT(*) FROM workunit")) > 0; ++step_)
        step();
    ASSERT_FALSE(HasFatalFailure());
    project_.stop();
    logs_.look();
    voices_.evaluate_alerts();
    for (const Message& m : voices_.messages()) std::cout << when(m.step) << " " << m.voice << ": " << m.text << '\n';
    for (const Complaint& c : voices_.complaints())
        std::cout << when(c.from) << " to " << when(c.to) << " " << c.voice << ", " << c.what << ": " << c.text
                  << " -> " << c.remedy << '\n';
    for (const auto& [line, times] : logs_.unexpected()) std::cout << times << " times: " << line << '\n';
    std::cout << table()
              << fmt::format("{} steps, {:.0f} s, {} workunits, {} mails\n", step_, voices_.real_at(step_ - 1),
                             work_.created().size(), voices_.mails(0, step_));
    if (const char* file = std::getenv("SLUICE_SOAK_TABLE")) std::ofstream(file) << table();
    for (const Fault& fault : faults_) expect_named(fault);
    expect_no_flood(), expect_silence();
    work_.expect_whole();
}

}  // namespace
}  // namespace sluice::test
