//! Loops whose counters only grow, guarded conditions, and reductions of tensors.

use tenfold_programs::growth;

#[test]
fn a_counter_that_only_grows_is_never_negative() {
    assert_eq!(growth::up_to(&[1.0, 2.0, -1.0, 4.0]).expect("the dims agree"), (3.0, 2));
    assert_eq!(growth::up_to(&[0.0f32; 0]).expect("nothing"), (0.0, 0));
    let all = growth::merged(&[1, 4, 4, 9], &[2, 4, 10]).expect("the dims agree");
    assert_eq!(all.as_slice(), [1, 2, 4, 4, 4, 9, 10]);
    let (y, k) = growth::rows(&[[3.0f32; 4]; 9]).expect("the dims agree");
    // 1, 3.25, 10, 30.25, 91, 273.25
    assert_eq!((y.as_slice(), k), (&[273.25f32; 4][..], 5));
}

#[test]
fn the_right_side_is_evaluated_only_if_it_decides() {
    let (flat, high) = ([[1.0f32; 4]; 2], [[1.0f32; 4], [3.0; 4]]);
    let cases = [(flat, 0, 1.0, 2), (flat, 3, 0.0, 0), (high, 2, 0.0, 0), (high, 3, 0.25, 1), (high, 0, 1.0, 2)];
    for (x, n, y, calls) in cases {
        let found = growth::steep(&x, n).expect("the dims agree");
        assert_eq!((found.0.as_slice(), found.1), (&[y; 4][..], calls), "{n}");
    }
    let steep = [[3.0f32; 4]; 2];
    let (y, calls) = growth::steep(&steep, 5).expect("the dims agree");
    assert_eq!((y.as_slice(), calls), (&[1.25; 4][..], 3));
}

#[test]
fn tensors_are_reduced_with_a_closure() {
    let shear = [[1.0, 1.0], [0.0, 1.0]];
    assert_eq!(growth::chain(&[shear; 5]).expect("the dims agree"), [[1.0, 5.0], [0.0, 1.0]]);
    let nothing: [[[f32; 2]; 2]; 0] = [];
    assert_eq!(growth::chain(&nothing).expect("nothing"), [[1.0, 0.0], [0.0, 1.0]]);
    let (row, sum) = growth::heaviest(&[[1.0, 2.0, 3.0], [4.0, 4.0, 0.0], [0.0, 7.0, 0.0]]).expect("the dims agree");
    assert_eq!((row.as_slice(), sum), (&[4.0, 4.0, 0.0][..], 8.0));
}
