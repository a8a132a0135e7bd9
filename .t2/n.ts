import { startContainerd } from '../test/support/containerd/containerd.ts';
import { createCriRuntime } from '../bench/support/tmp-cri.ts';
import { sandboxConfig, containerConfig } from '../bench/support/pod-configs.ts';
import { execSync } from 'node:child_process';
const sh = (c: string) => execSync(c, {encoding:'utf8'});
const a = await startContainerd(), b = await startContainerd();
for (const [bed, hostPort] of [[a, 18080],[b, 18081]] as const) {
  const r = createCriRuntime({ endpoint: bed.endpoint });
  const base: any = sandboxConfig(bed, 'p');
  const cfg = { ...base, hostname: 'p', portMappings: [{protocol:'TCP', containerPort: 80, hostPort, hostIp: ''}], linux: { ...base.linux, securityContext: { namespaceOptions: {network:'POD',pid:'CONTAINER',ipc:'POD'} } } };
  const id = await r.runPodSandbox(cfg);
  console.log(JSON.stringify(await r.podSandboxStatus(id)));
  const c: any = containerConfig(bed, base, 0);
  const cid = await r.createContainer(id, { ...c, mounts: [], command: ['sh','-c','mkdir /www; echo hello > /www/index.html; exec httpd -f -p 80 -h /www'], linux: {resources: c.linux.resources, securityContext: {namespaceOptions: {network:'POD',pid:'CONTAINER',ipc:'POD'}}} }, cfg);
  await r.startContainer(cid);
  await new Promise(r=>setTimeout(r,200));
  const st = await r.podSandboxStatus(id);
  const ip = st.status?.network?.ip ?? st.network?.ip;
  console.log('pod ip', await fetch(`http://${ip}/`).then(r=>r.text(), e=>String(e.cause)));
  console.log('host port', await fetch(`http://127.0.0.1:${hostPort}/`, {signal: AbortSignal.timeout(3000)}).then(r=>r.text(), e=>String(e)), await fetch(`http://192.0.2.2:${hostPort}/`, {signal: AbortSignal.timeout(3000)}).then(r=>r.text(), e=>String(e)));
  r.close();
}
console.log(sh('iptables -t nat -S; ip -br addr; ls /sys/fs/cgroup/memory | grep statelet; ls /run/containerd/s; mount | grep statelet-containerd | wc -l'));
await a.stop().catch(e=>console.log(e.message));
console.log(sh('iptables -t nat -S; ip6tables -t nat -S | head; ip -br addr; ls /sys/fs/cgroup/memory | grep statelet; ls /run/containerd/s; mount | grep statelet-containerd | wc -l'));
await b.stop().catch(e=>console.log(e.message));
console.log(sh('iptables -t nat -S; ip6tables -t nat -S|head; ip -br addr; ls /run/containerd/s; mount | grep statelet-containerd | wc -l; ls /var/lib/cni 2>/dev/null; ls /var/lib/cni/* '));
