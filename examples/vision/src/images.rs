//! The images and what they show, from the files beside the program.

use crate::{COUNT, Images, PIXELS};

/// Values from 0 to 16.
const IMAGES: &[u8] = include_bytes!("../data/images.npy");
const LABELS: &[u8] = include_bytes!("../data/labels.npy");

/// The images, and the digits on them.
pub(crate) fn read() -> (Images, Vec<usize>) {
    let mut images = vec![[0.0; PIXELS]; COUNT];
    for (pixel, byte) in images.as_flattened_mut().iter_mut().zip(elements(IMAGES)) {
        *pixel = f32::from(*byte);
    }
    (images.into(), elements(LABELS).iter().map(|digit| usize::from(*digit)).collect())
}

/// What follows the header of an npy file of version 1: its length stands at byte 8.
fn elements(file: &[u8]) -> &[u8] {
    &file[10 + usize::from(file[8]) + 256 * usize::from(file[9])..]
}
