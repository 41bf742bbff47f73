//! Kernels and the calls of them: how each was scheduled, and what each call does.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::arith::Sym;
use tenfold_ir::relax::{self, Binding, Op, Place, ValueId};
use tenfold_ir::tir::{BufId, BufUse, Param, PrimFunc, Scope};

use super::capture::Captured;
use super::count::{Counts, counts};
use super::sites::{Site, sites};
use crate::pass::{Remark, RemarkKind};

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// Its name in the module.
    pub(super) name: String,
    /// How it was scheduled.
    pub(super) schedule: Schedule,
    /// What passes left as it was in it, and why.
    pub(super) missed: Vec<String>,
}

/// How a kernel was scheduled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Schedule {
    /// The rule, `#[schedule]`, or `none`.
    pub(super) rule: String,
    /// Why that rule is a good one; of a schedule of the user's, its steps.
    pub(super) reason: String,
    /// What was chosen, and what bounded it.
    pub(super) choices: Vec<(&'static str, String)>,
}

/// The rule of kernels that the user has scheduled.
const OWN: &str = "#[schedule]";

/// Of what the entry copies a value with.
const COPY: (&str, &str) =
    ("copy", "the memory plan has no one place for a value that a loop, a branch or a state takes");

/// Of kernels that keep the loops of their definition.
pub(super) const NONE: (&str, &str) = ("none", "no schedule was written for it and no rule took it");

impl Schedule {
    /// Whether the user wrote it.
    pub(super) fn is_users(&self) -> bool {
        self.rule == OWN
    }

    /// Elements of a tile: rows and columns.
    pub(super) fn tile(&self) -> &str {
        self.choices.iter().find(|(name, _)| *name == "tile").map_or("", |(_, text)| text.as_str())
    }
}

/// A call of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Which kernel.
    pub(super) kernel: usize,
    /// The value that it makes, unless it only copies one.
    pub(super) value: Option<ValueId>,
    /// What it does, if extents are numbers.
    pub(super) work: Option<Work>,
    /// How often one call of the function comes by; nothing where data decide.
    pub(super) times: Option<u64>,
}

/// What a call of a kernel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Operations on floats.
    pub(super) flops: u64,
    /// Operations on integers.
    pub(super) ints: u64,
    /// Operations of 32 bits as a core sees them.
    pub(super) effort: u64,
    /// What of that are products of `bf16` and the sums that take them, for which processors have instructions of their own.
    pub(super) of_halves: u64,
    /// Bytes that come from what is passed and from constants, and that go to results.
    pub(super) outside: (u64, u64),
    /// Bytes that come from values of the workspace, and go to them.
    pub(super) inside: (u64, u64),
    /// Whether it multiplies bytes, for which processors have instructions of their own.
    pub(super) of_bytes: bool,
}

impl Work {
    /// All bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.outside.0 + self.outside.1 + self.inside.0 + self.inside.1
    }
}

/// The kernels in the order of their first calls, and the calls in theirs.
pub(super) fn all(
    seen: &Captured,
    planned: &Module,
    lowered: &Module,
    dims: &BTreeMap<Sym, i64>,
) -> (Vec<Kernel>, Vec<Call>) {
    let (Some(entry), Some(graph)) = (lowered.prim(&lowered.entry), planned.relax(&planned.entry)) else {
        return (Vec::new(), Vec::new());
    };
    let mut bindings = graph.bindings().filter_map(|b| kernel_of(b).map(|kernel| (kernel, b))).peekable();
    let (mut kernels, mut calls): (Vec<Kernel>, Vec<Call>) = (Vec::new(), Vec::new());
    for site in sites(lowered, entry, dims) {
        let binding = bindings.next_if(|(kernel, _)| *kernel == site.func).map(|(_, binding)| binding);
        let kernel = kernels.iter().position(|kernel| kernel.name == site.func).unwrap_or_else(|| {
            kernels.push(Kernel::of(&site.func, seen, binding.is_none()));
            kernels.len() - 1
        });
        let plain = plain(seen, lowered, &site.func);
        let work = plain.and_then(|func| {
            let counts = counts(func, &values(func, &site, dims)?)?;
            let places = match binding {
                Some(binding) => places(graph, binding, func),
                None => scopes(entry, &site, func),
            };
            Some(work(func, &counts, &places))
        });
        calls.push(Call { kernel, value: binding.map(|b| b.out), work, times: site.times });
    }
    (kernels, calls)
}

fn kernel_of(binding: &Binding) -> Option<&str> {
    match &binding.op {
        Op::CallTir { func, .. } => Some(func),
        _ => None,
    }
}

/// What a kernel was called before it was made to write in place.
fn base(kernel: &str) -> &str {
    kernel.rfind("_inplace").map_or(kernel, |end| &kernel[..end])
}

/// A kernel before it was scheduled; as it is now where it is younger.
fn plain<'m>(seen: &'m Captured, lowered: &'m Module, kernel: &str) -> Option<&'m PrimFunc> {
    let before = seen.plain.as_ref();
    let named = |name: &str| before.and_then(|module| module.prim(name));
    named(kernel).or_else(|| named(base(kernel))).or_else(|| lowered.prim(kernel))
}

/// Numbers for the symbols of a kernel.
fn values(func: &PrimFunc, site: &Site, dims: &BTreeMap<Sym, i64>) -> Option<BTreeMap<Sym, i64>> {
    let syms = func.params.iter().filter_map(|param| match param {
        Param::Value(var) => Some(func.vars[var.0 as usize].sym.clone()),
        Param::Buffer(..) | Param::Workspace => None,
    });
    syms.zip(&site.values).map(|(sym, e)| Some((sym, e.eval(&|sym| dims.get(sym).copied())?))).collect()
}

/// Whether each buffer of a kernel lies outside of the workspace.
type Outside = BTreeMap<BufId, bool>;

/// By the plan's places of what is read and made.
fn places(graph: &relax::Function, binding: &Binding, func: &PrimFunc) -> Outside {
    let Some(plan) = &graph.plan else { return Outside::new() };
    let is_outside = |place: Option<&Place>| match place {
        Some(Place::Param(_) | Place::Result(_) | Place::Const(_)) => true,
        Some(Place::Workspace { .. } | Place::None) | None => false,
    };
    let of_value = |v: ValueId| is_outside(plan.places.get(v.0 as usize).and_then(Option::as_ref));
    let mut operands = binding.args.iter().map(|arg| of_value(*arg));
    let parts = plan.tuples.get(&binding.out);
    let part = |n: usize| parts.map_or_else(|| of_value(binding.out), |all| is_outside(all.get(n)));
    let mut results = (0..).map(part);
    let mut all = Outside::new();
    for param in &func.params {
        let Param::Buffer(buf, usage) = param else { continue };
        let outside = match usage {
            BufUse::In => operands.next(),
            BufUse::Out => results.next(),
            BufUse::InOut => operands.next().or_else(|| results.next()),
        };
        all.extend(outside.map(|outside| (*buf, outside)));
    }
    all
}

/// By the scopes of the buffers that a copy is given.
fn scopes(entry: &PrimFunc, site: &Site, func: &PrimFunc) -> Outside {
    let buffers = func.params.iter().filter_map(|param| match param {
        Param::Buffer(buf, _) => Some(*buf),
        Param::Value(_) | Param::Workspace => None,
    });
    buffers.zip(&site.buffers).map(|(own, of)| (own, entry.buffers[of.0 as usize].scope != Scope::Workspace)).collect()
}

fn work(func: &PrimFunc, counts: &Counts, outside: &Outside) -> Work {
    let is_outside =
        |buf: &BufId| outside.get(buf).copied().unwrap_or(func.buffers[buf.0 as usize].scope != Scope::Param);
    let sum = |all: &BTreeMap<BufId, u64>, wanted: bool| -> u64 {
        all.iter().filter(|(buf, _)| is_outside(buf) == wanted).map(|(_, bytes)| bytes).sum()
    };
    let both = |wanted| (sum(&counts.read, wanted), sum(&counts.written, wanted));
    let Counts { flops, ints, effort, of_halves, narrowest, .. } = *counts;
    Work { flops, ints, effort, of_halves, outside: both(true), inside: both(false), of_bytes: narrowest == 1 }
}

/// By the rules that gave nests of a kernel the threads of a device; without a rule where none did.
fn bound(own: &[&Remark]) -> Schedule {
    let mut schedule = Schedule::default();
    for remark in own.iter().filter(|r| r.pass == "BindThreads" && r.kind == RemarkKind::Applied) {
        let rule = named(remark);
        if schedule.rule.split(", ").any(|known| known == rule) {
            continue;
        }
        let [comma, semicolon] = if schedule.rule.is_empty() { [""; 2] } else { [", ", "; "] };
        schedule.rule += &format!("{comma}{rule}");
        schedule.reason += &format!("{semicolon}{}", remark.text);
    }
    schedule
}

/// The rule that a remark is about.
fn named(remark: &Remark) -> &str {
    remark.place.trim_start_matches("rule ").trim_matches('`')
}

impl Kernel {
    /// A kernel, or what the entry copies a value with.
    fn of(name: &str, seen: &Captured, copies: bool) -> Kernel {
        let own: Vec<&Remark> = seen.remarks.iter().filter(|r| [name, base(name)].contains(&&*r.function)).collect();
        let by = |pass: &str| own.iter().rfind(|r| r.pass == pass && r.kind == RemarkKind::Applied);
        let schedule = match (by("ApplySchedule"), by("ApplyDefaultSchedule")) {
            (None, None) if !bound(&own).rule.is_empty() => bound(&own),
            (Some(written), _) => {
                Schedule { rule: OWN.into(), reason: written.text.clone(), choices: written.details.clone() }
            }
            (None, Some(rule)) => {
                Schedule { rule: named(rule).into(), reason: rule.text.clone(), choices: rule.details.clone() }
            }
            (None, None) => {
                let (rule, reason) = if copies { COPY } else { NONE };
                Schedule { rule: rule.into(), reason: reason.into(), choices: Vec::new() }
            }
        };
        // What runs is one thread, and the rule is said above.
        let other = |pass: &str| !["ApplyDefaultSchedule", "ParallelizeLoops"].contains(&pass);
        let missed = own.iter().filter(|r| r.kind == RemarkKind::Missed && other(r.pass));
        let said = |r: &&&Remark| format!("{}, {}: {}", r.pass, r.place, r.text);
        Kernel { name: name.into(), schedule, missed: missed.map(|r| said(&r)).collect() }
    }
}
