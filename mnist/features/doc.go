// Package features maps grey images to 160 inputs from which a linear model learns better than from pixels, with a
// shorter gradient. With four participants at epsilon 2 a model of 1,600 parameters reaches 0.98 on MNIST's test set,
// where 14x14 pixels with 1,970 parameters reach 0.91 (see TestAccuracyAtEpsilonTwo).
//
// The map is public and fixed before anyone looks at data, and each worker computes it image by image on its own, so
// that it costs no privacy. Its results never reach what validators recompute, so that they may be rounded as the
// machine rounds. All participants of a training must use the same map: [Hash] names it.
//
// # The map
//
// An image I of n x n pixels, grey levels divided by 255, is 0 outside. An odd side is made even by
// a row and a column of zeros at its end.
//
//  1. oriented(I, K): at each place, gx = I[y,x+1]-I[y,x-1], gy = I[y+1,x]-I[y-1,x] and
//     m = ‖(gx, gy)‖. For k < K, h_k = max(0, s_k - m cos(π/4)) with
//     s_k = gx cos(kπ/4) + gy sin(kπ/4). K = 8 is signed; K = 4 is unsigned and takes |s_k|.
//  2. pool(H): 4x4 cells, cell(i,j) = Σ_yx w_i(y) w_j(x) H[y,x]. The window w_i(y) is
//     max(0, 1-|y-c_i|/s), s = n/4, c_i = s i + (s-1)/2, divided by its sum over y in [0, n).
//  3. Three blocks, channel-major [channel][i][j], where halve takes 2x2 means:
//     a (128) = pool(oriented(I, 8));
//     b (128) = pool(oriented(halve([1 2 1]/4 ⊗ [1 2 1]/4 * I), 8));
//     u (256) = pool(oriented(halve(h_k), 4)) for each of the four h_k of oriented(I, 4).
//  4. In each block v becomes v^0.35, and is divided by the block's norm plus 1e-6. The blocks
//     together are r, of 512 values; [Map.Block] computes it.
//  5. x = Mᵀ(r-mu), of 160 values, is scaled to length 3, by 3/(‖x‖+1e-6); [Map.Row] computes it.
//
// Steps 1 to 4 are a histogram of oriented gradients (Dalal and Triggs, CVPR 2005) on two scales, and one of the
// gradients of its energies, as in the second layer of a scattering transform (Bruna and Mallat, 2013).
//
// # The public constants
//
// mu (512) and M (512x160) come from synthetic strokes and from no data: 4,000 random glyphs of one to three Bezier
// curves, each drawn three times with another slant, rotation, pen and wobble. mu is the mean of r. M is a linear
// discriminant analysis of r: it divides by the variation within a glyph and keeps the 160 directions that tell glyphs
// apart best. The glyphs are no digits and have no classes, but they are a prior: images are expected to be drawn with
// a pen. The recipe is testnet/experiment/recipe, which writes constants.bin with M rounded to int8 under one scale.
// Its tests repeat the glyphs to the bit, and M within a bound that they derive.
//
// # Other sizes
//
// Blocks have 4x4 cells whatever n is, so that mu and M apply to every size. They were fitted at
// n = 28 to pens 2 to 3 pixels wide. At other sizes a cell covers the same part of the image, but
// gradients are still those of neighbouring pixels, so that edges look sharper or softer than the
// constants expect. TestAccuracyAtEpsilonTwo also states what 14x14 pixels reach.
package features

//go:generate go run ../../testnet/experiment/recipe
