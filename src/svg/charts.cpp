// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/svg/charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "sluice/base/text.h"

namespace sluice::svg {
namespace {

constexpr double kWidth = 600, kHeight = 340, kLeft = 74, kRight = 16, kTop = 66, kBottom = 56;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr std::array<const char*, 7> kPalette{"#0072B2", "#E69F00", "#009E73", "#D55E00",
                                              "#CC79A7", "#56B4E9", "#000000"};
constexpr std::size_t kMostLegends = 7;

std::string svg_number(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

/// At most `most` characters (bytes that begin one), then an ellipsis; escaped.
std::string label(const std::string& text, std::size_t most) {
    std::size_t end = 0, count = 0;
    while (end < text.size() && count < most) {
        ++end, ++count;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    }
    return xml_escape(text.substr(0, end)) + (end < text.size() ? "…" : "");
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& escaped, const char* more = "") {
    return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" text-anchor=\"" + anchor + "\" " + more +
           ">" + escaped + "</text>\n";
}

std::string rectangle(double x, double y, double width, double height, const std::string& style) {
    return "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" width=\"" + svg_number(width) +
           "\" height=\"" + svg_number(height) + "\" " + style + "/>\n";
}

/// The least of 1, 2, 5 times a power of ten that makes at most six steps up to `most`.
double step_for(double most) {
    const double raw = most / 6, power = std::pow(10, std::floor(std::log10(raw)));
    for (const double m : {1.0, 2.0, 5.0})
        if (m * power >= raw * (1 - 1e-9)) return m * power;
    return 10 * power;
}

/// The end of an axis that holds `most`: a whole number of steps.
double axis_end(double most) {
    if (!(most > 0) || !std::isfinite(most)) return 1;
    return std::ceil(most / step_for(most) - 1e-9) * step_for(most);
}

std::string begin(const Labels& labels) {
    const std::string title = xml_escape(labels.title);
    return "<svg viewBox=\"0 0 600 340\" role=\"img\" aria-label=\"" + title + "\">\n" +
           text_at(kLeft, 22, "start", title, "class=\"title\"") +
           text_at(kLeft + kPlotWidth / 2, kHeight - 10, "middle", xml_escape(labels.x)) +
           text_at(0, 0, "middle", xml_escape(labels.y),
                   ("transform=\"translate(16 " + svg_number(kTop + kPlotHeight / 2) + ") rotate(-90)\"").c_str());
}

std::string y_axis(double end) {
    std::string out;
    const double step = step_for(end);
    for (double v = 0; v <= end * (1 + 1e-9); v += step) {
        const double y = kTop + kPlotHeight * (1 - v / end);
        out += "<line x1=\"" + svg_number(kLeft) + "\" x2=\"" + svg_number(kWidth - kRight) + "\" y1=\"" +
               svg_number(y) + "\" y2=\"" + svg_number(y) + "\" class=\"grid\"/>\n" +
               text_at(kLeft - 6, y + 4, "end", svg_number(v));
    }
    return out;
}

std::string legend(const std::vector<std::pair<std::string, std::size_t>>& names) {
    std::string out;
    const std::size_t shown = std::min(names.size(), kMostLegends);
    const double width = kPlotWidth / static_cast<double>(std::max<std::size_t>(1, shown));
    for (std::size_t i = 0; i < shown; ++i) {
        const double x = kLeft + width * static_cast<double>(i);
        out += rectangle(x, 38, 10, 10, std::string("fill=\"") + kPalette[names[i].second % kPalette.size()] + "\"") +
               text_at(x + 14, 48, "start", label(names[i].first, static_cast<std::size_t>((width - 20) / 7.5)));
    }
    return out;
}

/// In place of a chart without values.
std::string nothing() {
    return text_at(kLeft + kPlotWidth / 2, kTop + kPlotHeight / 2, "middle", "nothing to show", "class=\"none\"");
}

constexpr const char* kPageStyle =
    R"(body { font: 15px/1.4 sans-serif; color: #222; background: #fff; margin: 0 auto; max-width: 1240px; padding: 12px; }
h1 { font-size: 22px; margin: 4px 0; }
svg { width: 100%; border: 1px solid #ddd; font: 13px sans-serif; fill: #222; }
svg .title { font-weight: bold; font-size: 15px; }
svg .grid { stroke: #ddd; }
svg .none { fill: #555; }
)";

}  // namespace

std::string page_head(const std::string& title, const std::string& style, const std::string& meta) {
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n" +
           meta + "<title>" + xml_escape(title) + "</title>\n<style>\n" + kPageStyle + style +
           "</style>\n</head>\n<body>\n";
}

std::string line_chart(const Labels& labels, const std::vector<Series>& series) {
    double most_x = 0, most_y = 0;
    bool any = false;
    std::vector<std::pair<std::string, std::size_t>> names;
    for (const Series& s : series) {
        if (!s.dashed) names.emplace_back(s.name, s.colour);
        for (const auto& [x, y] : s.points) most_x = std::max(most_x, x), most_y = std::max(most_y, y), any = true;
    }
    std::string out = begin(labels);
    if (!any) return out + nothing() + "</svg>\n";
    const double end_x = axis_end(most_x), end_y = axis_end(most_y);
    out += y_axis(end_y) + legend(names);
    for (double v = 0; v <= end_x * (1 + 1e-9); v += step_for(end_x))
        out += text_at(kLeft + kPlotWidth * std::min(1.0, v / end_x), kTop + kPlotHeight + 18,
                       v >= end_x ? "end" : "middle", svg_number(v));
    for (const Series& s : series) {
        out += std::string("<polyline fill=\"none\" stroke=\"") + kPalette[s.colour % kPalette.size()] +
               "\" stroke-width=\"2\"" + (s.dashed ? " stroke-dasharray=\"5 4\"" : "") + " points=\"";
        for (const auto& [x, y] : s.points)
            out += svg_number(kLeft + kPlotWidth * x / end_x) + "," + svg_number(kTop + kPlotHeight * (1 - y / end_y)) +
                   " ";
        out += "\"/>\n";
    }
    return out + "</svg>\n";
}

std::string bar_chart(const Labels& labels, const Bars& bars) {
    double most = 0;
    for (const auto& group : bars.values)
        for (const double v : group) most = std::max(most, v);
    std::string out = begin(labels);
    if (bars.values.empty()) return out + nothing() + "</svg>\n";
    const double end = axis_end(most), width = kPlotWidth / static_cast<double>(bars.values.size());
    std::vector<std::pair<std::string, std::size_t>> names;
    for (std::size_t n = 0; n < bars.names.size(); ++n) names.emplace_back(bars.names[n], n);
    out += y_axis(end) + (names.size() > 1 ? legend(names) : "");
    // Not every group can have its name where there are many.
    const auto each = static_cast<std::size_t>(std::max(1.0, std::ceil(36 / width)));
    for (std::size_t g = 0; g < bars.values.size(); ++g) {
        const double left = kLeft + width * static_cast<double>(g) + 0.1 * width;
        const double bar = 0.8 * width / static_cast<double>(std::max<std::size_t>(1, bars.names.size()));
        for (std::size_t n = 0; n < bars.values[g].size(); ++n) {
            const double height = kPlotHeight * bars.values[g][n] / end;
            out += rectangle(left + bar * static_cast<double>(n), kTop + kPlotHeight - height, bar, height,
                             std::string("fill=\"") + kPalette[n % kPalette.size()] + "\"");
        }
        if (g % each == 0)
            out += text_at(
                left + 0.4 * width, kTop + kPlotHeight + 18, "middle",
                label(bars.groups[g], static_cast<std::size_t>(std::max(3.0, width * static_cast<double>(each) / 8))));
    }
    return out + "</svg>\n";
}

std::string heat_map(const Labels& labels, const HeatMapCells& cells) {
    std::string out = begin(labels);
    if (cells.values.empty() || cells.columns.empty()) return out + nothing() + "</svg>\n";
    constexpr double kNames = 70;  // the names of rows, beside the label of the axis
    const double left = kLeft + kNames - 30, height = kPlotHeight / static_cast<double>(cells.rows.size());
    const double width = (kWidth - kRight - left) / static_cast<double>(cells.columns.size());
    for (std::size_t c = 0; c < cells.columns.size(); ++c)
        out += text_at(left + width * (static_cast<double>(c) + 0.5), kTop + kPlotHeight + 18, "middle",
                       label(cells.columns[c], static_cast<std::size_t>(std::max(2.0, width / 8))));
    for (std::size_t r = 0; r < cells.values.size(); ++r) {
        const double y = kTop + height * static_cast<double>(r);
        double sum = 0;
        for (const double v : cells.values[r]) sum += v;
        out += text_at(left - 6, y + height / 2 + 4, "end", label(cells.rows[r], 10));
        for (std::size_t c = 0; c < cells.values[r].size(); ++c) {
            const double part = sum > 0 ? cells.values[r][c] / sum : 0, x = left + width * static_cast<double>(c);
            out += rectangle(x, y, width - 1, height - 1,
                             "fill=\"#0072B2\" fill-opacity=\"" + svg_number(0.06 + 0.94 * part) + "\"");
            if (width > 34 && height > 14)
                out += text_at(x + width / 2, y + height / 2 + 4, "middle", svg_number(cells.values[r][c]),
                               part > 0.45 ? "fill=\"#fff\"" : "");
        }
    }
    return out + "</svg>\n";
}

}  // namespace sluice::svg
