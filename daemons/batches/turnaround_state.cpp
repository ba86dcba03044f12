// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/turnaround_state.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::string_view kMagic = "SLBSTAT1";
constexpr std::uint64_t kHashStart = 14695981039346656037u;
constexpr std::size_t kMostBytes = std::size_t{1} << 31;  ///< of a block; more is damage

/// FNV-1a. Against damage, not against malice.
std::uint64_t hashed(std::uint64_t hash, std::string_view bytes) {
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

struct Damaged {};

// Packer and Unpacker have the same verbs, so that one list of fields serves both directions.

class Packer {
  public:
    std::string bytes;
    void value(std::unsigned_integral auto v) {
        for (; v >= 0x80; v >>= 7) bytes += static_cast<char>(v | 0x80);
        bytes += static_cast<char>(v);
    }
    void value(std::signed_integral auto v) { value((std::uint64_t(v) << 1) ^ std::uint64_t(std::int64_t{v} >> 63)); }
    void value(bool v) { bytes += v ? '\1' : '\0'; }
    void value(JobKind v) { bytes += static_cast<char>(v); }
    void value(double v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
    void value(const std::string& s) {
        value(s.size());
        bytes += s;
    }
    void as_double(auto v) { value(static_cast<double>(v)); }
    /// Ids and times of a batch lie close together: differences are small numbers.
    void value_from(std::int64_t before, auto v) { value(std::int64_t{v} - before); }
    template <class T>
    void list(const std::vector<T>& all, const auto& each) {
        value(all.size());
        for (const T& one : all) each(one);
    }
};

class Unpacker {
  public:
    explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
    void value(std::unsigned_integral auto& v) { v = static_cast<std::remove_reference_t<decltype(v)>>(number()); }
    void value(std::signed_integral auto& v) {
        const std::uint64_t n = number();
        v = static_cast<std::remove_reference_t<decltype(v)>>(static_cast<std::int64_t>(n >> 1) ^
                                                              -static_cast<std::int64_t>(n & 1));
    }
    void value(bool& v) { v = number() != 0; }
    void value(JobKind& v) {
        const std::uint64_t kind = number();
        if (kind > static_cast<std::uint64_t>(JobKind::kIgnored)) throw Damaged();
        v = static_cast<JobKind>(kind);
    }
    void value(double& v) { std::memcpy(&v, take(sizeof v).data(), sizeof v); }
    void value(std::string& s) { s = take(number()); }
    void as_double(auto& v) {
        double number = 0;
        value(number);
        if constexpr (std::is_same_v<decltype(v), int&>)
            v = clamp_to_int32(number);
        else
            v = number;
    }
    void value_from(std::int64_t before, auto& v) {
        std::int64_t difference = 0;
        value(difference);  // a wrong one gives a wrong number, not an overflow
        v = static_cast<std::remove_reference_t<decltype(v)>>(std::uint64_t(before) + std::uint64_t(difference));
    }
    template <class T>
    void list(std::vector<T>& all, const auto& each) {
        const std::uint64_t n = number();
        if (n > rest_.size()) throw Damaged();  // each has a byte at least
        all.assign(n, {});
        for (T& one : all) each(one);
    }

  private:
    std::uint64_t number() {
        std::uint64_t v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1)[0]);
            v |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return v;
        }
        throw Damaged();
    }
    std::string_view take(std::size_t n) {
        if (n > rest_.size()) throw Damaged();
        const std::string_view taken = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return taken;
    }
    std::string_view rest_;
};

void section_fields(auto& coder, auto& section) {
    coder.value(section.batch);
    Observation before;
    coder.list(section.observations, [&](auto& o) {
        coder.value_from(before.result, o.result);
        coder.value_from(before.workunit, o.workunit);
        coder.value(o.host);
        coder.value(o.version);
        coder.value_from(before.sent, o.sent);
        coder.value_from(o.sent, o.ended);
        coder.value(o.kind);
        before = o;
    });
}

void summary_fields(auto& coder, auto& s) {
    coder.value(s.database);
    const auto numbers = [&](auto&... all) { (coder.as_double(all), ...); };
    auto& r = s.rules;
    numbers(r.max_age, r.min_success, r.min_success_frac, r.fail_ratio, r.ltt_below, r.min_jobs, r.half_life,
            r.count_errors, r.count_in_progress, r.per_version, r.min_hosts, r.min_ltt_frac);
    coder.value(s.made_at);
    coder.value(s.full_at);
    coder.value(s.full_seconds);
    coder.value(s.pass);
    coder.value(s.last_result);
    coder.value(s.first_batch);
    coder.list(s.ltt_hosts, [&](auto& host) { coder.value(host); });
    coder.list(s.versions, [&](auto& v) {
        coder.value(v.host_id);
        coder.value(v.version);
        coder.value(v.ltt);
        coder.value(v.ratio);
        coder.value(v.jobs);
    });
    coder.list(s.apps, [&](auto& a) {
        coder.value(a.app);
        coder.value(a.hosts);
        coder.value(a.ltt_hosts);
        coder.value(a.accelerable);
    });
}

std::uint32_t read_length(std::ifstream& in) {
    std::uint32_t n = 0;
    if (!in.read(reinterpret_cast<char*>(&n), sizeof n) || n > kMostBytes) throw Damaged();
    return n;
}

std::string read_block(std::ifstream& in) {
    // In parts: a wrong length takes no more memory than the file has bytes.
    constexpr std::size_t kPart = 1 << 20;
    std::string bytes;
    for (std::size_t left = read_length(in); left > 0;) {
        const std::size_t have = bytes.size(), part = std::min(left, kPart);
        bytes.resize(have + part);
        if (!in.read(bytes.data() + have, static_cast<std::streamsize>(part))) throw Damaged();
        left -= part;
    }
    return bytes;
}

/// Throws Damaged unless the hash at the end fits all before it.
void check_hash(std::ifstream& in) {
    in.seekg(0, std::ios::end);
    std::streamoff left = static_cast<std::streamoff>(in.tellg()) - static_cast<std::streamoff>(sizeof(std::uint64_t));
    if (left < static_cast<std::streamoff>(kMagic.size())) throw Damaged();
    in.seekg(0);
    std::uint64_t hash = kHashStart, stored = 0;
    std::string buffer(1 << 16, '\0');
    while (left > 0) {
        const auto n = std::min<std::streamoff>(left, static_cast<std::streamoff>(buffer.size()));
        if (!in.read(buffer.data(), n)) throw Damaged();
        hash = hashed(hash, {buffer.data(), static_cast<std::size_t>(n)});
        left -= n;
    }
    if (!in.read(reinterpret_cast<char*>(&stored), sizeof stored) || stored != hash) throw Damaged();
}

}  // namespace

std::optional<StateReader> StateReader::open(const std::filesystem::path& file, std::string& why) {
    StateReader reader;
    reader.in_.open(file, std::ios::binary);
    if (!reader.in_) return std::nullopt;
    try {
        check_hash(reader.in_);
        reader.in_.seekg(0);
        std::string magic(kMagic.size(), '\0');
        if (!reader.in_.read(magic.data(), static_cast<std::streamsize>(magic.size())) || magic != kMagic)
            throw Damaged();
        while (const std::uint32_t length = read_length(reader.in_)) reader.in_.seekg(length, std::ios::cur);
        const std::string bytes = read_block(reader.in_);
        Unpacker unpacker(bytes);
        summary_fields(unpacker, reader.summary_);
        reader.rewind();
        return reader;
    } catch (const Damaged&) {
        why = file.string() + " is damaged or of another version";
        return std::nullopt;
    }
}

void StateReader::rewind() {
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(kMagic.size()));
}

bool StateReader::next(BatchSection& section) {
    try {
        const std::string bytes = read_block(in_);
        if (bytes.empty()) return false;
        Unpacker unpacker(bytes);
        section_fields(unpacker, section);
        return true;
    } catch (const Damaged&) {  // the hash was right: the file was changed while it was read
        throw FileError(
            "the statistics of the last pass changed while they were read; is another batch_stats running?");
    }
}

StateWriter::StateWriter(std::filesystem::path file)
    : file_(std::move(file)), temporary_(file_.string() + ".tmp"), hash_(kHashStart) {
    out_.open(temporary_, std::ios::binary | std::ios::trunc);
    if (!out_)
        throw FileError("can't write " + temporary_.string() + ": give the daemons' user write access to its folder");
    out_ << kMagic;
    hash_ = hashed(hash_, kMagic);
}

StateWriter::~StateWriter() {
    if (temporary_.empty()) return;
    out_.close();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

void StateWriter::block(const std::string& bytes) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    const std::string_view head(reinterpret_cast<const char*>(&length), sizeof length);
    out_ << head << bytes;
    hash_ = hashed(hashed(hash_, head), bytes);
}

void StateWriter::put(const BatchSection& section) {
    Packer packer;
    section_fields(packer, section);
    block(packer.bytes);
}

void StateWriter::commit(const StatsSummary& summary) {
    block("");
    Packer packer;
    summary_fields(packer, summary);
    block(packer.bytes);
    out_.write(reinterpret_cast<const char*>(&hash_), sizeof hash_);
    out_.close();
    // Not flushed to disk: a file that a power cut leaves damaged is found out by its hash and costs a full pass.
    std::error_code error;
    if (!out_ || (std::filesystem::rename(temporary_, file_, error), error))
        throw FileError("can't write " + file_.string() + (error ? ": " + error.message() : std::string()));
    temporary_.clear();
}

std::filesystem::path stats_state_file(const std::filesystem::path& project) { return project / "batch_stats.state"; }

}  // namespace sluice
