//! Every operator with every dtype that it takes, against NumPy and mpmath: `cases.txt`, which `reference.py` writes, and
//! `activations.txt`, in which it writes the values below definitions.
//!
//! An operator that stands in the table of operators and not in the files, and a dtype that one takes and no case of it
//! has, are mistakes. The calls are made many to a function.

mod read;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::DType;
use tenfold_ir::eval::{binary_ulps, ulp, ulps};
use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp, UnaryOp};
use tenfold_ir::ops::{self, Arg, AttrValue, OpCall, OpDef, OpError, OpErrorKind, OpKind};
use tenfold_ir::relax::{Builder, Type, ValueId};

use crate::case::{Case, Make};
use read::{Off, Row, Tensor, Turbofish, Word, definitions, rows};

/// Calls that become one function.
const CALLS: usize = 16;

/// Operators that the language has from Rust.
const RUST: [(&str, ElementOp); 18] = [
    ("neg", ElementOp::Unary(UnaryOp::Neg)),
    ("not", ElementOp::Unary(UnaryOp::Not)),
    ("+", ElementOp::Binary(BinaryOp::Add)),
    ("-", ElementOp::Binary(BinaryOp::Sub)),
    ("*", ElementOp::Binary(BinaryOp::Mul)),
    ("/", ElementOp::Binary(BinaryOp::Div)),
    ("%", ElementOp::Binary(BinaryOp::Rem)),
    ("&", ElementOp::Binary(BinaryOp::And)),
    ("|", ElementOp::Binary(BinaryOp::Or)),
    ("^", ElementOp::Binary(BinaryOp::Xor)),
    ("<<", ElementOp::Binary(BinaryOp::Shl)),
    (">>", ElementOp::Binary(BinaryOp::Shr)),
    ("==", ElementOp::Compare(CmpOp::Eq)),
    ("!=", ElementOp::Compare(CmpOp::Ne)),
    ("<", ElementOp::Compare(CmpOp::Lt)),
    ("<=", ElementOp::Compare(CmpOp::Le)),
    (">", ElementOp::Compare(CmpOp::Gt)),
    (">=", ElementOp::Compare(CmpOp::Ge)),
];

/// The element operator of one of Rust's.
fn of_rust(name: &str) -> Option<ElementOp> {
    let to = name.strip_prefix("as ").and_then(DType::from_name).map(ElementOp::Cast);
    to.or_else(|| RUST.iter().find(|(word, _)| *word == name).map(|(_, op)| *op))
}

fn call_of(row: &Row, dtype: DType, given: &BTreeMap<&str, ValueId>) -> OpCall {
    let arg = |word: &Word| match word {
        Word::Name(name) => Arg::Value(given[name]),
        Word::List(names) => Arg::List(names.iter().map(|name| given[name]).collect()),
        Word::Shape(shape) => Arg::Shape(shape.iter().map(|n| (*n).into()).collect()),
        Word::Number(literal) => Arg::Literal(*literal),
    };
    OpCall {
        args: row.call.args.iter().map(arg).collect(),
        attrs: row.call.attrs.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect(),
        dtype: row.call.typed.map(|typed| match typed {
            Turbofish::Own => dtype,
            Turbofish::This(dtype) => dtype,
        }),
    }
}

fn apply(b: &mut Builder, row: &Row, call: &OpCall) -> Result<ValueId, OpError> {
    match of_rust(&row.call.name) {
        Some(op) => {
            let args = call.args.iter().filter_map(|arg| if let Arg::Value(v) = arg { Some(*v) } else { None });
            b.element(op, &args.collect::<Vec<_>>())
        }
        None => {
            let def = ops::lookup(&row.call.name).unwrap_or_else(|| panic!("no operator: {}", row.text));
            ops::apply(b, def, call)
        }
    }
}

/// Operands as parameters of a function.
fn operands(m: &mut Make, row: &Row, dtype: DType) -> BTreeMap<&'static str, ValueId> {
    let one = |(name, tensor): (&&'static str, &Tensor)| {
        let value = m.values(tensor.dtype(dtype), &tensor.shape, &tensor.cells(dtype));
        (*name, value)
    };
    row.operands.iter().map(one).collect()
}

/// Makes the call of a row; gives its results.
fn make(m: &mut Make, row: &Row, dtype: DType) -> Result<Vec<ValueId>, OpError> {
    let given = operands(m, row, dtype);
    let value = apply(&mut m.b, row, &call_of(row, dtype, &given))?;
    Ok(match m.b.ty(value) {
        Type::Tuple(parts) => {
            let count = parts.len();
            m.parts(value, count)
        }
        Type::Tensor(_) | Type::Shape(_) => vec![value],
    })
}

/// What the operator states of its own error, in units in the last place.
fn stated(row: &Row) -> f64 {
    let plain = OpCall::default();
    let op = match ops::lookup(&row.call.name).map(|def| def.kind) {
        Some(OpKind::Element(build)) => build(&plain).ok(),
        Some(OpKind::Graph(_)) => None,
        None => of_rust(&row.call.name),
    };
    let bound = match op {
        Some(ElementOp::Unary(op)) => ulps(op),
        Some(ElementOp::Binary(op)) => binary_ulps(op),
        _ => 0.0,
    };
    if bound > 0.5 { bound } else { 0.0 }
}

/// How far each number of a result may be from what the file says.
fn slack(row: &Row, result: &Tensor, off: Off, dtype: DType) -> Vec<f64> {
    let numbers: Vec<f64> = result.cells(dtype).iter().map(|cell| cell.to_f64()).collect();
    let own = result.dtype(dtype);
    let finite = numbers.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let largest = finite.fold(0.0, f64::max);
    let first = || match &row.call.args[0] {
        Word::Name(name) => &row.operands[name].numbers,
        other => panic!("{}: {other:?} is no operand", row.text),
    };
    let one = |(at, x): (usize, &f64)| match off {
        Off::Stated => stated(row) * ulp(own, *x),
        Off::Largest(units) => units * ulp(own, largest),
        Off::Each(units) => units * ulp(own, *x),
        Off::Operand(units) => units * ulp(own, x.abs().max(first()[at].real().abs())),
    };
    numbers.iter().enumerate().map(one).collect()
}

/// A function of many calls.
fn function(name: &str, rows: &[&Row], dtype: DType) -> Case {
    let mut m = Make::new(name);
    let mut all = Vec::new();
    for row in rows {
        let found = make(&mut m, row, dtype).unwrap_or_else(|e| panic!("{} : {dtype}: {e:?}", row.text));
        assert_eq!(found.len(), row.results.len(), "{} gives another number of results", row.text);
        for (value, (result, off)) in found.iter().zip(&row.results) {
            let ty = m.b.tensor(*value).clone();
            assert_eq!(ty.dtype, result.dtype(dtype), "{} : {dtype}: the dtype of a result", row.text);
            let shape: Vec<Option<i64>> = ty.shape.iter().map(|d| d.as_const()).collect();
            let wanted: Vec<Option<i64>> = result.shape.iter().map(|n| Some(*n)).collect();
            assert_eq!(shape, wanted, "{} : {dtype}: the shape of a result", row.text);
            // Of a dtype that is stored only, what is said of all others holds.
            if row.dtypes.contains(&dtype) || row.dtypes.len() == DType::ALL.len() {
                m.wants(*value, row.text, result.cells(dtype), slack(row, result, *off, dtype));
            }
        }
        all.extend(found);
    }
    m.done(&all)
}

fn check(dtype: DType) {
    let rows = rows();
    let those: Vec<&Row> = rows.iter().filter(|row| row.dtypes.contains(&dtype)).collect();
    let cases = those.chunks(CALLS).enumerate();
    let cases = cases.map(|(n, rows)| function(&format!("table_{}_{n}", dtype.name()), rows, dtype)).collect();
    let errors = crate::native::run(cases, &format!("table_{}", dtype.name()));
    assert!(errors.is_empty(), "{} mistakes\n{}", errors.len(), errors.join("\n"));
}

macro_rules! dtypes {
    ($($test:ident $dtype:ident)+) => {
        $(
            #[test]
            fn $test() {
                check(DType::$dtype);
            }
        )+

        #[test]
        fn every_dtype_has_a_test() {
            assert_eq!(DType::ALL, [$(DType::$dtype),+]);
        }
    };
}

dtypes! {
    bools Bool
    i8s I8
    u8s U8
    i16s I16
    u16s U16
    i32s I32
    u32s U32
    i64s I64
    u64s U64
    f16s F16
    bf16s BF16
    f32s F32
    f64s F64
}

/// A dtype that is stored only: each operator refuses it because of it, or its first case is right.
fn check_stored(dtype: DType) {
    let rows = rows();
    let (mut seen, mut taken, mut wrong) = (BTreeSet::new(), Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| seen.insert(&row.call.name)) {
        match make(&mut Make::new("stored"), row, dtype) {
            Ok(_) => taken.push(row),
            Err(e) if e.kind == OpErrorKind::DType => {}
            Err(e) => wrong.push(format!("`{}` refuses `{dtype}`, but not because of it: {}", row.text, e.message)),
        }
    }
    let cases = taken.iter().enumerate();
    let cases = cases.map(|(n, row)| function(&format!("stored_{}_{n}", dtype.name()), &[*row], dtype)).collect();
    wrong.extend(crate::native::run(cases, &format!("stored_{}", dtype.name())));
    assert!(taken.len() >= 20, "only {} operators take `{dtype}`", taken.len());
    assert!(wrong.is_empty(), "{} mistakes\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn stored_floats() {
    [DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ].into_iter().for_each(check_stored);
}

#[test]
fn stored_integers() {
    [DType::I4, DType::U4].into_iter().for_each(check_stored);
}

/// Every operator has cases, of every dtype that it takes; what has none is refused because of its dtype.
#[test]
fn every_operator_has_cases_of_its_dtypes() {
    let rows = rows();
    let mut of: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| of.entry(&row.call.name).or_default().push(row));
    let casts: Vec<String> = DType::ALL.iter().filter(|d| !d.is_bool()).map(|d| format!("as {d}")).collect();
    let known =
        ops::all().map(|def| def.name).chain(RUST.map(|(name, _)| name)).chain(casts.iter().map(String::as_str));
    let mut missing = Vec::new();
    for name in known {
        let Some(rows) = of.get(name) else {
            missing.push(format!("`{name}` has no case"));
            continue;
        };
        let declared: BTreeSet<DType> = rows.iter().flat_map(|row| row.dtypes.iter().copied()).collect();
        for dtype in DType::ALL.into_iter().filter(|dtype| !declared.contains(dtype)) {
            match make(&mut Make::new("refused"), rows[0], dtype) {
                Ok(_) => missing.push(format!("`{name}` takes `{dtype}`, of which it has no case")),
                Err(e) if e.kind == OpErrorKind::DType => {}
                Err(e) => missing.push(format!("`{name}` refuses `{dtype}`, but not because of it: {}", e.message)),
            }
        }
    }
    assert!(missing.is_empty(), "{} mistakes\n{}", missing.len(), missing.join("\n"));
}

/// A line of `activations.txt` below which `reference.py` has not written the values yet tests nothing.
#[test]
fn every_definition_has_its_values() {
    let (rows, definitions) = (rows(), definitions());
    let of = |call: &str| rows.iter().filter(|row| row.text == call && row.dtypes.contains(&DType::F32)).count();
    let missing: Vec<&&str> = definitions.iter().filter(|call| of(call) != 4).collect();
    assert!(missing.is_empty(), "run tests/conformance/table/reference.py: {missing:?} have not four cases");
    assert!(definitions.len() >= 21, "only {definitions:?}");
}

/// Shapes and numbers at which operators go wrong are among the cases: no elements, NaN, infinities, and rank 0 and
/// broadcasting where an operator works element by element.
#[test]
fn cases_have_corners() {
    let rows = rows();
    let has = |name: &str, corner: &dyn Fn(&Tensor) -> bool| {
        let mut of = rows.iter().filter(|row| row.call.name == name);
        of.any(|row| row.operands.values().chain(row.results.iter().map(|(result, _)| result)).any(corner))
    };
    let floats = |name: &str| rows.iter().any(|row| row.call.name == name && row.dtypes.contains(&DType::F32));
    let empty = |t: &Tensor| t.shape.contains(&0);
    let scalar = |t: &Tensor| t.shape.is_empty();
    let nan = |t: &Tensor| t.numbers.iter().any(|n| n.real().is_nan());
    let without = |corner: &dyn Fn(&Tensor) -> bool, may: &dyn Fn(&OpDef) -> bool| -> Vec<&str> {
        ops::all().filter(|def| may(def) && !has(def.name, corner)).map(|def| def.name).collect()
    };
    assert_eq!(without(&empty, &|_| true), ["mel_weight_matrix"], "operators without a case that has no elements");
    let element = |def: &OpDef| matches!(def.kind, OpKind::Element(_));
    assert!(without(&scalar, &element).is_empty(), "{:?} have no case of rank 0", without(&scalar, &element));
    let lacking = |corner: &dyn Fn(&Tensor) -> bool| -> BTreeSet<&str> {
        without(corner, &|def| floats(def.name)).into_iter().collect()
    };
    let and_these = |more: &[&'static str]| -> BTreeSet<&str> { NOT_OF_FLOATS.iter().chain(more).copied().collect() };
    assert_eq!(lacking(&nan), and_these(&NO_NAN), "operators without a case that has NaN");
    let infinite = |t: &Tensor| t.numbers.iter().any(|n| n.real().is_infinite());
    assert_eq!(lacking(&infinite), and_these(&NO_INFINITY), "operators without a case that has an infinity");
    let broadcast = |name: &str| {
        let shapes = |row: &&Row| row.operands.values().map(|t| &t.shape).collect::<BTreeSet<_>>().len() > 1;
        rows.iter().filter(|row| row.call.name == name).any(|row| shapes(&row))
    };
    let several = ops::all().filter(|def| element(def) && def.arity.0 > 1).map(|def| def.name);
    let alike: Vec<&str> = several.chain(BINARY).filter(|name| !broadcast(name)).collect();
    assert!(alike.is_empty(), "{alike:?} have no case with operands of two shapes");
}

/// An axis is counted from the end in a case of every operator that names one.
#[test]
fn axes_are_counted_from_the_end() {
    let rows = rows();
    let negative = |value: &AttrValue| format!("{value:?}").contains('-');
    let counted = |name: &str| {
        let mut of = rows.iter().filter(|row| row.call.name == name).flat_map(|row| &row.call.attrs);
        of.any(|(attr, value)| AXES.contains(attr) && negative(value))
    };
    let named = ops::all().filter(|def| def.attrs.iter().any(|attr| AXES.contains(&attr.name)));
    let (of, missing): (Vec<&str>, Vec<&str>) = named.map(|def| def.name).partition(|name| counted(name));
    assert!(missing.is_empty(), "{missing:?} have no case with a negative axis");
    assert!(of.len() >= 40, "only {of:?} name axes");
}

/// Attributes that name axes.
const AXES: [&str; 2] = ["axis", "axes"];

/// Rust's operators of two operands that broadcast.
const BINARY: [&str; 16] = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="];

/// What is not computed from floats, and classes drawn by weights, which neither NaN nor an infinity is one of.
const NOT_OF_FLOATS: [&str; 11] = [
    "hann_window",
    "hamming_window",
    "blackman_window",
    "mel_weight_matrix",
    "zeros",
    "ones",
    "arange",
    "eye",
    "random_uniform",
    "random_normal",
    "multinomial",
];

/// Transforms of real numbers: a sum with NaN in it may leave an imaginary part 0.
const NO_NAN: [&str; 2] = ["rfft", "stft"];

/// Transforms and factors: the order of their sums says where an infinity becomes NaN.
const NO_INFINITY: [&str; 8] = ["rfft", "irfft", "fft", "ifft", "stft", "inv", "lu", "qr"];
