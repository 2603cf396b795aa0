//go:build !noasm

#include "textflag.h"
#include "gram_amd64.h"

// The int8 kernels that need AVX-512 VNNI: see gram.go for what they compute.
//
// A step is 64 coordinates. VPDPBUSD multiplies unsigned bytes by signed ones and adds four
// products to each 32-bit lane, so the rows on the left are shifted by 128: a byte a becomes a +
// 128 if its top bit is flipped. Accumulator Z(5*i+j) belongs to rows i and 5+j.

// FIVE loads row a, shifts it and multiplies it by the five rows in Z25 to Z29.
#define FIVE(a, acc0, acc1, acc2, acc3, acc4) \
	VPXORQ   (a)(DX*1), Z31, Z30; \
	VPDPBUSD Z25, Z30, acc0; \
	VPDPBUSD Z26, Z30, acc1; \
	VPDPBUSD Z27, Z30, acc2; \
	VPDPBUSD Z28, Z30, acc3; \
	VPDPBUSD Z29, Z30, acc4

// ZERO4 clears four registers.
#define ZERO4(z0, z1, z2, z3) \
	VPXORQ z0, z0, z0; \
	VPXORQ z1, z1, z1; \
	VPXORQ z2, z2, z2; \
	VPXORQ z3, z3, z3

// FOLD adds the upper half of z to its lower half, which it leaves in that of dst.
#define FOLD(z, dst) \
	VEXTRACTI64X4 $1, z, Y25; \
	VPADDD        Z25, z, dst

// FOLD4 folds z0 to z3 into Z0 to Z3 and writes the sums of their lanes to off(DI).
#define FOLD4(z0, z1, z2, z3, off) \
	FOLD(z0, Z0); \
	FOLD(z1, Z1); \
	FOLD(z2, Z2); \
	FOLD(z3, Z3); \
	STORE4(Y0, X0, Y1, X1, Y2, Y3, off)

// func gram8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
TEXT ·gram8(SB), NOSPLIT, $0-32
	MOVQ         rows+0(FP), DI
	MOVQ         off+8(FP), DX
	MOVQ         steps+16(FP), CX
	MOVL         $0x80808080, AX
	VPBROADCASTD AX, Z31
	TENROWS
	MOVQ         out+24(FP), DI
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	ZERO4(Z20, Z21, Z22, Z23)
	ZERO4(Z24, Z25, Z26, Z27)

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

	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27
	VPXORQ Z28, Z28, Z28
	FOLD4(Z0, Z1, Z2, Z3, 0)
	FOLD4(Z4, Z5, Z6, Z7, 16)
	FOLD4(Z8, Z9, Z10, Z11, 32)
	FOLD4(Z12, Z13, Z14, Z15, 48)
	FOLD4(Z16, Z17, Z18, Z19, 64)
	FOLD4(Z20, Z21, Z22, Z23, 80)
	FOLD4(Z24, Z26, Z27, Z28, 96)
	VZEROUPPER
	RET

// func sums8(rows *[10]unsafe.Pointer, off, steps int, out *[28]int32)
TEXT ·sums8(SB), NOSPLIT, $0-32
	MOVQ         rows+0(FP), DI
	MOVQ         off+8(FP), DX
	MOVQ         steps+16(FP), CX
	MOVL         $0x01010101, AX
	VPBROADCASTD AX, Z31
	TENROWS
	MOVQ         out+24(FP), DI
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)

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

	FOLD4(Z0, Z1, Z2, Z3, 0)
	FOLD4(Z4, Z5, Z6, Z7, 16)
	VZEROUPPER
	RET
