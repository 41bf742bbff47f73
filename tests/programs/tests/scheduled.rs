//! Schedules change no result.

use tenfold_programs::scheduled;

#[test]
fn a_blur_in_tiles_that_do_not_divide() {
    let x: [[f32; 21]; 5] = std::array::from_fn(|i| std::array::from_fn(|j| ((i * 7 + j * 3) % 11) as f32));
    let y = scheduled::blur(&x).expect("the dims agree");
    for i in 0..3 {
        for j in 0..19 {
            let sum: f32 = (0..9).map(|n| x[i + n / 3][j + n % 3]).sum();
            assert!((y.as_slice()[i * 19 + j] - sum / 9.0).abs() < 1e-5, "{i} {j}");
        }
    }
}

#[test]
fn a_product_in_tiles() {
    let a: [[f32; 5]; 7] = std::array::from_fn(|i| std::array::from_fn(|k| (i as f32) - (k as f32)));
    let b: [[f32; 10]; 5] = std::array::from_fn(|k| std::array::from_fn(|j| (k * j % 4) as f32));
    let y = scheduled::product(&a, &b).expect("the dims agree");
    for (at, found) in y.as_slice().iter().enumerate() {
        let (i, j) = (at / 10, at % 10);
        let sum: f32 = (0..5).map(|k| a[i][k] * b[k][j]).sum();
        assert_eq!(*found, sum, "{i} {j}");
    }
}

#[test]
fn one_loop_of_two() {
    let x = [[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(scheduled::flat(&x).expect("the dims agree").as_slice(), [3.0, 5.0, 7.0, 9.0, 11.0, 13.0]);
}
