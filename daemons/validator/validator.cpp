// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/validator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr int kPage = 256;  ///< workunits a page: bounded memory, few statements
/// Workunits a transaction: few statements and commits, and the rows of hosts and users are soon free again.
constexpr std::size_t kGroup = 64;
/// Decisions on a workunit whose results change all the while; then it waits for the next pass.
constexpr int kAttempts = 5;
/// s until a workunit that can't be handled is looked at again.
constexpr std::int64_t kLookAgainAfter = 300;
/// s that a workunit is kept in mind after the last look at it.
constexpr double kRemembered = 7200;
/// s that the transitioner lets a workunit rest whose files could not be read for an hour or two. Upstream's.
constexpr std::int64_t kRest = 6 * 3600;
/// So many workunits failing one after the other are no broken workunits: the database or its schema is.
constexpr int kFailuresInARow = 20;

bool says_good(const std::optional<OutputCheck>& output) { return output && output->kind == OutputCheck::Kind::kGood; }
bool says_failed(const std::optional<OutputCheck>& output) { return output && output->code_failed; }

}  // namespace

TurnResult Validator::pass() {
    const auto app = store_.app_by_name(options_.app_name);  // re-read: admins change it
    if (!app) throw ConfigError("there is no app named '" + options_.app_name + "'");
    WorkunitFilter filter = options_.filter;
    filter.appid = app->id;
    filter.with_stderr = with_stderr();
    seen_ = valid_ = handled_ = held_pages_ = 0;
    if (brake_.on(clock_.now())) return TurnResult::kIdle;
    std::erase_if(set_aside_, [this](const auto& w) { return w.second.until + kRemembered <= clock_.now(); });
    cut_documents_.forget_old(clock_.now_sec());
    UploadTree tree(config_.upload_dir, clock_.now_sec());
    began_ = clock_.now();
    Id after = 0;
    while (!stop_requested() && !enough()) {
        const auto page = store_.page(filter, after, kPage);
        if (page.empty()) break;
        after = page.back().wu.id;
        if (!validate_page(*app, page, tree)) break;
    }
    code_failures_.save(clock_.now_sec());
    if (held_pages_ > 0 && seen_ == 0) brake_.pull(clock_.now());
    if (seen_ > 0) log_normal("pass: {} workunits looked at, {} found their canonical result", seen_, valid_);
    if (enough()) return TurnResult::kFinished;
    return handled_ > 0 && !options_.dry_run ? TurnResult::kWorked : TurnResult::kIdle;
}

Validator::Records Validator::records_of(const App& app, std::span<const WorkunitWithResults> page) {
    std::vector<std::pair<Id, Id>> keys;
    for (const auto& p : page)
        for (const Result& r : p.results)
            if (r.hostid != 0) keys.emplace_back(r.hostid, generalized_version_id(r.appid, r.app_version_id));
    return {store_.versions(app.id), store_.host_app_versions(keys)};
}

bool Validator::validate_page(const App& app, const std::vector<WorkunitWithResults>& page, UploadTree& tree) {
    std::vector<JudgedWorkunit> looked = look_at(page, tree);
    doubt_what_is_missing(looked, tree);
    if (hold_back(looked)) return seen_ > 0 || ++held_pages_ < Brake::kPages;
    if (looked.empty()) return true;
    const Records records = records_of(app, page);
    for (std::span<JudgedWorkunit> rest = looked; !rest.empty();) {
        const std::size_t judged = judge(app, rest, tree);
        if (judged == 0) return false;
        for (std::span<const JudgedWorkunit> some = rest.first(judged); !some.empty();) {
            if (stop_requested() || enough()) return false;
            const std::size_t group = std::min(kGroup, some.size());
            settle(app, some.first(group), records, tree);
            some = some.subspan(group);
        }
        rest = rest.subspan(judged);
    }
    return true;
}

std::size_t Validator::judge(const App& app, std::span<JudgedWorkunit> workunits, UploadTree& tree) {
    if (options_.judge == nullptr) return workunits.size();
    const std::size_t judged = options_.judge->judge(app, workunits);
    for (JudgedWorkunit& w : workunits.first(judged)) {
        const Id id = w.read->wu.id;
        if (w.has_failed()) {
            code_failures_.failed(id, clock_.now_sec());
            if (code_failures_.is_to_blame(id, clock_.now_sec())) give_up(app, w, tree);
        } else if (!w.has_lost_canonical() && std::ranges::any_of(w.outputs, says_good)) {
            code_failures_.judged(id);
        }
    }
    return judged;
}

void Validator::give_up(const App& app, JudgedWorkunit& w, UploadTree& tree) {
    const Workunit& wu = w.read->wu;
    auto alone = asked_alone(app, w, tree);
    if (alone.empty()) return;
    const bool blames = std::ranges::any_of(alone, says_failed);
    const int times = code_failures_.count(wu.id);
    log_critical(
        "[WU#{} {}] the project's code has failed {} times, and not on others: {}. To see it fail, run the same command "
        "with --wu_id {} --dry_run",
        wu.id, wu.name, times, blames ? "the result is a validate error" : "what it can't compare counts as different",
        wu.id);
    code_failures_.forget(wu.id);
    bool no_canonical = false;
    for (std::size_t i = 0; i < alone.size(); ++i) {
        if (!says_failed(alone[i])) continue;
        w.outputs[i] = {.kind = OutputCheck::Kind::kError,
                        .key = "",
                        .why = fmt::format("{}; the project's code failed {} times", alone[i]->why, times)};
        no_canonical |= w.result(i).id == wu.canonical_resultid;
    }
    if (blames && !no_canonical) return;  // the others are judged again without it
    for (std::size_t i = 0; i < alone.size(); ++i)
        if (alone[i] && says_failed(w.outputs[i])) w.outputs[i] = std::move(alone[i]);
    const std::size_t n = alone.size();
    if (w.compared.empty()) w.compared.assign(n, std::vector<Agreement>(n, Agreement::kFailed));
    for (auto& row : w.compared) std::ranges::replace(row, Agreement::kFailed, Agreement::kDifferent);
}

std::vector<std::optional<OutputCheck>> Validator::asked_alone(const App& app, const JudgedWorkunit& w,
                                                               UploadTree& tree) {
    std::vector<std::optional<OutputCheck>> alone(w.outputs.size());
    if (std::ranges::count_if(w.outputs, says_failed) == 1) return w.outputs;
    WorkunitWithResults lone = *w.read;
    lone.wu.min_quorum = 1;  // code that decides on sets is not called for fewer
    for (std::size_t i = 0; i < alone.size(); ++i) {
        if (!says_failed(w.outputs[i])) continue;
        JudgedWorkunit one = opened(lone, tree);
        for (std::size_t other = 0; other < alone.size(); ++other)
            if (other != i) one.outputs[other].reset();
        if (options_.judge->judge(app, {&one, 1}) > 0)
            alone[i] = std::move(one.outputs[i]);
        else if (!std::ranges::any_of(alone, says_failed))
            return {};
    }
    return alone;
}

std::vector<JudgedWorkunit> Validator::look_at(const std::vector<WorkunitWithResults>& page, UploadTree& tree) {
    std::vector<JudgedWorkunit> looked;
    for (const auto& p : page) {
        const auto wanted = options_.one_pass_n_wu > 0 ? options_.one_pass_n_wu - total_ : kPage;
        if (stop_requested() || static_cast<std::int64_t>(looked.size()) >= wanted) break;
        const auto aside = set_aside_.find(p.wu.id);
        if (aside == set_aside_.end() || aside->second.until <= clock_.now()) looked.push_back(opened(p, tree));
    }
    return looked;
}

std::vector<std::pair<FileReading, OutputCheck*>> Validator::looks_at(JudgedWorkunit& job) const {
    std::vector<std::pair<FileReading, OutputCheck*>> looks;
    for (std::size_t i = 0; i < job.outputs.size(); ++i) {
        const Result& r = job.read->results[i];
        if (!job.outputs[i] || r.id == job.read->wu.canonical_resultid) continue;
        OutputCheck& output = *job.outputs[i];
        looks.emplace_back(FileReading{r.id, r.userid, r.received_time, output.files, began_, began_, output.why},
                           &output);
    }
    return looks;
}

void Validator::doubt_what_is_missing(std::vector<JudgedWorkunit>& page, const UploadTree& tree) {
    std::vector<FileReading> looks;
    for (JudgedWorkunit& job : page)
        for (auto& [look, output] : looks_at(job)) looks.push_back(std::move(look));
    memory_.make_room(looks.size());
    for (FileReading& look : looks) memory_.add(std::move(look));
    for (JudgedWorkunit& job : page)
        for (std::size_t i = 0; i < job.outputs.size(); ++i) {
            auto& output = job.outputs[i];
            if (!output || output->kind != OutputCheck::Kind::kError || output->files != OutputCheck::Files::kMissing)
                continue;
            const Id id = job.read->results[i].id;
            // A script may have moved the canonical result's files; who is compared with them has been read.
            const bool sure = id == job.read->wu.canonical_resultid || memory_.vouches_against(id, clock_.now_sec());
            const std::string doubt = doubt_of(sure, output->missing, tree);
            if (doubt.empty()) continue;
            output->kind = OutputCheck::Kind::kTransient;
            output->why += "; " + doubt;
        }
}

bool Validator::hold_back(std::vector<JudgedWorkunit>& page) {
    ReadTally tally;
    for (JudgedWorkunit& job : page)
        for (const auto& [look, output] : looks_at(job))
            if (output->kind != OutputCheck::Kind::kError) tally.add(look);
    if (!tally.most_unreadable()) return false;
    brake_.hold(tally, "judged", clock_.now());
    std::erase_if(page, [&](JudgedWorkunit& job) {
        const auto looks = looks_at(job);
        const bool waits = tally.most_shut() || std::ranges::any_of(looks, [](const auto& l) {
                               return l.second->kind == OutputCheck::Kind::kTransient;
                           });
        if (waits) set_aside_[job.read->wu.id].until = clock_.now() + Brake::kHold;
        return waits;
    });
    return tally.most_shut();
}

void Validator::settle(const App& app, std::span<const JudgedWorkunit> group, const Records& records,
                       UploadTree& tree) {
    std::vector<Decided> decided;
    for (const JudgedWorkunit& job : group) {
        ++seen_;
        ++total_;
        attempt(job.read->wu, [&] {
            if (auto d = decide(app, job, records)) decided.push_back(std::move(*d));
        });
    }
    const std::vector<Validated> outcomes = write_together(decided);
    for (std::size_t i = 0; i < decided.size(); ++i)
        attempt(decided[i].read->wu, [&] {
            finish(app, decided[i], outcomes.empty() ? write(decided[i]) : outcomes[i], tree);
            failures_in_a_row_ = 0;
        });
}

void Validator::attempt(const Workunit& wu, const std::function<void()>& work) {
    try {
        work();
    } catch (const DbError& e) {
        // The connection or the server: the others would fare no better.
        if (e.kind() != DbError::Kind::kDuplicate && e.kind() != DbError::Kind::kOther) throw;
        if (++failures_in_a_row_ >= kFailuresInARow) throw;
        set_aside(wu, e.what());
    } catch (const Error& e) {
        set_aside(wu, e.what());
    }
}

void Validator::set_aside(const Workunit& wu, const char* why) {
    set_aside_[wu.id].until = clock_.now() + kLookAgainAfter;
    log_critical("[WU#{} {}] can't be validated: {}; looked at again in {} s", wu.id, wu.name, why, kLookAgainAfter);
}

std::vector<Validated> Validator::write_together(std::span<const Decided> decided) {
    if (decided.size() < 2 || options_.dry_run) return {};
    std::vector<ValidationStep> steps;
    for (const Decided& d : decided) steps.push_back({d.read, &d.write});
    try {
        return store_.apply(steps, clock_.now());
    } catch (const DbError& e) {
        if (e.kind() == DbError::Kind::kLost || e.kind() == DbError::Kind::kCantConnect) throw;
        // One workunit that can't be written, or a row that somebody holds, is no reason for all of them to wait.
        log_debug("{} workunits can't be written together, so one by one: {}", decided.size(), e.what());
        return {};
    }
}

Validated Validator::write(const Decided& decided) {
    return options_.dry_run ? Validated::kWritten : store_.apply(*decided.read, decided.write, clock_.now());
}

void Validator::finish(const App& app, const Decided& decided, Validated outcome, UploadTree& tree) {
    const Workunit& wu = decided.read->wu;
    if (outcome == Validated::kWritten) note(decided);
    for (int i = 1; outcome == Validated::kChanged && i < kAttempts; ++i) {
        log_debug("[WU#{} {}] changed while it was being validated, decided on again", wu.id, wu.name);
        const auto now_there = store_.page({.appid = app.id, .wu_id = wu.id, .with_stderr = with_stderr()}, 0, 1);
        if (now_there.empty()) return;
        std::vector<JudgedWorkunit> looked{opened(now_there[0], tree)};
        doubt_what_is_missing(looked, tree);
        if (judge(app, looked, tree) == 0) return;
        const auto again = decide(app, looked[0], records_of(app, now_there));
        if (!again) return;
        outcome = write(*again);
        if (outcome == Validated::kWritten) note(*again);
    }
    if (outcome == Validated::kGone) log_debug("[WU#{} {}] another validator was quicker", wu.id, wu.name);
}

JudgedWorkunit Validator::opened(const WorkunitWithResults& read, UploadTree& tree) {
    JudgedWorkunit job{&read};
    job.outputs.resize(read.results.size());
    job.files.resize(read.results.size());
    if (read.wu.error_mask != 0) return job;
    const auto needed = needs_output(read.wu, read.results);
    job.alone = std::ranges::count(needed, true) == 1;
    for (std::size_t i = 0; i < needed.size(); ++i)
        if (needed[i]) job.outputs[i] = open_output(job, i, tree);
    return job;
}

OutputCheck Validator::open_output(JudgedWorkunit& job, std::size_t result, UploadTree& tree) {
    const Result& r = job.result(result);
    if (options_.output) return options_.output(r);
    if (options_.judge != nullptr && !options_.judge->reads_files()) return {};
    auto [files, problem] = output_files(r.xml_doc_in, config_.upload_dir, config_.uldl_dir_fanout);
    if (!problem.empty()) return cut_documents_.check(r, problem, clock_.now_sec());
    if (options_.judge == nullptr)
        return job.alone ? check_read(files, r.received_time, tree)
                         : check_bitwise(files, r.received_time, tree, options_.gzip);
    OutputCheck check = check_readable(files, r.received_time, tree);
    job.files[result] = std::move(files);
    return check;
}

std::optional<Validator::Decided> Validator::decide(const App& app, const JudgedWorkunit& job, const Records& records) {
    Decided d{job.read, {job.read->wu, job.read->results, job.outputs, job.compared, job.decided}, {}, {}};
    for (std::size_t i = 0; i < d.facts.outputs.size(); ++i)
        if (d.facts.outputs[i] && d.facts.outputs[i]->outlier) d.facts.results[i].runtime_outlier = true;
    d.plan = plan_validation(d.facts, app, clock_.now_sec());
    d.write = to_write(app, d.facts, d.plan, records);
    if (d.plan.again_later) {
        // It stays in the queue for as long as it is looked at often.
        d.write.still_needed = put_off(d.facts) < Aside{}.wait.longest();
        if (!d.write.still_needed && d.write.transition_time == 0)
            d.write.transition_time = std::min(d.facts.wu.transition_time, clock_.now_sec() + kRest);
        if (d.write.still_needed && d.plan.verdicts.empty()) return std::nullopt;
    }
    return d;
}

void Validator::note(const Decided& decided) {
    ++handled_;
    if (!decided.plan.again_later) set_aside_.erase(decided.facts.wu.id);
    report(decided.facts, decided.plan, decided.write);
    if (decided.plan.canonical_resultid != 0) ++valid_;
}

double Validator::put_off(const ValidateFacts& facts) {
    Aside& aside = set_aside_[facts.wu.id];
    const double wait = aside.wait.next();
    aside.until = clock_.now() + wait;
    for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
        const Result& r = facts.results[i];
        if (facts.outputs[i] && facts.outputs[i]->kind == OutputCheck::Kind::kTransient)
            log_warning("[RESULT#{} {}] not judged: {}; looked at again in {:.0f} s [HOST#{}]", r.id, r.name,
                        facts.outputs[i]->why, wait, r.hostid);
    }
    return wait;
}

void Validator::report(const ValidateFacts& facts, const ValidationPlan& plan, const ValidationWrite& write) {
    for (const auto& v : write.results) {
        const auto at = std::ranges::find(facts.results, v.id, &Result::id);
        const Result& r = *at;
        if (v.outcome == Outcome::kValidateError)
            log_normal("[RESULT#{} {}] Validate error: {} [HOST#{}]", r.id, r.name,
                       facts.outputs[static_cast<std::size_t>(at - facts.results.begin())]->why, r.hostid);
        else if (v.validate_state == ValidateState::kValid)
            log_normal("[RESULT#{} {}] Valid; granted {:f} credit [HOST#{}]", r.id, r.name, v.granted_credit, r.hostid);
        else if (v.validate_state == ValidateState::kInvalid)
            log_normal("[RESULT#{} {}] Invalid [HOST#{}]", r.id, r.name, r.hostid);
        else if (v.validate_state == ValidateState::kInconclusive)
            log_normal("[RESULT#{} {}] Inconclusive [HOST#{}]", r.id, r.name, r.hostid);
    }
    if (plan.canonical_resultid != 0)
        log_normal("[WU#{} {}] canonical result is {}; credit {:.6f}", facts.wu.id, facts.wu.name,
                   plan.canonical_resultid, write.canonical_credit);
    else if (plan.error_mask != 0)
        log_normal("[WU#{} {}] no agreement among more than {} results: given up", facts.wu.id, facts.wu.name,
                   facts.wu.max_success_results);
}

void Validator::log_claim(const Result& r, const CreditClaim& c) const {
    if (!config_.debug_credit) return;
    if (c.outlier) log_normal("[credit] [RESULT#{}] runtime outlier, not updating stats", r.id);
    log_normal("[credit] [RESULT#{}] raw credit: {:.2f} ({:.2f} sec, {:.2f} est GFLOPS)", r.id,
               c.raw_pfc * kCobblestone, r.elapsed_time, r.flops_estimate / 1e9);
    log_normal("[credit] [RESULT#{}] scaled by the records of version and host: {:.2f}", r.id, c.pfc * kCobblestone);
}

double Validator::credit_of(const App& app, const ValidateFacts& facts, const std::vector<const Result*>& valid,
                            const std::vector<CreditClaim>& claims) const {
    const CreditInputs in{app, facts.wu, options_.max_granted_credit};
    switch (options_.credit) {
        case CreditMode::kAdaptive: return grant(claims, in);
        case CreditMode::kFromWorkunit: return facts.wu.canonical_credit;
        case CreditMode::kFromRuntime: return runtime_credit(valid, in);
        case CreditMode::kFromJudge:
        case CreditMode::kNone: break;
    }
    return 0;
}

double Validator::judged_credit(const ValidateFacts& facts, Id canonical) const {
    double credit = 0;
    for (std::size_t i = 0; i < facts.results.size(); ++i)
        if (facts.results[i].id == canonical && facts.outputs[i]) credit = facts.outputs[i]->credit.value_or(0);
    if (credit < 0)
        log_critical("[WU#{} {}] post-assigned credit {} is negative: none is granted", facts.wu.id, facts.wu.name,
                     credit);
    if (credit == 0) log_critical("[WU#{} {}] post-assigned credit missing", facts.wu.id, facts.wu.name);
    credit = std::max(credit, 0.0);
    return options_.max_granted_credit > 0 ? std::min(credit, options_.max_granted_credit) : credit;
}

ValidationWrite Validator::to_write(const App& app, const ValidateFacts& facts, const ValidationPlan& plan,
                                    const Records& records) const {
    const auto& [versions, hosts] = records;
    ValidationWrite w;
    w.canonical_resultid = plan.canonical_resultid;
    w.error_mask = plan.error_mask;
    w.assimilate = plan.assimilate;
    w.target_nresults = plan.target_nresults;
    w.transition_time = plan.transition_time;
    w.cancel = plan.cancel;
    std::map<Id, const Result*> by_id;
    for (const Result& r : facts.results) by_id[r.id] = &r;
    std::vector<const Result*> valid;
    std::vector<CreditClaim> claims;
    std::map<Id, CreditClaim> claim_by_id;
    for (const auto& v : plan.verdicts) {
        if (!v.grant) continue;
        const Result& r = *by_id.at(v.result_id);
        const auto hav = hosts.find({r.hostid, generalized_version_id(r.appid, r.app_version_id)});
        const auto version = versions.find(r.app_version_id);
        const CreditClaim c = claim_of(r, hav == hosts.end() ? nullptr : &hav->second,
                                       version == versions.end() ? nullptr : &version->second,
                                       {app, facts.wu, options_.max_granted_credit});
        log_claim(r, c);
        valid.push_back(&r);
        claims.push_back(c);
        claim_by_id[r.id] = c;
    }
    double credit = 0;
    if (plan.canonical_resultid != 0)
        credit = options_.credit == CreditMode::kFromJudge ? judged_credit(facts, plan.canonical_resultid)
                                                           : credit_of(app, facts, valid, claims);
    w.canonical_credit = credit;
    for (const auto& v : plan.verdicts) {
        const Result& r = *by_id.at(v.result_id);
        const auto& output = facts.outputs[static_cast<std::size_t>(&r - facts.results.data())];
        const double granted = !v.grant ? 0 : plan.canonical_resultid != 0 ? credit : v.granted_credit;
        w.results.push_back({v.result_id, v.server_state, v.was_server_state, v.outcome, v.validate_state,
                             v.was_validate_state, granted, v.grant && claim_by_id.at(v.result_id).outlier,
                             output ? output->opaque : std::nullopt});
        if (v.validate_state == ValidateState::kValid || v.validate_state == ValidateState::kInvalid)
            w.hosts.push_back(host_row(app, facts, r, v, granted, v.grant ? &claim_by_id.at(v.result_id) : nullptr));
    }
    return w;
}

ValidationWrite::HostRow Validator::host_row(const App& app, const ValidateFacts& facts, const Result& r,
                                             const ResultVerdict& v, double granted, const CreditClaim* claim) const {
    ValidationWrite::HostRow h;
    h.hostid = r.hostid;
    h.userid = r.userid;
    h.teamid = r.teamid;
    h.generalized_version = generalized_version_id(r.appid, r.app_version_id);
    h.app_version_id = r.app_version_id;
    h.valid = v.validate_state == ValidateState::kValid;
    // A job that was not replicated because its host is trusted does not add to that trust.
    h.trust = facts.wu.target_nresults != 1 || app.target_nresults <= 1;
    h.credit = granted;
    h.grants = options_.credit != CreditMode::kNone;
    h.started = static_cast<double>(r.sent_time);
    h.turnaround = static_cast<double>(r.received_time - r.sent_time);
    if (claim != nullptr) {
        h.et = claim->et_sample;
        h.pfc = claim->pfc_sample;
        h.outlier = claim->outlier;
    }
    h.quota = config_.daily_result_quota;
    if (config_.credit_by_app && h.valid && h.grants) h.credit_appid = r.appid;
    return h;
}

}  // namespace sluice
