//! A group of calls as a function of its own.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::relax::{
    self, Binding, BindingBlock, BlockKind, FactDecl, Op, Param, ParamKind, Phase, SymDecl, SymKind, Type, ValueId,
};
use tenfold_ir::{Module, tir};

use tenfold_ir::relax::natural;

/// A function and the call of it.
pub(crate) struct Grouped {
    /// The function.
    pub func: relax::Function,
    /// The call, which gives the value of the group's last binding.
    pub call: Binding,
}

/// The bindings, in order, as a primitive function called `name`. The last one's value is its result.
pub(crate) fn group(module: &Module, func: &relax::Function, name: &str, members: &[&Binding]) -> Option<Grouped> {
    let last = members.last()?;
    let made: BTreeSet<ValueId> = members.iter().map(|b| b.out).collect();
    let mut args: Vec<ValueId> = Vec::new();
    for arg in members.iter().flat_map(|b| &b.args) {
        if !made.contains(arg) && !args.contains(arg) {
            args.push(*arg);
        }
    }
    let (syms, facts) = symbols(module, func, members, &args);
    let data = |v: &ValueId| func.values[v.0 as usize].clone();
    let loc = data(&last.out).loc;
    let fact = |fact: Fact| FactDecl { text: fact.to_string(), fact, loc };
    // Its values alone: the function around it may be long, and every group would copy all of it.
    let values: Vec<ValueId> = args.iter().copied().chain(members.iter().map(|b| b.out)).collect();
    let number: BTreeMap<ValueId, ValueId> = values.iter().copied().zip((0..).map(ValueId)).collect();
    let param = |n: usize| Param { value: ValueId(n as u32), kind: ParamKind::Input, position: n };
    let inner = relax::Function {
        name: name.to_string(),
        syms: declared(func, &syms, args.len()),
        facts: facts.into_iter().map(fact).collect(),
        params: (0..args.len()).map(param).collect(),
        values: values.iter().map(data).collect(),
        blocks: vec![BindingBlock {
            kind: BlockKind::Dataflow,
            bindings: members.iter().map(|b| renumbered(b, &number)).collect(),
        }],
        results: vec![number[&last.out]],
        primitive: true,
        phase: Phase::Legalised,
        skip_optimization: func.skip_optimization,
        pools: Vec::new(),
        plan: None,
    };
    let result = func.values[last.out.0 as usize].ty.clone();
    let syms = syms.iter().map(|s| IntExpr::var(s.clone())).collect();
    let op = Op::CallFn { func: name.to_string(), syms, result };
    Some(Grouped { func: inner, call: Binding::new(last.out, op, args) })
}

/// A call of a kernel, which has no regions, over other numbers.
fn renumbered(binding: &Binding, number: &BTreeMap<ValueId, ValueId>) -> Binding {
    let args = binding.args.iter().map(|a| number[a]).collect();
    Binding::new(number[&binding.out], binding.op.clone(), args)
}

/// The symbols that the bindings and the types of their values are made of, and those that facts tie to them.
fn symbols(
    module: &Module,
    func: &relax::Function,
    members: &[&Binding],
    args: &[ValueId],
) -> (BTreeSet<Sym>, Vec<Fact>) {
    let mut syms: BTreeSet<Sym> = BTreeSet::new();
    for binding in members {
        syms.extend(binding.op.exprs().iter().flat_map(|e| e.vars()));
    }
    for value in members.iter().map(|b| b.out).chain(args.iter().copied()) {
        let data = &func.values[value.0 as usize];
        if let Type::Tensor(ty) = &data.ty {
            syms.extend(ty.shape.iter().flat_map(|d| d.vars()));
        }
        syms.extend(data.range.iter().flat_map(|(lo, hi)| [lo, hi]).flat_map(|e| e.vars()));
    }
    let here: Vec<Fact> = members.iter().flat_map(|binding| facts_of(module, binding)).collect();
    let facts = relax::known_facts(func, &mut syms, &here);
    (syms, facts)
}

/// What a called kernel was told, in the symbols of its caller.
fn facts_of(module: &Module, binding: &Binding) -> Vec<Fact> {
    let Op::CallTir { func, syms, .. } = &binding.op else { return Vec::new() };
    let Some(prim) = module.prim(func) else { return Vec::new() };
    let values = prim.params.iter().filter_map(|p| match p {
        tir::Param::Value(var) => Some(&prim.vars[var.0 as usize].sym),
        tir::Param::Buffer(..) | tir::Param::Workspace => None,
    });
    let map: BTreeMap<&Sym, &IntExpr> = values.zip(syms).collect();
    let told = prim.facts.iter().map(|fact| fact.substitute(&|sym| map.get(sym).map(|e| (*e).clone())));
    told.filter(|fact| !fact.vars().is_empty()).collect()
}

fn declared(func: &relax::Function, syms: &BTreeSet<Sym>, params: usize) -> Vec<SymDecl> {
    let kind = |n: usize, sym: &Sym| {
        let unsigned = func.syms.iter().any(|d| d.sym == *sym && natural(&d.kind));
        SymKind::IndexParam { param: params + n, unsigned }
    };
    let loc = |sym: &Sym| func.syms.iter().find(|d| d.sym == *sym).map(|d| d.loc).unwrap_or_default();
    syms.iter().enumerate().map(|(n, s)| SymDecl { sym: s.clone(), kind: kind(n, s), loc: loc(s) }).collect()
}
