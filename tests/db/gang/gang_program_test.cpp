// SPDX-License-Identifier: LGPL-3.0-or-later
// Gangs with real programs: sluice_batch makes them, gang_hub brings them together, and four processes of the example
// application exchange their numbers; what may go wrong goes wrong on the way.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <ctime>
#include <deque>
#include <random>

#include "daemons/gang_hub/gang_token.h"
#include "db/mysql/rpc_store_factories.h"
#include "sluice/base/files.h"
#include "sluice/db/assignment_store.h"
#include "sluice/model/gang.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/support/paths.h"
#include "tests/support/peak_memory.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

OwnedFd socket_at(int port, bool connects) {
    OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* address = reinterpret_cast<const sockaddr*>(&at);
    return (connects ? ::connect(fd.get(), address, sizeof at) : ::bind(fd.get(), address, sizeof at)) == 0
               ? std::move(fd)
               : OwnedFd();
}

/// One that nobody gets for an outgoing connection: the hub comes back to it after a kill.
int port_to_keep() {
    std::random_device random;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const int port = 10'000 + static_cast<int>(random() % 20'000);
        if (socket_at(port, false).get() >= 0) return port;
    }
    throw std::runtime_error("no port is free");
}

/// What a stranger gets to hear until the hub closes; at most `seconds`.
std::string answer(int port, const std::string& text, int seconds = 30) {
    const OwnedFd fd = socket_at(port, true);
    if (fd.get() < 0) return "no connection";
    for (std::size_t sent = 0; sent < text.size();) {
        const auto n = ::send(fd.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) break;  // the hub has heard enough
        sent += static_cast<std::size_t>(n);
    }
    std::string heard;
    pollfd waiting{fd.get(), POLLIN, 0};
    while (::poll(&waiting, 1, seconds * 1000) > 0) {
        char bytes[4096];
        const auto n = ::recv(fd.get(), bytes, sizeof bytes, 0);
        if (n <= 0) return heard;
        heard.append(bytes, static_cast<std::size_t>(n));
    }
    return heard + "(it is still open)";
}

class GangPrograms : public BatchFixture {
  protected:
    static constexpr int kSteps = 600, kEvery = 50;

    GangPrograms() {
        project.write("templates/app1_in", "<workunit></workunit>");
        project.write("templates/app1_out", "<result>\n</result>");
        fs::create_directories(project / "keys");
        User& u = world.users[1];
        u.id = 1;
        u.name = "Ada";
        u.authenticator = "key";
        u.email_addr = "ada@example.org";
        config("<gang_hub>127.0.0.1:" + std::to_string(port) + "</gang_hub>");
        app(1);
        store();
    }
    Id submit(int jobs, const std::string& more = "") {
        const Id id = std::stoll(run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"}));
        std::string lines;
        for (int i = 0; i < jobs; ++i)
            lines += "--command_line '--steps " + std::to_string(kSteps) + " --checkpoint_every " +
                     std::to_string(kEvery) + " --step_ms 2' " + more + "\n";
        project.write("jobs", lines);
        EXPECT_THAT(
            run_ok({"sluice_batch", "submit", std::to_string(id), (project / "jobs").string(), "--gang_size", "4"}),
            HasSubstr(std::to_string(jobs) + " jobs submitted"));
        return id;
    }
    /// Words of the command line that a client gets to whom the member is sent.
    std::vector<std::string> words(const GangId& gang, int member) {
        Sql sql(
            "SELECT w.xml_doc, w.id, w.batch FROM sluice_gang_job g JOIN workunit w ON w.name=g.workunit_name WHERE ");
        sql << "g.batch_id=" << gang.batch << " AND g.number=" << gang.number << " AND g.member=" << member;
        const std::vector<std::string> workunit = rows(sql, 3).at(0);
        Result sent;
        sent.name = "sent_" + gang_name(gang) + "_" + std::to_string(member);
        sent.workunitid = std::stoll(workunit[1]), sent.batch = std::stoll(workunit[2]), sent.hostid = 1;
        sent.server_state = ServerState::kInProgress, sent.sent_time = std::time(nullptr);
        if (number(Sql("SELECT COUNT(*) FROM result WHERE name=") << SqlText{sent.name, 254}) == 0)
            make_assignment_store(db)->insert_results({&sent, 1});
        const std::string xml = with_gang_instance(workunit[0], sent.name);
        const auto from = xml.find("<command_line>") + 14;
        std::istringstream in(xml.substr(from, xml.find("</command_line>") - from));
        std::vector<std::string> all;
        for (std::string word; in >> word;) all.push_back(word);
        return all;
    }
    void start_hub(const std::vector<std::string>& more = {}) {
        std::vector<std::string> command{"gang_hub", "--listen", "127.0.0.1"};
        command.insert(command.end(), more.begin(), more.end());
        hubs.push_back(start_program(command));
        ASSERT_TRUE(hubs.back().wait_for_output("listening on port")) << hubs.back().err();
    }
    fs::path folder(int member) const { return project / ("slot_" + std::to_string(member)); }
    Subprocess& start_member(const GangId& gang, int member) {
        fs::create_directories(folder(member));
        RunOptions o;
        o.cwd = folder(member);
        std::vector<std::string> command = words(gang, member);
        command.insert(command.begin(), binary_dir() + "/samples/gang_sum");
        members.emplace_back(command, o);
        return members.back();
    }
    /// BOINC's library leads what an application says into a file.
    std::string said(int member) const { return read_file(folder(member) / "stderr.txt").value_or(""); }
    bool says(int member, const std::string& what) {
        return eventually([&] { return said(member).find(what) != std::string::npos; }, 120);
    }
    bool has_checkpoint(int member, int step) const {
        for (int s = step; s <= kSteps; s += kEvery)
            if (fs::exists(folder(member) / ("checkpoint_" + std::to_string(s)))) return true;
        return false;
    }
    /// What four numbers become when each is made anew of all of them, as the example says; nothing of it is used here.
    static std::string expected_result(const std::string& gang) {
        std::int64_t v[4] = {1, 2, 3, 4};
        for (int step = 1; step <= kSteps; ++step) {
            const std::int64_t weighted = 1 * v[0] + 2 * v[1] + 3 * v[2] + 4 * v[3];
            for (int i = 0; i < 4; ++i) v[i] = (3 * v[i] + (weighted - (i + 1) * v[i]) + step) % 1'000'003;
        }
        return "gang " + gang + " steps " + std::to_string(kSteps) + " sum " +
               std::to_string(v[0] + v[1] + v[2] + v[3]) + "\n";
    }
    void expect_the_right_result(const std::string& gang) {
        for (Subprocess& member : members) {
            const auto ended = member.wait(300);
            ASSERT_TRUE(ended) << member.err() << hubs.back().err();
            if (ended->signal == SIGKILL) continue;
            EXPECT_EQ(ended->status, 0) << ended->err;
        }
        for (int i = 0; i < 4; ++i)
            EXPECT_EQ(read_file(folder(i) / "out").value_or("none"), expected_result(gang)) << "member " << i;
        EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_gang WHERE ended>0")), 1);
    }

    int port = port_to_keep();
    std::deque<Subprocess> hubs, members;
};

TEST_F(GangPrograms, FourProcessesSurviveKillsOfMemberAndHub) {
    const Id batch = submit(4);
    const GangId gang{batch, 0};
    start_hub();
    for (int i = 0; i < 4; ++i) start_member(gang, i);
    ASSERT_TRUE(eventually([&] { return has_checkpoint(2, 2 * kEvery); }, 120)) << said(2);
    ASSERT_TRUE(members[2].running());
    members[2].send_signal(SIGKILL);
    members[2].wait();
    EXPECT_TRUE(hubs[0].wait_for_output("breaks off at checkpoint")) << hubs[0].err();
    EXPECT_FALSE(fs::exists(folder(0) / "out"));
    fs::remove(folder(2) / "stderr.txt");
    start_member(gang, 2);
    EXPECT_TRUE(says(2, "all members are there: from step ")) << said(2);
    EXPECT_THAT(said(2), testing::Not(HasSubstr("from step 0\n"))) << "it goes on from a checkpoint";

    // The hub, at whatever moment this is.
    ASSERT_TRUE(eventually([&] { return has_checkpoint(0, 4 * kEvery); }, 120)) << said(0);
    hubs[0].send_signal(SIGKILL);
    hubs[0].wait();
    start_hub();
    EXPECT_TRUE(hubs[1].wait_for_output("all 4 members are here")) << hubs[1].err();
    EXPECT_THAT(hubs[1].err(), testing::Not(HasSubstr("go on from checkpoint 0\n"))) << "it has lost nothing";
    expect_the_right_result(gang_name(gang));

    // A member that has not heard the end hears it when it comes again.
    members.clear();
    EXPECT_EQ(start_member(gang, 1).wait().value_or(RunResult{}).status, 0);
    hubs[1].send_signal(SIGTERM);
    EXPECT_EQ(hubs[1].wait().value_or(RunResult{}).status, 0);
}

/// Exit status 202, which counts against nobody.
TEST_F(GangPrograms, ACancelledInstanceEndsAsAbortedByProject) {
    const GangId gang{submit(4), 0};
    start_hub();
    words(gang, 2);
    Sql over("UPDATE result SET server_state=");
    over << ServerState::kOver << ", outcome=" << Outcome::kNoReply
         << " WHERE name=" << SqlText{"sent_" + gang_name(gang) + "_2", 254};
    db.execute(over);
    EXPECT_EQ(start_member(gang, 2).wait(60).value_or(RunResult{}).status, 202);
    EXPECT_THAT(said(2), HasSubstr("gang_sum: GIVEN_UP another host computes this member"));
}

TEST_F(GangPrograms, StrangersAreRefusedWhileAGangWorks) {
    const Id batch = submit(8);
    start_hub({"--hello_time", "1", "--max_line", "4096"});
    for (int i = 0; i < 4; ++i) start_member({batch, 1}, i);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(says(i, "all members are there")) << said(i);
    const std::string name = std::to_string(batch) + ".1";
    EXPECT_EQ(answer(port, "HELLO " + name + " 0 " + std::string(64, 'a') + " 0\n"),
              "REFUSED this is not the token of member 0 of gang " + name + "\n");
    EXPECT_EQ(answer(port, std::string(10'000'000, 'x')), "REFUSED a line may have 512 bytes\n");
    EXPECT_EQ(answer(port, ""), "REFUSED no HELLO came within 1 s\n");
    EXPECT_THAT(answer(port, "GET / HTTP/1.0\r\n\r\n"), HasSubstr("REFUSED the first line must be: HELLO"));
    expect_the_right_result(name);
    EXPECT_THAT(hubs[0].err(), testing::Not(HasSubstr("breaks off"))) << "nobody disturbed the gang";

    // A member of the other gang, whose token is right, says a line that is too long.
    const std::vector<std::string> w = words({batch, 0}, 3);
    const auto token = std::find(w.begin(), w.end(), "--gang_token") + 1;
    EXPECT_EQ(answer(port, "HELLO " + std::to_string(batch) + ".0 3 " + *token + " 0\n" + std::string(5000, 'x')),
              "REFUSED a line may have 4096 bytes\n");
}

TEST_F(GangPrograms, AMemberThatReadsNothingIsCancelled) {
    const Id batch = submit(4);
    start_hub({"--max_line", "4096", "--max_queue", "20000"});
    std::vector<OwnedFd> links;
    for (int i = 0; i < 4; ++i) {
        const std::vector<std::string> w = words({batch, 0}, i);
        links.push_back(socket_at(port, true));
        const std::string hello = "HELLO " + std::to_string(batch) + ".0 " + std::to_string(i) + " " +
                                  *(std::find(w.begin(), w.end(), "--gang_token") + 1) + " 0\n";
        ASSERT_EQ(::send(links.back().get(), hello.data(), hello.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(hello.size()));
    }
    ASSERT_TRUE(hubs[0].wait_for_output("all 4 members are here"));
    // Member 0 talks to member 1, which does not read: more than the kernel's buffers of a connection hold.
    const std::string line = "MESSAGE 1 " + std::string(4000, 'x') + "\n";
    for (std::size_t sent = 0; sent < 100'000'000; sent += line.size())
        if (::send(links[0].get(), line.data(), line.size(), MSG_NOSIGNAL) <= 0) break;
    EXPECT_TRUE(hubs[0].wait_for_output("it reads too slowly: more than 20000 bytes wait for it")) << hubs[0].err();
    EXPECT_GT(peak_memory(hubs[0].pid()), 0u);
    EXPECT_LT(peak_memory(hubs[0].pid()), std::size_t{64} << 20);
}

/// In the time in which a HELLO waits for the database in vain the members of another gang do not notice anything.
TEST_F(GangPrograms, AHungDatabaseStopsNoMessage) {
    const Id batch = submit(8);
    start_hub();
    const auto hello = [&](int gang, int i) {
        const std::vector<std::string> w = words({batch, gang}, i);
        return "HELLO " + gang_name({batch, gang}) + " " + std::to_string(i) + " " +
               *(std::find(w.begin(), w.end(), "--gang_token") + 1) + " 0\n";
    };
    const auto say = [&](const OwnedFd& link, const std::string& line) {
        return ::send(link.get(), line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
    };
    /// Until the end of a line comes.
    const auto heard = [](const OwnedFd& link) {
        std::string line;
        for (char c; ::recv(link.get(), &c, 1, 0) == 1 && c != '\n';) line += c;
        return line;
    };
    std::vector<OwnedFd> links;
    for (int i = 0; i < 4; ++i) {
        links.push_back(socket_at(port, true));
        ASSERT_TRUE(say(links.back(), hello(0, i)));
    }
    for (const OwnedFd& link : links) ASSERT_EQ(heard(link), "START 4 0");
    std::vector<std::string> hellos;
    for (int i = 0; i < 4; ++i) hellos.push_back(hello(1, i));
    std::vector<OwnedFd> waiting;
    {
        const StoppedServer stopped(PrivateMariaDb::shared());
        for (const std::string& line : hellos) {
            waiting.push_back(socket_at(port, true));
            ASSERT_TRUE(say(waiting.back(), line));
        }
        for (int i = 0; i < 100; ++i) {
            ASSERT_TRUE(say(links[0], "MESSAGE 3 " + std::to_string(i) + "\n"));
            ASSERT_EQ(heard(links[3]), "MESSAGE 0 " + std::to_string(i));
        }
        // A hub that waits for the database passes messages on after it has told these that it is away.
        for (const OwnedFd& link : waiting) {
            pollfd something{link.get(), POLLIN, 0};
            EXPECT_EQ(::poll(&something, 1, 0), 0) << heard(link);
        }
    }
    for (std::size_t i = 0; i < waiting.size(); ++i) EXPECT_EQ(heard(waiting[i]), "START 4 0") << "member " << i;
}

TEST_F(GangPrograms, GangsAreSubmittedWholeAndOnce) {
    const Id batch = submit(8);
    EXPECT_EQ(rows(Sql("SELECT number, size, ended FROM sluice_gang ORDER BY number"), 3),
              (Table{{"0", "4", "0"}, {"1", "4", "0"}}));
    EXPECT_EQ(rows(Sql("SELECT g.number, g.member FROM sluice_gang_job g JOIN workunit w ON w.name=g.workunit_name AND "
                       "w.batch=g.batch_id ORDER BY w.id"),
                   2),
              (Table{{"0", "0"}, {"0", "1"}, {"0", "2"}, {"0", "3"}, {"1", "0"}, {"1", "1"}, {"1", "2"}, {"1", "3"}}));
    const std::vector<std::string> w = words({batch, 1}, 2);
    EXPECT_THAT(
        w, testing::ElementsAre("--steps", "600", "--checkpoint_every", "50", "--step_ms", "2", "--gang",
                                std::to_string(batch) + ".1", "--gang_member", "2", "--gang_size", "4", "--gang_token",
                                testing::SizeIs(80), "--gang_hub", "127.0.0.1:" + std::to_string(port)));
    const auto submit_again = [&](const std::string& file, const std::string& size, const std::string& more = "") {
        const Id id = std::stoll(run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"}));
        project.write("other", file);
        std::vector<std::string> command{"sluice_batch", "submit", std::to_string(id), (project / "other").string(),
                                         "--gang_size",  size};
        if (!more.empty()) command.insert(command.end(), {more, "2"});
        const RunResult r = run_program(command);
        EXPECT_EQ(r.status, 1) << r.out;
        EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE batch=") << id), 0);
        return r.err;
    };
    const std::string line = "--command_line x\n";
    EXPECT_THAT(submit_again(line + line + line, "2"), HasSubstr("3 jobs are no gangs of 2: 1 are left over"));
    EXPECT_THAT(submit_again(line + line, "1"), HasSubstr("a gang has 2 to 1000 members"));
    EXPECT_THAT(submit_again(line + line, "1001"), HasSubstr("a gang has 2 to 1000 members"));
    EXPECT_THAT(submit_again(line + line, "2", "--target_nresults"), HasSubstr("each member of a gang is one result"));
    config("");
    EXPECT_THAT(submit_again(line + line, "2"), HasSubstr("--gang_size needs <gang_hub> in config.xml"));
    const RunResult hub = run_program({"gang_hub", "--one_pass"});
    EXPECT_EQ(hub.status, 1);
    EXPECT_THAT(hub.err, HasSubstr("names no <gang_hub>"));
    config("<gang_hub>nowhere</gang_hub>");
    EXPECT_THAT(submit_again(line + line, "2"), HasSubstr("<gang_hub> in config.xml is 'nowhere': give HOST:PORT"));

    db.execute(Sql("UPDATE batch SET state=3 WHERE id=") << batch);
    run_ok({"sluice_batch", "retire", std::to_string(batch)});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_gang")) + number(Sql("SELECT COUNT(*) FROM sluice_gang_job")), 0);
}

TEST_F(GangPrograms, AnInterruptedSubmissionKeepsItsGangs) {
    const Id again = std::stoll(run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"}));
    std::string four;
    for (const char* name : {"w", "x", "y", "z"}) four += std::string("--command_line a --wu_name ") + name + "\n";
    project.write("other", four);
    const auto go_on = [&](const std::vector<std::string>& more) {
        std::vector<std::string> command{"sluice_batch", "submit", std::to_string(again), (project / "other").string()};
        command.insert(command.end(), more.begin(), more.end());
        return run_program(command);
    };
    EXPECT_EQ(go_on({"--gang_size", "4"}).status, 0);
    db.execute(Sql("UPDATE batch SET state=0 WHERE id=") << again);
    for (const std::vector<std::string>& other : {std::vector<std::string>{"--gang_size", "2"}, {}}) {
        const RunResult r = go_on(other);
        EXPECT_EQ(r.status, 1);
        EXPECT_THAT(r.err, HasSubstr("the jobs that it has were submitted with --gang_size 4: do the same"));
    }
    const Sql defined("SELECT COUNT(DISTINCT number, member, workunit_name) FROM sluice_gang_job WHERE batch_id=");
    EXPECT_EQ(number(Sql(defined) << again), 4);
    EXPECT_EQ(go_on({"--gang_size", "4"}).status, 0);
    EXPECT_EQ(number(Sql(defined) << again), 4);
    // Another file into a batch that is in progress changes nothing of its gangs.
    std::string others = four;
    for (const char* name : {"w", "x", "y", "z"})
        others.replace(others.find(std::string("name ") + name), 6, "name ." + std::string(name));
    project.write("other", others);
    EXPECT_EQ(go_on({"--gang_size", "4"}).status, 1);
    EXPECT_EQ(number(Sql(defined) << again), 4);
}

}  // namespace
}  // namespace sluice::test
