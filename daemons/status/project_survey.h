// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is known of a project at one moment: facts for its status page and for monitoring. Plain values; the counts of
// programs are read beside it (sluice/base/metrics.h).
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/db/batch_watch_store.h"
#include "sluice/db/health_store.h"
#include "sluice/db/share_store.h"
#include "sluice/db/survey_store.h"
#include "sluice/model/batch.h"
#include "sluice/model/eta.h"

namespace sluice {

/// A part of the job array: PRESENT and CLAIMED slots of one app and size class.
struct ArrayPart {
    Id app = 0;
    int size_class = -1;
    std::int64_t present = 0, claimed = 0;
};
struct ArrayShape {
    std::int64_t slots = 0, present = 0, claimed = 0, empty = 0;
    std::int64_t bytes = 0, claims_lost = 0, reclaimed = 0, mended = 0;
    double heartbeat = 0;  ///< UNIX s, of the feeder
    bool ready = false;
    std::vector<ArrayPart> parts;
};

/// A daemon or task of config.xml on this host.
struct ProgramState {
    std::string command;  ///< its first word, and the app that it works for
    std::string program;  ///< its name, as its counts are called
    bool disabled = false, running = false;
};

struct OpenBatch {
    Id id = 0;
    std::string name, app;
    int jobs = 0, failed = 0;
    double done = 0;      ///< part
    double expected = 0;  ///< UNIX s; 0: not known
    std::int64_t since = 0;
    bool stopped = false;                            ///< by batch_watch; not in progress any more
    std::vector<std::string> notes = {};             ///< of batch_watch: "slow: 3 of 5 jobs …"
    std::map<std::string, std::int64_t> noted = {};  ///< UNIX s of each, by event_name()
};

/// What a user is owed of the work of the last days, and what he got: parts of 1.
struct ShareOfUser {
    Id user = 0;
    double owed = 0, got = 0;
};

struct ProjectSurvey {
    double now = 0;
    std::string project, url, host;
    std::string version, server_version, schema_revision;
    bool scheduler_stopped = false, uploads_stopped = false, database = false;
    std::string uploads_error, downloads_error;  ///< "" or why the folder can't be used, for admins
    std::string database_error;                  ///< "" or the error in full, for admins
    DbError::Kind database_error_kind = DbError::Kind::kOther;
    int database_error_code = 0;  ///< of the server or the client library; 0: none of theirs
    std::optional<ArrayShape> array;
    std::string array_error;
    std::vector<ProgramState> daemons;
    std::vector<AppWork> work;
    std::map<Id, Outcomes> last_hour;     ///< of the apps in `work`
    std::map<Id, std::string> app_names;  ///< of all apps that were ever seen: it stays while the database is away
    std::optional<WorkBacklog> backlog;
    std::vector<AppDay> last_day;
    std::optional<Community> community;
    std::vector<OpenBatch> batches;  ///< at most kMostBatches, the oldest first; then those stopped in the last week
    std::optional<EventsToTell> to_tell;
    EtaFactors eta_factors;
    std::vector<ShareOfUser> shares;  ///< empty: <share_rule> is off
    static constexpr int kMostBatches = 50;
};

}  // namespace sluice
