//! Products of matrices in registers that are matrices: AMX's tiles.
//!
//! A loop with the annotation `matrix_tile` is a plain product: rows, columns, and the terms of each element. Two by two
//! registers hold it while its terms are added; a register of the first operand has up to 16 of its rows, one of the
//! second a row per word of terms: of four bytes, or two `bf16`. Where the loops are no such product they are loops.
//!
//! How large each register is costs as much to say as half a product, so that it is said around all products of one size.

use std::collections::BTreeMap;

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Annotation, BufId, Dot, Expr, ExprId, Intrinsic, LoopKind, Stmt, VarId};

use super::function::{Body, Result};
use super::ops::Kind;
use crate::ir::{Int, Value};

/// Rows of a register, and words of one.
const SIDE: i64 = 16;

/// Bytes of a word.
const WORD: i64 = 4;

/// Registers along a side of the product.
const ALONG: i64 = 2;

/// A buffer, and the index of an element of it.
type Place = (BufId, ExprId);

/// A sum of products.
struct Factors {
    /// The instruction.
    name: &'static str,
    /// Terms of a word.
    terms: i64,
    x: Place,
    w: Place,
}

/// A matrix in memory.
struct Matrix {
    buf: BufId,
    /// Where its first element is.
    first: ExprId,
    /// Bytes from row to row.
    apart: i64,
}

/// A loop of so many turns, from 0 on.
#[derive(Clone, Copy)]
struct Turns {
    var: VarId,
    count: i64,
}

/// A product that is written as such.
struct Product {
    rows: Turns,
    columns: Option<Turns>,
    /// Loops over terms, but for the innermost one, which is over words.
    outer: Vec<Turns>,
    words: Turns,
    /// The instruction.
    name: &'static str,
    acc: Matrix,
    x: Matrix,
    w: Matrix,
}

/// How large registers are: rows and columns of the product, and words that are multiplied at once.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sizes {
    rows: i64,
    columns: i64,
    words: i64,
}

impl Product {
    fn sizes(&self) -> Sizes {
        let words = (1..=SIDE).rev().find(|n| self.words.count % n == 0).unwrap_or(1);
        Sizes { rows: self.rows.count, columns: self.columns.map_or(1, |columns| columns.count), words }
    }
}

/// What so many elements are in registers, one after another.
fn parts(elements: i64) -> Vec<i64> {
    (0..ALONG).map(|n| (elements - n * SIDE).clamp(0, SIDE)).filter(|n| *n > 0).collect()
}

/// The registers of the result, of the first operand and of the second one.
fn of_result(row: i64, column: i64) -> i64 {
    ALONG * row + column
}

fn of_rows(row: i64) -> i64 {
    ALONG * ALONG + row
}

fn of_columns(column: i64) -> i64 {
    ALONG * ALONG + ALONG + column
}

impl Sizes {
    /// What the processor reads: the form, 15 bytes of 0, then the bytes of a row of each register, and its rows.
    fn bytes(self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[0] = 1;
        let mut say = |register: i64, rows: i64, words: i64| {
            bytes[16 + 2 * register as usize] = (WORD * words) as u8;
            bytes[48 + register as usize] = rows as u8;
        };
        for (row, rows) in (0..).zip(parts(self.rows)) {
            say(of_rows(row), rows, self.words);
            (0..).zip(parts(self.columns)).for_each(|(column, columns)| say(of_result(row, column), rows, columns));
        }
        (0..).zip(parts(self.columns)).for_each(|(column, columns)| say(of_columns(column), self.words, columns));
        bytes
    }
}

impl<'c> Body<'_, 'c, '_> {
    /// Writes a loop, or the product that it is.
    pub(super) fn product_or_loop(&mut self, stmt: &Stmt) -> Result<()> {
        let here = if self.sized { None } else { self.only_sizes(stmt) };
        if let Some(sizes) = here {
            self.size(sizes);
            self.sized = true;
        }
        match (self.product(stmt).filter(|_| self.sized), stmt) {
            (Some(product), _) => self.multiply(&product)?,
            (None, Stmt::For { var, min, extent, kind, annotations: _, body }) => {
                self.for_loop(*var, *min, *extent, *kind, body)?;
            }
            (None, _) => self.stmt(stmt)?,
        }
        if here.is_some() {
            self.cx.ir.intrinsic("llvm.x86.tilerelease", &[], &[]);
            self.sized = false;
        }
        Ok(())
    }

    /// The sizes of all products in a statement, if they are the same ones, and nobody else uses the registers.
    fn only_sizes(&self, stmt: &Stmt) -> Option<Sizes> {
        if !self.cx.target.has("amx-tile") {
            return None;
        }
        let mut all: Vec<Sizes> = Vec::new();
        stmt.walk(&mut |s| all.extend(self.product(s).map(|product| product.sizes())));
        let elsewhere = |s: &Stmt| matches!(s, Stmt::Assert { .. } | Stmt::Call { .. });
        let (first, rest) = all.split_first()?;
        (rest.iter().all(|sizes| sizes == first) && !stmt.any(&mut |s| elsewhere(s))).then_some(*first)
    }

    fn size(&mut self, sizes: Sizes) {
        let ir = self.cx.ir;
        let word = |bytes: &[u8]| {
            let word = bytes.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            ir.const_int(ir.int(64), word as i64)
        };
        let words: Vec<Value<'c>> = sizes.bytes().chunks(8).map(word).collect();
        let memory = self.on_stack(ir.array(ir.int(64), 8), 64);
        ir.store(ir.const_vector(&words), memory, 64);
        ir.intrinsic("llvm.x86.ldtilecfg", &[], &[memory]);
    }

    /// The product that a loop is, if the target has the instruction.
    fn product(&self, stmt: &Stmt) -> Option<Product> {
        let Stmt::For { annotations, .. } = stmt else { return None };
        if !annotations.contains(&Annotation::MatrixTile) {
            return None;
        }
        let (rows, body) = turns(self, stmt)?;
        let (columns, body) = match turns(self, body) {
            Some((columns, body)) => (Some(columns), body),
            None => (None, plain(body)),
        };
        let Stmt::Seq(both) = body else { return None };
        let [start, sum] = &both[..] else { return None };
        let (mut outer, mut body) = (Vec::new(), sum);
        while let Some((turns, inside)) = turns(self, body) {
            outer.push(turns);
            body = inside;
        }
        let words = outer.pop()?;
        let Stmt::Store { buf, index, value, .. } = plain(body) else { return None };
        let starts = matches!(plain(start), Stmt::Store { buf: b, index: i, value, .. }
            if b == buf && i == index && self.is_zero(*value));
        let Expr::Binary(BinaryOp::Add, old, term) = *self.node(*value) else { return None };
        let own = matches!(self.node(old), Expr::Load { buf: b, index: i, .. } if b == buf && i == index);
        let Factors { name, terms, x, w } = self.factors(term)?;
        let steps = Steps { rows, columns, words };
        let acc = self.matrix(&steps, (*buf, *index.first()?), [None, Some(1), Some(0)])?;
        let x = self.matrix(&steps, x, [None, Some(0), Some(terms)])?;
        let w = self.matrix(&steps, w, [Some(0), Some(1), None])?;
        let fits = |turns: Option<Turns>| turns.is_none_or(|turns| (1..=ALONG * SIDE).contains(&turns.count));
        (starts && own && fits(Some(rows)) && fits(columns)).then_some(Product {
            rows,
            columns,
            outer,
            words,
            name,
            acc,
            x,
            w,
        })
    }

    fn is_zero(&self, id: ExprId) -> bool {
        matches!(self.node(id), Expr::Const(value) if value.bits == 0)
    }

    /// The instruction for a sum of products, and where both operands are.
    fn factors(&self, term: ExprId) -> Option<Factors> {
        let Expr::Call(Intrinsic::Dot(dot), args, _) = self.node(term) else { return None };
        let (feature, name) = match dot {
            Dot::Bytes { signed: [false, false] } => ("amx-int8", "llvm.x86.tdpbuud"),
            Dot::Bytes { signed: [false, true] } => ("amx-int8", "llvm.x86.tdpbusd"),
            Dot::Bytes { signed: [true, false] } => ("amx-int8", "llvm.x86.tdpbsud"),
            Dot::Bytes { signed: [true, true] } => ("amx-int8", "llvm.x86.tdpbssd"),
            Dot::Bf16 => ("amx-bf16", "llvm.x86.tdpbf16ps"),
            Dot::Eight | Dot::Sixteen => return None,
        };
        let [word, group] = args[..] else { return None };
        let Expr::Call(Intrinsic::Word, elements, _) = self.node(word) else { return None };
        let Expr::Load { buf, index, .. } = self.node(group) else { return None };
        let x = self.neighbours(elements)?;
        let w = (*buf, *index.first()?);
        self.cx.target.has(feature).then_some(Factors { name, terms: dot.terms(), x, w })
    }

    /// What is read or written as a matrix, if the loops over rows, columns and words walk through it by so many
    /// elements. The one that says none walks from row to row.
    fn matrix(&self, loops: &Steps, (buf, first): Place, walks: [Option<i64>; 3]) -> Option<Matrix> {
        let size = self.prim.buffers[buf.0 as usize].dtype.size_bytes() as i64;
        let all = [Some(loops.rows), loops.columns, Some(loops.words)];
        let mut apart = 0;
        for (turns, wanted) in all.into_iter().zip(walks) {
            let Some(Turns { var, .. }) = turns else { continue };
            let step = self.step(first, var)?;
            match wanted {
                Some(wanted) if step != wanted => return None,
                Some(_) => {}
                None => apart = step * size,
            }
        }
        (apart > 0).then_some(Matrix { buf, first, apart })
    }

    /// By how much an index moves with a variable, if by the same everywhere.
    fn step(&self, index: ExprId, var: VarId) -> Option<i64> {
        let of = |id: ExprId| self.step(id, var);
        let literal = |id: ExprId| self.prim.literal(id);
        match self.node(index) {
            Expr::Var(v) if *v == var => Some(1),
            Expr::Cast(_, a) => of(*a),
            Expr::Binary(BinaryOp::Add, a, b) => of(*a)?.checked_add(of(*b)?),
            Expr::Binary(BinaryOp::Sub, a, b) => of(*a)?.checked_sub(of(*b)?),
            Expr::Binary(BinaryOp::Mul, a, b) => match (literal(*a), literal(*b)) {
                (_, Some(n)) => of(*a)?.checked_mul(n),
                (Some(n), _) => of(*b)?.checked_mul(n),
                (None, None) => self.fixed(index, var),
            },
            _ => self.fixed(index, var),
        }
    }

    /// No step where an expression does not name a variable.
    fn fixed(&self, id: ExprId, var: VarId) -> Option<i64> {
        let names = self.prim.reachable([id]).into_iter().any(|e| *self.node(e) == Expr::Var(var));
        (!names).then_some(0)
    }

    fn multiply(&mut self, product: &Product) -> Result<()> {
        let sizes = product.sizes();
        let (rows, columns) = (parts(sizes.rows).len() as i64, parts(sizes.columns).len() as i64);
        let all: Vec<(i64, i64)> = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))).collect();
        for turns in [Some(product.rows), product.columns].into_iter().flatten() {
            self.vars[turns.var.0 as usize] = Some(self.counter(turns.var, 0));
        }
        for (row, column) in &all {
            self.instruction("llvm.x86.tilezero", &[of_result(*row, *column)], &[]);
        }
        self.terms(product, &product.outer, &mut |body: &mut Self| {
            let (x, w) = (body.place(&product.x)?, body.place(&product.w)?);
            for row in 0..rows {
                body.moved("llvm.x86.tileloadd64", of_rows(row), x, row * SIDE * product.x.apart, &product.x);
            }
            for column in 0..columns {
                body.moved("llvm.x86.tileloadd64", of_columns(column), w, column * SIDE * WORD, &product.w);
            }
            for (row, column) in &all {
                let registers = [of_result(*row, *column), of_rows(*row), of_columns(*column)];
                body.instruction(product.name, &registers, &[]);
            }
            Ok(())
        })?;
        let acc = self.place(&product.acc)?;
        for (row, column) in &all {
            let bytes = row * SIDE * product.acc.apart + column * SIDE * WORD;
            self.moved("llvm.x86.tilestored64", of_result(*row, *column), acc, bytes, &product.acc);
        }
        Ok(())
    }

    /// The loops over terms, as many words at once as registers have.
    fn terms(
        &mut self,
        product: &Product,
        outer: &[Turns],
        inside: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        match outer {
            [first, rest @ ..] => self.counted(*first, 1, &mut |body| body.terms(product, rest, inside)),
            [] => self.counted(product.words, product.sizes().words, inside),
        }
    }

    /// A loop that counts in steps.
    fn counted(
        &mut self,
        Turns { var, count }: Turns,
        step: i64,
        inside: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let ir = self.cx.ir;
        let first = self.counter(var, 0);
        if count <= step {
            self.vars[var.0 as usize] = Some(first);
            return inside(self);
        }
        let (before, turn, after) = (ir.here(), self.block(), self.block());
        ir.jump(turn);
        ir.at_end(turn);
        let at = ir.phi(first.ty());
        ir.incoming(at, first, before);
        self.vars[var.0 as usize] = Some(at);
        inside(self)?;
        let next = ir.add_exact(at, self.counter(var, step));
        let more = ir.icmp(Int::LLVMIntSLT, next, self.counter(var, count));
        ir.incoming(at, next, ir.here());
        ir.branch(more, turn, after);
        ir.at_end(after);
        Ok(())
    }

    /// A value of a loop's variable.
    fn counter(&self, var: VarId, value: i64) -> Value<'c> {
        let elem = self.prim.vars[var.0 as usize].ty.elem;
        self.cx.ir.const_int(self.ops.ty(Kind::of(elem), 1), value)
    }

    /// Where a matrix begins.
    fn place(&mut self, matrix: &Matrix) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        self.known = vec![BTreeMap::new()];
        let (base, at) = (self.base(matrix.buf)?, self.as_index(matrix.first)?);
        let size = self.prim.buffers[matrix.buf.0 as usize].dtype.size_bytes() as u32;
        Ok(ir.element(ir.int(8 * size), base, at))
    }

    /// A register from memory or into it.
    fn moved(&mut self, name: &str, register: i64, base: Value<'c>, bytes: i64, matrix: &Matrix) {
        let ir = self.cx.ir;
        let at = ir.element(ir.int(8), base, ir.const_int(ir.int(64), bytes));
        self.instruction(name, &[register], &[at, ir.const_int(ir.int(64), matrix.apart)]);
    }

    fn instruction(&mut self, name: &str, registers: &[i64], rest: &[Value<'c>]) {
        let ir = self.cx.ir;
        let mut all: Vec<Value<'c>> = registers.iter().map(|n| ir.const_int(ir.int(8), *n)).collect();
        all.extend(rest);
        ir.intrinsic(name, &[], &all);
    }
}

/// The loops whose steps are asked for.
struct Steps {
    rows: Turns,
    columns: Option<Turns>,
    words: Turns,
}

/// A loop in order from 0 on, of a number of turns, and what is in it.
fn turns<'s>(body: &Body<'_, '_, '_>, stmt: &'s Stmt) -> Option<(Turns, &'s Stmt)> {
    let Stmt::For { var, min, extent, kind: LoopKind::Serial | LoopKind::Reduction, body: inside, .. } = plain(stmt)
    else {
        return None;
    };
    let (first, count) = (body.prim.literal(*min)?, body.prim.literal(*extent)?);
    (first == 0 && count > 0).then_some((Turns { var: *var, count }, inside))
}

/// A statement without its place in the source.
fn plain(stmt: &Stmt) -> &Stmt {
    match stmt {
        Stmt::At(_, inside) => plain(inside),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_no_larger_than_what_is_left() {
        let bytes = Sizes { rows: 20, columns: 32, words: 12 }.bytes();
        assert_eq!(bytes[..16], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[16..32], [64, 0, 64, 0, 64, 0, 64, 0, 48, 0, 48, 0, 64, 0, 64, 0]);
        assert_eq!(bytes[48..56], [16, 16, 4, 4, 16, 4, 12, 12]);
        let bytes = Sizes { rows: 16, columns: 10, words: 16 }.bytes();
        assert_eq!(bytes[16..32], [40, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 40, 0, 0, 0]);
        assert_eq!(bytes[48..56], [16, 0, 0, 0, 16, 0, 16, 0]);
    }
}
