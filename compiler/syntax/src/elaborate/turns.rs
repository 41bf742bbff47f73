//! Loops and branches of the graph: what lives across a turn, or leaves a branch, is a list of tensors.
//!
//! An index value among them is handed on as an `i64` and bound to a symbol anew.

use std::rc::Rc;

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::{BindingBlock, Op, Region, SliceAxis, SymDecl, SymKind, TensorType, Type, ValueId};
use tenfold_ir::{DType, Scalar};

use super::cx::Elaborator;
use super::number::Truth;
use super::reduce::Span;
use super::value::{Closure, Value};
use crate::ast::{Block, Expr, NodeId, Pattern};
use crate::code::Code;
use crate::search;

/// The range of an index value that a loop carries, where it has one in every turn.
type Grown = Option<(IntExpr, IntExpr)>;

/// One turn: from what is carried to what is carried next. `None` where something is erroneous or unknown.
type Turn<'t, 'a> = dyn FnMut(&mut Elaborator<'a>, Vec<Value<'a>>) -> Option<Vec<Value<'a>>> + 't;

impl<'a> Elaborator<'a> {
    /// `for` that uses whole tensors.
    pub(super) fn graph_for(&mut self, node: NodeId, variable: &'a Pattern, span: &Span, body: &'a Block) {
        let mut names = Vec::new();
        search::bound_names(&variable.kind, &mut names);
        let sym = self.fresh_sym(names.first().map_or("i", String::as_str));
        let vars = self.assigned_vars(body);
        let counter = sym.clone();
        let mut turn = |me: &mut Self, now: Vec<Value<'a>>| {
            me.turn_of(node, &vars, now, |me| {
                let index = me.know_span(span, &counter);
                me.bind_pattern(variable, Value::Index(index));
                me.block(body, None);
            })
        };
        let first = self.first_values(node, &vars, &mut turn);
        let last = first.and_then(|first| {
            let grown = self.grown_vars(&vars, &first);
            self.counted(node, &sym, span, (first, &grown), &mut turn)
        });
        self.after_loop(&vars, last);
    }

    /// `while` that uses whole tensors.
    pub(super) fn graph_while(&mut self, node: NodeId, condition: &'a Expr, body: &'a Block) {
        let vars = self.assigned_vars(body);
        let mut turn =
            |me: &mut Self, now: Vec<Value<'a>>| me.turn_of(node, &vars, now, |me| drop(me.block(body, None)));
        let first = self.first_values(node, &vars, &mut turn);
        let last = first.and_then(|first| {
            let grown = self.grown_vars(&vars, &first);
            self.repeated(node, condition, &vars, (first, &grown), &mut turn)
        });
        self.after_loop(&vars, last);
    }

    /// Runs a body on variables; each keeps its type.
    fn turn_of(
        &mut self,
        node: NodeId,
        vars: &[usize],
        now: Vec<Value<'a>>,
        body: impl FnOnce(&mut Self),
    ) -> Option<Vec<Value<'a>>> {
        for (var, value) in vars.iter().zip(&now) {
            self.vars[*var].value = value.clone();
        }
        let scope = self.frame.names.len();
        body(self);
        self.frame.names.truncate(scope);
        for (var, before) in vars.iter().zip(&now) {
            self.keeps_its_type(node, *var, before);
        }
        Some(vars.iter().map(|var| self.vars[*var].value.clone()).collect())
    }

    /// What the variables are before the loop; a literal takes the dtype that a turn gives it.
    fn first_values(&mut self, node: NodeId, vars: &[usize], turn: &mut Turn<'_, 'a>) -> Option<Vec<Value<'a>>> {
        let first: Vec<Value<'a>> = vars.iter().map(|var| self.vars[*var].value.clone()).collect();
        self.typed(node, first, turn)
    }

    /// What is known of each variable in every turn.
    fn grown_vars(&self, vars: &[usize], first: &[Value<'a>]) -> Vec<Grown> {
        let grown = |(var, value): (&usize, &Value<'a>)| match value {
            Value::Index(e) => self.grown(&self.vars[*var].name, e),
            Value::Literal(Literal::Int(n)) => {
                self.grown(&self.vars[*var].name, &IntExpr::from(i64::try_from(*n).ok()?))
            }
            _ => None,
        };
        vars.iter().zip(first).map(grown).collect()
    }

    fn typed(&mut self, node: NodeId, first: Vec<Value<'a>>, turn: &mut Turn<'_, 'a>) -> Option<Vec<Value<'a>>> {
        if !first.iter().any(super::carry::has_literal) {
            return Some(first);
        }
        let next = self.rehearse_graph(|me| turn(me, first.clone()))?;
        let met: Vec<Option<DType>> = next.iter().flat_map(|value| self.type_leaves(value)).collect();
        let mut met = met.into_iter();
        Some(first.into_iter().map(|value| self.with_types_of(node, value, &mut met)).collect())
    }

    /// Walks once to learn types; nothing of it stays.
    fn rehearse_graph<R>(&mut self, walk: impl FnOnce(&mut Self) -> R) -> R {
        let (module, vars, names) = (self.module.clone(), self.vars.clone(), self.frame.names.clone());
        let (diagnostics, unknown) = (self.diagnostics.clone(), self.unknown);
        let syms = self.graph.sym_count();
        self.graph.open_body(Vec::new());
        self.enter();
        let result = walk(self);
        self.leave();
        self.graph.close_body();
        self.graph.forget_syms(syms);
        (self.module, self.vars, self.frame.names) = (module, vars, names);
        (self.diagnostics, self.unknown) = (diagnostics, unknown);
        result
    }

    fn after_loop(&mut self, vars: &[usize], last: Option<Vec<Value<'a>>>) {
        let Some(last) = last else {
            self.unknown = true;
            vars.iter().for_each(|var| self.vars[*var].value = Value::Unknown);
            return;
        };
        for (var, value) in vars.iter().zip(last) {
            let name = self.vars[*var].name.clone();
            self.vars[*var].value = self.named_value(&name, value);
        }
    }

    // Loops.

    fn counted(
        &mut self,
        node: NodeId,
        sym: &Sym,
        span: &Span,
        (first, grown): (Vec<Value<'a>>, &[Grown]),
        turn: &mut Turn<'_, 'a>,
    ) -> Option<Vec<Value<'a>>> {
        if self.turns_by_wrapping(&span.raw) {
            let message = format!("there are `{}` turns, which 64 bits need not hold", span.raw);
            self.fail(span.node, Code::Limit, message, "bound the ends of the range: `assert!(a >= 0 && b >= 0);`");
            return None;
        }
        if self.never_turns(&span.raw) {
            return Some(first);
        }
        let args = self.tensors_of(node, &first)?;
        let region = self.region(node, &args, (&first, grown), turn)?;
        let op = Op::For { var: sym.clone(), begin: IntExpr::from(0), extent: span.raw.clone(), step: 1 };
        let out = self.emit_loop(node, op, &args, vec![region]);
        let loc = self.loc(node);
        self.graph.declare_sym(SymDecl { sym: sym.clone(), kind: SymKind::Loop(out), loc });
        self.rebuilt_from(node, (&first, grown), out, args.len())
    }

    fn repeated(
        &mut self,
        node: NodeId,
        condition: &'a Expr,
        vars: &[usize],
        (first, grown): (Vec<Value<'a>>, &[Grown]),
        turn: &mut Turn<'_, 'a>,
    ) -> Option<Vec<Value<'a>>> {
        let args = self.tensors_of(node, &first)?;
        let holds = |me: &mut Self, now: Vec<Value<'a>>| {
            for (var, value) in vars.iter().zip(now) {
                me.vars[*var].value = value;
            }
            let value = me.expr(condition, None);
            match me.truth(condition.node, &value)? {
                Truth::Known(known) => Some(vec![Value::Fixed(Scalar::bool(known))]),
                Truth::Graph(c) => Some(vec![Value::Tensor(c)]),
                Truth::Element(_) => None,
            }
        };
        let like = [Value::Fixed(Scalar::bool(true))];
        let (params, now) = self.open_region(node, &args, (&first, grown))?;
        let cond = holds(self, now);
        let cond = self.close_region(node, params, cond, &like)?;
        let mut guarded = |me: &mut Self, now: Vec<Value<'a>>| {
            if me.know_condition(condition, vars, &now) { turn(me, now) } else { Some(now) }
        };
        let body = self.region(node, &args, (&first, grown), &mut guarded)?;
        let out = self.emit_loop(node, Op::While, &args, vec![cond, body]);
        self.rebuilt_from(node, (&first, grown), out, args.len())
    }

    /// What the condition of a loop says of index values that a turn is handed: it holds wherever they are known, so it
    /// is part of their ranges. Whether it may hold at all.
    fn know_condition(&mut self, condition: &'a Expr, vars: &[usize], now: &[Value<'a>]) -> bool {
        let said = self.rehearse_graph(|me| {
            for (var, value) in vars.iter().zip(now) {
                me.vars[*var].value = value.clone();
            }
            let value = me.expr(condition, None);
            let said = me.cond_of(&value).yes;
            let never = matches!(me.decided(value), Value::Fixed(known) if known.bits == 0);
            (!never).then_some(said)
        });
        let Some(said) = said else { return false };
        let symbol = |value: &Value<'a>| match value {
            Value::Index(e) => e.as_var().cloned(),
            _ => None,
        };
        let symbols: Vec<Sym> = now.iter().filter_map(symbol).collect();
        for fact in said.into_iter().flat_map(conjuncts) {
            let declared = &self.graph.function().syms;
            let known = fact.vars().iter().all(|sym| declared.iter().any(|decl| decl.sym == *sym));
            if known {
                symbols.iter().for_each(|sym| self.tighten(sym, &fact));
                self.assume(fact);
            }
        }
        true
    }

    /// Takes an upper bound, over symbols of outside, into the range of a bound symbol.
    fn tighten(&mut self, sym: &Sym, fact: &Fact) {
        let Fact::NonNegative(e) = fact else { return };
        let end = e + &(&IntExpr::var(sym.clone()) + 1);
        let decl = self.graph.function().syms.iter().find(|decl| decl.sym == *sym);
        let Some(SymKind::Bound(value)) = decl.map(|decl| decl.kind.clone()) else { return };
        let outside = |of: &Sym| {
            let kind = self.graph.function().syms.iter().find(|decl| decl.sym == *of).map(|decl| &decl.kind);
            matches!(kind, Some(SymKind::Dim { .. } | SymKind::IndexParam { .. }))
        };
        if let (true, Some((lo, _))) = (end.vars().iter().all(outside), self.graph.range(value).cloned()) {
            self.graph.set_range(value, lo, end);
        }
    }

    fn emit_loop(&mut self, node: NodeId, op: Op, args: &[ValueId], regions: Vec<Region>) -> ValueId {
        let types: Vec<Type> = args.iter().map(|arg| self.graph.ty(*arg).clone()).collect();
        self.graph.set_loc(self.loc(node));
        self.graph.emit_regions(op, args, regions, one_or_tuple(types))
    }

    fn region(
        &mut self,
        node: NodeId,
        args: &[ValueId],
        (like, grown): (&[Value<'a>], &[Grown]),
        turn: &mut Turn<'_, 'a>,
    ) -> Option<Region> {
        let (params, now) = self.open_region(node, args, (like, grown))?;
        let next = turn(self, now);
        self.close_region(node, params, next, like)
    }

    /// Begins a region that is handed values like `args`.
    fn open_region(
        &mut self,
        node: NodeId,
        args: &[ValueId],
        (like, grown): (&[Value<'a>], &[Grown]),
    ) -> Option<(Vec<ValueId>, Vec<Value<'a>>)> {
        self.graph.open_body(Vec::new());
        self.enter();
        let types: Vec<Type> = args.iter().map(|arg| self.graph.ty(*arg).clone()).collect();
        let params: Vec<ValueId> = types.into_iter().map(|ty| self.graph.region_param(ty, "")).collect();
        let mut leaves = params.iter().copied().peekable();
        let now =
            like.iter().enumerate().map(|(n, value)| self.rebuilt_grown(node, (value, grown.get(n)), &mut leaves));
        let now = now.collect();
        Some((params, now))
    }

    fn close_region(
        &mut self,
        node: NodeId,
        params: Vec<ValueId>,
        next: Option<Vec<Value<'a>>>,
        like: &[Value<'a>],
    ) -> Option<Region> {
        let results = next.and_then(|next| self.handed_on(node, &next, like));
        self.leave();
        let blocks = self.graph.close_body();
        Some(Region { params, blocks, results: results? })
    }

    // Values as tensors.

    fn tensors_of(&mut self, node: NodeId, values: &[Value<'a>]) -> Option<Vec<ValueId>> {
        let mut all = Vec::new();
        for value in values {
            self.tensors_in(node, value, &mut all)?;
        }
        Some(all)
    }

    fn tensors_in(&mut self, node: NodeId, value: &Value<'a>, all: &mut Vec<ValueId>) -> Option<()> {
        match value {
            Value::Tuple(items) => items.iter().try_for_each(|item| self.tensors_in(node, item, all)),
            Value::Unit => Some(()),
            Value::Index(e) => {
                all.push(self.emit(node, Op::IndexValue { expr: e.clone(), dtype: DType::I64 }, &[], &[])?);
                Some(())
            }
            Value::Unknown => None,
            other => {
                all.push(self.as_tensor(node, other)?);
                Some(())
            }
        }
    }

    /// Next values as tensors: like those before, component by component.
    fn handed_on(&mut self, node: NodeId, next: &[Value<'a>], like: &[Value<'a>]) -> Option<Vec<ValueId>> {
        let mut all = Vec::new();
        for (next, like) in next.iter().zip(like) {
            self.hand_on(node, next, like, &mut all)?;
        }
        Some(all)
    }

    fn hand_on(&mut self, node: NodeId, next: &Value<'a>, like: &Value<'a>, all: &mut Vec<ValueId>) -> Option<()> {
        match (next, like) {
            (Value::Tuple(items), Value::Tuple(likes)) if items.len() == likes.len() => {
                items.iter().zip(likes).try_for_each(|(item, like)| self.hand_on(node, item, like, all))
            }
            (Value::Literal(Literal::Int(n)), Value::Index(_)) => {
                let n = i64::try_from(*n).ok()?;
                self.tensors_in(node, &Value::Index(IntExpr::from(n)), all)
            }
            (Value::Index(_), Value::Index(_)) | (Value::Unit, Value::Unit) => self.tensors_in(node, next, all),
            (Value::Unknown, _) | (_, Value::Unknown) => None,
            (next, like) => {
                let ty = self.type_of(like);
                let next = match &ty {
                    Some(Type::Tensor(ty)) => self.coerce(node, next.clone(), ty.dtype),
                    Some(Type::Tuple(_) | Type::Shape(_)) | None => next.clone(),
                };
                let found = self.type_of(&next);
                let same = ty.as_ref().zip(found.as_ref()).is_some_and(|(a, b)| self.same_type(a, b));
                if !same {
                    if !next.is_unknown() {
                        let (found, expected) = (self.describe(&next), self.describe(like));
                        let message = format!("the carried value is {expected}, and a turn gives {found}");
                        self.fail(node, Code::TypeMismatch, message, "let both have one type");
                    }
                    return None;
                }
                self.tensors_in(node, &next, all)
            }
        }
    }

    /// Values like those given, made of tensors.
    fn rebuilt(&mut self, node: NodeId, like: &Value<'a>, leaves: &mut dyn Iterator<Item = ValueId>) -> Value<'a> {
        match like {
            Value::Tuple(items) => Value::Tuple(items.iter().map(|item| self.rebuilt(node, item, leaves)).collect()),
            Value::Unit => Value::Unit,
            Value::Index(_) => match leaves.next().and_then(|v| self.bind_index(node, v, "index")) {
                Some(e) => Value::Index(e),
                None => Value::Unknown,
            },
            _ => leaves.next().map_or(Value::Unknown, Value::Tensor),
        }
    }

    /// The same of a variable of a loop, of which something is known.
    fn rebuilt_grown(
        &mut self,
        node: NodeId,
        (like, grown): (&Value<'a>, Option<&Grown>),
        leaves: &mut std::iter::Peekable<impl Iterator<Item = ValueId>>,
    ) -> Value<'a> {
        if let (Some(Some((lo, hi))), Some(leaf)) = (grown, leaves.peek()) {
            self.graph.set_range(*leaf, lo.clone(), hi.clone());
        }
        self.rebuilt(node, like, leaves)
    }

    fn rebuilt_from(
        &mut self,
        node: NodeId,
        (like, grown): (&[Value<'a>], &[Grown]),
        out: ValueId,
        count: usize,
    ) -> Option<Vec<Value<'a>>> {
        let mut parts = self.parts(node, out, count)?.into_iter().peekable();
        let values = like.iter().enumerate();
        Some(values.map(|(n, value)| self.rebuilt_grown(node, (value, grown.get(n)), &mut parts)).collect())
    }

    fn parts(&mut self, node: NodeId, out: ValueId, count: usize) -> Option<Vec<ValueId>> {
        if count == 1 {
            return Some(vec![out]);
        }
        (0..count).map(|i| self.emit(node, Op::TupleGet(i), &[out], &[])).collect()
    }

    // `fold`, `reduce` and `scan`.

    /// `fold(0..K, init, |acc, k| next)` and `reduce(0..K, unit, |k| e, |a, b| c)` over tensors: in order, which a
    /// reduction leaves open.
    pub(super) fn graph_fold(
        &mut self,
        node: NodeId,
        span: &Span,
        init: Value<'a>,
        closures: &[Rc<Closure<'a>>],
    ) -> Value<'a> {
        let sym = self.fresh_sym("k");
        let counter = sym.clone();
        let mut turn = |me: &mut Self, now: Vec<Value<'a>>| {
            let next = me.turn(span, &counter, now.into_iter().next()?, closures);
            (!next.is_unknown()).then(|| vec![next])
        };
        let first = self.typed(node, vec![init], &mut turn);
        let last = first.and_then(|first| self.counted(node, &sym, span, (first, &[]), &mut turn));
        self.or_unknown(last.and_then(|last| last.into_iter().next()))
    }

    /// `scan(0..K, init, |acc, k| (next, out))` over tensors: what comes out is written row by row.
    pub(super) fn graph_scan(
        &mut self,
        node: NodeId,
        span: &Span,
        init: Value<'a>,
        closure: &Rc<Closure<'a>>,
    ) -> Value<'a> {
        let sym = self.fresh_sym("k");
        let counter = sym.clone();
        let both = |me: &mut Self, acc: Value<'a>| {
            let k = Value::Index(me.know_span(span, &counter));
            match me.expand(closure, vec![acc, k]) {
                Value::Tuple(items) if items.len() == 2 => Some(items),
                Value::Unknown => None,
                other => {
                    let message = format!("expected `(next, out)`, found {}", me.describe(&other));
                    let help = "the closure of `scan` gives the next value and an output";
                    me.fail(closure.body.node, Code::TypeMismatch, message, help);
                    None
                }
            }
        };
        let mut next = |me: &mut Self, now: Vec<Value<'a>>| {
            let mut items = both(me, now.into_iter().next()?)?;
            items.truncate(1);
            Some(items)
        };
        let Some(first) = self.typed(node, vec![init], &mut next) else { return self.or_unknown(None) };
        let first = first.into_iter().next().unwrap_or(Value::Unknown);
        let like = self.rehearse_graph(|me| {
            let out = both(me, first.clone())?.pop()?;
            let types = me.row_types(closure.body.node, &out)?;
            Some((out, types))
        });
        let Some((like, types)) = like else {
            // Once more, for its errors.
            both(self, first);
            return self.or_unknown(None);
        };
        let rows = self.empty_rows(node, span, &counter, &types);
        let Some(rows) = rows else { return self.or_unknown(None) };
        let mut turn = |me: &mut Self, now: Vec<Value<'a>>| {
            let mut now = now.into_iter();
            let mut items = both(me, now.next()?)?;
            let out = items.pop()?;
            let mut leaves = Vec::new();
            me.tensors_in(closure.body.node, &out, &mut leaves)?;
            let rows = now.zip(leaves).map(|(rows, row)| me.write_row(node, rows, row, &counter));
            items.extend(rows.collect::<Option<Vec<_>>>()?);
            Some(items)
        };
        let carried = std::iter::once(first).chain(rows).collect();
        let Some(last) = self.counted(node, &sym, span, (carried, &[]), &mut turn) else {
            return self.or_unknown(None);
        };
        let mut last = last.into_iter();
        let acc = last.next().unwrap_or(Value::Unknown);
        let mut rows = last.filter_map(|value| if let Value::Tensor(v) = value { Some(v) } else { None });
        let outs = self.rebuilt(node, &like, &mut rows);
        Value::Tuple(vec![acc, outs])
    }

    fn or_unknown(&mut self, value: Option<Value<'a>>) -> Value<'a> {
        self.unknown |= value.is_none();
        value.unwrap_or(Value::Unknown)
    }

    fn row_types(&mut self, node: NodeId, out: &Value<'a>) -> Option<Vec<TensorType>> {
        let mut leaves = Vec::new();
        self.tensors_in(node, out, &mut leaves)?;
        Some(leaves.into_iter().map(|leaf| self.graph.tensor(leaf).clone()).collect())
    }

    /// What `scan` writes its outputs to.
    fn empty_rows(&mut self, node: NodeId, span: &Span, counter: &Sym, types: &[TensorType]) -> Option<Vec<Value<'a>>> {
        let mut all = Vec::new();
        for ty in types {
            if ty.shape.iter().any(|extent| extent.vars().contains(counter)) {
                let message = format!("an output of `scan` has extents that depend on `{counter}`");
                self.fail(node, Code::TypeMismatch, message, "let every turn give the same shape");
                return None;
            }
            let zero = self.graph.scalar(Scalar::zero(ty.dtype));
            let shape = std::iter::once(span.count.clone()).chain(ty.shape.iter().cloned()).collect();
            all.push(Value::Tensor(self.emit(node, Op::Full { shape }, &[zero], &[])?));
        }
        Some(all)
    }

    fn write_row(&mut self, node: NodeId, rows: Value<'a>, row: ValueId, counter: &Sym) -> Option<Value<'a>> {
        let Value::Tensor(rows) = rows else { return None };
        let shape = self.graph.tensor(rows).shape.clone();
        let one = SliceAxis { begin: IntExpr::var(counter.clone()), extent: IntExpr::from(1), step: 1 };
        let rest = shape.into_iter().skip(1).map(|extent| SliceAxis { begin: IntExpr::from(0), extent, step: 1 });
        let axes = std::iter::once(one).chain(rest).collect();
        self.emit(node, Op::SliceUpdate { axes, drop: vec![0] }, &[rows, row], &[]).map(Value::Tensor)
    }

    // Branches.

    /// What a branch emits.
    pub(super) fn graph_side<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> (Vec<BindingBlock>, R) {
        self.graph.open_body(Vec::new());
        let result = f(self);
        (self.graph.close_body(), result)
    }

    /// An `if` of the graph: `a` and `b` are what the branches give, component by component.
    pub(super) fn graph_if(
        &mut self,
        node: NodeId,
        c: ValueId,
        (then, a): (Vec<BindingBlock>, &[Value<'a>]),
        (otherwise, b): (Vec<BindingBlock>, &[Value<'a>]),
        outer: usize,
    ) -> Option<Vec<Value<'a>>> {
        let mut ranges = Vec::new();
        a.iter().zip(b).for_each(|(a, b)| self.hulls(a, b, outer, &mut ranges));
        let then = self.side(node, then, a)?;
        let otherwise = self.side(node, otherwise, b)?;
        let ty = |region: &Region| -> Vec<Type> { region.results.iter().map(|v| self.graph.ty(*v).clone()).collect() };
        let (types, others) = (ty(&then), ty(&otherwise));
        if !types.iter().zip(&others).all(|(x, y)| self.same_type(x, y)) {
            return None;
        }
        let count = types.len();
        self.graph.set_loc(self.loc(node));
        let out = self.graph.emit_regions(Op::If, &[c], vec![then, otherwise], one_or_tuple(types));
        let parts = self.parts(node, out, count)?;
        for (part, range) in parts.iter().zip(ranges) {
            if let Some((lo, hi)) = range {
                self.graph.set_range(*part, lo, hi);
            }
        }
        let mut parts = parts.into_iter();
        Some(a.iter().map(|value| self.rebuilt(node, value, &mut parts)).collect())
    }

    /// Ranges of the index values among what two branches give, leaf by leaf: over symbols known outside of them.
    fn hulls(&self, a: &Value<'a>, b: &Value<'a>, outer: usize, all: &mut Vec<Option<(IntExpr, IntExpr)>>) {
        match (a, b) {
            (Value::Tuple(x), Value::Tuple(y)) => x.iter().zip(y).for_each(|(x, y)| self.hulls(x, y, outer, all)),
            (Value::Unit, _) => {}
            (Value::Index(x), Value::Index(y)) => {
                let inner = self.graph.function().syms.iter().skip(outer).map(|decl| decl.sym.clone());
                let inner: Vec<Sym> = inner.collect();
                let known = |e: &IntExpr| !e.vars().iter().any(|sym| inner.contains(sym));
                all.push(self.hull(x, y).filter(|(lo, hi)| known(lo) && known(hi)));
            }
            _ => all.push(None),
        }
    }

    fn side(&mut self, node: NodeId, blocks: Vec<BindingBlock>, values: &[Value<'a>]) -> Option<Region> {
        self.graph.open_body(blocks);
        let results = self.tensors_of(node, values);
        let blocks = self.graph.close_body();
        Some(Region { params: Vec::new(), blocks, results: results? })
    }
}

/// The facts that one says together.
fn conjuncts(fact: Fact) -> Vec<Fact> {
    match fact {
        Fact::And(all) => all.into_iter().flat_map(conjuncts).collect(),
        one => vec![one],
    }
}

fn one_or_tuple(mut types: Vec<Type>) -> Type {
    if types.len() == 1 { types.remove(0) } else { Type::Tuple(types) }
}
