// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/batch_commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "daemons/batch/batch_text.h"
#include "sluice/base/error.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/model/gang.h"

namespace sluice {
namespace {

/// std::getline() without its unbounded memory: false at the end; `text` has at most `most` + 1 bytes.
bool read_line(std::istream& in, std::string& text, std::size_t most) {
    text.clear();
    for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
        if (c == '\n') return true;
        text += static_cast<char>(c);
        if (text.size() > most) return true;
    }
    return !text.empty();
}

std::string prefix_of(Id batch) { return fmt::format("batch_{}_", batch); }

}  // namespace

std::string job_name(Id batch, std::int64_t line, const std::string& text) {
    return prefix_of(batch) + fmt::format("{}_{}", line, md5_hex(trim(text)).substr(0, 8));
}

std::uint64_t bytes_of_file(const std::string& file) {
    std::error_code none;
    const auto size = std::filesystem::file_size(file, none);
    return none ? 0 : size;
}

SubmissionOutcome Submission::run(std::istream& in, const std::function<void(std::uint64_t, std::size_t)>& progress) {
    of_earlier_runs_ = store_.jobs_named(defaults_.batch, prefix_of(defaults_.batch));
    takes_jobs_ = store_.batch_state(defaults_.batch) == BatchState::kInit;
    refuse_other_gangs();
    std::string text;
    std::uint64_t bytes = 0;
    for (std::int64_t line = 1; read_line(in, text, kLongestLine); ++line) {
        bytes += text.size() + 1;
        if (!trim(text).empty()) add(text, line);
        if (workunits_.size() < chunk()) continue;
        flush();
        progress(bytes, outcome_.all());
    }
    if (in.bad()) throw FileError(fmt::format("batch {}: the file of jobs can't be read{}", defaults_.batch, so_far()));
    refuse_part_of_a_gang();
    flush();
    progress(bytes, outcome_.all());
    return outcome_;
}

void Submission::add(const std::string& text, std::int64_t line) {
    if (takes_jobs_ && note_) note_();
    try {
        if (text.size() > kLongestLine)
            throw ConfigError(fmt::format("it is longer than {} bytes: give it an input file", kLongestLine));
        JobOptions job = parse_job_line(text, defaults_);
        if (job.wu_name.empty()) job.wu_name = job_name(defaults_.batch, line, text);
        if (gangs_.size > 0) {
            if (!job.command_line.empty()) job.command_line += ' ';
            job.command_line += gang_arguments(gangs_.secret, next_seat(), gangs_.size, gangs_.hub);
            gang_jobs_.push_back({next_seat().gang, next_seat().member, job.wu_name});
        }
        Workunit w = maker_.prepare(job);
        if (gangs_.size > 0 && w.target_nresults != 1)
            throw ConfigError("each member of a gang is one result: give --target_nresults 1 and --min_quorum 1");
        if (gangs_.size > 0) send_by_gang_planner_only(w);
        ++jobs_;
        rows_.push_back(maker_.rows_of(job, w));
        if (gangs_.size > 0) rows_.back().file_group.clear();  // its members run together, wherever their files are
        workunits_.push_back(std::move(w));
    } catch (const DbError&) {
        throw;
    } catch (const Error& e) {
        throw ConfigError(fmt::format("batch {}, line {}: {}{}", defaults_.batch, line, e.what(), so_far()));
    }
}

GangSeat Submission::next_seat() const {
    return {{defaults_.batch, jobs_ / gangs_.size}, static_cast<int>(jobs_ % gangs_.size)};
}

std::size_t Submission::chunk() const {
    if (gangs_.size == 0) return kChunk;
    const auto size = static_cast<std::size_t>(gangs_.size);
    return kChunk / size * size;
}

void Submission::refuse_part_of_a_gang() const {
    if (gangs_.size == 0 || jobs_ % gangs_.size == 0) return;
    throw ConfigError(fmt::format("batch {}: {} jobs are no gangs of {}: {} are left over{}", defaults_.batch, jobs_,
                                  gangs_.size, jobs_ % gangs_.size, so_far()));
}

/// The jobs that are there have their gang and its size on their command lines.
void Submission::refuse_other_gangs() const {
    if (store_.jobs_named(defaults_.batch, "") == 0) return gangs_.store.remove(defaults_.batch);
    const int before = gangs_.store.size_in(defaults_.batch).value_or(0);
    if (before == gangs_.size) return;
    throw ConfigError(
        fmt::format("batch {}: the jobs that it has were submitted {}: do the same, or make another batch",
                    defaults_.batch, before > 0 ? fmt::format("with --gang_size {}", before) : "without --gang_size"));
}

void Submission::flush() {
    auto workunits = std::exchange(workunits_, {});
    const auto rows = std::exchange(rows_, {});
    const auto gang_jobs = std::exchange(gang_jobs_, {});
    if (workunits.empty()) return;
    const Id batch = defaults_.batch;
    // Before the jobs: a submission that was killed in between is gone on with, and asks then which gangs there are.
    if (gangs_.size > 0 && takes_jobs_) gangs_.store.define(gang_jobs, gangs_.size);
    if (takes_jobs_ && note_) note_();
    std::optional<BatchChunk> written;
    try {
        const std::size_t expected = of_earlier_runs_ - std::min(of_earlier_runs_, outcome_.present);
        written = store_.insert_into_batch(batch, workunits, rows, expected);
    } catch (const DbError& e) {
        if (e.kind() != DbError::Kind::kDuplicate) throw;
        throw ConfigError(fmt::format("batch {}: two of the lines' jobs have the same --wu_name{}", batch, so_far()));
    }
    if (!written) throw ConfigError(fmt::format("batch {}: there is no such batch any more", batch));
    if (!written->taken.empty())
        throw ConfigError(
            fmt::format("batch {}: job '{}' is there already, of another batch: give it another --wu_name{}", batch,
                        written->taken, so_far()));
    if (!written->missing.empty())
        throw ConfigError(
            fmt::format("batch {}: it is {} and takes no more jobs; {} of the file are in it, '{}' and those "
                        "after it are not. Make another batch for them (sluice_batch create)",
                        batch, state_name(written->state), outcome_.all() + written->present, written->missing));
    if (written->strange && of_earlier_runs_ == 0)
        throw ConfigError(
            fmt::format("batch {}: somebody else submits another file into it: make another batch for this one{}",
                        batch, so_far()));
    if (written->strange)
        throw ConfigError(
            fmt::format("batch {}: the {} jobs that it has are not the first ones of this file: submit the file "
                        "that they came from, or abort the batch and make another",
                        batch, of_earlier_runs_));
    outcome_.inserted += written->inserted;
    outcome_.present += written->present;
}

std::string Submission::so_far() const {
    if (outcome_.all() == 0) return "; no job was submitted";
    return fmt::format("; the {} jobs before it are in the batch: correct it and give the same command again",
                       outcome_.all());
}

namespace {

[[noreturn]] void refuse_unknown(Id batch) {
    throw ConfigError(
        fmt::format("batch {}: there is no such batch: sluice_batch list --all shows those there are", batch));
}

/// As the batch's row says it, without a look at its workunits.
BatchProgress kept_progress(const Batch& b) {
    const int done = static_cast<int>(std::lround(b.fraction_done * b.njobs));
    return {b.id, b.njobs, done - b.nerror_jobs, b.nerror_jobs, b.credit_canonical};
}

}  // namespace

OwnedBatch BatchCommands::find(Id batch) {
    auto found = store_.batch(batch);
    if (!found) refuse_unknown(batch);
    return *found;
}

Id BatchCommands::create(const OwnedBatch& wanted) {
    OwnedBatch batch = wanted;
    if (!store_.user_name(batch.row.user_id))
        throw ConfigError(
            fmt::format("there is no user {}: --user takes the number of an account (create_account makes one)",
                        batch.row.user_id));
    batch.row.create_time = clock_.now_sec();
    if (batch.row.name.empty())
        batch.row.name = fmt::format("{} of {}", batch.app_name, utc_text(static_cast<double>(batch.row.create_time)));
    store_.create(batch);
    return batch.row.id;
}

std::vector<BatchView> BatchCommands::list(const BatchFilter& filter) {
    std::vector<BatchView> views;
    std::vector<Id> open;
    for (const OwnedBatch& b : store_.list(filter)) {
        views.push_back({b, kept_progress(b.row), std::nullopt, clock_.now()});
        const bool may_change = b.row.state == BatchState::kInit || b.row.state == BatchState::kInProgress;
        if (may_change) open.push_back(b.row.id);
    }
    // Of the others the row says it: they may have a million workunits.
    auto counted = counts_.progress(open);
    auto next = counted.begin();
    for (BatchView& v : views)
        if (next != counted.end() && next->batch == v.batch.row.id) v.progress = *next++;
    return views;
}

BatchView BatchCommands::show(Id batch) {
    BatchView view{find(batch), {}, store_.cost(batch), clock_.now()};
    const Id ids[] = {batch};
    view.progress = counts_.progress(ids).at(0);
    // Purged, or some of it: the row knows them all. Before the start it says what is to come, then what there was
    // lately.
    const Batch& row = view.batch.row;
    const bool is_started = row.state != BatchState::kInit,
               is_over = is_started && row.state != BatchState::kInProgress;
    if ((is_started && view.progress.njobs <= 0) || (is_over && view.progress.njobs < row.njobs))
        view.progress = kept_progress(row);
    return view;
}

BatchState BatchCommands::set_state(Id batch, const std::vector<BatchState>& from, BatchState to,
                                    const BatchEnding::InOrder& in_order) {
    const auto state = ending_.set_state(batch, from, to, in_order);
    if (!state) refuse_unknown(batch);
    return *state;
}

BatchCommands::Started BatchCommands::start(Id batch) {
    Started done;
    done.state = set_state(batch, {BatchState::kInit}, BatchState::kInProgress,
                           [&](ShareBook& book, const BatchWork& work, double flops, double now) {
                               done.without_quota = !admit(book, work, flops, now);
                           });
    return done;
}

void BatchCommands::move(Id batch, Id before) {
    const OwnedBatch b = find(batch), a = find(before);
    if (!ending_.shares())
        throw ConfigError(fmt::format("batch {}: batches have no order: <share_rule> is off in config.xml", batch));
    if (batch == before) throw ConfigError(fmt::format("batch {}: it can't be moved before itself", batch));
    if (a.row.user_id != b.row.user_id)
        throw ConfigError(
            fmt::format("batch {}: batch {} is another user's ({}): only the order of one user's batches can be "
                        "changed",
                        batch, before, a.row.user_id));
    for (const OwnedBatch* each : {&b, &a})
        if (each->row.state != BatchState::kInProgress)
            throw ConfigError(fmt::format("batch {}: it is {}: only batches in progress have an order", each->row.id,
                                          state_name(each->row.state)));
    const SharesInUse& shares = *ending_.shares();
    shares.store.prepare();
    try {
        shares.store.change(shares.settings, clock_.now(), [&](ShareBook& book) {
            for (const Id id : {batch, before})
                if (!book.clock.has(id))
                    throw ConfigError(
                        fmt::format("batch {}: it has no place in the order yet: batch_shares gives it one, if "
                                    "its user has a quota",
                                    id));
            book.clock.move(b.row.user_id, batch, before);
        });
    } catch (const share::ShareError& e) {
        throw ConfigError(fmt::format("batch {}: {}", batch, e.what()));
    }
}

void BatchCommands::abort(Id batch, Apps unassimilated) {
    const auto state = ending_.abort(batch, unassimilated);
    if (!state) refuse_unknown(batch);
    if (*state != BatchState::kAborted)
        throw ConfigError(fmt::format("batch {}: it is {}: there is nothing to abort", batch, state_name(*state)));
}

void BatchCommands::retire(Id batch, const std::filesystem::path& project, Apps unassimilated) {
    const OwnedBatch before = find(batch);
    if (before.row.state == BatchState::kAborted) ending_.cancel_all(batch);  // its abort may have been killed
    const auto state = store_.change_state(batch, {BatchState::kComplete, BatchState::kAborted}, BatchState::kRetired,
                                           clock_.now_sec());
    if (!state) refuse_unknown(batch);
    if (*state != BatchState::kRetired)
        throw ConfigError(
            fmt::format("batch {}: it is {}: only a complete or aborted batch can be retired; sluice_batch abort "
                        "{} ends it, batch_upkeep finds out that it is complete",
                        batch, state_name(*state), batch));
    store_.count_as_assimilated(batch, unassimilated, BatchOwnerStore::OverBy::kAnything, clock_.now_sec());
    std::error_code failed;
    const auto folder = project / "results" / std::to_string(batch);
    std::filesystem::remove_all(folder, failed);
    if (failed)
        throw FileError(fmt::format("batch {}: it is retired, but {} can't be removed ({}): remove it by hand", batch,
                                    folder.string(), failed.message()));
}

}  // namespace sluice
