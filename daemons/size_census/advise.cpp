// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_census/advise.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "sluice/base/text.h"

namespace sluice {
namespace {

/// One class: the hosts from index `first` to before `last` of the ascending speeds.
ClassAdvice describe(const std::vector<double>& speeds, std::size_t first, std::size_t last,
                     const AdviceSettings& wish) {
    const auto at = [&](double q) {
        return speeds[first + static_cast<std::size_t>(q * static_cast<double>(last - first - 1))];
    };
    ClassAdvice c;
    c.from = speeds[first];
    c.to = speeds[last - 1];
    c.typical = at(0.5);
    c.job_flops = c.typical * wish.target_runtime;
    c.runtime_p10 = c.job_flops / at(0.9);
    c.runtime_p90 = c.job_flops / at(0.1);
    const auto begin = speeds.begin() + static_cast<std::ptrdiff_t>(first),
               end = speeds.begin() + static_cast<std::ptrdiff_t>(last);
    const auto good_from = std::lower_bound(begin, end, c.typical / wish.band);
    const auto good_to = std::upper_bound(begin, end, c.typical * wish.band);
    c.in_band = static_cast<double>(std::distance(good_from, good_to)) / static_cast<double>(last - first);
    return c;
}

Advice with_classes(const std::vector<double>& speeds, int n, const AdviceSettings& wish) {
    Advice a;
    for (int i = 0; i < n; ++i) {
        const std::size_t first = speeds.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(n);
        const std::size_t last = speeds.size() * static_cast<std::size_t>(i + 1) / static_cast<std::size_t>(n);
        a.classes.push_back(describe(speeds, first, last, wish));
        a.in_band += a.classes.back().in_band * static_cast<double>(last - first);
        a.classes.back().relative = a.classes.back().job_flops / a.classes.front().job_flops;
    }
    a.in_band /= static_cast<double>(speeds.size());
    a.reached = a.in_band >= wish.share;
    return a;
}

/// Speeds by power of two.
std::map<int, std::size_t> bins_of(const std::vector<double>& speeds) {
    std::map<int, std::size_t> bins;
    for (const double s : speeds) ++bins[static_cast<int>(std::floor(std::log2(s)))];
    if (bins.empty()) return bins;
    for (int b = bins.begin()->first; b < bins.rbegin()->first; ++b) bins[b];  // gaps are shown as empty
    return bins;
}

std::size_t largest(const std::map<int, std::size_t>& bins) {
    std::size_t most = 1;
    for (const auto& [bin, n] : bins) most = std::max(most, n);
    return most;
}

}  // namespace

Advice advise(std::vector<double>& speeds, const AdviceSettings& wish) {
    std::erase_if(speeds, [](double s) { return !(s > 0); });  // a device that is never on has no run time
    std::sort(speeds.begin(), speeds.end());
    if (speeds.empty()) return {};
    Advice best;
    for (int n = 1; n <= wish.most && static_cast<std::size_t>(n) <= speeds.size(); ++n) {
        Advice a = with_classes(speeds, n, wish);
        if (best.classes.empty() || a.in_band > best.in_band) best = std::move(a);
        if (best.reached) break;
    }
    return best;
}

std::string advice_text(const std::string& app, const Advice& a, const AdviceSettings& wish) {
    if (a.classes.empty()) return app + ": no measured hosts, no advice\n";
    std::string text = fmt::format("{}: {} size class{} for a run time of {:.0f} s\n", app, a.classes.size(),
                                   a.classes.size() == 1 ? "" : "es", wish.target_runtime);
    text += fmt::format("{:>5} {:>13} {:>13} {:>13} {:>9} {:>21} {:>7}\n", "class", "from flops/s", "to flops/s",
                        "job flops", "relative", "run time 10 % - 90 %", "in band");
    for (std::size_t i = 0; i < a.classes.size(); ++i) {
        const ClassAdvice& c = a.classes[i];
        text += fmt::format("{:>5} {:>13.3e} {:>13.3e} {:>13.3e} {:>9.1f} {:>9.0f} - {:>7.0f} s {:>6.0f}%\n", i, c.from,
                            c.to, c.job_flops, c.relative, c.runtime_p10, c.runtime_p90, 100 * c.in_band);
    }
    text += fmt::format("{:.0f} % of the hosts would take between {:.0f} and {:.0f} s{}\n", 100 * a.in_band,
                        wish.target_runtime / wish.band, wish.target_runtime * wish.band,
                        a.reached ? "" : "; more is not reached with so few classes");
    return text;
}

std::string histogram_text(const std::vector<double>& speeds) {
    const auto bins = bins_of(speeds);
    const double scale = 50.0 / static_cast<double>(largest(bins));
    std::string text;
    for (const auto& [bin, n] : bins)
        text += fmt::format("{:>10.3e} {:>8} {}\n", std::exp2(bin), n,
                            std::string(static_cast<std::size_t>(std::ceil(static_cast<double>(n) * scale)), '#'));
    return text;
}

std::string histogram_svg(const std::string& app, const std::vector<double>& speeds, const Advice& advice) {
    const auto bins = bins_of(speeds);
    if (bins.empty()) return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\"/>\n";
    const double width = 720, height = 320, left = 40, bottom = 280,
                 bar = (width - 2 * left) / static_cast<double>(bins.size());
    const double scale = 230.0 / static_cast<double>(largest(bins));
    const auto x_of = [&](double speed) { return left + (std::log2(speed) - bins.begin()->first) * bar; };
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{2:.0f}\" y=\"20\" font-size=\"14\">{3}: effective speed of {4} "
        "devices</text>\n",
        width, height, left, xml_escape(app), speeds.size());
    for (const auto& [bin, n] : bins) {
        const double h = static_cast<double>(n) * scale, x = left + (bin - bins.begin()->first) * bar;
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#4a78a8\"><title>{:.3e}: {}</title></rect>\n",
            x + 1, bottom - h, std::max(1.0, bar - 2), h, std::exp2(bin), n);
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0e}</text>\n", x, bottom + 16,
                           std::exp2(bin));
    }
    for (std::size_t i = 1; i < advice.classes.size(); ++i)
        svg += fmt::format(
            "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"40\" y2=\"{1:.0f}\" stroke=\"#c03\" stroke-dasharray=\"4 3\"/>\n",
            x_of(advice.classes[i].from), bottom);
    return svg + "</svg>\n";
}

}  // namespace sluice
