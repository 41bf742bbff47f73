//! Recurrent networks and attention, element by element in f64.

use tenfold_ir::DType;
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::ValueId;

use super::{Grid, args, indices, int, numbers, numbers_of, place, units, word};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = [DType::F32, DType::F64].into_iter().flat_map(|d| [networks(d), rotary(d)]).collect();
    all.extend([DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().map(attention));
    all.extend([caches(), windows(), flat_heads(), in_tiles(), empty()]);
    all
}

fn within(dtype: DType) -> f64 {
    units(dtype, 8.0, 256.0)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// What a network is told; extents are those of `networks`.
struct Network<'a> {
    kind: &'a str,
    x: &'a Grid,
    w: &'a Grid,
    r: &'a Grid,
    bias: Option<&'a Grid>,
    lengths: Option<[i64; 2]>,
    first: Option<(&'a Grid, &'a Grid)>,
    peepholes: Option<&'a Grid>,
    linear: bool,
}

const T: i64 = 3;
const B: i64 = 2;
const I: i64 = 4;
const H: i64 = 3;

impl Network<'_> {
    fn gate(&self, d: i64, gate: i64, x: &[f64], h: &[f64], j: i64) -> f64 {
        let row = gate * H + j;
        let input: f64 = (0..I).map(|k| self.w.at(&[d, row, k]) * x[k as usize]).sum();
        input + self.bias.map_or(0.0, |b| b.at(&[d, row])) + self.state(d, row, h)
    }

    fn state(&self, d: i64, row: i64, h: &[f64]) -> f64 {
        let gates = self.w.shape[1];
        let own: f64 = (0..H).map(|k| self.r.at(&[d, row, k]) * h[k as usize]).sum();
        own + self.bias.map_or(0.0, |b| b.at(&[d, gates + row]))
    }

    fn next(&self, d: i64, x: &[f64], h: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let gate = |n: i64, j: i64| self.gate(d, n, x, h, j);
        let peep = |n: i64, j: i64, cell: f64| self.peepholes.map_or(0.0, |p| p.at(&[d, n * H + j]) * cell);
        let one = |j: i64| match self.kind {
            "rnn" => (gate(0, j).tanh(), 0.0),
            "gru" => {
                let (z, r) = (sigmoid(gate(0, j)), |k: i64| sigmoid(gate(1, k)));
                let row = 2 * H + j;
                let input: f64 = (0..I).map(|k| self.w.at(&[d, row, k]) * x[k as usize]).sum();
                let input = input + self.bias.map_or(0.0, |b| b.at(&[d, row]));
                let own = if self.linear {
                    r(j) * self.state(d, row, h)
                } else {
                    self.state(d, row, &(0..H).map(|k| r(k) * h[k as usize]).collect::<Vec<_>>())
                };
                ((1.0 - z) * (input + own).tanh() + z * h[j as usize], 0.0)
            }
            _ => {
                let old = c[j as usize];
                let (i, f) = (sigmoid(gate(0, j) + peep(0, j, old)), sigmoid(gate(2, j) + peep(2, j, old)));
                let cell = f * old + i * gate(3, j).tanh();
                (sigmoid(gate(1, j) + peep(1, j, cell)) * cell.tanh(), cell)
            }
        };
        (0..H).map(one).unzip()
    }

    /// Every state, the last ones and the last cells: `[T, D, B, H]`, `[D, B, H]`, `[D, B, H]`.
    fn run(&self, backward: &[bool]) -> [Vec<f64>; 3] {
        let count = backward.len() as i64;
        let mut y = vec![0.0; (T * count * B * H) as usize];
        let (mut last_h, mut last_c) = (Vec::new(), Vec::new());
        for (d, back) in backward.iter().enumerate() {
            for b in 0..B {
                let begin = |of: &Grid| (0..H).map(|j| of.at(&[d as i64, b, j])).collect::<Vec<_>>();
                let none = vec![0.0; H as usize];
                let (mut h, mut c) = self.first.map_or((none.clone(), none), |(h, c)| (begin(h), begin(c)));
                let length = self.lengths.map_or(T, |lengths| lengths[b as usize]);
                let order: Vec<i64> = if *back { (0..length).rev().collect() } else { (0..length).collect() };
                for t in order {
                    let x: Vec<f64> = (0..I).map(|k| self.x.at(&[t, b, k])).collect();
                    (h, c) = self.next(d as i64, &x, &h, &c);
                    for j in 0..H {
                        y[place(&[T, count, B, H], &[t, d as i64, b, j])] = h[j as usize];
                    }
                }
                last_h.extend(&h);
                last_c.extend(&c);
            }
        }
        [y, last_h, last_c]
    }
}

fn networks(dtype: DType) -> Case {
    let mut m = Make::new(&format!("networks_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[T, B, I]));
    let gx = Grid::of(&m, 0, &[T, B, I]);
    let lengths = m.values(DType::I32, &[B], &numbers(DType::I32, &[3, 1]));
    let mut results: Vec<ValueId> = Vec::new();
    for (kind, gates) in [("rnn", 1), ("gru", 3), ("lstm", 4)] {
        let mut operand = |shape: &[i64]| {
            let value = m.input(dtype, &fixed(shape));
            (value, Grid::of(&m, m.given() - 1, shape))
        };
        let ((w, gw), (r, gr)) = (operand(&[2, gates * H, I]), operand(&[2, gates * H, H]));
        let (bias, gb) = operand(&[2, 2 * gates * H]);
        let ((h, gh), (c, gc)) = (operand(&[2, B, H]), operand(&[2, B, H]));
        let (p, gp) = operand(&[2, 3 * H]);
        let both = ("direction", word("bidirectional"));
        let mut check = |m: &mut Make, operands: &[ValueId], attrs: &[(&str, AttrValue)], of: &Network<'_>| {
            let attrs = [attrs, std::slice::from_ref(&both)].concat();
            let out = m.call(kind, &args(operands), &attrs);
            let parts = m.parts(out, if kind == "lstm" { 3 } else { 2 });
            for (part, numbers) in parts.iter().zip(of.run(&[false, true])) {
                m.near(*part, &numbers, within(dtype));
            }
            results.extend(parts);
        };
        let plain = Network {
            kind,
            x: &gx,
            w: &gw,
            r: &gr,
            bias: None,
            lengths: None,
            first: None,
            peepholes: None,
            linear: false,
        };
        check(&mut m, &[x, w, r], &[], &plain);
        let first = Some((&gh, &gc));
        let whole = Network { bias: Some(&gb), lengths: Some([3, 1]), first, ..plain };
        let operands = [x, w, r, bias, lengths, h, c, p];
        match kind {
            "lstm" => {
                check(&mut m, &operands[..7], &[], &whole);
                check(&mut m, &operands, &[], &Network { peepholes: Some(&gp), ..whole });
            }
            _ => check(&mut m, &operands[..6], &[], &whole),
        }
        if kind == "gru" {
            let linear = [("linear_before_reset", AttrValue::Bool(true))];
            check(
                &mut m,
                &operands[..4],
                &linear,
                &Network { bias: Some(&gb), linear: true, ..whole_of(&gx, &gw, &gr) },
            );
        }
    }
    m.done(&results)
}

fn whole_of<'a>(x: &'a Grid, w: &'a Grid, r: &'a Grid) -> Network<'a> {
    Network { kind: "gru", x, w, r, bias: None, lengths: None, first: None, peepholes: None, linear: false }
}

/// What an attention is told: `[batch, heads, length, size]` each.
struct Attention<'a> {
    q: &'a Grid,
    k: &'a Grid,
    v: &'a Grid,
    scale: f64,
    /// What is added to the score of (batch, head, query, key).
    bias: &'a dyn Fn(i64, i64, i64, i64) -> f64,
}

impl Attention<'_> {
    fn run(&self) -> Vec<f64> {
        let [batch, heads, queries, size] = [0, 1, 2, 3].map(|i| self.q.shape[i]);
        let group = heads / self.k.shape[1];
        let keys = self.k.shape[2];
        let one = |i: &Vec<i64>| {
            let [b, h, t, j] = [i[0], i[1], i[2], i[3]];
            let score = |s: i64| {
                let dot: f64 = (0..size).map(|d| self.q.at(&[b, h, t, d]) * self.k.at(&[b, h / group, s, d])).sum();
                dot * self.scale + (self.bias)(b, h, t, s)
            };
            let scores: Vec<f64> = (0..keys).map(score).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if most == f64::NEG_INFINITY {
                return 0.0;
            }
            let weights: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
            let sum: f64 = weights.iter().sum();
            (0..keys).map(|s| weights[s as usize] / sum * self.v.at(&[b, h / group, s, j])).sum()
        };
        indices(&[batch, heads, queries, self.v.shape[3]]).iter().map(one).collect()
    }
}

fn nothing(_: i64, _: i64, _: i64, _: i64) -> f64 {
    0.0
}

fn unseen(seen: bool) -> f64 {
    if seen { 0.0 } else { f64::NEG_INFINITY }
}

/// Shared heads, masks of both kinds, a scale.
fn attention(dtype: DType) -> Case {
    let mut m = Make::new(&format!("attention_{}", dtype.name()));
    let mut operand = |shape: &[i64]| {
        let value = m.input(dtype, &fixed(shape));
        (value, Grid::of(&m, m.given() - 1, shape))
    };
    let ((q, gq), (k, gk), (v, gv)) = (operand(&[2, 4, 3, 2]), operand(&[2, 2, 5, 2]), operand(&[2, 2, 5, 3]));
    let (mask, gm) = operand(&[3, 5]);
    let cells: Vec<i64> = (0..30).map(|i| i64::from(i % 15 < 10 && i % 3 != 1)).collect();
    let seen = m.values(DType::Bool, &[2, 1, 3, 5], &numbers(DType::Bool, &cells));
    let root = 1.0 / 2f64.sqrt();
    let mut results = Vec::new();
    let mut check = |m: &mut Make,
                     operands: &[ValueId],
                     attrs: &[(&str, AttrValue)],
                     scale: f64,
                     bias: &dyn Fn(i64, i64, i64, i64) -> f64| {
        let y = m.call("attention", &args(operands), attrs);
        m.near(y, &Attention { q: &gq, k: &gk, v: &gv, scale, bias }.run(), within(dtype));
        results.push(y);
    };
    check(&mut m, &[q, k, v], &[], root, &nothing);
    check(&mut m, &[q, k, v, mask], &[("scale", AttrValue::Float(0.25))], 0.25, &|_, _, t, s| gm.at(&[t, s]));
    // the last query of each batch sees nothing
    check(&mut m, &[q, k, v, seen], &[], root, &|b, _, t, s| unseen(cells[(b * 15 + t * 5 + s) as usize] == 1));
    check(&mut m, &[q, k, v], &[("is_causal", AttrValue::Bool(true))], root, &|_, _, t, s| unseen(s <= t));
    m.done(&results)
}

/// As many queries and keys as make tiles and blocks, of heads that share keys; some queries see nothing.
fn in_tiles() -> Case {
    let mut m = Make::new("attention_in_tiles");
    let (queries, keys) = (11, 300);
    let mut operand = |shape: &[i64]| {
        let value = m.input(DType::F32, &fixed(shape));
        (value, Grid::of(&m, m.given() - 1, shape))
    };
    let ((q, gq), (k, gk), (v, gv)) =
        (operand(&[1, 4, queries, 8]), operand(&[1, 2, keys, 8]), operand(&[1, 2, keys, 5]));
    let sees = move |t: i64, s: i64| t != 4 && (t + s) % 3 != 0 && (t != 6 || s > 250);
    let cells: Vec<i64> = (0..queries * keys).map(|i| i64::from(sees(i / keys, i % keys))).collect();
    let seen = m.values(DType::Bool, &[queries, keys], &numbers(DType::Bool, &cells));
    let scale = 1.0 / 8f64.sqrt();
    let y = m.call("attention", &args(&[q, k, v]), &[]);
    m.near(y, &Attention { q: &gq, k: &gk, v: &gv, scale, bias: &nothing }.run(), within(DType::F32));
    let masked = m.call("attention", &args(&[q, k, v, seen]), &[]);
    let bias = |_: i64, _: i64, t: i64, s: i64| unseen(sees(t, s));
    m.near(masked, &Attention { q: &gq, k: &gk, v: &gv, scale, bias: &bias }.run(), within(DType::F32));
    let causal = m.call("attention", &args(&[q, k, v]), &[("is_causal", AttrValue::Bool(true))]);
    let bias = |_: i64, _: i64, t: i64, s: i64| unseen(s <= t);
    m.near(causal, &Attention { q: &gq, k: &gk, v: &gv, scale, bias: &bias }.run(), within(DType::F32));
    m.done(&[y, masked, causal])
}

/// Keys and values of a cache come first, and positions go on from them.
fn caches() -> Case {
    let mut m = Make::new("attention_cache");
    let mut operand = |shape: &[i64]| {
        let value = m.input(DType::F32, &fixed(shape));
        (value, Grid::of(&m, m.given() - 1, shape))
    };
    let ((q, gq), (k, gk), (v, gv)) = (operand(&[1, 2, 2, 2]), operand(&[1, 1, 2, 2]), operand(&[1, 1, 2, 2]));
    let ((past_k, gpk), (past_v, gpv)) = (operand(&[1, 1, 3, 2]), operand(&[1, 1, 3, 2]));
    let joined =
        |old: &Grid, new: &Grid| Grid { shape: vec![1, 1, 5, 2], cells: [&old.cells[..], &new.cells].concat() };
    let (all_k, all_v) = (joined(&gpk, &gk), joined(&gpv, &gv));
    let operands = [&args(&[q, k, v])[..], &[Arg::List(Vec::new())], &args(&[past_k, past_v])].concat();
    let out = m.call("attention", &operands, &[("is_causal", AttrValue::Bool(true))]);
    let parts = m.parts(out, 3);
    let bias = |_: i64, _: i64, t: i64, s: i64| unseen(s <= t + 3);
    let y = Attention { q: &gq, k: &all_k, v: &all_v, scale: 1.0 / 2f64.sqrt(), bias: &bias }.run();
    m.near(parts[0], &y, within(DType::F32));
    m.near(parts[1], &all_k.cells, 0.0);
    m.near(parts[2], &all_v.cells, 0.0);
    // no more keys count than a length says, and queries end there
    let mask = m.lit(DType::F32, 0.0);
    let lengths = m.values(DType::I64, &[1], &numbers(DType::I64, &[4]));
    let attrs = [("is_causal", AttrValue::Bool(true)), ("scores", word("raw"))];
    let out = m.call("attention", &args(&[q, k, v, mask, past_k, past_v, lengths]), &attrs);
    let short = m.parts(out, 4);
    let bias = |_: i64, _: i64, t: i64, s: i64| unseen(s <= t + 2 && s < 4);
    let y = Attention { q: &gq, k: &all_k, v: &all_v, scale: 1.0 / 2f64.sqrt(), bias: &bias }.run();
    m.near(short[0], &y, within(DType::F32));
    let raw = indices(&[1, 2, 2, 5]);
    let raw = raw
        .iter()
        .map(|i| (0..2).map(|d| gq.at(&[0, i[1], i[2], d]) * all_k.at(&[0, 0, i[3], d])).sum::<f64>() / 2f64.sqrt());
    m.near(short[3], &raw.collect::<Vec<_>>(), within(DType::F32));
    m.done(&[parts[0], parts[1], parts[2], short[0], short[3]])
}

/// Windows about a query's position, and a cap on scores.
fn windows() -> Case {
    let mut m = Make::new("attention_windows");
    let shape = [1, 1, 5, 2];
    let x = m.input(DType::F32, &fixed(&shape));
    let gx = Grid::of(&m, 0, &shape);
    let attrs = [("left_window_size", int(1)), ("right_window_size", int(2))];
    let y = m.call("attention", &args(&[x, x, x]), &attrs);
    let bias = |_: i64, _: i64, t: i64, s: i64| unseen(s >= t - 1 && s <= t + 2);
    let scale = 1.0 / 2f64.sqrt();
    m.near(y, &Attention { q: &gx, k: &gx, v: &gx, scale, bias: &bias }.run(), within(DType::F32));
    let capped = m.call("attention", &args(&[x, x, x]), &[("softcap", AttrValue::Float(0.5))]);
    let score = |t: i64, s: i64| (0..2).map(|d| gx.at(&[0, 0, t, d]) * gx.at(&[0, 0, s, d])).sum::<f64>() * scale;
    let bias = |_: i64, _: i64, t: i64, s: i64| 0.5 * (score(t, s) / 0.5).tanh() - score(t, s);
    m.near(capped, &Attention { q: &gx, k: &gx, v: &gx, scale, bias: &bias }.run(), within(DType::F32));
    m.done(&[y, capped])
}

/// Heads side by side in the last axis.
fn flat_heads() -> Case {
    let mut m = Make::new("attention_flat");
    let n = m.dim("N", 2, 0, 0);
    let q = m.input(DType::F32, &[n.clone(), 3.into(), 4.into()]);
    let k = m.input(DType::F32, &[n.clone(), 2.into(), 2.into()]);
    let v = m.input(DType::F32, &[n, 2.into(), 3.into()]);
    let heads = |param: usize, length: i64, heads: i64, size: i64| {
        let cells = numbers_of(&m, param);
        let at = |i: &Vec<i64>| cells[place(&[2, length, heads, size], &[i[0], i[2], i[1], i[3]])];
        let shape = vec![2, heads, length, size];
        Grid { cells: indices(&shape).iter().map(at).collect(), shape }
    };
    let (gq, gk, gv) = (heads(0, 3, 2, 2), heads(1, 2, 1, 2), heads(2, 2, 1, 3));
    let y = m.call("attention", &args(&[q, k, v]), &[("q_num_heads", int(2)), ("kv_num_heads", int(1))]);
    let own = Attention { q: &gq, k: &gk, v: &gv, scale: 1.0 / 2f64.sqrt(), bias: &nothing }.run();
    let flat = indices(&[2, 3, 2, 3]);
    let flat: Vec<f64> = flat.iter().map(|i| own[place(&[2, 2, 3, 3], &[i[0], i[2], i[1], i[3]])]).collect();
    m.near(y, &flat, within(DType::F32));
    m.done(&[y])
}

fn rotary(dtype: DType) -> Case {
    let mut m = Make::new(&format!("rotary_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 3, 4, 6]));
    let gx = Grid::of(&m, 0, &[2, 3, 4, 6]);
    let (cos, sin) = (m.input(dtype, &fixed(&[2, 4, 3])), m.input(dtype, &fixed(&[2, 4, 3])));
    let (gc, gs) = (Grid::of(&m, 1, &[2, 4, 3]), Grid::of(&m, 2, &[2, 4, 3]));
    let turned = |size: i64, interleaved: bool, angle: &dyn Fn(&Grid, i64, i64, i64) -> f64| {
        let half = size / 2;
        let one = |i: &Vec<i64>| {
            let (b, h, t, j) = (i[0], i[1], i[2], i[3]);
            if j >= size {
                return gx.at(i);
            }
            let (pair, second) = if interleaved { (j / 2, j % 2 == 1) } else { (j % half, j >= half) };
            let place = |second: bool| match (interleaved, second) {
                (true, second) => pair * 2 + i64::from(second),
                (false, second) => pair + if second { half } else { 0 },
            };
            let (first, last) = (gx.at(&[b, h, t, place(false)]), gx.at(&[b, h, t, place(true)]));
            let (c, s) = (angle(&gc, b, t, pair), angle(&gs, b, t, pair));
            if second { s * first + c * last } else { c * first - s * last }
        };
        indices(&[2, 3, 4, 6]).iter().map(one).collect::<Vec<_>>()
    };
    let direct = |g: &Grid, b: i64, t: i64, pair: i64| g.at(&[b, t, pair]);
    let mut results = Vec::new();
    for interleaved in [false, true] {
        let y = m.call("rotary_embedding", &args(&[x, cos, sin]), &[("interleaved", AttrValue::Bool(interleaved))]);
        m.near(y, &turned(6, interleaved, &direct), within(dtype));
        results.push(y);
    }
    // positions pick from tables, and the end of a head stays
    let tables = [m.input(dtype, &fixed(&[8, 2])), m.input(dtype, &fixed(&[8, 2]))];
    let given = m.given();
    let (tc, ts) = (Grid::of(&m, given - 2, &[8, 2]), Grid::of(&m, given - 1, &[8, 2]));
    let places = [3, 0, 7, 1, 2, 2, 5, 6];
    let ids = m.values(DType::I64, &[2, 4], &numbers(DType::I64, &places));
    let operands: Vec<Arg> = args(&[x, tables[0], tables[1], ids]);
    let y = m.call("rotary_embedding", &operands, &[("rotary_embedding_dim", int(4))]);
    let of_table = |g: &Grid, b: i64, t: i64, pair: i64| {
        let table = if std::ptr::eq(g, &gc) { &tc } else { &ts };
        table.at(&[places[(b * 4 + t) as usize], pair])
    };
    m.near(y, &turned(4, false, &of_table), within(dtype));
    results.push(y);
    m.done(&results)
}

/// Sequences and batches without elements.
fn empty() -> Case {
    let mut m = Make::new("sequence_empty");
    let (x, w, r) = (
        m.input(DType::F32, &fixed(&[0, 2, 3])),
        m.input(DType::F32, &fixed(&[1, 16, 3])),
        m.input(DType::F32, &fixed(&[1, 16, 4])),
    );
    let out = m.call("lstm", &args(&[x, w, r]), &[]);
    let parts = m.parts(out, 3);
    m.near(parts[1], &[0.0; 8], 0.0);
    let q = m.input(DType::F32, &fixed(&[2, 1, 3, 2]));
    let none = m.input(DType::F32, &fixed(&[2, 1, 0, 2]));
    let y = m.call("attention", &args(&[q, none, none]), &[]);
    m.near(y, &[0.0; 12], 0.0);
    let no_batch = m.input(DType::F32, &fixed(&[0, 1, 3, 2]));
    let z = m.call("attention", &args(&[no_batch, no_batch, no_batch]), &[]);
    m.done(&[parts[0], parts[1], parts[2], y, z])
}
