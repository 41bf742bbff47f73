//! Recurrent networks and other operators that go along a sequence.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::{ConvLayout, Op, Region, SliceAxis, SymDecl, SymKind, Type, ValueId};
use tenfold_ir::{DType, Loc};

use super::shape::flip;
use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// A loop of the graph: `extent` turns over what is carried.
pub(super) fn repeat<'m>(
    cx: &mut Cx<'m>,
    extent: &IntExpr,
    first: Vec<ValueId>,
    body: impl FnOnce(&mut Cx<'m>, &IntExpr, Vec<ValueId>) -> Outcome<Vec<ValueId>>,
) -> Outcome<Vec<ValueId>> {
    let var = Sym::new(format!("step{}", cx.b.sym_count()));
    let at = IntExpr::var(var.clone());
    cx.b.prover.assume_range(&var, &int(0), extent);
    let types: Vec<Type> = first.iter().map(|v| cx.b.ty(*v).clone()).collect();
    cx.b.open_body(Vec::new());
    let params: Vec<ValueId> = types.iter().map(|ty| cx.b.region_param(ty.clone(), "carried")).collect();
    let next = body(cx, &at, params.clone());
    let blocks = cx.b.close_body();
    let next = next?;
    if next.len() != types.len() || next.iter().zip(&types).any(|(v, ty)| cx.b.ty(*v) != ty) {
        return fault("what a step gives has another type than what it takes");
    }
    let ty = if types.len() == 1 { types[0].clone() } else { Type::Tuple(types) };
    let op = Op::For { var: var.clone(), begin: int(0), extent: extent.clone(), step: 1 };
    let out = cx.b.emit_regions(op, &first, vec![Region { params, blocks, results: next }], ty);
    cx.b.declare_sym(SymDecl { sym: var, kind: SymKind::Loop(out), loc: Loc::default() });
    cx.components(out)
}

/// Element `at` of the first axis.
fn step(cx: &mut Cx<'_>, x: ValueId, at: &IntExpr) -> Outcome<ValueId> {
    let mut axes = cx.whole(x);
    axes[0] = SliceAxis { begin: at.clone(), extent: int(1), step: 1 };
    cx.emit(Op::Slice { axes, drop: vec![0] }, &[x])
}

/// `all` with element `at` of the first axis replaced.
fn store(cx: &mut Cx<'_>, all: ValueId, one: ValueId, at: &IntExpr) -> Outcome<ValueId> {
    let mut axes = cx.whole(all);
    axes[0] = SliceAxis { begin: at.clone(), extent: int(1), step: 1 };
    cx.emit(Op::SliceUpdate { axes, drop: vec![0] }, &[all, one])
}

fn zeros(cx: &mut Cx<'_>, shape: &[IntExpr], dtype: DType) -> Outcome<ValueId> {
    let zero = cx.scalar(dtype, 0.0);
    cx.full(shape, zero)
}

/// An activation with its numbers.
#[derive(Clone)]
struct Activation {
    name: String,
    alpha: Option<f32>,
    beta: Option<f32>,
}

impl Activation {
    fn apply(&self, cx: &mut Cx<'_>, x: ValueId) -> Outcome<ValueId> {
        let number = |given: Option<f32>, default: f64| given.map_or(default, f64::from);
        let float = |name, value| (name, AttrValue::Float(value));
        match self.name.to_ascii_lowercase().as_str() {
            "sigmoid" => cx.unary(UnaryOp::Sigmoid, x),
            "tanh" => cx.unary(UnaryOp::Tanh, x),
            "relu" => cx.op("relu", &[x], &[]),
            "softsign" => cx.op("softsign", &[x], &[]),
            "softplus" => cx.op("softplus", &[x], &[]),
            "affine" => {
                let (a, b) = (cx.like(x, number(self.alpha, 1.0)), cx.like(x, number(self.beta, 0.0)));
                let y = cx.binary(BinaryOp::Mul, x, a)?;
                cx.binary(BinaryOp::Add, y, b)
            }
            "scaledtanh" => {
                let (a, b) = (cx.like(x, number(self.alpha, 1.0)), cx.like(x, number(self.beta, 1.0)));
                let y = cx.binary(BinaryOp::Mul, x, b)?;
                let y = cx.unary(UnaryOp::Tanh, y)?;
                cx.binary(BinaryOp::Mul, y, a)
            }
            "leakyrelu" => cx.op("leaky_relu", &[x], &[float("alpha", number(self.alpha, 0.01))]),
            "thresholdedrelu" => cx.op("thresholded_relu", &[x], &[float("alpha", number(self.alpha, 1.0))]),
            "elu" => cx.op("elu", &[x], &[float("alpha", number(self.alpha, 1.0))]),
            "hardsigmoid" => {
                let attrs = [float("alpha", number(self.alpha, 0.2)), float("beta", number(self.beta, 0.5))];
                cx.op("hard_sigmoid", &[x], &attrs)
            }
            other => fault(format!("the activation `{other}` is not supported")),
        }
    }
}

/// Which network it is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    fn gates(self) -> i64 {
        match self {
            Kind::Rnn => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Rnn => &["Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// What one direction computes with.
struct Cell {
    kind: Kind,
    activations: Vec<Activation>,
    clip: Option<f32>,
    hidden: IntExpr,
    linear_before_reset: bool,
    input_forget: bool,
    /// `R` transposed, and the recurrent bias.
    r: ValueId,
    rb: Option<ValueId>,
    peepholes: Option<ValueId>,
}

impl Cell {
    /// Part `n` of the last axis, in units of the hidden size.
    fn part(&self, cx: &mut Cx<'_>, x: ValueId, n: i64) -> Outcome<ValueId> {
        let axis = cx.rank(x) - 1;
        cx.part(x, axis, &self.hidden * int(n), self.hidden.clone())
    }

    fn activate(&self, cx: &mut Cx<'_>, which: usize, x: ValueId) -> Outcome<ValueId> {
        let mut x = x;
        if let Some(clip) = self.clip {
            let (low, high) = (cx.like(x, -f64::from(clip)), cx.like(x, f64::from(clip)));
            x = cx.binary(BinaryOp::Max, x, low)?;
            x = cx.binary(BinaryOp::Min, x, high)?;
        }
        self.activations[which].apply(cx, x)
    }

    /// The next hidden and cell state; `x` is the input's part of the gates.
    fn next(&self, cx: &mut Cx<'_>, x: ValueId, h: ValueId, c: ValueId) -> Outcome<(ValueId, ValueId)> {
        match self.kind {
            Kind::Rnn => {
                let gates = self.gates(cx, x, h)?;
                Ok((self.activate(cx, 0, gates)?, c))
            }
            Kind::Gru => Ok((self.gru(cx, x, h)?, c)),
            Kind::Lstm => self.lstm(cx, x, h, c),
        }
    }

    fn gates(&self, cx: &mut Cx<'_>, x: ValueId, h: ValueId) -> Outcome<ValueId> {
        let r = self.recurrent(cx, h)?;
        cx.binary(BinaryOp::Add, x, r)
    }

    fn recurrent(&self, cx: &mut Cx<'_>, h: ValueId) -> Outcome<ValueId> {
        let r = cx.emit(Op::MatMul, &[h, self.r])?;
        self.rb.map_or(Ok(r), |b| cx.binary(BinaryOp::Add, r, b))
    }

    fn gru(&self, cx: &mut Cx<'_>, x: ValueId, h: ValueId) -> Outcome<ValueId> {
        let own = self.recurrent(cx, h)?;
        let gate = |cx: &mut Cx<'_>, n: i64| {
            let (a, b) = (self.part(cx, x, n)?, self.part(cx, own, n)?);
            let both = cx.binary(BinaryOp::Add, a, b)?;
            self.activate(cx, 0, both)
        };
        let (z, r) = (gate(cx, 0)?, gate(cx, 1)?);
        let hx = self.part(cx, x, 2)?;
        let hr = if self.linear_before_reset {
            let linear = self.part(cx, own, 2)?;
            cx.binary(BinaryOp::Mul, r, linear)?
        } else {
            let reset = cx.binary(BinaryOp::Mul, r, h)?;
            let weights = self.part(cx, self.r, 2)?;
            let product = cx.emit(Op::MatMul, &[reset, weights])?;
            match self.rb {
                Some(b) => {
                    let b = self.part(cx, b, 2)?;
                    cx.binary(BinaryOp::Add, product, b)?
                }
                None => product,
            }
        };
        let sum = cx.binary(BinaryOp::Add, hx, hr)?;
        let new = self.activate(cx, 1, sum)?;
        let one = cx.like(z, 1.0);
        let rest = cx.binary(BinaryOp::Sub, one, z)?;
        let (a, b) = (cx.binary(BinaryOp::Mul, rest, new)?, cx.binary(BinaryOp::Mul, z, h)?);
        cx.binary(BinaryOp::Add, a, b)
    }

    fn lstm(&self, cx: &mut Cx<'_>, x: ValueId, h: ValueId, c: ValueId) -> Outcome<(ValueId, ValueId)> {
        let gates = self.gates(cx, x, h)?;
        let gate = |cx: &mut Cx<'_>, n: i64, peephole: i64, cell: ValueId, which: usize| {
            let mut g = self.part(cx, gates, n)?;
            if let Some(p) = self.peepholes.filter(|_| peephole >= 0) {
                let p = self.part(cx, p, peephole)?;
                let seen = cx.binary(BinaryOp::Mul, p, cell)?;
                g = cx.binary(BinaryOp::Add, g, seen)?;
            }
            self.activate(cx, which, g)
        };
        let i = gate(cx, 0, 0, c, 0)?;
        let f = if self.input_forget {
            let one = cx.like(i, 1.0);
            cx.binary(BinaryOp::Sub, one, i)?
        } else {
            gate(cx, 2, 2, c, 0)?
        };
        let new = gate(cx, 3, -1, c, 1)?;
        let (kept, added) = (cx.binary(BinaryOp::Mul, f, c)?, cx.binary(BinaryOp::Mul, i, new)?);
        let cell = cx.binary(BinaryOp::Add, kept, added)?;
        let o = gate(cx, 1, 1, cell, 0)?;
        let shown = self.activations[2].apply(cx, cell)?;
        Ok((cx.binary(BinaryOp::Mul, o, shown)?, cell))
    }
}

/// `x[at]` of the first axis.
fn pick(cx: &mut Cx<'_>, x: ValueId, at: usize) -> Outcome<ValueId> {
    step(cx, x, &int(at as i64))
}

/// Axes 0 and 1 exchanged, if the batch comes first.
fn swapped(cx: &mut Cx<'_>, x: ValueId, layout: bool) -> Outcome<ValueId> {
    if layout { cx.transpose(x, &[1, 0, 2]) } else { Ok(x) }
}

/// The operands of a recurrent network, the sequence first.
struct Network {
    kind: Kind,
    x: ValueId,
    w: ValueId,
    r: ValueId,
    bias: Option<ValueId>,
    lengths: Option<ValueId>,
    first_h: Option<ValueId>,
    first_c: Option<ValueId>,
    peepholes: Option<ValueId>,
    length: IntExpr,
    batch: IntExpr,
    hidden: IntExpr,
}

impl Network {
    fn of<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, kind: Kind, layout: bool) -> Outcome<Network> {
        let (x, w, r) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
        let x = swapped(cx, x, layout)?;
        let dims = cx.dims(x);
        let [length, batch, _] = dims.as_slice() else { return fault("expected rank 3") };
        let state = |cx: &mut Cx<'m>, i: usize| match call.optional(cx, i)? {
            Some(state) => swapped(cx, state, layout).map(Some),
            None => Ok(None),
        };
        let lstm = kind == Kind::Lstm;
        Ok(Network {
            kind,
            x,
            w,
            r,
            bias: call.optional(cx, 3)?,
            lengths: call.optional(cx, 4)?,
            first_h: state(cx, 5)?,
            first_c: if lstm { state(cx, 6)? } else { None },
            peepholes: if lstm { call.optional(cx, 7)? } else { None },
            length: length.clone(),
            batch: batch.clone(),
            hidden: cx.dims(r).get(2).cloned().unwrap_or_else(|| int(0)),
        })
    }

    /// A state at the beginning: given, or zeros.
    fn first(&self, cx: &mut Cx<'_>, given: Option<ValueId>, at: usize) -> Outcome<ValueId> {
        match given {
            Some(given) => pick(cx, given, at),
            None => zeros(cx, &[self.batch.clone(), self.hidden.clone()], cx.dtype(self.x)),
        }
    }

    /// The biases of the input and of the state.
    fn biases(&self, cx: &mut Cx<'_>, at: usize) -> Outcome<Option<(ValueId, ValueId)>> {
        let Some(bias) = self.bias else { return Ok(None) };
        let (both, size) = (pick(cx, bias, at)?, &self.hidden * int(self.kind.gates()));
        Ok(Some((cx.part(both, 0, int(0), size.clone())?, cx.part(both, 0, size.clone(), size)?)))
    }

    /// One direction: every hidden state, the last one, and the last cell.
    fn run<'m>(&self, cx: &mut Cx<'m>, call: &Call<'_, 'm>, at: usize, back: bool) -> Outcome<[ValueId; 3]> {
        let (h, c) = (self.first(cx, self.first_h, at)?, self.first(cx, self.first_c, at)?);
        let (w, r) = (pick(cx, self.w, at)?, pick(cx, self.r, at)?);
        let (w, r) = (cx.transpose(w, &[1, 0])?, cx.transpose(r, &[1, 0])?);
        let biases = self.biases(cx, at)?;
        let peepholes = self.peepholes.map(|p| pick(cx, p, at)).transpose()?;
        let cell = Cell {
            kind: self.kind,
            activations: activations(call, self.kind, at)?,
            clip: call.float("clip")?,
            hidden: self.hidden.clone(),
            linear_before_reset: call.int_or("linear_before_reset", 0)? != 0,
            input_forget: call.int_or("input_forget", 0)? != 0,
            r,
            rb: biases.map(|(_, rb)| rb),
            peepholes,
        };
        let ordered = if back { turned(cx, self.x, self.lengths)? } else { self.x };
        let mut inputs = cx.emit(Op::MatMul, &[ordered, w])?;
        if let Some((wb, _)) = biases {
            inputs = cx.binary(BinaryOp::Add, inputs, wb)?;
        }
        let shape = [self.length.clone(), self.batch.clone(), self.hidden.clone()];
        let y = zeros(cx, &shape, cx.dtype(self.x))?;
        let out = repeat(cx, &self.length, vec![h, c, y], |cx, t, carried| self.turn(cx, &cell, inputs, t, &carried))?;
        let [h, c, y] = out[..] else { return fault("a loop gives three values") };
        Ok([if back { turned(cx, y, self.lengths)? } else { y }, h, c])
    }

    /// One step; where a batch has ended, its states stay and its output is 0.
    fn turn(
        &self,
        cx: &mut Cx<'_>,
        cell: &Cell,
        inputs: ValueId,
        t: &IntExpr,
        carried: &[ValueId],
    ) -> Outcome<Vec<ValueId>> {
        let [h, c, y] = carried else { return fault("a step carries three values") };
        let now = step(cx, inputs, t)?;
        let (mut next_h, mut next_c) = cell.next(cx, now, *h, *c)?;
        let mut shown = next_h;
        if let Some(lengths) = self.lengths {
            let turn = cx.emit(Op::IndexValue { expr: t.clone(), dtype: cx.dtype(lengths) }, &[])?;
            let lengths = cx.reshape(lengths, &[self.batch.clone(), int(1)])?;
            let runs = cx.compare(CmpOp::Lt, turn, lengths)?;
            let zero = cx.like(*h, 0.0);
            shown = cx.select(runs, next_h, zero)?;
            (next_h, next_c) = (cx.select(runs, next_h, *h)?, cx.select(runs, next_c, *c)?);
        }
        Ok(vec![next_h, next_c, store(cx, *y, shown, t)?])
    }
}

fn recurrent<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, kind: Kind) -> Results {
    let layout = call.int_or("layout", 0)? != 0;
    let network = Network::of(cx, call, kind, layout)?;
    if let (Some(asked), Some(own)) = (call.int("hidden_size")?, network.hidden.as_const())
        && asked != own
    {
        return fault(format!("`hidden_size` is {asked}, and its weights are for {own}"));
    }
    let backward: &[bool] = match call.text("direction", "forward")?.as_str() {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return fault(format!("the direction `{other}` is unknown")),
    };
    let (mut all, mut last_h, mut last_c) = (Vec::new(), Vec::new(), Vec::new());
    for (at, back) in backward.iter().enumerate() {
        let [y, h, c] = network.run(cx, call, at, *back)?;
        all.push(y);
        last_h.push(h);
        last_c.push(c);
    }
    let stack = |cx: &mut Cx<'m>, list: Vec<ValueId>, axis: i64| {
        cx.operator("stack", vec![tenfold_ir::ops::Arg::List(list)], &[("axis", AttrValue::Int(int(axis)))])
    };
    let (mut y, mut h, mut c) = (stack(cx, all, 1)?, stack(cx, last_h, 0)?, stack(cx, last_c, 0)?);
    if layout {
        y = cx.transpose(y, &[2, 0, 1, 3])?;
        (h, c) = (cx.transpose(h, &[1, 0, 2])?, cx.transpose(c, &[1, 0, 2])?);
    }
    Ok(vec![cx.plain(y), cx.plain(h), cx.plain(c)])
}

/// The sequence from its end: of each batch its own.
fn turned(cx: &mut Cx<'_>, x: ValueId, lengths: Option<ValueId>) -> Outcome<ValueId> {
    match lengths {
        None => flip(cx, x, 0),
        Some(lengths) => {
            let axes = [("time_axis", AttrValue::Int(int(0))), ("batch_axis", AttrValue::Int(int(1)))];
            cx.op("reverse_sequence", &[x, lengths], &axes)
        }
    }
}

fn activations(call: &Call<'_, '_>, kind: Kind, direction: usize) -> Outcome<Vec<Activation>> {
    let defaults = kind.activations();
    let names = call.texts("activations")?.filter(|names| names.len() >= defaults.len() * (direction + 1));
    let (alpha, beta) = (call.floats("activation_alpha")?, call.floats("activation_beta")?);
    let own = |i: usize| {
        let at = direction * defaults.len() + i;
        let number = |list: &Option<Vec<f32>>| list.as_ref().and_then(|list| list.get(at).copied());
        let name = names.as_ref().map_or_else(|| defaults[i].to_string(), |names| names[at].clone());
        Activation { name, alpha: number(&alpha), beta: number(&beta) }
    };
    Ok((0..defaults.len()).map(own).collect())
}

/// `[batch, length, heads · size]` with the length first: `[length, batch, heads, size]`.
fn unpacked(cx: &mut Cx<'_>, x: ValueId, heads: i64) -> Outcome<ValueId> {
    let dims = cx.dims(x);
    let [batch, length, hidden] = dims.as_slice() else { return fault("expected rank 3") };
    let x = cx.cast(x, DType::F32)?;
    let x = cx.reshape(x, &[batch.clone(), length.clone(), int(heads), hidden.floor_div(&int(heads))])?;
    cx.transpose(x, &[1, 0, 2, 3])
}

/// Attention by a state that is updated at each step.
fn linear_attention<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (query, key, value) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let (q_heads, heads) = (call.int_or("q_num_heads", 0)?, call.int_or("kv_num_heads", 0)?);
    if heads < 1 || q_heads < heads || q_heads % heads != 0 {
        return fault(format!("{q_heads} query heads do not share {heads} heads"));
    }
    let rule = call.text("update_rule", "gated_delta")?;
    let (gated, delta) = match rule.as_str() {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return fault(format!("the rule `{other}` is unknown")),
    };
    let own = cx.dtype(query);
    let dims = cx.dims(query);
    let (batch, length) = (dims[0].clone(), dims[1].clone());
    let (q, k, v) = (unpacked(cx, query, q_heads)?, unpacked(cx, key, heads)?, unpacked(cx, value, heads)?);
    let (dk, dv) = (cx.dims(k)[3].clone(), cx.dims(v)[3].clone());
    let scale = super::attention::scale_of(call, &dk)?;
    let per_head = |cx: &mut Cx<'m>, i: usize| -> Outcome<ValueId> {
        let x = call.x(cx, i)?;
        let last = cx.dims(x)[2].clone();
        unpacked(cx, x, if last.as_const() == Some(1) { 1 } else { heads })
    };
    let decay = if gated { Some(per_head(cx, 4)?) } else { None };
    let beta = if delta { Some(per_head(cx, 5)?) } else { None };
    let (state, kept) = match call.optional(cx, 3)? {
        Some(state) => (cx.cast(state, DType::F32)?, cx.dtype(state)),
        None => (zeros(cx, &[batch.clone(), int(heads), dk.clone(), dv.clone()], DType::F32)?, own),
    };
    let group = int(q_heads / heads);
    let y = zeros(cx, &[length.clone(), batch.clone(), int(q_heads), dv.clone()], DType::F32)?;
    let out = repeat(cx, &length, vec![state, y], |cx, t, carried| {
        let [mut state, y] = carried[..] else { return fault("a step carries two values") };
        let (q, k, mut v) = (step(cx, q, t)?, step(cx, k, t)?, step(cx, v, t)?);
        if let Some(decay) = decay {
            let g = step(cx, decay, t)?;
            let g = cx.unary(UnaryOp::Exp, g)?;
            let g = cx.expand_dims(g, 3)?;
            state = cx.binary(BinaryOp::Mul, state, g)?;
        }
        let row = cx.expand_dims(k, 2)?;
        if let Some(beta) = beta {
            let seen = cx.emit(Op::MatMul, &[row, state])?;
            let seen = cx.reshape(seen, &cx.dims(v))?;
            let error = cx.binary(BinaryOp::Sub, v, seen)?;
            let b = step(cx, beta, t)?;
            v = cx.binary(BinaryOp::Mul, b, error)?;
        }
        let (column, row) = (cx.expand_dims(k, 3)?, cx.expand_dims(v, 2)?);
        let update = cx.binary(BinaryOp::Mul, column, row)?;
        state = cx.binary(BinaryOp::Add, state, update)?;
        let q = cx.reshape(q, &[batch.clone(), int(heads), group.clone(), dk.clone()])?;
        let o = cx.emit(Op::MatMul, &[q, state])?;
        let o = cx.reshape(o, &[batch.clone(), int(q_heads), dv.clone()])?;
        let factor = cx.like(o, scale);
        let o = cx.binary(BinaryOp::Mul, o, factor)?;
        Ok(vec![state, store(cx, y, o, t)?])
    })?;
    let [state, y] = out[..] else { return fault("a loop gives two values") };
    let y = cx.transpose(y, &[1, 0, 2, 3])?;
    let y = cx.reshape(y, &[batch, length, int(q_heads) * dv])?;
    let (y, state) = (cx.cast(y, own)?, cx.cast(state, kept)?);
    Ok(vec![cx.plain(y), cx.plain(state)])
}

/// A convolution per channel that sees the past alone, which it is given and hands on.
fn causal_conv<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, w) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let dims = cx.dims(x);
    let kernel = cx.fixed(w)?;
    let ([batch, channels, _], [_, _, k]) = (dims.as_slice(), kernel.as_slice()) else {
        return fault("expected rank 3");
    };
    let past = match call.optional(cx, 3)? {
        Some(past) => past,
        None => zeros(cx, &[batch.clone(), channels.clone(), int(k - 1)], cx.dtype(x))?,
    };
    let padded = cx.emit(Op::Concat { axis: 2 }, &[past, x])?;
    let mut args = vec![padded, w];
    args.extend(call.optional(cx, 2)?);
    let Some(group) = channels.as_const() else { return fault("the number of channels must be known") };
    let window = tenfold_ir::relax::Window { kernel: vec![*k], strides: vec![1], pads: vec![0, 0], dilations: vec![1] };
    let mut y = cx.emit(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &args)?;
    match call.text("activation", "none")?.as_str() {
        "none" => {}
        "silu" | "swish" => y = cx.op("silu", &[y], &[])?,
        other => return fault(format!("the activation `{other}` is unknown")),
    }
    let total = cx.dims(padded)[2].clone();
    let state = cx.part(padded, 2, total - int(k - 1), int(k - 1))?;
    Ok(vec![cx.plain(y), cx.plain(state)])
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("CausalConvWithState", 1, causal_conv),
    op("GRU", 7, |cx, call| recurrent(cx, call, Kind::Gru)),
    op("LSTM", 7, |cx, call| recurrent(cx, call, Kind::Lstm)),
    op("LinearAttention", 1, linear_attention),
    op("RNN", 7, |cx, call| recurrent(cx, call, Kind::Rnn)),
];
