//! What the threads of a warpgroup do together: products of tiles in shared memory, which `sm_90a` alone has. LLVM has no
//! intrinsic for them, so they are text; `compiler/docs/nvptx.md` tells of descriptors.

use std::fmt::Write;

use tenfold_ir::DType;
use tenfold_ir::tir::warp::TILE;
use tenfold_ir::tir::{Elem, Expr, ExprId, Intrinsic, Lines, Warp};

use super::function::{Body, Result};
use crate::ir::{Type, Value};

/// Bytes at a multiple of which tiles begin: the swizzle goes by the bits of an address.
pub(super) const TILE_ALIGN: u32 = 1024;

/// Terms of one instruction.
const TERMS: usize = 16;

/// Words of a thread that hold its part of a left factor of 64 rows and terms.
const WORDS: usize = 16;

/// What a descriptor says beside the address: the swizzle by 128 bytes, and 1,024 bytes between eight lines and the next.
const DESCRIPTOR: i64 = 1 << 62 | 64 << 32;

/// Of tiles whose lines are of terms: one panel after the other, and 32 bytes from 16 terms to the next.
const OF_TERMS: (i64, i64) = (1, 2);

/// Of tiles whose lines are of one term: 8 KiB from panel to panel, and 2 KiB from 16 terms to the next.
const BY_TERM: (i64, i64) = (512, 128);

impl<'c> Body<'_, 'c, '_> {
    /// Whether warpgroups multiply in this function.
    pub(super) fn has_warpgroups(&self) -> bool {
        let all = self.prim.exprs_in(&self.prim.body);
        all.into_iter()
            .any(|e| matches!(self.node(e), Expr::Call(Intrinsic::Warp(Warp::Wgmma(_) | Warp::WgmmaRegisters(_)), ..)))
    }

    /// Waits for the copies that this thread began, but for those behind the last barriers.
    pub(super) fn copies_arrive(&self, leaves: u8) {
        let ir = self.cx.ir;
        let many = self.prim.body.any(&mut |s| matches!(s, tenfold_ir::tir::Stmt::Barrier(b) if b.leaves > 0));
        if !many {
            ir.intrinsic("llvm.nvvm.cp.async.wait.all", &[], &[]);
            return;
        }
        ir.intrinsic("llvm.nvvm.cp.async.commit.group", &[], &[]);
        ir.intrinsic("llvm.nvvm.cp.async.wait.group", &[], &[ir.const_int(ir.int(32), leaves.into())]);
    }

    /// What this thread wrote to shared memory is seen by products that begin behind the next barrier.
    pub(super) fn seen_by_products(&self) {
        self.cx.ir.assembly("fence.proxy.async.shared::cta;", "~{memory}", &[], &[]);
    }

    /// Begins a product: 64 terms of a tile of 64 rows.
    pub(super) fn wgmma(&mut self, lines: Lines, tiles: [ExprId; 2], sums: ExprId) -> Result<Value<'c>> {
        let dtype = self.factor_type(tiles[0])?;
        let factors = [self.descriptor(tiles[0], lines.rows)?, self.descriptor(tiles[1], lines.columns)?];
        let left = Left::Tile { by_term: lines.rows };
        self.begun(Product { left, by_term: lines.columns, dtype }, &factors, sums)
    }

    /// Likewise of what threads have in registers: four words of 16 terms each.
    pub(super) fn wgmma_registers(
        &mut self,
        columns: bool,
        [own, tile]: [ExprId; 2],
        sums: ExprId,
    ) -> Result<Value<'c>> {
        let dtype = self.factor_type(own)?;
        let ir = self.cx.ir;
        let words = ir.bitcast(self.expr(own)?, ir.int(32).times(WORDS as u32));
        let mut factors: Vec<Value<'c>> = (0..WORDS as u32).map(|n| ir.extract(words, n)).collect();
        factors.push(self.descriptor(tile, columns)?);
        self.begun(Product { left: Left::Registers, by_term: columns, dtype }, &factors, sums)
    }

    /// The product of factors, added to sums. Those that begin as zeros are no operands.
    fn begun(&mut self, product: Product, factors: &[Value<'c>], sums: ExprId) -> Result<Value<'c>> {
        if self.cx.target.cpu != "sm_90a" {
            return Err(format!("`wgmma` for `{}`", self.cx.target.cpu));
        }
        let (kind, count) = (self.sum_type(sums), usize::from(self.prim.exprs.ty(sums).lanes));
        let mut given = if self.is_none(sums) { Vec::new() } else { self.sums(sums)? };
        let text = product.text(count, !given.is_empty());
        given.extend(factors);
        Ok(self.through(&text, (count, kind), &given))
    }

    /// Whether sums are zeros.
    fn is_none(&self, sums: ExprId) -> bool {
        let Expr::Broadcast(zero, _) = *self.node(sums) else { return false };
        matches!(self.node(zero), Expr::Const(zero) if zero.to_f64() == 0.0)
    }

    /// How the instruction names what it multiplies.
    fn factor_type(&self, factor: ExprId) -> Result<&'static str> {
        match self.prim.exprs.ty(factor).elem {
            Elem::Scalar(DType::BF16) => Ok("bf16"),
            Elem::Scalar(DType::F16) => Ok("f16"),
            Elem::Scalar(DType::I8) => Ok("s8"),
            Elem::Scalar(DType::U8) => Ok("u8"),
            Elem::Scalar(_) | Elem::Index => Err("a product of what are neither halves nor bytes".into()),
        }
    }

    /// Waits for products, with every sum going through, else LLVM would move what uses it before the wait.
    pub(super) fn wgmma_wait(&mut self, left: u8, sums: ExprId) -> Result<Value<'c>> {
        let kind = self.sum_type(sums);
        let sums = self.sums(sums)?;
        Ok(self.through(&format!("wgmma.wait_group.sync.aligned {left};"), (sums.len(), kind), &sums))
    }

    /// The letter of a sum's register, and its type.
    fn sum_type(&self, sums: ExprId) -> (&'static str, Type<'c>) {
        match self.prim.exprs.ty(sums).elem {
            Elem::Scalar(DType::I32) => ("r", self.cx.ir.int(32)),
            Elem::Scalar(_) | Elem::Index => ("f", self.cx.ir.float(32)),
        }
    }

    /// The sums of a thread, one by one.
    fn sums(&mut self, sums: ExprId) -> Result<Vec<Value<'c>>> {
        let (all, lanes) = (self.expr(sums)?, self.prim.exprs.ty(sums).lanes);
        Ok((0..lanes.into()).map(|lane| self.cx.ir.extract(all, lane)).collect())
    }

    /// Instructions that change so many sums in place, if these are given, and read the operands behind them.
    fn through(&self, text: &str, (count, kind): (usize, (&str, Type<'c>)), given: &[Value<'c>]) -> Value<'c> {
        let ir = self.cx.ir;
        let tied = if given.len() < count { 0 } else { count };
        let behind = given[tied..].iter().map(|value| if value.ty().bits() == 64 { "l" } else { "r" }.to_string());
        let words = std::iter::repeat_n(format!("={}", kind.0), count).chain((0..tied).map(|n| n.to_string()));
        let constraints: Vec<String> = words.chain(behind).chain(["~{memory}".into()]).collect();
        let gives = vec![kind.1; count];
        let made = ir.assembly(text, &constraints.join(","), &gives, given);
        self.vector_of(made, kind.1, count as u32)
    }

    /// Where a tile lies, as the instruction takes it.
    fn descriptor(&mut self, tile: ExprId, by_term: bool) -> Result<Value<'c>> {
        let Expr::Load { buf, index, .. } = self.node(tile) else { return Err("a tile that is not in memory".into()) };
        let place = self.first_of(*buf, index)?;
        let ir = self.cx.ir;
        let word = |n: i64| ir.const_int(ir.int(64), n);
        // Of an address in shared memory 18 bits count, of which four are 0.
        let number = ir.and(ir.shr(false, ir.address(place, ir.int(64)), word(4)), word((1 << 14) - 1));
        let (panels, _) = apart(by_term);
        Ok(ir.or(number, word(DESCRIPTOR | panels << 16)))
    }
}

/// From panel to panel, and from 16 terms to the next, in units of 16 bytes.
fn apart(by_term: bool) -> (i64, i64) {
    if by_term { BY_TERM } else { OF_TERMS }
}

/// Where the left factor is.
#[derive(Clone, Copy)]
enum Left {
    /// A tile in shared memory, whose descriptor is an operand.
    Tile { by_term: bool },
    /// The threads' own words.
    Registers,
}

/// The product of 64 terms, of which one instruction takes 16, or of twice as many bytes.
struct Product {
    left: Left,
    /// Whether lines of the right factor are of one term.
    by_term: bool,
    dtype: &'static str,
}

impl Product {
    /// The instructions: the sums are the first operands, and the next ones too where they are added to; factors stand behind.
    fn text(&self, count: usize, added: bool) -> String {
        let columns = 2 * count;
        let sums: Vec<String> = (0..count).map(|n| format!("${n}")).collect();
        let sums = sums.join(", ");
        let factors = if added { 2 * count } else { count };
        let right_at = factors + if matches!(self.left, Left::Registers) { WORDS } else { 1 };
        // Those of bytes have no signs to choose, and lines of terms alone; registers have no lines.
        let right_lines = u8::from(self.by_term);
        let (shape, more) = match (self.dtype, self.left) {
            ("s8" | "u8", _) => (format!("k{}.s32", 2 * TERMS), String::new()),
            (_, Left::Tile { by_term }) => {
                (format!("k{TERMS}.f32"), format!(", 1, 1, {}, {right_lines}", u8::from(by_term)))
            }
            (_, Left::Registers) => (format!("k{TERMS}.f32"), format!(", 1, 1, {right_lines}")),
        };
        let mut text = "{ .reg .pred added; .reg .b64 left, right; ".to_string();
        write!(text, "setp.eq.u32 added, 1, {}; ", u8::from(added)).unwrap_or_default();
        text += "wgmma.fence.sync.aligned; ";
        for n in 0..TILE / TERMS {
            if n == 1 && !added {
                text += "setp.eq.u32 added, 1, 1; ";
            }
            let left = match self.left {
                Left::Tile { by_term } => {
                    let step = apart(by_term).1 * n as i64;
                    write!(text, "add.s64 left, ${factors}, {step}; ").unwrap_or_default();
                    "left".to_string()
                }
                Left::Registers => {
                    let words: Vec<String> = (0..4).map(|word| format!("${}", factors + 4 * n + word)).collect();
                    format!("{{{}}}", words.join(", "))
                }
            };
            let step = apart(self.by_term).1 * n as i64;
            write!(
                text,
                "add.s64 right, ${right_at}, {step}; \
                 wgmma.mma_async.sync.aligned.m64n{columns}{shape}.{dtype}.{dtype} {{{sums}}}, {left}, right, added{more}; ",
                dtype = self.dtype,
            )
            .unwrap_or_default();
        }
        text + "wgmma.commit_group.sync.aligned; }"
    }
}
