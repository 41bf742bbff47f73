//! The suite of operators on a GPU of NVIDIA's, where there is one.

use tenfold::Cuda;

use crate::interpret;
use crate::program::call;

/// The suite on a GPU of NVIDIA's, with the code of each chip that it runs.
#[test]
fn functions_run_through_cuda() {
    let gpu = match Cuda::new() {
        Ok(gpu) => gpu,
        // No machine of the tests has one, so none is required.
        Err(why) => return println!("skipped: {why}"),
    };
    let Some(backend) = crate::backend() else { return };
    let chips = if gpu.info().capability == (9, 0) { &crate::CHIPS[..] } else { &crate::CHIPS[..1] };
    for device in chips {
        let (mut ran, mut refused, mut errors) = (0, Vec::new(), Vec::new());
        for case in crate::cases(4) {
            let name = case.name.clone();
            let prepared = interpret::prepare_with(case, &crate::context(*device));
            match prepared.and_then(|case| call(&gpu, &case, *device, &backend)) {
                Ok(None) => ran += 1,
                Ok(Some(why)) => refused.push(format!("{name}: {why}")),
                Err(why) => errors.push(format!("{name}: {why}")),
            }
        }
        println!("{device}: {ran} functions ran, {} are refused: {refused:#?}", refused.len());
        assert!(errors.is_empty(), "{device}: {errors:#?}");
    }
}
