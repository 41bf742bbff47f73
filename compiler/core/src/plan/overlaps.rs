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
        let by_home: BTreeMap<Home, usize> = pieces.iter().enumerate().map(|(at, (life, _))| (life.home, at)).collect();
        let piece = |home: Home| by_home.get(&self.merged.root(home)).copied();
        let mut known: BTreeMap<(&str, BufId, BufId), Option<Distance>> = BTreeMap::new();
        let mut found: BTreeMap<(usize, usize), Distance> = BTreeMap::new();
        for (binding, name, prim, pairs) in self.calls() {
            let now = self.times.made[binding.out.0 as usize];
            for ((arg, from), (index, to)) in pairs {
                let places = piece(self.homes.get(binding.args[arg])).zip(piece(self.homes.part((binding.out, index))));
                let Some((operand, result)) = places.filter(|(operand, result)| operand != result) else { continue };
                if pieces[operand].0.last != now || pieces[result].0.first != now {
                    continue;
                }
                let apart = *known.entry((name, from, to)).or_insert_with(|| distance(prim, from, to));
                let apart = apart.unwrap_or(Distance { ahead: i64::MAX, back: i64::MAX });
                // Of one operand that is given twice, what the greater distance says.
                let all = found.entry((operand, result)).or_insert(apart);
                *all = Distance { ahead: all.ahead.max(apart.ahead), back: all.back.max(apart.back) };
            }
        }
        let rounded = |((operand, result), apart): ((usize, usize), Distance)| {
            let ahead = round_up(apart.ahead, self.align).min(pieces[result].1);
            let back = round_up(apart.back, self.align).min(pieces[operand].1);
            Overlap { operand, result, distance: Distance { ahead, back } }
        };
        found.into_iter().map(rounded).collect()
    }

    /// Calls of kernels whose extents are numbers, each with its operands that are only read beside its results.
    fn calls(&self) -> impl Iterator<Item = Call<'_>> {
        self.func.bindings().filter_map(|binding| {
            let Op::CallTir { func, syms, in_place, .. } = &binding.op else { return None };
            let prim = self.module.prim(func).filter(|_| self.in_turn && syms.is_empty())?;
            let (mut operands, results) = buffers(prim, binding, in_place);
            let home = |arg: usize| self.merged.root(self.homes.get(binding.args[arg]));
            operands.retain(|(arg, _)| !in_place.iter().flatten().any(|other| home(*other) == home(*arg)));
            let pair = |operand: &(usize, BufId)| results.iter().map(|result| (*operand, *result)).collect::<Vec<_>>();
            Some((binding, func.as_str(), prim, operands.iter().flat_map(pair).collect()))
        })
    }
}

/// A call, the kernel's name, the kernel, and pairs of an operand and a result.
type Call<'f> = (&'f Binding, &'f str, &'f PrimFunc, Vec<(Number, Number)>);

/// A parameter, with the number of what is passed.
type Number = (usize, BufId);

/// The parameters that a call's operands and its new results are, each with its number: as `LowerEntry` passes them.
fn buffers(prim: &PrimFunc, binding: &Binding, in_place: &[Option<usize>]) -> (Vec<Number>, Vec<Number>) {
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
