// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/move_survey.h"

#include "sluice/base/error.h"

namespace sluice {
namespace {

struct Question {
    const char* id;
    SqlLiteral sql;
};

/// Of large tables they read a stretch of the primary key, or the first rows of an index.
constexpr Question kQuestions[] = {
    {"pinned_workunits",
     "SELECT COUNT(*) FROM workunit WHERE app_version_num>0 AND id>(SELECT MAX(id)-100000 FROM workunit)"},
    {"unsent_but_done",
     "SELECT COUNT(*) FROM (SELECT workunitid FROM result WHERE server_state=2 LIMIT 100000) r JOIN workunit w ON "
     "w.id=r.workunitid WHERE w.canonical_resultid>0 OR w.error_mask>0"},
    {"inactive_but_done",
     "SELECT COUNT(*) FROM (SELECT workunitid FROM result WHERE server_state=1 LIMIT 100000) r JOIN workunit w ON "
     "w.id=r.workunitid WHERE w.canonical_resultid>0"},
    {"trickles", "SELECT COUNT(*) FROM msg_from_host WHERE id>(SELECT MAX(id)-100000 FROM msg_from_host)"},
    {"anonymous_versions",
     "SELECT COUNT(*) FROM (SELECT app_version_id FROM host_app_version LIMIT 100000) v WHERE app_version_id<0"},
    {"assigned_to_one", "SELECT COUNT(*) FROM assignment WHERE multi=0"},
    {"broadcast", "SELECT COUNT(*) FROM assignment WHERE multi<>0"},
    {"broadcast_to_no_team", "SELECT COUNT(*) FROM assignment WHERE multi<>0 AND target_type=3 AND target_id=0"},
    {"many_apps", "SELECT COUNT(*) FROM app WHERE deprecated=0 HAVING COUNT(*)>10"},
    {"many_platforms", "SELECT COUNT(*) FROM platform WHERE deprecated=0 HAVING COUNT(*)>49"},
    {"many_versions", "SELECT COUNT(*) FROM app_version WHERE deprecated=0 HAVING COUNT(*)>99"},
    {"apps_of_one_version", "SELECT COUNT(*) FROM app WHERE deprecated=0 AND homogeneous_app_version<>0"},
    {"apps_not_cpu_intensive", "SELECT COUNT(*) FROM app WHERE deprecated=0 AND non_cpu_intensive<>0"},
    {"apps_with_locality", "SELECT COUNT(*) FROM app WHERE deprecated=0 AND locality_scheduling<>0"},
    {"apps_with_size_classes", "SELECT COUNT(*) FROM app WHERE deprecated=0 AND n_size_classes>1"},
    {"apps_of_weight_zero", "SELECT COUNT(*) FROM app WHERE deprecated=0 AND weight=0"},
    {"buda", "SELECT COUNT(*) FROM app WHERE deprecated=0 AND name='buda'"},
};

}  // namespace

std::vector<std::string> move_survey_ids() {
    std::vector<std::string> ids;
    for (const Question& question : kQuestions) ids.emplace_back(question.id);
    return ids;
}

MoveSurvey survey_for_move(Database& db) {
    MoveSurvey survey;
    for (const Question& question : kQuestions) {
        try {
            Rows rows = db.query(Sql(question.sql));
            if (rows.next() && rows.i64(0) > 0) survey.counts[question.id] = rows.i64(0);
        } catch (const DbError& error) {
            if (error.kind() == DbError::Kind::kCantConnect || error.kind() == DbError::Kind::kLost) throw;
            survey.not_counted.emplace_back(question.id);
        }
    }
    try {
        Rows rows = db.query(
            Sql("SELECT DISTINCT result_template_file FROM workunit WHERE id>(SELECT MAX(id)-100000 FROM workunit) AND "
                "assimilate_state=0 LIMIT 1000"));
        while (rows.next()) survey.result_templates.push_back(rows.text(0));
    } catch (const DbError& error) {
        if (error.kind() == DbError::Kind::kCantConnect || error.kind() == DbError::Kind::kLost) throw;
        survey.not_counted.emplace_back("missing_template");
    }
    return survey;
}

}  // namespace sluice
