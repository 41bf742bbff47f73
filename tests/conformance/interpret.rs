//! A case through the pipeline, and through the interpreters on the way.

use std::collections::BTreeMap;

use tenfold_core::pass::{self, PassContext};
use tenfold_core::{ErrorKind, PIPELINE, Target, device_pipeline};
use tenfold_ir::arith::Sym;
use tenfold_ir::eval::{Bounded, ROUNDED, Value};
use tenfold_ir::relax::{self, ParamKind, SymKind};
use tenfold_ir::tir::{self, Arg, BufUse, Elem, Param, PrimFunc};
use tenfold_ir::{DType, Function, Module, Scalar, module_text, parse_module};

use crate::case::{Case, Setting, Wanted};

#[path = "outside.rs"]
pub(crate) mod outside;

/// An argument of the compiled entry, in the order of its parameters.
#[derive(Clone, Debug)]
pub(crate) enum Actual {
    /// A buffer's cells; outputs hold nothing yet.
    Buffer { dtype: DType, cells: Vec<Option<Scalar>>, usage: BufUse },
    /// A scalar by value.
    Scalar(Scalar),
    /// An index.
    Index(i64),
    /// Bytes of workspace.
    Workspace(usize),
}

/// A case that went through the pipeline.
pub(crate) struct Prepared {
    pub name: String,
    /// All prim-funcs, of phase `Target`.
    pub module: Module,
    pub actual: Vec<Actual>,
    /// What each buffer holds afterwards, by the position of its argument.
    pub expected: BTreeMap<usize, Vec<Option<Bounded>>>,
    /// What the interpreter of relax says of outputs and states.
    pub definition: BTreeMap<usize, Vec<Bounded>>,
}

/// Runs the pipeline up to the pass of that name.
fn until(module: &mut Module, from: &str, to: &str, context: &PassContext) -> Result<(), String> {
    let passes = if context.target.device.is_some() { device_pipeline() } else { PIPELINE.to_vec() };
    let at = |name: &str| passes.iter().position(|p| p.info.name == name);
    let (from, to) = (at(from).unwrap_or(0), at(to).unwrap_or(passes.len()));
    pass::run(&passes[from..to], module, context).map_err(|e| match e.kind {
        ErrorKind::Limit => format!("{REFUSED}{}", e.message),
        _ => format!("pipeline: {}", e.message),
    })
}

/// What the texts of errors hold of which the user has to say more.
#[allow(dead_code, reason = "random tests use it")]
pub(crate) const REFUSED: &str = "the pipeline refuses it: ";

/// Whether a case that is not of a random test is interpreted behind phase `Flat`, too. What is wrong there alone, random
/// graphs and programs find; what stays wrong is seen behind the pipeline, and only then is it asked where it began.
fn all() -> bool {
    std::env::var_os("TENFOLD_ALL").is_some()
}

/// Takes a case through the pipeline; the interpreter of tir must give the same before phase `Flat` and after the last one.
#[allow(dead_code, reason = "the suite of operators takes levels")]
pub(crate) fn prepare_with(case: Case, context: &PassContext) -> Result<Prepared, String> {
    let Case { name, module, syms, given, wanted } = case;
    let prepared = stages_of(&name, module, vec![Setting { syms, given, wanted }], (context, context), all())?;
    prepared.into_iter().next().ok_or_else(|| format!("{name}: nothing to call it with"))
}

/// The same with constants laid out for another target, as variants have them.
#[allow(dead_code, reason = "other tests compile for one target")]
pub(crate) fn prepare_for(case: Case, context: &PassContext, layout: &Target) -> Result<Prepared, String> {
    let Case { name, module, syms, given, wanted } = case;
    let layout = context.with_target(layout.clone());
    let prepared = stages_of(&name, module, vec![Setting { syms, given, wanted }], (&layout, context), all())?;
    prepared.into_iter().next().ok_or_else(|| format!("{name}: nothing to call it with"))
}

/// What one call is given, and what it gives by each interpreter.
struct Call {
    syms: Vec<(Sym, i64)>,
    given: Vec<crate::case::Given>,
    defined: relax::Outputs,
    bytes: i64,
    actual: Vec<Actual>,
    expected: BTreeMap<usize, Vec<Option<Bounded>>>,
    definition: BTreeMap<usize, Vec<Bounded>>,
}

/// Takes a function through the pipeline once and through the interpreters with everything that it is called with.
#[allow(dead_code, reason = "the random crates use it")]
pub(crate) fn prepare_all(
    name: &str,
    module: Module,
    settings: Vec<Setting>,
    context: &PassContext,
) -> Result<Vec<Prepared>, String> {
    prepare_shared(name, module, settings, (context, context))
}

/// The same with the first part of the pipeline in a context of its own, as variants share it.
#[allow(dead_code, reason = "random graphs and programs use it")]
pub(crate) fn prepare_shared(
    name: &str,
    module: Module,
    settings: Vec<Setting>,
    contexts: (&PassContext, &PassContext),
) -> Result<Vec<Prepared>, String> {
    stages_of(name, module, settings, contexts, true)
}

/// The same, with phase `Flat` interpreted or not.
fn stages_of(
    name: &str,
    module: Module,
    settings: Vec<Setting>,
    contexts: (&PassContext, &PassContext),
    flat: bool,
) -> Result<Vec<Prepared>, String> {
    stages(name, module, settings, contexts, flat).map_err(|e| format!("{name}: {e}"))
}

fn stages(
    name: &str,
    mut module: Module,
    settings: Vec<Setting>,
    (shared, context): (&PassContext, &PassContext),
    flat: bool,
) -> Result<Vec<Prepared>, String> {
    let graph = module.relax(name).ok_or("no graph")?.clone();
    round_trip(&module).map_err(|e| format!("graph: {e}"))?;
    let calls = settings.into_iter().map(|setting| defined(&module, &graph, setting));
    let mut calls = calls.filter(|call| !is_undecided(call)).collect::<Result<Vec<Call>, String>>()?;
    until(&mut module, "", "ApplyDefaultSchedule", shared)?;
    until(&mut module, "ApplyDefaultSchedule", "LowerEntry", context)?;
    let plan = module.relax(name).and_then(|f| f.plan.clone()).ok_or("no plan")?;
    round_trip(&module).map_err(|e| format!("planned: {e}"))?;
    calls.iter_mut().try_for_each(|call| plan_call(call, &plan))?;
    until(&mut module, "LowerEntry", "VerifyBounds", context)?;
    round_trip(&module).map_err(|e| format!("blocks: {e}"))?;
    let calls = calls.into_iter().map(|call| run_blocks(call, name, &module, &graph));
    let calls = calls.filter(|call| !is_undecided(call)).collect::<Result<Vec<Call>, String>>()?;
    until(&mut module, "VerifyBounds", "LowerMath", context)?;
    let is_as_flat =
        |call: &Call, module: &Module| same_again(call, name, module).map_err(|e| format!("blocks and flat: {e}"));
    if flat {
        calls.iter().try_for_each(|call| is_as_flat(call, &module))?;
    }
    let before = module.clone();
    until(&mut module, "LowerMath", "", context)?;
    round_trip(&module).map_err(|e| format!("target: {e}"))?;
    for call in &calls {
        let same = same_again(call, name, &module).map_err(|e| format!("blocks and target: {e}"));
        same.or_else(|e| is_as_flat(call, &before).and(Err(e)))?;
    }
    let prepared = calls.into_iter().map(|call| Prepared {
        name: name.to_string(),
        module: module.clone(),
        actual: call.actual,
        expected: call.expected,
        definition: call.definition,
    });
    Ok(prepared.collect())
}

/// Takes a case through the pipeline, where others test what passes do: what is expected is what the interpreter of tir gives
/// once, or where `defined_alone` says so what the graph is defined as.
#[allow(dead_code, reason = "tests of devices use it")]
pub(crate) fn prepare_briefly(case: Case, context: &PassContext, defined_alone: bool) -> Result<Prepared, String> {
    let Case { name, mut module, syms, given, wanted } = case;
    let graph = module.relax(&name).ok_or("no graph")?.clone();
    let mut call = defined(&module, &graph, Setting { syms, given, wanted })?;
    until(&mut module, "", "LowerEntry", context)?;
    let plan = module.relax(&name).and_then(|f| f.plan.clone()).ok_or("no plan")?;
    plan_call(&mut call, &plan)?;
    until(&mut module, "LowerEntry", "VerifyBounds", context)?;
    if defined_alone {
        let entry = module.prim(&name).ok_or("no entry")?;
        call.actual = actual(entry, &call.syms, std::mem::take(&mut call.given).into_iter(), call.bytes)?;
        let defined = place(&call.defined, &graph, &call.actual).into_iter();
        call.expected = defined.map(|(arg, cells)| (arg, cells.into_iter().map(Some).collect())).collect();
    } else {
        call = run_blocks(call, &name, &module, &graph)?;
    }
    until(&mut module, "VerifyBounds", "", context)?;
    let Call { actual, expected, definition, .. } = call;
    Ok(Prepared { name, module, actual, expected, definition })
}

/// What the interpreter of tir makes of a case as it is scheduled, behind the last pass and nowhere else: of what is large
/// each run takes long.
#[allow(dead_code, reason = "what is measured on devices uses it")]
pub(crate) fn scheduled(case: Case, context: &PassContext) -> Result<Prepared, String> {
    let Case { name, mut module, syms, given, .. } = case;
    until(&mut module, "", "", context)?;
    let entry = module.prim(&name).ok_or("no entry")?;
    let actual = actual(entry, &syms, given.into_iter(), 0)?;
    let expected = run(&module, entry, &actual)?;
    Ok(Prepared { name, module, actual, expected, definition: BTreeMap::new() })
}

/// Whether a call may have results of different extents, so that there is nothing to compare with. The interpreter of tir may
/// say so where the definition does not: what is compared with the largest of rounded values is itself one of them, or not.
fn is_undecided<T>(run: &Result<T, String>) -> bool {
    matches!(run, Err(why) if why.ends_with(ROUNDED))
}

/// A call by the interpreter of relax.
fn defined(module: &Module, graph: &relax::Function, setting: Setting) -> Result<Call, String> {
    let Setting { syms, given, wanted } = setting;
    let defined = define(module, graph, &syms, &given).map_err(|e| format!("relax: {e}"))?;
    let wrong: Vec<String> = wanted.iter().filter_map(|w| check_wanted(w, graph, &defined).err()).collect();
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    let (actual, expected, definition) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    Ok(Call { syms, given, defined, bytes: 0, actual, expected, definition })
}

/// The workspace that a call needs.
fn plan_call(call: &mut Call, plan: &relax::Plan) -> Result<(), String> {
    let value = |sym: &Sym| call.syms.iter().find(|(s, _)| s == sym).map(|(_, v)| *v);
    let bytes = plan.workspace.as_ref().and_then(|w| w.eval(&value)).unwrap_or(0);
    match plan.workspace_bound {
        Some(bound) if (bound as i64) < bytes => {
            Err(format!("a workspace of {bytes} bytes is above its bound {bound}"))
        }
        Some(_) | None => {
            call.bytes = bytes;
            Ok(())
        }
    }
}

/// A call by the interpreter of tir, whose results are what the definition admits.
fn run_blocks(mut call: Call, name: &str, module: &Module, graph: &relax::Function) -> Result<Call, String> {
    let entry = module.prim(name).ok_or("no entry")?;
    call.actual = actual(entry, &call.syms, std::mem::take(&mut call.given).into_iter(), call.bytes)?;
    call.expected = run(module, entry, &call.actual).map_err(|e| format!("blocks: {e}"))?;
    call.definition = place(&call.defined, graph, &call.actual);
    for (arg, cells) in &call.definition {
        for (n, num) in cells.iter().enumerate() {
            let found = call.expected[arg].get(n).copied().flatten().map(|b| b.value);
            check_defined(*arg, n, *num, found).map_err(|e| format!("relax and blocks: {e}"))?;
        }
    }
    Ok(call)
}

/// Whether the function gives by now what its blocks gave.
fn same_again(call: &Call, name: &str, module: &Module) -> Result<(), String> {
    let entry = module.prim(name).ok_or("no entry")?;
    agree(&call.expected, &run(module, entry, &call.actual)?)
}

/// Takes a module of prim-funcs, whose entry is one, through the passes over tir that are left for it.
#[allow(dead_code, reason = "the filetests use it")]
pub(crate) fn prepare_prim(
    mut module: Module,
    syms: &[(Sym, i64)],
    given: Vec<crate::case::Given>,
    target: &Target,
) -> Result<Prepared, String> {
    let context = PassContext::new(target.clone());
    let name = module.entry.clone();
    if let Some(tenfold_ir::Function::Prim(entry)) = module.functions.get_mut(&name) {
        entry.exported = true;
    }
    let entry = module.prim(&name).ok_or("no entry")?.clone();
    let actual = actual(&entry, syms, given.into_iter(), 4096)?;
    let expected = run(&module, &entry, &actual)?;
    let flat = entry.phase >= tir::Phase::Flat;
    until(&mut module, if flat { "LowerMath" } else { "VerifyBounds" }, "", &context)?;
    let last = module.prim(&name).ok_or("no entry")?.clone();
    let again = run(&module, &last, &actual)?;
    agree(&expected, &again)?;
    Ok(Prepared { name, module, actual, expected, definition: BTreeMap::new() })
}

/// The dtype of a result and what was left in it.
type Left = (DType, Vec<Option<Bounded>>);

/// What the interpreter alone says of the entry, which is a prim-func: the buffers that it writes, or an error.
#[allow(dead_code, reason = "the filetests use it")]
pub(crate) fn interpret_prim(
    module: &Module,
    syms: &[(Sym, i64)],
    given: Vec<crate::case::Given>,
) -> Result<Vec<Left>, String> {
    let entry = module.prim(&module.entry).ok_or("no entry")?;
    let actual = actual(entry, syms, given.into_iter(), 4096)?;
    let mut left = run(module, entry, &actual)?;
    let written = |(arg, a): (usize, &Actual)| match a {
        Actual::Buffer { dtype, usage: BufUse::Out | BufUse::InOut, .. } => left.remove(&arg).map(|c| (*dtype, c)),
        Actual::Buffer { .. } | Actual::Scalar(_) | Actual::Index(_) | Actual::Workspace(_) => None,
    };
    Ok(actual.iter().enumerate().filter_map(written).collect())
}

/// The module, graphs and prim-funcs and constants, reads back as it prints, equal by structure and by its laws.
fn round_trip(module: &Module) -> Result<(), String> {
    let (text, sidecar) = module_text(module);
    let again = parse_module(&text, &sidecar).map_err(|e| format!("{e}\n{text}"))?;
    let printed = module_text(&again).0;
    if printed != text {
        let differ = text.lines().zip(printed.lines()).find(|(a, b)| a != b);
        return Err(format!("does not read back as it prints: {differ:?}"));
    }
    for (name, function) in &module.functions {
        let (equal, laws) = match (function, again.functions.get(name)) {
            (Function::Relax(a), Some(Function::Relax(b))) => {
                (relax::structurally_equal((module, a), (&again, b)), relax::verify(&again, b))
            }
            (Function::Prim(a), Some(Function::Prim(b))) => {
                (tir::structurally_equal((module, a), (&again, b)), tir::verify(&again, b))
            }
            _ => return Err(format!("`{name}` is lost when it is read back")),
        };
        if let Some(law) = laws.first() {
            return Err(format!("read back, `{name}` breaks a law: {law}\n{text}"));
        }
        if !equal {
            return Err(format!("`{name}` reads back as another function\n{text}"));
        }
    }
    Ok(())
}

/// A result must be what the test computes, and known: a bound that admits anything says nothing.
fn check_wanted(wanted: &Wanted, graph: &relax::Function, defined: &relax::Outputs) -> Result<(), String> {
    let label = wanted.label;
    let Some(at) = graph.results.iter().position(|v| *v == wanted.value) else { return Err("no such result".into()) };
    let found = &defined.results[at];
    if found.data.len() != wanted.cells.len() {
        return Err(format!("{label}: result {at} has {} elements, wanted {}", found.data.len(), wanted.cells.len()));
    }
    for (n, (found, cell)) in found.data.iter().zip(&wanted.cells).enumerate() {
        let slack = wanted.slack[n];
        if !Bounded::new(*cell, slack).admits(found.value) || found.is_unknown() {
            let (cell, found, error) = (show(*cell), show(found.value), found.error);
            let place = format!("{label}: result {at}, element {n}");
            return Err(format!("{place}: wanted {cell} within {slack:e}, found {found} ± {error:e}"));
        }
    }
    Ok(())
}

/// What the interpreter of relax gives.
fn define(
    module: &Module,
    graph: &relax::Function,
    syms: &[(Sym, i64)],
    given: &[crate::case::Given],
) -> Result<relax::Outputs, String> {
    let value = |sym: &Sym| syms.iter().find(|(s, _)| s == sym).map(|(_, v)| *v);
    let mut inputs = relax::Inputs::default();
    for param in &graph.params {
        let relax::Type::Tensor(ty) = &graph.values[param.value.0 as usize].ty else { return Err("a tuple".into()) };
        let shape: Option<Vec<usize>> = ty.shape.iter().map(|d| d.eval(&value).map(|d| d as usize)).collect();
        let shape = shape.ok_or("an extent has no value")?;
        let given = &given[param.position];
        let data = if given.strides.is_empty() {
            given.cells.iter().map(|c| Bounded::exact(*c)).collect()
        } else {
            let at = |index: Vec<usize>| index.iter().zip(&given.strides).map(|(i, s)| i * *s as usize).sum::<usize>();
            tenfold_ir::eval::value::indices(&shape).map(|i| Bounded::exact(given.cells[at(i)])).collect()
        };
        inputs.values.push(Value { dtype: ty.dtype, shape, data });
    }
    for decl in &graph.syms {
        if let (SymKind::IndexParam { .. }, Some(v)) = (&decl.kind, value(&decl.sym)) {
            inputs.indices.insert(decl.sym.clone(), v);
        }
    }
    let prim = |name: &str, indices: &[i64], inputs: &[Value], results: &[(Value, Option<usize>)]| {
        tir::eval_values(module, name, indices, inputs, results)
    };
    relax::eval_with(module, graph, &inputs, relax::Callees { prim: &prim, external: &outside::of_relax })
}

/// Results and states at the positions of the entry's arguments.
fn place(defined: &relax::Outputs, graph: &relax::Function, actual: &[Actual]) -> BTreeMap<usize, Vec<Bounded>> {
    let of = |wanted: BufUse| {
        let matching = actual.iter().enumerate();
        matching.filter(move |(_, a)| matches!(a, Actual::Buffer { usage, .. } if *usage == wanted)).map(|(i, _)| i)
    };
    let results = of(BufUse::Out).zip(defined.results.iter().map(|v| v.data.clone()));
    let states = (0..graph.params.len()).filter(|i| graph.params[*i].kind == ParamKind::State);
    let states = of(BufUse::InOut).zip(states.map(|i| defined.states[&i].data.clone()));
    results.chain(states).collect()
}

/// Whether an element is what the definition admits.
pub(crate) fn check_defined(arg: usize, n: usize, expected: Bounded, found: Option<Scalar>) -> Result<(), String> {
    match found {
        Some(f) if expected.admits(f) => Ok(()),
        f => {
            let f = f.map_or("nothing".into(), show);
            let e = show(expected.value);
            Err(format!("argument {arg}, element {n}: defined as {e} within {:e}, found {f}", expected.error))
        }
    }
}

/// What each parameter of the entry gets.
pub(crate) fn actual(
    entry: &PrimFunc,
    syms: &[(Sym, i64)],
    given: impl Iterator<Item = crate::case::Given>,
    bytes: i64,
) -> Result<Vec<Actual>, String> {
    let mut syms: BTreeMap<Sym, i64> = syms.iter().cloned().collect();
    let mut given = given;
    let mut out = Vec::new();
    let mut pools = entry.pools.iter();
    for param in &entry.params {
        out.push(match param {
            Param::Value(var) => {
                let data = &entry.vars[var.0 as usize];
                match (syms.get(&data.sym), data.ty.elem) {
                    (Some(value), Elem::Index) => {
                        if index_params_take_a_place(&data.sym) {
                            given.next();
                        }
                        Actual::Index(*value)
                    }
                    (None, Elem::Scalar(_)) => {
                        let given = given.next().ok_or("too few arguments")?;
                        Actual::Scalar(*given.cells.first().ok_or("a scalar has no value")?)
                    }
                    (..) => return Err(format!("parameter `{}` has no value", data.sym)),
                }
            }
            Param::Buffer(buf, usage) => {
                let data = &entry.buffers[buf.0 as usize];
                let value = |sym: &Sym| syms.get(sym).copied();
                let cells = if *usage == BufUse::Out {
                    let n = data.shape.iter().map(|d| d.eval(&value)).collect::<Option<Vec<_>>>();
                    vec![None; n.ok_or("an extent has no value")?.iter().product::<i64>() as usize]
                } else {
                    let given = given.next().ok_or("too few arguments")?;
                    for (stride, value) in data.strides.iter().flatten().zip(&given.strides) {
                        syms.extend(stride.as_var().map(|sym| (sym.clone(), *value)));
                    }
                    given.cells.iter().map(|c| Some(*c)).collect()
                };
                Actual::Buffer { dtype: data.dtype, cells, usage: *usage }
            }
            // One of several memories is no larger than it must be.
            Param::Workspace => Actual::Workspace(pools.next().map_or(bytes as usize, |bytes| *bytes as usize)),
        });
    }
    Ok(out)
}

/// Index parameters are given like tensors; dims and strides are not. By convention of these tests their names begin
/// with `at`.
fn index_params_take_a_place(sym: &Sym) -> bool {
    sym.as_str().starts_with("at")
}

/// What every buffer holds after the interpreter ran.
fn run(module: &Module, entry: &PrimFunc, actual: &[Actual]) -> Result<BTreeMap<usize, Vec<Option<Bounded>>>, String> {
    let mut args: Vec<Arg> = actual
        .iter()
        .map(|a| match a {
            Actual::Buffer { cells, .. } => Arg::Buffer(cells.iter().map(|c| c.map(Bounded::exact)).collect()),
            Actual::Scalar(value) => Arg::Value(Bounded::exact(*value)),
            Actual::Index(value) => Arg::Value(Bounded::index(*value)),
            Actual::Workspace(bytes) => Arg::Workspace(*bytes),
        })
        .collect();
    tir::eval_with(module, entry, &mut args, &outside::of_tir)?;
    let buffers = args.into_iter().enumerate().filter_map(|(i, arg)| match arg {
        Arg::Buffer(cells) => Some((i, cells)),
        Arg::Value(_) | Arg::Workspace(_) => None,
    });
    Ok(buffers.collect())
}

fn agree(
    expected: &BTreeMap<usize, Vec<Option<Bounded>>>,
    found: &BTreeMap<usize, Vec<Option<Bounded>>>,
) -> Result<(), String> {
    for (arg, cells) in expected {
        for (n, cell) in cells.iter().enumerate() {
            let other = found.get(arg).and_then(|c| c.get(n)).copied().flatten().map(|b| b.value);
            check(*arg, n, *cell, other)?;
        }
    }
    Ok(())
}

/// Whether an element is what the interpreter admits.
pub(crate) fn check(arg: usize, n: usize, expected: Option<Bounded>, found: Option<Scalar>) -> Result<(), String> {
    match (expected, found) {
        (None, _) => Ok(()),
        (Some(e), Some(f)) if e.admits(f) => Ok(()),
        (Some(e), f) => {
            let f = f.map_or("nothing".into(), show);
            Err(format!("argument {arg}, element {n}: expected {} within {:e}, found {f}", show(e.value), e.error))
        }
    }
}

fn show(s: Scalar) -> String {
    if s.dtype.is_float() { format!("{:?} ({:#x})", s.to_f64(), s.bits) } else { s.to_i128().to_string() }
}

/// Why a case did not go through passes.
#[allow(dead_code, reason = "the orders of passes use it")]
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A pass says no.
    Refused(&'static str, tenfold_core::CompileError),
    /// What came out computes something else, or nothing.
    Wrong(String),
}

/// Takes a case through passes of any order; what comes out must be what the interpreter of relax gives.
#[allow(dead_code, reason = "the orders of passes use it")]
pub(crate) fn through(case: &Case, passes: &[pass::Pass], context: &PassContext) -> Result<(), Trouble> {
    let Case { name, module, syms, given, wanted: _ } = case;
    let mut module = module.clone();
    let graph = module.relax(name).ok_or(Trouble::Wrong("no graph".into()))?.clone();
    let defined = define(&module, &graph, syms, given);
    if is_undecided(&defined) {
        return Ok(());
    }
    let defined = defined.map_err(Trouble::Wrong)?;
    let value = |sym: &Sym| syms.iter().find(|(s, _)| s == sym).map(|(_, v)| *v);
    let mut bytes = 0;
    for pass in passes {
        if let Some(plan) = module.relax(name).and_then(|f| f.plan.as_ref()) {
            bytes = plan.workspace.as_ref().and_then(|w| w.eval(&value)).unwrap_or(0);
        }
        pass::run_pass(pass, &mut module, context).map_err(|e| Trouble::Refused(pass.info.name, e))?;
    }
    let compare = || -> Result<(), String> {
        let entry = module.prim(name).ok_or("no entry")?;
        let actual = actual(entry, syms, given.clone().into_iter(), bytes)?;
        let found = run(&module, entry, &actual)?;
        for (arg, cells) in place(&defined, &graph, &actual) {
            for (n, num) in cells.iter().enumerate() {
                check_defined(arg, n, *num, found[&arg].get(n).copied().flatten().map(|b| b.value))?;
            }
        }
        Ok(())
    };
    compare().map_err(Trouble::Wrong)
}
