// SPDX-License-Identifier: LGPL-3.0-or-later
// One write(2) a line on a descriptor opened for append: lines of concurrent CGI processes never mix. A line is in the
// file before the next statement runs, so a crash loses none. spdlog does the formatting and the time stamps.
#include "sluice/base/log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log_record.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

bool same_file(const struct stat& a, const struct stat& b) { return a.st_ino == b.st_ino && a.st_dev == b.st_dev; }

/// True if `path` holds another file than `fd`, or none; where this user may not look, nobody has moved it.
bool moved_away(int fd, const std::string& path) {
    struct stat open_file {
    }, there{};
    if (::fstat(fd, &open_file) != 0) return true;
    if (::stat(path.c_str(), &there) != 0) return errno == ENOENT || errno == ENOTDIR;
    return !same_file(open_file, there);
}

/// Where the file is that stderr goes to; empty if that is none (a terminal, a pipe) or has no name any more.
std::string file_of_stderr() {
    struct stat info {};
    if (::fstat(STDERR_FILENO, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink == 0) return "";
    std::error_code none;
    return std::filesystem::read_symlink("/proc/self/fd/2", none).string();
}

/// Programs of the web server's account and of the project's write the same logs: what one of them makes, the folder's
/// group can write.
void share_with_group(int fd, const std::string& path) {
    struct stat file {
    }, folder{};
    const std::string parent = std::filesystem::path(path).parent_path().string();
    if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != ::geteuid() ||
        ::stat(parent.c_str(), &folder) != 0)
        return;
    if (file.st_gid != folder.st_gid && ::fchown(fd, static_cast<uid_t>(-1), folder.st_gid) != 0) return;
    if ((file.st_mode & 0060) != 0060) ::fchmod(fd, (file.st_mode & 07777) | 0060);
}

std::string_view level_name(spdlog::level::level_enum level) {
    switch (level) {
        case spdlog::level::critical: return "critical";
        case spdlog::level::warn: return "warning";
        case spdlog::level::debug: return "debug";
        default: return "normal";
    }
}

/// Text of clients gets into log lines: a line break in it must not be able to forge a line.
std::string visible_text(std::string_view text) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        char c = text[at];
        const bool two_bytes = is_high_control(text, at);
        if (two_bytes) c = text[++at];
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (two_bytes || (byte < 32 && c != '\t') || byte == 127) {
            out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        } else {
            out += c;
        }
    }
    return out;
}

/// The last line of `lines` in which `text` stands, as a log of texts has it; "" if there is none.
std::string last_line_with(std::string_view lines, std::string_view text) {
    const auto at = lines.rfind(text);
    if (at == lines.npos) return "";
    const auto before = lines.rfind('\n', at);
    const std::string_view line = lines.substr(before == lines.npos ? 0 : before + 1);
    return as_text_line(line.substr(0, line.find('\n')));
}

std::string_view kind_text(spdlog::level::level_enum level) {
    switch (level) {
        case spdlog::level::critical: return " [CRITICAL] ";
        case spdlog::level::warn: return " [warning] ";
        case spdlog::level::debug: return " [debug] ";
        default: return " ";
    }
}

class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    ~LineSink() override { close_file(); }

    void open(const std::string& path) {
        const int fd = open_append(path);
        std::lock_guard lock(mutex_);
        close_file();
        path_ = path;
        fd_ = fd;
        know_stderr();
        to_journal_ = path.empty() && stderr_is_journal();
        // The web server's own log is not ours to follow, nor is a file of the admin's.
        std::error_code none;
        const auto folder = [](const std::string& file) { return std::filesystem::path(file).parent_path(); };
        follow_stderr_ = path.empty() || std::filesystem::equivalent(folder(path), folder(stderr_path_), none);
    }
    /// The old file stays in use if the new one can't be opened: better a line in the rotated file than none.
    void reopen() {
        std::string path;
        {
            std::lock_guard lock(mutex_);
            path = path_;
        }
        open(path);
    }
    void follow_rotation() {
        std::string path;
        {
            std::lock_guard lock(mutex_);
            path = path_;
        }
        // stderr first: open() asks where it goes to.
        if (follow_stderr_ && !stderr_path_.empty() && moved_away(STDERR_FILENO, stderr_path_)) move_stderr();
        if (!path.empty() && moved_away(fd_, path)) open_instead(path);
    }
    /// A line in a file that was moved is better than none. One in a file without a name is none.
    void open_instead(const std::string& path) {
        try {
            open(path);
        } catch (const FileError&) {
            std::lock_guard lock(mutex_);
            struct stat old {};
            if (::fstat(fd_, &old) != 0 || old.st_nlink == 0) close_file();
            throw;
        }
    }
    void start_copy() {
        std::lock_guard lock(mutex_);
        copy_.emplace();
    }
    /// Whether the end of the file has a line of that day with this text. What can't be read has none.
    bool has_lately(std::string_view period, std::string_view text) {
        constexpr off_t kPages = 256 << 10;
        std::lock_guard lock(mutex_);
        const std::string& path = path_.empty() ? stderr_path_ : path_;
        const OwnedFd fd(path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        struct stat file {};
        if (fd.get() < 0 || ::fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode)) return false;
        std::string end(static_cast<std::size_t>(std::min(file.st_size, kPages)), '\0');
        const ssize_t got = ::pread(fd.get(), end.data(), end.size(), file.st_size - static_cast<off_t>(end.size()));
        end.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        // The format may have changed since.
        return last_line_with(end, visible_text(text)).starts_with(period) ||
               last_line_with(end, json_text(text)).starts_with(period);
    }
    std::string take_copy() {
        std::lock_guard lock(mutex_);
        std::string lines = copy_.value_or("");
        copy_.reset();
        return lines;
    }

  protected:
    void sink_it_(const spdlog::details::log_msg& msg) override {
        spdlog::memory_buf_t line;
        formatter_->format(msg, line);
        // What can't be written (disk full, pipe closed) is dropped: logging must never end a program.
        const std::string_view text(line.data(), line.size());
        if (to_journal_)
            write_all(fd_, std::string(journal_priority(level_name(msg.level))).append(text));
        else
            write_all(fd_, text);
        if (copy_) copy_->append(text);
    }
    void flush_() override {}  // every line is written at once

  private:
    static int open_append(const std::string& path) {
        if (path.empty()) return STDERR_FILENO;
        const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
        if (fd < 0) {
            throw FileError("Can't open the log file " + path + ": " + std::strerror(errno) +
                            "; check that its folder exists and that this user may write there");
        }
        share_with_group(fd, path);
        return fd;
    }
    /// Its name is asked for once: a process that was forked after the file was moved would get the new name.
    void know_stderr() {
        struct stat now {};
        if (::fstat(STDERR_FILENO, &now) != 0) now = {};
        if (same_file(now, stderr_)) return;
        stderr_ = now;
        stderr_path_ = file_of_stderr();
    }
    void close_file() {
        if (fd_ != STDERR_FILENO) ::close(fd_);
        fd_ = STDERR_FILENO;
    }
    /// The name was found once, so it holds no symbolic link; one that stands there now is not ours to follow.
    void move_stderr() {
        struct stat old {
        }, out{};
        if (::fstat(STDERR_FILENO, &old) != 0) return;
        const int fd = ::open(stderr_path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                              static_cast<mode_t>(old.st_mode & 0777));
        if (fd < 0)
            throw FileError("Can't open the log file " + stderr_path_ + " anew: " + std::strerror(errno) +
                            "; going on in the file that was moved away");
        const bool stdout_too = ::fstat(STDOUT_FILENO, &out) == 0 && same_file(old, out);
        ::dup2(fd, STDERR_FILENO);
        if (stdout_too) ::dup2(fd, STDOUT_FILENO);
        if (::fstat(STDERR_FILENO, &stderr_) != 0) stderr_ = {};
        ::close(fd);
    }

    std::string path_;
    struct stat stderr_ {};  ///< the file whose name is stderr_path_
    std::string stderr_path_;
    bool follow_stderr_ = false, to_journal_ = false;
    std::optional<std::string> copy_;
    int fd_ = STDERR_FILENO;
};

/// Ten thousandths of a second, as upstream has them (spdlog knows milli- and microseconds).
class TenThousandths final : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& msg, const std::tm&, spdlog::memory_buf_t& out) override {
        const auto since = std::chrono::duration_cast<std::chrono::microseconds>(msg.time.time_since_epoch()).count();
        fmt::format_to(std::back_inserter(out), "{:04d}", since % 1000000 / 100);
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<TenThousandths>(); }
};

/// Of the whole process; may be empty.
std::string& part_of_log() {
    static auto* const part = new std::string;  // never destroyed: destructors of statics may still log
    return *part;
}

class TextFormatter final : public spdlog::formatter {
  public:
    explicit TextFormatter(bool with_pid)
        : with_pid_(with_pid), stamp_(std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc)) {
        stamp_->add_flag<TenThousandths>('*');
        stamp_->set_pattern(with_pid ? "%Y-%m-%d %H:%M:%S.%* UTC [PID=%-5P]%v" : "%Y-%m-%d %H:%M:%S.%* UTC%v");
    }
    void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& out) override {
        spdlog::details::log_msg whole = msg;
        std::string text(kind_text(msg.level));
        if (!part_of_log().empty()) text += part_of_log() + ": ";
        text += visible_text({msg.payload.data(), msg.payload.size()});
        whole.payload = text;
        stamp_->format(whole, out);
    }
    std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<TextFormatter>(with_pid_); }

  private:
    bool with_pid_;
    std::unique_ptr<spdlog::pattern_formatter> stamp_;
};

class JsonFormatter final : public spdlog::formatter {
  public:
    void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& out) override {
        const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(msg.time.time_since_epoch());
        const std::string line = json_line({since.count(),
                                            level_name(msg.level),
                                            ::program_invocation_short_name,
                                            ::getpid(),
                                            part_of_log(),
                                            {msg.payload.data(), msg.payload.size()}});
        out.append(line.data(), line.data() + line.size());
    }
    std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

std::unique_ptr<spdlog::formatter> make_formatter(LogFormat format, bool with_pid) {
    if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
    return std::make_unique<TextFormatter>(with_pid);
}

/// The one log of the process; ready before main asks for anything (stderr, level normal).
struct Log {
    LineSink sink;
    std::once_flag first_line;
    std::atomic<bool> has_format{false};  ///< until then it is asked of the project at the first line
    std::atomic<LogLevel> level{LogLevel::kNormal};
    std::atomic<bool> with_pid{false};
};

Log& the_log() {
    static Log* const log = new Log;  // never destroyed: destructors of statics may still log
    return *log;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::kCritical: return spdlog::level::critical;
        case LogLevel::kWarning: return spdlog::level::warn;
        case LogLevel::kNormal: return spdlog::level::info;
        case LogLevel::kDebug: return spdlog::level::debug;
    }
    return spdlog::level::info;
}

}  // namespace

void log_open(const LogOptions& options) {
    Log& log = the_log();
    log.level = options.level;
    log.with_pid = options.with_pid;
    log_set_format(log_format_of_project());
    log.sink.open(options.file);
}

void log_set_format(LogFormat format) {
    Log& log = the_log();
    log.sink.set_formatter(make_formatter(format, log.with_pid));
    log.has_format = true;
}

void log_set_level(LogLevel level) { the_log().level = level; }
LogLevel log_level() { return the_log().level; }
void log_set_part(std::string_view part) { part_of_log() = part; }
void log_reopen() { the_log().sink.reopen(); }
void log_start_copy() { the_log().sink.start_copy(); }
std::string log_take_copy() { return the_log().sink.take_copy(); }

void log_follow_rotation() {
    static std::atomic<bool> said{false};  // once, not each second
    try {
        the_log().sink.follow_rotation();
        said = false;
    } catch (const FileError& e) {
        if (!said.exchange(true)) log_line(LogLevel::kWarning, e.what());  // into the old file
    }
}

void log_line(LogLevel level, std::string_view text) {
    if (!log_enabled(level)) return;
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    try {
        Log& log = the_log();
        std::call_once(log.first_line, [&] {
            if (!log.has_format) log_set_format(log_format_of_project());
        });
        const spdlog::string_view_t said(text.data(), text.size());
        log.sink.log(spdlog::details::log_msg(spdlog::string_view_t{}, spdlog_level(level), said));
    } catch (const std::exception&) {
        // Out of memory or a broken time zone: a lost line is better than a lost program.
    }
}

/// `period`: how a line of a log of texts begins within it.
static void log_once_in(const std::string& period, LogLevel level, const std::string& text) {
    constexpr std::size_t kMost = 1000;  // texts that one period can have
    static std::mutex mutex;
    static std::map<std::size_t, std::pair<std::string, std::set<std::string>>> said_in;  // by the length of a period
    if (!log_enabled(level)) return;
    const std::lock_guard lock(mutex);
    auto& [said_on, said] = said_in[period.size()];
    if (said_on != period) said.clear(), said_on = period;
    if (said.size() >= kMost || !said.insert(text).second) return;
    if (!the_log().sink.has_lately(period, text)) log_line(level, text);
}

void log_once_a_day(LogLevel level, const std::string& text) {
    log_once_in(fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))), level, text);
}

void log_once_an_hour(LogLevel level, const std::string& text) {
    log_once_in(fmt::format("{:%Y-%m-%d %H:}", fmt::gmtime(std::time(nullptr))), level, text);
}

}  // namespace sluice
