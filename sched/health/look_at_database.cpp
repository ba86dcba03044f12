// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "config/db_settings.h"
#include "config/options/app_findings.h"
#include "config/options/schema_findings.h"
#include "sched/health/gather.h"
#include "sluice/base/error.h"
#include "sluice/db/project_setup_store.h"
#include "sluice/db/schema_survey.h"
#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

/// Asks one thing after another. What could not be asked is said, and does not take the other answers with it.
class Questions {
  public:
    Questions(Database& db, double now, AnswersSoFar& answers)
        : db_(db), store_(make_health_store(db)), now_(now), answers_(answers) {}

    void ask_all(const DaemonsAndTasks& entries) {
        ask(
            "the clock", [&] { return store_->server_time(); },
            [&](DatabaseFacts& facts, double time) { facts.clock_ahead = time - now_; });
        ask(
            "whether it takes writes", [&] { return store_->read_only(); },
            [](DatabaseFacts& facts, bool read_only) { facts.read_only = read_only; });
        ask(
            "who waits for a lock", [&] { return store_->lock_waits(); },
            [](DatabaseFacts& facts, auto waits) { facts.lock_waits = std::move(waits); });
        const Schema expected = expected_schema();
        ask(
            "the schema", [&] { return schema_findings(expected, survey_schema(db_, expected)).errors; },
            [](DatabaseFacts& facts, auto errors) { facts.schema_errors = std::move(errors); });
        ask(
            "the version of the tables sluice_*",
            [&] { return readable_tables_version(db_).value_or(TablesVersion()); },
            [](DatabaseFacts& facts, TablesVersion found) { facts.tables = found.any ? found.number : 0; });
        ask(
            "due transitions", [&] { return store_->due_transitions(static_cast<std::int64_t>(now_)); },
            [](DatabaseFacts& facts, const WaitingRows& rows) { facts.to_transition = rows; });
        ask(
            "files to delete", [&] { return store_->to_delete(); },
            [](DatabaseFacts& facts, const WaitingRows& rows) { facts.to_delete = rows; });
        std::vector<App> apps;
        ask(
            "the apps", [&] { return make_project_setup_store(db_)->apps(); },
            [&](DatabaseFacts& facts, const std::vector<App>& found) {
                apps = found;
                facts.unserved = unserved_apps(apps, entries);
            });
        std::erase_if(apps, [](const App& app) { return app.deprecated; });
        apps.resize(std::min(apps.size(), kMostApps));
        for (const App& app : apps) ask_of(app);
    }

  private:
    void ask_of(const App& app) {
        {
            const std::scoped_lock lock(answers_.mutex);
            answers_.facts.apps.emplace_back().name = app.name;
        }
        ask(
            "unsent jobs of " + app.name, [&] { return store_->unsent(app.id); },
            [](DatabaseFacts& facts, const auto& by_size) {
                AppHealth& found = facts.apps.back();
                for (const auto& [size, waiting] : by_size) {
                    found.oldest_unsent =
                        found.unsent == 0 ? waiting.oldest : std::min(found.oldest_unsent, waiting.oldest);
                    found.unsent += waiting.rows;
                    if (size >= 0) found.by_size.emplace_back(size, waiting.rows);
                }
            });
        ask(
            "what is to be validated of " + app.name, [&] { return store_->to_validate(app.id); },
            [](DatabaseFacts& facts, const WaitingRows& rows) { facts.apps.back().to_validate = rows; });
        ask(
            "what is to be assimilated of " + app.name, [&] { return store_->to_assimilate(app.id); },
            [](DatabaseFacts& facts, const WaitingRows& rows) { facts.apps.back().to_assimilate = rows; });
        ask(
            "results of " + app.name, [&] { return store_->last_outcomes(app.id, static_cast<std::int64_t>(now_)); },
            [](DatabaseFacts& facts, const LastOutcomes& last) { facts.apps.back().outcomes = last; });
    }

    template <typename Question, typename Take>
    void ask(const std::string& what, Question question, Take take) {
        {
            const std::scoped_lock lock(answers_.mutex);
            answers_.facts.unanswered = what;
        }
        try {
            auto answer = question();
            const std::scoped_lock lock(answers_.mutex);
            take(answers_.facts, std::move(answer));
        } catch (const DbError& error) {
            if (error.kind() != DbError::Kind::kOther) throw;
            const std::scoped_lock lock(answers_.mutex);
            answers_.facts.errors.push_back(what + ": " + error.what());
        }
    }

    Database& db_;
    std::unique_ptr<HealthStore> store_;
    double now_;
    AnswersSoFar& answers_;
};

}  // namespace

void look_at_database(const ProjectConfig& config, const DaemonsAndTasks& entries, double now, AnswersSoFar& answers) {
    std::string failure;
    try {
        DbSettings settings = db_settings(config);
        settings.read_only = true;
        settings.read_uncommitted = true;
        settings.patience = 0.5;  // less than who asks has: he is to hear that the server is full
        Database db(settings);
        db.connect();
        Questions(db, now, answers).ask_all(entries);
    } catch (const std::exception& error) {
        failure = error.what();
    }
    const std::scoped_lock lock(answers.mutex);
    answers.facts.error = std::move(failure);
    answers.facts.unanswered.clear();
}

}  // namespace sluice
