// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream's functions of a validator, which the project supplies, on ValidatorCode. With its main().
#include <cstdlib>
#include <memory>
#include <vector>

#include "daemons/handlers/compat/rows.h"
#include "daemons/handlers/serve.h"
#include "include/sluice/compat/str_util.h"
#include "include/sluice/compat/validate_util.h"
#include "include/sluice/compat/validate_util2.h"
#include "include/sluice/compat/validator.h"

// The latest upstream declares the first form, nearly all projects define the second one. Which of them is there is
// seen when the program runs.
extern int init_result(const RESULT& result, void*& data) __attribute__((weak));
extern int init_result(RESULT& result, void*& data) __attribute__((weak));

// Names that a project may have for something of its own.
#define SLUICE_WEAK __attribute__((weak))
SLUICE_WEAK DB_APP app;
SLUICE_WEAK char app_name[256];
SLUICE_WEAK bool dry_run;
SLUICE_WEAK int debug_level;
SLUICE_WEAK int g_argc;
SLUICE_WEAK char** g_argv;
SLUICE_WEAK double max_granted_credit;
WORKUNIT* g_wup;
DB_APP* g_app = &app;

namespace sluice {
namespace {

class UpstreamValidator final : public ValidatorCode {
  public:
    std::string set_up(const WireHello& hello, const std::vector<std::string>& words) {
        std::string wrong = set_up_upstream(hello);
        if (!wrong.empty()) return wrong;
        if (!mutable_form() && !const_form()) return "it defines no init_result(RESULT&, void*&)";
        g_app->id = hello.appid;
        g_app->target_nresults = hello.app_target_nresults;
        safe_strcpy(g_app->name, hello.app_name.c_str());
        safe_strcpy(app_name, hello.app_name.c_str());
        dry_run = hello.dry_run;
        debug_level = hello.debug_level;
        max_granted_credit = hello.max_granted_credit;
        arguments_ = std::make_unique<HandlerArguments>(words);
        g_argc = arguments_->argc();
        g_argv = arguments_->argv();
        const int error = validate_handler_init(g_argc, g_argv);
        return error == 0 ? "" : "validate_handler_init() returned " + std::string(boincerror(error));
    }

    void begin(const ReturnedSet& set) override {
        wu_ = wu_ ? std::move(wu_) : std::make_unique<WORKUNIT>();
        fill(set.workunit, *wu_);
        g_wup = wu_.get();
        g_app->target_nresults = set.app_target_nresults;
        g_app->id = set.workunit.appid;
        set_ = &set;
        while (rows_.size() < set.results.size()) rows_.push_back(std::make_unique<RESULT>());
        data_.assign(set.results.size(), nullptr);
        looked_.assign(set.results.size(), false);
    }

    LookedAt look(std::size_t i) override {
        RESULT& row = *rows_[i];
        fill(set_->results[i], row);
        const int said = mutable_form() ? mutable_form()(row, data_[i]) : const_form()(row, data_[i]);
        looked_[i] = said == 0 || said == VAL_RESULT_SUSPICIOUS || data_[i] != nullptr;
        LookedAt looked;
        looked.outlier = row.runtime_outlier;
        switch (said) {
            case 0: break;
            case VAL_RESULT_SUSPICIOUS: looked.suspicious = true; break;
            case ERR_OPENDIR:
            case VAL_RESULT_TRANSIENT_ERROR:
                looked.kind = LookedAt::Kind::kLater;
                looked.why = "init_result() says that it can't be told now";
                break;
            default:
                looked.kind = LookedAt::Kind::kBad;
                looked.why = "init_result() returned " + std::string(boincerror(said));
        }
        return looked;
    }

    PairIs compare(std::size_t a, std::size_t b) override {
        bool match = false;
        const int said = compare_results(*rows_[a], data_[a], *rows_[b], data_[b], match);
        if (said == ERR_OPENDIR || said == VAL_RESULT_TRANSIENT_ERROR) return PairIs::kLater;
        return said == 0 && match ? PairIs::kSame : PairIs::kDifferent;
    }

    void end() override {
        for (std::size_t i = 0; i < data_.size(); ++i)
            if (looked_[i]) cleanup_result(*rows_[i], data_[i]);
    }

  private:
    using Mutable = int (*)(RESULT&, void*&);
    using Const = int (*)(const RESULT&, void*&);
    static Mutable mutable_form() { return static_cast<Mutable>(init_result); }
    static Const const_form() { return static_cast<Const>(init_result); }

    std::unique_ptr<HandlerArguments> arguments_;
    std::unique_ptr<WORKUNIT> wu_;
    std::vector<std::unique_ptr<RESULT>> rows_;  ///< kept: clearing 200 KB a result would cost more than judging it
    std::vector<void*> data_;
    std::vector<bool> looked_;
    const ReturnedSet* set_ = nullptr;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    if (std::getenv(kWireSocket) == nullptr)
        return become_daemon("sluice_validator", argc, argv, [] {
            validate_handler_usage();
            return std::string();
        });
    UpstreamValidator validator;
    return serve_validator(argc, argv, validator, [&](const WireHello& hello, const std::vector<std::string>& words) {
        return validator.set_up(hello, words);
    });
}
