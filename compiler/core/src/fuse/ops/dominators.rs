//! Post-dominators of a graph in topological order, with what every path to them passes.
//!
//! Each node keeps its parent in the tree and one jump further up, so that two nodes meet in logarithmic time.

use tenfold_ir::tir::OpPattern;

/// A node of the tree.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: Option<usize>,
    depth: usize,
    /// The greatest pattern of an edge on the way to the parent.
    pattern: OpPattern,
    jump: usize,
    /// The same on the way to the jump.
    jump_pattern: OpPattern,
}

/// The tree of post-dominators.
pub(crate) struct Dominators {
    nodes: Vec<Node>,
}

impl Dominators {
    /// `edges(n)` are the readers of node `n`, with how they read it; `None` where something outside reads it too.
    pub(crate) fn of(count: usize, edges: impl Fn(usize) -> Option<Vec<(usize, OpPattern)>>) -> Dominators {
        let root =
            Node { parent: None, depth: 0, pattern: OpPattern::Opaque, jump: 0, jump_pattern: OpPattern::Opaque };
        let mut tree = Dominators { nodes: vec![root; count] };
        for n in (0..count).rev() {
            tree.nodes[n] = tree.node(n, edges(n).unwrap_or_default());
        }
        tree
    }

    /// The node that every way from `n` out of the graph passes first, and the greatest pattern on the way.
    pub(crate) fn parent(&self, n: usize) -> Option<(usize, OpPattern)> {
        let node = &self.nodes[n];
        node.parent.map(|p| (p, node.pattern))
    }

    fn node(&self, own: usize, readers: Vec<(usize, OpPattern)>) -> Node {
        let mut readers = readers.into_iter();
        let mut meet = readers.next();
        for (reader, edge) in readers {
            meet = meet.and_then(|(at, pattern)| {
                let (at, on_way) = self.meet(at, reader)?;
                Some((at, pattern.max(edge).max(on_way)))
            });
        }
        let alone = Node {
            parent: None,
            depth: 0,
            pattern: OpPattern::Opaque,
            jump: own,
            jump_pattern: OpPattern::ElementWise,
        };
        let Some((parent, pattern)) = meet else { return alone };
        let up = &self.nodes[parent];
        let over = &self.nodes[up.jump];
        // Jumps whose lengths double: those of a skew binary counter.
        let even = up.depth - over.depth == over.depth - self.nodes[over.jump].depth;
        let (jump, jump_pattern) = if even && up.jump != parent {
            (over.jump, pattern.max(up.jump_pattern).max(over.jump_pattern))
        } else {
            (parent, pattern)
        };
        Node { parent: Some(parent), depth: up.depth + 1, pattern, jump, jump_pattern }
    }

    /// Where two nodes meet, and the greatest pattern on both ways there.
    fn meet(&self, a: usize, b: usize) -> Option<(usize, OpPattern)> {
        let (mut a, mut b) = (a, b);
        let mut pattern = OpPattern::ElementWise;
        if self.nodes[a].depth < self.nodes[b].depth {
            std::mem::swap(&mut a, &mut b);
        }
        while self.nodes[a].depth > self.nodes[b].depth {
            let node = &self.nodes[a];
            let far = self.nodes[node.jump].depth >= self.nodes[b].depth;
            (a, pattern) = if far {
                (node.jump, pattern.max(node.jump_pattern))
            } else {
                (node.parent?, pattern.max(node.pattern))
            };
        }
        while a != b {
            let (x, y) = (&self.nodes[a], &self.nodes[b]);
            if x.jump != y.jump && x.jump != a {
                pattern = pattern.max(x.jump_pattern).max(y.jump_pattern);
                (a, b) = (x.jump, y.jump);
            } else {
                pattern = pattern.max(x.pattern).max(y.pattern);
                (a, b) = (x.parent?, y.parent?);
            }
        }
        Some((a, pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every path, walked: the nodes that all of them pass, nearest first.
    fn slow(edges: &[Option<Vec<usize>>], n: usize) -> Option<usize> {
        let mut common: Option<Vec<usize>> = None;
        fn walk(edges: &[Option<Vec<usize>>], n: usize, way: &mut Vec<usize>, common: &mut Option<Vec<usize>>) {
            match &edges[n] {
                Some(next) if !next.is_empty() => next.iter().for_each(|m| {
                    way.push(*m);
                    walk(edges, *m, way, common);
                    way.pop();
                }),
                _ => match common {
                    None => *common = Some(way.clone()),
                    Some(all) => all.retain(|m| way.contains(m)),
                },
            }
        }
        walk(edges, n, &mut Vec::new(), &mut common);
        common.and_then(|all| all.first().copied())
    }

    #[test]
    fn agrees_with_every_path() {
        let mut seed = 7_u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let count = 2 + next(9) as usize;
            let edges: Vec<Option<Vec<usize>>> = (0..count)
                .map(|n| {
                    let later = (count - n - 1) as u64;
                    let degree = if later == 0 { 0 } else { next(3) };
                    (next(7) > 0).then(|| (0..degree).map(|_| n + 1 + next(later) as usize).collect())
                })
                .collect();
            let of = |n: usize| edges[n].as_ref().map(|e| e.iter().map(|m| (*m, OpPattern::ElementWise)).collect());
            let tree = Dominators::of(count, of);
            for n in 0..count {
                assert_eq!(tree.parent(n).map(|(p, _)| p), slow(&edges, n), "{n} of {edges:?}");
            }
        }
    }

    #[test]
    fn a_long_graph_is_fast() {
        // Node 0 is read by every other one of a chain.
        let count = 50_000;
        let of = |n: usize| {
            let next = (n + 1 < count).then_some((n + 1, OpPattern::ElementWise));
            let all = (2..count).map(|m| (m, OpPattern::Broadcast));
            Some(if n == 0 { next.into_iter().chain(all).collect() } else { next.into_iter().collect::<Vec<_>>() })
        };
        let tree = Dominators::of(count, of);
        assert_eq!(tree.parent(0), Some((count - 1, OpPattern::Broadcast)));
    }
}
