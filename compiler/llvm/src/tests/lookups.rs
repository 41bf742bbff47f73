//! `lookup` gives the same by an instruction and bit by bit, whatever the number of lanes.

use tenfold_core::Target;
use tenfold_ir::DType;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{Access, BufUse, Builder, Expr, Intrinsic, Phase, PrimFunc, Ty};

use super::{Loaded, compile, host, llvm, module};
use crate::machine::Machine;

/// What is looked up.
const TABLE: [i32; 8] = [7, -1, i32::MIN, 0, i32::MAX, 1 << 23, -289_342, 5];

/// Divided by every number of lanes.
const ELEMENTS: usize = 192;

const LANES: [u16; 7] = [1, 4, 8, 16, 24, 48, 64];

/// `out[i] = lookup(x[i], …)` of vectors.
fn lookup(lanes: u16) -> PrimFunc {
    let mut b = Builder::new(&format!("by_{lanes}"));
    let n = Sym::new("n");
    let shape = vec![IntExpr::var(n.clone()) * IntExpr::from(i64::from(lanes))];
    let x = b.buffer_param("x", DType::I32, shape.clone(), BufUse::In);
    let out = b.buffer_param("out", DType::I32, shape, BufUse::Out);
    let length = b.dim_param(&n);
    let extent = b.read(length);
    let i = b.index_var("i");
    b.for_(i, extent, |b| {
        let (turn, step, one) = (b.read(i), b.index(lanes.into()), b.index(1));
        let mut at = b.mul(turn, step);
        if lanes > 1 {
            at = b.ramp(at, one, lanes);
        }
        let ty = Ty { lanes, ..Ty::scalar(DType::I32) };
        let mut args = vec![b.raw(Expr::Load { buf: x, index: vec![at], access: Access::Proven }, ty)];
        for value in TABLE {
            let value = b.scalar(tenfold_ir::Scalar::int(DType::I32, value.into()));
            args.push(b.broadcast(value, lanes));
        }
        let found = b.call(Intrinsic::Lookup, args, ty);
        b.store(out, vec![at], found);
    });
    b.func_mut().exported = true;
    b.func_mut().phase = Phase::Target;
    b.finish()
}

/// The host as it is, and with each kind of vectors that it has.
fn targets() -> Vec<Target> {
    let triple = host().triple;
    let mut all = vec![host()];
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx2") {
            all.push(Target::from_triple(&triple, &["avx", "avx2"]));
        }
        if std::is_x86_feature_detected!("avx512f") {
            all.push(Target::from_triple(&triple, &["avx", "avx2", "avx512f"]));
        }
    }
    all
}

#[test]
fn numbers_are_looked_up() {
    let Some(llvm) = llvm() else { return };
    let module = module(LANES.map(lookup).into());
    // The bits beyond the low three say nothing.
    let at: Vec<i32> = (0..ELEMENTS as i32).map(|i| i.wrapping_mul(0x2545_f491)).collect();
    let want: Vec<i32> = at.iter().map(|i| TABLE[(i & 7) as usize]).collect();
    let bytes: Vec<u8> = at.iter().flat_map(|i| i.to_le_bytes()).collect();
    for target in targets() {
        let machine = Machine::of(&target).expect("the host is known");
        let library = Loaded::new(&compile(llvm, &machine, &module, &target).object);
        for lanes in LANES {
            let mut out = vec![0; bytes.len()];
            library.call(&format!("by_{lanes}"), &[&bytes], &mut out, ELEMENTS / usize::from(lanes));
            let (words, _) = out.as_chunks();
            let got: Vec<i32> = words.iter().map(|word| i32::from_le_bytes(*word)).collect();
            assert_eq!(got, want, "{lanes} lanes, {:?}", target.features);
        }
    }
}
