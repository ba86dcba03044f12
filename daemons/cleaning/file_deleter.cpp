// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/cleaning/file_deleter.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/daemon.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

using Removed = FileTree::Removed;

/// Files of volunteers' or other servers: create_work names what it does not store itself so.
bool is_remote(const std::string& name) { return name.starts_with("jf_"); }

constexpr std::chrono::milliseconds kMostLocked{500};

}  // namespace

DeletableFiles deletable_files(const std::string& text) {
    DeletableFiles files;
    XmlReader xml(text);
    for (auto token = xml.next(); token != XmlReader::Kind::kEof; token = xml.next()) {
        if (token != XmlReader::Kind::kStart || xml.name() != "file_info" || xml.empty_element()) continue;
        std::string name;
        bool keep = false;
        while (xml.next_child("file_info")) {
            if (xml.name() == "name")
                name = xml.text(255).value_or("");
            else if (xml.name() == "no_delete")
                keep = xml.boolean().value_or(false);
            else
                xml.skip();
        }
        if (keep) continue;
        if (is_valid_file_name(name) && name.find('/') == name.npos)
            files.names.push_back(std::move(name));
        else if (files.problem.empty())
            files.problem = "'" + in_one_line(name) + "' is no name of a file";
    }
    return files;
}

Turn FileDeleter::turn() {
    away_ = false;
    bool changed = delete_all(FileDeleteState::kReady);
    const double now = clock_.now();
    if (options_.retry_errors && (now >= retry_at_ || retry_at_ > now + retry_wait_.longest())) {
        // What can't be deleted for long is tried, and said, less and less often.
        const bool mended = delete_all(FileDeleteState::kError);
        if (mended) retry_wait_.reset();
        retry_at_ = now + retry_wait_.next();
        changed = changed || mended;
    } else if (failed_anew_) {
        retry_wait_.reset();
        retry_at_ = std::min(retry_at_, now + retry_wait_.next());
    }
    failed_anew_ = false;
    if (away_ && options_.one_pass) return {TurnResult::kFailed};
    // Without marks or in a dry run the same rows would come again.
    return changed && options_.update && !options_.dry_run ? Turn{TurnResult::kWorked} : idle();
}

bool FileDeleter::delete_all(FileDeleteState state) {
    const bool results = options_.results && delete_listed(FilesOf::kResult, state);
    const bool workunits = options_.workunits && delete_listed(FilesOf::kWorkunit, state);
    return results || workunits;
}

/// Said once an hour. The rows stay as they are until somebody mounts the file system, or says that it is gone.
bool FileDeleter::is_away(FilesOf of) {
    const bool outputs = of == FilesOf::kResult;
    if (outputs ? options_.preserve_result_files : options_.preserve_wu_files) return false;
    FileTree& tree = outputs ? upload_ : download_;
    const std::string why = tree.why_away();
    if (why.empty()) return false;
    away_ = true;
    log_once_an_hour(
        LogLevel::kCritical,
        fmt::format(
            "{}: {} Nothing is deleted or marked there. If its files are gone for good: file_deleter "
            "--one_pass {}",
            tree.root().string(), why,
            outputs ? "--output_files_only --preserve_result_files" : "--input_files_only --preserve_wu_files"));
    return true;
}

bool FileDeleter::delete_listed(FilesOf of, FileDeleteState state) {
    bool changed = false;
    for (Id after = 0; !stop_requested();) {
        const std::vector<FileOwner> owners = store_.file_owners(of, state, options_.filter, after, options_.page);
        if (owners.empty() || is_away(of)) break;
        after = owners.back().id;
        std::span<const FileOwner> left(owners);
        while (!left.empty() && !stop_requested()) {
            const Deleted some = delete_some(of, state, left);
            left = left.subspan(some.rows);
            changed = changed || some.marked;
        }
    }
    return changed;
}

/// Rows, and groups of input files, are locked meanwhile: others wait for kMostLocked at most, and for one file.
FileDeleter::Deleted FileDeleter::delete_some(FilesOf of, FileDeleteState state, std::span<const FileOwner> owners) {
    std::vector<Id> ids;
    std::vector<std::string> names;
    for (const FileOwner& owner : owners) {
        ids.push_back(owner.id);
        if (of == FilesOf::kWorkunit)
            for (std::string& name : deletable_files(owner.xml).names) names.push_back(std::move(name));
    }
    if (options_.dry_run) {
        const std::vector<std::string> in_use = store_.files_in_use(names);
        for (const FileOwner& owner : owners) delete_files(of, owner, in_use);
        return {owners.size(), false};
    }
    Deleted some;
    const auto work = [&](const std::vector<Id>& released, const std::vector<std::string>& in_use) {
        some.rows = 0;
        DeletedFiles gone;
        const auto until = std::chrono::steady_clock::now() + kMostLocked;
        for (const FileOwner& owner : owners) {
            if (some.rows > 0 && (stop_requested() || std::chrono::steady_clock::now() > until)) break;
            ++some.rows;
            if (std::ranges::binary_search(released, owner.id))
                (delete_files(of, owner, in_use) ? gone.done : gone.failed).push_back(owner.id);
        }
        failed_anew_ = failed_anew_ || (state == FileDeleteState::kReady && !gone.failed.empty());
        // A file system that went away meanwhile: its files were not there, and are no more gone than before.
        return options_.update && !is_away(of) ? gone : DeletedFiles();
    };
    try {
        some.marked = store_.delete_files(of, ids, state, names, work) > 0;
    } catch (const DbError& e) {
        if (e.kind() != DbError::Kind::kRetry) throw;
        if (owners.size() > 1) return delete_some(of, state, owners.first(owners.size() / 2));  // others need not wait
        log_debug("row #{} is left for the next pass: {}", ids.front(), e.what());
        some = {1, false};
    }
    return some;
}

bool FileDeleter::delete_files(FilesOf of, const FileOwner& owner, const std::vector<std::string>& in_use) {
    const bool output = of == FilesOf::kResult;
    if (output ? options_.preserve_result_files : options_.preserve_wu_files) return true;
    if (!output && owner.name.find("nodelete") != owner.name.npos) return true;
    const DeletableFiles files = deletable_files(owner.xml);
    if (!files.problem.empty())
        log_critical("[{}#{}] {}; it is left alone", output ? "RESULT" : "WU", owner.id, files.problem);
    bool all = true;
    for (const std::string& name : files.names) {
        if (std::ranges::find(in_use, name) != in_use.end())
            log_debug("[WU#{}] {} stays: jobs of its file group are unfinished", owner.id, name);
        else if (options_.dry_run)
            fmt::print("would delete {}\n", (output ? upload_ : download_).path(name).string());
        else
            all = (output ? delete_output(owner, name) : delete_input(owner, name)) && all;
    }
    return all;
}

bool FileDeleter::delete_output(const FileOwner& result, const std::string& name) {
    const FileTree::Place place = upload_.find(name);
    const FileTree::Removal removal = upload_.remove(place);
    switch (removal.what) {
        case Removed::kYes: log_normal("[RESULT#{}] unlinked {}", result.id, place.path()); return true;
        case Removed::kNoFile:
            // No error: a run that was killed before it marked the row has deleted it.
            log_at(result.outcome == Outcome::kSuccess ? LogLevel::kNormal : LogLevel::kDebug,
                   "[RESULT#{}] outcome={} client_state={} No file {} to delete", result.id,
                   static_cast<int>(result.outcome), static_cast<int>(result.client_state), name);
            return true;
        case Removed::kNoFolder: log_critical("[RESULT#{}] missing dir for {}", result.id, place.folder); return false;
        case Removed::kFailed: break;
    }
    log_critical("[RESULT#{}] file deletion failed: {}", result.id, removal.why);
    return false;
}

std::vector<const char*> FileDeleter::copies_of(const FileTree::Place& place) const {
    std::vector<const char*> suffixes;
    if (download_.is_made_of(place, ".gz")) suffixes.push_back(".gz");
    if (options_.delete_md5 && download_.is_made_of(place, ".md5")) suffixes.push_back(".md5");
    return suffixes;
}

void FileDeleter::delete_copies(const FileOwner& workunit, const FileTree::Place& place,
                                const std::vector<const char*>& suffixes) {
    for (const char* suffix : suffixes) {
        const FileTree::Removal copy = download_.remove(place, suffix);
        if (copy.what == Removed::kYes) log_normal("[WU#{}] deleted {}{}", workunit.id, place.name, suffix);
        if (copy.what == Removed::kFailed) log_critical("[WU#{}] file deletion failed: {}", workunit.id, copy.why);
    }
}

bool FileDeleter::delete_input(const FileOwner& workunit, const std::string& name) {
    const FileTree::Place place = download_.find(name);
    const std::vector<const char*> copies = copies_of(place);
    const FileTree::Removal removal = download_.remove(place);
    if (removal.what == Removed::kYes) {
        log_normal("[WU#{}] deleting {}", workunit.id, name);
        delete_copies(workunit, place, copies);
        return true;
    }
    if (removal.what == Removed::kFailed) {
        log_critical("[WU#{}] file deletion failed: {}", workunit.id, removal.why);
        return false;
    }
    if (is_remote(name)) return true;
    if (removal.what == Removed::kNoFile) {
        // A run that was killed after the file may have left them, and the row.
        delete_copies(workunit, place, copies);
        log_normal("[WU#{}] get_file_path: {}: not found", workunit.id, name);
        return true;
    }
    log_critical("[WU#{}] missing dir for {}", workunit.id, name);
    return false;
}

}  // namespace sluice
