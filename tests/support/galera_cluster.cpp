// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/galera_cluster.h"

#include <fmt/core.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include "tests/support/free_port.h"

namespace sluice::test {
namespace {

constexpr char kProvider[] = "/usr/lib/galera/libgalera_smm.so";
constexpr char kRecovered[] = "Recovered position: ";

/// What Galera runs on both sides when a node joins: wsrep_sst_METHOD. "@" is a file.
constexpr char kHandOver[] = R"(#!/bin/sh
set -f
role= address= gtid= bypass=
while [ $# -gt 0 ]; do
    case "$1" in
        --role) role=$2; shift ;;
        --address) address=$2; shift ;;
        --gtid) gtid=$2; shift ;;
        --bypass) bypass=yes ;;
    esac
    shift
done
word=@/state_of_
case "$role" in
    joiner)
        own=$word$$
        echo "ready $address/$$"
        while [ ! -e "$own" ]; do sleep 0.05; done
        cat "$own" ;;
    donor)
        # Without --bypass the joiner would need a copy of everything.
        [ -n "$bypass" ] || exit 95
        own=$word${address##*/}
        echo "$gtid" > "$own.new"
        mv "$own.new" "$own"
        echo "done $gtid" ;;
esac
)";

}  // namespace

GaleraCluster::GaleraCluster(const std::vector<std::string>& more) : more_(more) {
    if (!std::filesystem::exists(kProvider)) throw std::runtime_error("install galera-4: no " + std::string(kProvider));
    std::string script = kHandOver;
    script.replace(script.find('@'), 1, folder_.path().string());
    std::filesystem::permissions(folder_.write("scripts/wsrep_sst_handover", script), std::filesystem::perms(0700));
    give(folder_.path(), Role::kDatabase);
    std::set<int> taken;  // the system may name a port again that nobody listens at yet
    for (auto* ports : {&sql_, &group_, &transfer_})
        for (int& port : *ports) do
                port = free_port();
            while (!taken.insert(port).second);
    MariaDbOptions first = options(0);
    first.at_first = {"--wsrep-new-cluster"};
    seed_ = std::make_unique<PrivateMariaDb>(first);
    await_synced(-1);
    seed_->stop();
    const RightsToAllFiles rights;
    std::filesystem::remove(seed_->data() / "galera.cache");
    for (int i = 0; i < kNodes; ++i) {
        MariaDbOptions o = options(i);
        o.copy_of = seed_->data();
        if (i == 0) o.at_first = {"--wsrep-new-cluster"};
        nodes_[static_cast<std::size_t>(i)] = std::make_unique<PrivateMariaDb>(o);
        await_synced(i);
    }
}

std::vector<std::string> GaleraCluster::arguments(int i) const {
    const auto at = static_cast<std::size_t>(i);
    std::string members;
    for (const int port : group_) members += fmt::format("{}127.0.0.1:{}", members.empty() ? "" : ",", port);
    std::vector<std::string> args = {
        "--wsrep-on=ON",
        std::string("--wsrep-provider=") + kProvider,
        "--binlog-format=ROW",
        "--innodb-autoinc-lock-mode=2",
        "--wsrep-cluster-name=sluice_test",
        fmt::format("--wsrep-node-name=node{}", i),
        fmt::format("--wsrep-node-address=127.0.0.1:{}", group_[at]),
        "--wsrep-sst-method=handover",
        "--wsrep-cluster-address=gcomm://" + members,
        fmt::format("--wsrep-provider-options=base_host=127.0.0.1;base_port={0};gmcast.listen_addr=tcp://127.0.0.1:{0};"
                    "ist.recv_addr=127.0.0.1:{1};gcache.size=64M",
                    group_[at], transfer_[at])};
    args.insert(args.end(), more_.begin(), more_.end());
    return args;
}

MariaDbOptions GaleraCluster::options(int i) const {
    MariaDbOptions o;
    o.tcp = true;
    o.port = sql_.at(static_cast<std::size_t>(i));
    o.more = arguments(i);
    o.reached_at = address(i);
    o.db_host = hosts(i);
    o.scripts = folder_ / "scripts";
    return o;
}

std::string GaleraCluster::address(int i) const {
    return fmt::format("127.0.0.1:{}", sql_.at(static_cast<std::size_t>(i)));
}

std::string GaleraCluster::hosts(int i) const {
    std::string list = address(i);
    for (int other = i + 1; other < i + kNodes; ++other) list += "," + address(other % kNodes);
    return list;
}

std::string GaleraCluster::status(int i, const std::string& variable) {
    PrivateMariaDb& server = i < 0 ? *seed_ : node(i);
    DbSettings settings = server.settings();
    settings.host = fmt::format("127.0.0.1:{}", server.port());
    try {
        Database db(settings);
        Sql sql("SHOW STATUS LIKE ");
        Rows rows = db.query(sql << SqlText{variable});
        return rows.next() ? rows.text(1) : "";
    } catch (const DbError&) {
        return "";
    }
}

void GaleraCluster::await_synced(int i) {
    PrivateMariaDb& server = i < 0 ? *seed_ : node(i);
    const auto is_synced = [&] { return synced(i) && status(i, "wsrep_ready") == "ON"; };
    if (!eventually([&] { return !server.running() || is_synced(); }, 120) || !server.running())
        throw std::runtime_error("a node of the cluster does not come up: " + server.log());
}

void GaleraCluster::restart(int i) {
    node(i).run_to_its_end({"--wsrep-recover"});
    const std::string log = node(i).log();
    const auto at = log.rfind(kRecovered);
    if (at == std::string::npos) throw std::runtime_error("the node does not know its position: " + log);
    const auto begin = at + sizeof kRecovered - 1;
    node(i).start({"--wsrep-start-position=" + log.substr(begin, log.find_first_of(",\n", begin) - begin)});
    await_synced(i);
}

}  // namespace sluice::test
