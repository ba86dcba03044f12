// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a daemon and a project's code, which runs in another process, say to each other over a socket: frames of a
// length and a text. Both run on one machine, from one installation or two: the first frame bears a version.
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sluice/handlers/assimilator.h"
#include "sluice/handlers/validator.h"

namespace sluice {

inline constexpr int kWireVersion = 3;
/// In the environment of the project's program: the socket's number. Without it the program starts the daemon.
inline constexpr const char* kWireSocket = "SLUICE_HANDLER_SOCKET";
/// No frame is larger: documents of a few thousand results.
inline constexpr std::uint32_t kMaxFrame = 1U << 30;
/// No answer of a project's program is larger: verdicts on a few thousand results, and on all their pairs.
inline constexpr std::uint32_t kMaxAnswer = 1U << 26;

/// A frame that says something else than it should: the two programs do not fit together.
struct WireError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class WireWriter {
  public:
    template <typename... Values>
    void operator()(const Values&... values) {
        (put(values), ...);
    }
    const std::string& text() const { return text_; }

  private:
    template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
    void put(T value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void put(std::string_view value) {
        put(static_cast<std::uint64_t>(value.size()));
        text_ += value;
    }
    void put(const std::string& value) { put(std::string_view(value)); }
    std::string text_;
};

class WireReader {
  public:
    explicit WireReader(std::string_view text) : rest_(text) {}
    template <typename... Values>
    void operator()(Values&... values) {
        (get(values), ...);
    }
    template <typename T>
    T one() {
        T value{};
        get(value);
        return value;
    }
    std::size_t left() const { return rest_.size(); }

  private:
    template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
    void get(T& value) { std::memcpy(&value, take(sizeof value).data(), sizeof value); }
    void get(bool& value) {
        const auto byte = static_cast<unsigned char>(take(1)[0]);
        if (byte > 1) throw WireError("neither true nor false");
        value = byte != 0;
    }
    void get(std::string& value) { value = take(one<std::uint64_t>()); }
    std::string_view take(std::uint64_t n) {
        if (n > rest_.size()) throw WireError("a frame is too short");
        const std::string_view taken = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return taken;
    }
    std::string_view rest_;
};

/// The first frame of a daemon.
struct WireHello {
    int version = kWireVersion;
    std::string project_dir{}, upload_dir{}, download_dir{}, app_name{};
    Id appid = 0;
    int uldl_dir_fanout = 1024, app_target_nresults = 0, debug_level = 3;
    double max_granted_credit = 0;
    double time_limit = 0;  ///< s for one answer; 0: none
    bool dry_run = false;
};

/// A question about the results of one workunit.
struct JudgeQuestion {
    Workunit wu;
    std::vector<Result> results;
    std::vector<std::vector<OutputFile>> files;
    std::vector<char> asked;  ///< 1: this result is to be looked at
    int app_target_nresults = 0;
};

/// Its answer.
struct JudgeAnswer {
    std::vector<LookedAt> looked;               ///< of each result; of those that were asked about it counts
    std::vector<std::vector<PairIs>> compared;  ///< by row and column; empty: none
    std::vector<std::vector<char>> asked;       ///< 1: that pair was compared
    /// Code that decides on whole sets: then nothing is compared.
    bool is_set = false;
    std::vector<JudgedSet::Standing> standing;
    int canonical = -1;
};

struct AssimilateQuestion {
    Workunit wu;
    std::vector<Result> results;
    int canonical = -1;  ///< its place; -1: there is none
    std::vector<OutputFile> files;
};

std::string to_wire(const WireHello& hello);
std::string to_wire(const Workunit& wu, const std::vector<Result>& results,
                    const std::vector<std::vector<OutputFile>>& files, const std::vector<char>& asked,
                    int app_target_nresults);
std::string to_wire(const JudgeAnswer& answer);
std::string to_wire(const AssimilateQuestion& question);
std::string to_wire(const Assimilated& answer);
// Throw WireError for a text that is no such thing, or longer than it.
void from_wire(std::string_view text, WireHello& hello);
void from_wire(std::string_view text, JudgeQuestion& question);
void from_wire(std::string_view text, JudgeAnswer& answer);
void from_wire(std::string_view text, AssimilateQuestion& question);
void from_wire(std::string_view text, Assimilated& answer);

/// Blocking; false: the other side is gone. Throws WireError for a frame above kMaxFrame.
bool send_frame(int socket, std::string_view text);
std::optional<std::string> receive_frame(int socket);

}  // namespace sluice
