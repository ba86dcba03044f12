// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/shmem/tables_codec.h"

#include <cstring>
#include <type_traits>

#include "sluice/base/error.h"

namespace sluice::shm {
namespace {

#if defined(__GLIBCXX__) && defined(__x86_64__) && !defined(_GLIBCXX_DEBUG)
// A field was added to a record? Then it goes into fields() below as well, or schedulers never see it.
static_assert(sizeof(Platform) == 80 && sizeof(App) == 128 && sizeof(AppVersion) == 160 && sizeof(Assignment) == 40 &&
              sizeof(HostPerfInfo) == 32 && sizeof(FileGroup) == 64);
#endif

// One list of fields for both directions: `io` is a Writer or a Reader.
template <typename Io, typename T>
void fields(Io& io, T& v) requires std::is_same_v<std::remove_const_t<T>, Platform> {
    io(v.id), io(v.name), io(v.user_friendly_name), io(v.deprecated);
}
template <typename Io, typename T>
void fields(Io& io, T& v) requires std::is_same_v<std::remove_const_t<T>, App> {
    io(v.id), io(v.name), io(v.user_friendly_name), io(v.min_version), io(v.deprecated), io(v.homogeneous_redundancy);
    io(v.weight), io(v.beta), io(v.target_nresults), io(v.min_avg_pfc), io(v.host_scale_check);
    io(v.homogeneous_app_version), io(v.non_cpu_intensive), io(v.locality_scheduling), io(v.n_size_classes);
    io(v.fraction_done_exact);
}
template <typename Io, typename T>
void fields(Io& io, T& v) requires std::is_same_v<std::remove_const_t<T>, AppVersion> {
    io(v.id), io(v.appid), io(v.platformid), io(v.version_num), io(v.xml_doc), io(v.min_core_version);
    io(v.max_core_version), io(v.deprecated), io(v.plan_class), io(v.pfc_n), io(v.pfc_avg), io(v.pfc_scale);
    io(v.expavg_credit), io(v.expavg_time), io(v.beta);
}
template <typename Io, typename T>
void fields(Io& io, T& v) requires std::is_same_v<std::remove_const_t<T>, Assignment> {
    io(v.id), io(v.target_id), io(v.target_type), io(v.multi), io(v.workunitid), io(v.resultid);
}

template <typename Io, typename T>
void fields(Io& io, T& v) requires std::is_same_v<std::remove_const_t<T>, FileGroup> {
    io(v.name), io(v.id), io(v.first), io(v.last), io(v.idle_since);
}

struct Writer {
    std::string bytes;
    template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
    void operator()(const T& v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
    void operator()(const std::string& v) {
        (*this)(v.size());
        bytes += v;
    }
    template <typename T>
    void operator()(const std::vector<T>& v) {
        (*this)(v.size());
        for (const T& e : v) {
            if constexpr (std::is_arithmetic_v<T>) {
                (*this)(e);
            } else {
                fields(*this, e);
            }
        }
    }
};

struct Reader {
    std::string_view rest;
    const char* take(std::size_t n) {
        if (rest.size() < n) throw ShmemError("The tables in the job array are damaged; restart the feeder");
        const char* p = rest.data();
        rest.remove_prefix(n);
        return p;
    }
    template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
    void operator()(T& v) { std::memcpy(&v, take(sizeof v), sizeof v); }
    void operator()(std::string& v) {
        const auto n = count();
        v.assign(take(n), n);
    }
    template <typename T>
    void operator()(std::vector<T>& v) {
        v.resize(count());
        for (T& e : v) {
            if constexpr (std::is_arithmetic_v<T>) {
                (*this)(e);
            } else {
                fields(*this, e);
            }
        }
    }
    /// A count is never larger than the bytes that are left: nonsense must not allocate.
    std::size_t count() {
        std::size_t n = 0;
        (*this)(n);
        if (n > rest.size()) take(n);
        return n;
    }
};

void write_plan(Writer& io, const BatchPlan& plan) {
    io(plan.version), io(plan.made_at), io(plan.newest_batch), io(plan.newest_result);
    io(plan.batches.size()), io(plan.left_out.size()), io(plan.awaited.size());
    for (const PlannedBatch& b : plan.batches)
        io(b.batch), io(b.finish), io(b.margin), io(b.place), io(b.jobs), io(b.hosts);
    for (const LeftOutHost& h : plan.left_out) io(h.host), io(h.errors), io(h.returned);
    for (const Id batch : plan.awaited) io(batch);
}

void read_plan(Reader& io, BatchPlan& plan) {
    io(plan.version), io(plan.made_at), io(plan.newest_batch), io(plan.newest_result);
    plan.batches.resize(io.count());
    plan.left_out.resize(io.count());
    plan.awaited.resize(io.count());
    for (PlannedBatch& b : plan.batches) io(b.batch), io(b.finish), io(b.margin), io(b.place), io(b.jobs), io(b.hosts);
    for (LeftOutHost& h : plan.left_out) io(h.host), io(h.errors), io(h.returned);
    for (Id& batch : plan.awaited) io(batch);
}

}  // namespace

std::string encode_tables(const ProjectTables& t) {
    Writer io;
    io(t.platforms), io(t.apps), io(t.versions), io(t.broadcasts);
    io(t.size_quantiles.size());
    for (const auto& [appid, quantiles] : t.size_quantiles) io(appid), io(quantiles);
    io(t.batch_shares.size());
    for (const auto& [batch, share] : t.batch_shares) io(batch), io(share.user_id), io(share.end), io(share.quota);
    write_plan(io, t.plan);
    io(t.file_groups);
    io(t.perf.mean), io(t.perf.stddev), io(t.perf.median), io(t.perf.percentile95), io(t.has_turnaround_verdicts),
        io(t.built_at);
    return std::move(io.bytes);
}

ProjectTables decode_tables(std::string_view bytes) {
    Reader io{bytes};
    ProjectTables t;
    io(t.platforms), io(t.apps), io(t.versions), io(t.broadcasts);
    for (auto n = io.count(); n > 0; --n) {
        Id appid = 0;
        io(appid);
        io(t.size_quantiles[appid]);
    }
    for (auto n = io.count(); n > 0; --n) {
        Id batch = 0;
        io(batch);
        BatchShare& share = t.batch_shares[batch];
        io(share.user_id), io(share.end), io(share.quota);
    }
    read_plan(io, t.plan);
    io(t.file_groups);
    io(t.perf.mean), io(t.perf.stddev), io(t.perf.median), io(t.perf.percentile95), io(t.has_turnaround_verdicts),
        io(t.built_at);
    return t;
}

}  // namespace sluice::shm
