/** What a real kernel makes of the groups of pods on cgroup v2. Runs as the first program of a machine of its own; see kernel-v2.test.ts. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { podCgroupResources } from '../../../../src/agent/policies/cgroups/cgroup-resources.ts';
import { cgroupValues } from '../../../../src/agent/policies/cgroups/cgroup-values.ts';
import { containerResources } from '../../../../src/agent/policies/cri/linux-resources.ts';
import { CgroupTree } from '../../../../src/agent/runtime/cgroups/cgroup-tree.ts';
import { delegateControllers } from '../../../../src/agent/runtime/cgroups/delegation.ts';
import { PodCgroups } from '../../../../src/agent/runtime/cgroups/pod-cgroups.ts';
import { resolveNodeSettings } from '../../../../src/agent/config/load-node-settings.ts';
import { openProcessCgroups } from '../../../../src/embedded/process-cgroups.ts';
import { OomKills } from '../../../../src/embedded/containers/oom-kills.ts';
import { CgroupStats } from '../../../../src/agent/runtime/stats/cgroup-stats.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { OwnNodeFacts } from '../../../../src/types/node-facts.ts';
import { engineBed } from '../../../support/process-engine.ts';
import { podConfig, shell } from '../../../support/runtime-configs.ts';
import { report } from '../../../support/kernel-report.ts';
import { warnings } from '../../../support/warnings.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';

const TOP = '/sys/fs/cgroup';
const MEMORY_QOS = { throttlingFactor: 0.9, reservationPolicy: 'TieredReservation' } as const;
const SETTINGS = {
  podPidsLimit: 100,
  cpuCFSQuota: true,
  cpuCFSQuotaPeriodUs: 100_000,
  memoryQoS: MEMORY_QOS,
};
const FACTS = {
  ...SETTINGS,
  cgroupVersion: 2,
  swapController: true,
  swapBehavior: 'LimitedSwap',
  memoryCapacityBytes: 256 * 2 ** 20,
  swapCapacityBytes: 128 * 2 ** 20,
  hugePageSizes: [],
  memoryQoS: { ...MEMORY_QOS, allocatableBytes: 128 * 2 ** 20, pageSizeBytes: 4096 },
} as const;

const TIME = '2030-01-01T00:00:00Z';

type Amounts = Readonly<Record<string, string>>;

function podOf(uid: string, requests: Amounts = {}, limits: Amounts = {}): Pod {
  const containers = [{ name: 'c', image: 'i', resources: { requests, limits } }];
  return { metadata: { name: uid, namespace: 'ns', uid }, spec: { containers } };
}

const FULL = { cpu: '1', memory: '16Mi' };
const PODS = [
  podOf('g', FULL, FULL),
  podOf('b', { cpu: '250m', memory: '8Mi' }, { memory: '32Mi' }),
  podOf('e'),
];

const read = (group: string, file: string) => readFileSync(join(TOP, group, file), 'utf8').trim();
const write = (group: string, file: string, value: string) => writeFileSync(join(TOP, group, file), value);
const readAll = (group: string, files: readonly string[]) =>
  Object.fromEntries(files.map((file) => [file, read(group, file)]));
/** The values of a file with a line `key value` for each. */
function lines(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(text.split('\n').map((line) => line.split(' ') as [string, string]));
}

/** A process in the group; `command` is what it becomes. */
async function start(group: string, command: string) {
  const join = `echo $$ > ${TOP}/${group}/cgroup.procs && echo joined && exec ${command}`;
  const child = spawn('sh', ['-c', join], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ends = once(child, 'exit') as Promise<[unknown, NodeJS.Signals | null]>;
  await once(child.stdout, 'data');
  return {
    pid: child.pid,
    stdout: child.stdout,
    kill: () => child.kill('SIGKILL'),
    signal: ends.then(([, signal]) => signal),
  };
}

/** A group below that of a pod, as a runtime makes it. */
function makeContainer(podGroup: string, name: string): string {
  write(podGroup, 'cgroup.subtree_control', '+cpu +memory +pids +io');
  const group = `${podGroup}/${name}`;
  mkdirSync(join(TOP, group));
  return group;
}

const LIMITS = ['cpu.weight', 'cpu.max', 'memory.max', 'memory.min', 'memory.low', 'pids.max'];

async function limitsOfPods(cgroups: PodCgroups) {
  await cgroups.setUp({ cpu: '2', memory: '128Mi', pid: '1000' });
  for (const pod of PODS) await cgroups.prepare(pod);
  const groups = [
    '/kubepods',
    '/kubepods/burstable',
    '/kubepods/besteffort',
    ...PODS.map((pod) => cgroups.parentOf(pod)),
  ];
  return Object.fromEntries(groups.map((group) => [group, readAll(group, LIMITS)]));
}

/** What CRI tells the runtime to write, and what the kernel then says. */
function filesOfContainers(cgroups: PodCgroups) {
  return PODS.map((pod) => {
    const [container] = pod.spec.containers;
    const { unified = {} } = containerResources(pod, container!, FACTS);
    const group = makeContainer(cgroups.parentOf(pod), 'container');
    for (const [file, value] of Object.entries(unified)) write(group, file, value);
    return { written: unified, read: readAll(group, Object.keys(unified)) };
  });
}

/** Two processes, of which one takes memory without end. */
async function outOfMemory(cgroups: PodCgroups, name: string, killsAll: boolean) {
  const group = makeContainer(cgroups.parentOf(PODS[2]!), name);
  write(group, 'memory.max', String(16 * 2 ** 20));
  write(group, 'memory.swap.max', '0');
  write(group, 'memory.oom.group', killsAll ? '1' : '0');
  const bystander = await start(group, 'sleep 1000');
  const eater = await start(group, 'tail /dev/zero');
  const signal = await eater.signal;
  if (killsAll) await bystander.signal;
  const events = lines(read(group, 'memory.events'));
  const isPopulated = lines(read(group, 'cgroup.events')).populated === '1';
  bystander.kill();
  await bystander.signal;
  return { signal, oomKills: events.oom_kill, groupKills: events.oom_group_kill, isPopulated };
}

/** The count that the monitor of the embedded runtime looks at: of the group that it shares with its containers. */
async function countOfOwnGroup() {
  mkdirSync(join(TOP, 'own'));
  write('own', 'memory.max', String(200 * 2 ** 20));
  write('own', 'cgroup.procs', String(process.pid));
  const kills = new OomKills();
  const before = kills.grew();
  mkdirSync(join(TOP, 'elsewhere'));
  write('elsewhere', 'memory.max', String(16 * 2 ** 20));
  await (
    await start('elsewhere', 'tail /dev/zero')
  ).signal;
  const afterOther = kills.grew();
  writeFileSync('/proc/self/oom_score_adj', '-1000');
  const eater = spawn('sh', ['-c', 'echo 1000 > /proc/self/oom_score_adj && exec tail /dev/zero'], {
    stdio: 'ignore',
  });
  const [, signal] = (await once(eater, 'exit')) as [unknown, string];
  const after = [kills.grew(), kills.grew()];
  write('', 'cgroup.procs', String(process.pid));
  return { before, afterOther, signal, after };
}

function problemOf(work: () => void): string {
  try {
    work();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The limit of all pods is set below what they use already. */
async function lowerLimit(cgroups: PodCgroups) {
  const group = makeContainer(cgroups.parentOf(PODS[2]!), 'large');
  const file = '/tmp/large';
  const script = `dd if=/dev/zero of=${file} bs=1M count=30 2>/dev/null && echo full && exec sleep 1000`;
  const large = await start(group, `sh -c '${script}'`);
  await once(large.stdout, 'data');
  await cgroups.setUp({ memory: '16Mi', pid: '1000' });
  const before = read('/kubepods', 'memory.max');
  const kills = lines(read('/kubepods', 'memory.events')).oom_kill;
  rmSync(file);
  await cgroups.updateQoS(PODS);
  const after = read('/kubepods', 'memory.max');
  large.kill();
  await cgroups.setUp({ memory: '128Mi', pid: '1000' });
  return { before, kills, after, signal: await large.signal, told: told.splice(0) };
}

/** Groups in which controllers cannot be enabled. */
async function refusedGroups(tree: CgroupTree) {
  for (const group of ['busy', 'threads', 'threads/one']) mkdirSync(join(TOP, group));
  const sleeper = await start('busy', 'sleep 1000');
  const busy = problemOf(() => delegateControllers(tree, '/busy', ['cpu', 'memory', 'pids']));
  const typeOfBusy = read('busy', 'cgroup.type');
  sleeper.kill();
  write('threads/one', 'cgroup.type', 'threaded');
  const threaded = problemOf(() => delegateControllers(tree, '/threads/one', ['cpu', 'memory']));
  return { pid: sleeper.pid, busy, typeOfBusy, threaded };
}

/** The figures of a container beside the files that they come from. */
async function figures(tree: CgroupTree, cgroups: PodCgroups) {
  const group = makeContainer(cgroups.parentOf(PODS[0]!), 'counted');
  for (const { file, value } of cgroupValues(2, podCgroupResources(PODS[0]!, SETTINGS)))
    write(group, file, value);
  await (
    await start(group, 'head -c 3000000 /dev/zero > /tmp/written')
  ).signal;
  const stats = new CgroupStats(tree);
  // The kernel gives back what an ended process had used some time after its end: nothing may change while the figures are read.
  let [before, told, counted] = [countedIn(group), figuresOf(stats, group), countedIn(group)];
  while (JSON.stringify(before) !== JSON.stringify(counted))
    [before, told, counted] = [countedIn(group), figuresOf(stats, group), countedIn(group)];
  const isTopThere = stats.memory('/', TIME) !== undefined && !existsSync(join(TOP, 'memory.current'));
  return { told, counted, isTopThere };
}

function figuresOf(stats: CgroupStats, group: string) {
  const { memory } = stats.memoryAndSwap(group, TIME, undefined);
  return {
    usage: memory?.usageBytes,
    workingSet: memory?.workingSetBytes,
    available: memory?.availableBytes,
    rss: memory?.rssBytes,
    pageFaults: memory?.pageFaults,
    cpu: stats.cpu(group, TIME)?.usageCoreNanoSeconds,
    pids: stats.pids(group),
  };
}

function countedIn(group: string) {
  const usage = Number(read(group, 'memory.current'));
  const files = lines(read(group, 'memory.stat'));
  const workingSet = usage - Number(files.inactive_file);
  return {
    usage,
    workingSet,
    available: Number(read(group, 'memory.max')) - workingSet,
    rss: Number(files.anon),
    pageFaults: Number(files.pgfault),
    cpu: Number(lines(read(group, 'cpu.stat')).usage_usec) * 1000,
    pids: Number(read(group, 'pids.current')),
  };
}

async function removal(cgroups: PodCgroups) {
  const group = makeContainer(cgroups.parentOf(PODS[1]!), 'left');
  const left = await start(group, 'sleep 1000');
  const found = await cgroups.podsOnDisk(true);
  for (const pod of PODS) await cgroups.release(pod.metadata.uid);
  return {
    found,
    signal: await left.signal,
    isLeft: PODS.some((pod) => existsSync(join(TOP, cgroups.parentOf(pod)))),
  };
}

const OWN_FILES = ['memory.max', 'memory.oom.group', 'cpu.max', 'cpu.weight'];

/** Containers of the embedded runtime in the group of a pod. */
async function embedded(cgroups: PodCgroups) {
  const bed = engineBed();
  const [pod] = PODS;
  const sandbox = podConfig(join(bed.layout.rootDir, 'pods'));
  const cgroupParent = cgroups.parentOf(pod!);
  const sandboxId = bed.engine.runPodSandbox({ ...sandbox, linux: { cgroupParent } });
  const resources = containerResources(pod!, pod!.spec.containers[0]!, { ...FACTS, memoryQoS: undefined });
  const run = async (name: string, script: string) => {
    const config = shell(script, {
      metadata: { name, attempt: 0 },
      logPath: `${name}.log`,
      linux: { resources },
    });
    const id = await bed.engine.createContainer(sandboxId, config);
    await bed.engine.startContainer(id);
    return bed.engine.container(id);
  };
  const sleeper = await run('sleeper', 'setsid env -i sleep 1000 & exec sleep 1000');
  const group = join(cgroupParent, sleeper.record.id);
  const files = Object.fromEntries(OWN_FILES.map((file) => [file, read(group, file)]));
  const isIn = read(group, 'cgroup.procs').split('\n').includes(String(sleeper.record.process?.pid));
  await sleeper.stop(0);
  const eater = await run('eater', 'sleep 1000 & exec tail /dev/zero');
  await eater.ended;
  await bed.cleanup();
  return { files, isIn, isLeft: existsSync(join(TOP, group)), exit: eater.record.exit?.reason };
}

/**
 * As systemd does for a user: the user owns a group, and may make others in it. This program becomes that user and goes on in that group,
 * as an agent that was started there; it comes last.
 */
async function delegated() {
  const slice = 'user.slice/user-1000.slice';
  const service = `${slice}/user@1000.service`;
  const scope = `${service}/app.slice/agent.scope`;
  mkdirSync(join(TOP, scope), { recursive: true });
  for (const group of ['', 'user.slice', slice]) write(group, 'cgroup.subtree_control', '+cpu +memory +pids');
  execFileSync('chown', ['-R', '1000:1000', join(TOP, service)]);
  write(scope, 'cgroup.procs', String(process.pid));
  const bed = engineBed();
  execFileSync('chown', ['-R', '1000:1000', bed.layout.rootDir]);
  process.setgid?.(1000);
  process.setuid?.(1000);
  const [pod] = PODS;
  const setup = {
    rootDir: bed.layout.rootDir,
    settings: resolveNodeSettings({ flags: {}, file: {}, fileName: '' }),
    facts: { capacity: { cpu: '1', memory: '128Mi' } } as unknown as OwnNodeFacts,
    reservations: { systemReserved: {}, kubeReserved: {} },
  };
  const { logger: own, messages: warned } = warnings();
  const opened = await openProcessCgroups(testContext({ logger: own }), setup);
  if (!opened) return { warned };
  await opened.cgroups.prepare(pod!);
  const cgroupParent = opened.cgroups.parentOf(pod!);
  const sandbox = podConfig(join(bed.layout.rootDir, 'pods'));
  const sandboxId = bed.engine.runPodSandbox({ ...sandbox, linux: { cgroupParent } });
  const resources = containerResources(pod!, pod!.spec.containers[0]!, opened.facts);
  const id = await bed.engine.createContainer(sandboxId, shell('exec sleep 1000', { linux: { resources } }));
  await bed.engine.startContainer(id);
  const group = join(cgroupParent, id);
  const { record } = bed.engine.container(id);
  const found = {
    isBelow: group.startsWith(`/${service}/statelet-`),
    isIn: read(group, 'cgroup.procs').trim() === String(record.process?.pid),
    files: Object.fromEntries(['memory.max', 'cpu.max'].map((file) => [file, read(group, file)])),
  };
  await bed.engine.removePodSandbox(sandboxId);
  await opened.cgroups.release(pod!.metadata.uid);
  opened.close();
  return { ...found, isLeft: existsSync(join(TOP, opened.root)) };
}

const told: string[] = [];
const { logger, messages } = warnings();
const context = testContext({
  logger,
  recorder: recorderOf({ nodeEvent: (...event) => void told.push(event.join(' ')) }),
});
const cgroups = await PodCgroups.open(context, {
  ...SETTINGS,
  cgroupRoot: '/',
  reservesPIDs: true,
});
const limits = await limitsOfPods(cgroups);
const tree = new CgroupTree('/proc/self/mountinfo', [], logger);
report({
  version: cgroups.version,
  limits,
  lowerLimit: await lowerLimit(cgroups),
  containers: filesOfContainers(cgroups),
  together: await outOfMemory(cgroups, 'together', true),
  alone: await outOfMemory(cgroups, 'alone', false),
  ownGroup: await countOfOwnGroup(),
  refused: await refusedGroups(tree),
  figures: await figures(tree, cgroups),
  embedded: await embedded(cgroups),
  removal: await removal(cgroups),
  messages: [...messages],
  delegated: await delegated(),
});
