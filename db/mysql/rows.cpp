// SPDX-License-Identifier: LGPL-3.0-or-later
#include <charconv>

#include "db/mysql/rows_impl.h"

namespace sluice {
namespace {

/// Number of the whole text or of its beginning; 0 if there is none (NULL reads as "").
template <typename T>
T leading_number(const sql::SQLString& text) {
    T value{};
    std::from_chars(text.c_str(), text.c_str() + text.length(), value);
    return value;
}

}  // namespace

Rows::Rows() = default;
Rows::Rows(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(Rows&&) noexcept = default;
Rows::~Rows() = default;

bool Rows::next() { return impl_ != nullptr && impl_->result->next(); }

std::int64_t Rows::i64(int column) const {
    const sql::SQLString text = impl_->result->getString(static_cast<std::uint32_t>(column + 1));
    std::int64_t value = 0;
    const char* const last = text.c_str() + text.length();
    const auto [end, error] = std::from_chars(text.c_str(), last, value);
    // A double column (batch.completion_time) or an unsigned one beyond 63 bits.
    if (error != std::errc{} || end != last) return static_cast<std::int64_t>(leading_number<double>(text));
    return value;
}

double Rows::f64(int column) const {
    return leading_number<double>(impl_->result->getString(static_cast<std::uint32_t>(column + 1)));
}

std::string Rows::text(int column) const {
    return impl_->result->getString(static_cast<std::uint32_t>(column + 1)).asStdString();
}

std::size_t Rows::size() const { return impl_ == nullptr ? 0 : impl_->result->rowsCount(); }

}  // namespace sluice
