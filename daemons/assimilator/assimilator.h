#pragma once
// Calls the script for each workunit that is ready. The workunit is marked only after the script returned 0: a script
// may be called again for a workunit after a crash, so it must bear that. A script that fails does not end the daemon
// (upstream's does): the workunit is tried again after a while, the others go on.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/assimilator/script.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/assimilate_store.h"

namespace sluice {

struct AssimilatorOptions {
    std::string app_name, script;
    WorkunitFilter filter;
    std::int64_t one_pass_n_wu = 0;  ///< the program ends after so many workunits; 0: no such end
    bool dont_update_db = false;     ///< run the scripts, mark nothing
};

class Assimilator {
  public:
    Assimilator(const AssimilatorOptions& options, const std::filesystem::path& project, const ProjectConfig& config,
                AssimilateStore& store, const Clock& clock)
        : options_(options),
          bin_(project / "bin"),
          config_(config),
          store_(store),
          clock_(clock),
          script_(parse_script_option(options.script)) {}

    PassResult pass();

  private:
    struct Failure {
        double next = 0;  ///< when the script is called again
        BackOff delay{10, 3600};
    };

    bool enough() const { return options_.one_pass_n_wu > 0 && total_ >= options_.one_pass_n_wu; }
    bool due(Id wu) const;
    bool assimilate(const Assimilable& job);

    const AssimilatorOptions& options_;
    std::filesystem::path bin_;
    const ProjectConfig& config_;
    AssimilateStore& store_;
    const Clock& clock_;
    std::vector<std::string> script_;
    std::map<Id, Failure> failures_;
    std::int64_t total_ = 0;
};

}  // namespace sluice
