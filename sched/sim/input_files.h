// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Sticky input files: which one a job needs, and what a simulated host keeps of them.
#include <list>
#include <string>
#include <vector>

#include "db/memory/memory_db.h"
#include "sched/rpc/request.h"
#include "sched/sim/scenario.h"

namespace sluice::sim {

/// Of one line of work: `open` files in turn; one that `jobs` jobs have had makes room for a new one.
class FileSource {
  public:
    FileSource(const FilesSpec& spec, std::size_t work) : spec_(spec), work_(work) {}
    /// Gives the job its file and, as create_work does for such an app, a place in the file's group. Before the job is
    /// stored.
    void give(Workunit& job, const AppSpec& app, MemoryDb& db);

  private:
    struct File {
        std::string name;
        Id group = 0;
        int left = 0;  ///< jobs that are still to be made
    };
    FilesSpec spec_;
    std::size_t work_;
    std::vector<File> open_;
    std::size_t next_ = 0, made_ = 0;
};

/// What the file's group of a job needs, and whether it was there.
struct Download {
    double bytes = 0;
    int files = 0, there = 0;
};

/// As clients keep them: until the server has them deleted or the room is needed, the one first that was needed
/// least lately.
class FilesOnHost {
  public:
    explicit FilesOnHost(double room) : room_(room) {}
    /// Of a job that has come; `wu_xml` as in the reply.
    Download take(const std::string& wu_xml);
    void remove(const std::vector<std::string>& names);
    /// What a request tells of them.
    void tell(std::vector<StickyFile>& files) const;

  private:
    struct File {
        std::string name;
        double bytes = 0;
    };
    double room_, used_ = 0;
    std::list<File> files_;  ///< the one needed last at the end
};

}  // namespace sluice::sim
