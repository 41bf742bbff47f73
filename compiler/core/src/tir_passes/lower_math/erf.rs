//! The error function: of f32 by a power of two, of f64 by fdlibm's rational approximations on four intervals.

use tenfold_ir::op::CmpOp::{Ge, Gt, Lt};
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::ExprId;

use super::exp::exp;
use super::kit::Kit;
use super::power::OF_HALF;

/// -log2(1 - erf(t)) / t up to [`ONE`], least squares of the relative error of erf weighted towards the largest; each
/// coefficient is rounded to f32 before those behind it are fitted.
const EXPONENT: [f64; 8] = [
    1.627_907_037_734_985_4,
    9.184_446_930_885_315e-1,
    1.483_215_689_659_118_7e-1,
    -2.785_219_997_167_587_3e-2,
    2.650_809_474_289_417e-4,
    1.828_205_655_328_929_4e-3,
    -5.573_750_822_804_868e-4,
    5.975_811_654_934_66e-5,
];
/// From here on it rounds to 1.
const ONE: f64 = 3.95;

const PP: [f64; 5] = [
    1.283_791_670_955_125_6e-1,
    -3.250_421_072_470_015e-1,
    -2.848_174_957_559_851e-2,
    -5.770_270_296_489_442e-3,
    -2.376_301_665_665_016_3e-5,
];
const QQ: [f64; 6] = [
    1.0,
    3.979_172_239_591_553_5e-1,
    6.502_224_998_876_73e-2,
    5.081_306_281_875_766e-3,
    1.324_947_380_043_216_4e-4,
    -3.960_228_278_775_368e-6,
];
const PA: [f64; 7] = [
    -2.362_118_560_752_659_4e-3,
    4.148_561_186_837_483_3e-1,
    -3.722_078_760_357_013e-1,
    3.183_466_199_011_617_5e-1,
    -1.108_946_942_823_966_8e-1,
    3.547_830_432_561_823_6e-2,
    -2.166_375_594_868_791e-3,
];
const QA: [f64; 7] = [
    1.0,
    1.064_208_804_008_442_3e-1,
    5.403_979_177_021_71e-1,
    7.182_865_441_419_627e-2,
    1.261_712_198_087_616_4e-1,
    1.363_708_391_202_905e-2,
    1.198_449_984_679_910_7e-2,
];
const RA: [f64; 8] = [
    -9.864_944_034_847_148e-3,
    -6.938_585_727_071_818e-1,
    -1.055_862_622_532_329_1e1,
    -6.237_533_245_032_600_6e1,
    -1.623_966_694_625_734_7e2,
    -1.846_050_929_067_110_4e2,
    -8.128_743_550_630_66e1,
    -9.814_329_344_169_145,
];
const SA: [f64; 9] = [
    1.0,
    1.965_127_166_743_925_7e1,
    1.376_577_541_435_190_4e2,
    4.345_658_774_752_292_3e2,
    6.453_872_717_332_679e2,
    4.290_081_400_275_678_3e2,
    1.086_350_055_417_794_4e2,
    6.570_249_770_319_282,
    -6.042_441_521_485_81e-2,
];
const RB: [f64; 7] = [
    -9.864_942_924_700_1e-3,
    -7.992_832_376_805_23e-1,
    -1.775_795_491_775_475_2e1,
    -1.606_363_848_558_219_2e2,
    -6.375_664_433_683_896e2,
    -1.025_095_131_611_077_2e3,
    -4.835_191_916_086_514e2,
];
const SB: [f64; 8] = [
    1.0,
    3.033_806_074_348_246e1,
    3.257_925_129_965_739e2,
    1.536_729_586_084_437e3,
    3.199_858_219_508_595_5e3,
    2.553_050_406_433_164_4e3,
    4.745_285_412_069_553_7e2,
    -2.244_095_244_658_582e1,
];
const ERX: f64 = 8.450_629_115_104_675e-1;

fn ratio(k: &mut Kit<'_>, x: ExprId, top: &[f64], below: &[f64]) -> ExprId {
    let (p, q) = (k.poly(x, top), k.poly(x, below));
    k.div(p, q)
}

/// Error function.
pub(super) fn erf(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    if k.double() { double(k, x) } else { single(k, x) }
}

/// Of f32: 1 - 2^e with e = -t Q(t). With n = round(e) and r = e - n that is (1 - 2^n) - 2^n (2^r - 1), which cancels
/// nothing near 0. A NaN fails every comparison and stays one.
fn single(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let most = k.c(ONE);
    let t = k.where_c(size, Gt, ONE, most, size);
    let (q, down) = (k.poly(t, &EXPONENT), k.neg(t));
    let exponent = k.mul(q, down);
    let (float, n) = k.nearest_and(exponent, k.bias());
    let r = k.sub(exponent, float);
    let p = k.poly(r, &OF_HALF);
    let (p, power, one) = (k.mul(p, r), k.power_of_biased(n), k.c(1.0));
    let (rest, down) = (k.sub(one, power), k.neg(power));
    let value = k.mad(down, p, rest);
    k.with_sign(value, x)
}

/// Of f64.
fn double(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let z = k.mul(x, x);
    let small = ratio(k, z, &PP, &QQ);
    let small = k.mad(size, small, size);
    let one = k.c(1.0);
    let s = k.sub(size, one);
    let (middle, erx) = (ratio(k, s, &PA, &QA), k.c(ERX));
    let middle = k.add(erx, middle);
    let large = tail(k, size, z);
    let value = k.where_c(size, Lt, 1.25, middle, large);
    let value = k.where_c(size, Lt, 0.843_75, small, value);
    let value = k.where_c(size, Ge, 6.0, one, value);
    let value = k.with_sign(value, x);
    let is_nan = k.unary(UnaryOp::IsNan, x);
    k.select(is_nan, x, value)
}

/// 1 - exp(-x^2 - 0.5625 + R / S) / x for x in [1.25, 6).
fn tail(k: &mut Kit<'_>, size: ExprId, z: ExprId) -> ExprId {
    let one = k.c(1.0);
    let inverse = k.div(one, z);
    let (a, b) = (ratio(k, inverse, &RA, &SA), ratio(k, inverse, &RB, &SB));
    let r = k.where_c(size, Lt, 2.857_142_857_142_857, a, b);
    let shift = k.c(0.5625);
    let minus = k.neg(z);
    let exponent = k.sub(minus, shift);
    let exponent = k.add(exponent, r);
    let e = exp(k, exponent);
    let part = k.div(e, size);
    k.sub(one, part)
}
