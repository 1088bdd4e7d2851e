//! Compares a real DGX-1V's `nvidia-smi topo -m` with the preset.

use linkwright::system::presets::preset;
use linkwright::system::views::isomorphism::{LabelledGraph, renumbering};
use linkwright::system::{ImportOptions, Server, import};

const DGX1V: &str = include_str!("../../../../examples/topologies/dgx1-v100.nvidia-smi-topo-m.txt");

fn read(text: &str) -> Server {
    import("dgx1-v100.txt", text, None, &ImportOptions::default()).unwrap()
}

#[test]
fn the_imported_dgx1v_is_the_preset_up_to_renumbering() {
    let (imported, known) = (read(DGX1V), preset("dgx1-v100").unwrap());
    let graphs = [&imported, &known].map(LabelledGraph::of_gpu_links);
    let renumbering = renumbering(&graphs[0], &graphs[1]).expect("the same graph");
    for a in 0..8 {
        for b in 0..8 {
            assert_eq!(graphs[0].label(a, b), graphs[1].label(renumbering[a], renumbering[b]));
        }
    }
}

#[test]
fn one_link_less_is_another_graph() {
    let changed = DGX1V
        .replace("GPU0\t X \tNV1", "GPU0\t X \tNV2")
        .replace("GPU1\tNV1\t X ", "GPU1\tNV2\t X ");
    assert_ne!(changed, DGX1V);
    let graphs = [read(&changed), preset("dgx1-v100").unwrap()];
    let [a, b] = graphs.each_ref().map(LabelledGraph::of_gpu_links);
    assert_eq!(renumbering(&a, &b), None);
}
