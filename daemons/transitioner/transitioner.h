// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The shell around plan.h: walks the queue of due workunits in pages, makes the new results, logs, and keeps one broken
// workunit from stopping the others.
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemons/transitioner/plan.h"
#include "sluice/base/env.h"
#include "sluice/base/log.h"
#include "sluice/base/signing.h"
#include "sluice/daemon/daemon.h"
#include "sluice/model/job.h"

namespace sluice {

/// Result templates by their path in the project. Files are read once a pass: admins edit them.
class ResultTemplates {
  public:
    /// `signer` may be null (no upload certificates); it outlives this.
    ResultTemplates(std::filesystem::path project, std::string upload_url, const PrivateKey* signer)
        : project_(std::move(project)), upload_url_(std::move(upload_url)), signer_(signer) {}
    /// What says of how many bytes they are too long for result.xml_doc_in, and why; "": they fit. By default: as many
    /// as a blob holds.
    void set_limit(std::function<std::string(std::size_t)> too_long) { too_long_ = std::move(too_long); }
    void forget() { texts_.clear(); }
    /// xml_doc_in of a new result. Throws Error that names the file and what to do.
    std::string expand(const std::string& file, const std::string& result_name, std::int64_t random);

  private:
    const std::string& text(const std::string& file);
    std::filesystem::path project_;
    std::string upload_url_;
    const PrivateKey* signer_;
    std::map<std::string, std::string> texts_;
    std::function<std::string(std::size_t)> too_long_;
};

struct TransitionerOptions {
    TransitionScope scope;
    bool dry_run = false;
    bool told = false;  ///< a run that finds nothing to do says so
    double every = 5;   ///< s between two passes that found nothing
};

class Transitioner final : public Service {
  public:
    /// Workunits a transaction. More would be no faster, and schedulers that send or take a result of one of them wait
    /// for the transaction to end.
    static constexpr std::size_t kPage = 400;
    /// Workunits asked for at once: an entry of the queue is 16 bytes.
    static constexpr int kQueue = 20000;
    /// s until a workunit that can't be handled is looked at again.
    static constexpr std::int64_t kRetryDelay = 300;

    Transitioner(const TransitionerOptions& options, const TransitionParams& params, TransitionStore& store,
                 ResultTemplates& templates, Env env)
        : Service(options.every), options_(options), params_(params), store_(store), templates_(templates), env_(env) {}
    Turn turn() override { return {pass(), interval()}; }

    /// Everything that is due now.
    TurnResult pass();

  private:
    struct Message {
        LogLevel level = LogLevel::kNormal;
        std::string text;
    };
    struct Summary {
        int handled = 0, created = 0, timed_out = 0, changed = 0, failed = 0;
    };

    void handle_page(std::span<const Id> ids);
    void handle_one_by_one(std::span<const Id> ids);
    int transition(std::span<const Id> ids);
    void show(std::span<const Id> ids);
    void learn_typical_sizes(const std::vector<TransitionFacts>& facts);  ///< as far as they are needed, once a pass
    TransitionWrites decide(const std::vector<TransitionFacts>& facts, std::int64_t now);
    std::vector<Result> new_results(const Workunit& wu, const NewResults& create, std::int64_t now);
    void say(const Workunit& wu, LogLevel level, const std::string& text);
    void log_messages();
    void log_summary(double seconds) const;

    TransitionerOptions options_;
    TransitionParams params_;
    TransitionStore& store_;
    ResultTemplates& templates_;
    Env env_;
    // Of the page in hand; a repeated decision starts them anew.
    std::vector<Message> messages_;
    Summary page_;
    Summary pass_;
    std::int64_t handled_ = 0;  ///< in the passes before
};

}  // namespace sluice
