//! Attentions of `f32` as one kernel each, whose threads meet in shared memory: tiles of each size that 16 KiB hold, with a
//! mask, with queries and keys left over, with as many of either as a dim says.

use tenfold_ir::DType;
use tenfold_ir::tir::FuncKind;

use crate::attentions::{masked, of_keys};
use crate::interpret::Prepared;
use crate::networks;

#[test]
fn attentions_are_one_kernel_each() {
    let cases = vec![
        of_keys(DType::F32, 40, [48, 8, 24], false),
        masked(DType::F32, 37, [70, 33, 20]),
        masked(DType::F32, 0, [40, 64, 64]),
        of_keys(DType::F32, 1, [100, 40, 24], false),
        of_keys(DType::F32, 70, [40, 32, 48], true),
    ];
    let is_one = |case: &Prepared| {
        let kernels = case.module.prims().filter(|func| func.kind == FuncKind::Device).count();
        if kernels == 1 { Ok(()) } else { Err(format!("{kernels} kernels")) }
    };
    assert_eq!(networks::run_each(cases, &is_one), Vec::<String>::new());
}
