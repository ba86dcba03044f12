// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/statistics/db_dump.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "daemons/statistics/dump_folder.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/daemon.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr const char* kLastFile = "db_dump.xml";  ///< a dump that has it is whole

struct TableWords {
    const char* name;     ///< in the specification
    const char* element;  ///< around the records
};
constexpr std::array<TableWords, 5> kTables{{{"user", "users"},
                                             {"team", "teams"},
                                             {"host", "hosts"},
                                             {"user_deleted", "users_deleted"},
                                             {"host_deleted", "hosts_deleted"}}};

/// What XML can't hold in any form: control characters, and two code points that are no characters.
bool is_for_xml(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    return (first >= 32 || first == '\t' || first == '\n' || first == '\r') && character != "\xef\xbf\xbe" &&
           character != "\xef\xbf\xbf";
}

/// What people named themselves, so that every reader of XML takes it. A byte that is not UTF-8 becomes U+FFFD.
std::string clean(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_sequence(text);
        if (length == 0)
            out += "\xef\xbf\xbd";
        else if (is_for_xml(text.substr(0, length)))
            out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::string escaped(const std::string& dirty) {
    const std::string text = clean(dirty);
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else if (text.compare(i, 3, "]]>") == 0)
            out += "]]&gt;", i += 2;
        else if (c == '\t' || c == '\n' || c == '\r')
            out += fmt::format("&#{};", static_cast<int>(c));
        else
            out += c;
    }
    return out;
}

std::string attribute(const std::string& text) {
    std::string out = escaped(text);
    replace_all(out, "\"", "&quot;");
    return out;
}

/// Text in a CDATA section, whatever stands in it.
std::string cdata(const std::string& text) {
    std::string out = clean(text);
    for (std::size_t at = 0; (at = out.find("]]>", at)) != out.npos; at += 15) out.replace(at, 3, "]]]]><![CDATA[>");
    return "<![CDATA[" + out + "]]>";
}

/// A file of the dump, compressed or not.
class DumpFile {
  public:
    DumpFile(fs::path path, bool gzip) : path_(std::move(path)) {
        if (gzip) path_ += ".gz";
        fd_ = OwnedFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        if (fd_.get() >= 0) file_ = gzdopen(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0), gzip ? "wb6" : "wbT");
        if (file_ == nullptr) fail();
    }
    DumpFile(const DumpFile&) = delete;
    DumpFile& operator=(const DumpFile&) = delete;
    ~DumpFile() {
        if (file_ != nullptr) gzclose(file_);
    }
    void write(const std::string& text) {
        if (!text.empty() && gzwrite(file_, text.data(), static_cast<unsigned>(text.size())) <= 0) fail();
    }
    /// What is published is on the disk.
    void close() {
        if (gzclose(std::exchange(file_, nullptr)) != Z_OK || ::fsync(fd_.get()) != 0) fail();
    }

  private:
    [[noreturn]] void fail() {
        throw FileError(fmt::format("{} can't be written: {}", path_.string(), file_problem(errno, path_)));
    }
    fs::path path_;
    OwnedFd fd_;
    gzFile file_ = nullptr;
};

/// An output of an enumeration: one file, or one for each so many records.
class OutputFiles {
  public:
    OutputFiles(const DumpEnumeration& enumeration, const DumpOutput& output, const fs::path& folder)
        : enumeration_(enumeration), output_(output), folder_(folder) {
        if (output.recs_per_file == 0) open(enumeration.filename);
    }
    void add(const std::string& record) {
        if (output_.recs_per_file > 0 && n_ % output_.recs_per_file == 0) {
            close();
            open(fmt::format("{}_{}", enumeration_.filename, n_ / output_.recs_per_file));
        }
        ++n_;
        file_->write(record);
    }
    void close() {
        if (!file_) return;
        file_->write(fmt::format("</{}>\n", element()));
        file_->close();
        file_.reset();
    }
    bool detail() const { return output_.detail; }

  private:
    const char* element() const { return kTables[static_cast<std::size_t>(enumeration_.table)].element; }
    void open(const std::string& name) {
        file_ = std::make_unique<DumpFile>(folder_ / name, output_.gzip);
        file_->write(fmt::format("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<{}>\n", element()));
    }
    const DumpEnumeration& enumeration_;
    const DumpOutput& output_;
    fs::path folder_;
    std::unique_ptr<DumpFile> file_;
    std::int64_t n_ = 0;
};

DumpOutput read_output(XmlReader& xml, const std::string& filename, std::vector<std::string>& warnings) {
    DumpOutput output;
    while (xml.next_child("output")) {
        if (xml.name() == "recs_per_file") {
            output.recs_per_file =
                static_cast<int>(std::clamp<std::int64_t>(xml.integer().value_or(0), 0, 1'000'000'000));
        } else if (xml.name() == "detail") {
            output.detail = xml.boolean().value_or(false);
        } else if (xml.name() == "compression") {
            const std::string how = xml.text_cut(60);
            output.gzip = how == "gzip" || how == "zip";
            if (how == "zip") warnings.push_back(filename + ": upstream's zip never worked; it is written with gzip");
            if (!output.gzip)
                warnings.push_back(fmt::format(
                    "{}: <compression>{}</compression> is unknown; the file is not compressed", filename, how));
        } else {
            warnings.push_back(fmt::format("{}: <{}> of an output is unknown", filename, xml.name()));
            xml.skip();
        }
    }
    return output;
}

/// nullopt: it is left out.
std::optional<DumpEnumeration> read_enumeration(XmlReader& xml, std::vector<std::string>& warnings) {
    DumpEnumeration e;
    std::string table, sort;
    while (xml.next_child("enumeration")) {
        if (xml.name() == "table")
            table = xml.text_cut(60);
        else if (xml.name() == "filename")
            e.filename = xml.text_cut(200);
        else if (xml.name() == "sort")
            sort = xml.text_cut(60);
        else if (xml.name() == "output")
            e.outputs.push_back(read_output(xml, e.filename, warnings));
        else
            xml.skip();
    }
    const auto words = std::ranges::find_if(kTables, [&](const TableWords& t) { return table == t.name; });
    if (words == kTables.end() || !is_valid_file_name(e.filename) || e.filename.find('/') != e.filename.npos) {
        warnings.push_back(
            fmt::format("the enumeration of table '{}' into '{}' is left out: {}", table, e.filename,
                        words == kTables.end() ? "there is no such table" : "that is no name of a file"));
        return std::nullopt;
    }
    e.table = static_cast<DumpTable>(words - kTables.begin());
    e.order = sort == "id"              ? DumpOrder::kId
              : sort == "total_credit"  ? DumpOrder::kTotalCredit
              : sort == "expavg_credit" ? DumpOrder::kRecentCredit
                                        : DumpOrder::kNone;
    for (DumpOutput& output : e.outputs) {
        if (output.recs_per_file == 0 || e.order == DumpOrder::kId) continue;
        warnings.push_back(e.filename + ": <recs_per_file> needs <sort>id</sort>; no file is written");
    }
    std::erase_if(e.outputs, [&](const DumpOutput& o) { return o.recs_per_file > 0 && e.order != DumpOrder::kId; });
    return e;
}

/// All that one dump has in hand.
struct Dump {
    const DumpSpec& spec;
    const DumpOptions& options;
    DumpStore& store;
    bool consenting;

    void enumerate(const DumpEnumeration& e) const;
    void badge_files(bool teams) const;
    void work_file(bool teams) const;
    std::string members(Id team) const;
};

std::string Dump::members(Id team) const {
    std::string text;
    store.users(DumpOrder::kId, consenting, team, [&](const DumpedUser& user) { text += user_element(user, options); });
    return text;
}

void Dump::enumerate(const DumpEnumeration& e) const {
    std::vector<OutputFiles> files;
    files.reserve(e.outputs.size());
    for (const DumpOutput& output : e.outputs) files.emplace_back(e, output, spec.output_dir);
    if (files.empty()) return;
    const auto each = [&](const auto& record) {
        if (stop_requested()) throw Stopped();
        for (OutputFiles& file : files) file.add(record(file.detail()));
    };
    const auto deleted = [&](const char* element, const char* cpid) {
        return [&, element, cpid](const DeletedRow& row) {
            each([&](bool) {
                return fmt::format("<{0}>\n    <id>{1}</id>\n    <{2}>{3}</{2}>\n</{0}>\n", element, row.id, cpid,
                                   escaped(row.cpid));
            });
        };
    };
    switch (e.table) {
        case DumpTable::kUser:
            store.users(e.order, consenting, 0,
                        [&](const DumpedUser& user) { each([&](bool) { return user_element(user, options); }); });
            break;
        case DumpTable::kHost:
            store.hosts(e.order, consenting, [&](const DumpedHost& host) {
                if (!host.owner_is_there)
                    log_warning("host {}: its owner, user {}, is not there", host.id, host.userid);
                each([&](bool detail) { return host_element(host, detail); });
            });
            break;
        case DumpTable::kTeam: {
            // Whole first: members are asked for meanwhile, on the same connection.
            std::vector<DumpedTeam> teams;
            store.teams(e.order, consenting, [&](const DumpedTeam& team) { teams.push_back(team); });
            for (const DumpedTeam& team : teams)
                each([&](bool detail) { return team_element(team, detail ? members(team.id) : ""); });
            break;
        }
        case DumpTable::kUserDeleted: store.deleted_users(deleted("user", "cpid")); break;
        case DumpTable::kHostDeleted: store.deleted_hosts(deleted("host", "host_cpid")); break;
    }
    for (OutputFiles& file : files) file.close();
}

void Dump::badge_files(bool teams) const {
    const char* kind = teams ? "team" : "user";
    DumpFile file(spec.output_dir / fmt::format("badge_{}", kind), true);
    file.write(fmt::format("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<badge_{}s>\n", kind));
    store.badge_holders(teams, consenting, [&](const BadgeHolder& holder) {
        file.write(
            fmt::format(" <badge_{0}>\n    <{0}_id>{1}</{0}_id>\n    <badge_id>{2}</badge_id>\n"
                        "    <create_time>{3:.0f}</create_time>\n </badge_{0}>\n",
                        kind, holder.owner, holder.badge, holder.create_time));
    });
    file.write(fmt::format("</badge_{}s>\n", kind));
    file.close();
}

/// user_work.gz or team_work.gz: each app is a subproject.
void Dump::work_file(bool teams) const {
    const char* kind = teams ? "team" : "user";
    DumpFile file(spec.output_dir / fmt::format("{}_work", kind), true);
    file.write(fmt::format("<{}s>\n", kind));
    Id owner = 0;
    const auto end = [&] {
        if (owner != 0) file.write(fmt::format("</{}>\n", kind));
    };
    store.credit_by_app(teams, consenting, [&](const CreditByApp& c) {
        if (stop_requested()) throw Stopped();
        if (c.owner != owner) {
            end();
            file.write(fmt::format("<{}>\n    <id>{}</id>\n", kind, owner = c.owner));
        }
        if (c.total == 0) return;
        file.write(fmt::format(
            "    <subproject name=\"{}\">\n        <workunits>{}</workunits>\n        <credit>{:.14g}</credit>\n"
            "        <expavg_credit>{:.14g}</expavg_credit>\n    </subproject>\n",
            attribute(c.app), c.jobs, c.total, c.recent));
    });
    end();
    file.write(fmt::format("</{}s>\n", kind));
    file.close();
}

void write_tables(const Dump& dump, const std::vector<DumpedBadge>& badges, const Clock& clock) {
    const DumpSpec& spec = dump.spec;
    DumpStore& store = dump.store;
    const auto dumped = [&](DumpTable table) {
        return std::ranges::any_of(spec.enumerations, [table](const DumpEnumeration& e) { return e.table == table; });
    };
    const DumpTotals totals = store.totals();
    DumpFile file(spec.output_dir / "tables.xml", false);
    file.write(fmt::format("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<tables>\n    <update_time>{}</update_time>\n",
                           clock.now_sec()));
    if (dump.options.credit_by_app) file.write("    <credit_by_app/>\n");
    const auto total = [&](const char* tag, std::int64_t n, DumpTable table) {
        if (n != 0 && dumped(table)) file.write(fmt::format("    <{0}>{1}</{0}>\n", tag, n));
    };
    total("nusers_total", totals.users, DumpTable::kUser);
    total("nteams_total", totals.teams, DumpTable::kTeam);
    total("nhosts_total", totals.hosts, DumpTable::kHost);
    total("nusers_deleted_total", totals.users_deleted, DumpTable::kUserDeleted);
    total("nhosts_deleted_total", totals.hosts_deleted, DumpTable::kHostDeleted);
    if (totals.total_credit != 0 && dumped(DumpTable::kUser))
        file.write(fmt::format("    <total_credit>{:f}</total_credit>\n", totals.total_credit));
    file.write("    <applications>\n");
    for (const std::string& name : store.app_names())
        file.write(
            fmt::format("        <application>\n            <name>{}</name>\n        </application>\n", escaped(name)));
    file.write("    </applications>\n    <badges>\n");
    for (const DumpedBadge& b : badges)
        file.write(
            fmt::format("       <badge>\n           <id>{}</id>\n           <name>{}</name>\n"
                        "           <title>{}</title>\n           <image_url>{}</image_url>\n       </badge>\n",
                        b.id, escaped(b.name), escaped(b.title), escaped(b.image_url)));
    file.write("    </badges>\n</tables>\n");
    file.close();
}

/// FILE, FILE.gz, FILE_N or FILE_N.gz of an enumeration, or a file that each dump may write.
bool is_of_a_dump(const DumpSpec& spec, std::string name) {
    if (name == "tables.xml" || name == kLastFile) return true;
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    if (name == "badge_user" || name == "badge_team" || name == "user_work" || name == "team_work") return true;
    return std::ranges::any_of(spec.enumerations, [&](const DumpEnumeration& e) {
        if (!name.starts_with(e.filename)) return false;
        const std::string page = name.substr(e.filename.size());
        return page.empty() ||
               (page.size() > 1 && page[0] == '_' && page.find_first_not_of("0123456789", 1) == page.npos);
    });
}

/// A run that was killed left them. This run may not write them all anew, and they name accounts that are gone by now.
void remove_files_of_last_run(const DumpSpec& spec) {
    std::vector<fs::path> left{spec.output_dir / kLastFile};  // first: while it is there, the folder counts as whole
    for (const auto& entry : fs::directory_iterator(spec.output_dir))
        if (is_of_a_dump(spec, entry.path().filename().string())) left.push_back(entry.path());
    for (const fs::path& file : left)
        if (::unlink(file.c_str()) != 0 && errno != ENOENT)
            throw FileError(file.string() + ": " + file_problem(errno, file));
}

fs::path base_of_old(const DumpSpec& spec) {
    return spec.archive_dir.empty() ? spec.final_output_dir : spec.archive_dir / "stats";
}

DumpFolders folders_of(const DumpSpec& spec, std::int64_t now) {
    return {spec.output_dir, spec.final_output_dir, old_folder_name(base_of_old(spec), now)};
}

}  // namespace

DumpSpec parse_dump_spec(const std::string& text) {
    DumpSpec spec;
    XmlReader xml(text);
    bool whole = false;
    for (auto token = xml.next(); !whole && token != XmlReader::Kind::kEof; token = xml.next()) {
        whole = token == XmlReader::Kind::kEnd && xml.name() == "boinc_db_dump_spec";
        if (token != XmlReader::Kind::kStart) continue;
        if (xml.name() == "output_dir")
            spec.output_dir = xml.text_cut(1000);
        else if (xml.name() == "final_output_dir")
            spec.final_output_dir = xml.text_cut(1000);
        else if (xml.name() == "archive_dir")
            spec.archive_dir = xml.text_cut(1000);
        else if (xml.name() == "enumeration")
            if (auto enumeration = read_enumeration(xml, spec.warnings))
                spec.enumerations.push_back(std::move(*enumeration));
    }
    if (spec.output_dir.empty() || spec.final_output_dir.empty())
        throw ConfigError("<output_dir> and <final_output_dir> are required in a db_dump specification");
    // A file that was cut names only some of the tables: what it publishes would take the place of all.
    if (!whole)
        throw ConfigError("the db_dump specification ends without </boinc_db_dump_spec>; is the file complete?");
    return spec;
}

std::string user_element(const DumpedUser& u, const DumpOptions& options) {
    std::string text = fmt::format(
        "<user>\n <id>{}</id>\n <name>{}</name>\n <create_time>{}</create_time>\n <total_credit>{:f}</total_credit>\n"
        " <expavg_credit>{:f}</expavg_credit>\n <expavg_time>{:f}</expavg_time>\n <cpid>{}</cpid>\n",
        u.id, escaped(u.name), u.create_time, u.total_credit, u.expavg_credit, u.expavg_time,
        md5_hex(u.cross_project_id + u.email_addr));
    if (options.user_country && !u.country.empty()) text += fmt::format(" <country>{}</country>\n", escaped(u.country));
    if (options.user_url && !u.url.empty()) text += fmt::format(" <url>{}</url>\n", escaped(u.url));
    if (u.teamid != 0) text += fmt::format(" <teamid>{}</teamid>\n", u.teamid);
    if (u.has_profile) text += " <has_profile/>\n";
    return text + "</user>\n";
}

std::string host_element(const DumpedHost& h, bool detail) {
    std::string text = fmt::format("<host>\n    <id>{}</id>\n", h.id);
    if (detail && h.owner_is_there && h.show_owner) text += fmt::format("    <userid>{}</userid>\n", h.userid);
    text += fmt::format(
        "    <total_credit>{:f}</total_credit>\n    <expavg_credit>{:f}</expavg_credit>\n    <expavg_time>{:f}</expavg_time>\n"
        "    <p_vendor>{}</p_vendor>\n    <p_model>{}</p_model>\n    <os_name>{}</os_name>\n    <os_version>{}</os_version>\n"
        "    <misc>{}</misc>\n",
        h.total_credit, h.expavg_credit, h.expavg_time, escaped(h.p_vendor), escaped(h.p_model), escaped(h.os_name),
        escaped(h.os_version), cdata(h.misc));
    if (!detail) return text + "</host>\n";
    text += fmt::format(
        "  <create_time>{}</create_time>\n  <rpc_time>{}</rpc_time>\n  <timezone>{}</timezone>\n  <ncpus>{}</ncpus>\n",
        h.create_time, h.rpc_time, h.timezone, h.ncpus);
    const std::pair<const char*, double> numbers[] = {{"p_fpops", h.p_fpops},
                                                      {"p_iops", h.p_iops},
                                                      {"p_membw", h.p_membw},
                                                      {"m_nbytes", h.m_nbytes},
                                                      {"m_cache", h.m_cache},
                                                      {"m_swap", h.m_swap},
                                                      {"d_total", h.d_total},
                                                      {"d_free", h.d_free},
                                                      {"n_bwup", h.n_bwup},
                                                      {"n_bwdown", h.n_bwdown},
                                                      {"avg_turnaround", h.avg_turnaround},
                                                      {"credit_per_cpu_sec", h.credit_per_cpu_sec}};
    for (const auto& [tag, value] : numbers) text += fmt::format("  <{0}>{1:f}</{0}>\n", tag, value);
    return text + fmt::format("  <host_cpid>{}</host_cpid>\n</host>\n", escaped(h.host_cpid));
}

std::string team_element(const DumpedTeam& t, const std::string& members) {
    std::string text = fmt::format(
        "<team>\n <id>{}</id>\n <type>{}</type>\n <name>{}</name>\n <userid>{}</userid>\n <total_credit>{:f}</total_credit>\n"
        " <expavg_credit>{:f}</expavg_credit>\n <expavg_time>{:f}</expavg_time>\n",
        t.id, t.type, escaped(t.name), t.userid, t.total_credit, t.expavg_credit, t.expavg_time);
    if (!t.founder_name.empty()) text += fmt::format("  <founder_name>{}</founder_name>\n", escaped(t.founder_name));
    text += fmt::format(" <create_time>{}</create_time>\n", t.create_time);
    if (!t.url.empty()) text += fmt::format(" <url>{}</url>\n", escaped(t.url));
    if (!t.name_html.empty()) text += fmt::format("<name_html>{}</name_html>\n", escaped(t.name_html));
    if (!t.description.empty()) text += fmt::format("<description>{}</description>\n", escaped(t.description));
    return text + fmt::format(" <country>{}</country>\n", escaped(t.country)) + members + "</team>\n";
}

bool dump_statistics(const DumpSpec& spec, const std::string& spec_text, const DumpOptions& options, DumpStore& store,
                     const Clock& clock) {
    for (const std::string& warning : spec.warnings) log_critical("{}", warning);
    std::error_code failed;
    if (spec.output_dir.has_parent_path()) fs::create_directories(spec.output_dir.parent_path(), failed);
    publish_what_a_killed_run_made(folders_of(spec, clock.now_sec()), kLastFile);
    if (::mkdir(spec.output_dir.c_str(), 0771) != 0 && errno != EEXIST)
        throw FileError(spec.output_dir.string() + ": " + file_problem(errno, spec.output_dir));
    remove_files_of_last_run(spec);
    const Dump dump{spec, options, store, store.needs_consent()};
    try {
        for (const DumpEnumeration& enumeration : spec.enumerations) dump.enumerate(enumeration);
        const std::vector<DumpedBadge> badges = store.badges();
        if (options.credit_by_app) dump.work_file(false), dump.work_file(true);
        write_tables(dump, badges, clock);
        if (!badges.empty()) dump.badge_files(false), dump.badge_files(true);
        write_file_atomically(spec.output_dir / kLastFile, spec_text);
    } catch (const Stopped&) {
        return false;
    } catch (const FileError& e) {
        remove_files_of_last_run(spec);  // a full disk needs the room
        throw FileError(std::string(e.what()) + "; the files of the last run stay");
    }
    publish_folder(folders_of(spec, clock.now_sec()));
    if (options.keep_old) remove_old_folders(base_of_old(spec), *options.keep_old, kLastFile);
    return true;
}

}  // namespace sluice
