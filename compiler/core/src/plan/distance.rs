//! How far apart a kernel's operand and its result must begin for the one to lie over the other.
//!
//! A kernel that goes through its operand from one end to the other has no use for what lies behind it, and its result
//! may be written there. The kernel is taken as steps in their order, as many as there are turns of its outer loops up to
//! a limit; what a step reads and writes is bounded by intervals. In a step anything may come first, so nothing that
//! later passes do inside of one changes what holds.

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{
    BufId, BufUse, Elem, Expr, ExprId, IterVar, LoopKind, Param, PrimFunc, Stmt, VarId, own_accesses,
};

/// Steps that the turns of a nest of loops are taken as.
const STEPS: i64 = 256;

/// Bytes between the beginnings of an operand and a result from which on the result may be written over the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Distance {
    /// Where the operand begins behind the result: what is read lies ahead of what is written.
    pub ahead: i64,
    /// Where the result begins behind the operand: the kernel goes backwards.
    pub back: i64,
}

/// The distance between two parameters of a kernel, the first of which it reads and the second of which it writes. It
/// is never more than keeps them apart; nothing where their sizes are not numbers or their dtypes differ.
pub(crate) fn distance(func: &PrimFunc, operand: BufId, result: BufId) -> Option<Distance> {
    let used = |buf, usage| func.params.contains(&Param::Buffer(buf, usage));
    let [from, to] = [operand, result].map(|buf| &func.buffers[buf.0 as usize]);
    let dense = from.strides.is_none() && to.strides.is_none() && from.dtype == to.dtype;
    if !used(operand, BufUse::In) || !used(result, BufUse::Out) || !dense || has_views(func) {
        return None;
    }
    let most = Distance { ahead: to.bytes()?, back: from.bytes()? };
    let mut steps = Steps { func, operand, result, known: vec![None; func.vars.len()], all: Vec::new() };
    if let Some(node) = steps.node(&func.body) {
        steps.take(&node, STEPS);
    }
    let size = from.dtype.size_bytes() as i64;
    let (ahead, back) = needed(&steps.all);
    let within = |elements: i64, most: i64| elements.saturating_mul(size).clamp(0, most);
    Some(Distance { ahead: within(ahead, most.ahead), back: within(back, most.back) })
}

/// Another name for a buffer, of which the walk below knows nothing.
fn has_views(func: &PrimFunc) -> bool {
    func.body.any(&mut |stmt| matches!(stmt, Stmt::Block(block) if !block.matches.is_empty()))
}

/// Elements from the first to the last.
type Range = (i64, i64);

/// What a step reads of the operand, and what it writes of the result.
#[derive(Clone, Copy, Default, Debug)]
struct Step {
    reads: Option<Range>,
    writes: Option<Range>,
}

/// What is written up to a step must lie in front of, or behind, all that is read from it on.
fn needed(steps: &[Step]) -> (i64, i64) {
    let (mut ahead, mut back) = (i64::MIN, i64::MIN);
    let mut later: Vec<Option<Range>> = vec![None; steps.len()];
    let mut read: Option<Range> = None;
    for (step, later) in steps.iter().zip(&mut later).rev() {
        read = both(read, step.reads);
        *later = read;
    }
    let mut written: Option<Range> = None;
    for (step, later) in steps.iter().zip(later) {
        written = both(written, step.writes);
        if let (Some((first, last)), Some((begin, end))) = (written, later) {
            ahead = ahead.max(last + 1 - begin);
            back = back.max(end + 1 - first);
        }
    }
    (ahead, back)
}

fn both(a: Option<Range>, b: Option<Range>) -> Option<Range> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// What of a kernel touches one of the two buffers, and the variables around it.
enum Node {
    Seq(Vec<Node>),
    Loop {
        var: VarId,
        min: ExprId,
        extent: ExprId,
        in_order: bool,
        body: Box<Node>,
    },
    Bound {
        var: VarId,
        value: ExprId,
        extent: Option<ExprId>,
        body: Box<Node>,
    },
    Touch {
        index: Option<Vec<ExprId>>,
        writes: bool,
    },
    /// What may run any number of times.
    Repeated(Box<Node>),
}

struct Steps<'f> {
    func: &'f PrimFunc,
    operand: BufId,
    result: BufId,
    /// What variables are known to lie in here.
    known: Vec<Option<Range>>,
    all: Vec<Step>,
}

impl Steps<'_> {
    fn node(&self, stmt: &Stmt) -> Option<Node> {
        let touches = |(buf, writes): (BufId, bool)| {
            let own = own_accesses(self.func, stmt).into_iter().filter(move |a| a.buf == buf && a.write == writes);
            own.map(move |a| Node::Touch { index: a.index, writes }).collect::<Vec<_>>()
        };
        let own = [(self.operand, false), (self.result, true)].into_iter().flat_map(touches);
        let inside = stmt.children().into_iter().filter_map(|child| self.node(child));
        let mut nodes: Vec<Node> = own.chain(inside).collect();
        let body = match nodes.len() {
            0 => return None,
            1 => nodes.remove(0),
            _ => Node::Seq(nodes),
        };
        Some(match stmt {
            Stmt::For { var, min, extent, kind, .. } => {
                let in_order = matches!(kind, LoopKind::Serial | LoopKind::Unrolled);
                Node::Loop { var: *var, min: *min, extent: *extent, in_order, body: Box::new(body) }
            }
            Stmt::Let { var, value, .. } => {
                Node::Bound { var: *var, value: *value, extent: None, body: Box::new(body) }
            }
            Stmt::Block(block) => block.iters.iter().rev().fold(body, bound),
            Stmt::While { .. } => Node::Repeated(Box::new(body)),
            _ => body,
        })
    }

    /// Steps of a node, a loop's turns in at most so many.
    fn take(&mut self, node: &Node, steps: i64) {
        match node {
            Node::Seq(nodes) if nodes.iter().all(|n| !matches!(n, Node::Touch { .. })) => {
                nodes.iter().for_each(|node| self.take(node, steps));
            }
            Node::Loop { var, min, extent, in_order: true, body } if steps > 1 => {
                let (Some((begin, last)), Some((count, most))) = (self.value(*min), self.value(*extent)) else {
                    return self.step(node);
                };
                if begin != last || count != most {
                    return self.step(node);
                }
                let turns = ((count + steps - 1) / steps).max(1);
                for first in (0..count).step_by(turns as usize) {
                    let last = (first + turns).min(count) - 1;
                    self.known[var.0 as usize] = Some((begin + first, begin + last));
                    // Statements of several turns come in turn, not one behind the other.
                    match turns {
                        1 => self.take(body, steps / count),
                        _ => self.step(body),
                    }
                }
            }
            Node::Bound { var, value, extent, body } => {
                self.known[var.0 as usize] = self.within(*value, *extent);
                self.take(body, steps);
            }
            Node::Loop { .. } | Node::Seq(_) | Node::Touch { .. } | Node::Repeated(_) => self.step(node),
        }
    }

    /// All that a node does as one step.
    fn step(&mut self, node: &Node) {
        let mut step = Step::default();
        self.gather(node, &mut step);
        self.all.push(step);
    }

    fn gather(&mut self, node: &Node, step: &mut Step) {
        match node {
            Node::Seq(nodes) => nodes.iter().for_each(|node| self.gather(node, step)),
            Node::Repeated(body) => self.gather(body, step),
            Node::Loop { var, min, extent, body, .. } => {
                let range = self.value(*min).zip(self.value(*extent));
                let range = range.and_then(|(min, extent)| Some((min.0, min.1.checked_add(extent.1)?.checked_sub(1)?)));
                self.known[var.0 as usize] = range;
                if range.is_none_or(|(first, last)| first <= last) {
                    self.gather(body, step);
                }
            }
            Node::Bound { var, value, extent, body } => {
                self.known[var.0 as usize] = self.within(*value, *extent);
                self.gather(body, step);
            }
            Node::Touch { index, writes } => {
                let buf = if *writes { self.result } else { self.operand };
                let place = if *writes { &mut step.writes } else { &mut step.reads };
                *place = both(*place, self.elements(buf, index.as_deref()));
            }
        }
    }

    /// The elements that an index may name: none where it is never inside, as in a branch that is not taken.
    fn elements(&self, buf: BufId, index: Option<&[ExprId]>) -> Option<Range> {
        let shape = &self.func.buffers[buf.0 as usize].shape;
        let (mut first, mut last) = (0, 0);
        for (axis, extent) in shape.iter().enumerate() {
            let extent = extent.as_const().unwrap_or(0);
            let (lo, hi) = index.and_then(|index| self.value(*index.get(axis)?)).unwrap_or((0, extent - 1));
            let (lo, hi) = (lo.max(0), hi.min(extent - 1));
            if lo > hi {
                return None;
            }
            (first, last) = (first * extent + lo, last * extent + hi);
        }
        Some((first, last))
    }

    /// A value that is known to be less than an extent.
    fn within(&self, value: ExprId, extent: Option<ExprId>) -> Option<Range> {
        let end = extent.and_then(|extent| self.value(extent));
        match (self.value(value), end) {
            (Some((lo, hi)), Some((_, end))) => Some((lo.max(0), hi.min(end - 1))),
            (None, Some((_, end))) => Some((0, end - 1)),
            (range, None) => range,
        }
    }

    /// Between which numbers an expression lies, as far as it is arithmetic of what is known.
    fn value(&self, id: ExprId) -> Option<Range> {
        // Arithmetic of other integers may wrap.
        if self.func.exprs.ty(id).elem != Elem::Index {
            return None;
        }
        match self.func.exprs.get(id) {
            Expr::Index(n) => Some((*n, *n)),
            Expr::Var(var) => self.known[var.0 as usize],
            Expr::Cast(_, a) => self.value(*a),
            Expr::Binary(op, a, b) => arithmetic(*op, self.value(*a)?, self.value(*b)?),
            Expr::If(_, a, b) | Expr::Select(_, a, b) => both(Some(self.value(*a)?), Some(self.value(*b)?)),
            _ => None,
        }
    }
}

fn bound(body: Node, iter: &IterVar) -> Node {
    Node::Bound { var: iter.var, value: iter.value, extent: Some(iter.extent), body: Box::new(body) }
}

/// Of functions that grow or fall with each operand, the least and the greatest at the ends.
fn arithmetic(op: BinaryOp, (a, b): Range, (c, d): Range) -> Option<Range> {
    let ends = |f: fn(i64, i64) -> Option<i64>| {
        let all = [f(a, c)?, f(a, d)?, f(b, c)?, f(b, d)?];
        Some((all.into_iter().min()?, all.into_iter().max()?))
    };
    match op {
        BinaryOp::Add => ends(i64::checked_add),
        BinaryOp::Sub => ends(i64::checked_sub),
        BinaryOp::Mul => ends(i64::checked_mul),
        BinaryOp::Min => ends(|x, y| Some(x.min(y))),
        BinaryOp::Max => ends(|x, y| Some(x.max(y))),
        BinaryOp::Div if c == d && c > 0 => ends(i64::checked_div),
        BinaryOp::DivEuclid if c == d && c > 0 => ends(i64::checked_div_euclid),
        BinaryOp::Rem | BinaryOp::RemEuclid if c == d && a >= 0 && b < c => Some((a, b)),
        BinaryOp::Rem | BinaryOp::RemEuclid if c == d && c > 0 && a >= 0 => Some((0, c - 1)),
        BinaryOp::RemEuclid if c == d && c > 0 => Some((0, c - 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::parse_module;

    /// Kernels of which the first operand and the result count.
    const KERNELS: [&str; 7] = [
        // Windows of a padded operand.
        "prim @f(in x: i8[9, 7, 4], out y: i8[7, 5, 4]) phase scheduled at 0:0 {
           for i in 0 +: 7 serial {
             for j in 0 +: 5 serial {
               for c in 0 +: 4 serial {
                 y[i, j, c] = add(x[i, j, c], x[add(i, 2), add(j, 2), c])
               }
             }
           }
         }",
        // The same from the end on.
        "prim @f(in x: i8[9, 7, 4], out y: i8[7, 5, 4]) phase scheduled at 0:0 {
           for i in 0 +: 7 serial {
             for j in 0 +: 5 serial {
               for c in 0 +: 4 serial {
                 y[sub(6, i), j, c] = add(x[sub(6, i), j, c], x[add(sub(6, i), 2), add(j, 2), c])
               }
             }
           }
         }",
        // Pixels of more channels, in pairs, with a border behind them.
        "prim @f(in x: i8[6, 8, 2], out y: i8[7, 9, 4]) phase scheduled at 0:0 {
           for i in 0 +: 6 serial {
             for j in 0 +: 4 serial {
               for p in 0 +: 2 unrolled {
                 for c in 0 +: 4 serial {
                   y[i, add(mul(j, 2), p), c] = add(x[i, add(mul(j, 2), p), 0], x[i, add(mul(j, 2), p), 1])
                 }
               }
             }
           }
           for k in 0 +: 9 serial {
             for c_1 in 0 +: 4 serial {
               y[6, k, c_1] = 3i8
             }
           }
           for k_1 in 0 +: 6 serial {
             for c_2 in 0 +: 4 serial {
               y[k_1, 8, c_2] = 3i8
             }
           }
         }",
        // Columns outside: every row is read until the last turn.
        "prim @f(in x: i8[6, 8], out y: i8[6, 8]) phase scheduled at 0:0 {
           for j in 0 +: 8 serial {
             for i in 0 +: 6 serial {
               y[i, j] = x[i, j]
             }
           }
         }",
        // A padded copy.
        "prim @f(in x: i8[5, 6], out y: i8[7, 8]) phase scheduled at 0:0 {
           for i in 0 +: 7 serial {
             for j in 0 +: 8 serial {
               y[i, j] = if(if(ge(i, 1), lt(i, 6), false), if(if(ge(j, 1), lt(j, 7), false), x[sub(i, 1), sub(j, 1)], 0i8), 0i8)
             }
           }
         }",
        // A sum per row, of what stands in the row behind.
        "prim @f(in x: i32[8, 6], out y: i32[7]) phase scheduled at 0:0 {
           for i in 0 +: 7 serial {
             block start {
               spatial r in 7 = i
               do {
                 y[r] = 0i32
               }
             }
             for k in 0 +: 6 reduction {
               block sum {
                 spatial r_1 in 7 = i
                 reduce k_1 in 6 = k
                 do {
                   y[r_1] = add(y[r_1], x[add(r_1, 1), k_1])
                 }
               }
             }
           }
         }",
        // Each pixel is read by one statement and written by another.
        "prim @f(in x: i8[6, 8, 2], out y: i8[6, 8, 4]) phase scheduled at 0:0 {
           buffer sum: i8[] local
           for i in 0 +: 6 serial {
             for j in 0 +: 8 serial {
               alloc sum {
                 sum[] = 0i8
                 for k in 0 +: 2 reduction {
                   sum[] = add(sum[], x[i, j, k])
                 }
                 for c in 0 +: 4 serial {
                   y[i, j, c] = sum[]
                 }
               }
             }
           }
         }",
    ];

    fn kernel(text: &str) -> PrimFunc {
        let module = parse_module(text, &[]).expect("it parses");
        module.prim("f").expect("it is there").clone()
    }

    /// Elements of `f`'s distance, if the turns are so many steps.
    fn elements(func: &PrimFunc, turns: i64) -> (i64, i64) {
        let (operand, result) = (BufId(0), BufId(1));
        let mut steps = Steps { func, operand, result, known: vec![None; func.vars.len()], all: Vec::new() };
        let node = steps.node(&func.body).expect("it reads and writes");
        steps.take(&node, turns);
        needed(&steps.all)
    }

    /// What a statement at a time needs is never less with fewer steps.
    #[test]
    fn fewer_steps_need_more_room() {
        for text in KERNELS {
            let func = kernel(text);
            let exact = elements(&func, 1 << 40);
            for turns in 1..200 {
                let (ahead, back) = elements(&func, turns);
                assert!(ahead >= exact.0 && back >= exact.1, "{turns} steps: {ahead} {back}, but {exact:?}\n{text}");
            }
        }
    }

    #[test]
    fn distances_are_those_of_the_order() {
        let all: Vec<Distance> =
            KERNELS.iter().map(|text| distance(&kernel(text), BufId(0), BufId(1)).expect("there is one")).collect();
        let is = |ahead, back| Distance { ahead, back };
        // Each element is written where the first of its window lay, or before that; its own statement may write first.
        assert_eq!(all[0].ahead, 1);
        // Row 6 begins at 120 and is written while row 8, up to 252, is still to be read.
        assert_eq!(all[1].back, 132);
        // The last pixel of row 5 ends at 212 and begins at 94.
        assert_eq!(all[2].ahead, 118);
        assert_eq!(all[3], is(40, 48));
        // Row 5 of the copy ends at 47 with what begins at 29.
        assert_eq!(all[4].ahead, 18);
        assert_eq!(all[5].ahead, 0);
        // Pixel 46 ends at 188, and the last one of the operand begins at 94.
        assert_eq!(all[6].ahead, 94);
    }

    /// Threads and vectors take turns at once, and a view is a buffer of which nothing is known.
    #[test]
    fn what_does_not_run_in_turn_stays_apart() {
        for kind in ["parallel", "vectorized", "reduction"] {
            let text = "prim @f(in x: i8[8], out y: i8[8]) phase scheduled at 0:0 {
              for i in 0 +: 8 KIND {
                y[i] = x[i]
              }
            }";
            let found = distance(&kernel(&text.replace("KIND", kind)), BufId(0), BufId(1));
            assert_eq!(found, Some(Distance { ahead: 8, back: 8 }), "{kind}");
        }
    }
}
