//! Which operands and results of calls may share bytes.

use std::collections::BTreeMap;

use tenfold_ir::relax::{Binding, Op};
use tenfold_ir::tir::{BufId, BufUse, Param, PrimFunc};

use super::distance::{Distance, distance};
use super::orders::Overlap;
use super::{Life, Planner, round_up};
use crate::Target;
use crate::homes::Home;

/// Whether the turns of loops run in their order: not on devices, nor where there are threads.
pub(crate) fn in_turn(target: &Target) -> bool {
    target.device.is_none() && !target.hosted
}

impl Planner<'_> {
    /// For the pieces of the workspace: those of which one dies in the call that makes the other.
    pub(super) fn overlaps(&self, pieces: &[(Life, i64)]) -> Vec<Overlap> {
        let Some(module) = self.kernels else { return Vec::new() };
        let by_home: BTreeMap<Home, usize> = pieces.iter().enumerate().map(|(at, (life, _))| (life.home, at)).collect();
        let piece = |home: Home| by_home.get(&self.merged.root(home)).copied();
        let mut known: BTreeMap<(&str, BufId, BufId), Option<Distance>> = BTreeMap::new();
        let mut found = BTreeMap::new();
        for binding in self.func.bindings() {
            let Op::CallTir { func, syms, in_place, .. } = &binding.op else { continue };
            let Some(prim) = module.prim(func).filter(|_| syms.is_empty()) else { continue };
            let now = self.times.made[binding.out.0 as usize];
            let (mut operands, results) = buffers(prim, binding, in_place);
            // What is updated is written, too.
            let home = |arg: usize| self.merged.root(self.homes.get(binding.args[arg]));
            operands.retain(|(arg, _)| !in_place.iter().flatten().any(|other| home(*other) == home(*arg)));
            for (index, to) in results {
                let Some(result) = piece(self.homes.part((binding.out, index))) else { continue };
                for (arg, from) in &operands {
                    let Some(operand) = piece(self.homes.get(binding.args[*arg])) else { continue };
                    let [dying, made] = [operand, result].map(|at| &pieces[at].0);
                    if dying.last != now || made.first != now || operand == result {
                        continue;
                    }
                    let apart = known.entry((func, *from, to)).or_insert_with(|| distance(prim, *from, to));
                    // Of one operand that is given twice, what the greater distance says.
                    let both = Some(apart.unwrap_or(Distance { ahead: i64::MAX, back: i64::MAX }));
                    let all = found.entry((operand, result)).or_insert(both);
                    *all =
                        all.zip(both).map(|(a, b)| Distance { ahead: a.ahead.max(b.ahead), back: a.back.max(b.back) });
                }
            }
        }
        let rounded = |((operand, result), distance): ((usize, usize), Option<Distance>)| {
            let Distance { ahead, back } = distance?;
            let distance = Distance {
                ahead: round_up(ahead, self.align).min(pieces[result].1),
                back: round_up(back, self.align).min(pieces[operand].1),
            };
            Some(Overlap { operand, result, distance })
        };
        found.into_iter().filter_map(rounded).collect()
    }
}

/// The parameters that a call's operands and its new results are, each with its number: as `LowerEntry` passes them.
fn buffers(
    prim: &PrimFunc,
    binding: &Binding,
    in_place: &[Option<usize>],
) -> (Vec<(usize, BufId)>, Vec<(usize, BufId)>) {
    let mut operands = 0..binding.args.len();
    let mut fresh = (0..in_place.len()).filter(|result| in_place[*result].is_none());
    let (mut read, mut made) = (Vec::new(), Vec::new());
    for param in &prim.params {
        match param {
            Param::Buffer(buf, BufUse::In) => read.extend(operands.next().map(|at| (at, *buf))),
            Param::Buffer(buf, BufUse::Out) => made.extend(fresh.next().map(|at| (at, *buf))),
            // Neither may lie over anything.
            Param::Buffer(_, BufUse::InOut) => {
                if operands.next().is_none() {
                    fresh.next();
                }
            }
            Param::Value(_) | Param::Workspace => {}
        }
    }
    (read, made)
}
