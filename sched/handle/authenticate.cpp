// SPDX-License-Identifier: LGPL-3.0-or-later
// Who is asking: the account by its key, the host by its id, or the machine by what it says of itself. Stands for
// upstream's authenticate_user. A host row that was merged into another leads on to that one, a few times at most;
// upstream follows without end. A host that is led on, found again or newly made is told its id, and counts its
// requests from 0.
#include "sched/handle/known_account.h"
#include "sched/handle/rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr double kMissingKeyDelay = 3600, kBannedDelay = 86400, kOvertakenDelay = 60, kTooManyHostsDelay = 6 * 3600;
constexpr std::int64_t kDay = 86400;
constexpr int kMaxMerges = 20;

/// Enough to find the line in a complaint, too little to log in with.
std::string shortened(const std::string& key) { return key.size() <= 6 ? key : key.substr(0, 6) + "..."; }

/// What authenticate changes.
struct Authentication {
    const Rpc& rpc;
    Identity& who;
    HostRows& rows;
    SchedulerReply& reply;

    std::optional<HostAndAccount> named_host(bool& forwarded) const;
    bool account_of_named_host(const HostAndAccount& found);
    Stage with_named_host(HostAndAccount& found, bool forwarded);
    Stage find_or_create_machine(bool by_cpid);
    Stage create_machine(bool too_many);
    void use_host(const StoredHost& host);
    void use_other_host(const StoredHost& host);
    StoredHost new_host() const;
    bool may_search() const;
};

/// The host that the request names, merges followed. `forwarded`: it is another than the one named.
std::optional<HostAndAccount> Authentication::named_host(bool& forwarded) const {
    const bool with_versions = versions_matter(rpc) && !reads_host_state(rpc);
    const auto read = [&](Id host) { return rpc.services.stores.accounts.host_and_account(host, with_versions); };
    auto found = read(rpc.request.hostid);
    for (int hops = 0; found && found->host.userid == 0; ++hops) {
        if (hops == kMaxMerges || found->host.rpc_seqno <= 0) return std::nullopt;
        rpc.log.normal("[HOST#{}] forwarding to new host ID {}", rpc.request.hostid, found->host.rpc_seqno);
        forwarded = true;
        found = read(found->host.rpc_seqno);
    }
    return found;
}

bool looks_different(const Host& a, const Host& b) {
    return a.p_ncpus != b.p_ncpus || a.p_vendor != b.p_vendor || a.p_model != b.p_model || a.os_name != b.os_name ||
           a.os_version != b.os_version;
}

void Authentication::use_host(const StoredHost& host) {
    rows.stored = host;
    rows.host = host;
}

/// From now on the client has another host id.
void Authentication::use_other_host(const StoredHost& host) {
    use_host(host);
    reply.send_hostid = true;
    who.rpc_seqno = 0;
}

StoredHost Authentication::new_host() const {
    StoredHost host{rpc.request.host};
    host.id = 0;
    host.create_time = rpc.now_sec;
    host.userid = who.account.user.id;
    host.expavg_time = static_cast<double>(rpc.now_sec);
    host.venue = who.account.user.venue;
    host.host_cpid.clear();  // hashed with the account's e-mail address by update_host
    return host;
}

bool Authentication::may_search() const {
    if (rpc.request.allow_multiple_clients == 1) return false;
    for (const std::int64_t user : rpc.config.dont_search_host_for_user)
        if (user == who.account.user.id) return false;
    return true;
}

/// A machine that nobody knows: a new row, unless the account makes them without end.
Stage Authentication::create_machine(bool too_many) {
    if (too_many) {
        rpc.log.normal("[USER#{}] new host refused: {} in 24 hours are the most (<max_new_hosts_per_day>)",
                       who.machine.userid, who.machine.most_new);
        return refuse(reply, messages::too_many_new_hosts(who.machine.most_new), kTooManyHostsDelay);
    }
    use_other_host(new_host());
    rows.stored = {};
    return Stage::kContinue;
}

/// The machine of a client that has no host id of this account, or one that can't be its own.
Stage Authentication::find_or_create_machine(bool by_cpid) {
    const Host& said = rpc.request.host;
    MachineQuery& q = who.machine;
    q.userid = who.account.user.id;
    if (by_cpid && !said.host_cpid.empty()) q.hashed_cpid = md5_hex(said.host_cpid + who.account.user.email_addr);
    q.domain_name = said.domain_name;
    q.last_ip_addr = said.last_ip_addr;
    q.os_name = said.os_name;
    q.p_model = said.p_model;
    q.m_nbytes = said.m_nbytes;
    q.by_description = may_search();
    q.most_new = rpc.config.max_new_hosts_per_day;
    q.new_since = rpc.now_sec - kDay;
    const KnownMachines known = rpc.services.stores.accounts.known_machines(q);
    const bool has_no_jobs = rpc.request.other_results.empty();
    if (known.by_cpid) {
        rpc.log.normal("[HOST#{}] [USER#{}] No host ID in request, but host with matching CPID found.",
                       known.by_cpid->id, q.userid);
        if (!looks_different(*known.by_cpid, said)) {
            use_other_host(*known.by_cpid);
            who.abandon_jobs = has_no_jobs && rpc.request.allow_multiple_clients != 1;
            return Stage::kContinue;
        }
        rpc.log.normal("[HOST#{}] [USER#{}] But that host doesn't match request.", known.by_cpid->id, q.userid);
    }
    if (known.by_description) {
        rpc.log.normal("[HOST#{}] [USER#{}] Found similar existing host for this user - assigned.",
                       known.by_description->id, q.userid);
        use_other_host(*known.by_description);
        who.abandon_jobs = has_no_jobs;
        return Stage::kContinue;
    }
    return create_machine(known.too_many_new);
}

/// The request names a host: its owner's key, or another account's. False: refused.
bool Authentication::account_of_named_host(const HostAndAccount& found) {
    const std::string& key = rpc.request.authenticator;
    if (found.account && !key.empty()) {
        const User& owner = found.account->user;
        who.weak_key = owner.authenticator != key && weak_key_matches(owner, key);
        if (who.weak_key) rpc.log.debug("[HOST#{}] accepting weak authenticator", found.host.id);
        if (owner.authenticator == key || who.weak_key) {
            who.account = *found.account;
            return true;
        }
    }
    std::optional<Account> other;
    if (!key.empty()) other = rpc.services.stores.accounts.account_by_key(key);
    if (!other) {
        rpc.log.critical("[HOST#{}] [USER#{}] Bad authenticator '{}'", found.host.id, found.host.userid,
                         shortened(key));
        return false;
    }
    who.account = std::move(*other);
    return true;
}

Stage Authentication::with_named_host(HostAndAccount& found, bool forwarded) {
    if (!account_of_named_host(found)) return refuse(reply, messages::bad_key_of_known_host(), kMissingKeyDelay);
    const Id user = who.account.user.id;
    if (found.host.userid != user) {
        rpc.log.normal("[HOST#{}] [USER#{}] inconsistent host ID; creating new host", found.host.id, user);
        return find_or_create_machine(false);
    } else if (forwarded) {
        use_other_host(found.host);  // the number of requests to the old id says nothing about this one
    } else if (rpc.request.rpc_seqno < found.host.rpc_seqno && !rpc.services.ignore_seqno) {
        // Its next request overtook this one, which says nothing of a cloned state file.
        if (rpc.overtaken) return refuse(reply, messages::another_instance(), kOvertakenDelay);
        rpc.log.normal("[HOST#{}] [USER#{}] RPC seqno {} less than expected {}; creating new host", found.host.id, user,
                       rpc.request.rpc_seqno, found.host.rpc_seqno);
        return find_or_create_machine(false);
    } else {
        use_host(found.host);
    }
    rows.versions_read = found.versions.has_value();
    if (rows.versions_read) rows.versions = std::move(*found.versions);
    return Stage::kContinue;
}

}  // namespace

Stage authenticate(const Rpc& rpc, Identity& who, HostRows& rows, SchedulerReply& reply) {
    Authentication a{rpc, who, rows, reply};
    Stage next = Stage::kContinue;
    bool forwarded = false;
    std::optional<HostAndAccount> found;
    if (rpc.request.hostid != 0) {
        if (rpc.request.hostid > 0) found = a.named_host(forwarded);
        if (!found) {
            reply.say(messages::cant_find_host());
            rpc.log.normal("[HOST#{}?] can't find host", rpc.request.hostid);
        }
    }
    if (found) {
        next = a.with_named_host(*found, forwarded);
    } else {
        const std::string& key = rpc.request.authenticator;
        auto account = account_of_key(rpc.services.stores.accounts, key);
        if (!account) {
            rpc.log.critical("[HOST#<none>] Bad authenticator '{}'", shortened(rpc.request.authenticator));
            return refuse(reply, messages::bad_key(), kMissingKeyDelay);
        }
        who.account = std::move(*account);
        who.weak_key = key.find('_') != std::string::npos;
        next = a.find_or_create_machine(true);
    }
    if (next == Stage::kReply) return next;
    who.email_hash = md5_hex(who.account.user.email_addr);
    if (!rows.is_new()) log_request_line(rpc);  // a new one has no number before the commit
    if (rpc.config.debug_request_details)
        rpc.log.normal("Request details: auth {}, RPC seqno {}, platform {}", shortened(rpc.request.authenticator),
                       rpc.request.rpc_seqno, rpc.request.platform_name);
    if (rows.stored.max_results_day == -1) return refuse(reply, messages::host_is_banned(), kBannedDelay);
    return Stage::kContinue;
}

}  // namespace sluice
