//! Values that a converter must know: computed now, if they depend on constants alone.
//!
//! The reference interpreter runs the part of the graph that leads to them. Shapes are small, so what is large is not
//! computed: a model of a kilobyte cannot make this one work for long.

use std::collections::BTreeSet;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::eval::Value as Tensor;
use tenfold_ir::relax::{
    self, Binding, BindingBlock, BlockKind, Callees, Inputs, Op, Region, SymKind, ValueId, bindings_of,
};
use tenfold_ir::tir;
use tenfold_ir::{ConstBytes, Module};

use crate::elem::Elem;
use crate::tensor::{Elements, TensorData};
use crate::value::{Fault, Outcome, fault};
use crate::walk::Cx;

/// Elements of the greatest tensor on the way to a value that is computed here.
const LARGEST: i64 = 1 << 16;

/// Bindings on the way to such a value.
const LONGEST: usize = 4096;

/// What a value rests on.
#[derive(Default)]
struct Cone {
    values: BTreeSet<ValueId>,
    params: Vec<String>,
    dims: bool,
    large: bool,
}

impl Cx<'_> {
    /// The elements of a value, if they depend on constants alone.
    pub(crate) fn compute(&mut self, value: ValueId, elem: Elem) -> Outcome<TensorData> {
        let cone = self.cone(value);
        if !cone.params.is_empty() {
            return Err(Fault::Wanted(cone.params));
        }
        if cone.dims {
            return fault("a value that decides a shape depends on dims in a way that is not followed; bind the dims");
        }
        if cone.large {
            return fault("a value that decides a shape takes too much work to compute");
        }
        self.keep_kernels();
        let bindings = self.b.visible().filter(|b| cone.values.contains(&b.out)).cloned().collect();
        let result = run(&self.module, &slice(self.b.function(), bindings, value))?;
        let shape = result.shape.iter().map(|n| *n as u64).collect();
        Ok(TensorData { elem, shape, data: Elements::Bytes(ConstBytes::Inline(result.to_bytes().into())) })
    }

    /// The inputs of the model that a value depends on.
    pub(crate) fn inputs_of(&self, value: ValueId) -> Vec<String> {
        self.cone(value).params
    }

    fn cone(&self, value: ValueId) -> Cone {
        let mut cone = Cone { values: BTreeSet::from([value]), ..Cone::default() };
        let bindings: Vec<_> = self.b.visible().collect();
        let mut defined: BTreeSet<ValueId> = bindings.iter().map(|b| b.out).collect();
        for binding in bindings.iter().rev() {
            if cone.values.contains(&binding.out) {
                cone.values.extend(&binding.args);
                binding.regions.iter().for_each(|region| inside(region, &mut cone.values, &mut defined));
                cone.dims |= matches!(&binding.op, Op::IndexValue { expr, .. } if expr.as_const().is_none());
                cone.values.extend(self.lengths_in(binding));
            }
        }
        for value in &cone.values {
            if let Some(name) = self.params.get(value) {
                cone.params.push(name.clone());
            } else if !defined.contains(value) {
                cone.dims = true;
            }
            let shape = &self.b.tensor(*value).shape;
            let count = shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?));
            cone.large |= count.is_none_or(|n| n > LARGEST);
        }
        cone.large |= cone.values.len() > LONGEST;
        cone
    }
}

impl Cx<'_> {
    /// The values that symbols of a binding are bound to.
    fn lengths_in(&self, binding: &Binding) -> Vec<ValueId> {
        let own: &[IntExpr] =
            if let Op::IndexValue { expr, .. } = &binding.op { std::slice::from_ref(expr) } else { &[] };
        let shape = &self.b.tensor(binding.out).shape;
        let syms: BTreeSet<Sym> = shape.iter().chain(own).filter(|e| self.depends(e)).flat_map(IntExpr::vars).collect();
        if syms.is_empty() {
            return Vec::new();
        }
        let decls = self.b.function().syms.iter().filter(|decl| syms.contains(&decl.sym));
        decls.filter_map(|decl| if let SymKind::Bound(value) = decl.kind { Some(value) } else { None }).collect()
    }
}

/// Values that a region reads, and those that it defines itself.
fn inside(region: &Region, reads: &mut BTreeSet<ValueId>, defined: &mut BTreeSet<ValueId>) {
    defined.extend(&region.params);
    for binding in bindings_of(&region.blocks) {
        reads.extend(&binding.args);
        defined.insert(binding.out);
        binding.regions.iter().for_each(|inner| inside(inner, reads, defined));
    }
    reads.extend(&region.results);
}

/// A function without parameters that gives `result`.
fn slice(func: &relax::Function, bindings: Vec<Binding>, result: ValueId) -> relax::Function {
    let blocks = vec![BindingBlock { kind: BlockKind::Dataflow, bindings }];
    relax::Function {
        name: "fold".into(),
        syms: Vec::new(),
        facts: Vec::new(),
        params: Vec::new(),
        values: func.values.clone(),
        blocks,
        results: vec![result],
        primitive: false,
        phase: func.phase,
        skip_optimization: false,
        pools: Vec::new(),
        plan: None,
    }
}

fn run(module: &Module, func: &relax::Function) -> Outcome<Tensor> {
    let prim = |name: &str, indices: &[i64], inputs: &[Tensor], results: &[(Tensor, Option<usize>)]| {
        tir::eval_values(module, name, indices, inputs, results)
    };
    let external = |path: &str, _: &[Tensor], _: &[Tensor]| Err(format!("`{path}` stands outside the module"));
    let callees = Callees { prim: &prim, external: &external };
    let left = relax::eval_with(module, func, &Inputs::default(), callees);
    let mut left = left.map_err(|e| format!("a value that decides a shape cannot be computed: {e}"))?;
    left.results.pop().ok_or_else(|| Fault::Message("a value that decides a shape cannot be computed".into()))
}
