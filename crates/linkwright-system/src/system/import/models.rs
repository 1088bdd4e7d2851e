//! Writes an import's notes on GPUs whose model it does not know.

use crate::system::gpus;
use crate::system::server::ServerBuilder;

/// Notes which of the GPUs, given by name with the model that the text names, stay of unknown
/// model; `remedy` says what would name them.
pub(super) fn note_unknown<'a>(
    builder: &mut ServerBuilder,
    gpus: impl Iterator<Item = (&'a str, Option<&'a str>)>,
    remedy: &str,
) {
    let all: Vec<_> = gpus.collect();
    let unnamed: Vec<&str> =
        all.iter().filter(|(_, model)| model.is_none()).map(|(gpu, _)| *gpu).collect();
    if !unnamed.is_empty() {
        let whose =
            if unnamed.len() == all.len() { "the GPUs".to_owned() } else { unnamed.join(", ") };
        builder.assume(format!(
            "The model of {whose} is not given, so their memory and speed are unknown ({remedy})."
        ));
    }
    let mut strange: Vec<&str> = all.iter().filter_map(|(_, model)| *model).collect();
    strange.retain(|model| gpus::find(model).is_err());
    strange.sort_unstable();
    strange.dedup();
    for model in strange {
        builder.assume(format!(
            "No GPU model is known by the name {model}, so its memory and speed are unknown."
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_said_once() {
        let said = |gpus: &[(&str, Option<&str>)]| {
            let mut builder = ServerBuilder::new("test", "");
            builder.device("GPU0", crate::system::DeviceKind::Gpu, None).unwrap();
            note_unknown(&mut builder, gpus.iter().copied(), "paste more");
            builder.build().unwrap().assumptions().join(" ")
        };
        assert_eq!(said(&[("GPU0", Some("H100 PCIe")), ("GPU1", Some("NVIDIA T4"))]), "");
        assert_eq!(
            said(&[("GPU0", None), ("GPU1", None)]),
            "The model of the GPUs is not given, so their memory and speed are unknown (paste more)."
        );
        let mixed = said(&[("GPU0", None), ("GPU1", Some("X1")), ("GPU2", Some("X1"))]);
        assert!(mixed.starts_with("The model of GPU0 is not given"), "{mixed}");
        assert_eq!(mixed.matches("by the name X1").count(), 1, "{mixed}");
    }
}
