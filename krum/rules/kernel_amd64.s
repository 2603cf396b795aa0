//go:build !noasm

#include "textflag.h"

// Kernels on strips of 128 bytes, four registers each: see kernels.go for what they compute.

// FOUR applies op to the four registers of two strips.
#define FOUR(op) \
	op Y4, Y0, Y8; \
	op Y5, Y1, Y9; \
	op Y6, Y2, Y10; \
	op Y7, Y3, Y11

// EXCHANGE walks through the list of pairs. An entry is two offsets of strips.
#define EXCHANGE(min, max) \
	PCALIGN $32; \
loop: \
	MOVL (SI), AX; \
	MOVL 4(SI), BX; \
	ADDQ R8, AX; \
	ADDQ R8, BX; \
	VMOVDQU (AX), Y0; \
	VMOVDQU 32(AX), Y1; \
	VMOVDQU 64(AX), Y2; \
	VMOVDQU 96(AX), Y3; \
	VMOVDQU (BX), Y4; \
	VMOVDQU 32(BX), Y5; \
	VMOVDQU 64(BX), Y6; \
	VMOVDQU 96(BX), Y7; \
	FOUR(min); \
	VMOVDQU Y8, (AX); \
	VMOVDQU Y9, 32(AX); \
	VMOVDQU Y10, 64(AX); \
	VMOVDQU Y11, 96(AX); \
	FOUR(max); \
	VMOVDQU Y8, (BX); \
	VMOVDQU Y9, 32(BX); \
	VMOVDQU Y10, 64(BX); \
	VMOVDQU Y11, 96(BX); \
	ADDQ $8, SI; \
	DECQ CX; \
	JNZ loop; \
	VZEROUPPER; \
	RET

// func exchange8(strips unsafe.Pointer, pairs *uint32, count int)
TEXT ·exchange8(SB), NOSPLIT, $0-24
	MOVQ strips+0(FP), R8
	MOVQ pairs+8(FP), SI
	MOVQ count+16(FP), CX
	EXCHANGE(VPMINSB, VPMAXSB)

// func exchange16(strips unsafe.Pointer, pairs *uint32, count int)
TEXT ·exchange16(SB), NOSPLIT, $0-24
	MOVQ strips+0(FP), R8
	MOVQ pairs+8(FP), SI
	MOVQ count+16(FP), CX
	EXCHANGE(VPMINSW, VPMAXSW)

// func exchange32(strips unsafe.Pointer, pairs *uint32, count int)
TEXT ·exchange32(SB), NOSPLIT, $0-24
	MOVQ strips+0(FP), R8
	MOVQ pairs+8(FP), SI
	MOVQ count+16(FP), CX
	EXCHANGE(VPMINSD, VPMAXSD)

// SPREAD reads n rows from byte off on. One load widens or copies what becomes one register.
#define SPREAD(load, step) \
	PCALIGN $32; \
loop: \
	MOVQ (SI), AX; \
	ADDQ DX, AX; \
	load (AX), Y0; \
	load step(AX), Y1; \
	load (2*step)(AX), Y2; \
	load (3*step)(AX), Y3; \
	VMOVDQU Y0, (DI); \
	VMOVDQU Y1, 32(DI); \
	VMOVDQU Y2, 64(DI); \
	VMOVDQU Y3, 96(DI); \
	ADDQ $8, SI; \
	ADDQ $128, DI; \
	DECQ CX; \
	JNZ loop; \
	VZEROUPPER; \
	RET

// func spreadSame(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)
TEXT ·spreadSame(SB), NOSPLIT, $0-32
	MOVQ strips+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ off+24(FP), DX
	SPREAD(VMOVDQU, 32)

// func spread8to16(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)
TEXT ·spread8to16(SB), NOSPLIT, $0-32
	MOVQ strips+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ off+24(FP), DX
	SPREAD(VPMOVSXBW, 16)

// func spread16to32(strips unsafe.Pointer, rows *unsafe.Pointer, n, off int)
TEXT ·spread16to32(SB), NOSPLIT, $0-32
	MOVQ strips+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ off+24(FP), DX
	SPREAD(VPMOVSXWD, 16)

// ADD32 adds the eight 32-bit lanes of y, whose lower half is x, to eight numbers at off(DI).
#define ADD32(y, x, off) \
	VPMOVSXDQ    x, Y14; \
	VEXTRACTI128 $1, y, X15; \
	VPMOVSXDQ    X15, Y15; \
	VPADDQ       (off)(DI), Y14, Y14; \
	VPADDQ       (off+32)(DI), Y15, Y15; \
	VMOVDQU      Y14, (off)(DI); \
	VMOVDQU      Y15, (off+32)(DI)

// ADD16 adds the sixteen 16-bit lanes of y, whose lower half is x, to sixteen numbers at off(DI).
#define ADD16(y, x, off) \
	VPMOVSXWD    x, Y12; \
	VEXTRACTI128 $1, y, X13; \
	VPMOVSXWD    X13, Y13; \
	ADD32(Y12, X12, off); \
	ADD32(Y13, X13, off+64)

// func sum8(num *int64, strips unsafe.Pointer, count int)
TEXT ·sum8(SB), NOSPLIT, $0-24
	MOVQ  num+0(FP), DI
	MOVQ  strips+8(FP), SI
	MOVQ  count+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

	PCALIGN $32
loop:
	VPMOVSXBW (SI), Y8
	VPMOVSXBW 16(SI), Y9
	VPMOVSXBW 32(SI), Y10
	VPMOVSXBW 48(SI), Y11
	VPMOVSXBW 64(SI), Y12
	VPMOVSXBW 80(SI), Y13
	VPMOVSXBW 96(SI), Y14
	VPMOVSXBW 112(SI), Y15
	VPADDW    Y8, Y0, Y0
	VPADDW    Y9, Y1, Y1
	VPADDW    Y10, Y2, Y2
	VPADDW    Y11, Y3, Y3
	VPADDW    Y12, Y4, Y4
	VPADDW    Y13, Y5, Y5
	VPADDW    Y14, Y6, Y6
	VPADDW    Y15, Y7, Y7
	ADDQ      $128, SI
	DECQ      CX
	JNZ       loop

	ADD16(Y0, X0, 0)
	ADD16(Y1, X1, 128)
	ADD16(Y2, X2, 256)
	ADD16(Y3, X3, 384)
	ADD16(Y4, X4, 512)
	ADD16(Y5, X5, 640)
	ADD16(Y6, X6, 768)
	ADD16(Y7, X7, 896)
	VZEROUPPER
	RET

// func sum16(num *int64, strips unsafe.Pointer, count int)
TEXT ·sum16(SB), NOSPLIT, $0-24
	MOVQ  num+0(FP), DI
	MOVQ  strips+8(FP), SI
	MOVQ  count+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

	PCALIGN $32
loop:
	VPMOVSXWD (SI), Y8
	VPMOVSXWD 16(SI), Y9
	VPMOVSXWD 32(SI), Y10
	VPMOVSXWD 48(SI), Y11
	VPMOVSXWD 64(SI), Y12
	VPMOVSXWD 80(SI), Y13
	VPMOVSXWD 96(SI), Y14
	VPMOVSXWD 112(SI), Y15
	VPADDD    Y8, Y0, Y0
	VPADDD    Y9, Y1, Y1
	VPADDD    Y10, Y2, Y2
	VPADDD    Y11, Y3, Y3
	VPADDD    Y12, Y4, Y4
	VPADDD    Y13, Y5, Y5
	VPADDD    Y14, Y6, Y6
	VPADDD    Y15, Y7, Y7
	ADDQ      $128, SI
	DECQ      CX
	JNZ       loop

	ADD32(Y0, X0, 0)
	ADD32(Y1, X1, 64)
	ADD32(Y2, X2, 128)
	ADD32(Y3, X3, 192)
	ADD32(Y4, X4, 256)
	ADD32(Y5, X5, 320)
	ADD32(Y6, X6, 384)
	ADD32(Y7, X7, 448)
	VZEROUPPER
	RET

// func sum32(num *int64, strips unsafe.Pointer, count int)
TEXT ·sum32(SB), NOSPLIT, $0-24
	MOVQ    num+0(FP), DI
	MOVQ    strips+8(FP), SI
	MOVQ    count+16(FP), CX
	VMOVDQU (DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3
	VMOVDQU 128(DI), Y4
	VMOVDQU 160(DI), Y5
	VMOVDQU 192(DI), Y6
	VMOVDQU 224(DI), Y7

	PCALIGN $32
loop:
	VPMOVSXDQ (SI), Y8
	VPMOVSXDQ 16(SI), Y9
	VPMOVSXDQ 32(SI), Y10
	VPMOVSXDQ 48(SI), Y11
	VPMOVSXDQ 64(SI), Y12
	VPMOVSXDQ 80(SI), Y13
	VPMOVSXDQ 96(SI), Y14
	VPMOVSXDQ 112(SI), Y15
	VPADDQ    Y8, Y0, Y0
	VPADDQ    Y9, Y1, Y1
	VPADDQ    Y10, Y2, Y2
	VPADDQ    Y11, Y3, Y3
	VPADDQ    Y12, Y4, Y4
	VPADDQ    Y13, Y5, Y5
	VPADDQ    Y14, Y6, Y6
	VPADDQ    Y15, Y7, Y7
	ADDQ      $128, SI
	DECQ      CX
	JNZ       loop

	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VMOVDQU Y4, 128(DI)
	VMOVDQU Y5, 160(DI)
	VMOVDQU Y6, 192(DI)
	VMOVDQU Y7, 224(DI)
	VZEROUPPER
	RET

// CHOOSE keeps the lanes of a whose distance below lo is at most that of b above hi, as unsigned
// numbers, and takes b's for the others.
#define CHOOSE(sub, min, equal) \
	MOVQ $4, CX; \
loop: \
	VMOVDQU (AX), Y0; \
	VMOVDQU (BX), Y1; \
	VMOVDQU (SI), Y2; \
	sub Y0, Y2, Y2; \
	sub (DI), Y1, Y3; \
	min Y2, Y3, Y3; \
	equal Y2, Y3, Y3; \
	VPBLENDVB Y3, Y0, Y1, Y0; \
	VMOVDQU Y0, (AX); \
	ADDQ $32, AX; \
	ADDQ $32, BX; \
	ADDQ $32, SI; \
	ADDQ $32, DI; \
	DECQ CX; \
	JNZ loop; \
	VZEROUPPER; \
	RET

// func nearer8(a, b, lo, hi unsafe.Pointer)
TEXT ·nearer8(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), AX
	MOVQ b+8(FP), BX
	MOVQ lo+16(FP), SI
	MOVQ hi+24(FP), DI
	CHOOSE(VPSUBB, VPMINUB, VPCMPEQB)

// func nearer16(a, b, lo, hi unsafe.Pointer)
TEXT ·nearer16(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), AX
	MOVQ b+8(FP), BX
	MOVQ lo+16(FP), SI
	MOVQ hi+24(FP), DI
	CHOOSE(VPSUBW, VPMINUW, VPCMPEQW)

// func nearer32(a, b, lo, hi unsafe.Pointer)
TEXT ·nearer32(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), AX
	MOVQ b+8(FP), BX
	MOVQ lo+16(FP), SI
	MOVQ hi+24(FP), DI
	CHOOSE(VPSUBD, VPMINUD, VPCMPEQD)

// MIX adds up the strips of the members, negates the sum if sign is -1 rather than 0, and adds the
// base.
#define MIX(add, sub) \
	VPXOR Y0, Y0, Y0; \
	VPXOR Y1, Y1, Y1; \
	VPXOR Y2, Y2, Y2; \
	VPXOR Y3, Y3, Y3; \
	TESTQ CX, CX; \
	JZ done; \
	PCALIGN $32; \
loop: \
	MOVWLZX (SI), AX; \
	SHLQ $7, AX; \
	add (R8)(AX*1), Y0, Y0; \
	add 32(R8)(AX*1), Y1, Y1; \
	add 64(R8)(AX*1), Y2, Y2; \
	add 96(R8)(AX*1), Y3, Y3; \
	ADDQ $2, SI; \
	DECQ CX; \
	JNZ loop; \
done: \
	VPXOR Y4, Y0, Y0; \
	VPXOR Y4, Y1, Y1; \
	VPXOR Y4, Y2, Y2; \
	VPXOR Y4, Y3, Y3; \
	sub Y4, Y0, Y0; \
	sub Y4, Y1, Y1; \
	sub Y4, Y2, Y2; \
	sub Y4, Y3, Y3; \
	add (DX), Y0, Y0; \
	add 32(DX), Y1, Y1; \
	add 64(DX), Y2, Y2; \
	add 96(DX), Y3, Y3; \
	VMOVDQU Y0, (DI); \
	VMOVDQU Y1, 32(DI); \
	VMOVDQU Y2, 64(DI); \
	VMOVDQU Y3, 96(DI); \
	VZEROUPPER; \
	RET

// func mix16(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)
TEXT ·mix16(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ base+8(FP), DX
	MOVQ strips+16(FP), R8
	MOVQ members+24(FP), SI
	MOVQ count+32(FP), CX
	VPBROADCASTQ sign+40(FP), Y4
	MIX(VPADDW, VPSUBW)

// func mix32(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)
TEXT ·mix32(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ base+8(FP), DX
	MOVQ strips+16(FP), R8
	MOVQ members+24(FP), SI
	MOVQ count+32(FP), CX
	VPBROADCASTQ sign+40(FP), Y4
	MIX(VPADDD, VPSUBD)

// func mixHalf(dst, base, strips unsafe.Pointer, members *uint16, count, sign int)
TEXT ·mixHalf(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ base+8(FP), DX
	MOVQ strips+16(FP), R8
	MOVQ members+24(FP), SI
	MOVQ count+32(FP), CX
	VPBROADCASTQ sign+40(FP), Y4
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	TESTQ CX, CX
	JZ done
	PCALIGN $32
loop:
	MOVWLZX (SI), AX
	SHLQ    $7, AX
	VPADDW  (R8)(AX*1), Y0, Y0
	VPADDW  32(R8)(AX*1), Y1, Y1
	ADDQ    $2, SI
	DECQ    CX
	JNZ     loop
done:
	VEXTRACTI128 $1, Y0, X2
	VEXTRACTI128 $1, Y1, X3
	VPMOVSXWD X0, Y0
	VPMOVSXWD X2, Y2
	VPMOVSXWD X1, Y1
	VPMOVSXWD X3, Y3
	VPXOR   Y4, Y0, Y0
	VPXOR   Y4, Y1, Y1
	VPXOR   Y4, Y2, Y2
	VPXOR   Y4, Y3, Y3
	VPSUBD  Y4, Y0, Y0
	VPSUBD  Y4, Y1, Y1
	VPSUBD  Y4, Y2, Y2
	VPSUBD  Y4, Y3, Y3
	VPADDD  (DX), Y0, Y0
	VPADDD  32(DX), Y2, Y2
	VPADDD  64(DX), Y1, Y1
	VPADDD  96(DX), Y3, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y2, 32(DI)
	VMOVDQU Y1, 64(DI)
	VMOVDQU Y3, 96(DI)
	VZEROUPPER
	RET
