//! Holds layouts to what they should read, refuse and join.

use proptest::prelude::*;

use super::{AskedLayout, ModelLayout, Order, Stages};
use crate::training::model::LanguageModel;

fn read(text: &str) -> ModelLayout {
    ModelLayout::read(text).unwrap()
}

fn asked<'a>(model: &'a LanguageModel, layout: &ModelLayout) -> AskedLayout<'a> {
    let batch = 64 * layout.replicas();
    AskedLayout { model, gpus: layout.gpus(), batch, micro_batch: 1, sequence_parallel: true }
}

#[test]
fn parts_that_are_left_out_are_one() {
    let layout = read("tp=8, pp=4,cp=2");
    assert_eq!(layout, ModelLayout { tp: 8, pp: 4, cp: 2, ..ModelLayout::default() });
    assert_eq!((layout.gpus(), layout.to_string()), (64, "tp=8,pp=4,cp=2".to_owned()));
    assert_eq!(read("dp=1").to_string(), "dp=1");
    for (text, told) in [
        ("tp", "`tp` is no part of a layout"),
        ("tpp=2", "a layout has no part `tpp`; did you mean `tp`?"),
        ("dp_shard=2", "did you mean `fsdp`?"),
        ("tp=2,tp=4", "`tp` twice"),
        ("tp=0", "`tp=0` is no number of parts"),
        ("tp=-1", "`tp=-1`"),
        ("dp=1048576,tp=1048576", "GPUs; keep to"),
    ] {
        let error = ModelLayout::read(text).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn embedding_and_loss_fill_the_places_that_are_left() {
    let stages = Stages::of(126, &read("pp=8,vp=8")).unwrap();
    let layers: Vec<u64> = (0..8).map(|stage| stages.layers(stage)).collect();
    assert_eq!(layers, [15, 16, 16, 16, 16, 16, 16, 15]);
    assert_eq!(stages.chunks(0)[0], 0..1);
    assert_eq!(stages.chunks(7)[7], 125..126);
    assert_eq!(Stages::of(126, &read("pp=8,vp=5")), None);
    // DeepSeek V3 has 61 layers, and recipes divide them over four chunks of four stages.
    let stages = Stages::of(61, &read("pp=4,vp=4")).unwrap();
    assert_eq!((stages.chunks(0)[0].clone(), stages.chunks(3)[3].clone()), (0..3, 59..61));
    assert_eq!(stages.chunks(1)[0], 3..7);
    // One chunk a stage may be uneven.
    let stages = Stages::of(10, &read("pp=4")).unwrap();
    assert_eq!((0..4).map(|it| stages.layers(it)).collect::<Vec<_>>(), [2, 3, 3, 2]);
}

#[test]
fn what_is_not_sound_is_told_with_the_nearest() {
    let llama = LanguageModel::find("llama-3.1-8b").unwrap();
    let mixtral = LanguageModel::find("mixtral-8x7b").unwrap();
    for (model, text, reason, nearest) in [
        (llama, "tp=64", "tp=64 does not divide the 32 heads", "dp=2,tp=32"),
        (llama, "dp=8,ep=8", "the model has none", "dp=8"),
        (llama, "dp=2,vp=2", "need a pipeline", "dp=2"),
        (llama, "pp=2,vp=5", "do not divide 32 layers", "pp=2,vp=4"),
        (mixtral, "dp=8,ep=16", "ep=16 does not divide the 8 experts", "dp=8,ep=8"),
        (mixtral, "dp=4,ep=8", "does not divide a stage's 4 GPUs", "dp=4,ep=4"),
    ] {
        let layout = read(text);
        let error = asked(model, &layout).check(&layout).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.ends_with(&format!("the nearest that is sound is {nearest}")), "{error}");
    }
    let layout = read("fsdp=8");
    let few = AskedLayout { batch: 12, ..asked(llama, &layout) };
    let error = few.check(&layout).unwrap_err().to_string();
    assert!(error.contains("do not divide a batch of 12"), "{error}");
}

#[test]
fn neighbours_are_parts_of_a_layer_and_stages_are_apart() {
    let layout = read("dp=2,tp=2,pp=2,cp=2");
    let groups = Order::default().groups(&layout, false);
    let of = |name: &str| &groups.iter().find(|group| group.name == name).unwrap().ranks;
    assert_eq!(of("tp")[0], [0, 1]);
    assert_eq!(of("cp")[0], [0, 2]);
    assert_eq!(of("dp x cp")[0], [0, 2, 4, 6]);
    assert_eq!(of("pp")[0], [0, 8]);
    let within = Order::read("megatron-tp-pp-dp").unwrap();
    assert_eq!(
        within.groups(&layout, false).iter().find(|it| it.name == "pp").unwrap().ranks[0],
        [0, 4]
    );
    assert_eq!((within.stage(&layout, 4), Order::default().stage(&layout, 8)), (1, 1));
    assert!(Order::read("tp-tp-fsdp-dp-pp").is_err());
    // Experts of Mixtral over eight neighbours, each whole.
    let layout = read("dp=8,tp=2,ep=8,etp=1");
    let groups = Order::default().groups(&layout, false);
    let experts = groups.iter().find(|group| group.name == "ep").unwrap();
    assert_eq!(experts.ranks, [(0..8).collect::<Vec<u64>>(), (8..16).collect()]);
    assert_eq!(experts.servers(|rank| rank / 8), (1, 1));
    assert_eq!(experts.servers(|rank| rank / 4), (2, 2));
}

proptest! {
    #[test]
    fn every_group_has_every_rank_once(
        dp in 1_u64..4, fsdp in 1_u64..4, tp in 1_u64..4, pp in 1_u64..4, cp in 1_u64..4, at in 0_usize..3,
    ) {
        let layout = ModelLayout { dp, fsdp, tp, pp, cp, ..ModelLayout::default() };
        let order = Order::read(Order::names()[at]).unwrap();
        for group in order.groups(&layout, true) {
            let mut ranks = group.ranks.concat();
            ranks.sort_unstable();
            prop_assert_eq!(ranks, (0..layout.gpus()).collect::<Vec<u64>>());
            prop_assert!(group.ranks.iter().all(|ranks| ranks.len() as u64 == group.size));
        }
    }

    #[test]
    fn what_is_written_is_read_again(parts in prop::collection::vec(1_u64..5, 7), etp in prop::option::of(1_u64..5)) {
        let [dp, fsdp, tp, pp, vp, cp, ep] = <[u64; 7]>::try_from(parts).unwrap();
        let layout = ModelLayout { dp, fsdp, tp, pp, vp, cp, ep, etp };
        prop_assert_eq!(ModelLayout::read(&layout.to_string()).unwrap(), layout);
    }

    #[test]
    fn stages_have_every_layer_once(layers in 1_u64..130, pp in 1_u64..17, vp in 1_u64..5) {
        let layout = ModelLayout { pp, vp, ..ModelLayout::default() };
        if let Some(stages) = Stages::of(layers, &layout) {
            prop_assert_eq!((0..pp).map(|stage| stages.layers(stage)).sum::<u64>(), layers);
            prop_assert!((0..pp).all(|stage| stages.chunks(stage).len() as u64 == vp));
        }
    }
}
