//! Tests the flow model against its definition, a naive solver, and itself from scratch.

use proptest::prelude::*;

use super::*;

/// A flow that a test starts: route, bytes, limit and start.
#[derive(Debug, Clone)]
struct Transfer {
    route: Vec<(ResourceId, f64)>,
    bytes: Bytes,
    limit: Option<Bandwidth>,
    start: Picoseconds,
}

fn capacities() -> impl Strategy<Value = Vec<Bandwidth>> {
    let wide = prop::sample::select(vec![25, 50, 100, 12, 7]).prop_map(|gb| gb * 1_000_000_000);
    let any = prop_oneof![wide, 1_000_u64..100_000_000_000];
    prop::collection::vec(any.prop_map(Bandwidth), 1..8)
}

fn transfer(resources: usize) -> impl Strategy<Value = Transfer> {
    let share = prop::sample::select(vec![1.0, 1.0, 0.5, 1.0 / 3.0, 1.0 / 6.0, 5.0 / 18.0, 0.123]);
    let route = prop::collection::btree_map(0..resources, share, 1..4);
    let limit = prop::option::weighted(0.3, 1_000_u64..50_000_000_000);
    (route, 0_u64..1 << 24, limit, 0_u64..4).prop_map(|(route, bytes, limit, start)| Transfer {
        route: route.into_iter().collect(),
        bytes: Bytes(bytes),
        limit: limit.map(Bandwidth),
        start: Picoseconds(start * 50_000_000),
    })
}

fn scenario() -> impl Strategy<Value = (Vec<Bandwidth>, Vec<Transfer>)> {
    capacities().prop_flat_map(|capacities| {
        let transfers = prop::collection::vec(transfer(capacities.len()), 1..14);
        (Just(capacities), transfers)
    })
}

fn start(network: &mut FlowNetwork, transfer: &Transfer) -> FlowId {
    network.start(&transfer.route, transfer.bytes, transfer.limit, transfer.start)
}

/// Rates by filling in small words: raise all, find what fills first, fix, repeat.
fn naive_rates(capacities: &[Bandwidth], transfers: &[&Transfer]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; transfers.len()];
    while rates.contains(&None) {
        let level = |resource: usize| {
            let (mut left, mut rising) = (capacities[resource].0 as f64, 0.0);
            for (transfer, rate) in transfers.iter().zip(&rates) {
                for (_, share) in transfer.route.iter().filter(|used| used.0 == resource) {
                    left -= rate.unwrap_or(0.0) * share;
                    rising += if rate.is_none() { *share } else { 0.0 };
                }
            }
            if rising > 0.0 { left / rising } else { f64::INFINITY }
        };
        let levels: Vec<f64> = (0..capacities.len()).map(level).collect();
        let stop = |transfer: &Transfer| {
            let limit = transfer.limit.map_or(f64::INFINITY, |limit| limit.0 as f64);
            transfer.route.iter().map(|used| levels[used.0]).fold(limit, f64::min)
        };
        let stops: Vec<f64> = transfers.iter().map(|transfer| stop(transfer)).collect();
        let open = stops.iter().zip(&rates).filter(|(_, rate)| rate.is_none());
        let lowest = open.map(|(stop, _)| *stop).fold(f64::INFINITY, f64::min);
        for (rate, stop) in rates.iter_mut().zip(&stops) {
            if rate.is_none() && *stop <= lowest * (1.0 + 1e-12) {
                *rate = Some(lowest);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

/// Rates in their units by filling from nothing, with the model's rounding and no short cuts.
fn filled_rates(incidence: &Incidence, resources: usize, slots: &[u32]) -> Vec<u64> {
    let mut rates: Vec<Option<u64>> = vec![None; slots.len()];
    let uses = |index: usize, resource: usize| {
        incidence.uses(slots[index]).iter().filter(move |used| used.resource as usize == resource)
    };
    while rates.contains(&None) {
        let level = |resource: usize| {
            let (mut left, mut share) = (incidence.capacity(resource as u32), 0);
            for (index, rate) in rates.iter().enumerate() {
                for used in uses(index, resource).map(|used| u128::from(used.share)) {
                    match rate {
                        Some(rate) => left = left.saturating_sub(u128::from(*rate) * used),
                        None => share += used,
                    }
                }
            }
            left.checked_div(share)
                .map_or(u64::MAX, |level| u64::try_from(level).unwrap_or(u64::MAX).max(1))
        };
        let levels: Vec<u64> = (0..resources).map(level).collect();
        let lowest = levels.iter().copied().min().unwrap_or(u64::MAX);
        let open: Vec<usize> = (0..slots.len()).filter(|index| rates[*index].is_none()).collect();
        let (at_limit, above): (Vec<usize>, Vec<usize>) =
            open.into_iter().partition(|index| incidence.limit(slots[*index]) <= lowest);
        for index in &at_limit {
            rates[*index] = Some(incidence.limit(slots[*index]));
        }
        if at_limit.is_empty() {
            for index in above {
                let mut used = incidence.uses(slots[index]).iter();
                if used.any(|used| levels[used.resource as usize] == lowest) {
                    rates[index] = Some(lowest);
                }
            }
        }
    }
    rates.into_iter().flatten().collect()
}

/// Holds one active flow of a run, and the work that it has carried by the rates it was told.
struct Running<'a> {
    id: FlowId,
    transfer: &'a Transfer,
    index: usize,
    carried: u128,
}

/// No resource above its capacity; every flow at its limit, or on a full resource where no
/// other flow is faster. Both exact, but for the rounding of a rate down to its unit.
fn assert_fair(network: &mut FlowNetwork, capacities: &[Bandwidth], running: &[Running]) {
    network.update_rates();
    let rate = |run: &Running| network.flows[run.id.slot()].rate;
    let user = |run: &Running, resource: u32| {
        let uses = network.incidence.uses(run.id.slot).iter();
        uses.filter(|used| used.resource == resource).map(|used| used.share).sum::<u64>()
    };
    let mut full = Vec::new();
    for resource in 0..capacities.len() as u32 {
        let used: u128 =
            running.iter().map(|run| u128::from(rate(run)) * u128::from(user(run, resource))).sum();
        let capacity = network.incidence.capacity(resource);
        assert!(used <= capacity, "{used} of {capacity}");
        // Each flow may have lost less than one unit of rate.
        let lost: u64 = running.iter().map(|run| user(run, resource)).sum();
        full.push(capacity - used <= u128::from(lost));
    }
    for run in running {
        let at_limit = rate(run) == network.incidence.limit(run.id.slot);
        let is_bottleneck = |used: &(ResourceId, f64)| {
            let sharing = running.iter().filter(|other| user(other, used.0 as u32) > 0);
            full[used.0] && sharing.map(rate).all(|other| other <= rate(run) + 16)
        };
        assert!(at_limit || run.transfer.route.iter().any(is_bottleneck), "{:?}", run.transfer);
    }
}

/// Plays a scenario with every check at every event, and levels above `many` flows; returns
/// each transfer's completion.
fn play(capacities: &[Bandwidth], transfers: &[Transfer], many: usize) -> Vec<Picoseconds> {
    let mut network = FlowNetwork { many, ..FlowNetwork::new(capacities) };
    let mut waiting: Vec<(usize, &Transfer)> = transfers.iter().enumerate().collect();
    waiting.sort_by_key(|(_, transfer)| std::cmp::Reverse(transfer.start));
    let mut running: Vec<Running> = Vec::new();
    let mut ends = vec![Picoseconds(0); transfers.len()];
    loop {
        let arrival = waiting.last().map(|(_, transfer)| transfer.start);
        let completion = network.next_completion();
        let due = completion.map(|(time, _)| time);
        let Some(time) = arrival.into_iter().chain(due).min() else { break };
        let elapsed = u128::from(time.0 - network.now().0);
        for run in &mut running {
            run.carried += elapsed * u128::from(network.flows[run.id.slot()].rate);
        }
        if due == Some(time) {
            let (_, id) = network.complete_next().unwrap();
            let place = running.iter().position(|run| run.id == id).unwrap();
            let run = running.remove(place);
            let work = u128::from(run.transfer.bytes.0) * WORK_PER_BYTE;
            // Never early, and late by less than one picosecond.
            assert!(run.carried >= work);
            assert!(run.carried - work < u128::from(network.flows[id.slot()].rate));
            ends[run.index] = time;
        } else if let Some((index, transfer)) = waiting.pop() {
            let id = start(&mut network, transfer);
            running.push(Running { id, transfer, index, carried: 0 });
        }
        // Starts and ends of one moment count as one change.
        let more_now = waiting.last().is_some_and(|(_, next)| next.start == time);
        if more_now || network.next_completion().is_some_and(|(next, _)| next == time) {
            continue;
        }
        assert_fair(&mut network, capacities, &running);
        let active: Vec<&Transfer> = running.iter().map(|run| run.transfer).collect();
        let mut fresh = FlowNetwork::new(capacities);
        fresh.advance(time);
        let ids: Vec<FlowId> = active
            .iter()
            .map(|each| fresh.start(&each.route, each.bytes, each.limit, time))
            .collect();
        for ((run, id), naive) in running.iter().zip(ids).zip(naive_rates(capacities, &active)) {
            fresh.update_rates();
            let rate = network.flows[run.id.slot()].rate;
            assert_eq!(rate, fresh.flows[id.slot()].rate);
            let bandwidth = rate as f64 / RATES_PER_BANDWIDTH as f64;
            assert!((bandwidth - naive).abs() <= naive * 1e-9 + 0.1, "{bandwidth} {naive}");
        }
    }
    assert_eq!(network.active(), 0);
    ends
}

proptest! {
    #[test]
    fn every_moment_is_fair_and_every_byte_arrives((capacities, transfers) in scenario()) {
        let filled = play(&capacities, &transfers, MANY_FLOWS);
        for many in [0, 6] {
            prop_assert_eq!(&play(&capacities, &transfers, many), &filled);
        }
    }

    #[test]
    fn the_order_of_starts_does_not_matter(
        (capacities, transfers) in scenario(),
        keys in prop::collection::vec(any::<u64>(), 14),
    ) {
        let ends = play(&capacities, &transfers, MANY_FLOWS);
        let mut order: Vec<usize> = (0..transfers.len()).collect();
        order.sort_by_key(|index| keys[*index]);
        let shuffled: Vec<Transfer> = order.iter().map(|index| transfers[*index].clone()).collect();
        for (end, index) in play(&capacities, &shuffled, 0).into_iter().zip(order) {
            prop_assert_eq!(end, ends[index]);
        }
    }

    #[test]
    fn equal_flows_end_together(count in 1_usize..64, capacity in 1_u64..1 << 40, bytes: u32) {
        let mut network = FlowNetwork::new(&[Bandwidth(capacity), Bandwidth(capacity / 3 + 1)]);
        let size = Bytes(u64::from(bytes));
        for _ in 0..count {
            network.start(&[(0, 0.7), (1, 0.3)], size, None, Picoseconds(0));
        }
        let ends: Vec<_> = std::iter::from_fn(|| network.complete_next()).collect();
        prop_assert!(ends.windows(2).all(|pair| pair[0].0 == pair[1].0 && pair[0].1 < pair[1].1));
        prop_assert!(ends.len() == count || ends.is_empty());
    }

    #[test]
    fn completions_come_in_order(changes in prop::collection::vec((0_u32..12, 0_u64..9), 0..80)) {
        let mut heap = Completions::default();
        let mut plain = std::collections::BTreeMap::new();
        for (slot, time) in changes {
            let id = FlowId { sequence: u64::from(slot), slot };
            if time == 0 {
                heap.remove(slot);
                plain.remove(&slot);
            } else {
                heap.set(id, Picoseconds(time));
                plain.insert(slot, (Picoseconds(time), id));
            }
            prop_assert_eq!(heap.first(), plain.values().min().copied());
        }
    }
}

/// Few and small capacities and limits, so that levels are often equal, or so near that the
/// rounding of one decides about another.
fn close_scenario() -> impl Strategy<Value = (Vec<Bandwidth>, Vec<Change>)> {
    let capacity = prop::sample::select(vec![0, 1, 2, 3, 3, 7, 100, 1 << 36, 1 << 36, u64::MAX]);
    let capacities = prop::collection::vec(capacity.prop_map(Bandwidth), 2..24);
    capacities.prop_flat_map(|capacities| {
        let share = prop::sample::select(vec![1.0, 1.0, 1.0, 0.5, 1.0 / 3.0, 1e-12]);
        let route = prop::collection::vec((0..capacities.len(), share), 0..5);
        let limit = prop::option::weighted(0.2, prop::sample::select(vec![0, 1, 2, 3, 1 << 35]));
        let limit = limit.prop_map(|limit| limit.map(Bandwidth));
        let starts = (route, limit).prop_map(|(route, limit)| Change::Start(route, limit));
        let end = any::<prop::sample::Index>().prop_map(Change::End);
        let change = prop_oneof![4 => starts, 3 => end, 2 => Just(Change::Look)];
        (Just(capacities), prop::collection::vec(change, 1..160))
    })
}

/// Lists the changes that a test makes to a network.
#[derive(Debug, Clone)]
enum Change {
    Start(Vec<(ResourceId, f64)>, Option<Bandwidth>),
    End(prop::sample::Index),
    /// Works out the rates, so that the next change finds them.
    Look,
}

proptest! {
    #[test]
    fn rates_do_not_depend_on_what_went_before(
        (capacities, changes) in close_scenario(),
        many in prop::sample::select(vec![0, 8, 1_000]),
    ) {
        let mut network = FlowNetwork { many, ..FlowNetwork::new(&capacities) };
        let mut active = Vec::new();
        for change in changes {
            match change {
                Change::Start(route, limit) => {
                    let bytes = Bytes(u64::MAX);
                    active.push(network.start(&route, bytes, limit, Picoseconds(0)));
                }
                Change::End(index) if !active.is_empty() => {
                    let flow = active.swap_remove(index.index(active.len()));
                    network.cancel(flow, Picoseconds(0));
                }
                Change::End(_) => {}
                Change::Look => {
                    network.update_rates();
                    let slots: Vec<u32> = active.iter().map(|flow| flow.slot).collect();
                    let rates: Vec<u64> =
                        active.iter().map(|flow| network.flows[flow.slot()].rate).collect();
                    let filled = filled_rates(&network.incidence, capacities.len(), &slots);
                    prop_assert_eq!(rates, filled);
                }
            }
        }
    }
}

const TEN: Bandwidth = Bandwidth::gigabytes_per_second(10);

#[test]
fn whole_quotients_give_whole_times() {
    // Six planes of 50 GB/s carry 300 MB in exactly one millisecond.
    let mut network = FlowNetwork::new(&[Bandwidth::gigabytes_per_second(50); 6]);
    let route: Vec<(ResourceId, f64)> = (0..6).map(|plane| (plane, 1.0 / 6.0)).collect();
    let flow = network.start(&route, Bytes(300_000_000), None, Picoseconds(0));
    assert_eq!(network.rate(flow), Bandwidth::gigabytes_per_second(300));
    assert_eq!(network.complete_next(), Some((Picoseconds(1_000_000_000), flow)));
}

#[test]
fn a_flow_speeds_up_when_another_ends() {
    let mut network = FlowNetwork::new(&[TEN, TEN]);
    let first = network.start(&[(0, 1.0)], Bytes(10_000), None, Picoseconds(0));
    let both = network.start(&[(0, 1.0), (1, 1.0)], Bytes(40_000), None, Picoseconds(0));
    let apart = network.start(&[(1, 1.0)], Bytes(1_000_000), Some(TEN), Picoseconds(0));
    assert_eq!(network.complete_next(), Some((Picoseconds(2_000_000), first)));
    assert_eq!(network.rate(both), Bandwidth::gigabytes_per_second(5));
    assert_eq!(network.cancel(apart, Picoseconds(4_000_000)), Bytes(980_000));
    assert_eq!(network.remaining(both), Bytes(20_000));
    assert_eq!(network.complete_next(), Some((Picoseconds(6_000_000), both)));
}

#[test]
fn nothing_to_carry_takes_no_time_and_little_capacity_still_some() {
    let mut network = FlowNetwork::new(&[Bandwidth(0), Bandwidth(u64::MAX)]);
    let empty = network.start(&[(0, 1.0)], Bytes(0), None, Picoseconds(7));
    let local = network.start(&[], Bytes(u64::MAX), None, Picoseconds(7));
    assert_eq!(network.complete_next(), Some((Picoseconds(7), empty)));
    assert_eq!(network.complete_next(), Some((Picoseconds(7), local)));
    let slow = network.start(&[(0, 1.0)], Bytes(1), None, Picoseconds(7));
    let wide = network.start(&[(1, 1.0)], Bytes(1 << 40), None, Picoseconds(7));
    assert_eq!(network.next_completion().unwrap().1, wide);
    assert_eq!(network.rate(slow), Bandwidth(0));
    let endless = network.start(&[(0, 1.0)], Bytes(u64::MAX), None, Picoseconds(7));
    assert!(network.complete_next().is_some());
    network.cancel(slow, network.now());
    assert_eq!(network.next_completion(), None);
    assert_eq!(network.remaining(endless), Bytes(u64::MAX));
}

#[test]
#[should_panic(expected = "before the clock")]
fn the_past_is_refused() {
    let mut network = FlowNetwork::new(&[TEN]);
    network.advance(Picoseconds(5));
    network.advance(Picoseconds(4));
}

#[test]
#[should_panic(expected = "is open")]
fn completions_may_not_be_passed_over() {
    let mut network = FlowNetwork::new(&[TEN]);
    network.start(&[(0, 1.0)], Bytes(10), None, Picoseconds(0));
    network.advance(Picoseconds(1_001));
}

#[test]
#[should_panic(expected = "the flow is active")]
fn an_ended_flow_is_not_taken_for_its_successor() {
    let mut network = FlowNetwork::new(&[TEN]);
    let gone = network.start(&[(0, 1.0)], Bytes(0), None, Picoseconds(0));
    network.complete_next();
    let next = network.start(&[(0, 1.0)], Bytes(9), None, Picoseconds(0));
    assert_eq!(gone.slot(), next.slot());
    network.rate(gone);
}

#[test]
fn the_higher_class_takes_what_it_can() {
    let mut network = FlowNetwork::new(&[TEN, TEN]);
    let now = Picoseconds(0);
    let size = Bytes(1 << 30);
    let [first, second, other] = [&[(0, 1.0), (1, 0.5)][..], &[(0, 1.0)], &[(1, 1.0)]]
        .map(|route| network.start(route, size, None, now));
    let rates = |network: &mut FlowNetwork| [first, second, other].map(|id| network.rate(id).0);
    assert_eq!(rates(&mut network), [5_000_000_000, 5_000_000_000, 7_500_000_000]);
    network.set_class(second, 3);
    // The first goes on at less than a byte a second, and leaves what it cannot use.
    assert_eq!(rates(&mut network)[..2], [0, TEN.0]);
    assert!(rates(&mut network)[2].abs_diff(TEN.0) < 2);
    network.set_class(first, 7);
    assert_eq!(rates(&mut network), [TEN.0, 0, 5_000_000_000]);
    for id in [first, second] {
        network.set_class(id, 0);
    }
    assert_eq!(rates(&mut network), [5_000_000_000, 5_000_000_000, 7_500_000_000]);
}

proptest! {
    /// With classes, nothing carries more than it can. Flows of a lower class slow no flow of a
    /// higher one. Kept levels give way to higher classes and come back.
    #[test]
    fn lower_classes_take_nothing_from_higher_ones(
        (capacities, transfers) in scenario(),
        classes in prop::collection::vec(0_u8..4, 14),
        many in prop::sample::select(vec![0, MANY_FLOWS]),
    ) {
        let play = |above: u8| {
            let mut network = FlowNetwork { many, ..FlowNetwork::new(&capacities) };
            let kept = transfers.iter().zip(&classes).filter(|(_, class)| **class >= above);
            let ids: Vec<_> = kept
                .map(|(each, class)| {
                    let id = network.start(&each.route, Bytes(u64::MAX), each.limit, Picoseconds(0));
                    network.set_class(id, *class);
                    (each, *class, id)
                })
                .collect();
            ids.into_iter()
                .map(|(each, class, id)| (each, class, network.rate(id).0))
                .collect::<Vec<_>>()
        };
        let all = play(0);
        for above in 1..4 {
            let alone: Vec<u64> = play(above).into_iter().map(|it| it.2).collect();
            let beside = all.iter().filter(|it| it.1 >= above).map(|it| it.2);
            prop_assert_eq!(alone, beside.collect::<Vec<_>>());
        }
        for (resource, capacity) in capacities.iter().enumerate() {
            let used: f64 = all
                .iter()
                .flat_map(|(each, _, rate)| {
                    let of = each.route.iter().filter(|it| it.0 == resource);
                    of.map(move |(_, share)| share * *rate as f64)
                })
                .sum();
            prop_assert!(used <= capacity.0 as f64 * (1.0 + 1e-9) + 16.0, "{used} {capacity:?}");
        }
    }
}

#[test]
#[should_panic(expected = "above 0 to 4 is possible")]
fn a_share_out_of_its_range_is_refused() {
    FlowNetwork::new(&[TEN]).start(&[(0, 4.5)], Bytes(1), None, Picoseconds(0));
}

#[test]
fn a_prolonged_flow_carries_all_it_was_given_and_goes_on_at_its_rate() {
    let mut network = FlowNetwork::new(&[Bandwidth::gigabytes_per_second(1)]);
    let first = network.start(&[(0, 1.0)], Bytes(1_000), None, Picoseconds(0));
    let second = network.start(&[(0, 1.0)], Bytes(4_000), None, Picoseconds(0));
    // At half a byte a nanosecond each.
    assert_eq!(network.prolong_next(Bytes(500)), Some((Picoseconds(2_000_000), first)));
    assert_eq!(network.remaining(first), Bytes(500));
    assert_eq!(network.used(0), Bandwidth::gigabytes_per_second(1));
    assert_eq!(network.complete_next(), Some((Picoseconds(3_000_000), first)));
    assert_eq!(network.complete_next(), Some((Picoseconds(5_500_000), second)));
}
