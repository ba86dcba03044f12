// SPDX-License-Identifier: LGPL-3.0-or-later
// Charts of 340 by 220: at that size a phone shows their labels as they are, and a wide page has three beside each
// other.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iterator>

#include "sluice/base/text.h"
#include "sluice/svg/charts.h"

namespace sluice::svg {

const char kColours[] =
    R"(:root { color-scheme: light dark; --bg: #fff; --fg: #1b1b1b; --soft: #595959; --line: #d8d8d8;
 --good: #00704f; --bad: #b3261e; --c0: #0067a5; --c1: #c25e00; --c2: #007a5c; --c3: #b0407a; --c4: #6b4fb3; --c5: #6d6d00; }
@media (prefers-color-scheme: dark) { :root { --bg: #141414; --fg: #ececec; --soft: #b4b4b4; --line: #3c3c3c;
 --good: #5fd3a1; --bad: #ff8f85; --c0: #63b8f0; --c1: #f0a030; --c2: #3fc79a; --c3: #ee9cc6; --c4: #b9a5f5; --c5: #d6d65c; } }
)";

namespace {

constexpr double kTimeWidth = 340, kTimeHeight = 220, kTimeLeft = 44, kTimeRight = 10, kTimeTop = 62, kTimeBottom = 26;
constexpr double kLegendRow = 16;

std::string coordinate(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

/// "950", "1.2k", "35k", "4.1M".
std::string short_number(double value) {
    const char* const units[] = {"", "k", "M", "G", "T"};
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < std::size(units)) value /= 1000, ++unit;
    char text[32];
    const bool fine = value < 9.95 && std::abs(value - std::round(value)) > 0.05;
    std::snprintf(text, sizeof text, fine ? "%.1f%s" : "%.0f%s", value, units[unit]);
    return text;
}

/// Round figures up to `most`: at most four steps.
double tick(double most) {
    const double raw = std::max(most, 1e-9) / 4, power = std::pow(10, std::floor(std::log10(raw)));
    for (const double m : {1.0, 2.0, 5.0})
        if (m * power >= raw * (1 - 1e-9)) return m * power;
    return 10 * power;
}

std::string words_at(double x, double y, const char* anchor, const std::string& escaped, const char* kind) {
    return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + anchor + "\" class=\"" +
           kind + "\">" + escaped + "</text>\n";
}

std::string begin_picture(const std::string& title, double height) {
    const std::string escaped = xml_escape(title);
    return "<svg viewBox=\"0 0 340 " + coordinate(height) + "\" role=\"img\" aria-label=\"" + escaped + "\">\n" +
           words_at(4, 16, "start", escaped, "title");
}

/// A name and the colour that it stands for; in two columns where all are short.
struct NameOfColour {
    std::string text;
    std::size_t colour;
};
constexpr std::size_t kShortName = 22, kLongName = 46;

std::size_t rows_of(const std::vector<NameOfColour>& names) {
    const bool narrow = std::ranges::all_of(names, [](const auto& n) { return n.text.size() <= kShortName; });
    return narrow ? (names.size() + 1) / 2 : names.size();
}

std::string names_of(const std::vector<NameOfColour>& names, double top) {
    const std::size_t rows = rows_of(names), columns = rows < names.size() ? 2 : 1;
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::size_t row = i / columns;
        const double x = 4 + static_cast<double>(i % columns) * 168, y = top + static_cast<double>(row) * kLegendRow;
        out += "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) +
               "\" width=\"10\" height=\"10\" fill=\"var(--c" + std::to_string(names[i].colour % 6) + ")\"/>\n" +
               words_at(x + 15, y + 9.5, "start", xml_escape(in_one_line(names[i].text, kLongName)), "name");
    }
    return out;
}

struct PlotArea {
    TimeSpan span;
    double end = 1;  ///< of the y axis
    double x(double time) const {
        return kTimeLeft + (kTimeWidth - kTimeLeft - kTimeRight) * (time - span.from) / (span.until - span.from);
    }
    double y(double value) const {
        return kTimeTop + (kTimeHeight - kTimeTop - kTimeBottom) * (1 - std::min(value, end) / end);
    }
};

std::string grid_line(double x1, double x2, double y1, double y2) {
    return "<line x1=\"" + coordinate(x1) + "\" x2=\"" + coordinate(x2) + "\" y1=\"" + coordinate(y1) + "\" y2=\"" +
           coordinate(y2) + "\" class=\"grid\"/>\n";
}

std::string value_axis(const PlotArea& plot, double step) {
    std::string out;
    for (double v = 0; v <= plot.end * (1 + 1e-9); v += step)
        out += grid_line(kTimeLeft, kTimeWidth - kTimeRight, plot.y(v), plot.y(v)) +
               words_at(kTimeLeft - 6, plot.y(v) + 4, "end", short_number(v), "tick");
    return out;
}

/// Hours of UTC, or days where the span is longer than two.
std::string time_axis(const PlotArea& plot) {
    const double length = plot.span.until - plot.span.from;
    const bool days = length > 2 * 86400;
    const double step = length < 3 * 3600 ? 60 * std::ceil(length / 60 / 5)
                        : days            ? 86400 * std::ceil(length / 86400 / 7)
                                          : std::max(3600.0, 3600 * std::ceil(length / 3600 / 6));
    std::string out;
    for (double t = std::ceil(plot.span.from / step) * step; t <= plot.span.until; t += step) {
        const auto second = static_cast<std::time_t>(t);
        std::tm utc{};
        ::gmtime_r(&second, &utc);
        char text[16];
        std::strftime(text, sizeof text, days ? "%m-%d" : "%H:%M", &utc);
        const double x = plot.x(t);
        out += grid_line(x, x, kTimeTop, kTimeHeight - kTimeBottom);
        if (x > kTimeLeft + 8 && x < kTimeWidth - 18) out += words_at(x, kTimeHeight - 8, "middle", text, "tick");
    }
    return out;
}

std::string line_of(const Series& series, const PlotArea& plot, double gap) {
    std::string out, points;
    double last = 0;
    int n = 0;
    const auto flush = [&] {
        if (n > 0)
            out += "<polyline fill=\"none\" stroke=\"var(--c" + std::to_string(series.colour % 6) +
                   ")\" stroke-width=\"2\" points=\"" + points + "\"/>\n";
        points.clear();
        n = 0;
    };
    for (const auto& [time, value] : series.points) {
        if (time < plot.span.from || time > plot.span.until || !std::isfinite(value)) continue;
        if (n > 0 && time - last > gap) flush();
        points += coordinate(plot.x(time)) + "," + coordinate(plot.y(value)) + " ";
        last = time;
        ++n;
    }
    flush();
    return out;
}

}  // namespace

std::string time_chart(const std::string& title, const TimeSpan& span, const std::vector<Series>& series, double gap) {
    std::string out = begin_picture(title, kTimeHeight);
    double most = 0;
    bool any = false;
    std::vector<NameOfColour> names;
    for (const Series& s : series) {
        names.push_back({s.name, s.colour});
        for (const auto& [time, value] : s.points)
            if (std::isfinite(value) && time >= span.from && time <= span.until)
                most = std::max(most, value), any = true;
    }
    out += names_of(names, 26);
    if (!any || !(span.until > span.from))
        return out + words_at(kTimeWidth / 2, 150, "middle", "nothing to show yet", "tick") + "</svg>\n";
    const double step = tick(std::max(most, 4.0));
    const PlotArea plot{span, step * std::max(1.0, std::ceil(most / step - 1e-9))};
    out += value_axis(plot, step) + time_axis(plot);
    for (const Series& s : series) out += line_of(s, plot, gap);
    return out + "</svg>\n";
}

std::string divided_bar(const std::string& title, const std::vector<PartOfBar>& parts) {
    double sum = 0;
    std::vector<NameOfColour> names;
    for (const PartOfBar& p : parts) {
        if (!(p.value > 0) || !std::isfinite(p.value)) continue;
        sum += p.value;
        names.push_back({in_one_line(p.name, kLongName - 8) + ": " + short_number(p.value), p.colour});
    }
    const double height = 62 + kLegendRow * static_cast<double>(rows_of(names));
    std::string out = begin_picture(title, height);
    if (sum <= 0) return out + words_at(4, 42, "start", "nothing to show", "tick") + "</svg>\n";
    double left = 4;
    for (const PartOfBar& p : parts) {
        if (!(p.value > 0) || !std::isfinite(p.value)) continue;
        const double width = (kTimeWidth - 8) * p.value / sum;
        out += "<rect x=\"" + coordinate(left) + "\" y=\"26\" width=\"" + coordinate(std::max(width - 1, 1.0)) +
               "\" height=\"22\" fill=\"var(--c" + std::to_string(p.colour % 6) + ")\"/>\n";
        left += width;
    }
    return out + names_of(names, 58) + "</svg>\n";
}

}  // namespace sluice::svg
