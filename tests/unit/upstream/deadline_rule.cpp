// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/unit/upstream/deadline_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/reply_text.h"

namespace sluice::test {
namespace {

double number_in(const std::string& text, const std::string& tag) {
    ReplyText t;
    t.run.out = text;
    const std::string value = t.value(tag);
    return value.empty() ? 0 : std::stod(value);
}

std::string coprocs_of(const std::string& request) {
    const std::size_t at = request.find("<coprocs>");
    return at == std::string::npos ? "" : request.substr(at);
}

}  // namespace

bool uses_gpu(const AppVersion& version) {
    return version.plan_class.find("cuda") != std::string::npos ||
           version.plan_class.find("nvidia") != std::string::npos;
}

bool has_a_simulated_queue(const std::string& request) {
    return request.find("<other_results>") != std::string::npos &&
           request.find("<in_progress_results>") == std::string::npos;
}

double runtime_of(const std::string& request, const std::string& reply, const FakeDb& rows, const Result& result) {
    const AppVersion& version = rows.versions.at(result.app_version_id);
    const std::string app = fmt::format("<app_name>{}</app_name>", rows.apps.at(version.appid).name);
    const std::string platform = fmt::format("<platform>{}</platform>", rows.platforms.at(version.platformid).name);
    const std::string plan_class =
        version.plan_class.empty() ? "" : fmt::format("<plan_class>{}</plan_class>", version.plan_class);
    for (std::size_t at = reply.find("<app_version>"); at != std::string::npos;
         at = reply.find("<app_version>", at + 1)) {
        const std::string text = reply.substr(at, reply.find("</app_version>", at) - at);
        if (text.find(app) == std::string::npos || text.find(platform) == std::string::npos) continue;
        if (plan_class.empty() ? text.find("<plan_class>") != std::string::npos
                               : text.find(plan_class) == std::string::npos)
            continue;
        const double active = number_in(request, uses_gpu(version) ? "gpu_active_frac" : "active_frac");
        const double available = std::clamp(active * number_in(request, "on_frac"), .1, 1.);
        return rows.workunits.at(result.workunitid).rsc_fpops_est / number_in(text, "flops") / available;
    }
    throw std::runtime_error(fmt::format("the reply does not describe version {}", version.id));
}

UpstreamsDeadlineRule::UpstreamsDeadlineRule(const std::string& request, double total_credit)
    : total_credit_(total_credit) {
    delay_[false] = number_in(request, "estimated_delay");
    delay_[true] = number_in(coprocs_of(request), "estimated_delay");
}

bool UpstreamsDeadlineRule::in_time(double runtime, std::int64_t bound) {
    if (has_refused_ && runtime >= shortest_refused_ && bound <= longest_bound_refused_) return false;
    if (runtime <= static_cast<double>(bound)) return true;
    shortest_refused_ = has_refused_ ? std::min(shortest_refused_, runtime) : runtime;
    longest_bound_refused_ = has_refused_ ? std::max(longest_bound_refused_, bound) : bound;
    has_refused_ = true;
    return false;
}

std::int64_t UpstreamsDeadlineRule::bound_of(const SentJob& job) {
    if (delay_[job.gpu] == 0 && !job.hard) return job.bound;  // an idle host always gets a job
    if (job.hard && total_credit_ == 0) return 0;
    if (in_time(job.runtime, job.bound)) return job.bound;
    return job.last_bound != job.bound && in_time(job.runtime, job.last_bound) ? job.last_bound : 0;
}

}  // namespace sluice::test
