// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tile.h"

#include <cmath>
#include <map>
#include <stdexcept>

namespace mandelbrot {
namespace {

double value_of(const std::map<std::string, double>& values, const char* key, double low, double high) {
    const auto it = values.find(key);
    if (it == values.end()) throw std::runtime_error(std::string("input file: ") + key + " is missing");
    if (!(it->second >= low && it->second <= high))
        throw std::runtime_error(std::string("input file: ") + key + " is out of range");
    return it->second;
}

int int_of(const std::map<std::string, double>& values, const char* key, int low, int high) {
    return static_cast<int>(value_of(values, key, low, high));
}

/// Iterations until |z| > 2, or max.
int iterations(double re, double im, int max) {
    double zr = 0, zi = 0, zr2 = 0, zi2 = 0;
    int n = 0;
    while (n < max && zr2 + zi2 <= 4) {
        zi = 2 * zr * zi + im;
        zr = zr2 - zi2 + re;
        zr2 = zr * zr;
        zi2 = zi * zi;
        ++n;
    }
    return n;
}

}  // namespace

Tile read_tile(std::istream& in) {
    std::map<std::string, double> values;
    std::string key;
    double value = 0;
    while (in >> key >> value) values[key] = value;
    Tile t;
    t.picture_width = int_of(values, "picture_width", 1, 65536);
    t.picture_height = int_of(values, "picture_height", 1, 65536);
    t.x = int_of(values, "x", 0, t.picture_width - 1);
    t.y = int_of(values, "y", 0, t.picture_height - 1);
    t.width = int_of(values, "width", 1, t.picture_width - t.x);
    t.height = int_of(values, "height", 1, t.picture_height - t.y);
    t.centre_re = value_of(values, "centre_re", -3, 3);
    t.centre_im = value_of(values, "centre_im", -3, 3);
    t.span = value_of(values, "span", 1e-14, 10);
    t.max_iterations = int_of(values, "max_iterations", 1, 100000000);
    t.samples = int_of(values, "samples", 1, 64);
    return t;
}

double flops_of(const Tile& t) { return 10.0 * t.width * t.height * t.samples * t.samples * t.max_iterations * 0.03; }

std::vector<std::uint16_t> render_row(const Tile& t, int row) {
    std::vector<std::uint16_t> out(static_cast<std::size_t>(t.width));
    const double step = t.span / (t.picture_width * t.samples);
    const double left = t.centre_re - t.span / 2;
    const double top = t.centre_im + step * t.picture_height * t.samples / 2;
    for (int column = 0; column < t.width; ++column) {
        double sum = 0;
        for (int sy = 0; sy < t.samples; ++sy) {
            const double im = top - step * ((t.y + row) * static_cast<double>(t.samples) + sy + 0.5);
            for (int sx = 0; sx < t.samples; ++sx) {
                const double re = left + step * ((t.x + column) * static_cast<double>(t.samples) + sx + 0.5);
                const int n = iterations(re, im, t.max_iterations);
                // The square root spreads the many small counts over the grey levels.
                sum += n == t.max_iterations ? 1.0 : std::sqrt(static_cast<double>(n) / t.max_iterations);
            }
        }
        out[static_cast<std::size_t>(column)] =
            static_cast<std::uint16_t>(std::lround(65535 * sum / (t.samples * t.samples)));
    }
    return out;
}

std::string pgm_header(const Tile& t) {
    return "P5\n" + std::to_string(t.width) + " " + std::to_string(t.height) + "\n65535\n";
}

std::string pgm_row(const std::vector<std::uint16_t>& row) {
    std::string bytes;
    bytes.reserve(row.size() * 2);
    for (const std::uint16_t v : row) {
        bytes.push_back(static_cast<char>(v >> 8));
        bytes.push_back(static_cast<char>(v & 0xff));
    }
    return bytes;
}

}  // namespace mandelbrot
