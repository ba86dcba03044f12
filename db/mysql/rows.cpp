// SPDX-License-Identifier: LGPL-3.0-or-later
#include <cppconn/exception.h>

#include <charconv>
#include <stdexcept>

#include "db/mysql/rows_impl.h"
#include "db/mysql/session.h"

namespace sluice {
namespace {

/// Number of the whole text or of its beginning; 0 if there is none (NULL reads as "").
template <typename T>
T leading_number(std::string_view text) {
    T value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

Rows::Impl::Impl(st_mysql* handle, Read read)
    : result(read == Read::kAllAtOnce ? mysql_store_result(handle) : mysql_use_result(handle)) {
    if (result) return;
    const auto [code, text] = native_error(handle);
    throw sql::SQLException(code != 0 ? text : "a statement that should give rows gave none", "HY000", code);
}

std::string_view Rows::Impl::value(int column) const {
    if (row == nullptr || column < 0 || static_cast<unsigned>(column) >= mysql_num_fields(result.get()))
        throw std::logic_error("a column was read that the row does not have");
    return row[column] == nullptr ? std::string_view() : std::string_view(row[column], lengths[column]);
}

Rows::Rows() = default;
Rows::Rows(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(Rows&&) noexcept = default;
Rows::~Rows() = default;

bool Rows::next() {
    if (impl_ == nullptr) return false;
    impl_->row = mysql_fetch_row(impl_->result.get());
    if (impl_->row != nullptr) impl_->lengths = mysql_fetch_lengths(impl_->result.get());
    return impl_->row != nullptr;
}

std::int64_t Rows::i64(int column) const {
    const std::string_view text = impl_->value(column);
    std::int64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    // A double column (batch.completion_time) or an unsigned one beyond 63 bits.
    if (error != std::errc{} || end != last) return static_cast<std::int64_t>(leading_number<double>(text));
    return value;
}

double Rows::f64(int column) const { return leading_number<double>(impl_->value(column)); }

std::string Rows::text(int column) const { return std::string(impl_->value(column)); }

std::size_t Rows::size() const { return impl_ == nullptr ? 0 : mysql_num_rows(impl_->result.get()); }

}  // namespace sluice
