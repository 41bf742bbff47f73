//! Variables that loops over elements assign to: locals of the kernel.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::Literal;
use tenfold_ir::tir::{BufId, ExprId};
use tenfold_ir::{DType, Scalar};

use super::carry::has_literal;
use super::cx::Elaborator;
use super::value::{Cell, Value};
use crate::ast::{Block, Expr, ExprKind, NodeId};
use crate::search;

impl<'a> Elaborator<'a> {
    /// The value of a variable now.
    pub(super) fn variable(&mut self, var: usize) -> Value<'a> {
        match self.vars[var].cell.clone() {
            Some(cell) => {
                let name = self.vars[var].name.clone();
                self.read_cell(&cell, &name)
            }
            None => self.vars[var].value.clone(),
        }
    }

    /// Reads the locals that an expression uses, so that what is evaluated only sometimes is one expression.
    pub(super) fn read_ahead(&mut self, e: &Expr) {
        let mut names = Vec::new();
        search::each_expr(e, &mut |e| {
            if let ExprKind::Name(name) = &e.kind {
                names.push(name.clone());
            }
        });
        for var in names.iter().filter_map(|name| self.find(name)).collect::<Vec<_>>() {
            self.variable(var);
        }
    }

    /// Gives a variable a local of the kernel that holds its value; what is no scalar stays as it is.
    pub(super) fn make_cell(&mut self, var: usize) {
        let value = self.vars[var].value.clone();
        if value.is_unknown() || self.rehearsing && has_literal(&value) {
            return;
        }
        let value = self.typed_literal(var, value);
        let name = self.vars[var].name.clone();
        if let Some(cell) = self.new_cell(self.vars[var].node, &value, &name) {
            self.vars[var].cell = Some(cell);
            self.vars[var].value = value;
        }
    }

    fn typed_literal(&mut self, var: usize, value: Value<'a>) -> Value<'a> {
        let Value::Literal(literal) = value else { return value };
        match (self.literal_dtype(var, literal), literal) {
            (Some(dtype), _) => self.literal_as(self.vars[var].node, literal, dtype),
            (None, Literal::Int(n)) => i64::try_from(n).map_or(Value::Unknown, |n| Value::Index(IntExpr::from(n))),
            (None, Literal::Float(x)) => Value::Fixed(Scalar::float(DType::F32, x)),
        }
    }

    fn new_cell(&mut self, node: NodeId, value: &Value<'a>, name: &str) -> Option<Cell> {
        match value {
            Value::Tuple(items) => {
                let cells: Vec<Option<Cell>> = items.iter().map(|item| self.new_cell(node, item, name)).collect();
                cells.into_iter().collect::<Option<Vec<_>>>().map(Cell::Tuple)
            }
            Value::Index(e) => {
                let start = self.lower(e);
                let local = self.kernel.b.local(name, start);
                self.kernel.b.buf_mut(local).range = self.grown(name, e);
                Some(Cell::Index(local))
            }
            Value::Fixed(_) | Value::Scalar(_) | Value::Literal(_) => {
                let start = self.scalar(node, value)?;
                Some(Cell::Scalar(self.kernel.b.local(name, start)))
            }
            Value::Tensor(v) if self.graph.tensor(*v).shape.is_empty() => {
                let start = self.scalar(node, value)?;
                Some(Cell::Scalar(self.kernel.b.local(name, start)))
            }
            Value::Tensor(_) | Value::Unknown | Value::Unit | Value::Text(_) | Value::Array(_) | Value::Closure(_) => {
                None
            }
        }
    }

    /// What is known of an index value that begins as `first` in every turn of every loop: one that begins at a small
    /// constant, and to which the function only ever adds small constants, is never negative. No program runs for as
    /// many turns as would take it beyond the end.
    pub(super) fn grown(&self, name: &str, first: &IntExpr) -> Option<(IntExpr, IntExpr)> {
        const FIRST: std::ops::RangeInclusive<i64> = 0..=1 << 32;
        let begins = first.as_const().is_some_and(|n| FIRST.contains(&n));
        let body = self.frame.function.body.as_ref()?;
        (begins && search::only_grows(body, name)).then(|| (IntExpr::from(0), IntExpr::from(1 << 61)))
    }

    fn read_cell(&mut self, cell: &Cell, name: &str) -> Value<'a> {
        match cell {
            Cell::Tuple(cells) => Value::Tuple(cells.iter().map(|cell| self.read_cell(cell, name)).collect()),
            Cell::Scalar(buf) => Value::Scalar(self.cell_now(*buf, name)),
            Cell::Index(buf) => {
                let now = self.cell_now(*buf, name);
                Value::Index(self.atom(now, name))
            }
        }
    }

    /// What a local holds, bound to a variable of its own; the same one until the local is stored to.
    fn cell_now(&mut self, buf: BufId, name: &str) -> ExprId {
        if let Some(known) = self.kernel.snapshots.get(&buf) {
            return *known;
        }
        let now = self.kernel.b.read_local(buf);
        let now = self.snapshot(now, name);
        if let Some(range) = self.kernel.b.buf(buf).range.clone() {
            self.kernel.ranges.insert(now, range);
        }
        self.kernel.snapshots.insert(buf, now);
        now
    }

    fn snapshot(&mut self, e: ExprId, name: &str) -> ExprId {
        let base = if self.syms.contains(name) { format!("{name}_now") } else { name.to_string() };
        let var = self.kernel.b.let_(&base, e);
        self.kernel.b.read(var)
    }

    /// The scalar that an input of rank 0 holds now.
    pub(super) fn input_now(&mut self, buf: BufId) -> ExprId {
        let e = self.kernel.b.read_local(buf);
        self.settled(buf, e)
    }

    /// An expression that reads `buf`, bound at once if the kernel stores to it.
    pub(super) fn settled(&mut self, buf: BufId, e: ExprId) -> ExprId {
        if self.kernel.updated.contains(&buf) { self.snapshot(e, "now") } else { e }
    }

    /// Stores a value to a local; `like` says what it must be.
    pub(super) fn set_cell(&mut self, node: NodeId, cell: &Cell, value: Value<'a>, like: &Value<'a>) {
        match (cell, value, like) {
            (_, Value::Unknown, _) => {}
            (Cell::Tuple(cells), Value::Tuple(items), Value::Tuple(likes)) if items.len() == cells.len() => {
                for ((cell, item), like) in cells.iter().zip(items).zip(likes) {
                    self.set_cell(node, cell, item, like);
                }
            }
            (Cell::Index(buf), value, _) => {
                let at = Expr { node, kind: ExprKind::Name("value".to_string()) };
                let Some(e) = self.index_of(&at, &value) else { return };
                let e = self.lower(&e);
                let e = self.kernel.b.cast(DType::I64, e);
                self.put(*buf, e);
            }
            (Cell::Scalar(buf), value, _) => {
                let dtype = self.kernel.b.buf(*buf).dtype;
                let value = self.coerce(node, value, dtype);
                if let Some(e) = self.scalar_of(node, &value, dtype) {
                    self.put(*buf, e);
                }
            }
            (Cell::Tuple(_), value, like) => {
                let (found, expected) = (self.describe(&value), self.describe(like));
                let message = format!("expected {expected}, found {found}");
                self.fail(node, crate::code::Code::TypeMismatch, message, "a variable keeps its type");
            }
        }
    }

    fn put(&mut self, buf: BufId, value: ExprId) {
        self.kernel.b.store(buf, Vec::new(), value);
        self.kernel.snapshots.remove(&buf);
        *self.kernel.stores.entry(buf).or_default() += 1;
    }

    /// Forgets what locals hold that a loop assigns to: a later turn may have stored to them.
    pub(super) fn forget_assigned(&mut self, body: &Block) {
        for name in search::assigned(body) {
            let cell = self.find(&name).and_then(|var| self.vars[var].cell.clone());
            cell.into_iter().for_each(|cell| self.forget_cell(&cell));
        }
    }

    fn forget_cell(&mut self, cell: &Cell) {
        match cell {
            Cell::Scalar(buf) | Cell::Index(buf) => {
                self.kernel.snapshots.remove(buf);
            }
            Cell::Tuple(cells) => cells.iter().for_each(|cell| self.forget_cell(cell)),
        }
    }
}
