//! Which nodes become one kernel: rules over patterns, from the inside out.

use std::fmt;

use tenfold_ir::tir::OpPattern;

use super::dominators::Dominators;
use super::graph::Node;

/// What may be done in a phase: which groups go into which others.
struct Rule {
    /// When it is tried: all nodes by the first, then all by the next.
    phase: usize,
    /// What the group that is read may be.
    from: fn(&Side) -> bool,
    /// How it may be read on every way to the group that takes it.
    read: OpPattern,
    /// What may stand on the way.
    way: OpPattern,
    /// What the group that takes it may be.
    into: fn(&Side) -> bool,
    /// What the joined kernel is made for, to see whether it may be.
    trial: Trial,
}

/// What is asked of a kernel before groups become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trial {
    /// Nothing.
    None,
    /// Whether it needs no memory of its own.
    Memory,
    /// The same, and whether it is a product that reads weights of 8 bits a few times.
    Weights,
}

/// A group as a rule sees it.
#[derive(Clone, Copy, Debug)]
struct Side {
    pattern: OpPattern,
    /// Whether all of it is moving elements.
    movement: bool,
    /// Whether each of its values can be written out where it is read.
    inlinable: bool,
    /// Whether it makes larger elements of integers of 4 bits.
    widens: bool,
    /// Whether it makes floats of numbers of 8 bits.
    of_bytes: bool,
    /// Whether it makes larger elements of numbers of 8 bits.
    grows: bool,
}

use OpPattern::{Broadcast, CommReduce, ElementWise, Injective, Opaque, OutEWiseFusable};

/// The rules, in the order in which they are tried. The first three are TVM's; the others go further.
const RULES: &[Rule] = &[
    // A reduction or a contraction, then elementwise functions of it: a bias, an activation, a residual.
    Rule {
        phase: 0,
        from: |s| matches!(s.pattern, CommReduce | OutEWiseFusable),
        read: ElementWise,
        way: Broadcast,
        into: |s| s.pattern <= Broadcast && !s.grows,
        trial: Trial::Memory,
    },
    // Elementwise functions of each other, and in front of a reduction.
    Rule {
        phase: 1,
        from: |s| s.pattern <= Injective && s.inlinable,
        read: ElementWise,
        way: Injective,
        into: |s| s.pattern <= CommReduce,
        trial: Trial::None,
    },
    // The same where elements are read in another place or several times.
    Rule {
        phase: 2,
        from: |s| s.pattern <= Injective && s.inlinable,
        read: CommReduce,
        way: Injective,
        into: |s| s.pattern <= CommReduce,
        trial: Trial::Memory,
    },
    // Elements that are only moved are read where they lie by whatever reads them.
    Rule { phase: 3, from: |s| s.movement, read: Opaque, way: Injective, into: |_| true, trial: Trial::Memory },
    // Weights of 4 bits are dequantised where a contraction reads them: what is packed in memory stays so.
    Rule {
        phase: 3,
        from: |s| s.widens && s.pattern <= Injective && s.inlinable,
        read: Opaque,
        way: Injective,
        into: |s| s.pattern <= OutEWiseFusable,
        trial: Trial::Memory,
    },
    // The same of 8 bits, where few rows read them: written out they would take four times the memory, which a product
    // of few rows waits for.
    Rule {
        phase: 3,
        from: |s| s.of_bytes && s.pattern <= Injective && s.inlinable,
        read: Opaque,
        way: Injective,
        into: |s| s.pattern == OutEWiseFusable,
        trial: Trial::Weights,
    },
    // Numbers of 8 bits are made larger where they are read, beside the result of a contraction too: what is in memory
    // stays small.
    Rule {
        phase: 3,
        from: |s| s.grows && s.pattern <= Broadcast && s.inlinable,
        read: ElementWise,
        way: Broadcast,
        into: |s| s.pattern == OutEWiseFusable,
        trial: Trial::Memory,
    },
    // What no reader took up is made larger by the contraction that it is the result of.
    Rule {
        phase: 4,
        from: |s| matches!(s.pattern, CommReduce | OutEWiseFusable),
        read: ElementWise,
        way: Broadcast,
        into: |s| s.pattern <= Broadcast && s.grows,
        trial: Trial::Memory,
    },
    // What works on the same rows, and a padding or a permutation of what was computed: softmax and normalisations
    // with what comes before and after them, where rows hold what lies between.
    Rule {
        phase: 4,
        from: |_| true,
        read: Opaque,
        way: Injective,
        into: |s| s.pattern != OutEWiseFusable,
        trial: Trial::Memory,
    },
    // Reductions with what the phase before joined behind them: distances from a mean, and what their squares make of them.
    Rule {
        phase: 5,
        from: |s| s.pattern <= CommReduce,
        read: Opaque,
        way: Injective,
        into: |s| s.pattern <= CommReduce,
        trial: Trial::Memory,
    },
];

/// Why a group is not taken up by what reads it, from what is seen first to what is seen last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Apart {
    /// Nothing alone reads it.
    NoReader,
    /// What it is or what reads it is no kernel, or changes memory.
    Effect,
    /// No rule joins such patterns.
    Patterns,
    /// Something on the way to its reader is of another pattern, or changes memory.
    Way,
    /// A value in the middle is read elsewhere, or there are too many kernels or operands.
    Limits,
    /// Together they would need memory of their own.
    Memory,
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Apart::NoReader => "no kernel reads it, or several that nothing brings together",
            Apart::Effect => "it or what reads it is no kernel, or writes memory that others read",
            Apart::Patterns => "no rule joins kernels of these patterns",
            Apart::Way => "what lies between it and its reader cannot be part of one kernel",
            Apart::Limits => "a value in the middle is read elsewhere, or there are too many kernels or operands",
            Apart::Memory => "what is handed on would need memory of its own, or rows would be walked across",
        })
    }
}

/// A set of nodes that become one kernel.
#[derive(Clone, Debug)]
pub(super) struct Group {
    parent: usize,
    pub(super) members: Vec<usize>,
    side: Side,
}

/// Limits of groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Nodes of a group.
    pub depth: usize,
    /// Operands of a group; 0 is any number.
    pub args: usize,
}

/// What is asked about nodes, given in order.
pub(crate) struct Trials<'p> {
    /// Whether the kernel of all of them needs no memory of its own.
    pub memory: &'p dyn Fn(&[usize]) -> bool,
    /// Whether the kernel of all of them is a product that reads weights of 8 bits a few times.
    pub weights: &'p dyn Fn(&[usize]) -> bool,
    /// Whether they are an attention that the target has a schedule for.
    pub attention: &'p dyn Fn(&[usize]) -> bool,
}

/// The partition in the making.
pub(crate) struct Partition<'p, 'b> {
    pub(super) nodes: &'p [Node<'b>],
    pub(super) dominators: Dominators,
    pub(super) groups: Vec<Group>,
    limits: Limits,
    pub(super) trials: Trials<'p>,
}

impl<'p, 'b> Partition<'p, 'b> {
    /// Every node in a group of its own.
    pub(crate) fn new(nodes: &'p [Node<'b>], limits: Limits, trials: Trials<'p>) -> Self {
        let dominators = Dominators::of(nodes.len(), |n| (!nodes[n].escapes).then(|| nodes[n].readers.clone()));
        let groups = nodes.iter().enumerate().map(|(n, node)| Group { parent: n, members: vec![n], side: side(node) });
        Partition { nodes, dominators, groups: groups.collect(), limits, trials }
    }

    /// The groups, each a list of nodes in order, in the order of their last nodes.
    pub(crate) fn run(&mut self) -> Vec<Vec<usize>> {
        let phases = RULES.iter().map(|r| r.phase).max().unwrap_or(0);
        for phase in 0..=phases {
            for n in 0..self.nodes.len() {
                RULES.iter().filter(|r| r.phase == phase).for_each(|rule| self.apply(rule, n));
            }
        }
        self.attentions();
        let roots = (0..self.nodes.len()).filter(|n| self.groups[*n].parent == *n);
        let mut all: Vec<Vec<usize>> = roots.map(|n| self.groups[n].members.clone()).collect();
        all.sort_by_key(|members| members.last().copied());
        all
    }

    pub(super) fn find(&self, mut n: usize) -> usize {
        while self.groups[n].parent != n {
            n = self.groups[n].parent;
        }
        n
    }

    fn apply(&mut self, rule: &Rule, n: usize) {
        if let Ok((roots, members)) = self.tried(rule, n) {
            self.join(&roots, members);
        }
    }

    /// The groups that a rule joins, and their nodes.
    fn tried(&self, rule: &Rule, n: usize) -> Result<(Vec<usize>, Vec<usize>), Apart> {
        let from = &self.groups[self.find(n)];
        // Only what leaves a group can be taken up by another.
        if from.members.last() != Some(&n) || !self.may_move(&from.members) {
            return Err(Apart::Effect);
        }
        let (sink, read) = self.dominators.parent(n).ok_or(Apart::NoReader)?;
        let into = &self.groups[self.find(sink)];
        if self.nodes[sink].kind.is_none() {
            return Err(Apart::Effect);
        }
        if read > rule.read || !(rule.from)(&from.side) || !(rule.into)(&into.side) {
            return Err(Apart::Patterns);
        }
        let mut roots = self.way(n, sink, rule.way).ok_or(Apart::Way)?;
        roots.extend([self.find(n), self.find(sink)]);
        roots.sort_unstable();
        roots.dedup();
        let members = self.joined(&roots).ok_or(Apart::Limits)?;
        let (memory, weights) = (self.trials.memory, self.trials.weights);
        let fits = match rule.trial {
            Trial::None => true,
            Trial::Memory => memory(&members),
            Trial::Weights => memory(&members) && weights(&members),
        };
        if fits { Ok((roots, members)) } else { Err(Apart::Memory) }
    }

    /// Why a group of nodes is not part of what reads it: how far the rule got that got farthest.
    pub(crate) fn apart(&self, members: &[usize]) -> Option<Apart> {
        let last = *members.last()?;
        RULES.iter().filter_map(|rule| self.tried(rule, last).err()).max()
    }

    /// Groups may run later if all of their nodes may, and none writes into an operand.
    pub(super) fn may_move(&self, members: &[usize]) -> bool {
        members.iter().all(|m| self.nodes[*m].kind.is_some() && self.nodes[*m].movable && !self.nodes[*m].updates)
    }

    /// The groups of the nodes between two, if all of them may stand there. Nodes of the sink's own group do in any case.
    fn way(&self, from: usize, sink: usize, most: OpPattern) -> Option<Vec<usize>> {
        let own = self.find(sink);
        let (mut seen, mut roots, mut open) = (vec![from], Vec::new(), vec![from]);
        while let Some(n) = open.pop() {
            for (reader, _) in &self.nodes[n].readers {
                if *reader == sink || seen.contains(reader) {
                    continue;
                }
                let root = self.find(*reader);
                if root == own {
                    continue;
                }
                let group = &self.groups[root];
                if group.side.pattern > most || !self.may_move(&group.members) || seen.len() > self.limits.depth {
                    return None;
                }
                seen.push(*reader);
                open.push(*reader);
                roots.push(root);
            }
        }
        Some(roots)
    }

    /// The nodes of groups in order, within the limits; only the last may be read outside or write into an operand.
    pub(super) fn joined(&self, roots: &[usize]) -> Option<Vec<usize>> {
        let mut members: Vec<usize> = roots.iter().flat_map(|r| self.groups[*r].members.iter().copied()).collect();
        members.sort_unstable();
        let (last, rest) = members.split_last()?;
        let inside = |n: &usize| {
            !self.nodes[*n].escapes && self.nodes[*n].readers.iter().all(|(m, _)| members.binary_search(m).is_ok())
        };
        let whole = rest.iter().all(inside) && self.may_move(rest) && self.nodes[*last].kind.is_some();
        let fits = members.len() <= self.limits.depth && self.few_operands(&members);
        (whole && fits).then_some(members)
    }

    fn few_operands(&self, members: &[usize]) -> bool {
        let made: std::collections::BTreeSet<_> = members.iter().map(|m| self.nodes[*m].binding.out).collect();
        let read = members.iter().flat_map(|m| &self.nodes[*m].binding.args).filter(|a| !made.contains(a));
        self.limits.args == 0 || read.collect::<std::collections::BTreeSet<_>>().len() <= self.limits.args
    }

    pub(super) fn join(&mut self, roots: &[usize], members: Vec<usize>) {
        let sides = roots.iter().map(|r| self.groups[*r].side);
        let all = sides.reduce(|a, b| Side {
            pattern: a.pattern.max(b.pattern),
            movement: a.movement && b.movement,
            inlinable: a.inlinable && b.inlinable,
            widens: a.widens || b.widens,
            of_bytes: a.of_bytes || b.of_bytes,
            grows: a.grows || b.grows,
        });
        let root = roots[0];
        roots.iter().for_each(|r| self.groups[*r].parent = root);
        self.groups[root].members = members;
        if let Some(side) = all {
            self.groups[root].side = side;
        }
    }
}

fn side(node: &Node<'_>) -> Side {
    match node.kind {
        Some(kind) => Side {
            pattern: kind.pattern,
            movement: kind.movement,
            inlinable: kind.inlinable,
            widens: kind.widens,
            of_bytes: kind.of_bytes,
            grows: kind.grows,
        },
        None => {
            Side { pattern: Opaque, movement: false, inlinable: false, widens: false, of_bytes: false, grows: false }
        }
    }
}
