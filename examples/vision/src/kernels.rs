//! The tensor function: from images to a class.

use tenfold::prelude::*;

/// How likely the stripes of each image run along each of the four directions.
///
/// A line is brighter than what is beside it: each row of `LINES` adds up what lies on a line of one direction and takes
/// away what lies beside it. Which of them answers loudest is the direction.
#[tensor_fn(dims(B <= 64), targets("cpu", "nvptx:sm_80", "nvptx:sm_90a", "spirv"))]
pub(crate) fn direction(images: Tensor<f32, B, 64, 64>) -> Tensor<f32, B, 4> {
    const LINES: Tensor<f32, 4, 3, 3> = [
        [[-1.0, -1.0, -1.0], [2.0, 2.0, 2.0], [-1.0, -1.0, -1.0]],
        [[-1.0, 2.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, 2.0, -1.0]],
        [[-1.0, -1.0, 2.0], [-1.0, 2.0, -1.0], [2.0, -1.0, -1.0]],
        [[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]],
    ];
    let answers = compute([B, 4, 62 * 62], |b, line, at| {
        let answer = sum(0..3, 0..3, |u, v| images[[b, at / 62 + u, at % 62 + v]] * LINES[[line, u, v]]);
        answer * answer
    });
    softmax(mean(answers, axis = -1), axis = -1)
}
