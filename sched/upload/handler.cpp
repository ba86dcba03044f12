// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/handler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice::upload {
namespace {

/// As upstream: what is lost by a crash of the machine is at most this much of a client's time.
constexpr std::size_t kBlock = 256 * 1024;

Answer transient(std::string message) { return {Answer::Status::kTransient, std::move(message), {}}; }
Answer permanent(std::string message) { return {Answer::Status::kPermanent, std::move(message), {}}; }

/// A client's words in a message, or in the log.
std::string plain(std::string_view words) {
    std::string out(words.substr(0, 255));
    std::ranges::replace_if(
        out, [](char c) { return c == '<' || c == '>' || c == '&' || static_cast<unsigned char>(c) < ' '; }, '?');
    return out;
}

/// Stricter than elsewhere: an uploaded file stands in its fan-out folder, nowhere deeper.
bool is_valid_upload_name(const std::string& name) {
    return is_valid_file_name(name) && name != "." && name.find('/') == std::string::npos;
}

std::filesystem::path relative_path(const UploadSettings& settings, const std::string& name) {
    return fanout_path({}, name, settings.fanout);
}

std::optional<double> free_space(const UploadSettings& settings) {
    return settings.free_space ? settings.free_space(settings.upload_dir) : free_bytes(settings.upload_dir);
}

/// The folder that a file of this name would be made in, if that can't be done; empty: it can.
std::string shut_folder(const UploadSettings& settings, const std::string& name) {
    std::filesystem::path folder = settings.upload_dir / relative_path(settings, name).parent_path();
    const auto refused = [&] { return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0; };
    if (!refused()) return "";
    if (errno != ENOENT || (folder = settings.upload_dir, refused())) return folder.string();
    if (settings.is_mounted(folder)) return "";  // the hash folder is made
    errno = ENODEV;
    return folder.string();
}

Answer file_size(const RequestHead& head, const UploadSettings& settings) {
    if (!is_valid_upload_name(head.name)) return permanent("Bad filename");
    const auto free = free_space(settings);
    if (free && *free < settings.min_free_space) return transient("Server is out of disk space");
    const auto opened =
        open_upload_file(settings.upload_dir, relative_path(settings, head.name), UploadFile::Access::kRead, 0);
    if (opened.problem) {
        log_critical("get_file_size: {}: {}", plain(head.name), opened.problem->message);
        return transient("can't open file");
    }
    Answer answer;
    answer.file_size = 0;
    if (!opened.file) {
        // The client comes back later, and need not send the data in vain.
        if (const std::string folder = shut_folder(settings, head.name); !folder.empty()) {
            log_critical("get_file_size: {}: can't write to {}: {}", plain(head.name), folder, std::strerror(errno));
            return transient("can't write to the upload folder");
        }
    } else {
        if (const auto pid = opened.file->locked_by())
            return transient(fmt::format("[{}] locked by file_upload_handler PID={}", plain(head.name), *pid));
        answer.file_size = opened.file->size();
    }
    log_normal("get_file_size: [{}] returning {}", plain(head.name), *answer.file_size);
    return answer;
}

/// The project signed name and limit when it made the job: without that anyone could fill the disk.
std::optional<Answer> check_certificate(const RequestHead& head, const PublicKey& key) {
    if (!head.has_signature) return permanent("missing signature");
    if (!head.max_nbytes || *head.max_nbytes < 0) return permanent("missing max_nbytes");
    const std::string signed_text =
        fmt::format("<name>{}</name><max_nbytes>{:.0f}</max_nbytes>", head.name, *head.max_nbytes);
    if (key.verify(signed_text, head.signature)) return std::nullopt;
    log_normal("invalid signature for {}", plain(signed_text));
    return permanent("invalid signature");
}

std::optional<Answer> check_upload(const RequestHead& head, const UploadSettings& settings) {
    if (head.name.empty()) return permanent("Missing name");
    if (!head.has_data) return permanent("Missing <data> tag");
    if (settings.key) {
        if (auto refused = check_certificate(head, *settings.key)) return refused;
    }
    if (!head.nbytes || *head.nbytes < 0) return permanent("nbytes missing or negative");
    const double limit = settings.key ? *head.max_nbytes : kMaxFileSize;
    if (*head.nbytes > std::min(limit, kMaxFileSize)) {
        return permanent(fmt::format("file size ({:.0f} KB) exceeds limit ({:.0f} KB)",
                                     std::floor(std::min(*head.nbytes, kMaxFileSize) / 1024),
                                     std::floor(limit / 1024)));
    }
    if (std::floor(*head.nbytes) != *head.nbytes) return permanent("nbytes is not a whole number");
    if (!head.offset_ok) return permanent("bad offset");
    if (!is_valid_upload_name(head.name))
        return permanent(fmt::format("file_upload_handler: invalid filename: {}", plain(head.name)));
    return std::nullopt;
}

/// Data from `offset` to `nbytes` into the file. What arrived stays, whatever stops it: the client resumes there.
Answer receive(BodyReader& body, UploadFile& file, std::uint64_t offset, std::uint64_t nbytes) {
    std::string room;
    while (offset < nbytes) {
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, nbytes - offset));
        const std::string_view got = body.block(wanted, room);
        if (got.size() == nbytes - offset) {
            if (const auto failed = file.take_name()) return transient(failed->message);
        }
        if (const auto failed = file.put(offset, got)) return transient(failed->message);
        offset += got.size();
        if (got.size() < wanted)
            return transient(fmt::format("EOF on socket read : asked for {}, got {}", wanted, got.size()));
    }
    return {};
}

Answer store(BodyReader& body, const RequestHead& head, const UploadSettings& settings) {
    const auto offset = static_cast<std::uint64_t>(head.offset), nbytes = static_cast<std::uint64_t>(*head.nbytes);
    const std::string name = plain(head.name);
    const auto free = free_space(settings);
    if (free && static_cast<double>(nbytes - offset) > *free) return transient("No space left on server");
    const auto access = settings.hide_incomplete ? UploadFile::Access::kWriteBeside : UploadFile::Access::kWrite;
    auto opened = open_upload_file(settings.upload_dir, relative_path(settings, head.name), access,
                                   settings.initial_permission, settings.is_mounted);
    if (opened.problem) {
        log_critical("{}: {}", name, opened.problem->message);
        return transient(fmt::format("can't open file {}: {}", name, opened.problem->message));
    }
    UploadFile& file = *opened.file;
    const auto pid = file.completed() ? std::nullopt : file.lock();
    if (pid) return transient(fmt::format("can't lock file {}: locked by PID={}", name, *pid));
    if (file.completed()) {
        log_normal("client tried to reupload the read-only file {}", name);
        return {};
    }
    if (file.size() < offset)
        return transient(fmt::format("length of file {} {} bytes < offset {} bytes", name, file.size(), offset));
    Answer answer = receive(body, file, offset, nbytes);
    if (answer.status != Answer::Status::kDone) return answer;
    auto failed = file.take_name();  // an empty file
    if (!failed) failed = file.finish(nbytes);
    if (failed) {
        log_critical("{}: {}", name, failed->message);
        return transient(failed->message);
    }
    // What can't be sealed (it was begun by another account) is complete all the same.
    if (const auto not_sealed = file.seal(settings.completed_permission))
        log_critical("{}: {}", name, not_sealed->message);
    return answer;
}

Answer take_upload(BodyReader& body, const RequestHead& head, const UploadSettings& settings,
                   const std::string& client) {
    if (auto refused = check_upload(head, settings)) return *refused;
    log_normal("Starting upload of {} from {} [offset={:.0f}, nbytes={:.0f}]", plain(head.name), client, head.offset,
               *head.nbytes);
    if (*head.nbytes > 0 && head.offset >= *head.nbytes) {
        log_normal("{}: the client starts behind its end: nothing to do", plain(head.name));
        return {};
    }
    if (head.offset > *head.nbytes) return permanent("bad offset");
    Answer answer = store(body, head, settings);
    log_normal("Ended upload of {} from {}; retval {}", plain(head.name), client, static_cast<int>(answer.status));
    return answer;
}

}  // namespace

Answer handle_upload_request(BodyReader& body, const UploadSettings& settings, const std::string& client) {
    const RequestHead head = read_request_head(body);
    Answer answer;
    switch (head.kind) {
        case RequestHead::Kind::kGetFileSize: answer = file_size(head, settings); break;
        case RequestHead::Kind::kUpload: answer = take_upload(body, head, settings, client); break;
        case RequestHead::Kind::kNone: answer = transient("no command"); break;
    }
    if (answer.status != Answer::Status::kDone)
        log_normal("Returning error to client {}: {} ({})", client, answer.message,
                   answer.status == Answer::Status::kTransient ? "transient" : "permanent");
    // Nothing should follow what was taken; who keeps the pipe open without need is not waited for.
    constexpr Milliseconds kShort{1000};
    body.drain(answer.status == Answer::Status::kDone ? std::min(kShort, settings.drain_limit) : settings.drain_limit);
    return answer;
}

std::string answer_text(const Answer& answer) {
    std::string out = fmt::format("Content-type: text/plain\n\n<data_server_reply>\n    <status>{}</status>\n",
                                  static_cast<int>(answer.status));
    if (answer.status != Answer::Status::kDone) out += fmt::format("    <message>{}</message>\n", answer.message);
    if (answer.file_size) out += fmt::format("    <file_size>{}</file_size>\n", *answer.file_size);
    return out + "</data_server_reply>\n";
}

}  // namespace sluice::upload
