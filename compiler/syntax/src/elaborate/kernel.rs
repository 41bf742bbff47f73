//! A prim-func in the making: its inputs, and index values that depend on data.
//!
//! An index value is an integer expression. Where it depends on data it is a variable that stands for an expression of
//! the kernel (an atom), with the range that the expression is known to have.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Builder as Graph, ValueId};
use tenfold_ir::tir::{self, BufId, Builder, Elem, ExprId, Scope};
use tenfold_ir::{DType, Scalar};

use super::value::Cond;

/// A prim-func in the making.
#[derive(Clone)]
pub(super) struct Kernel {
    /// Builds it.
    pub(super) b: Builder,
    /// Values of the graph that it reads, and their buffers.
    pub(super) inputs: Vec<(ValueId, BufId)>,
    /// What conditions say.
    pub(super) conds: BTreeMap<ExprId, Cond>,
    /// Ranges, `lo..hi`, of expressions that do not show them.
    pub(super) ranges: BTreeMap<ExprId, (IntExpr, IntExpr)>,
    /// How many facts hold around its call.
    pub(super) around: usize,
    /// How many branches surround the walk.
    pub(super) branches: u32,
    /// Buffers of values that the kernel updates in place.
    pub(super) updated: BTreeSet<BufId>,
    /// What locals of variables hold, as far as it is bound.
    pub(super) snapshots: BTreeMap<BufId, ExprId>,
    /// How often each of them was stored to.
    pub(super) stores: BTreeMap<BufId, u32>,
    atoms: BTreeMap<Sym, ExprId>,
    /// Atoms whose range the prover knows now.
    known: Vec<Sym>,
}

impl Kernel {
    /// Starts one.
    pub(super) fn new(name: &str) -> Self {
        Kernel {
            b: Builder::new(name),
            inputs: Vec::new(),
            conds: BTreeMap::new(),
            ranges: BTreeMap::new(),
            around: 0,
            branches: 0,
            updated: BTreeSet::new(),
            snapshots: BTreeMap::new(),
            stores: BTreeMap::new(),
            atoms: BTreeMap::new(),
            known: Vec::new(),
        }
    }

    /// The dtype of an expression; none for an index.
    pub(super) fn dtype(&self, e: ExprId) -> Option<DType> {
        match self.b.ty(e).elem {
            Elem::Scalar(dtype) => Some(dtype),
            Elem::Index => None,
        }
    }

    /// The buffer of a value of the graph.
    pub(super) fn input(&mut self, graph: &Graph, value: ValueId) -> BufId {
        if let Some((_, buf)) = self.inputs.iter().find(|(v, _)| *v == value) {
            return *buf;
        }
        let ty = graph.tensor(value).clone();
        let name = graph.function().values[value.0 as usize].name.clone();
        let base = if name.is_empty() { "x" } else { &name };
        let buf = self.b.buffer(base, ty.dtype, ty.shape, Scope::Param);
        self.b.buf_mut(buf).range = graph.range(value).cloned();
        self.inputs.push((value, buf));
        buf
    }

    /// The atom that stands for an integer expression, and whether the prover has yet to learn its range. `symbols` are
    /// those of the graph, which none is named after.
    pub(super) fn atom(&mut self, e: ExprId, text: &str, symbols: &BTreeSet<String>) -> (Sym, bool) {
        let found = self.atoms.iter().find(|(_, of)| **of == e).map(|(sym, _)| sym.clone());
        let sym = found.unwrap_or_else(|| {
            let base: String = if text.len() > 40 { "index".to_string() } else { text.to_string() };
            let mut name = base.clone();
            while symbols.contains(&name) || self.is_symbol(&Sym::new(&name)) {
                name.push('\'');
            }
            let sym = Sym::new(name);
            let as_index = self.b.to_index(e);
            self.b.bind_atom(sym.clone(), as_index);
            self.atoms.insert(sym.clone(), e);
            sym
        });
        let new = !self.known.contains(&sym);
        if new {
            self.known.push(sym.clone());
        }
        (sym, new)
    }

    /// Whether an atom or an index variable has that symbol.
    pub(super) fn is_symbol(&self, sym: &Sym) -> bool {
        let index = |var: tir::VarId| self.b.func().vars[var.0 as usize].ty.elem == Elem::Index;
        self.atoms.contains_key(sym) || self.b.var_of(sym).is_some_and(index)
    }

    /// Whether an expression uses data.
    pub(super) fn uses_atoms(&self, e: &IntExpr) -> bool {
        e.vars().iter().any(|sym| self.atoms.contains_key(sym))
    }

    /// Whether a symbol stands for data.
    pub(super) fn is_atom(&self, sym: &Sym) -> bool {
        self.atoms.contains_key(sym)
    }

    /// Forgets which atoms the prover knows: the scope in which it learnt of them may be over.
    pub(super) fn forget_atoms(&mut self) {
        self.known.clear();
    }

    /// A scalar literal.
    pub(super) fn scalar(&mut self, value: Scalar) -> ExprId {
        self.b.scalar(value)
    }

    /// The value of a scalar literal.
    pub(super) fn known_scalar(&self, e: ExprId) -> Option<Scalar> {
        match self.b.func().exprs.get(e) {
            tir::Expr::Const(value) => Some(*value),
            _ => None,
        }
    }
}
