// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/life_sign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

/// The file has one size, so that each text replaces the one before it in one write.
constexpr std::size_t kSize = 1024, kLongestError = 500;
constexpr std::size_t kMostSigns = 1000;
constexpr double kLeastPause = 2;  ///< s between two texts of a daemon that does not wait
constexpr const char* kEnding = ".life";

std::filesystem::path pid_folder_of(const std::filesystem::path& project) {
    return project / ("pid_" + short_host_name());
}

bool is_there(pid_t pid) { return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM); }

/// Of processes that were killed.
void remove_those_of_the_dead(const std::filesystem::path& folder, const std::string& name) {
    std::error_code none;
    for (std::filesystem::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none)) {
        const std::string file = entry->path().filename().string();
        if (!file.starts_with(name + ".") || !file.ends_with(kEnding)) continue;
        const auto pid = parse_int(std::string_view(file).substr(
            name.size() + 1, file.size() - name.size() - 1 - std::string_view(kEnding).size()));
        std::error_code gone;
        if (pid && !is_there(static_cast<pid_t>(*pid))) std::filesystem::remove(entry->path(), gone);
    }
}

}  // namespace

std::string life_sign_text(const LifeSign& sign) {
    std::string text =
        fmt::format("name {}\npid {}\nticks {}\nbegan {:.3f}\nended {:.3f}\ndue {:.3f}\nfailing {:.3f}\nerror {}\n",
                    sign.name, sign.pid, sign.start_ticks, sign.began, sign.ended, sign.due, sign.failing,
                    in_one_line(sign.error, kLongestError));
    text.resize(std::max(text.size(), kSize), '\n');
    return text;
}

LifeSign parse_life_sign(std::string_view text) {
    LifeSign sign;
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t space = std::min(line.find(' '), line.size());
        const std::string_view key = line.substr(0, space), value = line.substr(std::min(space + 1, line.size()));
        const auto time = [&] { return std::clamp(parse_double(value).value_or(0), 0.0, 1e12); };
        if (key == "name") sign.name = value;
        if (key == "pid") sign.pid = static_cast<pid_t>(std::clamp(time(), 0.0, 2e9));
        if (key == "ticks")
            sign.start_ticks = static_cast<std::uint64_t>(std::max(parse_int(value).value_or(0), std::int64_t{0}));
        if (key == "began") sign.began = time();
        if (key == "ended") sign.ended = time();
        if (key == "due") sign.due = time();
        if (key == "failing") sign.failing = time();
        if (key == "error") sign.error = value;
    }
    return sign;
}

std::vector<LifeSign> life_signs(const std::filesystem::path& project) {
    std::vector<LifeSign> signs;
    std::error_code none;
    for (std::filesystem::directory_iterator entry(pid_folder_of(project), none), end; !none && entry != end;
         entry.increment(none)) {
        if (entry->path().extension() != kEnding || signs.size() >= kMostSigns) continue;
        try {
            LifeSign sign = parse_life_sign(read_file(entry->path(), 4 * kSize).value_or(""));
            if (sign.start_ticks == 0 ? is_there(sign.pid) : is_alive({sign.pid, sign.start_ticks}))
                signs.push_back(std::move(sign));
        } catch (const FileError&) {  // of an account that is none of the project's
        }
    }
    std::ranges::sort(signs, {}, [](const LifeSign& sign) { return std::pair(sign.name, sign.pid); });
    return signs;
}

double lateness(const LifeSign& sign, const std::vector<LifeSign>& signs, double now) {
    if (sign.failing != 0 || sign.began > 0 || sign.due <= 0) return 0;
    const bool waits = std::ranges::any_of(signs, [&](const LifeSign& other) {
        return other.pid == sign.pid && other.name != sign.name && (other.failing != 0 || other.began > 0);
    });
    return waits ? 0 : std::max(now - sign.due, 0.0);
}

LifeSignWriter::LifeSignWriter(const std::filesystem::path& project, std::string name, const Clock& clock,
                               ServiceManager* manager)
    : clock_(&clock), manager_(manager) {
    sign_.name = std::move(name);
    const ProcessId me = this_process();
    sign_.pid = me.pid;
    sign_.start_ticks = me.start_ticks;
    const std::filesystem::path folder = pid_folder_of(project);
    remove_those_of_the_dead(folder, sign_.name);
    file_ = folder / fmt::format("{}.{}{}", sign_.name, sign_.pid, kEnding);
    fd_ = OwnedFd(open_own_file(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    write(true);
}

LifeSignWriter::~LifeSignWriter() {
    if (fd_.get() >= 0 && ::getpid() == sign_.pid) ::unlink(file_.c_str());
}

void LifeSignWriter::begin_turn() {
    if (clock_ == nullptr) return;
    sign_.began = clock_->now();
    // Whoever reads that a daemon waits, while it works, takes it for late.
    write(shown_waiting_);
}

void LifeSignWriter::end_turn(double wait) {
    if (clock_ == nullptr) return;
    const bool waits = wait > kLeastPause, changed = waits || sign_.failing != 0 || sign_.ended == 0;
    sign_.ended = clock_->now();
    sign_.due = sign_.ended + wait;
    sign_.began = waits ? 0 : sign_.ended;
    sign_.failing = 0;
    sign_.error.clear();
    write(changed);
    tell(waits ? fmt::format("The last turn went well; the next one is due in {:.0f} s", wait)
               : "At work; the last turn went well",
         true);
}

void LifeSignWriter::fail_turn(const std::string& error, double wait) {
    if (clock_ == nullptr) return;
    const double now = clock_->now();
    if (sign_.failing == 0) sign_.failing = now;
    sign_.error = error;
    sign_.due = now + wait;
    sign_.began = 0;
    write(true);
    tell(fmt::format("Turns have failed for {:.0f} s: {}", now - sign_.failing, error), false);
}

void LifeSignWriter::tell(std::string_view sentence, bool well) {
    if (manager_ == nullptr) return;
    if (well)
        manager_->ready(sentence);
    else
        manager_->status(sentence);
    manager_->alive();
}

void LifeSignWriter::write(bool changed) {
    const double now = clock_->now();
    if (fd_.get() < 0 || (!changed && now >= written_ && now < written_ + kLeastPause)) return;
    written_ = now;
    shown_waiting_ = sign_.began == 0;
    const std::string text = life_sign_text(sign_);
    if (::pwrite(fd_.get(), text.data(), text.size(), 0) < 0) errno = 0;
}

}  // namespace sluice
