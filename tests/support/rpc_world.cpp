// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/rpc_world.h"

#include "db/memory/catalogue_store.h"
#include "sluice/base/signing.h"
#include "tests/support/project_rows.h"

namespace sluice::test {
namespace {

/// Keys are costly to make; one pair serves every world of a test program.
const KeyPairText& keys() {
    static const KeyPairText pair = generate_key_pair();
    return pair;
}

}  // namespace

RpcWorld::RpcWorld(const std::string& more_config, int compat_level) {
    db = small_project();
    folder_.write("keys/code_sign_public", keys().public_key);
    folder_.write("keys/upload_private", keys().private_key);
    folder_.write("templates/out", kOutputTemplate);
    config = parse_config(fmt::format("<boinc><config><compat_level>{}</compat_level><project_dir>{}</project_dir>"
                                      "<key_dir>{}/keys</key_dir><master_url>http://x/</master_url>"
                                      "<long_name>Test</long_name><shmem_key>1</shmem_key>"
                                      "<daily_result_quota>500</daily_result_quota><upload_url>http://x/up</upload_url>"
                                      "{}</config></boinc>",
                                      compat_level, folder().string(), folder().string(), more_config),
                          "config.xml")
                 .config;
    files_loaded_ = load_project_files(config);
    reload_tables();
}

void RpcWorld::reload_tables() {
    tables = MemoryCatalogueStore(db.memory).load_tables();
    db.verbs = 0;
}

Id RpcWorld::add_host(Id userid) {
    Host h;
    h.id = db.hosts.next_key();
    h.create_time = clock.now_sec() - 10000;
    h.userid = userid;
    h.rpc_time = clock.now_sec() - 1000;
    h.p_ncpus = 4;
    h.os_name = "Linux Debian";
    db.hosts[h.id] = h;
    return h.id;
}

User& RpcWorld::add_user(const std::string& name, const std::string& key) {
    const Id id = db.users.next_key();
    return db.users[id] = a_user(id, name, key);
}

Id RpcWorld::add_job(const std::function<void(Workunit&)>& change) {
    Workunit w = a_workunit(db.workunits.next_key(), clock.now_sec());
    if (change) change(w);
    const Result r = a_result(db.results.next_key(), w, 0);
    db.workunits[w.id] = w;
    db.results[r.id] = r;
    pool.slots.push_back({summary_of_rows(w, r), {w.name, w.xml_doc, w.keywords, r.name}, SlotState::kPresent});
    return r.id;
}

Result& RpcWorld::add_in_progress(Id hostid, Id userid) {
    const Workunit w = a_workunit(db.workunits.next_key(), clock.now_sec());
    Result r = a_result(db.results.next_key(), w, 0);
    r.server_state = ServerState::kInProgress;
    r.hostid = hostid;
    r.userid = userid;
    r.sent_time = clock.now_sec() - 1000;
    r.report_deadline = r.sent_time + w.delay_bound;
    r.app_version_id = 1;
    db.workunits[w.id] = w;
    return db.results[r.id] = r;
}

ReplyText RpcWorld::send(const std::string& body) {
    RpcServices services{
        config,          files_loaded_,         config, tables, pool, real_stores ? *real_stores : stores_.stores(),
        Env{clock, rng}, request_limits(config)};
    services.log = RpcLog(log_line);
    services.at_point = at_point;
    services.ignore_seqno = ignore_seqno;
    services.remote_address = "10.1.2.3";
    ReplyText reply;
    reply.run.status = 0;
    reply.run.out = handle_rpc(services, body);
    return reply;
}

}  // namespace sluice::test
