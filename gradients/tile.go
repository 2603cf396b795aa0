package gradients

// tileRows is the number of rows of a tile, a multiple of the rows of every kernel's blocks: two
// times as many rows of a chunk, and the sums of a tile, stay in a level 2 cache of 2 MB, and a
// worker needs no more memory than that, however many participants there are.
const tileRows = 240

// tiles returns the number of tiles that cover the pairs i <= j of n rows: ranges of tileRows rows
// against each other and themselves.
func tiles(n int) int {
	ranges := (n + tileRows - 1) / tileRows
	return ranges * (ranges + 1) / 2
}

// tileAt returns the first row and the first column of a tile, which are equal on the diagonal.
func tileAt(n, tile int) (top, left int) {
	for top < n {
		inRow := (n - top + tileRows - 1) / tileRows
		if tile < inRow {
			break
		}
		tile -= inRow
		top += tileRows
	}
	return top, top + tile*tileRows
}

// take adds the sums that kernel k left in s to a tile of d. The products of Gram kernels are freed of the shift.
func (d *Distances) take(s *scratch, tile int, k kernel) {
	top, left := tileAt(d.n, tile)
	for i := range s.rows {
		sum, sq := s.sum[i*len(s.cols):][:len(s.cols)], d.sq[(top+i)*d.n+left:][:len(s.cols)]
		if k.isGram() {
			norm := s.norm[:len(sum)]
			for j, q := range sum {
				sq[j] += q - gramShift*norm[j]
			}
			continue
		}
		for j, q := range sum {
			sq[j] += q
		}
	}
}
