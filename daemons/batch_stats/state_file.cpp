#include "daemons/batch_stats/state_file.h"

#include <algorithm>
#include <array>
#include <cstring>
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

class Packer {
  public:
    std::string bytes;
    void number(std::uint64_t v) {
        for (; v >= 0x80; v >>= 7) bytes += static_cast<char>(v | 0x80);
        bytes += static_cast<char>(v);
    }
    void sign(std::int64_t v) { number((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63)); }
    void real(double v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
    void text(const std::string& s) {
        number(s.size());
        bytes += s;
    }
};

class Unpacker {
  public:
    explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
    std::uint64_t number() {
        std::uint64_t v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1)[0]);
            v |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return v;
        }
        throw Damaged();
    }
    std::int64_t sign() {
        const std::uint64_t v = number();
        return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
    }
    double real() {
        double v = 0;
        std::memcpy(&v, take(sizeof v).data(), sizeof v);
        return v;
    }
    std::string text() { return std::string(take(number())); }
    /// A number of things of which each has a byte at least.
    std::size_t count() {
        const std::uint64_t n = number();
        if (n > rest_.size()) throw Damaged();
        return n;
    }

  private:
    std::string_view take(std::size_t n) {
        if (n > rest_.size()) throw Damaged();
        const std::string_view taken = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return taken;
    }
    std::string_view rest_;
};

/// Ids and times of a batch lie close together: differences are small numbers.
std::string packed(const BatchSection& s) {
    Packer p;
    p.sign(s.batch);
    p.number(s.observations.size());
    Observation before;
    for (const Observation& o : s.observations) {
        p.sign(o.result - before.result);
        p.sign(o.workunit - before.workunit);
        p.number(o.host);
        p.sign(o.version);
        p.sign(std::int64_t{o.sent} - before.sent);
        p.sign(std::int64_t{o.ended} - o.sent);
        p.number(static_cast<std::uint64_t>(o.kind));
        before = o;
    }
    return std::move(p.bytes);
}

/// A wrong difference gives a wrong number, not an overflow.
std::int64_t plus(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

void unpack(std::string_view bytes, BatchSection& s) {
    Unpacker u(bytes);
    s.batch = u.sign();
    s.observations.assign(u.count(), {});
    Observation before;
    for (Observation& o : s.observations) {
        o.result = plus(before.result, u.sign());
        o.workunit = plus(before.workunit, u.sign());
        o.host = static_cast<std::uint32_t>(u.number());
        o.version = static_cast<std::int32_t>(u.sign());
        o.sent = static_cast<std::uint32_t>(plus(before.sent, u.sign()));
        o.ended = static_cast<std::uint32_t>(plus(o.sent, u.sign()));
        const std::uint64_t kind = u.number();
        if (kind > static_cast<std::uint64_t>(JobKind::kIgnored)) throw Damaged();
        o.kind = static_cast<JobKind>(kind);
        before = o;
    }
}

/// One list of the rules' numbers for both directions.
std::array<double, 12> as_numbers(const StatsRules& r) {
    return {r.max_age,
            double(r.min_success),
            r.min_success_frac,
            r.fail_ratio,
            r.ltt_below,
            double(r.min_jobs),
            r.half_life,
            double(r.count_errors),
            double(r.count_in_progress),
            double(r.per_version),
            double(r.min_hosts),
            r.min_ltt_frac};
}
StatsRules from_numbers(const std::array<double, 12>& n) {
    StatsRules r;
    r.max_age = n[0];
    r.min_success = clamp_to_int32(n[1]);
    r.min_success_frac = n[2];
    r.fail_ratio = n[3];
    r.ltt_below = n[4];
    r.min_jobs = clamp_to_int32(n[5]);
    r.half_life = n[6];
    r.count_errors = n[7] != 0;
    r.count_in_progress = n[8] != 0;
    r.per_version = n[9] != 0;
    r.min_hosts = clamp_to_int32(n[10]);
    r.min_ltt_frac = n[11];
    return r;
}

std::string packed(const StatsSummary& s) {
    Packer p;
    p.text(s.database);
    for (const double number : as_numbers(s.rules)) p.real(number);
    p.sign(s.made_at);
    p.sign(s.full_at);
    p.real(s.full_seconds);
    p.number(s.pass);
    p.sign(s.last_result);
    p.sign(s.first_batch);
    p.number(s.ltt_hosts.size());
    for (const Id host : s.ltt_hosts) p.sign(host);
    p.number(s.versions.size());
    for (const VersionTurnaround& v : s.versions) {
        p.sign(v.host_id);
        p.sign(v.version);
        p.number(v.ltt ? 1 : 0);
        p.real(v.ratio);
        p.sign(v.jobs);
    }
    p.number(s.apps.size());
    for (const auto& a : s.apps) {
        p.sign(a.app);
        p.sign(a.hosts);
        p.sign(a.ltt_hosts);
        p.number(a.accelerable ? 1 : 0);
    }
    return std::move(p.bytes);
}

StatsSummary unpacked_summary(std::string_view bytes) {
    Unpacker u(bytes);
    StatsSummary s;
    s.database = u.text();
    std::array<double, 12> numbers{};
    for (double& number : numbers) number = u.real();
    s.rules = from_numbers(numbers);
    s.made_at = u.sign();
    s.full_at = u.sign();
    s.full_seconds = u.real();
    s.pass = static_cast<std::uint32_t>(u.number());
    s.last_result = u.sign();
    s.first_batch = u.sign();
    s.ltt_hosts.resize(u.count());
    for (Id& host : s.ltt_hosts) host = u.sign();
    s.versions.resize(u.count());
    for (VersionTurnaround& v : s.versions) {
        v.host_id = u.sign();
        v.version = u.sign();
        v.ltt = u.number() != 0;
        v.ratio = u.real();
        v.jobs = static_cast<int>(u.sign());
    }
    s.apps.resize(u.count());
    for (auto& a : s.apps) {
        a.app = u.sign();
        a.hosts = static_cast<int>(u.sign());
        a.ltt_hosts = static_cast<int>(u.sign());
        a.accelerable = u.number() != 0;
    }
    return s;
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
        reader.summary_ = unpacked_summary(read_block(reader.in_));
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
        unpack(bytes, section);
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

void StateWriter::put(const BatchSection& section) { block(packed(section)); }

void StateWriter::commit(const StatsSummary& summary) {
    block("");
    block(packed(summary));
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
