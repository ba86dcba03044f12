// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A tile of a Mandelbrot picture: the text of a job's input file and the bytes of its output file.
//
// Input, one "key value" a line:  picture_width picture_height  x y width height  centre_re centre_im span
// max_iterations samples.  Output: a binary PGM (P5, 16 bit, big endian), one smoothed iteration count a pixel, so that
// two hosts of one HR class agree bit for bit.
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace mandelbrot {

struct Tile {
    int picture_width = 0, picture_height = 0;
    int x = 0, y = 0, width = 0, height = 0;  ///< pixels, inside the picture
    double centre_re = 0, centre_im = 0;
    double span = 0;  ///< width of the picture in the complex plane
    int max_iterations = 0;
    int samples = 1;  ///< samples * samples points a pixel
};

/// Throws std::runtime_error that names the key that is missing or out of range.
Tile read_tile(std::istream& in);

/// One row of the tile: mean iteration count of the pixel's points, scaled to 0 … 65535 (65535: never escapes).
std::vector<std::uint16_t> render_row(const Tile& tile, int row);

/// What rendering it costs, estimated: about ten floating-point operations an iteration; 3 % of the limit is this
/// region's mean count.
double flops_of(const Tile& tile);

std::string pgm_header(const Tile& tile);
std::string pgm_row(const std::vector<std::uint16_t>& row);

}  // namespace mandelbrot
