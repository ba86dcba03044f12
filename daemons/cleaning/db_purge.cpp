// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/cleaning/db_purge.h"

#include <sys/stat.h>

#include <algorithm>
#include <exception>

#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

DbPurge::~DbPurge() {
    try {
        if (set_) set_->close();
    } catch (const std::exception& e) {
        log_critical("{}; the next db_purge closes the archives", e.what());
    }
}

/// Of processes that died, and of this one if the deletion of its last page failed.
void DbPurge::finish_what_was_begun() {
    if (options_.dry_run) return;
    if (!begun_) {
        for (const auto& set : ArchiveSet::left_open(options_.archive.folder)) {
            const std::int64_t rows = store_.purge(set->pending(), options_.assignments);
            if (rows > 0) log_normal("{} workunits that were archived before are deleted now", rows);
            set->close();
        }
        begun_ = true;
    }
    if (set_ && !set_->pending().empty()) {
        store_.purge(set_->pending(), options_.assignments);
        set_->page_is_deleted();
    }
}

int DbPurge::page_size() const {
    std::int64_t n = options_.page;
    if (options_.max_workunits > 0) n = std::min(n, options_.max_workunits - workunits_);
    if (options_.max_wu_per_file > 0) n = std::min(n, options_.max_wu_per_file - (set_ ? set_->workunits() : 0));
    return static_cast<int>(n);
}

/// Two db_purges that may take the same workunits read a page one after the other: what one archives, the other does
/// not find any more. nullopt: a stop was asked for, or nothing is archived.
std::optional<FileLock> DbPurge::wait_for_archives() const {
    if (options_.no_archive || options_.dry_run) return std::nullopt;
    ::mkdir(options_.archive.folder.c_str(), 0771);  // if that fails, so does the next step, which says why
    for (;;) {
        if (auto lock = FileLock::try_lock(options_.archive.folder / ".lock")) return lock;
        if (interruptible_sleep(0.02)) return std::nullopt;
    }
}

Turn DbPurge::turn() {
    const auto lock = wait_for_archives();
    if (stop_requested()) return idle();
    finish_what_was_begun();
    close_ended_set();  // again, if it failed: an ended one takes no page
    if (set_) set_->is_in_use();
    const std::vector<PurgedWorkunit> page = store_.purgeable(options_.filter, after_, page_size());
    if (page.empty()) return end_of_pass();
    if (!options_.no_archive && !options_.dry_run) archive(page);
    if (!options_.dont_delete && !options_.dry_run) remove(page);
    after_ = page.back().row.id;
    pass_workunits_ += static_cast<std::int64_t>(page.size());
    for (const PurgedWorkunit& w : page) pass_results_ += static_cast<std::int64_t>(w.results.size());
    workunits_ += static_cast<std::int64_t>(page.size());
    close_ended_set();
    if (options_.max_workunits > 0 && workunits_ >= options_.max_workunits) {
        end_of_pass();
        return {TurnResult::kFinished};
    }
    return {TurnResult::kWorked};
}

void DbPurge::close_ended_set() {
    if (!set_) return;
    const bool full = options_.max_wu_per_file > 0 && set_->workunits() >= options_.max_wu_per_file;
    if (!full && !set_->is_of_an_earlier_day(clock_.now_sec())) return;
    set_->close();
    set_.reset();
}

void DbPurge::archive(const std::vector<PurgedWorkunit>& page) {
    if (!set_) set_ = std::make_unique<ArchiveSet>(options_.archive, clock_.now_sec());
    set_->add(page);
    if (options_.dont_delete) set_->page_is_deleted();  // nothing is to be deleted later, either
}

void DbPurge::remove(const std::vector<PurgedWorkunit>& page) {
    std::vector<Id> ids;
    for (const PurgedWorkunit& w : page) ids.push_back(w.row.id);
    store_.purge(ids, options_.assignments);
    if (set_) set_->page_is_deleted();
    for (const PurgedWorkunit& w : page) {
        for (const PurgedResult& r : w.results) log_normal("Purged result [{}] batch {}", r.row.id, r.row.batch);
        log_normal("Purged workunit [{}] batch {}", w.row.id, w.row.batch);
    }
}

Turn DbPurge::end_of_pass() {
    log_at(pass_workunits_ > 0 || options_.one_pass ? LogLevel::kNormal : LogLevel::kDebug,
           "{}Archived {} workunits and {} results", dry_run_words(options_.dry_run), pass_workunits_, pass_results_);
    if (!options_.one_pass) log_normal("No WUs to purge; sleeping {}", options_.every);
    after_ = 0, pass_workunits_ = 0, pass_results_ = 0;
    return options_.one_pass ? Turn{TurnResult::kFinished} : idle();
}

}  // namespace sluice
