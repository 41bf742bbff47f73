//! Groups that together are an attention: two contractions, with what makes weights of the first one's scores between
//! them. What lies between needs memory as a whole, but not with the schedule that attentions have.

use tenfold_ir::tir::OpPattern;

use super::partition::Partition;

impl Partition<'_, '_> {
    /// Joins groups that are an attention, when all other rules have been tried.
    pub(super) fn attentions(&mut self) {
        let producers = self.producers();
        for n in 0..self.nodes.len() {
            let all = self.candidates(&producers, n).into_iter();
            let mut joined = all.filter_map(|roots| Some((self.joined(&roots)?, roots)));
            if let Some((members, roots)) = joined.find(|(members, _)| (self.trials.attention)(members)) {
                self.join(&roots, members);
            }
        }
    }

    /// The nodes that each node reads.
    fn producers(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.nodes.len()];
        for (n, node) in self.nodes.iter().enumerate() {
            node.readers.iter().for_each(|(reader, _)| all[*reader].push(n));
        }
        all
    }

    /// Sets of groups that may be an attention whose weights node `n` gives: the group of the node, the one that alone
    /// reads it, and the one or two before it, up to another contraction.
    fn candidates(&self, producers: &[Vec<usize>], n: usize) -> Vec<Vec<usize>> {
        let weights = self.find(n);
        let members = &self.groups[weights].members;
        let Some((sink, _)) = self.dominators.parent(n) else { return Vec::new() };
        let last = self.find(sink);
        if members.last() != Some(&n) || !self.may_move(members) || last == weights || self.contractions(last) != 1 {
            return Vec::new();
        }
        match self.contractions(weights) {
            0 => {}
            1 => return vec![sorted([last, weights].into())],
            _ => return Vec::new(),
        }
        let mut all = Vec::new();
        for first in self.read_by(producers, weights) {
            match self.contractions(first) {
                0 => {
                    let before = self.read_by(producers, first).into_iter().filter(|g| self.contractions(*g) == 1);
                    all.extend(before.map(|g| sorted([last, weights, first, g].into())));
                }
                1 => all.push(sorted([last, weights, first].into())),
                _ => {}
            }
        }
        all
    }

    /// How many contractions a group has.
    fn contractions(&self, root: usize) -> usize {
        let is = |n: &&usize| self.nodes[**n].kind.is_some_and(|kind| kind.pattern == OpPattern::OutEWiseFusable);
        self.groups[root].members.iter().filter(is).count()
    }

    /// The groups that a group reads.
    fn read_by(&self, producers: &[Vec<usize>], root: usize) -> Vec<usize> {
        let all = self.groups[root].members.iter().flat_map(|m| &producers[*m]).map(|n| self.find(*n));
        sorted(all.filter(|g| *g != root).collect())
    }
}

fn sorted(mut roots: Vec<usize>) -> Vec<usize> {
    roots.sort_unstable();
    roots.dedup();
    roots
}
