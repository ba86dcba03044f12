#include "daemons/batch/submission.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "daemons/batch/batch_text.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"

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

SubmissionOutcome Submission::run(std::istream& in, const std::function<void(std::uint64_t, std::size_t)>& progress) {
    of_earlier_runs_ = store_.jobs_named(defaults_.batch, prefix_of(defaults_.batch));
    std::string text;
    std::uint64_t bytes = 0;
    for (std::int64_t line = 1; read_line(in, text, kLongestLine); ++line) {
        bytes += text.size() + 1;
        if (!trim(text).empty()) add(text, line);
        if (workunits_.size() < kChunk) continue;
        flush();
        progress(bytes, outcome_.all());
    }
    if (in.bad()) throw FileError(fmt::format("batch {}: the file of jobs can't be read{}", defaults_.batch, so_far()));
    flush();
    progress(bytes, outcome_.all());
    return outcome_;
}

void Submission::add(const std::string& text, std::int64_t line) {
    try {
        if (text.size() > kLongestLine)
            throw ConfigError(fmt::format("it is longer than {} bytes: give it an input file", kLongestLine));
        JobOptions job = parse_job_line(text, defaults_);
        if (job.wu_name.empty()) job.wu_name = job_name(defaults_.batch, line, text);
        workunits_.push_back(maker_.prepare(job));
        assignments_.push_back(to_assignment(job));
    } catch (const DbError&) {
        throw;
    } catch (const Error& e) {
        throw ConfigError(fmt::format("batch {}, line {}: {}{}", defaults_.batch, line, e.what(), so_far()));
    }
}

void Submission::flush() {
    auto workunits = std::exchange(workunits_, {});
    const auto assignments = std::exchange(assignments_, {});
    if (workunits.empty()) return;
    const Id batch = defaults_.batch;
    std::optional<BatchChunk> chunk;
    try {
        const std::size_t expected = of_earlier_runs_ - std::min(of_earlier_runs_, outcome_.present);
        chunk = store_.insert_into_batch(batch, workunits, assignments, expected);
    } catch (const DbError& e) {
        if (e.kind() != DbError::Kind::kDuplicate) throw;
        throw ConfigError(fmt::format("batch {}: two of the lines' jobs have the same --wu_name{}", batch, so_far()));
    }
    if (!chunk) throw ConfigError(fmt::format("batch {}: there is no such batch any more", batch));
    if (!chunk->taken.empty())
        throw ConfigError(
            fmt::format("batch {}: job '{}' is there already, of another batch: give it another --wu_name{}", batch,
                        chunk->taken, so_far()));
    if (!chunk->missing.empty())
        throw ConfigError(
            fmt::format("batch {}: it is {} and takes no more jobs; {} of the file are in it, '{}' and those "
                        "after it are not. Make another batch for them (sluice_batch create)",
                        batch, state_name(chunk->state), outcome_.all() + chunk->present, chunk->missing));
    if (chunk->strange)
        throw ConfigError(
            fmt::format("batch {}: the {} jobs that it has are not the first ones of this file: submit the file "
                        "that they came from, or abort the batch and make another",
                        batch, of_earlier_runs_));
    outcome_.inserted += chunk->inserted;
    outcome_.present += chunk->present;
}

std::string Submission::so_far() const {
    if (outcome_.all() == 0) return "; no job was submitted";
    return fmt::format("; the {} jobs before it are in the batch: mend it and give the same command again",
                       outcome_.all());
}

}  // namespace sluice
