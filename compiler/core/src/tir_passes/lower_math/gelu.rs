//! x Φ(x), as it is written: x (1 + erf(x / √2)) / 2. By its parts it takes an error function, of which only what 1 leaves
//! of it counts; as a whole it is one power of two, or a short polynomial whose coefficients are looked up, and what is left
//! of negative numbers is nearer to the exact value than by the parts, where 1 cancels most of it.

use tenfold_ir::op::CmpOp::{Gt, Lt};
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId};
use tenfold_ir::{DType, Scalar};

use super::kit::{Kit, Tables};
use super::power::{half_of_power, tables as tables_of};

/// log2(2 Φ(-t)) / t up to [`MOST`], least squares of the error of Φ, and of a ten-thousandth of the relative one, weighted
/// towards the largest; each coefficient is rounded to f32 before those behind it are fitted.
const EXPONENT: [f64; 9] = [
    -1.151_105_165_481_567_4,
    -4.592_091_739_177_704e-1,
    -5.248_880_758_881_569e-2,
    7.040_469_441_562_891e-3,
    -1.018_340_699_937_674_6e-4,
    -2.147_500_345_017_761e-4,
    5.191_141_463_001_259e-5,
    -5.612_410_404_864_931_5e-6,
    2.421_951_421_638_368_6e-7,
];
/// From here on Φ(-t) is less than 1e-9, and taken to be nothing.
const MOST: f64 = 6.0;

/// Φ(-t) near halves j / 2: its coefficients by t - j / 2 up to a quarter, from the least to the highest, of each j; least
/// squares of the error, and each coefficient is rounded to f32 before those behind it are fitted.
const PIECES: [[f64; 16]; 6] = [
    [
        0.5,
        0.308_537_572_622_299_2,
        0.158_655_270_934_104_92,
        6.680_719_554_424_286e-2,
        2.275_012_247_264_385_2e-2,
        6.209_661_252_796_65e-3,
        1.349_898_870_103_061_2e-3,
        2.326_304_529_560_729_9e-4,
        3.167_187_605_868_094e-5,
        3.397_845_375_729_957_6e-6,
        2.866_830_755_010_596_5e-7,
        1.899_364_399_093_883_5e-8,
        9.869_727_257_694_194e-10,
        4.018_688_853_912_877_3e-11,
        1.281_216_018_694_797_4e-12,
        3.196_413_335_296_126e-14,
    ],
    [
        -0.398_942_261_934_280_4,
        -0.352_065_324_783_325_2,
        -0.241_970_747_709_274_3,
        -0.129_517_614_841_461_18,
        -5.399_096_384_644_508_4e-2,
        -1.752_829_365_432_262_4e-2,
        -4.431_846_085_935_831e-3,
        -8.726_832_456_886_768e-4,
        -1.338_309_084_530_919_8e-4,
        -1.598_400_194_779_969_8e-5,
        -1.486_778_501_202_934_4e-6,
        -1.077_065_618_915_185e-7,
        -6.076_845_249_225_471e-9,
        -2.670_305_920_826_621e-10,
        -9.139_022_004_445_163e-12,
        -2.436_162_437_145_089_6e-13,
    ],
    [
        -1.083_173_401_639_214_7e-6,
        8.800_897_002_220_154e-2,
        0.120_980_843_901_634_22,
        9.713_965_654_373_169e-2,
        5.399_386_212_229_729e-2,
        2.191_151_864_826_679_2e-2,
        6.647_536_531_090_736e-3,
        1.526_799_867_860_972_9e-3,
        2.674_782_008_398_324e-4,
        3.591_390_850_488_096_5e-5,
        3.707_752_284_753_951_2e-6,
        2.949_974_202_692_829e-7,
        1.811_731_209_500_067e-8,
        8.599_140_288_723_106e-10,
        3.157_051_703_395_197e-11,
        8.971_174_497_718_337e-13,
    ],
    [
        6.650_982_052_087_784e-2,
        4.400_739_818_811_416_6e-2,
        2.745_049_187_069_526e-6,
        -2.698_071_114_718_914e-2,
        -2.699_585_445_225_238_8e-2,
        -1.533_814_799_040_556e-2,
        -5.909_424_740_821_123e-3,
        -1.636_209_199_205_041e-3,
        -3.344_884_316_902_607_7e-4,
        -5.124_786_548_549_309_4e-5,
        -5.939_344_191_574_491_6e-6,
        -5.238_819_085_207_069e-7,
        -3.531_997_094_796_679_4e-8,
        -1.825_779_416_542_161_5e-9,
        -7.253_065_509_305_046e-11,
        -2.218_209_123_328_041e-12,
    ],
    [
        -1.423_319_044_988_602_4e-4,
        -1.987_604_983_150_959e-2,
        -1.997_453_719_377_517_7e-2,
        -6.132_256_239_652_634e-3,
        4.374_071_490_019_56e-3,
        5.885_617_341_846_228e-3,
        3.334_001_405_164_599_4e-3,
        1.194_074_400_700_628_8e-3,
        2.977_301_483_042_538e-4,
        5.380_273_796_617_985e-5,
        7.197_980_266_937_52e-6,
        7.221_203_190_965_753e-7,
        5.478_512_576_928_551_4e-8,
        3.161_714_889_898_803_4e-9,
        1.393_961_196_471_949e-10,
        4.710_316_338_363_274e-12,
    ],
    [
        -9.577_077_813_446_522e-3,
        -4.552_524_536_848_068e-3,
        3.947_865_217_924_118e-3,
        5.805_418_360_978_365e-3,
        2.261_984_394_863_248e-3,
        -6.379_366_386_681_795e-4,
        -1.098_642_940_632_999e-3,
        -5.808_935_384_266_078e-4,
        -1.845_726_364_990_696_3e-4,
        -3.989_871_402_154_676_6e-5,
        -6.162_253_612_274_071e-6,
        -6.974_447_614_993_551e-7,
        -5.872_892_927_527_573e-8,
        -3.715_971_308_437_815_4e-9,
        -1.779_022_762_438_131_6e-10,
        -6.477_107_912_516_988e-12,
    ],
];
/// The last of these halves.
const LAST: f64 = 7.5;

/// The expression itself, unless it is this function of f32.
pub(super) fn expand(b: &mut Builder, id: ExprId, tables: Tables) -> ExprId {
    if b.ty(id).elem != Elem::Scalar(DType::F32) {
        return id;
    }
    match argument(b, id) {
        Some(x) => of_single(&mut Kit { tables, ..Kit::new(b, DType::F32) }, x),
        None => id,
    }
}

/// Of Φ(-|x|), Φ(x) is that or what is left of 1; nothing is left of the one from [`MOST`] on, whatever the
/// polynomial says there, so that the ends are those of the parts.
fn of_single(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    match tables_of(k, x) {
        Tables::None => {}
        Tables::Eight => return fused(k, x, MOST, less_than),
        Tables::Sixteen => return fused(k, x, LAST, less_than_by_pieces),
    }
    let (size, zero) = (k.abs(x), k.c(0.0));
    let (below, one) = (less_than(k, size), k.c(1.0));
    let below = k.where_c(size, Gt, MOST, zero, below);
    let above = k.sub(one, below);
    let phi = k.where_c(x, Lt, 0.0, below, above);
    k.mul(x, phi)
}

/// max(x, 0) - |x| Φ(-|x|), fewer operations where products and sums are fused: what is left of the least numbers is
/// rounded once. Beyond `most` less than 6e-9 is left, and taken to be that; of minus infinity no number is. Numbers without
/// their signs are in the order of their bits, and negative ones are negative integers: machines compare those in more
/// places than floats.
fn fused(k: &mut Kit<'_>, x: ExprId, most: f64, below: fn(&mut Kit<'_>, ExprId) -> ExprId) -> ExprId {
    let (bits, unsigned, zero) = (k.bits(x), k.int(i64::from(i32::MAX)), k.int(0));
    let end = k.int(i64::from((most as f32).to_bits()));
    let size = k.b.binary(BinaryOp::And, bits, unsigned);
    let size = k.b.binary(BinaryOp::Min, size, end);
    let negative = k.b.binary(BinaryOp::Min, bits, zero);
    let (size, negative) = (k.of_bits(size), k.of_bits(negative));
    let (below, down) = (below(k, size), k.neg(size));
    let above = k.sub(x, negative);
    k.fma(down, below, above)
}

/// Φ(-t) for 0 <= t <= [`MOST`].
fn less_than(k: &mut Kit<'_>, t: ExprId) -> ExprId {
    let e = k.poly(t, &EXPONENT);
    let e = k.mul(e, t);
    let (power, s) = half_of_power(k, e);
    k.mad(power, s, power)
}

/// Φ(-t) for 0 <= t <= [`LAST`], by the coefficients of the nearest half.
fn less_than_by_pieces(k: &mut Kit<'_>, t: ExprId) -> ExprId {
    let magic = k.c(6_291_456.0);
    let shifted = k.add(t, magic);
    let half = k.sub(shifted, magic);
    let (r, n) = (k.sub(t, half), k.bits(shifted));
    let [rest @ .., last] = &PIECES;
    let mut sum = k.lookup_c(n, last);
    for coefficients in rest.iter().rev() {
        let c = k.lookup_c(n, coefficients);
        sum = k.mad(sum, r, c);
    }
    sum
}

/// What this is the function of: the factors are x, 1 / 2 and 1 + erf(x / √2), in any order.
fn argument(b: &Builder, id: ExprId) -> Option<ExprId> {
    let (left, right) = product(b, id)?;
    let (mut factors, mut half) = (Vec::new(), false);
    for side in [left, right] {
        match product(b, side) {
            Some((u, v)) => factors.extend([u, v]),
            None => factors.push(side),
        }
    }
    factors.retain(|factor| {
        let is_half = literal(b, *factor) == Some(0.5);
        half |= is_half;
        !is_half
    });
    match factors[..] {
        [u, v] if half && one_and_erf_of(b, v) == Some(u) => Some(u),
        [u, v] if half && one_and_erf_of(b, u) == Some(v) => Some(v),
        _ => None,
    }
}

/// x of 1 + erf(x / √2).
fn one_and_erf_of(b: &Builder, id: ExprId) -> Option<ExprId> {
    let Expr::Binary(BinaryOp::Add, u, v) = *b.func().exprs.get(id) else { return None };
    let erf = beside(b, u, v, 1.0)?;
    let Expr::Unary(UnaryOp::Erf, scaled) = *b.func().exprs.get(erf) else { return None };
    match *b.func().exprs.get(scaled) {
        Expr::Binary(BinaryOp::Mul, u, v) => beside(b, u, v, std::f32::consts::FRAC_1_SQRT_2),
        Expr::Binary(BinaryOp::Div, u, v) if literal(b, v) == Some(std::f32::consts::SQRT_2) => Some(u),
        _ => None,
    }
}

/// The one of two operands, if the other is this number.
fn beside(b: &Builder, u: ExprId, v: ExprId, number: f32) -> Option<ExprId> {
    match (literal(b, u), literal(b, v)) {
        (Some(value), _) if value == number => Some(v),
        (_, Some(value)) if value == number => Some(u),
        _ => None,
    }
}

fn product(b: &Builder, id: ExprId) -> Option<(ExprId, ExprId)> {
    match *b.func().exprs.get(id) {
        Expr::Binary(BinaryOp::Mul, u, v) => Some((u, v)),
        _ => None,
    }
}

/// The number in all lanes.
fn literal(b: &Builder, id: ExprId) -> Option<f32> {
    match *b.func().exprs.get(id) {
        Expr::Const(Scalar { dtype: DType::F32, bits }) => Some(f32::from_bits(bits as u32)),
        Expr::Broadcast(one, _) => literal(b, one),
        _ => None,
    }
}
