; `a * b + c` of doubles, rounded once, for targets whose processor has no such instruction.
;
; The product is exact in 106 bits. Product and addend are moved to the left end of 128 bits, the
; smaller is shifted under the larger with its lost bits kept as one, and the sum is rounded.
define internal double @tenfold.fma.f64(double %a, double %b, double %c) nounwind {
  %abits = bitcast double %a to i64
  %bbits = bitcast double %b to i64
  %cbits = bitcast double %c to i64
  %asize = and i64 %abits, 9223372036854775807
  %bsize = and i64 %bbits, 9223372036854775807
  %csize = and i64 %cbits, 9223372036854775807
  %aspecial = icmp uge i64 %asize, 9218868437227405312
  %bspecial = icmp uge i64 %bsize, 9218868437227405312
  %cspecial = icmp uge i64 %csize, 9218868437227405312
  %azero = icmp eq i64 %asize, 0
  %bzero = icmp eq i64 %bsize, 0
  %czero = icmp eq i64 %csize, 0
  %s1 = or i1 %aspecial, %bspecial
  %s2 = or i1 %azero, %bzero
  %simple = or i1 %s1, %s2
  br i1 %simple, label %plain, label %addend
plain:
  ; Infinities, NaNs and products that are 0 need no care.
  %plain.product = fmul double %a, %b
  %plain.sum = fadd double %plain.product, %c
  ret double %plain.sum
addend:
  br i1 %cspecial, label %other, label %work
other:
  %other.sum = fadd double %c, %c
  ret double %other.sum
work:
  %aexp = call i64 @tenfold.exponent.f64(i64 %asize)
  %bexp = call i64 @tenfold.exponent.f64(i64 %bsize)
  %afrac = call i64 @tenfold.fraction.f64(i64 %asize)
  %bfrac = call i64 @tenfold.fraction.f64(i64 %bsize)
  %cexp.real = call i64 @tenfold.exponent.f64(i64 %csize)
  %cfrac.real = call i64 @tenfold.fraction.f64(i64 %csize)
  %cfrac = select i1 %czero, i64 0, i64 %cfrac.real
  %cexp = select i1 %czero, i64 -4096, i64 %cexp.real
  %awide = zext i64 %afrac to i128
  %bwide = zext i64 %bfrac to i128
  %product = mul i128 %awide, %bwide
  ; A fraction of 106 bits, scaled so that a value is fraction * 2^(exponent - 1075 - 52 - 20):
  ; 20 bits of room below, two above.
  %p = shl i128 %product, 20
  %pexp.sum = add i64 %aexp, %bexp
  %pexp = sub i64 %pexp.sum, 1023
  %cwide = zext i64 %cfrac to i128
  %cmoved = shl i128 %cwide, 72
  %pxor = xor i64 %abits, %bbits
  %pneg = icmp slt i64 %pxor, 0
  %cneg = icmp slt i64 %cbits, 0
  %plarge = icmp sge i64 %pexp, %cexp
  %hi = select i1 %plarge, i128 %p, i128 %cmoved
  %lo = select i1 %plarge, i128 %cmoved, i128 %p
  %hi.exp = select i1 %plarge, i64 %pexp, i64 %cexp
  %lo.exp = select i1 %plarge, i64 %cexp, i64 %pexp
  %gap.full = sub i64 %hi.exp, %lo.exp
  %gap.far = icmp ugt i64 %gap.full, 127
  %gap64 = select i1 %gap.far, i64 127, i64 %gap.full
  %gap = zext i64 %gap64 to i128
  %lo.shifted = lshr i128 %lo, %gap
  %lo.back = shl i128 %lo.shifted, %gap
  %lo.lost = icmp ne i128 %lo.back, %lo
  %lo.sticky = zext i1 %lo.lost to i128
  %lo.near = or i128 %lo.shifted, %lo.sticky
  %same = icmp eq i1 %pneg, %cneg
  %hi.neg = select i1 %plarge, i1 %pneg, i1 %cneg
  %sum.added = add i128 %hi, %lo.near
  %sum.taken = sub i128 %hi, %lo.near
  %sum = select i1 %same, i128 %sum.added, i128 %sum.taken
  %under = icmp slt i128 %sum, 0
  %sum.minus = sub i128 0, %sum
  %size = select i1 %under, i128 %sum.minus, i128 %sum
  %neg = xor i1 %hi.neg, %under
  %nothing = icmp eq i128 %size, 0
  br i1 %nothing, label %cancelled, label %pack
cancelled:
  ret double 0.0
pack:
  ; The top bit goes to place 126; a value of 1.x at exponent e has it at place 124.
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %left = sub i128 %zeros, 1
  %top = shl i128 %size, %left
  %left64 = trunc i128 %left to i64
  %exp.moved = sub i64 %hi.exp, %left64
  %exp = add i64 %exp.moved, 2
  ; Below the least exponent the fraction moves right instead.
  %tiny = icmp slt i64 %exp, 1
  %short.full = sub i64 1, %exp
  %short.pos = select i1 %tiny, i64 %short.full, i64 0
  %short.far = icmp ugt i64 %short.pos, 127
  %short64 = select i1 %short.far, i64 127, i64 %short.pos
  %short = zext i64 %short64 to i128
  %cut = lshr i128 %top, %short
  %cut.back = shl i128 %cut, %short
  %cut.lost = icmp ne i128 %cut.back, %top
  %cut.sticky = zext i1 %cut.lost to i128
  %ready = or i128 %cut, %cut.sticky
  %kept.wide = lshr i128 %ready, 74
  %kept = trunc i128 %kept.wide to i64
  %rest = and i128 %ready, 18889465931478580854783
  %middle = icmp eq i128 %rest, 9444732965739290427392
  %above = icmp ugt i128 %rest, 9444732965739290427392
  %kept.odd = and i64 %kept, 1
  %above.word = zext i1 %above to i64
  %up = select i1 %middle, i64 %kept.odd, i64 %above.word
  %exp.low = select i1 %tiny, i64 1, i64 %exp
  %exp.less = sub i64 %exp.low, 1
  %exp.placed = shl i64 %exp.less, 52
  %with.exp = add i64 %exp.placed, %kept
  %rounded = add i64 %with.exp, %up
  %huge.exp = icmp sgt i64 %exp, 2046
  %huge.bits = icmp uge i64 %rounded, 9218868437227405312
  %huge = or i1 %huge.exp, %huge.bits
  %finite = select i1 %huge, i64 9218868437227405312, i64 %rounded
  %signed = or i64 %finite, -9223372036854775808
  %word = select i1 %neg, i64 %signed, i64 %finite
  %result = bitcast i64 %word to double
  ret double %result
}

declare i128 @llvm.ctlz.i128(i128, i1)
