//! Budgets: what a function may use, and the table that shows what it uses at the peak.

use std::ops::Range;

use tenfold_ir::relax::{self, Place};
use tenfold_ir::{Loc, Module};

use crate::compile::Options;
use crate::error::{CompileError, ErrorKind};
use crate::homes::Homes;
use crate::plan::{Life, lives};

/// What a function may use, in bytes, with the place in the source that says so.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    /// `workspace <= …`.
    pub workspace: Option<(u64, Loc)>,
    /// `weights <= …`.
    pub weights: Option<(u64, Loc)>,
    /// `stack <= …`.
    pub stack: Option<(u64, Loc)>,
}

/// Lines of the table of live tensors.
const ROWS: usize = 8;

/// The workspace against its budget.
pub(crate) fn check_workspace(
    func: &relax::Function,
    module: &Module,
    options: &Options,
    bound: Option<u64>,
) -> Option<CompileError> {
    let (budget, loc) = options.budgets.workspace?;
    let Some(used) = bound else {
        return Some(CompileError {
            kind: ErrorKind::Limit,
            loc,
            message: format!("the workspace must be at most {}, but it has no bound", bytes(budget)),
            help: Some("bound the dims it depends on: `#[tensor_fn(dims(B <= 64))]`".into()),
        });
    };
    (used > budget).then(|| CompileError {
        kind: ErrorKind::WorkspaceBudget,
        loc,
        message: format!(
            "the workspace must be at most {}, but it is {}\n{}",
            bytes(budget),
            bytes(used),
            peak_table(func, module, options, 0..u64::MAX, "live at the peak:")
        ),
        help: Some("make the largest of these smaller, or raise the budget".into()),
    })
}

/// The memories among which the workspace is split against what there is of each.
pub(crate) fn check_pools(func: &relax::Function, module: &Module, options: &Options) -> Option<CompileError> {
    let plan = func.plan.as_ref()?;
    let (number, pool) = func.pools.iter().enumerate().find(|(number, pool)| {
        let used = plan.pools.get(*number);
        used.is_some_and(|used| *used > pool.bytes)
    })?;
    let used = plan.pools[number];
    let begin: u64 = plan.pools[..number].iter().sum();
    let before = func.pools.iter().zip(&plan.pools).take(number);
    let before: Vec<String> = before
        .map(|(pool, used)| format!("; `{}` holds {} of {}", pool.name, bytes(*used), bytes(pool.bytes)))
        .collect();
    let table =
        peak_table(func, module, options, begin..begin + used, &format!("live in `{}` at its peak:", pool.name));
    Some(CompileError {
        kind: ErrorKind::PoolBudget,
        loc: pool.loc,
        message: format!(
            "the memory `{}` must hold at most {}, but {} are left for it: {} are missing{}\n{table}",
            pool.name,
            bytes(pool.bytes),
            bytes(used),
            bytes(used - pool.bytes),
            before.concat(),
        ),
        help: Some("make the largest of these smaller, raise a size, or name one more memory behind it".into()),
    })
}

/// The constants against their budget.
pub(crate) fn check_weights(module: &Module, options: &Options, used: u64) -> Option<CompileError> {
    let (budget, loc) = options.budgets.weights?;
    if used <= budget {
        return None;
    }
    let mut rows: Vec<(u64, String)> = module
        .constants
        .iter()
        .map(|c| (c.shape.iter().product::<u64>() * c.dtype.size_bytes() as u64, c.name.clone()))
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let table: Vec<String> = rows.iter().take(ROWS).map(|(n, name)| format!("  {:>10}  `{name}`", bytes(*n))).collect();
    Some(CompileError {
        kind: ErrorKind::WeightsBudget,
        loc,
        message: format!(
            "the constants must be at most {}, but they are {}\n{}",
            bytes(budget),
            bytes(used),
            table.join("\n")
        ),
        help: Some("store the largest in a smaller dtype, or raise the budget".into()),
    })
}

/// The stack against its budget.
pub(crate) fn check_stack(options: &Options, used: Option<u64>, deepest: &[(String, u64)]) -> Option<CompileError> {
    let (budget, loc) = options.budgets.stack?;
    match used {
        Some(used) if used <= budget => None,
        Some(used) => Some(CompileError {
            kind: ErrorKind::StackBudget,
            loc,
            message: format!("the stack must be at most {}, but it is {}{}", bytes(budget), bytes(used), chain(deepest)),
            help: Some("make the largest of these smaller, or raise the budget".into()),
        }),
        None => Some(CompileError {
            kind: ErrorKind::StackBudget,
            loc,
            message: format!(
                "the stack must be at most {}, but it cannot be told how much is used",
                bytes(budget)
            ),
            help: Some(
                "build with LLVM (`cargo tenfold doctor` says what was found); what a function outside takes is not known"
                    .into(),
            ),
        }),
    }
}

/// The chain of calls that takes it.
fn chain(deepest: &[(String, u64)]) -> String {
    let rows = deepest.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("\n  {:>10}  {name}", bytes(*n)));
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() { String::new() } else { format!("\nalong the deepest chain of calls:{}", rows.concat()) }
}

/// A number of bytes for people: `64 KB` where it is round, else with every digit.
pub(crate) fn bytes(n: u64) -> String {
    if n >= 1 << 20 && n.is_multiple_of(1 << 20) {
        format!("{} MB", n >> 20)
    } else if n >= 1024 && n.is_multiple_of(1024) {
        format!("{} KB", n >> 10)
    } else {
        format!("{n} bytes")
    }
}

/// The tensors that live in these bytes of the workspace where most of them is in use, largest first.
fn peak_table(func: &relax::Function, module: &Module, options: &Options, part: Range<u64>, title: &str) -> String {
    let plan = func.plan.clone().unwrap_or_default();
    let homes = Homes::new(func);
    let lives: Vec<(Life, u64)> = lives(func, &homes)
        .into_iter()
        .filter_map(|life| workspace_size(&plan, &life, &part).map(|size| (life, size)))
        .collect();
    let end = lives.iter().map(|(l, _)| l.last).max().unwrap_or(0);
    let at = |position: usize| lives.iter().filter(move |(l, _)| l.first <= position && position <= l.last);
    let peak = (0..=end).max_by_key(|p| (at(*p).map(|(_, n)| n).sum::<u64>(), std::cmp::Reverse(*p))).unwrap_or(0);
    let mut rows: Vec<&(Life, u64)> = at(peak).collect();
    rows.sort_by_key(|(life, size)| (std::cmp::Reverse(*size), life.first));
    let line = |(life, size): &&(Life, u64)| {
        let data = &func.values[life.home.0.0 as usize];
        let shape: Vec<String> = life.ty.shape.iter().map(|d| d.to_string()).collect();
        let place = place_of(data.loc, module, options);
        format!("  {:>10}  `{}` {}[{}]{place}", bytes(*size), data.name, life.ty.dtype, shape.join(", "))
    };
    let mut text = vec![title.to_string()];
    text.extend(rows.iter().take(ROWS).map(line));
    if rows.len() > ROWS {
        text.push(format!("  and {} smaller", rows.len() - ROWS));
    }
    text.join("\n")
}

fn workspace_size(plan: &relax::Plan, life: &Life, part: &Range<u64>) -> Option<u64> {
    let tuple = plan.tuples.get(&life.home.0).and_then(|t| t.get(life.home.1));
    let place = tuple.or(plan.places.get(life.home.0.0 as usize)?.as_ref())?;
    match place {
        Place::Workspace { offset, bytes } => {
            // Without pools an offset over dims lies in the one part that there is.
            let is_inside = offset.as_const().is_none_or(|at| part.contains(&(at as u64)));
            bytes.as_const().filter(|_| is_inside).map(|b| b as u64)
        }
        Place::Param(_) | Place::Result(_) | Place::Const(_) | Place::None => None,
    }
}

fn place_of(loc: Loc, module: &Module, options: &Options) -> String {
    match options.codegen.lines.get(loc.node as usize) {
        Some(line) if loc.function == 0 && *line > 0 => format!(", line {line}"),
        _ => match module.sources.get(loc.function as usize) {
            Some(source) if loc.function > 0 => format!(", in `{source}`"),
            _ => String::new(),
        },
    }
}
