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

}  // namespace sluice::svg
