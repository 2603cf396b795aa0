//go:build !noasm

#include "textflag.h"

// The int8 kernels that need AVX-512 VNNI: see gram_amd64.go for what they compute.
//
// A step is 64 coordinates. VPDPBUSD multiplies unsigned bytes by signed ones and adds four products
// to each 32-bit lane, so the rows on the left are shifted by 128: a byte a becomes a + 128 if its
// top bit is flipped. Accumulator Z(5*i+j) belongs to rows i and 5+j.

// FIVE loads row a, shifts it and multiplies it by the five rows in Z25 to Z29.
#define FIVE(a, acc0, acc1, acc2, acc3, acc4) \
	VPXORQ   (a)(DX*1), Z31, Z30; \
	VPDPBUSD Z25, Z30, acc0; \
	VPDPBUSD Z26, Z30, acc1; \
	VPDPBUSD Z27, Z30, acc2; \
	VPDPBUSD Z28, Z30, acc3; \
	VPDPBUSD Z29, Z30, acc4

// FOLD adds the upper half of z to its lower half, which it leaves in that of dst.
#define FOLD(z, dst) \
	VEXTRACTI64X4 $1, z, Y25; \
	VPADDD        Z25, z, dst

// STORE4 writes the sums of the lanes of each of four registers, y0 to y3, to off(DI). x0 and x1
// are the lower halves of y0 and y1.
#define STORE4(y0, x0, y1, x1, y2, y3, off) \
	VPHADDD      y1, y0, y0; \
	VPHADDD      y3, y2, y2; \
	VPHADDD      y2, y0, y0; \
	VEXTRACTI128 $1, y0, x1; \
	VPADDD       x1, x0, x0; \
	VMOVDQU      x0, off(DI)

// func gram8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
TEXT ·gram8(SB), NOSPLIT, $0-32
	MOVQ         rows+0(FP), DI
	MOVQ         off+8(FP), DX
	MOVQ         steps+16(FP), CX
	MOVL         $0x80808080, AX
	VPBROADCASTD AX, Z31
	MOVQ         0(DI), R8
	MOVQ         8(DI), R9
	MOVQ         16(DI), R10
	MOVQ         24(DI), R11
	MOVQ         32(DI), R12
	MOVQ         40(DI), R13
	MOVQ         48(DI), AX
	MOVQ         56(DI), BX
	MOVQ         64(DI), SI
	MOVQ         72(DI), R14
	MOVQ         out+24(FP), DI
	VPXORQ       Z0, Z0, Z0
	VPXORQ       Z1, Z1, Z1
	VPXORQ       Z2, Z2, Z2
	VPXORQ       Z3, Z3, Z3
	VPXORQ       Z4, Z4, Z4
	VPXORQ       Z5, Z5, Z5
	VPXORQ       Z6, Z6, Z6
	VPXORQ       Z7, Z7, Z7
	VPXORQ       Z8, Z8, Z8
	VPXORQ       Z9, Z9, Z9
	VPXORQ       Z10, Z10, Z10
	VPXORQ       Z11, Z11, Z11
	VPXORQ       Z12, Z12, Z12
	VPXORQ       Z13, Z13, Z13
	VPXORQ       Z14, Z14, Z14
	VPXORQ       Z15, Z15, Z15
	VPXORQ       Z16, Z16, Z16
	VPXORQ       Z17, Z17, Z17
	VPXORQ       Z18, Z18, Z18
	VPXORQ       Z19, Z19, Z19
	VPXORQ       Z20, Z20, Z20
	VPXORQ       Z21, Z21, Z21
	VPXORQ       Z22, Z22, Z22
	VPXORQ       Z23, Z23, Z23
	VPXORQ       Z24, Z24, Z24

	PCALIGN $32
loop:
	VMOVDQU64 (R13)(DX*1), Z25
	VMOVDQU64 (AX)(DX*1), Z26
	VMOVDQU64 (BX)(DX*1), Z27
	VMOVDQU64 (SI)(DX*1), Z28
	VMOVDQU64 (R14)(DX*1), Z29
	FIVE(R8, Z0, Z1, Z2, Z3, Z4)
	FIVE(R9, Z5, Z6, Z7, Z8, Z9)
	FIVE(R10, Z10, Z11, Z12, Z13, Z14)
	FIVE(R11, Z15, Z16, Z17, Z18, Z19)
	FIVE(R12, Z20, Z21, Z22, Z23, Z24)
	ADDQ      $64, DX
	DECQ      CX
	JNZ       loop

	FOLD(Z0, Z0)
	FOLD(Z1, Z1)
	FOLD(Z2, Z2)
	FOLD(Z3, Z3)
	STORE4(Y0, X0, Y1, X1, Y2, Y3, 0)
	FOLD(Z4, Z4)
	FOLD(Z5, Z5)
	FOLD(Z6, Z6)
	FOLD(Z7, Z7)
	STORE4(Y4, X4, Y5, X5, Y6, Y7, 16)
	FOLD(Z8, Z8)
	FOLD(Z9, Z9)
	FOLD(Z10, Z10)
	FOLD(Z11, Z11)
	STORE4(Y8, X8, Y9, X9, Y10, Y11, 32)
	FOLD(Z12, Z12)
	FOLD(Z13, Z13)
	FOLD(Z14, Z14)
	FOLD(Z15, Z15)
	STORE4(Y12, X12, Y13, X13, Y14, Y15, 48)
	FOLD(Z16, Z0)
	FOLD(Z17, Z1)
	FOLD(Z18, Z2)
	FOLD(Z19, Z3)
	STORE4(Y0, X0, Y1, X1, Y2, Y3, 64)
	FOLD(Z20, Z4)
	FOLD(Z21, Z5)
	FOLD(Z22, Z6)
	FOLD(Z23, Z7)
	STORE4(Y4, X4, Y5, X5, Y6, Y7, 80)
	FOLD(Z24, Z8)
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11
	STORE4(Y8, X8, Y9, X9, Y10, Y11, 96)
	VZEROUPPER
	RET

// func sums8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
TEXT ·sums8(SB), NOSPLIT, $0-32
	MOVQ         rows+0(FP), DI
	MOVQ         off+8(FP), DX
	MOVQ         steps+16(FP), CX
	MOVL         $0x01010101, AX
	VPBROADCASTD AX, Z31
	MOVQ         0(DI), R8
	MOVQ         8(DI), R9
	MOVQ         16(DI), R10
	MOVQ         24(DI), R11
	MOVQ         32(DI), R12
	MOVQ         out+24(FP), DI
	VPXORQ       Z0, Z0, Z0
	VPXORQ       Z1, Z1, Z1
	VPXORQ       Z2, Z2, Z2
	VPXORQ       Z3, Z3, Z3
	VPXORQ       Z4, Z4, Z4
	VPXORQ       Z5, Z5, Z5
	VPXORQ       Z6, Z6, Z6
	VPXORQ       Z7, Z7, Z7

	PCALIGN $32
loop:
	VPDPBUSD (R8)(DX*1), Z31, Z0
	VPDPBUSD (R9)(DX*1), Z31, Z1
	VPDPBUSD (R10)(DX*1), Z31, Z2
	VPDPBUSD (R11)(DX*1), Z31, Z3
	VPDPBUSD (R12)(DX*1), Z31, Z4
	ADDQ     $64, DX
	DECQ     CX
	JNZ      loop

	FOLD(Z0, Z0)
	FOLD(Z1, Z1)
	FOLD(Z2, Z2)
	FOLD(Z3, Z3)
	STORE4(Y0, X0, Y1, X1, Y2, Y3, 0)
	FOLD(Z4, Z4)
	STORE4(Y4, X4, Y5, X5, Y6, Y7, 16)
	VZEROUPPER
	RET
