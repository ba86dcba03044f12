// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/sql_without.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "sluice/base/text.h"

namespace sluice {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// The statement in pieces: a word, a text with its quotes, white space, or one other character.
std::vector<std::string_view> pieces_of(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        end = begin + 1;
        if (text[begin] == '\'') {
            for (; end < text.size() && text[end] != '\''; ++end)
                if (text[end] == '\\') ++end;
            end = std::min(end + 1, text.size());
        } else if (in_word(text[begin])) {
            while (end < text.size() && in_word(text[end])) ++end;
        }
        pieces.push_back(text.substr(begin, end - begin));
    }
    return pieces;
}

class Statement {
  public:
    Statement(std::vector<std::string_view> pieces, const SqlColumn& column)
        : pieces_(std::move(pieces)), column_(column) {
        bool next = false;
        for (const std::string_view piece : pieces_) {
            if (!in_word(piece.front())) continue;
            if (next) {
                of_table_ = piece == column.table;
                return;
            }
            const std::string word = to_lower_ascii(piece);
            if (verb_.empty() && (word == "insert" || word == "update" || word == "select")) verb_ = word;
            next = word == "into" || word == "update" || word == "from";
        }
    }

    /// Whether nothing is lost.
    bool drop() {
        if (verb_ == "insert" && of_table_) return drop_from_insert();
        bool all = true;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            if (!is_column(i)) continue;
            if (verb_ == "update" && is_assigned(i))
                all = drop_assignment(i) && all;
            else
                pieces_[i] = column_.instead;
        }
        return all;
    }

    std::string text() const {
        std::string all;
        for (const std::string_view piece : pieces_) all += piece;
        return all;
    }

  private:
    bool is(std::size_t i, char c) const {
        return i < pieces_.size() && pieces_[i].size() == 1 && pieces_[i].front() == c;
    }
    bool is_column(std::size_t i) const {
        const std::string_view word = pieces_[i];
        if (word == column_.name) return of_table_;
        const auto dot = word.find('.');
        if (dot == word.npos || word.substr(dot + 1) != column_.name) return false;
        const std::string_view table = word.substr(0, dot);
        return table == column_.table || table == column_.table.substr(0, 1);
    }
    bool is_assigned(std::size_t i) const {
        while (is(++i, ' ')) {
        }
        return is(i, '=') && !behind_where(i);
    }
    bool behind_where(std::size_t i) const {
        return std::any_of(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(i),
                           [](std::string_view word) { return to_lower_ascii(word) == "where"; });
    }
    /// Where the value ends that begins at `i`: before the comma, bracket or WHERE behind it.
    std::size_t end_of_value(std::size_t i) const {
        for (int depth = 0; i < pieces_.size(); ++i) {
            if (depth == 0 && (is(i, ',') || is(i, ')') || to_lower_ascii(pieces_[i].substr(0, 5)) == "where")) break;
            if (is(i, '(')) ++depth;
            if (is(i, ')')) --depth;
        }
        while (is(i - 1, ' ')) --i;
        return i;
    }
    /// Empties the pieces; false: they hold a value that must not be lost.
    bool drop_pieces(std::size_t begin, std::size_t end, std::size_t value) {
        std::string held;
        for (std::size_t i = value; i < end; ++i) held += pieces_[i];
        const bool kept = column_.must_be_kept && trim(held) != column_.instead;
        std::fill(pieces_.begin() + static_cast<std::ptrdiff_t>(begin),
                  pieces_.begin() + static_cast<std::ptrdiff_t>(end), std::string_view());
        return !kept;
    }
    /// With the comma before it; the first one with the comma behind it.
    bool drop_assignment(std::size_t i) {
        std::size_t value = i;
        while (!is(value, '=')) ++value;
        ++value;
        const std::size_t end = end_of_value(value);
        std::size_t begin = i;
        while (begin > 0 && (is(begin - 1, ' ') || pieces_[begin - 1].empty())) --begin;
        if (begin > 0 && is(begin - 1, ',')) return drop_pieces(begin - 1, end, value);
        if (!is(end, ',')) return false;  // nothing else is assigned
        const bool all = drop_pieces(i, end, value);
        pieces_[end] = std::string_view();
        return all;
    }
    /// The n-th of a list in brackets, of which the first stands at `i`, and a comma beside it. Where the list ends.
    std::size_t drop_nth(std::size_t i, std::size_t n, bool& all) {
        std::size_t before = i;
        for (std::size_t at = 0;; ++at) {
            const std::size_t end = end_of_value(i);
            if (at == n) {
                all = drop_pieces(at > 0 ? before : i, end, i) && all;
                if (at == 0 && is(end, ',')) pieces_[end] = std::string_view();
            }
            if (!is(end, ',') && !(at == n && at == 0 && end < pieces_.size() && pieces_[end].empty())) return end;
            before = end, i = end + 1;
        }
    }
    bool drop_from_insert() {
        std::size_t i = 0, n = 0;
        while (i < pieces_.size() && !is(i, '(')) ++i;
        const std::size_t names = i + 1;
        for (i = names; i < pieces_.size() && !is(i, ')') && !is_column(i); ++i) n += is(i, ',') ? 1 : 0;
        if (i >= pieces_.size() || is(i, ')')) return true;  // the column is not named
        bool all = true, ignored = true;
        const bool must_be_kept = std::exchange(column_.must_be_kept, false);
        i = drop_nth(names, n, ignored);
        column_.must_be_kept = must_be_kept;
        while (i < pieces_.size() && to_lower_ascii(pieces_[i]) != "values") ++i;
        for (++i; i < pieces_.size(); ++i) {
            if (is(i, '('))
                i = drop_nth(i + 1, n, all);
            else if (!is(i, ',') && !is(i, ' '))
                break;  // ON DUPLICATE KEY UPDATE
        }
        return all;
    }

    std::vector<std::string_view> pieces_;
    SqlColumn column_;
    std::string verb_;
    bool of_table_ = false;  ///< names without a table are its columns
};

}  // namespace

std::optional<std::string> without_column(std::string_view statement, const SqlColumn& column) {
    std::string text;
    bool all = true;
    std::vector<std::string_view> pieces;
    const auto end_statement = [&] {
        Statement one(std::exchange(pieces, {}), column);
        all = one.drop() && all;
        text += one.text();
    };
    for (const std::string_view piece : pieces_of(statement)) {
        pieces.push_back(piece);
        if (piece == ";") end_statement();  // of several in one packet
    }
    end_statement();
    return all ? std::optional(text) : std::nullopt;
}

std::string without_index(std::string_view statement, std::string_view index) {
    const std::vector<std::string_view> all = pieces_of(statement);
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) {
        // FORCE INDEX (name)
        const bool found = i + 5 < all.size() && all[i] == "FORCE" && all[i + 2] == "INDEX" && all[i + 5] == index;
        if (found)
            i += 6;
        else
            text += all[i];
    }
    return text;
}

}  // namespace sluice
