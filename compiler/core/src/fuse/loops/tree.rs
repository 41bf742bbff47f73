//! The tree of loops: runs of stages share a loop where they may.

use tenfold_ir::tir::{ExprId, IterKind, LoopKind, Stmt, VarId};

use super::Fusion;
use super::classes::Open;
use crate::fuse::access::{Axis, axes};
use crate::fuse::stage::Iter;

/// A part of the tree.
pub(super) enum Node {
    /// A loop around others.
    Loop {
        /// Its class, if stages share it.
        class: VarId,
        /// The stages inside and the variable of each that it is.
        vars: Vec<(usize, VarId)>,
        /// How far it runs.
        extent: ExprId,
        /// How.
        kind: LoopKind,
        /// What stands inside.
        inside: Vec<Node>,
    },
    /// A stage.
    Stage(usize),
}

impl Fusion {
    /// Stages of a run in order, in as few loops as the greedy choice of the longest run gives.
    pub(super) fn tree(&self, run: &[usize], open: &Open) -> Vec<Node> {
        let mut out = Vec::new();
        let mut rest = run;
        while let Some(first) = rest.first() {
            let (class, n) = self.longest(rest, open);
            match class {
                Some(class) if n > 1 => {
                    let mut inner = open.clone();
                    inner.insert(class);
                    let inside = self.tree(&rest[..n], &inner);
                    out.push(self.shared(&rest[..n], class, inside));
                }
                _ => out.push(self.alone(*first, open)),
            }
            rest = &rest[n.max(1)..];
        }
        out
    }

    /// The class of the first stage over which the longest run may share a loop.
    fn longest(&self, run: &[usize], open: &Open) -> (Option<VarId>, usize) {
        let mut best = (None, 0);
        for iter in self.shareable(run[0], open) {
            let class = self.classes.find(iter.var);
            let n = self.run_over(run, class, open);
            if n > best.1 {
                best = (Some(class), n);
            }
        }
        best
    }

    /// The variables of a stage that may become a shared loop here.
    fn shareable(&self, stage: usize, open: &Open) -> Vec<&Iter> {
        let iters = &self.staged.stages[stage].iters;
        let class = |i: &Iter| self.classes.find(i.var);
        let once = |i: &&Iter| iters.iter().filter(|j| class(j) == class(i)).count() == 1;
        let column = self.columns.get(&stage);
        let left = iters.iter().filter(|i| !open.contains(&class(i))).count();
        let row = if self.along_rows && left > 1 { self.row(stage) } else { None };
        let fits = |i: &&Iter| {
            let free = Some(&i.var) != column && Some(class(i)) != row && !open.contains(&class(i));
            i.kind == IterKind::Spatial && free && once(i)
        };
        iters.iter().filter(fits).collect()
    }

    fn run_over(&self, run: &[usize], class: VarId, open: &Open) -> usize {
        let var =
            |s: usize| self.shareable(s, open).into_iter().map(|i| i.var).find(|v| self.classes.find(*v) == class);
        let Some(first) = var(run[0]) else { return 0 };
        if !run[1..].iter().any(|t| self.classes.flows((run[0], *t), class)) {
            return 1;
        }
        let mut n = 1;
        while n < run.len() {
            let same = var(run[n]).is_some_and(|v| self.classes.same_extent(first, v));
            if !same || !run[..n].iter().all(|s| self.classes.legal((*s, run[n]), class)) {
                break;
            }
            n += 1;
        }
        self.connected(&run[..n], class)
    }

    /// How much of a run hands values on within one turn: without that, a shared loop gains nothing.
    fn connected(&self, run: &[usize], class: VarId) -> usize {
        let mut reached = vec![run[0]];
        let mut open = vec![run[0]];
        while let Some(s) = open.pop() {
            for t in run {
                let pair = (s.min(*t), s.max(*t));
                if !reached.contains(t) && self.classes.flows(pair, class) {
                    reached.push(*t);
                    open.push(*t);
                }
            }
        }
        run.iter().rposition(|s| reached.contains(s)).map_or(1, |n| n + 1)
    }

    fn shared(&self, run: &[usize], class: VarId, inside: Vec<Node>) -> Node {
        let vars = run.iter().flat_map(|s| {
            let own = self.staged.stages[*s].iters.iter().filter(|i| self.classes.find(i.var) == class);
            own.map(|i| (*s, i.var))
        });
        let vars: Vec<(usize, VarId)> = vars.collect();
        let iters = &self.staged.stages[run[0]].iters;
        let extent = iters.iter().find(|i| self.classes.find(i.var) == class).map_or(ExprId(0), |i| i.extent);
        Node::Loop { class, vars, extent, kind: LoopKind::Serial, inside }
    }

    /// A stage in what loops it still needs: rows, what is summed over, then columns.
    fn alone(&self, stage: usize, open: &Open) -> Node {
        let column = self.columns.get(&stage);
        let iters = &self.staged.stages[stage].iters;
        let left = |i: &&Iter| !open.contains(&self.classes.find(i.var)) || i.kind != IterKind::Spatial;
        let (mut order, mut last): (Vec<&Iter>, Vec<&Iter>) =
            iters.iter().filter(left).partition(|i| Some(&i.var) != column);
        order.sort_by_key(|i| i.kind != IterKind::Spatial);
        order.append(&mut last);
        let mut node = Node::Stage(stage);
        for iter in order.into_iter().rev() {
            // Along a row, each element's terms are added in order.
            let kind = if column.is_some() { LoopKind::Serial } else { iter.order };
            let vars = vec![(stage, iter.var)];
            let class = self.classes.find(iter.var);
            node = Node::Loop { class, vars, extent: iter.extent, kind, inside: vec![node] };
        }
        node
    }
}

impl Fusion {
    /// Whether the innermost loop of a stage that computes element by element does not walk along a row.
    pub(super) fn strided(&self, paths: &[Vec<Step>]) -> bool {
        (0..paths.len()).any(|n| {
            let inner = paths[n].last().map(|(_, class)| *class);
            self.staged.stages[n].iters.len() > 1 && self.row(n).is_some_and(|row| inner != Some(row))
        })
    }

    /// The class along the rows that a stage writes, if it computes element by element.
    fn row(&self, stage: usize) -> Option<VarId> {
        let stage = &self.staged.stages[stage];
        let Stmt::Store { index, .. } = &stage.body else { return None };
        let last = axes(self.staged.b.func(), index).into_iter().rev().find_map(|a| match a {
            Axis::Iter(v, _) => Some(self.classes.find(v)),
            Axis::Fixed(_) | Axis::Other => None,
        });
        last.filter(|_| !super::prepare::reduces(stage))
    }
}

/// A loop on the way to a stage: its place in the tree, and its class.
pub(super) type Step = (Vec<usize>, VarId);

/// The loops around each stage, outermost first.
pub(super) fn paths(tree: &[Node], stages: usize) -> Vec<Vec<Step>> {
    let mut paths = vec![Vec::new(); stages];
    descend(tree, &mut Vec::new(), &mut Vec::new(), &mut paths);
    paths
}

fn descend(nodes: &[Node], at: &mut Vec<usize>, around: &mut Vec<Step>, paths: &mut [Vec<Step>]) {
    for (n, node) in nodes.iter().enumerate() {
        match node {
            Node::Stage(stage) => paths[*stage].clone_from(around),
            Node::Loop { class, inside, .. } => {
                at.push(n);
                around.push((at.clone(), *class));
                descend(inside, at, around, paths);
                around.pop();
                at.pop();
            }
        }
    }
}

/// The loops that are around all of some stages.
pub(super) fn common(paths: &[Vec<Step>], stages: &[usize]) -> Vec<Step> {
    let Some((first, rest)) = stages.split_first() else { return Vec::new() };
    let shared = |n: &usize| rest.iter().all(|s| paths[*s].get(*n) == paths[*first].get(*n));
    let n = (0..paths[*first].len()).take_while(shared).count();
    paths[*first][..n].to_vec()
}
