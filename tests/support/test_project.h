// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A whole project for tests: folder, config.xml, keys and a database of a private MariaDB with one user, one app and
// one version; the programs come from the build folder.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_db.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

inline constexpr char kTestKey[] = "0123456789abcdef0123456789abcdef";  ///< authenticator of user 1

class TestProject {
  public:
    /// `options`: further elements of <config>. The database `name` is made anew on `server`.
    TestProject(PrivateMariaDb& server, const std::string& name, const std::string& options = "");
    /// One more machine of the same project: folder, keys and array of its own, rows and options of the first one's.
    /// `server` has them, too.
    TestProject(PrivateMariaDb& server, const TestProject& first);
    ~TestProject();
    TestProject(const TestProject&) = delete;

    const std::filesystem::path& folder() const { return folder_.path(); }
    Database& db() { return db_; }
    std::string url() const { return url_; }
    /// Where clients find the project; written into config.xml. Call before starting programs.
    void set_port(int port);
    /// The rows of the project: user 1, platform 1 (x86_64-pc-linux-gnu), app 1 "up", version 1; more may be added
    /// before store().
    FakeDb& rows() { return rows_; }
    void store();
    /// `n` workunits of app 1 with one UNSENT result each, in bulk, straight into the database.
    void add_unsent_jobs(int n, int xml_bytes = 400);

    /// templates/up_in and templates/up_out: jobs with one input file and one output file of at most `max_nbytes`.
    void write_templates(int max_nbytes) const;
    /// Where a job's file lies below download/ and upload/.
    std::filesystem::path input_file(const std::string& name) const;
    std::filesystem::path output_file(const std::string& name) const;
    /// Puts an input file there, as stage_file does.
    void stage_input(const std::string& name) const;

    /// BOINC_PROJECT_DIR and MYSQL_UNIX_PORT.
    std::map<std::string, std::string> env() const;
    RunOptions run_options() const;
    /// A program of cgi-bin on one request, as a web server runs it.
    RunOptions web_request(const std::string& body) const;
    RunResult run_program(const std::string& program, const std::vector<std::string>& args = {});
    /// The CGI on one request, as a web server runs it.
    RunResult rpc(const std::string& request);
    /// Starts a daemon; ended with the project.
    Subprocess& start(const std::string& program, const std::vector<std::string>& args = {});
    /// Starts the feeder and waits until it is ready.
    Subprocess& start_feeder(const std::vector<std::string>& args = {});
    /// Ends the daemons with SIGTERM, in reverse order.
    void stop_daemons();
    /// Apache directives that lead URL()/test and URL()/test_cgi to this project.
    std::filesystem::path apache_fragment(bool fastcgi = false) const;
    /// The same where the scheduler is a FastCGI server: "fcgi://127.0.0.1:9000", "unix:/path|fcgi://localhost".
    std::filesystem::path apache_proxy_fragment(const std::string& backend) const;
    std::string scheduler_log() const;  ///< log_HOST/scheduler.log
    std::filesystem::path scheduler_log_file() const;
    /// Writes config.xml anew; the elements stand in for those given to the constructor.
    void set_options(const std::string& options);

    std::int64_t count(const Sql& query) { return number_of(db_, query); }

  private:
    TestProject(PrivateMariaDb& server, const std::string& name, const std::string& options,
                const DbSettings& database);
    void write_config() const;
    PrivateMariaDb& server_;
    TempDir folder_;
    std::string name_, options_, url_ = "http://127.0.0.1:18080/test/";
    Database db_;
    FakeDb rows_;
    std::vector<std::unique_ptr<Subprocess>> daemons_;
};

/// A request as a Linux client with `ncpus` CPUs sends it; `inside` is put before the end tag.
std::string work_request(Id hostid, std::int64_t seqno, double seconds, const std::string& inside = "", int ncpus = 4,
                         const std::string& host_name = "host");
/// The texts of all <tag>…</tag> in `xml`.
std::vector<std::string> elements(const std::string& xml, const std::string& tag);

}  // namespace sluice::test
