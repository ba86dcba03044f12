// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream's functions of an assimilator, which the project supplies, on AssimilatorCode. With its main().
#include <cstdlib>
#include <memory>
#include <vector>

#include "daemons/handlers/compat/rows.h"
#include "daemons/handlers/serve.h"
#include "include/sluice/compat/assimilate_handler.h"

// Projects' older code has no options of its own.
extern int assimilate_handler_init(int argc, char** argv) __attribute__((weak));
extern void assimilate_handler_usage() __attribute__((weak));

namespace sluice {
namespace {

class UpstreamAssimilator final : public AssimilatorCode {
  public:
    std::string set_up(const WireHello& hello, const std::vector<std::string>& words) {
        std::string wrong = set_up_upstream(hello);
        if (!wrong.empty()) return wrong;
        arguments_ = std::make_unique<HandlerArguments>(words);
        if (assimilate_handler_init == nullptr) return words.empty() ? "" : "unknown option " + words.front();
        const int error = assimilate_handler_init(arguments_->argc(), arguments_->argv());
        return error == 0 ? "" : "assimilate_handler_init() returned " + std::string(boincerror(error));
    }

    Assimilated assimilate(const ReturnedWorkunit& finished) override {
        fill(finished.workunit, *wu_);
        rows_.resize(finished.results.size());
        canonical_->clear();
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            fill(finished.results[i], rows_[i]);
            if (&finished.results[i] == finished.canonical) fill(finished.results[i], *canonical_);
        }
        const int said = assimilate_handler(*wu_, rows_, *canonical_);
        if (said == 0) return {};
        if (said == DEFER_ASSIMILATION) return {Assimilated::Kind::kFailed, "assimilate_handler() defers it"};
        return {Assimilated::Kind::kFailed, "assimilate_handler() returned " + std::string(boincerror(said))};
    }

  private:
    std::unique_ptr<HandlerArguments> arguments_;
    std::unique_ptr<WORKUNIT> wu_ = std::make_unique<WORKUNIT>();
    std::unique_ptr<RESULT> canonical_ = std::make_unique<RESULT>();
    std::vector<RESULT> rows_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    if (std::getenv(kWireSocket) == nullptr)
        return become_daemon("sluice_assimilator", argc, argv, [] {
            if (assimilate_handler_usage != nullptr) assimilate_handler_usage();
            return std::string();
        });
    UpstreamAssimilator assimilator;
    return serve_assimilator(argc, argv, assimilator,
                             [&](const WireHello& hello, const std::vector<std::string>& words) {
                                 return assimilator.set_up(hello, words);
                             });
}
