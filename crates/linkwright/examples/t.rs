use linkwright::allocation::*; use linkwright::topology::*; use std::time::Instant;
fn main(){
 for name in ["dgx1-v100","torus2d-16","cubemesh-16","dgx2"]{
  for model in [BandwidthModel::Sound,BandwidthModel::Published]{
  let m=presets::preset(name).unwrap();
  let t=Instant::now(); let p=PreparedMachine::new(&m,BandwidthProfile::Mapa,model).unwrap();
  let t2=Instant::now(); let tr=linkwright::allocation::matching::ring::RingTable::new(&linkwright::allocation::links::PairTable::new(p.graph())); let d2=t2.elapsed(); drop(tr);
  println!("{name} {model:?} prep {:?} ring {:?}",t.elapsed()-d2,d2);
  let mut worst=std::time::Duration::ZERO;
  for k in 1..=p.gpu_count(){ let pat=Pattern::new(Shape::Ring,k).unwrap();
   for pol in POLICIES{ for s in [true,false]{ let r=Request{pattern:&pat,sensitive:s};
    let mut best=std::time::Duration::MAX;
    for _ in 0..5 {let t=Instant::now(); std::hint::black_box(pol.choose(&p,&r,GpuSet::first(p.gpu_count()))); best=best.min(t.elapsed());}
    worst=worst.max(best);
   }}}
  println!("  worst {worst:?}");
  if model==BandwidthModel::Sound { for sh in [Shape::Chain,Shape::Tree,Shape::Star,Shape::RingTree]{ for k in [5,8,12,16]{ if k>p.gpu_count(){continue}
    let pat=Pattern::new(sh,k).unwrap(); let t=Instant::now(); let s=p.best(&pat,GpuSet::first(p.gpu_count()),Objective::Aggregated).unwrap(); println!("   {} {k} {:?} optimal {} {}",sh.name(),t.elapsed(),s.optimal,s.chosen.aggregated_bandwidth);}}}
  }
 }
}
