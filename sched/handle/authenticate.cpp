// Who is asking: the account by its key, the host by its id, or the machine by what it says of itself. Stands for
// upstream's authenticate_user. A host row that was merged into another leads on to that one (bounded; upstream follows
// without end); whoever is led on, found again or newly made is told its host id and counts its requests from 0.
#include "known_account.h"
#include "rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr double kMissingKeyDelay = 3600, kBannedDelay = 86400, kOvertakenDelay = 60, kTooManyHostsDelay = 6 * 3600;
constexpr std::int64_t kDay = 86400;
constexpr int kMaxMerges = 20;

/// Enough to find the line in a complaint, too little to log in with.
std::string shortened(const std::string& key) { return key.size() <= 6 ? key : key.substr(0, 6) + "..."; }

/// The host that the request names, merges followed. `forwarded`: it is another than the one named.
std::optional<HostAndAccount> named_host(Rpc& rpc, bool& forwarded) {
    const bool with_versions = !reads_host_state(rpc);
    const auto read = [&](Id host) { return rpc.services.stores.accounts.host_and_account(host, with_versions); };
    auto found = read(rpc.request.hostid);
    for (int hops = 0; found && found->host.userid == 0; ++hops) {
        if (hops == kMaxMerges || found->host.rpc_seqno <= 0) return std::nullopt;
        log_normal("[HOST#{}] forwarding to new host ID {}", rpc.request.hostid, found->host.rpc_seqno);
        forwarded = true;
        found = read(found->host.rpc_seqno);
    }
    return found;
}

bool looks_different(const Host& a, const Host& b) {
    return a.p_ncpus != b.p_ncpus || a.p_vendor != b.p_vendor || a.p_model != b.p_model || a.os_name != b.os_name ||
           a.os_version != b.os_version;
}

void use_host(Rpc& rpc, const StoredHost& host) {
    rpc.stored = host;
    rpc.host = host;
}

/// From now on the client has another host id.
void use_other_host(Rpc& rpc, const StoredHost& host) {
    use_host(rpc, host);
    rpc.reply.send_hostid = true;
    rpc.rpc_seqno = 0;
}

StoredHost new_host(const Rpc& rpc) {
    StoredHost host{rpc.request.host};
    host.id = 0;
    host.create_time = rpc.now_sec;
    host.userid = rpc.account.user.id;
    host.expavg_time = static_cast<double>(rpc.now_sec);
    host.venue = rpc.account.user.venue;
    host.host_cpid.clear();  // hashed with the account's e-mail address by update_host
    return host;
}

bool may_search(const Rpc& rpc) {
    if (rpc.request.allow_multiple_clients == 1) return false;
    for (const std::int64_t user : rpc.config.dont_search_host_for_user)
        if (user == rpc.account.user.id) return false;
    return true;
}

/// A machine that nobody knows: a new row, unless the account makes them without end.
Stage create_machine(Rpc& rpc, bool too_many) {
    if (too_many) {
        log_normal("[USER#{}] new host refused: {} in 24 hours are the most (<max_new_hosts_per_day>)",
                   rpc.machine.userid, rpc.machine.most_new);
        return rpc.refuse(messages::too_many_new_hosts(rpc.machine.most_new), kTooManyHostsDelay);
    }
    use_other_host(rpc, new_host(rpc));
    rpc.stored = {};
    return Stage::kContinue;
}

/// The machine of a client that has no host id of this account, or one that can't be its own.
Stage find_or_create_machine(Rpc& rpc, bool by_cpid) {
    const Host& said = rpc.request.host;
    MachineQuery& q = rpc.machine;
    q.userid = rpc.account.user.id;
    if (by_cpid && !said.host_cpid.empty()) q.hashed_cpid = md5_hex(said.host_cpid + rpc.account.user.email_addr);
    q.domain_name = said.domain_name;
    q.last_ip_addr = said.last_ip_addr;
    q.os_name = said.os_name;
    q.p_model = said.p_model;
    q.m_nbytes = said.m_nbytes;
    q.by_description = may_search(rpc);
    q.most_new = rpc.config.max_new_hosts_per_day;
    q.new_since = rpc.now_sec - kDay;
    const KnownMachines known = rpc.services.stores.accounts.known_machines(q);
    const bool has_no_jobs = rpc.request.other_results.empty();
    if (known.by_cpid) {
        log_normal("[HOST#{}] [USER#{}] No host ID in request, but host with matching CPID found.", known.by_cpid->id,
                   q.userid);
        if (!looks_different(*known.by_cpid, said)) {
            use_other_host(rpc, *known.by_cpid);
            rpc.abandon_jobs = has_no_jobs && rpc.request.allow_multiple_clients != 1;
            return Stage::kContinue;
        }
        log_normal("[HOST#{}] [USER#{}] But that host doesn't match request.", known.by_cpid->id, q.userid);
    }
    if (known.by_description) {
        log_normal("[HOST#{}] [USER#{}] Found similar existing host for this user - assigned.",
                   known.by_description->id, q.userid);
        use_other_host(rpc, *known.by_description);
        rpc.abandon_jobs = has_no_jobs;
        return Stage::kContinue;
    }
    return create_machine(rpc, known.too_many_new);
}

/// The request names a host: its owner's key, or another account's. False: refused.
bool account_of_named_host(Rpc& rpc, const HostAndAccount& found) {
    const std::string& key = rpc.request.authenticator;
    if (found.account && !key.empty()) {
        const User& owner = found.account->user;
        rpc.weak_key = owner.authenticator != key && weak_key_matches(owner, key);
        if (rpc.weak_key) log_debug("[HOST#{}] accepting weak authenticator", found.host.id);
        if (owner.authenticator == key || rpc.weak_key) {
            rpc.account = *found.account;
            return true;
        }
    }
    std::optional<Account> other;
    if (!key.empty()) other = rpc.services.stores.accounts.account_by_key(key);
    if (!other) {
        log_critical("[HOST#{}] [USER#{}] Bad authenticator '{}'", found.host.id, found.host.userid, shortened(key));
        return false;
    }
    rpc.account = std::move(*other);
    return true;
}

Stage with_named_host(Rpc& rpc, HostAndAccount& found, bool forwarded) {
    if (!account_of_named_host(rpc, found)) return rpc.refuse(messages::bad_key_of_known_host(), kMissingKeyDelay);
    const Id user = rpc.account.user.id;
    if (found.host.userid != user) {
        log_normal("[HOST#{}] [USER#{}] inconsistent host ID; creating new host", found.host.id, user);
        return find_or_create_machine(rpc, false);
    } else if (forwarded) {
        use_other_host(rpc, found.host);  // the number of requests to the old id says nothing about this one
    } else if (rpc.request.rpc_seqno < found.host.rpc_seqno && !rpc.services.ignore_seqno) {
        // Its next request overtook this one, which says nothing of a cloned state file.
        if (rpc.overtaken) return rpc.refuse(messages::another_instance(), kOvertakenDelay);
        log_normal("[HOST#{}] [USER#{}] RPC seqno {} less than expected {}; creating new host", found.host.id, user,
                   rpc.request.rpc_seqno, found.host.rpc_seqno);
        return find_or_create_machine(rpc, false);
    } else {
        use_host(rpc, found.host);
    }
    rpc.versions_read = found.versions.has_value();
    if (rpc.versions_read) rpc.versions = std::move(*found.versions);
    return Stage::kContinue;
}

}  // namespace

Stage authenticate(Rpc& rpc) {
    Stage next = Stage::kContinue;
    bool forwarded = false;
    std::optional<HostAndAccount> found;
    if (rpc.request.hostid != 0) {
        if (rpc.request.hostid > 0) found = named_host(rpc, forwarded);
        if (!found) {
            rpc.say(messages::cant_find_host());
            log_normal("[HOST#{}?] can't find host", rpc.request.hostid);
        }
    }
    if (found) {
        next = with_named_host(rpc, *found, forwarded);
    } else {
        const std::string& key = rpc.request.authenticator;
        auto account = account_of_key(rpc.services.stores.accounts, key);
        if (!account) {
            log_critical("[HOST#<none>] Bad authenticator '{}'", shortened(rpc.request.authenticator));
            return rpc.refuse(messages::bad_key(), kMissingKeyDelay);
        }
        rpc.account = std::move(*account);
        rpc.weak_key = key.find('_') != std::string::npos;
        next = find_or_create_machine(rpc, true);
    }
    if (next == Stage::kReply) return next;
    rpc.email_hash = md5_hex(rpc.account.user.email_addr);
    const std::string& cpid = rpc.request.cross_project_id;
    if (!rpc.weak_key && !cpid.empty() && cpid != rpc.account.user.cross_project_id)
        rpc.writes.user.cross_project_id = cpid;
    if (!rpc.new_host()) log_request_line(rpc);  // a new one has no number before the commit
    if (rpc.config.debug_request_details)
        log_normal("Request details: auth {}, RPC seqno {}, platform {}", shortened(rpc.request.authenticator),
                   rpc.request.rpc_seqno, rpc.request.platform_name);
    if (rpc.stored.max_results_day == -1) return rpc.refuse(messages::host_is_banned(), kBannedDelay);
    return Stage::kContinue;
}

}  // namespace sluice
