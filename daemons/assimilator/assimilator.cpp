#include "daemons/assimilator/assimilator.h"

#include <fmt/core.h>

#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr int kPage = 500;

}  // namespace

PassResult Assimilator::pass() {
    const auto app = store_.app_id(options_.app_name);
    if (!app) throw ConfigError("there is no app named '" + options_.app_name + "'");
    WorkunitFilter filter = options_.filter;
    filter.appid = *app;
    int done = 0, failed = 0;
    Id after = 0;
    while (!stop_requested() && !enough()) {
        const auto page = store_.page(filter, after, kPage);
        if (page.empty()) break;
        after = page.back().wu.id;
        for (const Assimilable& job : page) {
            if (stop_requested() || enough()) break;
            if (!due(job.wu.id)) continue;
            (assimilate(job) ? done : failed) += 1;
            ++total_;
        }
    }
    if (done + failed > 0) log_normal("pass: {} workunits assimilated, {} scripts failed", done, failed);
    if (enough()) return PassResult::kFinished;
    return done > 0 && !options_.dont_update_db ? PassResult::kWorked : PassResult::kIdle;
}

bool Assimilator::due(Id wu) const {
    const auto it = failures_.find(wu);
    return it == failures_.end() || clock_.now() >= it->second.next;
}

bool Assimilator::assimilate(const Assimilable& job) {
    std::vector<OutputFile> files;
    if (job.canonical) files = output_files(job.canonical->xml_doc_in, config_.upload_dir, config_.uldl_dir_fanout);
    int error_mask = 0;
    Assimilable called = job;
    if (!job.canonical && job.wu.error_mask == 0) {
        log_critical("[WU#{} {}] is ready for assimilation without canonical result or error; marked as error 32",
                     job.wu.id, job.wu.name);
        error_mask = called.wu.error_mask = kWuNoCanonical;
    }
    const std::string strange = not_a_file(files);
    const int status = strange.empty() ? run_script(script_arguments(script_, bin_, called, files)) : 1;
    if (!strange.empty())
        log_warning("[WU#{} {}] {} is a link or a pipe, no file that was uploaded: {} is not called", job.wu.id,
                    job.wu.name, strange, script_.front());
    if (status != 0) {
        Failure& f = failures_[job.wu.id];
        const double delay = f.delay.next();
        f.next = clock_.now() + delay;
        const std::string hint =
            status != 127 ? ""
                          : fmt::format(" (is {} there and executable, and the interpreter of its first line?)",
                                        (bin_ / script_.front()).string());
        log_warning("[WU#{} {}] {} returned {}{}; called again in {:.0f} s", job.wu.id, job.wu.name, script_.front(),
                    status, hint, delay);
        return false;
    }
    failures_.erase(job.wu.id);
    if (!options_.dont_update_db && store_.done(job.wu.id, error_mask, clock_.now_sec()))
        log_normal("[WU#{} {}] assimilated", job.wu.id, job.wu.name);
    return true;
}

}  // namespace sluice
