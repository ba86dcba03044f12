// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/assimilator.h"

#include <algorithm>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr int kPage = 500;
/// Failures of the handler on one workunit, after which an admin is asked to help.
constexpr int kOften = 10;

}  // namespace

TurnResult Assimilator::pass() {
    const auto app = store_.app_id(options_.app_name);
    if (!app) throw ConfigError("there is no app named '" + options_.app_name + "'");
    WorkunitFilter filter = options_.filter;
    filter.appid = *app;
    done_ = failed_ = held_pages_ = 0;
    if (brake_.on(clock_.now())) return TurnResult::kIdle;
    cut_documents_.forget_old(clock_.now_sec());
    UploadTree tree(config_.upload_dir, clock_.now_sec());
    began_ = clock_.now();
    Id after = 0;
    while (!stop_requested() && !enough()) {
        const auto page = store_.page(filter, after, kPage);
        if (page.empty()) break;
        after = page.back().wu.id;
        if (!assimilate_page(page, tree)) break;
    }
    if (held_pages_ > 0 && done_ + failed_ == 0) brake_.pull(clock_.now());
    if (done_ + failed_ > 0) log_normal("pass: {} workunits assimilated, {} failed", done_, failed_);
    const bool over = enough() || done_ == 0 || options_.dont_update_db;
    if (over && options_.one_pass && !failures_.empty()) return TurnResult::kFailed;
    if (enough()) return TurnResult::kFinished;
    return done_ > 0 && !options_.dont_update_db ? TurnResult::kWorked : TurnResult::kIdle;
}

bool Assimilator::due(Id wu) const {
    const auto it = failures_.find(wu);
    return it == failures_.end() || clock_.now() >= it->second.next;
}

bool Assimilator::assimilate_page(const std::vector<Assimilable>& page, UploadTree& tree) {
    std::vector<Ready> ready;
    for (const Assimilable& job : page)
        if (due(job.wu.id)) ready.push_back(look_at(job, tree));
    doubt_what_is_missing(ready, tree);
    if (hold_back(ready) && done_ + failed_ == 0 && ++held_pages_ >= Brake::kPages) return false;
    std::vector<Ready> readable;
    for (Ready& r : ready) {
        if (!r.unreadable.empty())
            log_warning("[WU#{} {}] {}: {} is not called, looked at again in {:.0f} s", r.job->wu.id, r.job->wu.name,
                        r.unreadable, handler_.name(), fails(r.job->wu.id));
        else if (options_.one_pass_n_wu <= 0 || total_ + std::ssize(readable) < options_.one_pass_n_wu)
            readable.push_back(std::move(r));
    }
    return assimilate(readable) && !stop_requested() && !enough();
}

Assimilator::Ready Assimilator::look_at(const Assimilable& job, UploadTree& tree) {
    using Found = OpenedOutput::Kind;
    using Says = OutputCheck::Files;
    Ready ready{&job, {}, "", ""};
    if (!job.canonical) return ready;
    OutputFileList named = output_files(job.canonical->xml_doc_in, config_.upload_dir, config_.uldl_dir_fanout);
    ready.files = std::move(named.files);
    const bool files_are_given = handler_.reads_files();
    if (files_are_given && !named.problem.empty()) {
        const OutputCheck check = cut_documents_.check(*job.canonical, named.problem, clock_.now_sec());
        ready.has_document = false;
        ready.says = check.files;
        (check.kind == OutputCheck::Kind::kError ? ready.lost : ready.unreadable) = check.why;
        return ready;
    }
    for (const OutputFile& f : ready.files) {
        OpenedOutput opened = tree.open(f.path, job.canonical->received_time);
        // A script that asks for no files may run where there is no upload folder.
        if (!files_are_given && opened.kind != Found::kStrange) continue;
        // The script knows what to do without it, as when it has moved it away and is called again.
        const bool lost = opened.kind == Found::kLost || (f.optional && opened.kind == Found::kNoFolder);
        if (opened.kind == Found::kOpen && ready.says == Says::kNone) ready.says = Says::kRead;
        if (opened.kind == Found::kOpen || (lost && f.optional)) continue;
        if (ready.says != Says::kShut) ready.says = opened.is_missing() ? Says::kMissing : Says::kShut;
        if (lost && ready.lost.empty()) ready.missing = f.path;
        std::string& first = lost ? ready.lost : ready.unreadable;
        if (first.empty()) first = std::move(opened.why);
    }
    return ready;
}

FileReading Assimilator::look_of(const Ready& ready) const {
    const Result& r = *ready.job->canonical;
    const std::string& why = ready.unreadable.empty() ? ready.lost : ready.unreadable;
    return {r.id, r.hostid, r.received_time, ready.says, began_, began_, why};
}

void Assimilator::doubt_what_is_missing(std::vector<Ready>& page, const UploadTree& tree) {
    for (const Ready& r : page)
        if (r.job->canonical) memory_.add(look_of(r));
    for (Ready& r : page) {
        if (r.lost.empty() || !r.unreadable.empty()) continue;
        const bool sure = memory_.vouches_against(r.job->canonical->id, clock_.now_sec());
        if (const std::string doubt = doubt_of(sure, r.missing, tree); !doubt.empty())
            r.unreadable = r.lost + "; " + doubt;
    }
}

bool Assimilator::hold_back(std::vector<Ready>& page) {
    ReadTally tally;
    for (const Ready& r : page)
        if (r.job->canonical && (r.lost.empty() || !r.unreadable.empty())) tally.add(look_of(r));
    if (!tally.most_unreadable()) return false;
    brake_.hold(tally, "assimilated", clock_.now());
    std::erase_if(page, [&](const Ready& r) {
        // What failed has no files.
        const bool waits = r.job->canonical && (tally.most_shut() || !r.unreadable.empty());
        if (waits) failures_[r.job->wu.id].next = clock_.now() + Brake::kHold;
        return waits;
    });
    return tally.most_shut();
}

double Assimilator::fails(Id wu) {
    ++failed_;
    Failure& f = failures_[wu];
    const double delay = f.delay.next();
    f.next = clock_.now() + delay;
    return delay;
}

int Assimilator::error_of(const Ready& ready) const {
    const Workunit& wu = ready.job->wu;
    if (!ready.has_document) {
        log_critical("[WU#{} {}] {}: {} is called with --error, as for a failed workunit", wu.id, wu.name, ready.lost,
                     handler_.name());
        return kWuNoCanonical;
    }
    if (!ready.lost.empty())
        log_warning("[WU#{} {}] {}: {} is called all the same", wu.id, wu.name, ready.lost, handler_.name());
    if (ready.job->canonical || wu.error_mask != 0) return 0;
    log_critical("[WU#{} {}] is ready for assimilation without canonical result or error; marked as error 32", wu.id,
                 wu.name);
    return kWuNoCanonical;
}

bool Assimilator::assimilate(std::span<const Ready> ready) {
    std::vector<FinishedWorkunit> finished;
    std::vector<int> error_masks;
    for (const Ready& r : ready) {
        error_masks.push_back(error_of(r));
        finished.push_back({r.job->wu, r.has_document ? r.job->canonical : std::nullopt, r.files});
        finished.back().wu.error_mask |= error_masks.back();
    }
    for (std::size_t i = 0; i < finished.size() && !stop_requested();) {
        const std::vector<std::string> said = handler_.handle(std::span(finished).subspan(i));
        if (said.empty()) return false;
        mark(std::span(finished).subspan(i), std::span(error_masks).subspan(i), said);
        i += said.size();
    }
    return true;
}

void Assimilator::mark(std::span<const FinishedWorkunit> finished, std::span<const int> error_masks,
                       std::span<const std::string> said) {
    std::vector<AssimilatedWorkunit> done;
    for (std::size_t i = 0; i < said.size(); ++i) {
        const Workunit& wu = finished[i].wu;
        ++total_;
        if (said[i].empty()) {
            done.push_back({wu.id, error_masks[i]});
            continue;
        }
        log_warning("[WU#{} {}] {}; called again in {:.0f} s", wu.id, wu.name, said[i], fails(wu.id));
        if (++failures_[wu.id].times == kOften)
            log_critical(
                "[WU#{} {}] {} has failed {} times on it. Others do not wait for it, but its files stay. Repair {}, or give "
                "the workunit up: UPDATE workunit SET assimilate_state=2 WHERE id={}",
                wu.id, wu.name, handler_.name(), kOften, handler_.name(), wu.id);
    }
    done_ += static_cast<int>(done.size());
    if (options_.dont_update_db)
        for (const AssimilatedWorkunit& d : done) failures_.erase(d.id);
    if (options_.dont_update_db || done.empty()) return;
    mark_done(done);
    for (std::size_t i = 0; i < said.size(); ++i)
        if (said[i].empty()) log_normal("[WU#{} {}] assimilated", finished[i].wu.id, finished[i].wu.name);
}

void Assimilator::mark_one_by_one(std::span<const AssimilatedWorkunit> done) {
    std::optional<DbError> failed;
    for (std::size_t i = 0; i < done.size(); ++i) {
        try {
            mark_done(done.subspan(i, 1));
        } catch (const DbError& e) {
            // The others are done, too: unmarked, they would be handled again and again.
            if (e.kind() != DbError::Kind::kOther && e.kind() != DbError::Kind::kRetry) throw;
            failed = e;
        }
    }
    if (failed) throw *failed;
}

void Assimilator::mark_done(std::span<const AssimilatedWorkunit> done) {
    std::int64_t marked = 0;
    try {
        marked = store_.done(done, clock_.now_sec());
    } catch (const DbError& e) {
        const bool of_one = e.kind() == DbError::Kind::kOther || e.kind() == DbError::Kind::kRetry;
        if (done.size() == 1 && of_one) fails(done.front().id);  // so that the next pass comes to the others
        if (done.size() == 1 || !of_one) throw;
        return mark_one_by_one(done);
    }
    for (const AssimilatedWorkunit& d : done) failures_.erase(d.id);
    if (const auto others = std::ssize(done) - marked; others > 0)
        log_debug("{} of {} workunits were marked by another assimilator", others, done.size());
}

}  // namespace sluice
