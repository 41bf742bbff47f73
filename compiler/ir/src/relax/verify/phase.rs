//! What a phase allows, and the plan.

use super::{Binding, Op, Type, ValueId, Verifier, rules};
use crate::relax::{Phase, op_name};

impl Verifier<'_> {
    pub(super) fn phase(&mut self, binding: &Binding, ty: &Type) {
        let phase = self.func.phase;
        if phase == Phase::Imported {
            return;
        }
        let nested = matches!(ty, Type::Tuple(items) if items.iter().any(|item| matches!(item, Type::Tuple(_))));
        if nested {
            self.fail(rules::NESTED_TUPLE, binding.out, format!("a tuple in a tuple in phase {phase:?}"));
        }
        if last_phase(&binding.op).is_some_and(|last| phase > last) && !self.calls_group(&binding.op, phase) {
            let name = op_name(&binding.op);
            self.fail(rules::PHASE_OP, binding.out, format!("`{name}` has no place in phase {phase:?}"));
        }
    }

    /// Whether an op calls a group of kernels that will be one.
    fn calls_group(&self, op: &Op, phase: Phase) -> bool {
        let Op::CallFn { func, .. } = op else { return false };
        phase == Phase::Legalised && self.module.relax(func).is_some_and(|callee| callee.primitive)
    }

    pub(super) fn plan(&mut self) {
        match (&self.func.plan, self.func.phase) {
            (None, Phase::Planned) => self.complain(rules::PLAN, "a planned function has a plan".to_string()),
            (Some(_), Phase::Imported | Phase::Normalised | Phase::Materialised | Phase::Legalised) => {
                self.complain(rules::PLAN, "only a planned function has a plan".to_string());
            }
            (Some(plan), Phase::Planned) => {
                let homeless = |v: &ValueId| plan.places.get(v.0 as usize).is_none_or(Option::is_none);
                let bound = self.bound.iter().enumerate().filter(|(_, bound)| **bound);
                let values: Vec<ValueId> = bound.map(|(i, _)| ValueId(i as u32)).filter(homeless).collect();
                values.into_iter().for_each(|value| self.fail(rules::PLAN, value, "has no place in the plan"));
            }
            (None, Phase::Imported | Phase::Normalised | Phase::Materialised | Phase::Legalised) => {}
        }
    }
}

/// The last phase in which an op has a place; `None` if it has one in all.
fn last_phase(op: &Op) -> Option<Phase> {
    match op {
        Op::CallFn { .. }
        | Op::MatchShape { .. }
        | Op::ShapeOf
        | Op::Shape { .. }
        | Op::ShapeToTensor
        | Op::TensorToShape => Some(Phase::Imported),
        Op::CallTir { .. }
        | Op::CallDps { .. }
        | Op::CallPacked { .. }
        | Op::Const(_)
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::Reshape { .. }
        | Op::BindIndex(_)
        | Op::Assert { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::StoreState { .. } => None,
        Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::LayerNorm { .. }
        | Op::BatchNorm { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::SliceUpdate { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. }
        | Op::Full { .. }
        | Op::Arange { .. }
        | Op::Later { .. } => Some(Phase::Materialised),
    }
}
