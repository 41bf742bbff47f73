//! `lookup` gives the same by an instruction and bit by bit, whatever the number of lanes; `scalef` what the interpreter does.

use tenfold_core::Target;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::eval::scalar_ops;
use tenfold_ir::tir::{Access, BufUse, Builder, Expr, Intrinsic, Phase, PrimFunc, Ty};
use tenfold_ir::{DType, Scalar};

use super::{Loaded, compile, host, llvm, module};
use crate::machine::Machine;

/// What is looked up: the first eight, or all.
const TABLE: [i32; 16] = [7, -1, i32::MIN, 0, i32::MAX, 1 << 23, -289_342, 5, 8, 9, -10, 11, 12, -13, 14, 1 << 30];

/// Divided by every number of lanes.
const ELEMENTS: usize = 192;

const LANES: [u16; 7] = [1, 4, 8, 16, 24, 48, 64];

/// What a function looks up: how many numbers, and whether as floats.
#[derive(Clone, Copy)]
struct Table {
    numbers: usize,
    floats: bool,
}

const TABLES: [Table; 3] =
    [Table { numbers: 8, floats: false }, Table { numbers: 16, floats: false }, Table { numbers: 16, floats: true }];

impl Table {
    fn name(self, lanes: u16) -> String {
        format!("{}_{}_by_{lanes}", self.numbers, if self.floats { "floats" } else { "integers" })
    }

    /// The bits of a number.
    fn bits(self, number: usize) -> i32 {
        let value = TABLE[number];
        if self.floats { (value as f32).to_bits() as i32 } else { value }
    }
}

/// `out[i] = lookup(x[i], …)` of vectors.
fn lookup(table: Table, lanes: u16) -> PrimFunc {
    let mut b = Builder::new(&table.name(lanes));
    let dtype = if table.floats { DType::F32 } else { DType::I32 };
    let n = Sym::new("n");
    let shape = vec![IntExpr::var(n.clone()) * IntExpr::from(i64::from(lanes))];
    let x = b.buffer_param("x", DType::I32, shape.clone(), BufUse::In);
    let out = b.buffer_param("out", dtype, shape, BufUse::Out);
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
        for value in &TABLE[..table.numbers] {
            let value = Scalar::int(DType::I32, i128::from(*value));
            let value = b.scalar(if table.floats { Scalar::float(dtype, value.to_i128() as f64) } else { value });
            args.push(b.broadcast(value, lanes));
        }
        let found = b.call(Intrinsic::Lookup, args, Ty { lanes, ..Ty::scalar(dtype) });
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
    let functions = TABLES.iter().flat_map(|table| LANES.map(|lanes| lookup(*table, lanes)));
    let module = module(functions.collect());
    // The bits beyond the low ones say nothing.
    let at: Vec<i32> = (0..ELEMENTS as i32).map(|i| i.wrapping_mul(0x2545_f491)).collect();
    for target in targets() {
        let machine = Machine::of(&target).expect("the host is known");
        let library = Loaded::new(&compile(llvm, &machine, &module, &target).object);
        for table in TABLES {
            let want: Vec<i32> = at.iter().map(|i| table.bits(*i as usize % table.numbers)).collect();
            for lanes in LANES {
                let got = called(&library, &table.name(lanes), &[&at], lanes);
                assert_eq!(got, want, "{}, {:?}", table.name(lanes), target.features);
            }
        }
    }
}

/// The bits that a function of vectors makes of these.
fn called(library: &Loaded, name: &str, args: &[&[i32]], lanes: u16) -> Vec<i32> {
    let bytes = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let args: Vec<Vec<u8>> = args.iter().map(|words| bytes(words)).collect();
    let mut out = vec![0; 4 * ELEMENTS];
    let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
    library.call(name, &args, &mut out, ELEMENTS / usize::from(lanes));
    out.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect()
}

/// `out[i] = scalef(x[i], n[i])` of vectors.
fn scaled(lanes: u16) -> PrimFunc {
    let mut b = Builder::new(&format!("scaled_by_{lanes}"));
    let n = Sym::new("n");
    let shape = vec![IntExpr::var(n.clone()) * IntExpr::from(i64::from(lanes))];
    let args = ["x", "n"].map(|name| b.buffer_param(name, DType::F32, shape.clone(), BufUse::In));
    let out = b.buffer_param("out", DType::F32, shape, BufUse::Out);
    let length = b.dim_param(&n);
    let extent = b.read(length);
    let i = b.index_var("i");
    b.for_(i, extent, |b| {
        let (turn, step, one) = (b.read(i), b.index(lanes.into()), b.index(1));
        let first = b.mul(turn, step);
        let at = b.ramp(first, one, lanes);
        let ty = Ty { lanes, ..Ty::scalar(DType::F32) };
        let args = args.map(|buf| b.raw(Expr::Load { buf, index: vec![at], access: Access::Proven }, ty));
        let value = b.call(Intrinsic::Scalef, args.into(), ty);
        b.store(out, vec![at], value);
    });
    b.func_mut().exported = true;
    b.func_mut().phase = Phase::Target;
    b.finish()
}

#[test]
fn numbers_are_scaled() {
    const WIDE: [u16; 4] = [16, 32, 48, 64];
    let Some(llvm) = llvm() else { return };
    let module = module(WIDE.map(scaled).into());
    let bits = |i: usize| 0x2545_f491_u32.wrapping_mul(i as u32 + 1);
    // Numbers of all sizes, and NaN; exponents of which most keep them finite, and some not.
    let x: Vec<i32> = (0..ELEMENTS).map(|i| if i == 3 { f32::NAN.to_bits() } else { bits(i) } as i32).collect();
    let n = (0..ELEMENTS).map(|i| if i == 7 { f32::NAN } else { bits(3 * i) as i32 as f32 / 1e7 });
    let n: Vec<i32> = n.map(|n| n.to_bits() as i32).collect();
    let float = |bits: i32| Scalar::float(DType::F32, f64::from(f32::from_bits(bits as u32)));
    let want: Vec<Scalar> = x.iter().zip(&n).map(|(x, n)| scalar_ops::scalef(float(*x), float(*n))).collect();
    for target in targets().into_iter().filter(|target| target.has("avx512f")) {
        let machine = Machine::of(&target).expect("the host is known");
        let library = Loaded::new(&compile(llvm, &machine, &module, &target).object);
        for lanes in WIDE {
            let got = called(&library, &format!("scaled_by_{lanes}"), &[&x, &n], lanes);
            for (at, (got, want)) in got.into_iter().zip(&want).enumerate() {
                let both_nan = float(got).to_f64().is_nan() && want.to_f64().is_nan();
                assert!(both_nan || float(got) == *want, "{lanes} lanes, {:?}, {:?}", float(x[at]), float(n[at]));
            }
        }
    }
}
