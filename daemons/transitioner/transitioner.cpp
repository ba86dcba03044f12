// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/transitioner/transitioner.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/db/column_size.h"
#include "sluice/xml/result_template.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxNameLength = 191;  ///< result.name
/// So many workunits failing one after the other are no broken workunits: the database or its schema is.
constexpr int kFailuresInARow = 20;
/// Lines a pass about workunits that failed; the summary counts the rest.
constexpr int kMaxComplaints = 50;

std::string time_text(std::int64_t time) {
    return time >= kNever ? "never" : fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<time_t>(time)));
}

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

const std::string& ResultTemplates::text(const std::string& file) {
    const auto known = texts_.find(file);
    if (known != texts_.end()) return known->second;
    if (file.empty()) throw ConfigError("it has no result template: set workunit.result_template_file");
    const auto content = read_file(project_ / file);
    if (!content) throw ConfigError("the result template " + (project_ / file).string() + " is missing: put it there");
    return texts_[file] = *content;
}

std::string ResultTemplates::expand(const std::string& file, const std::string& result_name, std::int64_t random) {
    const std::string& content = text(file);
    // Upstream stores it without line breaks around it.
    const std::string xml(trim(expand_result_template(content, (project_ / file).string(),
                                                      output_file_base(result_name, random), upload_url_, signer_)));
    const std::string why = too_long_ ? too_long_(xml.size()) : ColumnSize{"result", "xml_doc_in"}.refusal(xml.size());
    if (!why.empty())
        throw ConfigError(fmt::format("the result template {} makes too much: {}", (project_ / file).string(), why));
    return xml;
}

TurnResult Transitioner::pass() {
    templates_.forget();
    params_.details = log_enabled(LogLevel::kDebug);
    params_.apps_with_size_classes = store_.apps_with_size_classes();
    params_.typical_sizes.clear();
    pass_ = {};
    const std::int64_t now = env_.clock.now_sec();
    const double start = steady_seconds();
    DueWorkunit last;
    while (!stop_requested()) {
        const std::vector<DueWorkunit> due = store_.due(now, options_.scope, last, kQueue);
        if (due.empty()) break;
        last = due.back();
        std::vector<Id> ids;
        for (const DueWorkunit& d : due) ids.push_back(d.id);
        for (std::size_t i = 0; i < ids.size() && !stop_requested(); i += kPage)
            handle_page(std::span(ids).subspan(i, std::min(kPage, ids.size() - i)));
    }
    log_summary(steady_seconds() - start);
    handled_ += pass_.handled;
    if (options_.scope.only && pass_.handled == 0 && !options_.dry_run)
        log_warning("There is no workunit {} for the transitioner", *options_.scope.only);
    if (options_.scope.only || options_.dry_run) return TurnResult::kFinished;
    return pass_.handled > 0 ? TurnResult::kWorked : TurnResult::kIdle;
}

void Transitioner::handle_page(std::span<const Id> ids) {
    if (options_.dry_run) {
        pass_.handled += static_cast<int>(ids.size());
        return show(ids);
    }
    try {
        pass_.handled += transition(ids);
    } catch (const DbError& e) {
        // The connection or the server: nothing that a smaller page would mend.
        if (e.kind() != DbError::Kind::kDuplicate && e.kind() != DbError::Kind::kOther) throw;
        handle_one_by_one(ids);
    }
}

void Transitioner::handle_one_by_one(std::span<const Id> ids) {
    std::vector<std::pair<Id, std::string>> failed;
    int in_a_row = 0;
    for (const Id id : ids) {
        if (stop_requested()) break;
        try {
            pass_.handled += transition(std::span(&id, 1));
            in_a_row = 0;
        } catch (const DbError& e) {
            if (e.kind() != DbError::Kind::kDuplicate && e.kind() != DbError::Kind::kOther) throw;
            if (++in_a_row >= kFailuresInARow) throw;
            failed.emplace_back(id, e.what());
        }
    }
    for (const auto& [id, why] : failed) {
        store_.postpone(std::span(&id, 1), env_.clock.now_sec() + kRetryDelay);
        if (pass_.failed++ < kMaxComplaints)
            log_critical("[WU#{}] can't be handled: {}; looked at again in {} s", id, why, kRetryDelay);
    }
}

int Transitioner::transition(std::span<const Id> ids) {
    const std::int64_t now = env_.clock.now_sec();
    messages_.clear();
    page_ = {};
    const std::optional<std::int64_t> due_before = options_.scope.only ? std::nullopt : std::optional(now);
    const int handled = store_.transition(ids, due_before, [&](const std::vector<TransitionFacts>& facts) {
        messages_.clear();
        page_ = {};
        return decide(facts, now);
    });
    log_messages();
    pass_.created += page_.created;
    pass_.timed_out += page_.timed_out;
    pass_.changed += page_.changed;
    pass_.failed += page_.failed;
    return handled;
}

void Transitioner::show(std::span<const Id> ids) {
    const std::int64_t now = env_.clock.now_sec();
    const std::vector<TransitionFacts> facts = store_.facts(ids);
    learn_typical_sizes(facts);
    for (const TransitionFacts& f : facts) {
        const TransitionPlan plan = plan_transition(f, params_, now);
        fmt::print(
            "WU#{} {}: next look at {}, need_validate {}, error_mask {}, assimilate_state {}, file_delete_state "
            "{}, {} new results\n",
            f.wu.id, f.wu.name, time_text(plan.workunit.transition_time), static_cast<int>(plan.workunit.need_validate),
            plan.workunit.error_mask, static_cast<int>(plan.workunit.assimilate_state),
            static_cast<int>(plan.workunit.file_delete_state), plan.create.count);
        for (const ResultChange& c : plan.results)
            fmt::print("  RESULT#{}: server_state {}, outcome {}, validate_state {}, file_delete_state {}\n", c.was.id,
                       static_cast<int>(c.server_state), static_cast<int>(c.outcome),
                       static_cast<int>(c.validate_state), static_cast<int>(c.file_delete_state));
    }
    std::fflush(stdout);
}

void Transitioner::learn_typical_sizes(const std::vector<TransitionFacts>& facts) {
    for (const TransitionFacts& f : facts)
        if (lacks_size_class(f, params_) && !params_.typical_sizes.contains(f.wu.appid))
            params_.typical_sizes[f.wu.appid] = store_.typical_sizes(f.wu.appid);
}

TransitionWrites Transitioner::decide(const std::vector<TransitionFacts>& facts, std::int64_t now) {
    TransitionWrites writes;
    learn_typical_sizes(facts);
    for (const TransitionFacts& f : facts) {
        TransitionPlan plan = plan_transition(f, params_, now);
        for (const std::string& detail : plan.details) say(f.wu, LogLevel::kDebug, detail);
        for (const std::string& note : plan.notes) say(f.wu, LogLevel::kNormal, note);
        if (plan.create.count > 0) {
            try {
                std::vector<Result> made = new_results(f.wu, plan.create, now);
                page_.created += static_cast<int>(made.size());
                std::move(made.begin(), made.end(), std::back_inserter(writes.created));
            } catch (const Error& e) {
                say(f.wu, LogLevel::kCritical,
                    fmt::format("no results made: {}; looked at again in {} s", e.what(), kRetryDelay));
                postpone_creation(plan, now, kRetryDelay);
            }
        }
        page_.timed_out += static_cast<int>(plan.timed_out.size());
        page_.changed += static_cast<int>(plan.results.size());
        std::move(plan.results.begin(), plan.results.end(), std::back_inserter(writes.results));
        std::move(plan.timed_out.begin(), plan.timed_out.end(), std::back_inserter(writes.timed_out));
        writes.workunits.push_back(plan.workunit);
    }
    return writes;
}

std::vector<Result> Transitioner::new_results(const Workunit& wu, const NewResults& create, std::int64_t now) {
    std::vector<Result> results;
    for (int i = 0; i < create.count; ++i) {
        Result& r = results.emplace_back();
        r.create_time = now;
        r.workunitid = wu.id;
        r.server_state = create.state;
        r.name = fmt::format("{}_{}", wu.name, create.first_suffix + i);
        if (r.name.size() > kMaxNameLength)
            throw ConfigError(fmt::format("its results' names have more than {} characters: give jobs shorter names",
                                          kMaxNameLength));
        r.batch = wu.batch;
        r.appid = wu.appid;
        r.size_class = create.size_class;
        r.priority = create.priority;
        // 31 bits, as the column has them: the key of feeder --random_order, and part of the output files' names.
        r.random = static_cast<std::int64_t>(env_.rng.next() >> 33);
        const auto name_part = static_cast<std::int64_t>(env_.rng.next() >> 33);
        r.xml_doc_in = templates_.expand(wu.result_template_file, r.name, name_part);
    }
    log_debug("[WU#{} {}] {} new results from _{} on", wu.id, wu.name, create.count, create.first_suffix);
    return results;
}

void Transitioner::say(const Workunit& wu, LogLevel level, const std::string& text) {
    if (level == LogLevel::kCritical && pass_.failed + page_.failed++ >= kMaxComplaints) return;
    messages_.push_back({level, fmt::format("[WU#{} {}] {}", wu.id, wu.name, text)});
}

void Transitioner::log_messages() {
    for (const Message& m : messages_) log_at(m.level, "{}", m.text);
}

void Transitioner::log_summary(double seconds) const {
    if (options_.dry_run)
        return log_normal("dry run: {} workunits are due, nothing was written; {:.2f} s", pass_.handled, seconds);
    // A daemon that finds nothing every few seconds does not say so; one that runs once does.
    const bool news = pass_.handled > 0 || (options_.told && handled_ == 0);
    log_at(news ? LogLevel::kNormal : LogLevel::kDebug,
           "pass: {} workunits, {} results made, {} changed ({} timed out), {} workunits failed, {:.2f} s",
           pass_.handled, pass_.created, pass_.changed, pass_.timed_out, pass_.failed, seconds);
}

}  // namespace sluice
