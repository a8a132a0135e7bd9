/** How a machine is known, and which operating system it runs: for the node's status. */
import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { readProvidedFile } from '../../system/files/foreign-file.ts';
import { meminfoBytes } from '../stats/kernel-text.ts';

export interface NodeInfo {
  /** Empty where the machine has none. */
  readonly machineID: string;
  readonly systemUUID: string;
  /** Another one after each boot. */
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** 0: the machine has no swap. */
  readonly swapBytes: number;
}

const MACHINE_ID = ['etc/machine-id', 'var/lib/dbus/machine-id'];
/** From the firmware; on machines without such, from what stands in its place. */
const SYSTEM_UUID = [
  'sys/class/dmi/id/product_uuid',
  'proc/device-tree/system-id',
  'proc/device-tree/vm,uuid',
  'etc/machine-id',
];
const BOOT_ID = ['proc/sys/kernel/random/boot_id'];
const OS_RELEASE = ['etc/os-release', 'usr/lib/os-release'];

/** Where a file cannot be read, the field is empty. `root`: where `/etc`, `/proc` and `/sys` are. */
export async function readNodeInfo(root = '/'): Promise<NodeInfo> {
  const [machineID, systemUUID, bootID, osRelease, memory] = await Promise.all(
    [MACHINE_ID, SYSTEM_UUID, BOOT_ID, OS_RELEASE, ['proc/meminfo']].map((paths) =>
      firstReadable(root, paths),
    ),
  );
  return {
    machineID: machineID ?? '',
    systemUUID: systemUUID ?? '',
    bootID: bootID ?? '',
    kernelVersion: release(),
    osImage: prettyName(osRelease ?? ''),
    swapBytes: meminfoBytes(memory ?? '', 'SwapTotal'),
  };
}

/** The text of the first file that can be read and is not empty, without zero bytes and blanks around it. */
async function firstReadable(root: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = await textOf(join(root, path)).catch(() => '');
    const trimmed = text.replaceAll('\0', '').trim();
    if (trimmed !== '') return trimmed;
  }
  return '';
}

/** Files of the kernel say nothing of their size, and all of these end. */
function textOf(path: string): Promise<string> {
  return /^\/(?:proc|sys)\//.test(path) ? readFile(path, 'utf8') : readProvidedFile(path);
}

/** `PRETTY_NAME` of an os-release file. */
function prettyName(text: string): string {
  const name = /^PRETTY_NAME=(.*)$/m
    .exec(text)?.[1]
    ?.trim()
    .replace(/^(["'])(.*)\1$/, '$2');
  return name ?? 'Linux';
}
