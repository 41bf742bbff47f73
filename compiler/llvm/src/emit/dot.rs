//! Sums of four products of 8-bit integers, `dot4_u8i8` and the like: one instruction where the processor has it, else
//! two of products of 16 bits, which are exact as well; the instruction of 8 bits that older processors have saturates.
//! Those of two products of `bf16` are one instruction where it is worth it, else they are added one after the other.
//!
//! The first operand is that of the rows of a tile, one number in all lanes, the second that of its columns. Only the
//! second is changed where signs do not fit: of arithmetic on bytes of one number in all lanes LLVM 22 does not find an
//! end.

use tenfold_core::{Arch, Device};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Dot, Expr, ExprId, Intrinsic, Viewer};

use super::function::{Body, Result};
use super::ops::Kind;
use crate::ir::Value;

/// The sign bit of each byte.
const SIGNS: i64 = 0x8080_8080_u32 as i32 as i64;

impl<'c> Body<'_, 'c, '_> {
    /// Whether an expression is such a sum.
    pub(super) fn is_dot(&self, id: ExprId) -> bool {
        matches!(self.node(id), Expr::Call(Intrinsic::Dot(_), ..))
    }

    /// The sum, added to what there is.
    pub(super) fn dot(&mut self, id: ExprId, sum: Option<ExprId>) -> Result<Value<'c>> {
        let Expr::Call(Intrinsic::Dot(dot), args, _) = self.node(id) else {
            return Err("no sum of products".into());
        };
        if dot.is_wide() {
            return self.of_neighbours(args, sum);
        }
        let [x, y] = args[..] else { return Err(format!("a sum of products of {} operands", args.len())) };
        let (x, y) = (self.expr(x)?, self.expr(y)?);
        let sum = sum.map(|sum| self.expr(sum)).transpose()?;
        let signed = match dot {
            Dot::Bytes { signed } => signed,
            Dot::Bf16 => {
                return match self.in_pairs_of_halves(x, y, sum) {
                    Some(value) => Ok(value),
                    None => self.of_halves(x, y, sum),
                };
            }
            Dot::Eight | Dot::Sixteen => return Err("a sum of products of words".into()),
        };
        let sum = sum.unwrap_or_else(|| self.cx.ir.const_int(x.ty(), 0));
        let native = match self.cx.target.arch {
            Arch::X86_64 => self.unsigned_by_signed(*signed, x, y, sum),
            Arch::Aarch64 => self.of_equal_signs(*signed, x, y, sum),
            Arch::Arm => self.in_halves(*signed, x, y, sum),
            Arch::Other if self.cx.target.device.is_some_and(Device::is_ptx) => self.of_words(*signed, x, y, sum),
            Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other => None,
        };
        Ok(native.or_else(|| self.in_pairs(*signed, x, y, sum)).unwrap_or_else(|| self.one_by_one(*signed, x, y, sum)))
    }

    /// Two products of `bf16` by x86's instruction. It takes what is no normal number for 0, and rounds to nearest whatever
    /// the program has asked for.
    fn in_pairs_of_halves(&self, x: Value<'c>, y: Value<'c>, sum: Option<Value<'c>>) -> Option<Value<'c>> {
        let ir = self.cx.ir;
        let name = match x.ty().lanes() {
            _ if !self.cx.target.adds_halves() => return None,
            16 => "llvm.x86.avx512bf16.dpbf16ps.512",
            8 => "llvm.x86.avx512bf16.dpbf16ps.256",
            4 => "llvm.x86.avx512bf16.dpbf16ps.128",
            _ => return None,
        };
        let sum = sum.unwrap_or_else(|| ir.bitcast(self.lanes_of(x, 0), ir.float(32).times(x.ty().lanes())));
        Some(ir.intrinsic_of_bits(name, &[sum, x, y]))
    }

    /// Two products of `bf16`, the upper halves of floats, added one after the other.
    fn of_halves(&self, x: Value<'c>, y: Value<'c>, mut sum: Option<Value<'c>>) -> Result<Value<'c>> {
        let (ir, kind) = (self.cx.ir, Kind::Float { bits: 32 });
        let float = ir.float(32).times(x.ty().lanes());
        let halves = |word: Value<'c>| {
            let lower = ir.shl(word, self.lanes_of(word, 16));
            [lower, ir.and(word, self.lanes_of(word, -1 << 16))].map(|bits| ir.bitcast(bits, float))
        };
        let of = |op: BinaryOp, a: Value<'c>, b: Value<'c>| self.ops.binary(op, kind, false, a, b).map_err(|e| e.0);
        for (x, y) in halves(x).into_iter().zip(halves(y)) {
            let product = of(BinaryOp::Mul, x, y)?;
            sum = Some(match sum {
                Some(sum) => of(BinaryOp::Add, sum, product)?,
                None => product,
            });
        }
        sum.ok_or_else(|| "a sum of no products".into())
    }

    /// Products of bytes with signs, which ARM's vectors of microcontrollers add up to one number: 16 of bytes as they
    /// are, 8 of bytes that were loaded with 16 bits each.
    fn of_neighbours(&mut self, args: &[ExprId], sum: Option<ExprId>) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let sum = sum.map(|sum| self.expr(sum)).transpose()?;
        let (x, y) = args.split_at(args.len() / 2);
        let terms = x.len() as u32;
        let lanes = args.first().map_or(1, |arg| self.prim.exprs.ty(*arg).lanes);
        if !self.cx.target.has("mve") || lanes != 1 || !matches!(terms, 8 | 16) {
            return self.each_product(x, y, sum);
        }
        let (x, y) = (self.bytes(x)?, self.bytes(y)?);
        let wide = ir.int(128 / terms).times(terms);
        let (x, y) = (ir.resize(true, x, wide), ir.resize(true, y, wide));
        let none = ir.const_int(ir.int(32), 0);
        let sum = sum.unwrap_or(none);
        // Both with signs, nothing taken away, nothing exchanged.
        Ok(ir.intrinsic("llvm.arm.mve.vmldava", &[wide], &[none, none, none, sum, x, y]))
    }

    /// Neighbours as a vector of bytes.
    fn bytes(&mut self, args: &[ExprId]) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let all = ir.int(8).times(args.len() as u32);
        if let Some((buf, first)) = self.neighbours(args) {
            let (base, at) = (self.base(buf)?, self.as_index(first)?);
            return Ok(ir.load(all, ir.element(ir.int(8), base, at), 1));
        }
        let mut vector = ir.poison(all);
        for (lane, arg) in (0..).zip(args) {
            vector = ir.insert(vector, self.expr(*arg)?, lane);
        }
        Ok(vector)
    }

    /// Products of bytes with signs, one by one.
    fn each_product(&mut self, x: &[ExprId], y: &[ExprId], mut sum: Option<Value<'c>>) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (self.expr(*x)?, self.expr(*y)?);
            let wide = ir.int(32).times(x.ty().lanes());
            let product = ir.mul(ir.resize(true, x, wide), ir.resize(true, y, wide));
            sum = Some(sum.map_or(product, |sum| ir.add(sum, product)));
        }
        sum.ok_or_else(|| "a sum of no products".into())
    }

    /// Neighbours as one number of 32 bits: they are loaded as one. LLVM would find that out, too, unless it has put the
    /// elements of several numbers into vectors before.
    pub(super) fn word(&mut self, args: &[ExprId]) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        if let Some((buf, first)) = self.neighbours(args) {
            let (base, at) = (self.base(buf)?, self.as_index(first)?);
            let size = self.prim.buffers[buf.0 as usize].dtype.size_bytes() as u32;
            let place = ir.element(ir.int(8 * size), base, at);
            return Ok(ir.load(ir.int(32), place, self.alignment(buf, first)));
        }
        let (mut word, width) = (None, 32 / args.len().max(1) as i64);
        for (n, arg) in (0..).zip(args) {
            let part = self.expr(*arg)?;
            let wide = ir.resize(false, part, ir.int(32).times(part.ty().lanes()));
            let moved = ir.shl(wide, self.lanes_of(wide, width * n));
            word = Some(word.map_or(moved, |word| ir.or(word, moved)));
        }
        word.ok_or_else(|| "a number of no elements".into())
    }

    /// The buffer that elements are neighbours in, and where the first one is, if memory has the first one lowest.
    pub(super) fn neighbours(&self, args: &[ExprId]) -> Option<(BufId, ExprId)> {
        let place = |id: &ExprId| match self.node(*id) {
            Expr::Load { buf, index, .. } if self.prim.exprs.ty(*id).lanes == 1 => Some((*buf, *index.first()?)),
            _ => None,
        };
        let all: Vec<(BufId, ExprId)> = args.iter().map(place).collect::<Option<_>>()?;
        let (buf, first) = *all.first()?;
        let mut viewer = Viewer::new(self.prim);
        let begin = viewer.int(first);
        let mut behind = |n: i64, at: ExprId| {
            let at = viewer.int(at);
            viewer.prover.simplify(&(&at - &begin)).as_const() == Some(n)
        };
        let near = (0..).zip(&all).all(|(n, (other, at))| *other == buf && behind(n, *at));
        (near && self.cx.target.little_endian).then_some((buf, first))
    }

    /// All lanes of a constant.
    pub(super) fn lanes_of(&self, like: Value<'c>, value: i64) -> Value<'c> {
        self.cx.ir.const_int(like.ty(), value)
    }

    /// By x86's instruction, whose first operand has no sign and whose second one has. Elsewhere `p - 128` is written
    /// for `p` or the other way round, and what that changes is taken back.
    fn unsigned_by_signed(&self, signed: [bool; 2], x: Value<'c>, y: Value<'c>, sum: Value<'c>) -> Option<Value<'c>> {
        let (ir, target) = (self.cx.ir, self.cx.target);
        let wide = target.has("avx512vnni");
        let name = match x.ty().lanes() {
            16 if wide => "llvm.x86.avx512.vpdpbusd.512",
            8 if wide && target.has("avx512vl") || target.has("avxvnni") => "llvm.x86.avx512.vpdpbusd.256",
            4 if wide && target.has("avx512vl") || target.has("avxvnni") => "llvm.x86.avx512.vpdpbusd.128",
            _ => return None,
        };
        let add = |sum: Value<'c>, unsigned: Value<'c>, signed: Value<'c>| {
            ir.intrinsic_of_bits(name, &[sum, unsigned, signed])
        };
        let (zero, signs) = (self.lanes_of(x, 0), self.lanes_of(x, SIGNS));
        Some(match signed {
            [false, true] => add(sum, x, y),
            [true, false] => add(sum, y, x),
            // x y = (y + 128) x - 128 x
            [true, true] => add(ir.sub(sum, add(zero, signs, x)), ir.xor(y, signs), x),
            // x y = x (y - 128) + 128 x, and as a number with a sign 128 is -128
            [false, false] => add(ir.sub(sum, add(zero, x, signs)), x, ir.xor(y, signs)),
        })
    }

    /// By ARM's instructions, whose operands both have signs or both have none, but for one that newer processors have.
    fn of_equal_signs(&self, signed: [bool; 2], x: Value<'c>, y: Value<'c>, sum: Value<'c>) -> Option<Value<'c>> {
        let (ir, target) = (self.cx.ir, self.cx.target);
        if !target.has("dotprod") || x.ty().lanes() != 4 {
            return None;
        }
        let bytes = ir.int(8).times(16);
        let add = |name: &str, sum: Value<'c>, x: Value<'c>, y: Value<'c>| {
            let name = format!("llvm.aarch64.neon.{name}");
            ir.intrinsic(&name, &[sum.ty(), bytes], &[sum, ir.bitcast(x, bytes), ir.bitcast(y, bytes)])
        };
        let (zero, signs) = (self.lanes_of(x, 0), self.lanes_of(x, SIGNS));
        Some(match signed {
            [true, true] => add("sdot", sum, x, y),
            [false, false] => add("udot", sum, x, y),
            [false, true] if target.has("i8mm") => add("usdot", sum, x, y),
            [true, false] if target.has("i8mm") => add("usdot", sum, y, x),
            // x y = x (y + 128) - 128 x
            [false, true] => add("udot", ir.sub(sum, add("udot", zero, x, signs)), x, ir.xor(y, signs)),
            // x y = x (y - 128) + 128 x, and as a number with a sign 128 is -128
            [true, false] => add("sdot", ir.sub(sum, add("sdot", zero, x, signs)), x, ir.xor(y, signs)),
        })
    }

    /// The bytes of a thread's words, by PTX's `dp4a`.
    fn of_words(&self, signed: [bool; 2], x: Value<'c>, y: Value<'c>, sum: Value<'c>) -> Option<Value<'c>> {
        let [x_sign, y_sign] = signed.map(|signed| if signed { "s" } else { "u" });
        let name = format!("llvm.nvvm.idp4a.{x_sign}.{y_sign}");
        (x.ty().lanes() == 1).then(|| self.cx.ir.intrinsic(&name, &[], &[x, y, sum]))
    }

    /// Bytes at even places and those at odd ones, each with 16 bits, by the sums of two products that microcontrollers
    /// have.
    fn in_halves(&self, signed: [bool; 2], x: Value<'c>, y: Value<'c>, sum: Value<'c>) -> Option<Value<'c>> {
        let (ir, target) = (self.cx.ir, self.cx.target);
        if !target.has("dsp") || x.ty().lanes() != 1 {
            return None;
        }
        let parts = |of: Value<'c>, signed: bool| {
            let name = if signed { "llvm.arm.sxtb16" } else { "llvm.arm.uxtb16" };
            let turned = ir.intrinsic("llvm.fshr", &[of.ty()], &[of, of, self.lanes_of(of, 8)]);
            [of, turned].map(|of| ir.intrinsic(name, &[], &[of]))
        };
        let ([x, odd_x], [y, odd_y]) = (parts(x, signed[0]), parts(y, signed[1]));
        let even = ir.intrinsic("llvm.arm.smlad", &[], &[x, y, sum]);
        Some(ir.intrinsic("llvm.arm.smlad", &[], &[odd_x, odd_y, even]))
    }

    /// Bytes at even places and those at odd ones, each with 16 bits, by x86's sums of two products.
    fn in_pairs(&self, signed: [bool; 2], x: Value<'c>, y: Value<'c>, sum: Value<'c>) -> Option<Value<'c>> {
        let (ir, target, lanes) = (self.cx.ir, self.cx.target, x.ty().lanes());
        let name = match lanes {
            16 if target.has("avx512bw") => "llvm.x86.avx512.pmaddw.d.512",
            8 if target.has("avx2") => "llvm.x86.avx2.pmadd.wd",
            4 if target.arch == Arch::X86_64 => "llvm.x86.sse2.pmadd.wd",
            _ => return None,
        };
        let halves = ir.int(16).times(2 * lanes);
        let eight = ir.const_int(halves, 8);
        let parts = |of: Value<'c>, signed: bool| {
            let of = ir.bitcast(of, halves);
            let even = if signed { ir.shl(of, eight) } else { ir.and(of, ir.const_int(halves, 0xff)) };
            [if signed { ir.shr(true, even, eight) } else { even }, ir.shr(signed, of, eight)]
        };
        let [x, y] = [parts(x, signed[0]), parts(y, signed[1])];
        let [even, odd] = [0, 1].map(|n: usize| ir.intrinsic_of_bits(name, &[x[n], y[n]]));
        Some(ir.add(ir.add(sum, even), odd))
    }

    /// Four products of 32 bits.
    fn one_by_one(&self, signed: [bool; 2], x: Value<'c>, y: Value<'c>, mut sum: Value<'c>) -> Value<'c> {
        let ir = self.cx.ir;
        let byte = |of: Value<'c>, signed: bool, n: i64| {
            let top = ir.shl(of, self.lanes_of(of, 24 - 8 * n));
            ir.shr(signed, top, self.lanes_of(of, 24))
        };
        for n in 0..4 {
            sum = ir.add(sum, ir.mul(byte(x, signed[0], n), byte(y, signed[1], n)));
        }
        sum
    }
}
