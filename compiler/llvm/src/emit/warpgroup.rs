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
        all.into_iter().any(|e| matches!(self.node(e), Expr::Call(Intrinsic::Warp(Warp::Wgmma(_)), ..)))
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
        if self.cx.target.cpu != "sm_90a" {
            return Err(format!("`wgmma` for `{}`", self.cx.target.cpu));
        }
        let of = |e: ExprId| match self.prim.exprs.ty(e).elem {
            Elem::Scalar(DType::BF16) => Ok("bf16"),
            Elem::Scalar(DType::F16) => Ok("f16"),
            Elem::Scalar(DType::I8) => Ok("s8"),
            Elem::Scalar(DType::U8) => Ok("u8"),
            Elem::Scalar(_) | Elem::Index => Err("a product of what are neither halves nor bytes"),
        };
        let dtype = of(tiles[0])?;
        let by_term = [lines.rows, lines.columns];
        let kind = self.sum_type(sums);
        let mut given = self.sums(sums)?;
        let count = given.len();
        for (tile, by_term) in tiles.into_iter().zip(by_term) {
            given.push(self.descriptor(tile, by_term)?);
        }
        let text = product_text(count, dtype, by_term);
        Ok(self.through(&text, (count, kind), &given))
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

    /// Instructions that change so many sums in place, and read the operands behind them.
    fn through(&self, text: &str, (count, kind): (usize, (&str, Type<'c>)), given: &[Value<'c>]) -> Value<'c> {
        let ir = self.cx.ir;
        let tied = (0..count).map(|n| n.to_string());
        let words = std::iter::repeat_n(format!("={}", kind.0), count).chain(tied);
        let words = words.chain(std::iter::repeat_n("l".to_string(), given.len() - count)).chain(["~{memory}".into()]);
        let constraints: Vec<String> = words.collect();
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

/// The product of 64 terms, of which one instruction takes 16, or of twice as many bytes: the sums are the first operands, descriptors the two behind.
fn product_text(count: usize, dtype: &str, by_term: [bool; 2]) -> String {
    let columns = 2 * count;
    let sums: Vec<String> = (0..count).map(|n| format!("${n}")).collect();
    let sums = sums.join(", ");
    let [rows_lines, columns_lines] = by_term.map(u8::from);
    // Those of bytes have no signs to choose, and lines of terms alone.
    let (shape, more) = match dtype {
        "s8" | "u8" => (format!("k{}.s32", 2 * TERMS), String::new()),
        _ => (format!("k{TERMS}.f32"), format!(", 1, 1, {rows_lines}, {columns_lines}")),
    };
    let mut text = "{ .reg .pred added; .reg .b64 left, right; setp.eq.u32 added, 1, 1; ".to_string();
    text += "wgmma.fence.sync.aligned; ";
    for n in 0..TILE / TERMS {
        for (name, operand, by_term) in [("left", 2 * count, by_term[0]), ("right", 2 * count + 1, by_term[1])] {
            let step = apart(by_term).1 * n as i64;
            write!(text, "add.s64 {name}, ${operand}, {step}; ").unwrap_or_default();
        }
        write!(
            text,
            "wgmma.mma_async.sync.aligned.m64n{columns}{shape}.{dtype}.{dtype} {{{sums}}}, left, right, added{more}; ",
        )
        .unwrap_or_default();
    }
    text + "wgmma.commit_group.sync.aligned; }"
}
