//! Devices of Vulkan 1.1: what newer versions brought is switched on by its extension, where the driver has that.

use std::path::Path;

use tenfold::{DeviceFault, Vulkan};
use tenfold_abi::program::{Feature, Setting};

use crate::faults::{between, child};
use crate::program::{check, linked, twice};
use crate::{gpu, why};

/// What Vulkan 1.2 and 1.3 have, and extensions before.
const FEATURES: [(&str, Feature); 2] = [("old: bytes", Feature::Storage8), ("old: dots", Feature::Dot8)];

fn takes(gpu: &Vulkan, feature: Feature) -> bool {
    let mut program = twice();
    program.kernels[0].features = feature.bit();
    // The driver is asked for full subgroups of a size where it can be, whatever the code does with their number.
    program.kernels[0].settings = Setting::Subgroups.bit();
    match check(gpu, linked(&program), 65) {
        Ok(()) => true,
        other => {
            assert!(matches!(why(other), DeviceFault::Unsupported { .. }));
            false
        }
    }
}

/// What the processes do.
pub(crate) fn case(name: &str) -> bool {
    let open = || Vulkan::new().expect("there is a driver");
    if name == "old" {
        // It has no extension that is asked for.
        assert!(!takes(&open(), Feature::F16));
        return true;
    }
    let Some((_, feature)) = FEATURES.iter().find(|(known, _)| *known == name) else { return false };
    assert!(takes(&open(), *feature), "{feature:?}");
    true
}

#[test]
fn devices_of_an_old_version_have_what_their_extensions_say() {
    let (Some(gpu), Some((folder, loader))) = (gpu(), between()) else { return };
    let cases = FEATURES.into_iter().filter(|(_, feature)| takes(gpu, *feature)).map(|(name, _)| name);
    for case in cases.chain(["old"]) {
        let version = Path::new("4198400");
        let variables =
            [("LD_LIBRARY_PATH", &*folder), ("TENFOLD_TEST_LOADER", &*loader), ("TENFOLD_TEST_VERSION", version)];
        child(case, &variables);
    }
}
