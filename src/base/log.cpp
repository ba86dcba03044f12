// One write(2) a line on a descriptor opened for append: lines of concurrent CGI processes never mix, and a
// line is in the file before the next statement runs, so a crash loses none. spdlog does the formatting and
// the time stamps.
#include "sluice/base/log.h"

#include <fcntl.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "sluice/base/error.h"

namespace sluice {
namespace {

/// Whatever can't be written (disk full, pipe closed) is dropped: logging must never end a program.
void write_all(int fd, const char* data, std::size_t size) noexcept {
    while (size > 0) {
        const ssize_t n = ::write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        data += n;
        size -= static_cast<std::size_t>(n);
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
    /// True if the path holds another file by now, or none.
    bool moved() {
        std::lock_guard lock(mutex_);
        if (path_.empty()) return false;
        struct stat open_file {
        }, there{};
        return ::fstat(fd_, &open_file) != 0 || ::stat(path_.c_str(), &there) != 0 ||
               open_file.st_ino != there.st_ino || open_file.st_dev != there.st_dev;
    }
    void start_copy() {
        std::lock_guard lock(mutex_);
        copy_.emplace();
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
        write_all(fd_, line.data(), line.size());
        if (copy_) copy_->append(line.data(), line.size());
    }
    void flush_() override {}  // every line is written at once

  private:
    static int open_append(const std::string& path) {
        if (path.empty()) return STDERR_FILENO;
        const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0664);
        if (fd < 0) {
            throw FileError("Can't open the log file " + path + ": " + std::strerror(errno) +
                            "; check that its folder exists and that this user may write there");
        }
        return fd;
    }
    void close_file() {
        if (fd_ != STDERR_FILENO) ::close(fd_);
        fd_ = STDERR_FILENO;
    }

    std::string path_;
    std::optional<std::string> copy_;
    int fd_ = STDERR_FILENO;
};

std::unique_ptr<spdlog::formatter> make_formatter(const LogOptions& options) {
    std::string pattern = "%Y-%m-%d %H:%M:%S.%f";
    if (options.with_pid) pattern += " [PID=%-5P]";
    pattern += "%v";
    return std::make_unique<spdlog::pattern_formatter>(
        pattern, options.utc ? spdlog::pattern_time_type::utc : spdlog::pattern_time_type::local);
}

/// The one log of the process; ready before main asks for anything (stderr, level normal).
struct Log {
    Log() { sink.set_formatter(make_formatter({})); }
    LineSink sink;
    std::atomic<LogLevel> level{LogLevel::kNormal};
};

Log& the_log() {
    static Log* const log = new Log;  // never destroyed: destructors of statics may still log
    return *log;
}

std::string_view kind_text(LogLevel level) {
    switch (level) {
        case LogLevel::kCritical: return " [CRITICAL] ";
        case LogLevel::kWarning: return " [warning] ";
        case LogLevel::kNormal: return " ";
        case LogLevel::kDebug: return " [debug] ";
    }
    return " ";
}

/// Text of clients gets into log lines: a line break in it must not be able to forge a line.
void append_visible(std::string& out, std::string_view text) {
    static constexpr char kHex[] = "0123456789abcdef";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if ((byte < 32 && c != '\t') || byte == 127) {
            out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        } else {
            out += c;
        }
    }
}

}  // namespace

void log_open(const LogOptions& options) {
    Log& log = the_log();
    log.sink.set_formatter(make_formatter(options));
    log.level = options.level;
    log.sink.open(options.file);
}

void log_set_level(LogLevel level) { the_log().level = level; }
LogLevel log_level() { return the_log().level; }
void log_reopen() { the_log().sink.reopen(); }
void log_start_copy() { the_log().sink.start_copy(); }
std::string log_take_copy() { return the_log().sink.take_copy(); }

void log_follow_rotation() {
    try {
        if (the_log().sink.moved()) the_log().sink.reopen();
    } catch (const FileError& e) {
        log_line(LogLevel::kWarning, e.what());  // into the old file
    }
}

void log_line(LogLevel level, std::string_view text) {
    if (!log_enabled(level)) return;
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    try {
        std::string line(kind_text(level));
        append_visible(line, text);
        the_log().sink.log(spdlog::details::log_msg(spdlog::string_view_t{}, spdlog::level::info, line));
    } catch (const std::exception&) {
        // Out of memory or a broken time zone: a lost line is better than a lost program.
    }
}

}  // namespace sluice
