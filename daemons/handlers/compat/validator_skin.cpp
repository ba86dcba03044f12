// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream's functions of a validator, which the project supplies, on ValidatorCode. With its main().
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "daemons/handlers/compat/rows.h"
#include "daemons/handlers/serve.h"
#include "include/sluice/compat/str_util.h"
#include "include/sluice/compat/validate_util.h"
#include "include/sluice/compat/validate_util2.h"
#include "include/sluice/compat/validator.h"

// The latest upstream declares the first form, nearly all projects define the second one. Or they decide on sets, and
// older ones with ids of another type. Which of them is there is seen when the program runs.
#define SLUICE_WEAK __attribute__((weak))
extern int init_result(const RESULT& result, void*& data) SLUICE_WEAK;
extern int init_result(RESULT& result, void*& data) SLUICE_WEAK;
extern int compare_results(RESULT& a, void* data_a, const RESULT& b, void* data_b, bool& match) SLUICE_WEAK;
extern int cleanup_result(const RESULT& result, void* data) SLUICE_WEAK;
extern int check_set(std::vector<RESULT>& results, WORKUNIT& wu, DB_ID_TYPE& canonical, double& credit,
                     bool& retry) SLUICE_WEAK;
extern int check_set(std::vector<RESULT>& results, WORKUNIT& wu, int& canonical, double& credit,
                     bool& retry) SLUICE_WEAK;
extern void check_pair(RESULT& result, RESULT& canonical, bool& retry) SLUICE_WEAK;
// Projects' older code has no options of its own.
extern int validate_handler_init(int argc, char** argv) SLUICE_WEAK;
extern void validate_handler_usage() SLUICE_WEAK;

// Names that a project may have for something of its own.
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
        if (const std::string lacking = what_is_missing(); !lacking.empty()) return "it defines no " + lacking;
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
        const int error = validate_handler_init != nullptr ? validate_handler_init(g_argc, g_argv) : 0;
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
        const int said = of_mutable() != nullptr ? of_mutable()(row, data_[i]) : of_const()(row, data_[i]);
        looked_[i] = said == 0 || said == VAL_RESULT_SUSPICIOUS || data_[i] != nullptr;
        LookedAt looked = set_by_code(row, set_->results[i]);
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

    std::optional<JudgedSet> judge_set(const std::vector<bool>& asked) override {
        if (!decides_on_sets()) return std::nullopt;
        const std::size_t n = set_->results.size();
        JudgedSet judged{std::vector<LookedAt>(n), std::vector<Standing>(n, Standing::kOpen), -1};
        if (set_->workunit.canonical_resultid == 0)
            check_whole_set(asked, judged);
        else
            check_late_ones(asked, judged);
        return judged;
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
    using Standing = JudgedSet::Standing;
    using OfMutable = int (*)(RESULT&, void*&);
    using OfConst = int (*)(const RESULT&, void*&);
    using OfLongId = int (*)(std::vector<RESULT>&, WORKUNIT&, DB_ID_TYPE&, double&, bool&);
    using OfIntId = int (*)(std::vector<RESULT>&, WORKUNIT&, int&, double&, bool&);
    static OfMutable of_mutable() { return static_cast<OfMutable>(init_result); }
    static OfConst of_const() { return static_cast<OfConst>(init_result); }
    static OfLongId of_long_id() { return static_cast<OfLongId>(check_set); }
    static OfIntId of_int_id() { return static_cast<OfIntId>(check_set); }
    static bool decides_on_sets() { return of_long_id() != nullptr || of_int_id() != nullptr; }

    static std::string what_is_missing() {
        if (decides_on_sets()) return check_pair == nullptr ? "check_pair(RESULT&, RESULT&, bool&)" : "";
        if (of_mutable() == nullptr && of_const() == nullptr)
            return "init_result(RESULT&, void*&), nor check_set(vector<RESULT>&, WORKUNIT&, DB_ID_TYPE&, double&, "
                   "bool&)";
        if (compare_results == nullptr) return "compare_results(RESULT&, void*, const RESULT&, void*, bool&)";
        return cleanup_result == nullptr ? "cleanup_result(const RESULT&, void*)" : "";
    }

    /// What code may set in a row, which was `was`.
    static LookedAt set_by_code(const RESULT& row, const Result& was) {
        LookedAt looked;
        looked.outlier = row.runtime_outlier;
        looked.credit = row.claimed_credit;
        if (row.opaque != was.opaque) looked.opaque = row.opaque;
        return looked;
    }

    static LookedAt later(const std::string& why) {
        LookedAt looked;
        looked.kind = LookedAt::Kind::kLater;
        looked.why = why;
        return looked;
    }

    /// What check_set() or check_pair() made of a row.
    static void take_row(const RESULT& row, const Result& was, bool retry, LookedAt& looked, Standing& standing) {
        looked = set_by_code(row, was);
        if (row.outcome == RESULT_OUTCOME_VALIDATE_ERROR) {
            looked.kind = LookedAt::Kind::kBad;
            looked.why = "the project's code says so";
        } else if (row.validate_state == VALIDATE_STATE_VALID) {
            standing = Standing::kValid;
        } else if (row.validate_state == VALIDATE_STATE_INVALID) {
            standing = Standing::kInvalid;
        } else if (retry) {
            looked = later("check_set() or check_pair() says that it can't be told now");
        }
    }

    void check_whole_set(const std::vector<bool>& asked, JudgedSet& judged) {
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < asked.size(); ++i)
            if (asked[i]) places.push_back(i);
        if (static_cast<int>(places.size()) < wu_->min_quorum) return;  // the others can't be read now
        viable_.resize(places.size());
        for (std::size_t k = 0; k < places.size(); ++k) fill(set_->results[places[k]], viable_[k]);
        DB_ID_TYPE canonical = 0;
        int canonical_int = 0;
        double credit = 0;
        bool retry = false;
        const int said = of_long_id() != nullptr ? of_long_id()(viable_, *wu_, canonical, credit, retry)
                                                 : of_int_id()(viable_, *wu_, canonical_int, credit, retry);
        if (of_long_id() == nullptr) canonical = canonical_int;
        for (const std::size_t i : places) {
            const Result& was = set_->results[i];
            const auto row =
                std::find_if(viable_.begin(), viable_.end(), [&](const auto& r) { return r.id == was.id; });
            if (said != 0 || row == viable_.end()) {
                judged.looked[i] = later("check_set() returned " + std::string(boincerror(said)));
                continue;
            }
            take_row(*row, was, retry, judged.looked[i], judged.standing[i]);
            if (was.id == canonical) judged.canonical = static_cast<int>(i);
        }
    }

    void check_late_ones(const std::vector<bool>& asked, JudgedSet& judged) {
        const auto& all = set_->results;
        const auto at = std::find_if(all.begin(), all.end(),
                                     [&](const auto& r) { return r.id == set_->workunit.canonical_resultid; });
        if (at == all.end() || !asked[static_cast<std::size_t>(at - all.begin())]) return;
        for (std::size_t i = 0; i < asked.size(); ++i) {
            if (!asked[i] || all[i].id == at->id) continue;
            viable_.resize(2);
            fill(all[i], viable_[0]);
            fill(*at, viable_[1]);
            bool retry = false;
            check_pair(viable_[0], viable_[1], retry);
            take_row(viable_[0], all[i], retry, judged.looked[i], judged.standing[i]);
        }
    }

    std::unique_ptr<HandlerArguments> arguments_;
    std::unique_ptr<WORKUNIT> wu_;
    std::vector<std::unique_ptr<RESULT>> rows_;  ///< kept: clearing 200 KB a result would cost more than judging it
    std::vector<RESULT> viable_;                 ///< likewise
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
            if (validate_handler_usage != nullptr) validate_handler_usage();
            return std::string();
        });
    UpstreamValidator validator;
    return serve_validator(argc, argv, validator, [&](const WireHello& hello, const std::vector<std::string>& words) {
        return validator.set_up(hello, words);
    });
}
