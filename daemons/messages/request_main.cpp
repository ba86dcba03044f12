// SPDX-License-Identifier: LGPL-3.0-or-later
// delete_file, get_file and put_file: one program, which CMakeLists.txt makes three of. Upstream's programs of these
// names.
#include <fmt/core.h>

#include <cmath>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/messages/file_requests.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"
#include "sluice/db/message_store.h"

#ifndef SLUICE_REQUEST  // CMakeLists.txt says which program this is; tools that read the file alone take this one
#define SLUICE_REQUEST kDelete
#endif

namespace sluice {
namespace {

enum class RequestKind { kDelete, kGet, kPut };
constexpr RequestKind kRequest = RequestKind::SLUICE_REQUEST;
constexpr const char* kNames[] = {"delete_file", "get_file", "put_file"};
constexpr const char* kSummaries[] = {"ask a host to delete a sticky file", "ask a host to send a file",
                                      "ask a host to fetch a file, and to keep it"};
constexpr const char* kName = kNames[static_cast<std::size_t>(kRequest)];

struct RequestWords {
    std::optional<Id> host;
    FileRequest request;
    double max_latency = 604800, max_nbytes = 1e9;
    std::optional<double> nbytes;
};

void define_options(CommandLine& line, RequestWords& w) {
    line.id_option("--host_id", w.host, "the host (required)");
    line.option("--file_name", w.request.file, "the file's name (required)", "NAME");
    if (kRequest == RequestKind::kDelete) return;
    line.repeatable("--url", w.request.urls,
                    kRequest == RequestKind::kGet ? "where the file goes to; default: <upload_url>"
                                                  : "where it lies; default: the download folder",
                    "URL");
    line.option("--max_latency", w.max_latency, "deadline, in seconds from now; default: a week", "S");
    if (kRequest == RequestKind::kGet)
        line.option("--max_nbytes", w.max_nbytes, "the file has at most so many bytes; default 1e9", "N");
    if (kRequest == RequestKind::kPut) {
        line.option("--md5", w.request.md5, "MD5 of the file; with --url", "HEX");
        line.option("--nbytes", w.nbytes, "size of the file; with --url", "N");
    }
}

std::string problem(const RequestWords& w) {
    if (!w.host) return "--host_id is required";
    if (!is_valid_file_name(w.request.file) || w.request.file.find('/') != w.request.file.npos)
        return "--file_name is required: the name of a file, without a folder";
    if (!(w.max_latency > 0) || !(w.max_nbytes > 0)) return "--max_latency and --max_nbytes must be above 0";
    if (kRequest == RequestKind::kPut && !w.request.urls.empty() &&
        (w.request.md5.empty() || !w.nbytes || *w.nbytes < 0))
        return "--url needs --md5 and --nbytes";
    return "";
}

std::string message(RequestWords& w, const ProjectConfig& config, std::int64_t now) {
    FileRequest& r = w.request;
    r.deadline = now + std::llround(w.max_latency);
    r.max_nbytes = std::llround(w.max_nbytes);
    if (kRequest == RequestKind::kDelete) return delete_file_message(r.file);
    if (kRequest == RequestKind::kGet) {
        if (r.urls.empty()) r.urls = {config.upload_url};
        if (config.dont_generate_upload_certificates) return get_file_message(r, nullptr);
        const PrivateKey key = PrivateKey::read(fs::path(config.key_dir) / "upload_private");
        return get_file_message(r, &key);
    }
    if (r.urls.empty()) {
        const fs::path file = fanout_path(config.download_dir, r.file, config.uldl_dir_fanout);
        if (!fs::is_regular_file(file))
            throw FileError("file not found: " + file.string() + "; stage_file puts it there, or give --url");
        r.urls = {fanout_url(config.download_url, r.file, config.uldl_dir_fanout)};
        r.md5 = md5_hex_of_file(file);
        r.nbytes = static_cast<std::int64_t>(fs::file_size(file));
    } else {
        r.nbytes = std::llround(*w.nbytes);
    }
    return put_file_message(r);
}

int request(RequestWords& w) {
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another(std::string("bin/") + kName, project);
    const ProjectConfig config = load_config_and_warn(project);
    const DbSettings settings = db_settings(config);
    const std::int64_t now = SystemClock().now_sec();
    const std::string xml = message(w, config, now);
    Database db(settings);
    const auto store = make_message_store(db);
    if (!store->host_speed(*w.host)) throw ConfigError("there is no host " + std::to_string(*w.host));
    store->send({0, *w.host, now, kRequest == RequestKind::kDelete ? "delete_file" : "file_xfer", xml});
    if (!config.msg_to_host)
        fmt::print(stderr, "{}: the host gets the request only with <msg_to_host> in config.xml\n", kName);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    RequestWords words;
    CommandLine line(
        kName, kSummaries[static_cast<std::size_t>(kRequest)],
        "The request goes out with the reply to the host's next scheduler request, if config.xml has <msg_to_host>.");
    define_options(line, words);
    line.section("EXIT STATUS", "0: the request is noted. 1: it could not be.");
    return tool_main({kName}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        const std::string wrong = problem(words);
        return wrong.empty() ? request(words) : line.fail(wrong);
    });
}
