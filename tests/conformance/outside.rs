//! Functions outside of every module, which files of IR may call: for the interpreters, and in C for back ends.

use tenfold_ir::eval::bounded::binary;
use tenfold_ir::eval::{Bounded, Value};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::Arg;

/// What is linked beside compiled code. `push` has the convention of C, `double` that of a shim of a Rust function.
pub(crate) const IN_C: &str = "
void test_push(float *log, uint32_t *count, float value) { log[*count % 4] = value; *count += 1; }
void test_double(const float *x, ptrdiff_t n, float *y, ptrdiff_t m) {
  (void)m;
  for (ptrdiff_t i = 0; i < n; i++) y[i] = x[i] + x[i];
}
void test_split(const int32_t *x, int64_t n, int64_t *sum, int32_t *least) {
  *sum = 0, *least = 2147483647;
  for (int64_t i = 0; i < n; i++) { *sum += x[i]; if (x[i] < *least) *least = x[i]; }
}
";

/// What the interpreter of relax is given: by path.
pub(crate) fn of_relax(path: &str, args: &[Value], outs: &[Value]) -> Result<Vec<Value>, String> {
    let with = |out: usize, data| Value { data, ..outs[out].clone() };
    match path {
        "crate::double" => Ok(vec![with(0, double(&args[0].data))]),
        "test_push" => {
            let (log, count) = push(&args[0].data, args[1].data[0], args[2].data[0]);
            Ok(vec![with(0, log), with(1, vec![count])])
        }
        "test_split" => {
            let (sum, least) = split(&args[0].data);
            Ok(vec![with(0, vec![sum]), with(1, vec![least])])
        }
        _ => Err(format!("`{path}` stands outside the module")),
    }
}

/// What the interpreter of tir is given: by symbol.
pub(crate) fn of_tir(symbol: &str, args: &mut [Arg]) -> Result<(), String> {
    let written = |data: Vec<Bounded>| Arg::Buffer(data.into_iter().map(Some).collect());
    match (symbol, &mut *args) {
        ("test_double", [x, _, y, _]) => *y = written(double(&read(x))),
        ("test_push", [log, count, value]) => {
            let (all, next) = push(&read(log), read(count)[0], read(value)[0]);
            (*log, *count) = (written(all), written(vec![next]));
        }
        ("test_split", [x, _, sum, least]) => {
            let (a, b) = split(&read(x));
            (*sum, *least) = (written(vec![a]), written(vec![b]));
        }
        _ => return Err(format!("`{symbol}` stands outside the module")),
    }
    Ok(())
}

fn read(arg: &Arg) -> Vec<Bounded> {
    match arg {
        Arg::Buffer(cells) => cells.iter().copied().flatten().collect(),
        Arg::Value(value) => vec![*value],
        Arg::Workspace(_) => Vec::new(),
    }
}

fn double(x: &[Bounded]) -> Vec<Bounded> {
    x.iter().map(|x| binary(BinaryOp::Add, *x, *x)).collect()
}

fn push(log: &[Bounded], count: Bounded, value: Bounded) -> (Vec<Bounded>, Bounded) {
    let mut log = log.to_vec();
    log[count.value.to_i128() as usize % 4] = value;
    let one = Bounded::exact(tenfold_ir::Scalar::int(count.value.dtype, 1));
    (log, binary(BinaryOp::Add, count, one))
}

fn split(x: &[Bounded]) -> (Bounded, Bounded) {
    let numbers = || x.iter().map(|x| x.value.to_i128());
    let of = |dtype, value| Bounded::exact(tenfold_ir::Scalar::int(dtype, value));
    let least = numbers().min().unwrap_or(i128::from(i32::MAX));
    (of(tenfold_ir::DType::I64, numbers().sum()), of(tenfold_ir::DType::I32, least))
}
