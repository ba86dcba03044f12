// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream's programs and ours on one MariaDB, in turn (A B A B …): the same requests to both, each run by as many
// clients at a time as a web server would start programs for. Prints each side's rate and the ratio, pair by pair, with
// its range: what the machine does besides meets both.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "sluice/base/project.h"
#include "tests/support/fastcgi_client.h"
#include "tests/support/leave_root.h"
#include "tests/support/paths.h"
#include "tests/support/request_text.h"
#include "tests/support/syncing_mariadb.h"
#include "tests/support/test_project.h"

using namespace sluice;
using namespace sluice::test;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Settings {
    fs::path theirs, ours = binary_dir(), schema;
    int clients = 4, pairs = 5, requests = 40, slots = 1000, settle = 6, jobs = 20000;
    bool resident = false, fastcgi = false;
    std::string only;
};

struct Case {
    const char* name;
    int jobs = 0;     ///< asked for by a request
    int reports = 0;  ///< of jobs that the host has
};
constexpr Case kCases[] = {
    {"update only", 0, 0}, {"1 job", 1, 0}, {"10 jobs", 10, 0}, {"report 1", 0, 1}, {"report 10", 0, 10}};
/// Of each client its own: a host's requests come in the order of their numbers, or it would be taken for a copy.
constexpr int kHostsOfClient = 16;

struct Measured {
    double requests = 0, jobs = 0;  ///< a second
    double cpu = 0;                 ///< us a request
};

/// A project of its own, on which the programs of one side run.
class Side {
  public:
    Side(PrivateMariaDb& server, const std::string& name, const fs::path& prefix, const Settings& s)
        : prefix_(prefix),
          server_(server),
          project_(server, name,
                   fmt::format("<shmem_work_items>{0}</shmem_work_items><feeder_query_size>{0}</feeder_query_size>"
                               "<one_result_per_user_per_wu>0</one_result_per_user_per_wu><daily_result_quota>1000000"
                               "</daily_result_quota><dont_generate_upload_certificates>1"
                               "</dont_generate_upload_certificates>",
                               s.slots)) {
        if (!s.schema.empty()) load_schema(server, name, s.schema);
        for (int i = 1; i <= s.clients * kHostsOfClient; ++i) {
            Host& h = project_.rows().hosts[i];
            h.id = i;
            h.userid = 1;
            h.domain_name = "box";
        }
        project_.store();
        project_.add_unsent_jobs(s.jobs);
        // What the server knows of the tables is of the time when they were empty: a feeder's first query could take
        // minutes.
        project_.db().query(Sql("ANALYZE TABLE workunit,result,host,app"));
        fs::create_directories(log_dir(project_.folder()));
        daemons_.emplace_back(std::vector<std::string>{program("feeder")}, project_.run_options());
    }
    ~Side() {
        for (auto& d : daemons_) d.send_signal(SIGTERM);
        for (auto& d : daemons_) d.wait(15);
    }
    /// The resident scheduler, to which our cgi hands its requests.
    void start_resident() {
        daemons_.emplace_back(std::vector<std::string>{program("scheduler")}, project_.run_options());
    }
    /// Processes that serve by FastCGI: upstream's fcgi gets the listening socket as its standard input.
    void start_fastcgi(int processes) {
        const std::string path = (project_.folder() / "bench.sock").string(), fcgi = program("fcgi");
        client_.emplace(path);
        if (!fs::exists(fcgi)) {
            daemons_.emplace_back(std::vector<std::string>{program("scheduler"), "--listen", path, "--processes",
                                                           std::to_string(processes)},
                                  project_.run_options());
            if (!daemons_.back().wait_for_output("listening on"))
                throw std::runtime_error("scheduler: " + daemons_.back().err());
            return;
        }
        socket_.emplace(path);
        RunOptions o = project_.run_options();
        o.cwd = project_.folder() / "cgi-bin";
        o.stdin_fd = socket_->fd();
        for (int i = 0; i < processes; ++i) daemons_.emplace_back(std::vector<std::string>{fcgi}, o);
    }
    /// Throws if a reply is none.
    Measured run(const Case& c, const Settings& s) {
        std::vector<std::vector<RequestText>> requests(static_cast<std::size_t>(s.clients));
        for (int i = 0; i < s.clients; ++i)
            for (int n = 0; n < s.requests; ++n)
                requests[static_cast<std::size_t>(i)].push_back(
                    request(1 + i * kHostsOfClient + n % kHostsOfClient, c));
        const std::int64_t before = handed_out();
        const double cpu = cpu_seconds();
        const auto begin = Clock::now();
        std::vector<std::thread> clients;
        std::atomic<int> failed{0};
        for (const auto& of_client : requests)
            clients.emplace_back([&, this] {
                for (const RequestText& r : of_client) failed += answered(r.text()) ? 0 : 1;
            });
        for (std::thread& t : clients) t.join();
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        if (failed > 0) throw std::runtime_error(fmt::format("{}: {} requests failed: {}", c.name, failed, last_log()));
        const double used = cpu_seconds() - cpu, n = s.clients * s.requests;
        return {n / seconds, static_cast<double>(handed_out() - before) / seconds, 1e6 * used / n};
    }

  private:
    std::string program(const std::string& name) const {
        const fs::path in_prefix = prefix_ / (name.ends_with("cgi") ? "cgi-bin" : "bin") / name;
        return fs::exists(in_prefix) ? in_prefix.string() : (prefix_ / "bin" / name).string();
    }
    static void load_schema(PrivateMariaDb& server, const std::string& name, const fs::path& file) {
        Database db(server.settings());
        Sql drop("DROP DATABASE "), create("CREATE DATABASE ");
        db.execute(drop.identifier(name));
        db.execute(create.identifier(name));
        server.load(name, file);
    }
    RequestText request(int host, const Case& c) {
        RequestText r;
        r.authenticator = kTestKey;
        r.hostid = host;
        r.seqno = ++seqno_;
        r.ncpus = 16;
        r.list_others = false;
        r.work_seconds = c.jobs * 1000.0 - (c.jobs > 0 ? 500 : 0);  // 1e12 operations at 1e9 a second
        if (c.reports > 0) r.reported = jobs_of(host, c.reports);
        return r;
    }
    /// Names of `n` jobs that are put on the host for it: the last ones, which no feeder has come to.
    std::vector<std::string> jobs_of(int host, int n) {
        Sql last("SELECT id,name FROM result WHERE server_state=2 ORDER BY id DESC LIMIT ");
        std::vector<Id> ids;
        std::vector<std::string> names;
        Rows rows = project_.db().query(last << n);
        while (rows.next()) {
            ids.push_back(rows.i64(0));
            names.push_back(rows.text(1));
        }
        Sql give("UPDATE result SET server_state=4,userid=1,sent_time=UNIX_TIMESTAMP()-5000,app_version_id=1,hostid=");
        give << host << ",report_deadline=UNIX_TIMESTAMP()+600000 WHERE id IN (";
        project_.db().execute(give.ids(ids) << ")");
        return names;
    }
    std::int64_t handed_out() { return project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state>=4")); }
    bool answered(const std::string& body) {
        if (client_) {
            std::map<std::string, std::string> params = project_.env();  // libfcgi puts them in place of its own
            params.insert({{"REMOTE_ADDR", "127.0.0.1"},
                           {"REQUEST_METHOD", "POST"},
                           {"CONTENT_LENGTH", std::to_string(body.size())}});
            const std::string reply = client_->request(params, body);
            if (reply.find("<project_is_down/>") != std::string::npos) return false;
            return reply.find("</scheduler_reply>") != std::string::npos;
        }
        return test::run({program("cgi")}, project_.web_request(body)).out.find("</scheduler_reply>") !=
               std::string::npos;
    }
    std::string last_log() const {
        const std::string log = project_.scheduler_log();
        return log.substr(log.size() - std::min<std::size_t>(log.size(), 500));
    }

    /// Of the database server, of the feeder and of the programs that serve; not of those that serve a request each.
    double cpu_seconds() const {
        double all = server_.cpu_seconds();
        for (const Subprocess& d : daemons_) all += d.family_cpu_seconds();
        return all;
    }

    fs::path prefix_;
    PrivateMariaDb& server_;
    TestProject project_;
    std::deque<Subprocess> daemons_;
    std::optional<FastcgiSocket> socket_;
    std::optional<FastcgiClient> client_;
    int seqno_ = 0;
};

std::string spread(std::vector<double> v, const char* format) {
    std::sort(v.begin(), v.end());
    const auto text = [&](double x) { return fmt::format(fmt::runtime(format), x); };
    return text(v[v.size() / 2]) + " (" + text(v.front()) + " to " + text(v.back()) + ")";
}

void compare(Side& theirs, Side& ours, const Case& c, const Settings& s) {
    std::vector<double> a, b, ratios, cpu_a, cpu_b, cpu_ratios;
    for (int pair = 0; pair < s.pairs; ++pair) {
        if (c.jobs > 0) std::this_thread::sleep_for(std::chrono::seconds(s.settle));  // both arrays fill again
        const auto measure = [&](Side& side, std::vector<double>& rates, std::vector<double>& cpu) {
            const Measured m = side.run(c, s);
            rates.push_back(c.jobs > 0 ? m.jobs : m.requests);
            cpu.push_back(m.cpu);
        };
        measure(theirs, a, cpu_a);
        measure(ours, b, cpu_b);
        if (a.back() > 0) ratios.push_back(b.back() / a.back());
        if (cpu_b.back() > 0) cpu_ratios.push_back(cpu_a.back() / cpu_b.back());
    }
    fmt::print("| {} | {} | {} | {} |", c.name, spread(a, "{:.0f}"), spread(b, "{:.0f}"),
               ratios.empty() ? "theirs handed out none" : spread(ratios, "{:.2f}"));
    if (s.fastcgi)
        fmt::print(" {} | {} | {} |", spread(cpu_a, "{:.0f}"), spread(cpu_b, "{:.0f}"), spread(cpu_ratios, "{:.2f}"));
    fmt::print("\n");
    std::fflush(stdout);
}

int bench(const Settings& s) {
    PrivateMariaDb server(syncing_mariadb(1024));
    Side theirs(server, "theirs", s.theirs, s), ours(server, "ours", s.ours, s);
    if (s.resident) ours.start_resident();
    std::this_thread::sleep_for(std::chrono::seconds(s.settle));
    if (s.fastcgi)
        for (Side* side : {&theirs, &ours}) side->start_fastcgi(8);  // upstream's looks for its feeder once
    Settings first = s;
    first.requests = kHostsOfClient;
    for (Side* side : {&theirs, &ours}) side->run(kCases[0], first);  // connections, and each host's first request
    fmt::print("{} clients, {} requests each a round, {} pairs, {} slots, {}; median (range)\n\n", s.clients,
               s.requests, s.pairs, s.slots,
               s.fastcgi    ? "both by FastCGI, 8 processes"
               : s.resident ? "ours with the resident scheduler"
                            : "both as plain CGI");
    fmt::print("| requests (a second), jobs (a second) | theirs | ours | ours / theirs |{}\n|---|---|---|---|{}\n",
               s.fastcgi ? " CPU of a request, us: theirs | ours | theirs / ours |" : "",
               s.fastcgi ? "---|---|---|" : "");
    for (const Case& c : kCases)
        if (s.only.empty() || s.only == c.name) compare(theirs, ours, c, s);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    leave_root(argv);
    CLI::App app("Another scheduler's programs and ours, in turn, on one database.", "compare");
    Settings s;
    app.add_option("--theirs", s.theirs, "folder with their bin/feeder and cgi-bin/cgi")
        ->required()
        ->check(CLI::ExistingDirectory);
    app.add_option("--ours", s.ours, "folder with ours (default: what was built)")->check(CLI::ExistingDirectory);
    app.add_option("--schema", s.schema, "the tables of both (default: ours)")->check(CLI::ExistingFile);
    app.add_option("--clients", s.clients, "at a time")->capture_default_str()->check(CLI::Range(1, 64));
    app.add_option("--requests", s.requests, "of each client in a round")
        ->capture_default_str()
        ->check(CLI::Range(1, 10000));
    app.add_option("--pairs", s.pairs, "rounds of each side")->capture_default_str()->check(CLI::Range(1, 100));
    app.add_option("--slots", s.slots, "of the job array")->capture_default_str()->check(CLI::Range(10, 100000));
    app.add_option("--jobs", s.jobs, "unsent jobs of each side at the start")
        ->capture_default_str()
        ->check(CLI::Range(100, 10000000));
    app.add_option("--settle", s.settle, "seconds for the feeders before jobs are asked for")->capture_default_str();
    app.add_flag("--resident", s.resident, "ours with its resident scheduler, as a project is set up");
    app.add_flag("--fastcgi", s.fastcgi, "both as FastCGI processes; theirs: cgi-bin/fcgi")->excludes("--resident");
    app.add_option("--only", s.only, "one kind of request")
        ->check(CLI::IsMember({kCases[0].name, kCases[1].name, kCases[2].name, kCases[3].name, kCases[4].name}));
    CLI11_PARSE(app, argc, argv);
    try {
        return bench(s);
    } catch (const std::exception& e) {
        fmt::print(stderr, "compare: {}\n", e.what());
        return 1;
    }
}
