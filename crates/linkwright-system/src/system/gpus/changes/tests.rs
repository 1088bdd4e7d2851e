use proptest::prelude::*;

use super::*;
use crate::system::gpus::{self, NumberType};
use crate::system::presets;

fn h100() -> &'static GpuModel {
    gpus::find("h100-sxm5-80gb").unwrap()
}

fn bf16(model: &GpuModel) -> u64 {
    model.matrix_rate(NumberType::Bf16).unwrap().0
}

fn megahertz(clock: u32) -> Frequency {
    Frequency(u64::from(clock) * 1_000_000)
}

#[test]
fn nothing_said_changes_nothing() {
    for model in gpus::all() {
        assert_eq!(&GpuChanges::default().on(model).unwrap(), model);
    }
}

#[test]
fn limits_at_the_data_sheet_s_change_nothing() {
    for model in gpus::all() {
        let (power, clock) =
            (model.power().map(|it| it.busy), model.chip().map(|it| megahertz(it.clock)));
        let changes = GpuChanges { power: power.ok(), clock: clock.ok(), ..GpuChanges::default() };
        assert_eq!(&changes.on(model).unwrap(), model, "{}", model.name);
    }
}

#[test]
fn each_change_reaches_its_place() {
    let memory = Some(Bytes(96_000_000_000));
    let bandwidth = Some(Bandwidth::gigabytes_per_second(2400));
    let made = GpuChanges { memory, bandwidth, ..GpuChanges::default() }.on(h100()).unwrap();
    let of = made.memory().unwrap();
    assert_eq!((Some(of.capacity), Some(of.bandwidth)), (memory, bandwidth));
    let made =
        GpuChanges { clock: Some(megahertz(990)), ..GpuChanges::default() }.on(h100()).unwrap();
    assert_eq!((bf16(&made), made.chip().unwrap().clock), (bf16(h100()) / 2, 990));
    assert!(made.power().unwrap().busy < h100().power().unwrap().busy);
    let limit = Power(500_000);
    let made = GpuChanges { power: Some(limit), ..GpuChanges::default() }.on(h100()).unwrap();
    assert_eq!(made.power().unwrap().busy, limit);
    let share = bf16(&made) as f64 / bf16(h100()) as f64;
    assert!((0.75..0.82).contains(&share), "{share}");
}

#[test]
fn what_is_unknown_is_given_from_outside() {
    let h20 = gpus::find("h20").unwrap();
    assert!(h20.peak().is_err());
    let text = "[peak]\nsource = \"mine\"\nmatrix = { bf16 = \"148 TFLOP/s\" }\n";
    let sections = GpuSections::read("own.toml", text).unwrap();
    let changes = GpuChanges { sections: Some(sections), ..GpuChanges::default() };
    assert_eq!(bf16(&changes.on(h20).unwrap()), 148_000_000_000_000);
    let error = GpuSections::read("own.toml", "[peaks]\n").unwrap_err().to_string();
    assert!(error.contains("own.toml") && error.contains("peaks"), "{error}");
}

#[test]
fn a_gpu_that_nobody_knows_is_what_its_owner_says() {
    let text = "[memory]\nkind = \"hbm3\"\ncapacity = \"96 GiB\"\nbandwidth = \"4 TB/s\"\nsource = \"mine\"\n";
    let sections = Some(GpuSections::read("own.toml", text).unwrap());
    let server = presets::preset("pcie-tree-4").unwrap();
    let of = |changes: &GpuChanges| {
        let changed = server.clone().with_gpus(changes)?;
        Ok::<_, GpuError>(changed.devices()[changed.gpus()[0]].memory())
    };
    let memory = Some(Bytes(96 << 30));
    assert_eq!(of(&GpuChanges { sections, ..GpuChanges::default() }), Ok(memory));
    // Its memory alone says nothing of its model.
    assert_eq!(of(&GpuChanges { memory, ..GpuChanges::default() }), Ok(None));
    let error = of(&GpuChanges { power: Some(Power(500_000)), ..GpuChanges::default() });
    assert!(error.unwrap_err().to_string().contains("`--gpu FILE`"));
}

#[test]
fn less_power_than_at_rest_is_refused_with_what_would_do() {
    let changes = GpuChanges { power: Some(Power(60_000)), ..GpuChanges::default() };
    let error = changes.on(h100()).unwrap_err().to_string();
    assert!(error.contains("60 W") && error.contains("70 W"), "{error}");
}

proptest! {
    #[test]
    fn more_power_and_a_higher_clock_never_slow_a_gpu(
        watts in prop::array::uniform2(71_000_u64..900_000),
        clocks in prop::array::uniform2(100_u32..3000),
    ) {
        let of = |power, clock| {
            let (power, clock) = (Some(Power(power)), Some(megahertz(clock)));
            bf16(&GpuChanges { power, clock, ..GpuChanges::default() }.on(h100()).unwrap())
        };
        let [[less, more], [slow, fast]] =
            [watts, clocks.map(u64::from)].map(|it| [it[0].min(it[1]), it[0].max(it[1])]);
        prop_assert!(of(less, slow as u32) <= of(more, slow as u32));
        prop_assert!(of(less, slow as u32) <= of(less, fast as u32));
    }
}
