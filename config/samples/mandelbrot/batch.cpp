// SPDX-License-Identifier: LGPL-3.0-or-later
// mandelbrot_batch: cuts a picture into tiles of three sizes, and puts the finished tiles together.
//
//   mandelbrot_batch cut DIR [--rows N] [--cell PIXELS] [--samples N]
//       writes DIR/NAME.in for every tile and prints a line "NAME SIZE_CLASS FLOPS QUORUM" for each: a third of the
//       cells stay whole (class 2), a third become 2 tiles (class 1), a third 4 tiles (class 0).
//   mandelbrot_batch join TILES_DIR INPUT_DIR PICTURE.png
//       reads INPUT_DIR/NAME.in and TILES_DIR/NAME.out and writes the picture; exit status 1 if a tile is missing.
#include <png.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <vector>

#include "tile.h"

namespace fs = std::filesystem;
using mandelbrot::Tile;

namespace {

struct Picture {
    int columns = 4, rows = 3;
    int cell = 192;    ///< pixels, even
    int samples = 10;  ///< points a pixel, each way: what makes the work real
};

Tile tile_of(const Picture& picture, int x, int y, int w, int h) {
    Tile t;
    t.picture_width = picture.columns * picture.cell;
    t.picture_height = picture.rows * picture.cell;
    t.x = x;
    t.y = y;
    t.width = w;
    t.height = h;
    t.centre_re = -0.7436438870371587;  // seahorse valley
    t.centre_im = 0.1318259042053119;
    t.span = 0.0032;
    t.max_iterations = 4000;
    t.samples = picture.samples;
    return t;
}

void write_input(const fs::path& file, const Tile& t) {
    std::ofstream out(file, std::ios::trunc);
    out.precision(17);
    out << "picture_width " << t.picture_width << "\npicture_height " << t.picture_height << "\nx " << t.x << "\ny "
        << t.y << "\nwidth " << t.width << "\nheight " << t.height << "\ncentre_re " << t.centre_re << "\ncentre_im "
        << t.centre_im << "\nspan " << t.span << "\nmax_iterations " << t.max_iterations << "\nsamples " << t.samples
        << '\n';
    if (!out) throw std::runtime_error("can't write " + file.string());
}

int cut(const fs::path& dir, const Picture& picture) {
    fs::create_directories(dir);
    int number = 0;
    for (int cell = 0; cell < picture.columns * picture.rows; ++cell) {
        const int size_class = cell % 3;
        const int x0 = cell % picture.columns * picture.cell, y0 = cell / picture.columns * picture.cell;
        const int w = size_class == 0 ? picture.cell / 2 : picture.cell;
        const int h = size_class == 2 ? picture.cell : picture.cell / 2;
        for (int y = y0; y < y0 + picture.cell; y += h) {
            for (int x = x0; x < x0 + picture.cell; x += w) {
                const Tile t = tile_of(picture, x, y, w, h);
                const std::string name = "tile_" + std::to_string(x) + "_" + std::to_string(y);
                write_input(dir / (name + ".in"), t);
                const int quorum = number++ % 4 == 0 ? 2 : 1;
                std::printf("%s %d %.0f %d\n", name.c_str(), size_class, mandelbrot::flops_of(t), quorum);
            }
        }
    }
    return 0;
}

std::vector<std::uint16_t> read_pgm(const fs::path& file, const Tile& t) {
    std::ifstream in(file, std::ios::binary);
    std::string magic;
    int w = 0, h = 0, depth = 0;
    if (!(in >> magic >> w >> h >> depth) || magic != "P5" || w != t.width || h != t.height || depth != 65535)
        throw std::runtime_error(file.string() + " is missing or not the tile that was asked for");
    in.get();
    std::string bytes(static_cast<std::size_t>(w) * h * 2, '\0');
    if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
        throw std::runtime_error(file.string() + " is cut short");
    std::vector<std::uint16_t> pixels(static_cast<std::size_t>(w) * h);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[2 * i]) << 8 |
                                               static_cast<unsigned char>(bytes[2 * i + 1]));
    return pixels;
}

/// Grey level -> colour; black where the set never escapes.
void colour(std::uint16_t v, unsigned char* rgb) {
    if (v == 65535) {
        std::memset(rgb, 0, 3);
        return;
    }
    const double t = v / 65535.0;
    const double phase[3] = {0.0, 0.12, 0.25};
    for (int c = 0; c < 3; ++c)
        rgb[c] = static_cast<unsigned char>(std::lround(255 * (0.5 - 0.5 * std::cos(6.28318 * (2.2 * t + phase[c])))));
}

void write_png(const fs::path& file, const std::vector<unsigned char>& rgb, int width, int height) {
    png_image image;
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(height);
    image.format = PNG_FORMAT_RGB;
    if (png_image_write_to_file(&image, file.c_str(), 0, rgb.data(), 0, nullptr) == 0)
        throw std::runtime_error("can't write " + file.string() + ": " + image.message);
}

int join(const fs::path& tiles, const fs::path& inputs, const fs::path& picture) {
    std::vector<unsigned char> rgb;
    int width = 0, height = 0;
    long covered = 0;
    for (const auto& entry : fs::directory_iterator(inputs)) {
        if (entry.path().extension() != ".in") continue;
        std::ifstream in(entry.path());
        const Tile t = mandelbrot::read_tile(in);
        if (rgb.empty()) {
            width = t.picture_width;
            height = t.picture_height;
            rgb.resize(static_cast<std::size_t>(width) * height * 3);
        }
        const auto pixels = read_pgm(tiles / (entry.path().stem().string() + ".out"), t);
        for (int y = 0; y < t.height; ++y)
            for (int x = 0; x < t.width; ++x)
                colour(pixels[static_cast<std::size_t>(y) * t.width + x],
                       &rgb[3 * (static_cast<std::size_t>(t.y + y) * width + t.x + x)]);
        covered += static_cast<long>(t.width) * t.height;
    }
    if (width == 0) throw std::runtime_error("no tile inputs in " + inputs.string());
    if (covered != static_cast<long>(width) * height) throw std::runtime_error("the tiles do not cover the picture");
    write_png(picture, rgb, width, height);
    return 0;
}

Picture picture_from(const std::vector<std::string>& args, std::size_t first) {
    Picture picture;
    for (std::size_t i = first; i + 1 < args.size(); i += 2) {
        if (args[i] == "--rows")
            picture.rows = std::stoi(args[i + 1]);
        else if (args[i] == "--cell")
            picture.cell = std::stoi(args[i + 1]) / 2 * 2;
        else if (args[i] == "--samples")
            picture.samples = std::stoi(args[i + 1]);
        else
            throw std::runtime_error("unknown option " + args[i]);
    }
    return picture;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> args(argv + 1, argv + argc);
    try {
        if (args.size() >= 2 && args[0] == "cut") return cut(args[1], picture_from(args, 2));
        if (args.size() == 4 && args[0] == "join") return join(args[1], args[2], args[3]);
        std::cerr << "usage: mandelbrot_batch cut DIR [--rows N] [--cell PIXELS] [--samples N]\n"
                     "       mandelbrot_batch join TILES_DIR INPUT_DIR PICTURE.png\n";
        return 2;
    } catch (const std::exception& e) {
        std::cerr << "mandelbrot_batch: " << e.what() << '\n';
        return 1;
    }
}
