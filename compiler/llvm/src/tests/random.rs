//! Random expressions over every dtype: the same bits as the reference interpreter.

use tenfold_ir::{
    DType, Module, Scalar,
    arith::{IntExpr, Sym},
    eval::Bounded,
    op::{BinaryOp, CmpOp, UnaryOp},
    tir::{Access, Arg, BufId, BufUse, Builder, ExprId, Intrinsic, PrimFunc, Ty, eval},
};

use super::{Loaded, bytes, casts::same, edges, on_machines, scalars};

const FUNCTIONS: u64 = 120;
const LENGTH: usize = 64;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll() as usize % of.len()]
    }
}

const ARITHMETIC: [BinaryOp; 9] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::DivEuclid,
    BinaryOp::RemEuclid,
    BinaryOp::Min,
    BinaryOp::Max,
];
const BITS: [BinaryOp; 5] = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Shl, BinaryOp::Shr];
const OF_INTS: [UnaryOp; 4] = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::Abs, UnaryOp::Sign];
const OF_FLOATS: [UnaryOp; 8] = [
    UnaryOp::Neg,
    UnaryOp::Abs,
    UnaryOp::Sign,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Round,
    UnaryOp::Trunc,
    UnaryOp::Sqrt,
];
const COMPARISONS: [CmpOp; 6] = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge];

/// An expression of `dtype` over the element at `at` of each of `inputs`.
fn grow(b: &mut Builder, dice: &mut Dice, inputs: &[BufId], at: ExprId, dtype: DType, depth: u32) -> ExprId {
    if depth == 0 || dice.roll().is_multiple_of(8) {
        let buf = inputs.iter().copied().find(|buf| b.buf(*buf).dtype == dtype);
        return match buf {
            Some(buf) if !dice.roll().is_multiple_of(4) => b.load(buf, vec![at], Access::Proven),
            Some(_) | None => {
                let value = dice.pick(&edges(dtype));
                b.scalar(value)
            }
        };
    }
    let sub = |b: &mut Builder, dice: &mut Dice, dtype| grow(b, dice, inputs, at, dtype, depth - 1);
    match dice.roll() % 8 {
        0 => {
            let from = dice.pick(&DType::ALL);
            let x = sub(b, dice, from);
            b.cast(dtype, x)
        }
        1 => {
            let cond = sub(b, dice, DType::Bool);
            let (x, y) = (sub(b, dice, dtype), sub(b, dice, dtype));
            b.if_(cond, x, y)
        }
        2 => {
            let cond = sub(b, dice, DType::Bool);
            let (x, y) = (sub(b, dice, dtype), sub(b, dice, dtype));
            b.select(cond, x, y)
        }
        3 if matches!(dtype, DType::F32 | DType::F64) => {
            let args = vec![sub(b, dice, dtype), sub(b, dice, dtype), sub(b, dice, dtype)];
            b.call(Intrinsic::Fma, args, Ty::scalar(dtype))
        }
        _ if dtype.is_bool() => {
            let of = dice.pick(&DType::ALL);
            let (x, y) = (sub(b, dice, of), sub(b, dice, of));
            b.compare(dice.pick(&COMPARISONS), x, y)
        }
        4 | 5 => {
            let x = sub(b, dice, dtype);
            let op = if dtype.is_float() { dice.pick(&OF_FLOATS) } else { dice.pick(&OF_INTS) };
            b.unary(op, x)
        }
        6 if dtype.is_int() => {
            let (x, y) = (sub(b, dice, dtype), sub(b, dice, dtype));
            b.binary(dice.pick(&BITS), x, y)
        }
        _ => {
            let (x, y) = (sub(b, dice, dtype), sub(b, dice, dtype));
            b.binary(dice.pick(&ARITHMETIC), x, y)
        }
    }
}

/// `out[i] = some expression of a[i], b[i], c[i]`.
fn function(number: u64) -> (PrimFunc, [DType; 3], DType) {
    let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let mut b = Builder::new(&format!("f{number}"));
    let n = Sym::new("n");
    let shape = vec![IntExpr::var(n.clone())];
    let dtypes = [dice.pick(&DType::ALL), dice.pick(&DType::ALL), dice.pick(&DType::ALL)];
    let inputs = dtypes.map(|dtype| b.buffer_param("x", dtype, shape.clone(), BufUse::In));
    let to = dice.pick(&DType::ALL);
    let out = b.buffer_param("out", to, shape, BufUse::Out);
    let length = b.dim_param(&n);
    let extent = b.read(length);
    let i = b.index_var("i");
    b.for_(i, extent, |b| {
        let at = b.read(i);
        let value = grow(b, &mut dice, &inputs, at, to, 5);
        b.store(out, vec![at], value);
    });
    b.func_mut().exported = true;
    b.func_mut().strict = true;
    (b.finish(), dtypes, to)
}

/// What the interpreter makes of it.
fn interpreted(prim: &PrimFunc, inputs: &[Vec<Scalar>; 3]) -> Vec<Scalar> {
    let cells = |values: &[Scalar]| Arg::Buffer(values.iter().map(|value| Some(Bounded::exact(*value))).collect());
    let mut args: Vec<Arg> = inputs.iter().map(|input| cells(input)).collect();
    args.push(Arg::Buffer(vec![None; LENGTH]));
    args.push(Arg::Value(Bounded::index(LENGTH as i64)));
    eval(&Module::default(), prim, &mut args).unwrap_or_else(|error| panic!("{}: {error}", prim.name));
    let Arg::Buffer(cells) = &args[3] else { panic!("the output is a buffer") };
    cells.iter().map(|cell| cell.expect("every element is written").value).collect()
}

fn check(machine: &str, library: &Loaded, number: u64) {
    let (prim, dtypes, to) = function(number);
    let mut dice = Dice(number + 7);
    let inputs = dtypes.map(|dtype| (0..LENGTH).map(|_| dice.pick(&edges(dtype))).collect::<Vec<Scalar>>());
    let raw = inputs.each_ref().map(|input| bytes(input));
    let mut out = vec![0; LENGTH * to.size_bytes()];
    library.call(&prim.name, &[&raw[0], &raw[1], &raw[2]], &mut out, LENGTH);
    let want = interpreted(&prim, &inputs);
    for (i, (got, want)) in scalars(to, &out).into_iter().zip(want).enumerate() {
        let of: Vec<f64> = inputs.iter().map(|input| input[i].to_f64()).collect();
        assert!(
            same(got, want),
            "{machine} {i} {of:?}: {got:?} not {want:?}\n{}",
            tenfold_ir::tir::print(&Module::default(), &prim)
        );
    }
}

#[test]
fn expressions_have_the_bits_of_the_interpreter() {
    let prims = (0..FUNCTIONS).map(|number| function(number).0).collect();
    on_machines(prims, |machine, library| (0..FUNCTIONS).for_each(|number| check(machine, library, number)));
}
