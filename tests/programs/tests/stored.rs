//! Floats of 8 bits and integers of 4: what compiled code converts is what the runtime's types do, and what `ml_dtypes`
//! says in `data/stored.safetensors`.

use tenfold::{AlignedBytes, Dyn, Fixed, Safetensors, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, i4, u4};
use tenfold_programs::stored::{both_ways, layer, linked, moved, nibbles, outside, through};

/// Of every exponent and sign the ends and a few fractions between, and halves of the last place of each kind.
fn floats() -> Vec<f32> {
    let fractions = [0, 1, 0x08_0000, 0x0f_ffff, 0x10_0000, 0x10_0001, 0x18_0000, 0x20_0000, 0x2f_ffff, 0x30_0000]
        .into_iter()
        .chain([0x38_0000, 0x40_0001, 0x50_0000, 0x60_0000, 0x68_0000, 0x70_0000, 0x78_0000, 0x7f_ffff]);
    let bits = fractions.flat_map(|fraction| (0..512).map(move |exponent| exponent << 23 | fraction));
    bits.map(f32::from_bits).collect()
}

#[test]
fn conversions_are_those_of_the_runtime() {
    let x = floats();
    macro_rules! check {
        ($($t:ident)*) => {$(
            let (whole, each, back) = both_ways::<$t>(&x).expect("the dims agree");
            for (n, x) in x.iter().enumerate() {
                let expected = $t::from_f32(*x);
                let name = stringify!($t);
                assert_eq!((whole[[n]].to_bits(), each[[n]].to_bits()), (expected.to_bits(), expected.to_bits()), "{x:e} as {name}");
                let back = back[[n]];
                assert!(back == expected.to_f32() || back.is_nan() && expected.to_f32().is_nan(), "{x:e} by {name}: {back}");
            }
        )*};
    }
    check!(f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz);
}

#[test]
fn integers_of_four_bits_saturate_where_floats_become_them() {
    let x = [f32::NAN, -1e9, -8.5, -1.9, -0.5, 0.0, 6.9, 7.0, 8.0, 15.5, 16.0, f32::INFINITY];
    let (whole, each, back) = both_ways::<i4>(&x).expect("the dims agree");
    let signed = [0, -8, -8, -1, 0, 0, 6, 7, 7, 7, 7, 7];
    assert_eq!(whole.as_slice().iter().map(|v| v.get()).collect::<Vec<_>>(), signed);
    assert_eq!((whole, back.into_vec()), (each, signed.map(f32::from).to_vec()));
    let (whole, each, back) = both_ways::<u4>(&x).expect("the dims agree");
    let unsigned = [0, 0, 0, 0, 0, 0, 6, 7, 8, 15, 15, 15];
    assert_eq!(whole.as_slice().iter().map(|v| v.get()).collect::<Vec<_>>(), unsigned);
    assert_eq!((whole, back.into_vec()), (each, unsigned.map(f32::from).to_vec()));
}

#[test]
fn files_hold_floats_of_eight_bits() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/stored.safetensors");
    let file = AlignedBytes::read(path).expect("it is there");
    let file = Safetensors::new(&file).expect("a good file");
    let x = file.tensor::<f32, (Dyn, Fixed<4>)>("x").expect("it is there");
    macro_rules! check {
        ($($t:ident)*) => {$(
            let w = file.tensor::<$t, (Fixed<4>, Fixed<3>)>(concat!("w.", stringify!($t))).expect("it is there");
            let y = file.tensor::<u8, (Dyn, Fixed<3>)>(concat!("y.", stringify!($t))).expect("it is there");
            let found = layer(&x, &w).expect("the dims agree");
            assert_eq!(found.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>(), y.as_slice(), stringify!($t));
        )*};
    }
    check!(f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz);
    let y = file.tensor::<u8, (Dyn, Fixed<3>)>("y.f8e4m3fn").expect("it is there");
    let found = linked(&x).expect("the dims agree");
    assert_eq!(found.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>(), y.as_slice());
}

#[test]
fn other_dtypes_and_literals_saturate_too() {
    let x = [1e300, -0.1, 3.0, f64::NAN];
    let n = [i64::MAX, -17, 3, i64::MIN];
    let y = [60000.0, 448.0, -0.3, f32::NEG_INFINITY].map(f8e5m2::from_f32);
    let (a, b, c, literals, k) = through(&x, &n, &y, 1000).expect("the dims agree");
    let values = |t: &[f8e4m3fn]| t.iter().map(|v| v.to_f32()).collect::<Vec<_>>();
    assert_eq!(a.as_slice()[..3], [57344.0, -0.1, 3.0].map(f8e5m2::from_f32));
    assert!(a.as_slice()[3].to_f32().is_nan());
    assert_eq!(values(b.as_slice()), [448.0, -16.0, 3.0, -448.0]);
    assert_eq!(values(c.as_slice()), [448.0, 448.0, -0.3125, -448.0]);
    assert_eq!(values(literals.as_slice()), [0.3125, -448.0, 448.0, 2.0]);
    assert_eq!(k.to_f32(), 448.0);
}

#[test]
fn integers_of_four_bits_choose_wrap_and_are_kept() {
    let table: [f32; 16] = core::array::from_fn(|n| n as f32 * 0.5);
    let codes = [0, 15, 9].map(u4::from_low_bits);
    let mut kept = [-8, 7, 5].map(|v| i4::new(v).expect("it has 4 bits"));
    let y = nibbles(&codes, &table, i4::MAX, &mut kept).expect("the dims agree");
    assert_eq!(y.as_slice(), [-0.0, 7.5 * 49.0, 4.5 * 35.0]);
    assert_eq!(kept.map(i4::get), [-1, -2, -4]);
}

#[test]
fn elements_move_as_they_are() {
    let x = [0x7d, 0xfc, 0x01].map(f8e5m2::from_bits);
    let y = moved(&x, &[true, false, true]).expect("the dims agree");
    let bits: Vec<u8> = y.as_slice().iter().map(|v| v.to_bits()).collect();
    assert_eq!(bits, [0x7d, 0, 0x01, 0x7d, 0xfc, 0x01, f8e5m2::from_f32(1.5).to_bits()]);
}

#[test]
fn functions_of_rust_take_them() {
    let (a, b) = outside(&[1.0, -9.5, 0.3]);
    assert_eq!(a.as_slice(), [1, -8, 0].map(|v| i4::new(v).expect("it has 4 bits")));
    assert_eq!(b.as_slice(), [-1.0, 10.0, -0.3125]);
}
