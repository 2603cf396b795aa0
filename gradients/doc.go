// Package gradients holds gradients on an integer grid and the exact arithmetic that consensus does with them.
//
// A Vector has one byte (Int8) or two (Int16) a coordinate; a Grid says how far apart two neighbouring grid points are
// in the gradient's own units, and quantises a worker's floating-point gradient once, before it is signed. After that
// nothing is ever rounded: norms, dot products, distances and means are integers or fractions of integers. The same
// inputs therefore give the same bits on every CPU, whatever the compiler, the instruction set and the number of cores,
// and two validators can compare results with ==. Floating point cannot give that: sums change with their order, and s
// += d*d is fused into one rounding on some machines and not on others.
//
// # Kernels
//
// Pairwise computes the squared distances of all pairs of n vectors, n(n-1)/2 * d differences and squares, which is
// nearly all the work of Krum. The kernel is chosen at run time; all are exact, hence equal:
//
//   - amd64 with AVX-512 VNNI, int8: the Gram form |a|^2+|b|^2-2<a,b>, blocks of 5 x 5 rows. An
//     instruction multiplies 64 unsigned bytes by 64 signed ones and adds four products to a lane,
//     so one side is shifted by 128, and the sums of the rows pay that back. In integers the
//     cancellation that spoils this form in floating point is absent.
//   - amd64 with AVX-VNNI, which desktops and servers have that lack AVX-512, int8: the same, 32
//     bytes at a time, blocks of 3 x 4 rows, for there are half as many registers.
//   - arm64 with SDOT, int8: the same, 16 signed bytes at a time, blocks of 5 x 5 rows, and nothing
//     to shift.
//   - amd64 with AVX2: differences and squares, blocks of 3 x 3 rows, so that six loads serve nine
//     pairs.
//   - elsewhere, and with the build tag noasm: a pure-Go twin that multiplies two coordinates at a
//     time.
//
// d is cut into chunks of 2048 or 4096 coordinates, and more than 240 rows into tiles, ranges of 240 against each
// other. A chunk of a tile stays in cache while its rows meet each other, goroutines share them out, and each needs
// room for the sums of one tile alone. docs/RULES.md has measurements.
//
// # Why nothing overflows
//
// Let M = Width.Max, 127 or 16383 < 2^14, d <= MaxDim = 2^21 and n <= MaxParticipants = 2^12.
//
//   - A difference of two coordinates is at most 2M = 32766 < 2^15: it fits int16, which is why
//     Int16 stops at 16383.
//   - Its square is at most 32766^2 < 2^30. The sum of two such, what VPMADDWD leaves in a 32-bit
//     lane, is at most 2147221512 < 2^31.
//   - int8 kernel: the sum of two squares is at most 2*254^2 = 129032 < 2^17, and a chunk of 2048
//     coordinates is 128 steps, so a 32-bit lane stays below 2^24 and the sum of all eight below
//     2^27. Chunks are added up in int64.
//   - Gram kernels: a lane, and the sum of all lanes, is a sum of (a+128) b over coordinates of a
//     chunk, at most 4096 of them: at most 255 * 128 * 4096 < 2^27 in magnitude, even were a byte
//     -128, and VPDPBUSD adds its four products without saturating. That holds for sixteen lanes of
//     AVX-512 as for eight of AVX-VNNI. With SDOT a product is at most 128 * 128. A row's sum is at
//     most 128 * 4096 = 2^19. Over all of d, with 127 for 128, both are below 255 * 127 * 2^21 <
//     2^36, and 128 times a row's sum below 2^35, in int64.
//   - int16 kernel: two results of VPMADDWD added as unsigned numbers are at most 4294443024 <
//     2^32; from there on lanes have 64 bits.
//   - Twin: coordinates are shifted to [0, 2M], and the same 4294443024 bounds the half word that
//     holds a sum of four products; see sweepTwin.
//   - A squared distance is below 2^30 * 2^21 = 2^51 (MaxSquaredDistance), a dot product or squared
//     norm at most M^2 * d < 2^28 * 2^21 = 2^49.
//   - A Krum score sums fewer than n squared distances: below 2^51 * 2^12 = 2^63, so it fits int64.
//   - A numerator of a mean with denominator D <= MaxDenominator = 2^33 is at most M*D < 2^47. Its
//     products with a vector can exceed int64 only in sum; Fraction.Dot then sums in 128 bits, and
//     so holds for any numerators.
//
// # Errors
//
// Decode, DecodeFraction and Grid.Validate reject input from outside with an error that wraps one of ErrWidth, ErrStep,
// ErrLength, ErrRange and ErrDenominator. Operands whose shapes differ are the programmer's fault and panic.
//
// The package is pure: no I/O, clock, randomness, map order or goroutine order reaches a result.
package gradients
