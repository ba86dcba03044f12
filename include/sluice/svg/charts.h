// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Charts as SVG elements, one size, colours that colour-blind people can tell apart (Okabe and Ito), for a page that
// loads nothing. All names come from files: they are escaped here.
#include <string>
#include <utility>
#include <vector>

namespace sluice::svg {

/// A page for such charts, up to <body>: `style` and `meta` are of our source.
std::string page_head(const std::string& title, const std::string& style, const std::string& meta = "");

struct Labels {
    std::string title, x, y;  ///< of the chart and its axes, units included
};

struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< by x
    bool dashed = false;
    std::size_t colour = 0;  ///< number in the palette, taken round
};

/// Lines; both axes begin at 0.
std::string line_chart(const Labels& labels, const std::vector<Series>& series);

struct Bars {
    std::vector<std::string> groups;          ///< along the x axis
    std::vector<std::string> names;           ///< of the bars of a group
    std::vector<std::vector<double>> values;  ///< [group][name], not negative
};
std::string bar_chart(const Labels& labels, const Bars& bars);

struct HeatMapCells {
    std::vector<std::string> rows, columns;
    std::vector<std::vector<double>> values;  ///< [row][column]
};
/// Each cell shows its value, and its part of its row as darkness.
std::string heat_map(const Labels& labels, const HeatMapCells& cells);

// For pages in light and dark: colours are variables of the page's style, and labels stay readable on a phone.

/// Text for the page's style: --c0 … --c5 for series, --fg, --soft, --line, --bg, --good and --bad, in light and dark.
extern const char kColours[];

struct TimeSpan {
    double from = 0, until = 0;  ///< UNIX s
};
/// Lines over time, up to six; a gap of more than `gap` s interrupts a line. Points are by time.
std::string time_chart(const std::string& title, const TimeSpan& span, const std::vector<Series>& series,
                       double gap = 1800);

struct PartOfBar {
    std::string name;
    double value = 0;
    std::size_t colour = 0;
};
/// One bar that is divided into parts, with a legend. Parts of no value are left out.
std::string divided_bar(const std::string& title, const std::vector<PartOfBar>& parts);

}  // namespace sluice::svg
