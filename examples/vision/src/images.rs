//! Images of stripes, drawn with noise so that no file is needed.

use crate::{Images, SIDE};
use model_writer::Random;

/// What the classes are called.
pub(crate) const NAMES: [&str; 4] = ["horizontal", "vertical", "rising", "falling"];

/// How far each class goes down per column and right per row, of the lines that are equally bright.
const ACROSS: [(f32, f32); 4] = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, -1.0)];

/// An image of each class, again and again, and the classes.
pub(crate) fn draw(count: usize) -> (Images, Vec<usize>) {
    let mut random = Random::new(64);
    let classes: Vec<usize> = (0..count).map(|at| at % NAMES.len()).collect();
    let images = classes.iter().map(|class| image(*class, &mut random)).collect::<Vec<_>>();
    (images.into(), classes)
}

fn image(class: usize, random: &mut Random) -> [[f32; SIDE]; SIDE] {
    let (down, right) = ACROSS[class];
    let (wide, start) = (0.75 + 0.1 * random.uniform(), 3.0 * random.uniform());
    let mut image = [[0.0; SIDE]; SIDE];
    for (row, line) in image.iter_mut().enumerate() {
        for (column, pixel) in line.iter_mut().enumerate() {
            let across = down * row as f32 + right * column as f32;
            *pixel = (wide * across + start).sin() + 0.3 * random.uniform();
        }
    }
    image
}
