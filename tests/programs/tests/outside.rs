//! Functions outside, called from every place that the language has for it.

use tenfold_programs::outside;

#[test]
fn a_value_of_this_crate() {
    let y = outside::echo(&[1.0, 2.0, 3.0, 4.0], 1).expect("the dims agree");
    assert_eq!(y.as_slice(), [1.0, 2.5, 4.0, 5.5]);
    assert_eq!(outside::echo(&[0.0f32; 0], 3).expect("nothing is delayed").len(), 0);
    // delayed by 1, then by 2
    assert_eq!(outside::echo_four(&[1.0, 2.0, 3.0, 4.0]).as_slice(), [1.0, 2.5, 4.5, 6.75]);
}

#[test]
fn several_results() {
    let (rows, columns) = outside::sums(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).expect("the dims agree");
    assert_eq!((rows.as_slice(), columns.as_slice()), (&[6.0, 15.0][..], &[5.0, 7.0, 9.0][..]));
    let data: Vec<f32> = (0..8).map(|n| n as f32).collect();
    let gaps = tenfold::StridedRef::new(&data, [2, 3], [4, 1], 0).expect("inside");
    let (rows, columns) = outside::strided(&gaps).expect("the dims agree");
    assert_eq!((rows.as_slice(), columns.as_slice()), (&[3.0, 15.0][..], &[4.0, 6.0, 8.0][..]));
}

#[test]
fn effects_happen_in_the_order_written() {
    let (mut log, mut count) = ([0.0f32; 8], 0u32);
    let y = outside::logged(&[1.0, 2.0], &mut log, &mut count).expect("the dims agree");
    assert_eq!(y.as_slice(), [2.0, 4.0]);
    assert_eq!((log, count), ([1.0, 10.0, 11.0, 6.0, 6.0, 0.0, 0.0, 0.0], 5));
    outside::logged(&[-1.0], &mut log, &mut count).expect("the dims agree");
    assert_eq!((log, count), ([1.0, 10.0, 11.0, 6.0, 6.0, 1.0, 10.0, 11.0], 8));
}

#[test]
fn arrays_and_copies_of_a_loop() {
    let (trace, all) = outside::arrays(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]);
    assert_eq!(trace, 15.0);
    assert_eq!(all, [[6.0, 2.0, 4.0], [6.0, 4.0, 5.0], [0.0, 0.0, 0.0]]);
}

#[test]
fn functions_of_c() {
    let (mut calls, mut greatest) = (0u32, 0.0f32);
    for (x, expected) in [([3.0, 6.0, 9.0], 8.0), ([0.0, 3.0, 0.0], 8.0), ([9.0, 9.0, 9.0], 9.0)] {
        let y = outside::of_c(&x, &mut calls, &mut greatest).expect("the dims agree");
        assert_eq!(y.as_slice()[1], x.iter().sum::<f32>() / 3.0);
        assert_eq!(greatest, expected);
    }
    assert_eq!(calls, 3);
}

#[test]
fn scalars_of_every_kind() {
    let half = tenfold::f16::from_f32(1.5);
    let expected = [1.0, -7.0, 65535.0, f64::from(half.to_bits()), 0.25, -0.5, -3.0];
    assert_eq!(outside::scalars_of_c(true, -7, 65535, half, 0.25, -0.5), expected);
    assert_eq!(outside::scalars_of_rust(true, -7, 65535, half, 0.25, -0.5), expected);
}
