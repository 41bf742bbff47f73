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
