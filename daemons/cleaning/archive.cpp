// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/cleaning/archive.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sstream>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/own_host.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"

extern char** environ;

namespace sluice {
namespace {

constexpr std::array<const char*, 4> kNames{"wu_archive", "result_archive", "result_index", "wu_index"};
constexpr const char* kMark = ".open_";
constexpr std::array<const char*, 3> kEndings{".xml", ".xml.gz", ".xml"};
bool is_archive(std::size_t file) { return file < 2; }

[[noreturn]] void fail(const fs::path& path) { throw FileError(path.string() + ": " + file_problem(errno, path)); }

/// Rows are deleted next: unlike sync_folder(), it throws where the folder can't be synced.
void require_synced(const fs::path& folder) {
    const OwnedFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0 || ::fsync(fd.get()) != 0) fail(folder);
}

void make_folder(const fs::path& folder, mode_t mode) {
    if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) fail(folder);
}

/// Of this start of the machine, whatever container we are in.
std::string boot_id() {
    std::string id = std::string(trim(read_file("/proc/sys/kernel/random/boot_id").value_or("")));
    return id.empty() ? "-" : id;
}
std::string host_name() {
    const std::string name = own_host_name();
    return name.empty() ? "-" : name;
}

/// Of a process on another machine nothing can be proved: it is dead when it has not touched its mark for two days.
bool may_live(const ProcessId& process, const std::string& boot, const std::string& host, const fs::path& mark) {
    constexpr std::int64_t kSilent = 2 * 86400;
    if (boot == boot_id()) return is_alive(process);
    if (host == host_name()) return false;  // this machine was started anew
    struct stat info {};
    return ::stat(mark.c_str(), &info) == 0 && info.st_mtime + kSilent > ::time(nullptr);
}

/// A complete gzip member.
std::string gzip(const std::string& text) {
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw FileError("zlib does not start");
    std::string packed(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    const int status = deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    if (status != Z_STREAM_END) throw FileError("zlib could not compress a page");
    return packed;
}

/// One element on a line of its own.
class Record {
  public:
    explicit Record(const char* name) : name_(name) { text_ = fmt::format("<{}>\n", name); }
    template <typename Integer>
    Record& i(const char* tag, Integer value) {
        return line(tag, std::to_string(static_cast<std::int64_t>(value)));
    }
    Record& e(const char* tag, double value) { return line(tag, fmt::format("{:.15e}", value)); }
    Record& f(const char* tag, double value) { return line(tag, fmt::format("{:f}", value)); }
    Record& s(const char* tag, const std::string& value) { return line(tag, value); }
    std::string end() && { return std::move(text_) + "</" + name_ + ">\n"; }

  private:
    Record& line(const char* tag, const std::string& value) {
        text_.append("  <").append(tag).append(">").append(value).append("</").append(tag).append(">\n");
        return *this;
    }
    const char* name_;
    std::string text_;
};

}  // namespace

std::string archive_escape(const std::string& text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else if (text.compare(i, 3, "]]>") == 0)
            out += "]]&gt;", i += 2;
        else if (c > 127 || c == '\t' || c == '\n' || c == '\r')
            out += fmt::format("&#{};", c);
        else if (c >= 32)
            out += text[i];
    }
    return out;
}

std::string workunit_record(const PurgedWorkunit& workunit) {
    const Workunit& w = workunit.row;
    Record r("workunit_archive");
    r.i("id", w.id).i("create_time", w.create_time).i("appid", w.appid).s("name", w.name).s("xml_doc", w.xml_doc);
    r.i("batch", w.batch).e("rsc_fpops_est", w.rsc_fpops_est).e("rsc_fpops_bound", w.rsc_fpops_bound);
    r.e("rsc_memory_bound", w.rsc_memory_bound).e("rsc_disk_bound", w.rsc_disk_bound);
    r.i("need_validate", w.need_validate).i("canonical_resultid", w.canonical_resultid);
    r.e("canonical_credit", w.canonical_credit).i("transition_time", w.transition_time).i("delay_bound", w.delay_bound);
    r.i("error_mask", w.error_mask)
        .i("file_delete_state", w.file_delete_state)
        .i("assimilate_state", w.assimilate_state);
    r.i("hr_class", w.hr_class).f("opaque", w.opaque).i("min_quorum", w.min_quorum);
    r.i("target_nresults", w.target_nresults).i("max_error_results", w.max_error_results);
    r.i("max_total_results", w.max_total_results).i("max_success_results", w.max_success_results);
    r.s("result_template_file", w.result_template_file).i("priority", w.priority).s("mod_time", workunit.mod_time);
    return std::move(r).end();
}

std::string result_record(const PurgedResult& result) {
    const Result& x = result.row;
    Record r("result_archive");
    r.i("id", x.id).i("create_time", x.create_time).i("workunitid", x.workunitid).i("server_state", x.server_state);
    r.i("outcome", x.outcome).i("client_state", x.client_state).i("hostid", x.hostid).i("userid", x.userid);
    r.i("report_deadline", x.report_deadline).i("sent_time", x.sent_time).i("received_time", x.received_time);
    r.s("name", x.name).e("cpu_time", x.cpu_time).s("xml_doc_in", x.xml_doc_in).s("xml_doc_out", x.xml_doc_out);
    r.s("stderr_out", archive_escape(x.stderr_out)).i("batch", x.batch).i("file_delete_state", x.file_delete_state);
    r.i("validate_state", x.validate_state).e("claimed_credit", x.claimed_credit).e("granted_credit", x.granted_credit);
    r.f("opaque", x.opaque).i("random", x.random).i("app_version_num", x.app_version_num);
    r.i("app_version_id", x.app_version_id).i("appid", x.appid).i("exit_status", x.exit_status).i("teamid", x.teamid);
    r.i("priority", x.priority).s("mod_time", result.mod_time);
    return std::move(r).end();
}

std::string index_line(Id id, std::int64_t time, const std::string& name) {
    return fmt::format("{}     {}    {}\n", id, time, name);
}

ArchiveSet::ArchiveSet(const ArchiveOptions& options, std::int64_t now)
    : compression_(options.compression), daily_(options.daily_folder) {
    make_folder(options.folder, 0771);
    for (std::int64_t time = now;; ++time) {
        fs::path folder = options.folder;
        if (options.daily_folder) folder /= fmt::format("{:%Y_%m_%d}", fmt::gmtime(static_cast<std::time_t>(time)));
        if (options.daily_folder) make_folder(folder, 0775);
        // Of this process alone: another one may open a set in the same second.
        mark_ = options.folder / fmt::format("{}{}_{}", kMark, time, ::getpid());
        if (is_free(folder, time)) break;
    }
    try {
        open_files();
    } catch (...) {
        discard();  // nobody would look at the mark of a process that lives
        throw;
    }
}

/// False: a set of that second is there.
bool ArchiveSet::is_free(const fs::path& folder, std::int64_t time) {
    if (fs::exists(mark_)) return false;
    time_ = time;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const std::string name = fmt::format("{}_{}", kNames[i], time);
        for (const char* ending : {".xml", ".xml.gz", ".xml.zip"})
            if (fs::exists(folder / (name + ending))) return false;
        files_[i] = {folder / (name + kEndings[static_cast<std::size_t>(compression_)])};
    }
    return true;
}

void ArchiveSet::open_files() {
    // The mark comes first: what is not in it, recovery would not find.
    keep({});
    for (File& file : files_) {
        file.fd = OwnedFd(::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0664));
        if (file.fd.get() < 0) fail(file.path);
    }
    require_synced(files_[0].path.parent_path());
    for (const File& file : files_) log_normal("Opening archive {}", file.path.string());
    for (std::size_t i = 0; i < files_.size(); ++i)
        if (is_archive(i)) append(files_[i], "<archive>\n");
    keep({});
}

/// Nothing is in them, perhaps not even their frame.
void ArchiveSet::discard() {
    std::error_code ignored;
    for (const File& file : files_)
        if (file.fd.get() >= 0) fs::remove(file.path, ignored);
    fs::remove(mark_, ignored);
}

void ArchiveSet::append(File& file, const std::string& text) const {
    // What an attempt that failed has left behind the end goes first.
    if (::ftruncate(file.fd.get(), file.length) != 0 || ::lseek(file.fd.get(), file.length, SEEK_SET) < 0)
        fail(file.path);
    const std::string bytes = compression_ == ArchiveCompression::kGzip ? gzip(text) : text;
    if (!write_all(file.fd.get(), bytes) || ::fsync(file.fd.get()) != 0) fail(file.path);
    file.length += static_cast<std::int64_t>(bytes.size());
}

void ArchiveSet::keep(const std::vector<Id>& pending) {
    const ProcessId me = this_process();
    std::string text = fmt::format("process {} {} {}\ncompression {}\nworkunits {}\n", me.pid, me.start_ticks,
                                   boot_id() + " " + host_name(), static_cast<int>(compression_), workunits_);
    for (const File& file : files_)
        text += fmt::format("file {} {}\n", file.length, file.path.lexically_relative(mark_.parent_path()).string());
    for (const Id id : pending) text += fmt::format("pending {}\n", id);
    write_file_atomically(mark_, text + "end\n", 0600);
    pending_ = pending;
}

void ArchiveSet::add(const std::vector<PurgedWorkunit>& page) {
    std::array<std::string, 4> texts;
    std::vector<Id> ids;
    for (const PurgedWorkunit& w : page) {
        for (const PurgedResult& r : w.results) {
            texts[1] += result_record(r);
            texts[2] += index_line(r.row.id, time_, r.row.name);
        }
        texts[0] += workunit_record(w);
        texts[3] += index_line(w.row.id, time_, w.row.name);
        ids.push_back(w.row.id);
    }
    std::array<std::int64_t, 4> before{};
    for (std::size_t i = 0; i < files_.size(); ++i) before[i] = files_[i].length;
    const std::int64_t workunits_before = workunits_;
    try {
        for (std::size_t i = 0; i < files_.size(); ++i)
            if (!texts[i].empty()) append(files_[i], texts[i]);
        workunits_ += static_cast<std::int64_t>(page.size());
        keep(ids);
    } catch (...) {
        // A full disk: all four are as they were, whatever some of them took.
        for (std::size_t i = 0; i < files_.size(); ++i) files_[i].length = before[i];
        workunits_ = workunits_before;
        throw;
    }
}

void ArchiveSet::page_is_deleted() { keep({}); }

void ArchiveSet::is_in_use() const { ::utimensat(AT_FDCWD, mark_.c_str(), nullptr, 0); }

bool ArchiveSet::is_of_an_earlier_day(std::int64_t now) const {
    constexpr std::int64_t kDay = 86400;
    return daily_ && time_ / kDay < now / kDay;
}

void ArchiveSet::close() {
    std::error_code ignored;
    if (workunits_ == 0) return discard();  // killed before the first page was kept
    for (std::size_t i = 0; i < files_.size(); ++i) {
        if (files_[i].fd.get() < 0) continue;  // it was never made
        const std::int64_t records = files_[i].length;
        append(files_[i], is_archive(i) ? "</archive>\n" : "");
        files_[i].length = records;  // a second attempt, after a failure below, writes the end anew
        if (compression_ == ArchiveCompression::kZip) make_zip(files_[i]);
        log_normal("Closed archive file {} containing records of {} workunits",
                   files_[i].path.string() + (compression_ == ArchiveCompression::kZip ? ".zip" : ""), workunits_);
        files_[i].fd = OwnedFd();
    }
    fs::remove(mark_, ignored);
    log_normal("Closed archive files with {} workunits", workunits_);
}

/// FILE becomes FILE.zip; its member is called "-", as in upstream's pipe.
void ArchiveSet::make_zip(const File& file) const {
    const fs::path part = file.path.string() + ".zip.part", zip = file.path.string() + ".zip";
    const OwnedFd in(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    const OwnedFd out(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0664));
    if (in.get() < 0) fail(file.path);
    if (out.get() < 0) fail(part);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
    std::array<std::string, 4> words{"zip", "-q", "-", "-"};
    std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, "zip", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0 || wait_for_child(child) != 0)
        throw FileError("the program zip could not make " + zip.string() + (error == ENOENT ? ": install it" : ""));
    if (::fsync(out.get()) != 0 || ::rename(part.c_str(), zip.c_str()) != 0) fail(zip);
    require_synced(zip.parent_path());
    std::error_code ignored;
    fs::remove(file.path, ignored);
}

std::unique_ptr<ArchiveSet> ArchiveSet::read(const fs::path& mark) {
    const auto text = read_file(mark);
    if (!text) return nullptr;
    std::unique_ptr<ArchiveSet> set(new ArchiveSet());
    set->mark_ = mark;
    std::istringstream lines(*text);
    std::string word;
    ProcessId process;
    std::string boot, host;
    std::size_t files = 0;
    while (lines >> word && word != "end") {
        if (word == "process")
            lines >> process.pid >> process.start_ticks >> boot >> host;
        else if (word == "compression") {
            int compression = 0;
            lines >> compression;
            set->compression_ = static_cast<ArchiveCompression>(compression);
        } else if (word == "workunits")
            lines >> set->workunits_;
        else if (word == "file" && files < set->files_.size()) {
            File& file = set->files_[files++];
            lines >> file.length;
            std::getline(lines >> std::ws, word);
            file.path = mark.parent_path() / word;  // release 0.2.0 wrote the whole path
        } else if (word == "pending") {
            Id id = 0;
            lines >> id;
            set->pending_.push_back(id);
        }
    }
    if (word != "end" || files != set->files_.size())
        throw FileError(mark.string() +
                        " can't be read: it says how far archives are complete; look at them, then remove it");
    return may_live(process, boot, host, mark) ? nullptr : std::move(set);
}

/// Its process may have died when it found that another one opened a set in the same second. Only a second mark, which
/// has the lengths of the frames, says that all files are its own.
bool ArchiveSet::may_be_anothers(std::size_t file, const std::vector<fs::path>& marks) const {
    if (files_[0].length > 0) return false;
    const std::uintmax_t frame = is_archive(file) ? 100 : 0;  // bytes at most, also compressed
    const fs::path& path = files_[file].path;
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(path, gone);
    const std::string name = " " + path.lexically_relative(mark_.parent_path()).string() + "\n",
                      whole = " " + path.string() + "\n";
    return (!gone && size > frame) || std::ranges::any_of(marks, [&](const fs::path& mark) {
               const std::string text = mark == mark_ ? "" : read_file(mark).value_or("");
               return text.find(name) != text.npos || text.find(whole) != text.npos;
           });
}

std::vector<std::unique_ptr<ArchiveSet>> ArchiveSet::left_open(const fs::path& folder) {
    std::vector<std::unique_ptr<ArchiveSet>> sets;
    std::vector<fs::path> marks;
    std::error_code no_folder;
    for (const auto& entry : fs::directory_iterator(folder, no_folder))
        if (entry.path().filename().string().starts_with(kMark)) marks.push_back(entry.path());
    for (const fs::path& mark : marks) {
        std::unique_ptr<ArchiveSet> set = read(mark);
        if (!set) continue;
        for (std::size_t i = 0; i < set->files_.size(); ++i) {
            if (set->may_be_anothers(i, marks)) continue;
            File& file = set->files_[i];
            file.fd = OwnedFd(::open(file.path.c_str(), O_WRONLY | O_CLOEXEC));
            if (file.fd.get() < 0 && errno != ENOENT) fail(file.path);  // not made yet, or a zip by now
        }
        log_normal("The archives of {} were not closed: they are complete up to {} workunits", mark.string(),
                   set->workunits_);
        sets.push_back(std::move(set));
    }
    return sets;
}

}  // namespace sluice
