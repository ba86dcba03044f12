// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A whole project for the scheduler: folder, config.xml, keys, database, and a job array that the test fills as a
// feeder would. The real cgi program runs on it.
#include <memory>
#include <string>
#include <vector>

#include "sluice/model/job.h"
#include "sluice/shmem/feeder_array.h"
#include "tests/support/fake_db.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/reply_text.h"
#include "tests/support/request_text.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

class SchedulerWorld {
  public:
    /// An app "up" (1) with version 100 for kPlatform, a user "alice" (1) with key kKey. `more_config`: elements.
    explicit SchedulerWorld(const std::string& more_config = "");
    ~SchedulerWorld();

    void config(const std::string& more_config);
    const std::filesystem::path& folder() const { return folder_.path(); }
    Database& db() { return *db_; }
    /// Rows that the next store() inserts.
    FakeDb rows;
    void store();
    /// A host of user `userid` as RequestText describes it.
    Id add_host(Id userid = 1, int ncpus = 4);
    Id add_user(const std::string& name, const std::string& key);
    /// Workunits with `instances` unsent results each; the results' ids. Stored at once.
    std::vector<Id> add_jobs(int workunits, int instances = 1, const std::function<void(Workunit&)>& change = {});
    /// Results that are in progress on a host, each of a workunit of its own; their names. Stored at once.
    std::vector<std::string> add_in_progress(Id hostid, int n, Id userid = 1);

    /// Makes the job array and fills it with all UNSENT results.
    void start_feeder(std::uint32_t slots = 200);
    void fill();
    void stop_feeder();
    FeederArray& array() { return *array_; }
    bool has_feeder() const { return array_ != nullptr; }
    JobArrayName array_name() const;
    int slots(SlotState state);

    /// Runs the program once, as the web server does. `env` is added.
    ReplyText send(const RequestText& request, std::map<std::string, std::string> env = {});
    ReplyText send_raw(const std::string& body, std::map<std::string, std::string> env = {});
    std::unique_ptr<Subprocess> start(const RequestText& request, std::map<std::string, std::string> env = {});
    RunOptions run_options(const std::string& body, std::map<std::string, std::string> env) const;
    RunOptions as_web_server(const std::string& body, std::map<std::string, std::string> env) const;
    /// A file that a program of any account makes where SLUICE_PAUSE_AT has it wait.
    std::filesystem::path gate(const std::string& name = "gate") const { return folder_ / "gates" / name; }
    static std::string program();
    std::string log() const;

    std::int64_t number(const Sql& query) { return number_of(*db_, query); }
    /// The server's counter of statements once nobody but the test is connected (a program's farewell is read by the
    /// server after the program has ended, and it counts). Each look at the counter after the first counts as one.
    /// `connected`: programs that stay connected.
    std::int64_t questions(int connected = 0);

  private:
    TempDir folder_;
    std::string db_name_;
    std::unique_ptr<Database> db_;
    std::unique_ptr<FeederArray> array_;
    std::int64_t shmem_key_ = 0;
    std::int64_t waits_ = 0;  ///< statements of questions() that only waited
};

}  // namespace sluice::test
