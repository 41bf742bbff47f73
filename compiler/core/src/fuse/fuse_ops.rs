//! `FuseOps`: calls of kernels that become one kernel are put into primitive functions.
//!
//! Runs on legalised graphs. A group is found along the tree of post-dominators, by the rules of `ops::partition`; its
//! last value is all that leaves it. Kernels that only move elements are copied for each of their readers, and stay
//! one where no reader takes them up. What is computed never changes, nor the order of effects: a call that reads
//! memory which something overwrites stays where it is.
//!
//! Two contractions with a softmax between them, an attention, become one kernel where the target has vectors: the
//! default schedule of such a kernel has no memory for all scores.
//!
//! Patterns come from `AnnotateTIROpPattern`; a kernel without one is looked at here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, BindingBlock, Phase, Region, SymKind, ValueId};
use tenfold_ir::{Function, Module};

use super::fuse_loops::fused;
use super::merge::merge;
use super::ops::copies::{Copies, copy_movers};
use super::ops::graph::{Memory, kinds, nodes};
use super::ops::group::group;
use super::ops::partition::{Limits, Partition, Trials};
use super::pattern::Kind;
use super::weights::few_rows;
use crate::CompileError;
use crate::dlight::{Fit, attention, computes_turned, has_vectors};
use crate::pass::{ConfigKey, FlagKey, IntKey, Pass, PassContext, PassPhase, Remark};

/// Kernels that may become one.
const MAX_DEPTH: IntKey =
    IntKey { name: "FuseOps.max_depth", default: 64, least: 1, greatest: 4096, doc: "kernels that may become one" };

/// Operands that a fused kernel may have.
const MAX_ARGS: IntKey = IntKey {
    name: "FuseOps.max_args",
    default: 0,
    least: 0,
    greatest: 4096,
    doc: "operands that a fused kernel may have; 0 sets no limit",
};

/// Whether attentions become one kernel.
const ATTENTION: FlagKey = FlagKey {
    name: "FuseOps.attention",
    default: true,
    doc: "whether two products with a softmax between them become one kernel, which keeps few scores at once",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("FuseOps", &fuse_ops)
    .in_phase(PassPhase::Fusion)
    .at_level(1)
    .reads(&[ConfigKey::Int(&MAX_DEPTH), ConfigKey::Int(&MAX_ARGS), ConfigKey::Flag(&ATTENTION)])
    .about("puts calls of kernels that become one kernel into primitive functions, along the tree of post-dominators");

/// Runs on every legalised relax function that is not a group itself.
fn fuse_ops(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let limits = Limits { depth: context.int(&MAX_DEPTH) as usize, args: context.int(&MAX_ARGS) as usize };
    let kinds = kinds(module);
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        let Some(func) = module.relax(&name) else { continue };
        // Once is all: a group does not say which of its operands it writes.
        let grouped = func.bindings().any(|b| matches!(b.op, relax::Op::CallFn { .. }));
        if grouped || func.phase != Phase::Legalised || func.primitive || func.skip_optimization {
            continue;
        }
        let mut fuse = Fuse {
            func: func.clone(),
            module,
            kinds: &kinds,
            limits,
            context,
            groups: Vec::new(),
            outside: BTreeSet::new(),
            trials: RefCell::default(),
            attentions: RefCell::default(),
        };
        fuse.run();
        let (func, groups) = (relax::renumbered(&fuse.func), fuse.groups);
        module.functions.insert(name, Function::Relax(func));
        for group in groups {
            module.functions.insert(group.name.clone(), Function::Relax(group));
        }
    }
    Ok(())
}

struct Fuse<'m> {
    func: relax::Function,
    module: &'m Module,
    kinds: &'m BTreeMap<String, Kind>,
    limits: Limits,
    context: &'m PassContext,
    groups: Vec<relax::Function>,
    /// What the function hands out, and what symbols are bound to.
    outside: BTreeSet<ValueId>,
    /// What groups of equal structure were found to need: graphs repeat themselves.
    trials: RefCell<BTreeMap<u128, bool>>,
    /// The same of groups that may be attentions.
    attentions: RefCell<BTreeMap<u128, Fit>>,
}

impl Fuse<'_> {
    fn run(&mut self) {
        let bound = self.func.syms.iter().filter_map(|s| if let SymKind::Bound(v) = s.kind { Some(v) } else { None });
        self.outside = self.func.results.iter().copied().chain(bound).collect();
        let memory = Memory::of(&self.func);
        let mut blocks = std::mem::take(&mut self.func.blocks);
        self.body(&mut blocks, &[], &memory);
        self.func.blocks = blocks;
    }

    /// A list of blocks and the regions inside.
    fn body(&mut self, blocks: &mut [BindingBlock], results: &[ValueId], memory: &Memory) {
        for binding in blocks.iter_mut().flat_map(|b| &mut b.bindings) {
            for Region { blocks, results, .. } in &mut binding.regions {
                let results = results.clone();
                self.body(blocks, &results, memory);
            }
        }
        let outside: BTreeSet<ValueId> = self.outside.iter().chain(results).copied().collect();
        let copies = copy_movers(&mut self.func, blocks, &outside, self.kinds);
        // Copies that no group takes up are one again, and share memory.
        let changes = |v: ValueId| memory.changes(copies.get(&v).copied().unwrap_or(v));
        let found = self.partition(blocks, &outside, &changes);
        let alone = self.write(blocks, &found);
        self.drop_copies(blocks, &copies, &alone);
    }

    fn partition(
        &self,
        blocks: &[BindingBlock],
        outside: &BTreeSet<ValueId>,
        changes: &dyn Fn(ValueId) -> bool,
    ) -> Vec<Vec<usize>> {
        let nodes = nodes(&self.func, blocks, outside, changes, self.kinds);
        let trial = |members: &[usize]| {
            let bindings: Vec<&Binding> = members.iter().map(|m| nodes[*m].binding).collect();
            self.needs_no_memory(&bindings)
        };
        let attention = |members: &[usize]| {
            let bindings: Vec<&Binding> = members.iter().map(|m| nodes[*m].binding).collect();
            self.is_attention(&bindings)
        };
        let weights = |members: &[usize]| {
            let bindings: Vec<&Binding> = members.iter().map(|m| nodes[*m].binding).collect();
            self.reads_weights(&bindings)
        };
        let trials = Trials { memory: &trial, weights: &weights, attention: &attention };
        let mut partition = Partition::new(&nodes, self.limits, trials);
        let found = partition.run();
        let named = |n: &usize| kernel_of(nodes[*n].binding);
        for members in &found {
            let read = members.last().is_some_and(|n| !nodes[*n].readers.is_empty());
            self.say(&partition, members, &members.iter().filter_map(named).collect::<Vec<_>>(), read);
        }
        found
    }

    /// What became one kernel, and why not more, where a kernel reads it.
    fn say(&self, partition: &Partition<'_, '_>, members: &[usize], names: &[&str], read: bool) {
        let (pass, func) = (PASS.info.name, &self.func.name);
        let Some(last) = names.last() else { return };
        if names.len() > 1 {
            let what = || format!("one kernel of {}", names.join(", "));
            self.context.remark(|| Remark::applied(pass, func, format!("`{last}`"), what()));
        }
        if read {
            let why = || partition.apart(members).map_or_else(String::new, |why| why.to_string());
            let what = || format!("not part of what reads it: {}", why());
            self.context.remark(|| Remark::missed(pass, func, format!("`{last}`"), what()));
        }
    }

    /// Whether the kernels can be one that keeps what lies between them in registers, on the stack or in the result, and is not
    /// better two for the sake of vectors.
    fn needs_no_memory(&self, members: &[&Binding]) -> bool {
        let Some(grouped) = group(self.module, &self.func, "trial", members) else { return false };
        let key = relax::structural_hash(self.module, &grouped.func);
        if let Some(known) = self.trials.borrow().get(&key) {
            return *known;
        }
        let merged = merge(self.module, &grouped.func).filter(|m| !self.vectors() || !computes_turned(&m.prim));
        let fits = merged.and_then(|m| fused(&m.prim)).is_some_and(|f| f.spilled == 0 && !f.strided);
        self.trials.borrow_mut().insert(key, fits);
        fits
    }

    /// Whether the kernels are a product that reads weights of 8 bits, of which the target has vectors, a few times.
    fn reads_weights(&self, members: &[&Binding]) -> bool {
        let merged = group(self.module, &self.func, "trial", members).and_then(|g| merge(self.module, &g.func));
        self.vectors() && merged.is_some_and(|merged| few_rows(&merged.prim))
    }

    fn vectors(&self) -> bool {
        has_vectors(&self.context.target)
    }

    /// Whether the kernels are an attention that the target has a schedule for.
    fn is_attention(&self, members: &[&Binding]) -> bool {
        if !self.context.flag(&ATTENTION) {
            return false;
        }
        let Some(grouped) = group(self.module, &self.func, "trial", members) else { return false };
        let key = relax::structural_hash(self.module, &grouped.func);
        let known = self.attentions.borrow().get(&key).copied();
        let fits = known.unwrap_or_else(|| {
            merge(self.module, &grouped.func).map_or(Fit::Other, |merged| attention(&merged.prim, self.context))
        });
        self.attentions.borrow_mut().insert(key, fits);
        if let (Fit::Refused(why), Some(last)) = (fits, members.last().and_then(|b| kernel_of(b))) {
            let place = format!("`{last}`");
            let what = || format!("not one kernel with the weights that it reads, an attention: {why}");
            self.context.remark(|| Remark::missed(PASS.info.name, &self.func.name, place, what()));
        }
        fits == Fit::Fits
    }

    /// Puts a call where the last binding of each group stands; gives the values of calls that stay alone.
    fn write(&mut self, blocks: &mut [BindingBlock], found: &[Vec<usize>]) -> BTreeSet<ValueId> {
        let all: Vec<Binding> = blocks.iter().flat_map(|b| b.bindings.iter().cloned()).collect();
        let mut calls: BTreeMap<ValueId, Option<Binding>> = BTreeMap::new();
        let mut alone = BTreeSet::new();
        for members in found {
            let bindings: Vec<&Binding> = members.iter().map(|m| &all[*m]).collect();
            if bindings.len() < 2 {
                alone.extend(bindings.iter().map(|b| b.out));
                continue;
            }
            let name = self.name(&bindings);
            let Some(grouped) = group(self.module, &self.func, &name, &bindings) else { continue };
            calls.extend(bindings.iter().map(|b| (b.out, None)));
            calls.insert(grouped.call.out, Some(grouped.call));
            self.groups.push(grouped.func);
        }
        for block in blocks {
            let old = std::mem::take(&mut block.bindings);
            block.bindings = old.into_iter().filter_map(|b| calls.remove(&b.out).unwrap_or(Some(b))).collect();
        }
        alone
    }

    /// `f.fused_a_b_c`, after what the kernels compute.
    fn name(&self, members: &[&Binding]) -> String {
        let mut names = members.iter().filter_map(|b| kernel_of(b));
        let first = names.next().unwrap_or_default();
        let last = names.next_back().unwrap_or(first);
        format!("{}.fused{}_{first}_{last}", self.func.name, self.groups.len())
    }

    /// Copies that no group took up are one with what they are copies of, or with each other.
    fn drop_copies(&mut self, blocks: &mut [BindingBlock], copies: &Copies, alone: &BTreeSet<ValueId>) {
        let mut first: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        let mut same: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        let origin = |v: ValueId| copies.get(&v).copied().unwrap_or(v);
        for binding in blocks.iter().flat_map(|b| &b.bindings).filter(|b| alone.contains(&b.out)) {
            let stays = *first.entry(origin(binding.out)).or_insert(binding.out);
            if stays != binding.out {
                same.insert(binding.out, stays);
            }
        }
        if same.is_empty() {
            return;
        }
        blocks.iter_mut().for_each(|b| b.bindings.retain(|b| !same.contains_key(&b.out)));
        relax::bindings_mut(blocks, &mut |binding| {
            let to = |v: &mut ValueId| *v = same.get(v).copied().unwrap_or(*v);
            binding.args.iter_mut().for_each(to);
            binding.regions.iter_mut().for_each(|r| r.results.iter_mut().for_each(to));
        });
    }
}

/// The kernel that a binding calls, without the function it was made for.
fn kernel_of(binding: &Binding) -> Option<&str> {
    match &binding.op {
        relax::Op::CallTir { func, .. } => func.rsplit('.').next(),
        _ => None,
    }
}
