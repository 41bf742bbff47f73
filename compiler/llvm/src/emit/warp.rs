//! What the threads of a warp do together, by the instructions that `compiler/docs/nvptx.md` tells of.

use tenfold_ir::DType;
use tenfold_ir::tir::{Elem, Expr, ExprId, Warp};

use super::expr::contiguous;
use super::function::{Body, Result};
use crate::ir::{Type, Value};

impl<'c> Body<'_, 'c, '_> {
    /// A function of a warp: what it gives this thread.
    pub(super) fn warp(&mut self, f: Warp, args: &[ExprId]) -> Result<Value<'c>> {
        if !self.is_kernel() {
            return Err(format!("`{}` in a function of the host", f.name()));
        }
        match (f, args) {
            (Warp::LdMatrix, [row]) => self.matrices("", *row),
            (Warp::LdMatrixTrans, [row]) => self.matrices(".trans", *row),
            (Warp::Mma, [a, b, c]) => self.mma(*a, *b, *c),
            (Warp::LdMatrix | Warp::LdMatrixTrans | Warp::Mma, _) => {
                Err(format!("`{}` has {} operands", f.name(), args.len()))
            }
        }
    }

    /// Four matrices, of one row of which this thread says where it is.
    fn matrices(&mut self, how: &str, row: ExprId) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let Expr::Load { buf, index, .. } = self.node(row) else { return Err("a row that is not in memory".into()) };
        let first = match &index[..] {
            [at] => contiguous(self.prim, *at),
            _ => None,
        };
        let at = self.as_index(first.ok_or("a row whose elements are no neighbours")?)?;
        let place = ir.in_shared(ir.element(ir.int(16), self.base(*buf)?, at));
        let name = format!("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{how}.b16");
        let words = ir.together(ir.intrinsic(&name, &[place.ty()], &[place]));
        Ok(ir.bitcast(self.vector_of(words, ir.int(32), 4), ir.int(16).times(8)))
    }

    /// A tile of 16 by 8 sums with 16 products added to each.
    fn mma(&mut self, a: ExprId, b: ExprId, c: ExprId) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        // The halves of bf16 are words to the intrinsic, those of f16 vectors of two.
        let (name, pair) = match self.prim.exprs.ty(a).elem {
            Elem::Scalar(DType::BF16) => ("llvm.nvvm.mma.m16n8k16.row.col.bf16", ir.int(32)),
            Elem::Scalar(DType::F16) => ("llvm.nvvm.mma.m16n8k16.row.col.f32.f32", ir.float(16).times(2)),
            _ => return Err("a product of what are no halves".into()),
        };
        let mut given = Vec::new();
        for (operand, words) in [(a, 4), (b, 2)] {
            let all = ir.bitcast(self.expr(operand)?, ir.int(32).times(words));
            given.extend((0..words).map(|n| ir.bitcast(ir.extract(all, n), pair)));
        }
        let sum = self.expr(c)?;
        given.extend((0..4).map(|n| ir.extract(sum, n)));
        let sums = ir.together(ir.intrinsic(name, &[], &given));
        Ok(self.vector_of(sums, ir.float(32), 4))
    }

    /// The parts of what an intrinsic gives, as a vector.
    fn vector_of(&self, parts: Value<'c>, of: Type<'c>, count: u32) -> Value<'c> {
        let ir = self.cx.ir;
        let empty = ir.poison(of.times(count));
        (0..count).fold(empty, |vector, n| ir.insert(vector, ir.part(parts, n), n))
    }
}
