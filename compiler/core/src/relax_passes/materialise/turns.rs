//! What a turn hands on is copied into what the loop carries, one after the other: none may be another's old value.

use tenfold_ir::relax::{self, Binding, BindingBlock, BlockKind, Op};

use super::copy;
use crate::homes::{Home, Homes};

/// Copies next values that live where another carried value does (`(a, b) = (b, a)`).
pub(super) fn turns(func: &mut relax::Function) {
    let homes = Homes::new(func);
    func.rewrite(|func, mut binding| {
        if matches!(binding.op, Op::For { .. } | Op::While) {
            turn(func, &homes, &mut binding);
        }
        vec![binding]
    });
}

fn turn(func: &mut relax::Function, homes: &Homes, binding: &mut Binding) {
    let out = binding.out;
    let count = binding.args.len();
    let Some(body) = binding.regions.last_mut() else { return };
    let carried: Vec<Home> = (0..count).map(|i| homes.part((out, i))).collect();
    let mut copies = Vec::new();
    for (index, result) in body.results.iter_mut().enumerate() {
        let home = homes.get(*result);
        if carried.iter().enumerate().any(|(other, c)| other != index && *c == home) {
            let made = copy(func, *result);
            *result = made.out;
            copies.push(made);
        }
    }
    if !copies.is_empty() {
        body.blocks.push(BindingBlock { kind: BlockKind::Dataflow, bindings: copies });
    }
}
