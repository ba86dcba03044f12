// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Daemons that go on from pass to pass, with clocks of their own.
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "config/load.h"
#include "daemons/assimilator/script.h"
#include "daemons/validator/validator.h"
#include "tests/support/fake_clock.h"
#include "tests/support/paths.h"

namespace sluice::test {

struct LastingValidator {
    LastingValidator(const fs::path& project, Database& db)
        : config(load_config(project).config), store(make_validate_store(db)) {
        options.app_name = "a";
    }
    void pass_after(double seconds) {
        clock.set(clock.now() + seconds);
        validator.pass();
    }

    static constexpr double kDay = 86401;
    ProjectConfig config;
    ValidatorOptions options;
    std::unique_ptr<ValidateStore> store;
    FakeClock clock{static_cast<double>(std::time(nullptr))};
    Validator validator{options, config, *store, clock};
};

/// An assimilator that goes on from pass to pass, with a clock of its own.
struct LastingAssimilator {
    LastingAssimilator(const fs::path& project, Database& db, const std::string& script)
        : config(load_config(project).config),
          store(make_assimilate_store(db)),
          handler(script, project / "bin", 0, clock) {
        options.app_name = "a";
        assimilator.emplace(options, handler, config, *store, clock);
    }
    void pass_after(double seconds) {
        clock.set(clock.now() + seconds);
        assimilator->pass();
    }

    ProjectConfig config;
    AssimilatorOptions options;
    std::unique_ptr<AssimilateStore> store;
    ScriptHandler handler;
    FakeClock clock{static_cast<double>(std::time(nullptr))};
    std::optional<Assimilator> assimilator;
};

}  // namespace sluice::test
