// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/tune/made_up_hosts.h"

#include <fmt/format.h>

#include <cmath>

#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr Id kFirstHost = 2'000'000'000;  // no project has come near it
constexpr double kGb = 1e9;

template <typename T, std::size_t n>
T one_of(const T (&list)[n], Rng& rng) {
    return list[rng.below(n)];
}
double between(double low, double high, Rng& rng) { return low + (high - low) * rng.uniform(); }
/// Most values near the geometric mean of the two is not what machines are like: all magnitudes are as likely.
double magnitude_between(double low, double high, Rng& rng) {
    return std::exp(between(std::log(low), std::log(high), rng));
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

void machine_of(const std::string& platform, Host& h) {
    const bool arm = has(platform, "arm") || has(platform, "aarch64");
    h.p_vendor = has(platform, "apple") && arm ? "Apple" : arm ? "ARM" : "GenuineIntel";
    h.p_model = arm ? "ARM Cortex" : "Intel(R) Core(TM) i7 [Family 6 Model 158 Stepping 10]";
    h.os_name = has(platform, "windows")   ? "Microsoft Windows 11"
                : has(platform, "android") ? "Android"
                : has(platform, "apple")   ? "Darwin"
                : has(platform, "freebsd") ? "FreeBSD"
                                           : "Linux Debian";
    h.os_version = "12";
}

void hardware_of(Host& h, Rng& rng) {
    static constexpr int kCpus[] = {1, 2, 4, 4, 6, 8, 8, 12, 16, 24, 32, 64};
    static constexpr double kGbPerCpu[] = {0.5, 1, 1, 2, 2, 4};
    h.p_ncpus = one_of(kCpus, rng);
    h.m_nbytes = h.p_ncpus * one_of(kGbPerCpu, rng) * kGb + kGb;
    h.m_swap = h.m_nbytes;
    h.p_fpops = magnitude_between(1e9, 8e9, rng);
    h.d_total = magnitude_between(100 * kGb, 4000 * kGb, rng);
    h.d_free = h.d_total * between(0.05, 0.8, rng);
    h.on_frac = between(0.3, 1, rng);
    h.active_frac = between(0.6, 1, rng);
    h.gpu_active_frac = h.active_frac;
    h.n_bwdown = magnitude_between(1e5, 1e8, rng);
    h.error_rate = rng.below(2) == 0 ? 1 : 0;  // low turnaround or not
}

/// A card of a kind that the project has versions for, in every second host.
void card_of(const ProjectTables& tables, const ResourceOf& resource, Host& h, Rng& rng) {
    static constexpr int kRamMb[] = {2048, 4096, 8192, 12288, 24576};
    for (const AppVersion& v : tables.versions) {
        const ProcType type = resource(v.plan_class);
        const char* name = type == ProcType::kNvidia     ? "nvidia"
                           : type == ProcType::kAmd      ? "amd"
                           : type == ProcType::kIntelGpu ? "intel"
                           : type == ProcType::kAppleGpu ? "apple"
                                                         : nullptr;
        if (name == nullptr) continue;
        if (rng.below(2) == 0) return;
        h.p_ngpus = 1;
        h.p_gpu_fpops = magnitude_between(1e12, 3e13, rng);
        h.misc = fmt::format(
            R"({{"gpus":[{{"type":"{}","model":"made up","count":1,"ram_mb":{},"driver_version":"55000","opencl_version":"300"}}]}})",
            name, one_of(kRamMb, rng));
        return;
    }
}

/// What it has measured of an app's versions: one speed an app, around the borders of its size classes.
void history_of(const ProjectTables& tables, MadeUpHost& made, Rng& rng) {
    const Host& h = made.found.host;
    for (const App& app : tables.apps) {
        const auto borders = tables.size_quantiles.find(app.id);
        const bool sized =
            borders != tables.size_quantiles.end() && !borders->second.empty() && borders->second.front() > 0;
        const double speed = sized ? magnitude_between(borders->second.front() / 3, borders->second.back() * 3, rng)
                                   : h.p_fpops * h.on_frac * h.active_frac;
        for (const AppVersion& v : tables.versions) {
            if (v.appid != app.id) continue;
            HostAppVersion row;
            row.host_id = h.id;
            row.app_version_id = v.id;
            row.et = {20, h.on_frac * h.active_frac / speed, 0, 0};
            row.turnaround = {20, magnitude_between(3600, 7 * 86400, rng), 0, 0};
            row.consecutive_valid = static_cast<int>(rng.below(40));
            made.state.versions.push_back(row);
        }
    }
}

}  // namespace

MadeUpHosts make_up_hosts(int count, const ProjectTables& tables, const ResourceOf& resource, std::int64_t now,
                          Rng& rng) {
    std::vector<std::string> platforms;  // as often as there are versions for them
    for (const AppVersion& v : tables.versions)
        if (const Platform* p = tables.platform(v.platformid); p != nullptr && !v.deprecated)
            platforms.push_back(p->name);
    if (platforms.empty() && count > 0)
        throw Error("--synthesise: the project has no app version that a host could run");
    MadeUpHosts hosts;
    for (int i = 0; i < count; ++i) {
        const Id id = kFirstHost + i;
        MadeUpHost& made = hosts[id];
        made.platform = platforms[rng.below(platforms.size())];
        StoredHost& h = made.found.host;
        h.id = h.userid = id;
        h.create_time = now - 90 * 86400;
        h.rpc_time = now - 3600;
        machine_of(made.platform, h);
        hardware_of(h, rng);
        card_of(tables, resource, h, rng);
        Account account;
        account.user.id = id;
        account.user.name = "made up";
        account.user.authenticator = fmt::format("made_up {}", id);
        made.found.account = std::move(account);
        history_of(tables, made, rng);
    }
    return hosts;
}

std::optional<HostAndAccount> AccountsWithMadeUp::host_and_account(Id hostid, bool with_versions) {
    const auto made = made_up_.find(hostid);
    return made != made_up_.end() ? made->second.found : ReadOnlyAccounts::host_and_account(hostid, with_versions);
}

HostState StatesWithMadeUp::load(Id hostid, bool with_messages, bool with_turnaround) {
    const auto made = made_up_.find(hostid);
    return made != made_up_.end() ? made->second.state
                                  : ReadOnlyHostStates::load(hostid, with_messages, with_turnaround);
}

}  // namespace sluice
