//! Recurrent networks: RNN, GRU and LSTM, a loop over the sequence for each direction.

use super::call::{bool_attr, float_attr, floats_attr, optional, tensor, word_attr, words_attr};
use super::check::{attr_error, floats, integers, rank, same_dtype, shape};
use super::compose::{
    add, call_of, compare, concat, flip, full, mul, part, reshape, select, sub, transpose, unary, with,
};
use super::error::OpError;
use super::{AttrDef, AttrValue, OpCall, OpDef};
use crate::arith::{IntExpr, Sym};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::relax::{Builder, Op, Region, SliceAxis, SymDecl, SymKind, TensorType, Type, ValueId, dim};
use crate::{Loc, Scalar};

type Made = Result<ValueId, OpError>;

/// `extent` turns over what is carried.
fn repeat(
    b: &mut Builder,
    extent: &IntExpr,
    first: &[ValueId],
    body: impl FnOnce(&mut Builder, &IntExpr, &[ValueId]) -> Result<Vec<ValueId>, OpError>,
) -> Result<Vec<ValueId>, OpError> {
    let var = Sym::new(format!("step{}", b.sym_count()));
    let at = IntExpr::var(var.clone());
    let types: Vec<Type> = first.iter().map(|v| b.ty(*v).clone()).collect();
    // Behind the loop nothing says that it has a turn.
    b.prover.push_scope();
    b.prover.assume_range(&var, &dim::int(0), extent);
    b.open_body(Vec::new());
    let params: Vec<ValueId> = types.iter().map(|ty| b.region_param(ty.clone(), "carried")).collect();
    let next = body(b, &at, &params);
    let blocks = b.close_body();
    b.prover.pop_scope();
    let ty = Type::Tuple(types);
    let op = Op::For { var: var.clone(), begin: dim::int(0), extent: extent.clone(), step: 1 };
    let out = b.emit_regions(op, first, vec![Region { params, blocks, results: next? }], ty);
    b.declare_sym(SymDecl { sym: var, kind: SymKind::Loop(out), loc: Loc::default() });
    (0..first.len()).map(|i| b.emit(Op::TupleGet(i), &[out])).collect()
}

/// Element `at` of the first axis.
fn step(b: &mut Builder, x: ValueId, at: &IntExpr) -> Made {
    let axes = first_axis(b.tensor(x), at);
    b.emit(Op::Slice { axes, drop: vec![0] }, &[x])
}

/// `all` with element `at` of the first axis replaced.
fn store(b: &mut Builder, all: ValueId, one: ValueId, at: &IntExpr) -> Made {
    let axes = first_axis(b.tensor(all), at);
    b.emit(Op::SliceUpdate { axes, drop: vec![0] }, &[all, one])
}

fn first_axis(ty: &TensorType, at: &IntExpr) -> Vec<SliceAxis> {
    let whole = |extent: &IntExpr| SliceAxis { begin: dim::int(0), extent: extent.clone(), step: 1 };
    let mut axes: Vec<SliceAxis> = ty.shape.iter().map(whole).collect();
    axes[0] = SliceAxis { begin: at.clone(), extent: dim::int(1), step: 1 };
    axes
}

/// Which network it is.
#[derive(Clone, Copy, PartialEq, Eq)]
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
            Kind::Rnn => &["tanh"],
            Kind::Gru => &["sigmoid", "tanh"],
            Kind::Lstm => &["sigmoid", "tanh", "tanh"],
        }
    }
}

/// The words for activations.
const ACTIVATIONS: [&str; 11] = [
    "sigmoid",
    "tanh",
    "relu",
    "softsign",
    "softplus",
    "affine",
    "scaledtanh",
    "leakyrelu",
    "thresholdedrelu",
    "elu",
    "hardsigmoid",
];

/// An activation with its numbers.
#[derive(Clone)]
struct Activation {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

impl Activation {
    fn apply(&self, b: &mut Builder, x: ValueId) -> Made {
        let number = |given: Option<f64>, default: f64| given.unwrap_or(default);
        let alpha = |default: f64| [("alpha", AttrValue::Float(number(self.alpha, default)))];
        match self.name.as_str() {
            "tanh" => unary(b, UnaryOp::Tanh, x),
            "relu" => call_of(b, "relu", &[x], &[]),
            "softsign" => call_of(b, "softsign", &[x], &[]),
            "softplus" => call_of(b, "softplus", &[x], &[]),
            "affine" => {
                let y = with(b, BinaryOp::Mul, x, number(self.alpha, 1.0))?;
                with(b, BinaryOp::Add, y, number(self.beta, 0.0))
            }
            "scaledtanh" => {
                let y = with(b, BinaryOp::Mul, x, number(self.beta, 1.0))?;
                let y = unary(b, UnaryOp::Tanh, y)?;
                with(b, BinaryOp::Mul, y, number(self.alpha, 1.0))
            }
            "leakyrelu" => call_of(b, "leaky_relu", &[x], &alpha(0.01)),
            "thresholdedrelu" => call_of(b, "thresholded_relu", &[x], &alpha(1.0)),
            "elu" => call_of(b, "elu", &[x], &alpha(1.0)),
            "hardsigmoid" => {
                let beta = ("beta", AttrValue::Float(number(self.beta, 0.5)));
                let [alpha] = alpha(0.2);
                call_of(b, "hard_sigmoid", &[x], &[alpha, beta])
            }
            _ => unary(b, UnaryOp::Sigmoid, x),
        }
    }
}

/// The activations of all directions, one after the other.
fn activations(call: &OpCall, kind: Kind, directions: usize) -> Result<Vec<Activation>, OpError> {
    let defaults = kind.activations();
    let count = defaults.len() * directions;
    let names: Vec<String> = match words_attr(call, "activations", &ACTIVATIONS)? {
        Some(names) if names.len() == count => names,
        Some(names) => {
            let message = format!("expected {count} words for `activations`, found {}", names.len());
            return Err(attr_error("activations", message));
        }
        None => (0..count).map(|i| defaults[i % defaults.len()].to_string()).collect(),
    };
    let (alpha, beta) = (floats_attr(call, "activation_alpha")?, floats_attr(call, "activation_beta")?);
    let number = |list: &Option<Vec<f64>>, i: usize| list.as_ref().and_then(|list| list.get(i).copied());
    let one = |(i, name)| Activation { name, alpha: number(&alpha, i), beta: number(&beta, i) };
    Ok(names.into_iter().enumerate().map(one).collect())
}

/// What one direction computes with.
struct Cell<'a> {
    kind: Kind,
    activations: &'a [Activation],
    clip: Option<f64>,
    hidden: &'a IntExpr,
    linear_before_reset: bool,
    input_forget: bool,
    /// `R` transposed, and the recurrent bias.
    r: ValueId,
    rb: Option<ValueId>,
    peepholes: Option<ValueId>,
}

impl Cell<'_> {
    /// Part `n` of the last axis, in units of the hidden size.
    fn part(&self, b: &mut Builder, x: ValueId, n: i64) -> Made {
        let axis = b.tensor(x).shape.len() - 1;
        part(b, x, axis, &(self.hidden * &dim::int(n)), self.hidden)
    }

    fn activate(&self, b: &mut Builder, which: usize, x: ValueId) -> Made {
        let mut x = x;
        if let Some(clip) = self.clip {
            x = with(b, BinaryOp::Max, x, -clip)?;
            x = with(b, BinaryOp::Min, x, clip)?;
        }
        self.activations[which].apply(b, x)
    }

    /// The next hidden and cell state; `x` is the input's part of the gates.
    fn next(&self, b: &mut Builder, x: ValueId, h: ValueId, c: ValueId) -> Result<(ValueId, ValueId), OpError> {
        match self.kind {
            Kind::Rnn => {
                let own = self.recurrent(b, h)?;
                let gates = add(b, x, own)?;
                Ok((self.activate(b, 0, gates)?, c))
            }
            Kind::Gru => Ok((self.gru(b, x, h)?, c)),
            Kind::Lstm => self.lstm(b, x, h, c),
        }
    }

    fn recurrent(&self, b: &mut Builder, h: ValueId) -> Made {
        let r = b.emit(Op::MatMul, &[h, self.r])?;
        self.rb.map_or(Ok(r), |bias| add(b, r, bias))
    }

    fn gru(&self, b: &mut Builder, x: ValueId, h: ValueId) -> Made {
        let own = self.recurrent(b, h)?;
        let gate = |b: &mut Builder, n: i64| {
            let (of_x, of_h) = (self.part(b, x, n)?, self.part(b, own, n)?);
            let both = add(b, of_x, of_h)?;
            self.activate(b, 0, both)
        };
        let (z, r) = (gate(b, 0)?, gate(b, 1)?);
        let of_x = self.part(b, x, 2)?;
        let of_h = if self.linear_before_reset {
            let linear = self.part(b, own, 2)?;
            mul(b, r, linear)?
        } else {
            let reset = mul(b, r, h)?;
            let weights = self.part(b, self.r, 2)?;
            let product = b.emit(Op::MatMul, &[reset, weights])?;
            match self.rb {
                Some(bias) => {
                    let bias = self.part(b, bias, 2)?;
                    add(b, product, bias)?
                }
                None => product,
            }
        };
        let sum = add(b, of_x, of_h)?;
        let new = self.activate(b, 1, sum)?;
        let one = b.scalar(Scalar::one(b.tensor(z).dtype));
        let rest = sub(b, one, z)?;
        let (new, old) = (mul(b, rest, new)?, mul(b, z, h)?);
        add(b, new, old)
    }

    /// Gate `n` of an LSTM, which sees the cell through a peephole.
    fn gate(&self, b: &mut Builder, gates: ValueId, n: i64, peephole: Option<(i64, ValueId)>, which: usize) -> Made {
        let mut gate = self.part(b, gates, n)?;
        if let (Some(all), Some((p, cell))) = (self.peepholes, peephole) {
            let weights = self.part(b, all, p)?;
            let seen = mul(b, weights, cell)?;
            gate = add(b, gate, seen)?;
        }
        self.activate(b, which, gate)
    }

    fn lstm(&self, b: &mut Builder, x: ValueId, h: ValueId, c: ValueId) -> Result<(ValueId, ValueId), OpError> {
        let own = self.recurrent(b, h)?;
        let gates = add(b, x, own)?;
        let i = self.gate(b, gates, 0, Some((0, c)), 0)?;
        let f = if self.input_forget {
            let one = b.scalar(Scalar::one(b.tensor(i).dtype));
            sub(b, one, i)?
        } else {
            self.gate(b, gates, 2, Some((2, c)), 0)?
        };
        let new = self.gate(b, gates, 3, None, 1)?;
        let (kept, added) = (mul(b, f, c)?, mul(b, i, new)?);
        let cell = add(b, kept, added)?;
        let o = self.gate(b, gates, 1, Some((1, cell)), 0)?;
        let shown = self.activations[2].apply(b, cell)?;
        Ok((mul(b, o, shown)?, cell))
    }
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
    fn of(b: &mut Builder, call: &OpCall, kind: Kind, directions: usize, layout: bool) -> Result<Network, OpError> {
        let (x, ty) = tensor(b, call, 0)?;
        floats(0, &ty)?;
        rank(0, &ty, 3)?;
        let x = swapped(b, x, layout)?;
        let dims = b.tensor(x).shape.clone();
        let ((w, _), (r, of_r)) = (tensor(b, call, 1)?, tensor(b, call, 2)?);
        rank(2, &of_r, 3)?;
        let hidden = of_r.shape[2].clone();
        let (count, gates) = (dim::int(directions as i64), &hidden * &dim::int(kind.gates()));
        let state = if layout { [&dims[1], &count, &hidden] } else { [&count, &dims[1], &hidden] };
        let state: Vec<IntExpr> = state.into_iter().cloned().collect();
        let wanted = [
            vec![count.clone(), gates.clone(), dims[2].clone()],
            vec![count.clone(), gates.clone(), hidden.clone()],
            vec![count.clone(), &gates * &dim::int(2)],
            vec![dims[1].clone()],
            state.clone(),
            state,
            vec![count, &hidden * &dim::int(3)],
        ];
        let mut all = Vec::new();
        for (i, wanted) in wanted.iter().enumerate().map(|(i, wanted)| (i + 1, wanted)) {
            let operand = optional(b, call, i)?;
            if let Some((_, found)) = &operand {
                if i == 4 {
                    integers(i, found)?
                } else {
                    same_dtype(i, found, &ty)?
                }
                shape(b, i, found, wanted)?;
            }
            all.push(operand.map(|(value, _)| value));
        }
        let first = |b: &mut Builder, i: usize| all[i].map(|state| swapped(b, state, layout)).transpose();
        Ok(Network {
            kind,
            x,
            w,
            r,
            bias: all[2],
            lengths: all[3],
            first_h: first(b, 4)?,
            first_c: first(b, 5)?,
            peepholes: all[6],
            length: dims[0].clone(),
            batch: dims[1].clone(),
            hidden,
        })
    }

    /// A state at the beginning: given, or zeros.
    fn first(&self, b: &mut Builder, given: Option<ValueId>, at: &IntExpr) -> Made {
        match given {
            Some(given) => step(b, given, at),
            None => full(b, &[self.batch.clone(), self.hidden.clone()], Scalar::zero(b.tensor(self.x).dtype)),
        }
    }

    /// The biases of the input and of the state.
    fn biases(&self, b: &mut Builder, at: &IntExpr) -> Result<Option<(ValueId, ValueId)>, OpError> {
        let Some(bias) = self.bias else { return Ok(None) };
        let (both, size) = (step(b, bias, at)?, &self.hidden * &dim::int(self.kind.gates()));
        Ok(Some((part(b, both, 0, &dim::int(0), &size)?, part(b, both, 0, &size, &size)?)))
    }

    /// One direction: every hidden state, the last one, and the last cell.
    fn run(
        &self,
        b: &mut Builder,
        call: &OpCall,
        (number, back): (usize, bool),
        all: &[Activation],
    ) -> Result<[ValueId; 3], OpError> {
        let at = &dim::int(number as i64);
        let (h, c) = (self.first(b, self.first_h, at)?, self.first(b, self.first_c, at)?);
        let (w, r) = (step(b, self.w, at)?, step(b, self.r, at)?);
        let (w, r) = (transpose(b, w, &[1, 0])?, transpose(b, r, &[1, 0])?);
        let biases = self.biases(b, at)?;
        let peepholes = self.peepholes.map(|p| step(b, p, at)).transpose()?;
        let count = self.kind.activations().len();
        let clip = float_attr(call, "clip", f64::INFINITY)?.get();
        let cell = Cell {
            kind: self.kind,
            activations: &all[number * count..(number + 1) * count],
            clip: Some(clip).filter(|clip| clip.is_finite()),
            hidden: &self.hidden,
            linear_before_reset: bool_attr(call, "linear_before_reset", false)?,
            input_forget: bool_attr(call, "input_forget", false)?,
            r,
            rb: biases.map(|(_, rb)| rb),
            peepholes,
        };
        let ordered = if back { self.turned(b, self.x)? } else { self.x };
        let mut inputs = b.emit(Op::MatMul, &[ordered, w])?;
        if let Some((wb, _)) = biases {
            inputs = add(b, inputs, wb)?;
        }
        let shape = [self.length.clone(), self.batch.clone(), self.hidden.clone()];
        let y = full(b, &shape, Scalar::zero(b.tensor(self.x).dtype))?;
        let out = repeat(b, &self.length, &[h, c, y], |b, t, carried| self.turn(b, &cell, inputs, t, carried))?;
        Ok([if back { self.turned(b, out[2])? } else { out[2] }, out[0], out[1]])
    }

    /// One step; where a batch has ended, its states stay and its output is 0.
    fn turn(
        &self,
        b: &mut Builder,
        cell: &Cell<'_>,
        inputs: ValueId,
        t: &IntExpr,
        carried: &[ValueId],
    ) -> Result<Vec<ValueId>, OpError> {
        let (h, c, y) = (carried[0], carried[1], carried[2]);
        let now = step(b, inputs, t)?;
        let (mut next_h, mut next_c) = cell.next(b, now, h, c)?;
        let mut shown = next_h;
        if let Some(lengths) = self.lengths {
            let turn = b.emit(Op::IndexValue { expr: t.clone(), dtype: b.tensor(lengths).dtype }, &[])?;
            let lengths = reshape(b, lengths, &[self.batch.clone(), dim::int(1)])?;
            let runs = compare(b, CmpOp::Lt, turn, lengths)?;
            let zero = b.scalar(Scalar::zero(b.tensor(h).dtype));
            shown = select(b, runs, next_h, zero)?;
            (next_h, next_c) = (select(b, runs, next_h, h)?, select(b, runs, next_c, c)?);
        }
        Ok(vec![next_h, next_c, store(b, y, shown, t)?])
    }

    /// The sequence from its end: of each batch its own.
    fn turned(&self, b: &mut Builder, x: ValueId) -> Made {
        match self.lengths {
            None => flip(b, x, 0),
            Some(lengths) => {
                let axis = |name, at| (name, AttrValue::Int(dim::int(at)));
                call_of(b, "reverse_sequence", &[x, lengths], &[axis("time_axis", 0), axis("batch_axis", 1)])
            }
        }
    }
}

/// Axes 0 and 1 exchanged, if the batch comes first.
fn swapped(b: &mut Builder, x: ValueId, layout: bool) -> Made {
    if layout && b.tensor(x).shape.len() == 3 { transpose(b, x, &[1, 0, 2]) } else { Ok(x) }
}

/// Tensors joined along a new axis.
fn stacked(b: &mut Builder, all: &[ValueId], axis: usize) -> Made {
    let mut parts = Vec::new();
    for one in all {
        let mut shape = b.tensor(*one).shape.clone();
        shape.insert(axis, dim::int(1));
        parts.push(reshape(b, *one, &shape)?);
    }
    if parts.len() == 1 { Ok(parts[0]) } else { concat(b, axis, &parts) }
}

fn recurrent(b: &mut Builder, call: &OpCall, kind: Kind) -> Made {
    let layout = bool_attr(call, "layout", false)?;
    let backward: &[bool] = [&[false][..], &[true], &[false, true]]
        [word_attr(call, "direction", &["forward", "reverse", "bidirectional"])?];
    let network = Network::of(b, call, kind, backward.len(), layout)?;
    let activations = activations(call, kind, backward.len())?;
    let mut all: [Vec<ValueId>; 3] = Default::default();
    for (number, back) in backward.iter().enumerate() {
        for (list, one) in all.iter_mut().zip(network.run(b, call, (number, *back), &activations)?) {
            list.push(one);
        }
    }
    let (mut y, mut h, mut c) = (stacked(b, &all[0], 1)?, stacked(b, &all[1], 0)?, stacked(b, &all[2], 0)?);
    if layout {
        y = transpose(b, y, &[2, 0, 1, 3])?;
        (h, c) = (transpose(b, h, &[1, 0, 2])?, transpose(b, c, &[1, 0, 2])?);
    }
    let all = [y, h, c];
    b.emit(Op::Tuple, if kind == Kind::Lstm { &all } else { &all[..2] })
}

const DIRECTION: AttrDef = AttrDef {
    name: "direction",
    ty: "\"forward\" | \"reverse\" | \"bidirectional\" = \"forward\"",
    doc: "which way the sequence is read",
};
const WORDS: AttrDef = AttrDef {
    name: "activations",
    ty: "list of words",
    doc: "of each direction: of `sigmoid`, `tanh`, `relu`, `softsign`, `softplus`, `affine`, `scaledtanh`, `leakyrelu`, `thresholdedrelu`, `elu`, `hardsigmoid`; else sigmoid for gates and tanh for states",
};
const ALPHA: AttrDef = AttrDef { name: "activation_alpha", ty: "list of floats", doc: "the alpha of each activation" };
const BETA: AttrDef = AttrDef { name: "activation_beta", ty: "list of floats", doc: "the beta of each activation" };
const CLIP: AttrDef =
    AttrDef { name: "clip", ty: "float = none", doc: "what goes into an activation is clipped to ±clip" };
const LAYOUT: AttrDef = AttrDef { name: "layout", ty: "bool = false", doc: "whether the batch is the first axis" };

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "rnn",
        "RNN",
        "x, w, r, bias?, lengths?, initial_h?",
        (3, 6),
        &[DIRECTION, WORDS, ALPHA, BETA, CLIP, LAYOUT],
        |b, call| recurrent(b, call, Kind::Rnn),
        "h = f(x wᵀ + h rᵀ + biases) along a sequence: x is [length, batch, input], w [directions, hidden, input], r [directions, hidden, hidden], bias [directions, 2 · hidden]. Gives (y, h): every state [length, directions, batch, hidden] and the last [directions, batch, hidden]. Behind the length of a batch y is 0 and h stays."
    ),
    graph!(
        "gru",
        "GRU",
        "x, w, r, bias?, lengths?, initial_h?",
        (3, 6),
        &[
            DIRECTION,
            WORDS,
            ALPHA,
            BETA,
            CLIP,
            LAYOUT,
            AttrDef {
                name: "linear_before_reset",
                ty: "bool = false",
                doc: "whether the reset gate is applied behind the product with r"
            },
        ],
        |b, call| recurrent(b, call, Kind::Gru),
        "A gated recurrent unit, gates in the order update, reset, new: h = (1 - z) · n + z · h. Operands and results as of rnn, with 3 · hidden in w, r and bias."
    ),
    graph!(
        "lstm",
        "LSTM",
        "x, w, r, bias?, lengths?, initial_h?, initial_c?, peepholes?",
        (3, 8),
        &[
            DIRECTION,
            WORDS,
            ALPHA,
            BETA,
            CLIP,
            LAYOUT,
            AttrDef {
                name: "input_forget",
                ty: "bool = false",
                doc: "whether the forget gate is 1 less the input gate"
            },
        ],
        |b, call| recurrent(b, call, Kind::Lstm),
        "Long short-term memory, gates in the order input, output, forget, cell: c = f · c + i · g, h = o · tanh(c). Operands as of rnn, with 4 · hidden in w, r and bias, and peepholes [directions, 3 · hidden] for input, output and forget. Gives (y, h, c)."
    ),
];
