#include "daemons/assimilator/assimilator.h"

#include <fmt/core.h>

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr int kPage = 500;
/// s after which a file that is lost says nothing about the others.
constexpr std::int64_t kNews = 86400;

}  // namespace

PassResult Assimilator::pass() {
    const auto app = store_.app_id(options_.app_name);
    if (!app) throw ConfigError("there is no app named '" + options_.app_name + "'");
    WorkunitFilter filter = options_.filter;
    filter.appid = *app;
    done_ = failed_ = held_pages_ = 0;
    if (brake_.on(clock_.now())) return PassResult::kIdle;
    UploadTree tree(config_.upload_dir, clock_.now_sec());
    Id after = 0;
    while (!stop_requested() && !enough()) {
        const auto page = store_.page(filter, after, kPage);
        if (page.empty()) break;
        after = page.back().wu.id;
        if (!assimilate_page(page, tree)) break;
    }
    if (held_pages_ > 0 && done_ + failed_ == 0) brake_.pull(clock_.now());
    if (done_ + failed_ > 0) log_normal("pass: {} workunits assimilated, {} scripts failed", done_, failed_);
    if (enough()) return PassResult::kFinished;
    return done_ > 0 && !options_.dont_update_db ? PassResult::kWorked : PassResult::kIdle;
}

bool Assimilator::due(Id wu) const {
    const auto it = failures_.find(wu);
    return it == failures_.end() || clock_.now() >= it->second.next;
}

bool Assimilator::assimilate_page(const std::vector<Assimilable>& page, UploadTree& tree) {
    std::vector<Ready> ready;
    for (const Assimilable& job : page)
        if (due(job.wu.id)) ready.push_back(look_at(job, tree));
    const bool held = held_back(ready);
    if (held && done_ + failed_ == 0 && ++held_pages_ >= Brake::kPages) return false;
    for (const Ready& r : ready) {
        if (stop_requested() || enough()) return false;
        if (held && r.job.canonical) continue;  // what failed has no files
        assimilate(r);
        ++total_;
    }
    return true;
}

Assimilator::Ready Assimilator::look_at(const Assimilable& job, UploadTree& tree) const {
    using Found = OpenedOutput::Kind;
    Ready ready{job, {}, "", ""};
    if (!job.canonical) return ready;
    ready.files = output_files(job.canonical->xml_doc_in, config_.upload_dir, config_.uldl_dir_fanout);
    const bool files_are_given =
        std::ranges::any_of(script_, [](const auto& s) { return s == "files" || s == "files2"; });
    for (const OutputFile& f : ready.files) {
        OpenedOutput opened = tree.open(f.path, job.canonical->received_time);
        // A script that asks for no files may run where there is no upload folder.
        if (!files_are_given && opened.kind != Found::kStrange) continue;
        // The script knows what to do without it, as when it has moved it away and is called again.
        const bool lost = opened.kind == Found::kLost || (f.optional && opened.kind == Found::kNoFolder);
        std::string& first = lost ? ready.lost : ready.unreadable;
        if (opened.kind != Found::kOpen && first.empty() && !(lost && f.optional)) first = std::move(opened.why);
    }
    return ready;
}

bool Assimilator::held_back(const std::vector<Ready>& page) {
    ReadTally tally;
    for (const Ready& r : page) {
        if (!r.job.canonical) continue;
        const bool news = r.job.canonical->received_time + kNews >= clock_.now_sec();
        tally.add(r.job.canonical->hostid, !r.unreadable.empty() || !news ? r.unreadable : r.lost);
    }
    if (!tally.most_unreadable()) return false;
    brake_.hold(tally, "assimilated", clock_.now());
    for (const Ready& r : page)
        if (r.job.canonical) failures_[r.job.wu.id].next = clock_.now() + Brake::kHold;
    return true;
}

double Assimilator::fails(Id wu) {
    ++failed_;
    Failure& f = failures_[wu];
    const double delay = f.delay.next();
    f.next = clock_.now() + delay;
    return delay;
}

int Assimilator::call_script(const Ready& ready, int error_mask) const {
    Assimilable called = ready.job;
    called.wu.error_mask |= error_mask;
    return run_script(script_arguments(script_, bin_, called, ready.files));
}

void Assimilator::assimilate(const Ready& ready) {
    const Workunit& wu = ready.job.wu;
    if (!ready.unreadable.empty()) {
        log_warning("[WU#{} {}] {}: {} is not called, looked at again in {:.0f} s", wu.id, wu.name, ready.unreadable,
                    script_.front(), fails(wu.id));
        return;
    }
    if (!ready.lost.empty())
        log_warning("[WU#{} {}] {}: {} is called all the same", wu.id, wu.name, ready.lost, script_.front());
    int error_mask = 0;
    if (!ready.job.canonical && wu.error_mask == 0) {
        log_critical("[WU#{} {}] is ready for assimilation without canonical result or error; marked as error 32",
                     wu.id, wu.name);
        error_mask = kWuNoCanonical;
    }
    if (const int status = call_script(ready, error_mask); status != 0) {
        const std::string hint =
            status != 127 ? ""
                          : fmt::format(" (is {} there and executable, and the interpreter of its first line?)",
                                        (bin_ / script_.front()).string());
        log_warning("[WU#{} {}] {} returned {}{}; called again in {:.0f} s", wu.id, wu.name, script_.front(), status,
                    hint, fails(wu.id));
        return;
    }
    ++done_;
    failures_.erase(wu.id);
    if (!options_.dont_update_db && store_.done(wu.id, error_mask, clock_.now_sec()))
        log_normal("[WU#{} {}] assimilated", wu.id, wu.name);
}

}  // namespace sluice
