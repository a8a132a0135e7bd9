/** Facts that matter with a CRI runtime alone. */
import { readdir, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import type { StateletConfig } from '../agent/config/config.ts';
import { flagOrNot } from '../agent/config/setting.ts';
import type { CNIFacts } from './policies/cni-findings.ts';
import type { DoctorFacts } from './policies/diagnosis.ts';
import {
  type DriverFacts,
  type RuntimeSettings,
  settingsOfFile,
  settingsOfStatus,
} from './policies/driver-findings.ts';
import type { Reading } from './policies/finding.ts';
import { swapDevices } from './policies/machine-findings.ts';
import type { RuntimeAnswer } from './policies/runtime-findings.ts';
import { Channel } from '../agent/runtime/cri/calls/channel.ts';
import { IMAGE_STATUS, RUNTIME_CONFIG, STATUS, VERSION } from '../agent/runtime/cri/messages/methods.ts';
import { readMachineFacts } from '../agent/runtime/node/machine-facts.ts';
import type { RuntimeCondition } from '../types/cri.ts';
import { cgroupFacts } from './cgroup-facts.ts';
import { kernelText, mapped, reading, textOf, valueOr } from './reading.ts';
import { systemdFacts } from './systemd-facts.ts';

const CONTAINERD_FILE = '/etc/containerd/config.toml';
const CRIO_FILE = '/etc/crio/crio.conf';
const CONF_DIR = '/etc/cni/net.d';
const BIN_DIRS = ['/opt/cni/bin', '/usr/lib/cni'];
const PARSERS = ['/sbin/apparmor_parser', '/usr/sbin/apparmor_parser'];

export async function containerFacts(
  config: StateletConfig,
  answers: RuntimeAnswers,
): Promise<NonNullable<DoctorFacts['containers']>> {
  const name = 'value' in answers.answer ? answers.answer.value.name : '';
  const ofStatus = settingsOfStatus(answers.info);
  const isInStatus = ofStatus.confDir !== undefined || ofStatus.sandboxImage !== undefined;
  const settings = isInStatus ? ofStatus : await settingsInFile(name);
  const cgroups = await cgroupFacts(config);
  const version = 'value' in cgroups.tree ? cgroups.tree.value.version : undefined;
  const image = settings.sandboxImage;
  return {
    cgroups,
    driver: await driverFacts(config, answers, { name, settings, isInStatus }),
    cni: hasOwnNetwork(settings, answers) ? undefined : await cniFacts(settings),
    sandboxImage: {
      image,
      isPresent: image === undefined ? undefined : await answers.hasImage(image),
      isContainerd: name !== 'cri-o',
    },
    swap: {
      devices: mapped(await kernelText('/proc/swaps'), swapDevices),
      failSwapOn: failsSwapOn(config),
      swapBehavior: config.node.swapBehavior,
    },
    security: await securityFacts(version ?? 2, settings.selinux),
  };
}

/** Whether the configuration says that the kubelet must not start with swap. Statelet starts. */
function failsSwapOn({ given }: StateletConfig): boolean {
  const flag = given.flags.idle?.['fail-swap-on']?.at(-1);
  const { failSwapOn } = { ...given.file } as { readonly failSwapOn?: unknown };
  return flag === undefined ? failSwapOn !== false : flagOrNot.fromText(flag) !== false;
}

/** The runtime's network is ready, and the runtime names no folder of CNI files: it does not use CNI. */
function hasOwnNetwork({ confDir }: RuntimeSettings, { answer }: RuntimeAnswers): boolean {
  if (confDir !== undefined || 'problem' in answer) return false;
  return answer.value.conditions.some(({ type, status }) => type === 'NetworkReady' && status);
}

async function settingsInFile(runtimeName: string): Promise<RuntimeSettings> {
  if (runtimeName === 'cri-o') return {};
  const text = await textOf(CONTAINERD_FILE);
  if ('problem' in text) return {};
  try {
    return settingsOfFile(parseToml(text.value));
  } catch {
    // containerd says at its start what is wrong with the file.
    return {};
  }
}

async function driverFacts(
  { node, given }: StateletConfig,
  { driver }: RuntimeAnswers,
  runtime: { readonly name: string; readonly settings: RuntimeSettings; readonly isInStatus: boolean },
): Promise<DriverFacts> {
  const { name, settings, isInStatus } = runtime;
  const saidBy = isInStatus ? 'Status' : 'file';
  const said = settings.driver && ({ driver: settings.driver, saidBy } as const);
  const isFlag = given.flags.cgroupDriver !== undefined;
  const file = given.flags.config;
  return {
    configured: node.cgroupDriver,
    configuredIn: isFlag ? '--cgroup-driver' : file === undefined ? 'the default' : `cgroupDriver of ${file}`,
    runtime: driver
      ? { driver: driver === 'SYSTEMD' ? 'systemd' : 'cgroupfs', saidBy: 'RuntimeConfig' }
      : said,
    runtimeName: name,
    runtimeFile: name === 'cri-o' ? CRIO_FILE : CONTAINERD_FILE,
    systemd: await systemdFacts(),
  };
}

async function cniFacts({ confDir = CONF_DIR, binDirs = BIN_DIRS }: RuntimeSettings): Promise<CNIFacts> {
  const names = mapped(await reading(readdir(confDir)), (all) =>
    all
      .filter((name) => /\.(?:conf|conflist|json)$/u.test(name))
      .sort()
      .slice(0, FILES_MAX),
  );
  const files = await Promise.all(
    valueOr(names, []).map(async (name) => ({ name, text: await textOf(join(confDir, name)) })),
  );
  const programs = await Promise.all(binDirs.map(programsIn));
  return { confDir, binDirs, files: mapped(names, () => files), programs: programs.flat() };
}

/** The runtime itself reads only the first one. */
const FILES_MAX = 100;

async function programsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const are = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (stats) => stats.isFile() && (stats.mode & 0o111) !== 0,
        () => false,
      ),
    ),
  );
  return names.filter((_, index) => are[index]);
}

async function securityFacts(
  cgroupVersion: 1 | 2,
  runtimeLabels: boolean | undefined,
): Promise<NonNullable<DoctorFacts['containers']>['security']> {
  const { appArmor, selinux } = await readMachineFacts(cgroupVersion);
  const parsers = await Promise.all(PARSERS.map((path) => stat(path).catch(() => undefined)));
  const enforce = valueOr(await kernelText('/sys/fs/selinux/enforce'), '0').trim();
  return {
    appArmor,
    hasParser: parsers.some((stats) => stats?.isFile() === true),
    selinux: selinux ? (enforce === '1' ? 'enforcing' : 'permissive') : 'off',
    runtimeLabels,
  };
}

const PATIENCE_MS = 5_000;

export interface RuntimeAnswers {
  readonly answer: Reading<RuntimeAnswer>;
  /** Of a verbose Status; empty where the runtime does not answer. */
  readonly info: Readonly<Record<string, string>>;
  /** Of RuntimeConfig; undefined before containerd 2 and CRI-O 1.28. */
  readonly driver: 'SYSTEMD' | 'CGROUPFS' | undefined;
  /** Undefined where the runtime does not answer. */
  hasImage(image: string): Promise<boolean | undefined>;
  close(): void;
}

/** `endpoint`: `unix:///PATH`. */
export async function askRuntime(endpoint: string, imageEndpoint = ''): Promise<RuntimeAnswers> {
  const socket = await reading(connected(endpoint.slice('unix://'.length)));
  if ('problem' in socket) {
    return {
      answer: socket,
      info: {},
      driver: undefined,
      hasImage: () => Promise.resolve(undefined),
      close: () => undefined,
    };
  }
  const channel = new Channel(endpoint);
  const images = imageEndpoint === '' ? channel : new Channel(imageEndpoint);
  const options = { timeoutMs: PATIENCE_MS };
  const answers = await reading(
    Promise.all([channel.call(VERSION, {}, options), channel.call(STATUS, { verbose: true }, options)]),
  );
  const driver = await channel.call(RUNTIME_CONFIG, {}, options).then(
    ({ linux }) => linux?.cgroupDriver,
    () => undefined,
  );
  return {
    ...('value' in answers ? answerOf(...answers.value) : { answer: answers, info: {} }),
    driver,
    hasImage: (image) =>
      images.call(IMAGE_STATUS, { image: { image, annotations: {}, userSpecifiedImage: '' } }, options).then(
        (status) => status.image !== undefined,
        () => undefined,
      ),
    close: () => {
      channel.close();
      images.close();
    },
  };
}

interface VersionAnswer {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
}

interface StatusAnswer {
  readonly status?: { readonly conditions: readonly { readonly type: string }[] };
  readonly info?: Readonly<Record<string, string>>;
}

function answerOf(
  { runtimeName, runtimeVersion }: VersionAnswer,
  { status, info = {} }: StatusAnswer,
): Pick<RuntimeAnswers, 'answer' | 'info'> {
  const conditions = (status?.conditions ?? []) as readonly RuntimeCondition[];
  return { answer: { value: { name: runtimeName, version: runtimeVersion, conditions } }, info };
}

/** gRPC would hide what the system says of the socket. */
function connected(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
