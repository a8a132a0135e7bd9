import { startContainerd } from '../test/support/containerd/containerd.ts';
import { createCriRuntime } from '../bench/support/tmp-cri.ts';
import { sandboxConfig } from '../bench/support/pod-configs.ts';
const bed = await startContainerd();
const r = createCriRuntime({ endpoint: bed.endpoint });
const cfg = (n: string): any => { const b: any = sandboxConfig(bed, n); return { ...b, hostname: n, linux: { ...b.linux, securityContext: { namespaceOptions: {network:'POD',pid:'CONTAINER',ipc:'POD'} } } }; };
bed.hold('one');
let done = false;
const one = r.runPodSandbox(cfg('one')).then((id: string) => { done = true; return id; });
const two = await r.runPodSandbox(cfg('two'));
console.log('two up', two.slice(0,5), 'one done', done);
bed.release('one');
const id = await one;
console.log((await r.podSandboxStatus(id)).status.network);
console.log(await bed.smallDisk('full', 65536));
for (const i of [id, two]) { await r.stopPodSandbox(i); await r.removePodSandbox(i); }
r.close(); await bed.stop();
