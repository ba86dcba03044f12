// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A scheduler process. It holds the project's configuration and files (read again when they change) and the job array
// (attached again when the feeder restarted). Under FastCGI it keeps the database connection between requests.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/cgi/change_notice.h"
#include "sched/cgi/request_body.h"
#include "sched/handle/pipeline.h"
#include "sluice/base/address_range.h"
#include "sluice/base/project.h"
#include "sluice/db/database.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "sluice/shmem/scheduler_array.h"

namespace sluice {

/// Who asks, for the log and host.external_ip_addr; never trusted. Anybody can send X-Forwarded-For, so it counts only
/// if one of the project's own `proxies` handed the request on. Its last address that is no such proxy is the one that
/// a proxy saw itself. "?.?.?.?": nobody says.
std::string client_address(const std::string& remote_addr, std::string_view forwarded_for,
                           std::span<const AddressRange> proxies);

struct SchedulerOptions {
    bool batch = false;      ///< many requests on stdin, sequence numbers ignored
    bool debug_log = false;  ///< log to ./debug_log, stop_sched ignored
};

class Scheduler {
  public:
    Scheduler(std::filesystem::path project, SchedulerOptions options);
    ~Scheduler();

    /// Reads one request from the web server and answers it, whatever happens. With `batch`: all there are on its
    /// input, each before the next is read.
    void serve(Gateway& gateway);

  private:
    struct Loaded;  // what depends on config.xml

    void serve_request(Gateway& gateway);
    void load();
    void refresh();
    void look_for_triggers();
    std::vector<std::filesystem::path> what_requests_depend_on() const;
    void open_log();
    std::size_t max_bytes() const;
    void serve_stream(Gateway& gateway);
    bool broke_off(const Gateway& gateway, const RequestBody& body) const;
    void respond(Gateway& gateway, RequestBody body);
    bool is_known(std::string_view beginning);
    /// The reply to one request text.
    std::string answer(const Gateway& gateway, const RequestText& request);
    std::string answer_with_jobs(const Gateway& gateway, const RequestText& request);
    std::string cant_answer(const std::exception& why) const;
    std::string remote_address(const Gateway& gateway) const;
    SchedulerArray& job_array();
    std::string early(const std::string& message) const;
    /// The same for a request that was not handled at all.
    std::string unserved(const std::string& message) const;
    void log_headers(const Gateway& gateway) const;
    void start_copy();
    void keep_copy(const char* kind, std::string_view text);
    void keep_log();
    void leave_in_folder(std::string_view request, std::string_view reply);

    std::filesystem::path project_;
    SchedulerOptions options_;
    SystemClock clock_;
    std::unique_ptr<Rng> rng_;
    std::unique_ptr<Loaded> loaded_;
    std::string load_problem_;  ///< what clients are told while there is no usable configuration
    WatchedFiles watched_config_, watched_;
    ChangeNotice notice_;       ///< of these, of the triggers and of the array's files
    bool watch_anew_ = true;    ///< they are others now
    bool stopped_ = false;      ///< by stop_sched or sluice_moving
    bool leave_pairs_ = false;  ///< debug_sched is there
    std::unique_ptr<SchedulerArray> array_;
    int requests_ = 0;
};

}  // namespace sluice
