// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A whole project for real clients: made by make_project, on a private MariaDB, served by a private Apache through the
// Apache fragment that make_project wrote, with feeder and transitioner running. One app, "steered" (steered_app.cpp).
// Starting it takes a few seconds, so that a test program shares one.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/boinc_client.h"
#include "tests/support/private_apache.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/private_nginx.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

/// Polls ten times a second. Limits are generous: they cost nothing where all is well.
bool wait_until(const std::function<bool()>& condition, double limit = 240);

class ClientWorld {
  public:
    /// $SLUICE_TEST_WEB chooses web server and how the scheduler runs: cgid (default) or fcgid for Apache; nginx, with
    /// fcgiwrap, or nginx_proxy, where the scheduler is a FastCGI server.
    ClientWorld();
    /// Another project, with a database of its own on that one's server.
    explicit ClientWorld(ClientWorld& beside);
    ~ClientWorld();
    ClientWorld(const ClientWorld&) = delete;

    /// The one of this test program, made on first use and ended with it.
    static ClientWorld& shared();

    const std::filesystem::path& root() const { return root_; }
    const std::string& url() const { return url_; }
    Database& db() { return *db_; }
    PrivateMariaDb& server() { return *server_; }
    std::string web_log() const;  ///< the web server's error log

    /// An account; its key. Each test has its own, so that tests do not see each other's hosts and jobs.
    std::string add_user(const std::string& name);
    Id user_id(const std::string& name);
    /// A job of one instance, for whoever asks first, that does what `commands` says (steered_app.cpp). Its workunit's
    /// id.
    Id add_job(const std::string& commands, const std::vector<std::string>& more = {});
    /// Sets an element of config.xml.
    void option(const std::string& name, const std::string& value);
    /// An app of one version, of that program; its templates must be there.
    void add_app(const std::string& name, const std::filesystem::path& program);
    /// One of the project's daemons.
    Subprocess daemon(const std::vector<std::string>& words) const;
    void start_feeder();
    void stop_feeder();
    void stop_daemons();  ///< feeder and transitioner
    void start_database();
    void stop_database();

    /// Runs one of the project's programs in the project's folder; throws if it fails.
    std::string in_project(const std::vector<std::string>& words, const std::string& input = "");
    std::int64_t number(const Sql& query) { return number_of(*db_, query); }
    std::string text(const Sql& query);  ///< the first column of the first row; "" if there is none
    std::string scheduler_log() const;
    /// A name for a file that jobs wait for or write.
    std::string control_file(const std::string& name) const { return (folder_ / "control" / name).string(); }
    void release(const std::string& name) const { folder_.write("control/" + name, "go"); }

  private:
    ClientWorld(std::shared_ptr<PrivateMariaDb> server, std::string database);
    void install_programs() const;
    void make_project();
    void add_steered_app();
    void serve();
    void serve_by_nginx(bool fastcgi_server);
    RunOptions run_options() const;

    TempDir folder_;
    std::filesystem::path root_;
    int port_ = 0;
    std::string url_;
    std::shared_ptr<PrivateMariaDb> server_;
    std::string database_;
    std::unique_ptr<Database> db_;
    std::unique_ptr<PrivateApache> apache_;
    std::unique_ptr<PrivateNginx> nginx_;
    std::unique_ptr<Subprocess> feeder_, transitioner_, scheduler_;
    int jobs_ = 0;
};

/// A volunteer's computer at a project: the client, and what it says of itself.
class Volunteer {
  public:
    /// `config`: options of the client beside those of BoincClient.
    Volunteer(ClientWorld& world, const std::string& key, const std::string& config = "")
        : world_(world), key_(key), client_(config) {}

    BoincClient& client() { return client_; }
    void attach();  ///< starts the client and waits until it has a host id
    void start() { client_.start(); }
    /// Asks the client to contact the scheduler, again every few seconds, until `condition` holds.
    bool update_until(const std::function<bool()>& condition, double limit = 240);
    /// Has the client contact the scheduler once more, to the end of that RPC.
    bool one_more_rpc();
    Id host_id() const;                                      ///< as the client has it; 0: none yet
    std::string in_state(const std::string& element) const;  ///< the element's first text in client_state.xml
    int count(const std::string& part) const;                ///< occurrences of a text in client_state.xml
    /// boinccmd's "active_task_state" of a task (EXECUTING …), "queued" if it has not started, "" if there is none.
    std::string state_of_task(const std::string& result) const;
    /// What boinccmd says of the project: "yes" for "ended" …
    std::string project_status(const std::string& label) const;
    const std::filesystem::path& folder() const { return client_.folder(); }
    std::string log() const { return client_.log(); }
    bool said(const std::string& text) const { return log().find(text) != std::string::npos; }
    /// What must not be in a log: errors about replies, transfers and files.
    std::string complaints() const;

  private:
    ClientWorld& world_;
    std::string key_;
    BoincClient client_;
};

}  // namespace sluice::test
