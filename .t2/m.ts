import { startContainerd } from '../test/support/containerd/containerd.ts';
import { busyboxImage } from '../test/support/containerd/images.ts';
import { createCriRuntime } from '../bench/support/tmp-cri.ts';
import { sandboxConfig } from '../bench/support/pod-configs.ts';
const pauses: any = { sh: undefined, sleep: ['sleep', '2147483'] };
for (const round of [1,2,3]) for (const name of ['sh','sleep']) {
  const bed = await startContainerd(name === 'sh' ? {} : { images: [busyboxImage('statelet.test/pause2:1', {Entrypoint: ['sleep','2147483'], Cmd: []})], config: '' });
  if (name==='sleep') { const fs = await import('node:fs'); const f = bed.dir+'/config.toml'; fs.writeFileSync(f, fs.readFileSync(f,'utf8').replace('statelet.test/pause:1','statelet.test/pause2:1')); await bed.restart(); }
  const r = createCriRuntime({ endpoint: bed.endpoint });
  const ids=[]; const t: number[]=[];
  for (let i=0;i<20;i++) { const c = sandboxConfig(bed, 'p'+i); const t0=performance.now(); ids.push(await r.runPodSandbox(c)); t.push(performance.now()-t0); }
  const t1=performance.now();
  for (const id of ids) { await r.stopPodSandbox(id); await r.removePodSandbox(id); }
  console.log(name, 'run', t.sort((a,b)=>a-b)[10].toFixed(1), 'stop+remove', ((performance.now()-t1)/20).toFixed(1));
  r.close(); await bed.stop();
}
