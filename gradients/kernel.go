package gradients

// kernel is an implementation of squared distances. All kernels give the same bits.
type kernel int

const (
	twinKernel kernel = iota // pure Go, everywhere
	avx2Kernel               // amd64 with AVX2
	vexKernel                // amd64 with AVX-VNNI, Int8 alone
	gramKernel               // amd64 with AVX-512 VNNI and arm64 with SDOT, Int8 alone
)

// Kernel names the kernel that Pairwise uses for vectors of width w on this CPU, for measurements.
func Kernel(w Width) string { return fastest(w).String() }

func (k kernel) String() string {
	switch {
	case k == twinKernel:
		return "pure Go"
	case k == avx2Kernel:
		return "AVX2"
	case k == vexKernel:
		return "AVX-VNNI"
	case gramShift == 0:
		return "SDOT"
	}
	return "AVX-512 VNNI"
}

// isGram reports whether k leaves products, which polarise turns into distances.
func (k kernel) isGram() bool { return k == vexKernel || k == gramKernel }

// fastest returns the best kernel that this CPU has for vectors of width w.
func fastest(w Width) kernel {
	switch {
	case haveGram && w == Int8:
		return gramKernel
	case haveGramVEX && w == Int8:
		return vexKernel
	case haveAVX2:
		return avx2Kernel
	}
	return twinKernel
}

// Chunks are the numbers of coordinates of each row that are processed together. All rows of a chunk stay in a core's
// level 2 cache, up to a few hundred participants, while every row is combined with every other. Chunks also bound the
// 32-bit lanes of the int8 kernels (see doc.go), and workers share the work by chunks. Measured for AVX2: 4096 is 3 %
// faster on one core, and more often leaves a second core idle; 8192 is slower.
//
// A Gram chunk is longer: sums are read half as often, and five rows of it still fit the level 1 cache.
const (
	chunk     = 2048
	gramChunk = 2 * chunk
)

// chunkFor returns the length of the kernel's chunks for n rows.
func (k kernel) chunkFor(n int) int {
	if k.isGram() && n*gramChunk <= 1<<20 {
		return gramChunk
	}
	return chunk
}

// sweep adds kernel k's results for coordinates [lo, hi) of the tile to s.
func (s *scratch) sweep(lo, hi int, k kernel) {
	switch k {
	case vexKernel, gramKernel:
		s.sweepGram(lo, hi, k)
	case avx2Kernel:
		s.sweepAVX2(lo, hi)
	case twinKernel:
		s.sweepTwin(lo, hi)
	}
}
