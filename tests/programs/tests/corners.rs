//! The corners, with expected values from NumPy.

use tenfold_programs::corners;

#[test]
fn wrapped_goes_round_more_than_once() {
    // np.pad(x, 3, mode="wrap")
    let (a, b) = corners::wrapped(&[1.0, 2.0]).expect("there is an element");
    assert_eq!(a.as_slice(), [2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]);
    assert_eq!(b.as_slice(), a.as_slice());
}

#[test]
fn a_fact_is_reported_in_the_words_of_the_source() {
    assert_eq!(corners::thirds(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six").as_slice(), [5.0, 7.0, 9.0]);
    let error = corners::thirds(&[1.0; 4]).expect_err("four is no multiple of three");
    assert_eq!(error.to_string(), "`N % 3 == 0` does not hold");
}

#[test]
fn state_of_rank_zero_is_updated() {
    let (mut last, mut calls) = (1.0_f32, 4_u32);
    assert_eq!(corners::smooth(&mut last, &mut calls, &[2.0, 3.0]).expect("the dims agree").as_slice(), [1.5, 2.25]);
    assert_eq!((last, calls), (2.25, 5));
}

#[test]
fn an_empty_reduction_is_written() {
    let nothing: [[f32; 0]; 2] = [[]; 2];
    let (mut sums, mut most, mut both) = ([7.0f32; 2], [7.0f32; 2], [7.0f32; 2]);
    let mut workspace = tenfold::DynWorkspace::new(corners::rows::workspace_bytes(2, 0)).expect("room");
    corners::rows::into(&nothing, &mut sums, &mut most, &mut both, &mut workspace).expect("the dims agree");
    assert_eq!((sums, most, both), ([0.0; 2], [f32::NEG_INFINITY; 2], [1.0; 2]));
}

#[test]
fn an_index_value_does_not_wrap() {
    assert_eq!(corners::far(&[1.0, 2.0, 3.0, 4.0], isize::MAX).into_vec(), [-1.0; 4]);
    assert_eq!(corners::far(&[1.0, 2.0, 3.0, 4.0], 1).into_vec(), [3.0, 4.0, -1.0, -1.0]);
}

#[test]
fn index_values_have_bits() {
    let x = [0i64, 10, 20, 30, 40, 50, 60, 70];
    for (n, m) in [(0usize, 0isize), (6, -9), (13, 21)] {
        let (y, mixed, masked) = corners::bits(&x, n, m);
        let wanted: Vec<i64> = (0..8usize).map(|i| x[i ^ 1] + (n & i) as i64).collect();
        assert_eq!(y.as_slice(), wanted);
        assert_eq!(mixed, ((n ^ 5) + (n << 2)) as i64 - (m >> 1) as i64);
        assert_eq!(masked, ((m | 6) & 12) as i64);
    }
}

#[test]
fn a_condition_with_a_loop_says_what_it_says_of_an_index() {
    let beside = corners::beside_a_choice(&[[7], [9]]).expect("the dims agree").into_vec();
    assert_eq!(beside, [2, 2, 9, 11, 3, 3]);
    let guarded =
        |s| corners::guarded(&[1, 4], &[0, 3, -1, 5], &[10, 20, 30, 40], s).expect("the dims agree").into_vec();
    assert_eq!([1, 2, 6].map(guarded), [[10, 20, 70, 50], [10, 20, 30, 50], [10, 20, 30, 40]]);
}
