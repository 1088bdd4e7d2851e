//! Says how a release and the settings deal channels to network interfaces.

use super::rules::{Library, Rules};
use super::settings::Settings;
use super::version::Version;
use crate::collectives::nccl::baselines::interfaces::Dealing;

/// The first release with PXN, and the first that exchanges rings (`crossNicRing` of `src/graph/connect.cc`).
const PXN_FROM: Version = Version::new(2, 12, 0);
const PAIRED_FROM: Version = Version::new(2, 28, 0);

/// Says how channels between servers are dealt.
pub fn dealing_of(rules: &Rules, settings: &Settings) -> Dealing {
    let version = settings.version.unwrap_or(rules.version);
    let is_nccl = rules.library == Library::Nccl;
    let Settings { cross_nic: cross, gpudirect, .. } = *settings;
    let pxn = settings.pxn && is_nccl && version >= PXN_FROM;
    let paired = is_nccl && version >= PAIRED_FROM;
    Dealing { cross, pxn, gpudirect, paired, listed: !is_nccl }
}
