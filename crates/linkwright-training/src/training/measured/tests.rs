//! Tests how files are read, and where they are refused.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<MeasuredLayers, InputError> {
    MeasuredLayers::read("own.csv", text, Network::find("lenet:mxnet").unwrap())
}

#[test]
fn times_are_microseconds_or_have_units() {
    let text = "# V100\n\nupdate,layer,backward,forward,samples\n\
                11,mxnet.conv1, 0.9 ms ,412.5,32\n,mxnet.fc2,\"2 us\",1e1,32\n";
    let measured = read(text).unwrap();
    let time = |forward, backward, update| LayerTime {
        forward: Picoseconds(forward),
        backward: Picoseconds(backward),
        update: Picoseconds(update),
    };
    let conv1 = time(412_500_000, 900_000_000, 11_000_000);
    let fc2 = time(10_000_000, 2_000_000, 0);
    assert_eq!(measured.layers, BTreeMap::from([(0, conv1), (8, fc2)]));
    assert_eq!(measured.of(32), Ok(&measured.layers));
    let error = measured.of(64).unwrap_err().to_string();
    assert!(error.contains("measured with 32 samples, but each GPU computes 64"), "{error}");
    let silent = read("layer,forward,backward\nmxnet.conv1,1,2").unwrap();
    assert_eq!(silent.of(64), Ok(&silent.layers));
}

#[test]
fn every_fault_has_a_place_and_a_remedy() {
    for (text, place, told) in [
        ("", "1:1", "no header; write layer,forward,backward"),
        ("# only this", "1:1", "no header"),
        ("layer,forward,backward", "1:23", "no layers"),
        ("layer,forwards,backward", "1:7", "did you mean `forward`?"),
        ("layer,forward,forward", "1:15", "a column is named twice"),
        ("layer,forward", "1:14", "add the column `backward`"),
        ("layer,forward,backward\nmxnet.conv,1,2", "2:1", "did you mean `mxnet.conv1`?"),
        ("layer,forward,backward\nmxnet.conv1,1", "2:14", "give `backward` a field"),
        ("layer,forward,backward\nmxnet.conv1,1,2,3", "2:17", "the header has 3 columns"),
        ("layer,forward,backward\nmxnet.conv1,1,-2", "2:15", "this is no time of a layer: `-2`"),
        ("layer,forward,backward\nmxnet.conv1,NaN,2", "2:13", "this is no time of a layer"),
        ("layer,forward,backward\nmxnet.conv1,1,2 h", "2:15", "this is no time of a layer"),
        ("layer,forward,backward\nmxnet.conv1,1,3601 s", "2:15", "up to an hour"),
        ("layer,forward,backward\nmxnet.conv1,\"1,2", "2:13", "quote the whole field"),
        (
            "layer,forward,backward\nmxnet.conv1,1,2\nmxnet.conv1,1,2",
            "3:1",
            "a layer is named twice",
        ),
        (
            "layer,forward,backward,samples\nmxnet.conv1,1,2,0",
            "2:17",
            "this is no number of samples",
        ),
        (
            "layer,forward,backward,samples\nmxnet.conv1,1,2,8\nmxnet.fc1,1,2,9",
            "3:15",
            "the rows before were measured with 8 samples: `9`",
        ),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("own.csv:{place}: ")), "{error}");
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn the_example_of_this_file_is_read() {
    let text: String = include_str!("../measured.rs")
        .lines()
        .skip_while(|line| !line.contains("```text"))
        .skip(1)
        .take_while(|line| !line.contains("```"))
        .map(|line| line.trim_start_matches("//! ").to_owned() + "\n")
        .collect();
    let measured =
        MeasuredLayers::read("own.csv", &text, Network::find("alexnet").unwrap()).unwrap();
    assert_eq!((measured.samples, measured.layers.len()), (Some(32), 2));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(layer|forward|backward|mxnet.fc1|[0-9,.\"# \n]|us){0,60}") {
        if let Ok(measured) = read(&text) {
            prop_assert!(measured.layers.values().all(|time| time.forward <= LONGEST));
        }
    }

    #[test]
    fn what_is_written_is_read(times in prop::collection::vec((0_u64..1_000_000_000, 0_u64..1_000_000_000), 1..10)) {
        let network = Network::find("lenet:mxnet").unwrap();
        let mut text = "layer,forward,backward\n".to_owned();
        for ((forward, backward), layer) in times.iter().zip(&network.layers) {
            text += &format!("{},{forward} ns,{backward}\n", layer.name);
        }
        let measured = read(&text).unwrap();
        prop_assert_eq!(measured.layers.len(), times.len());
        for (place, time) in measured.layers {
            prop_assert_eq!(time.forward.0, times[place].0 * 1000);
            prop_assert_eq!(time.backward.0, times[place].1 * 1_000_000);
        }
    }
}
