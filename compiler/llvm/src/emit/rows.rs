//! Loops along rows that the loops beside them read as well: a norm, a softmax.
//!
//! Of such loops, written out, LLVM makes one piece: what the first one reads is kept for the next one, on the stack where
//! registers do not hold it, and what is read first is what takes the fewest registers, not what lies first in memory.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::{BufAccess, BufId, Expr, LoopKind, Param, PrimFunc, Stmt, VarId, own_accesses};

/// Vectors that a processor has registers for, at most.
const REGISTERS: i64 = 32;

/// The variables of the loops along a row of a parameter that is longer than all registers and that several loops of one
/// turn of the loop around them read, each of which makes one vector, or several side by side, of what it reads.
pub(super) fn read_again(prim: &PrimFunc, vector_bytes: u32) -> BTreeSet<VarId> {
    let mut rows = Rows { prim, least: i64::from(vector_bytes) * REGISTERS, of: BTreeMap::new() };
    if vector_bytes > 0 {
        rows.visit(&prim.body, None);
    }
    rows.of.into_values().filter(|read| read.times > 1).flat_map(|read| read.loops).collect()
}

struct Rows<'f> {
    prim: &'f PrimFunc,
    /// Bytes that a row has more than.
    least: i64,
    /// Who reads a row of a buffer in a turn of a loop.
    of: BTreeMap<(Option<VarId>, BufId), Read>,
}

/// Who reads a row.
#[derive(Clone, Default)]
struct Read {
    loops: BTreeSet<VarId>,
    /// How many of them a turn runs at most: of two branches it takes one.
    times: usize,
}

impl Rows<'_> {
    fn visit(&mut self, stmt: &Stmt, around: Option<VarId>) {
        if let Stmt::If { then, otherwise: Some(otherwise), .. } = stmt {
            return self.either(then, otherwise, around);
        }
        let Stmt::For { var, extent, kind, body, .. } = stmt else {
            return stmt.children().into_iter().for_each(|s| self.visit(s, around));
        };
        match (kind, self.prim.exprs.get(*extent), body.bare()) {
            (LoopKind::Serial | LoopKind::Reduction, Expr::Index(turns), store @ Stmt::Store { .. }) => {
                for buf in self.long(store, *turns) {
                    let read = self.of.entry((around, buf)).or_default();
                    read.times += usize::from(read.loops.insert(*var));
                }
            }
            _ => self.visit(body, Some(*var)),
        }
    }

    /// Two branches, of which one runs.
    fn either(&mut self, then: &Stmt, otherwise: &Stmt, around: Option<VarId>) {
        let before = self.of.clone();
        self.visit(then, around);
        let one = std::mem::replace(&mut self.of, before);
        self.visit(otherwise, around);
        for (row, read) in one {
            let other = self.of.entry(row).or_default();
            other.loops.extend(read.loops);
            other.times = other.times.max(read.times);
        }
    }

    /// The parameters of which a statement reads more vectors, in so many turns, than there are registers.
    fn long(&self, store: &Stmt, turns: i64) -> BTreeSet<BufId> {
        let read = own_accesses(self.prim, store).into_iter().filter(|a| !a.write && self.is_parameter(a.buf));
        read.filter(|a| self.bytes(a).saturating_mul(turns) > self.least).map(|a| a.buf).collect()
    }

    /// Bytes of a vector, or of several side by side, that an access reads.
    fn bytes(&self, access: &BufAccess) -> i64 {
        let [at] = access.index.as_deref().unwrap_or_default() else { return 0 };
        match self.prim.exprs.get(*at) {
            Expr::Ramp(..) => {
                let element = self.prim.buffers[access.buf.0 as usize].dtype.size_bytes();
                i64::from(self.prim.exprs.ty(*at).lanes) * element as i64
            }
            _ => 0,
        }
    }

    fn is_parameter(&self, buf: BufId) -> bool {
        self.prim.params.iter().any(|p| matches!(p, Param::Buffer(of, _) if *of == buf))
    }
}

#[cfg(test)]
mod tests {
    use super::read_again;

    /// How many loops of a body read again what others do.
    fn again(body: &str) -> usize {
        let text = format!(
            "entry @f\nprim @f(in x: f32[1024], n: index, out y: f32[1024]) phase target exported at 0:0 {{\n{body}\n}}\n"
        );
        let module = tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
        read_again(module.prim("f").expect("it is there"), 64).len()
    }

    /// A loop along the row.
    fn along(var: &str) -> String {
        let at = format!("ramp(mul({var}, 16), 1, 16)");
        format!("for {var} in 0 +: 64 serial {{\ny[{at}] = x[{at}]\n}}\n")
    }

    #[test]
    fn of_two_branches_one_reads() {
        let [a, b, c] = ["a", "b", "c"].map(along);
        let either = format!("if gt(n, 0) {{\n{a}}}\nelse {{\n{b}}}\n");
        assert_eq!(again(&format!("{a}{b}")), 2, "one behind the other");
        assert_eq!(again(&either), 0, "one or the other");
        assert_eq!(again(&format!("{c}{either}")), 3, "one behind another");
    }
}
