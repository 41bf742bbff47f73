; Functions for both widths of floats; words in capitals are replaced.

; The exponent and the fraction with its hidden bit; subnormals are normalised.
define internal WORD @tenfold.exponent.F32(WORD %size) nounwind {
  %raw = lshr WORD %size, FRACTION
  %normal = icmp ne WORD %raw, 0
  br i1 %normal, label %done, label %small
small:
  %zeros = call WORD @llvm.ctlz.WORD(WORD %size, i1 false)
  %shift = sub WORD %zeros, EXP_BITS
  %low = sub WORD 1, %shift
  br label %done
done:
  %exponent = phi WORD [ %raw, %0 ], [ %low, %small ]
  ret WORD %exponent
}

define internal WORD @tenfold.fraction.F32(WORD %size) nounwind {
  %raw = lshr WORD %size, FRACTION
  %normal = icmp ne WORD %raw, 0
  br i1 %normal, label %large, label %small
large:
  %cut = and WORD %size, FRACTION_MASK
  %full = or WORD %cut, HIDDEN
  ret WORD %full
small:
  %zeros = call WORD @llvm.ctlz.WORD(WORD %size, i1 false)
  %shift = sub WORD %zeros, EXP_BITS
  %moved = shl WORD %size, %shift
  ret WORD %moved
}

; Square root, a bit at a time, rounded to nearest.
define internal FLOAT @tenfold.sqrt.F32(FLOAT %x) nounwind {
  %bits = bitcast FLOAT %x to WORD
  %size = and WORD %bits, SIZE_MASK
  %zero = icmp eq WORD %size, 0
  %special = icmp uge WORD %bits, INFINITE
  %early = or i1 %zero, %special
  br i1 %early, label %simple, label %work
simple:
  ; 0, -0, infinity and NaN are their own roots; other negative numbers have none.
  %number = icmp ugt WORD %bits, SIGN_MASK
  %real = icmp ule WORD %size, INFINITE
  %negative = and i1 %number, %real
  %chosen = select i1 %negative, WORD QUIET, WORD %bits
  %result.simple = bitcast WORD %chosen to FLOAT
  ret FLOAT %result.simple
work:
  %biased = call WORD @tenfold.exponent.F32(WORD %size)
  %fraction = call WORD @tenfold.fraction.F32(WORD %size)
  %exponent = sub WORD %biased, BIAS
  %odd = and WORD %exponent, 1
  %half = ashr WORD %exponent, 1
  %even = shl WORD %fraction, %odd
  %first = shl WORD %even, 1
  br label %loop
loop:
  %rest = phi WORD [ %first, %work ], [ %rest.next, %loop ]
  %root = phi WORD [ 0, %work ], [ %root.next, %loop ]
  %sum = phi WORD [ 0, %work ], [ %sum.next, %loop ]
  %bit = phi WORD [ START, %work ], [ %bit.next, %loop ]
  %trial = add WORD %sum, %bit
  %fits = icmp ule WORD %trial, %rest
  %sum.more = add WORD %trial, %bit
  %sum.next = select i1 %fits, WORD %sum.more, WORD %sum
  %rest.less = sub WORD %rest, %trial
  %rest.kept = select i1 %fits, WORD %rest.less, WORD %rest
  %rest.next = shl WORD %rest.kept, 1
  %root.more = add WORD %root, %bit
  %root.next = select i1 %fits, WORD %root.more, WORD %root
  %bit.next = lshr WORD %bit, 1
  %more = icmp ne WORD %bit.next, 0
  br i1 %more, label %loop, label %round
round:
  %inexact = icmp ne WORD %rest.next, 0
  %last = and WORD %root.next, 1
  %up = select i1 %inexact, WORD %last, WORD 0
  %rounded = add WORD %root.next, %up
  %shifted = lshr WORD %rounded, 1
  %placed = add WORD %shifted, HALF_ONE
  %scale = shl WORD %half, FRACTION
  %word = add WORD %placed, %scale
  %result = bitcast WORD %word to FLOAT
  ret FLOAT %result
}

; The remainder of a division that truncates, exact, by subtracting shifted divisors.
define internal FLOAT @tenfold.fmod.F32(FLOAT %x, FLOAT %y) nounwind {
  %xbits = bitcast FLOAT %x to WORD
  %ybits = bitcast FLOAT %y to WORD
  %xsize = and WORD %xbits, SIZE_MASK
  %ysize = and WORD %ybits, SIZE_MASK
  %sign = and WORD %xbits, SIGN_MASK
  %yzero = icmp eq WORD %ysize, 0
  %ynan = icmp ugt WORD %ysize, INFINITE
  %xbad = icmp uge WORD %xsize, INFINITE
  %bad.y = or i1 %yzero, %ynan
  %bad = or i1 %bad.y, %xbad
  br i1 %bad, label %none, label %check
none:
  %nan = bitcast WORD QUIET to FLOAT
  ret FLOAT %nan
check:
  %below = icmp ult WORD %xsize, %ysize
  br i1 %below, label %whole, label %work
whole:
  ret FLOAT %x
work:
  %xexp = call WORD @tenfold.exponent.F32(WORD %xsize)
  %yexp = call WORD @tenfold.exponent.F32(WORD %ysize)
  %xfrac = call WORD @tenfold.fraction.F32(WORD %xsize)
  %yfrac = call WORD @tenfold.fraction.F32(WORD %ysize)
  br label %loop
loop:
  %exp = phi WORD [ %xexp, %work ], [ %exp.next, %again ]
  %rest = phi WORD [ %xfrac, %work ], [ %rest.next, %again ]
  %fits = icmp uge WORD %rest, %yfrac
  %less = sub WORD %rest, %yfrac
  %kept = select i1 %fits, WORD %less, WORD %rest
  %more = icmp sgt WORD %exp, %yexp
  br i1 %more, label %again, label %end
again:
  %rest.next = shl WORD %kept, 1
  %exp.next = sub WORD %exp, 1
  br label %loop
end:
  %exact = icmp eq WORD %kept, 0
  br i1 %exact, label %zero, label %pack
zero:
  %signed.zero = bitcast WORD %sign to FLOAT
  ret FLOAT %signed.zero
pack:
  %zeros = call WORD @llvm.ctlz.WORD(WORD %kept, i1 false)
  %shift = sub WORD %zeros, EXP_BITS
  %moved = shl WORD %kept, %shift
  %low = sub WORD %exp, %shift
  %normal = icmp sgt WORD %low, 0
  br i1 %normal, label %large, label %small
large:
  %cut = and WORD %moved, FRACTION_MASK
  %high = shl WORD %low, FRACTION
  %large.size = or WORD %cut, %high
  %large.bits = or WORD %large.size, %sign
  %large.result = bitcast WORD %large.bits to FLOAT
  ret FLOAT %large.result
small:
  %away = sub WORD 1, %low
  %small.size = lshr WORD %moved, %away
  %small.bits = or WORD %small.size, %sign
  %small.result = bitcast WORD %small.bits to FLOAT
  ret FLOAT %small.result
}

declare WORD @llvm.ctlz.WORD(WORD, i1)
