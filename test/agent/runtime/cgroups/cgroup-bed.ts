import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PodCgroups, type PodCgroupsParts } from '../../../../src/agent/runtime/cgroups/pod-cgroups.ts';
import type { Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import { testContext } from '../../../support/test-context.ts';

type Amounts = Record<string, string>;

/** A pod of one container. */
export function podOf(uid: string, requests: Amounts = {}, limits: Amounts = {}): Pod {
  const spec: PodSpec = { containers: [{ name: 'c', image: 'i', resources: { requests, limits } }] };
  return { metadata: { name: uid, namespace: 'ns', uid }, spec };
}

export function openCgroups(
  parts: Partial<PodCgroupsParts>,
  context: Partial<AgentContext> = {},
): Promise<PodCgroups> {
  return PodCgroups.open(
    { ...testContext(), ...context },
    {
      cgroupRoot: '/',
      podPidsLimit: -1,
      cpuCFSQuota: true,
      cpuCFSQuotaPeriodUs: 100_000,
      ...parts,
    },
  );
}

/** Plain folders and files, laid out like mounted cgroups. The mount point has a space in its name. */
export class PlainCgroups {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet cgroups-'));
  readonly mountinfoFile = join(this.dir, 'mountinfo');

  /** One v2 tree. */
  mountV2(controllers: string): void {
    this.#mount('v2', 'cgroup2', '');
    writeFileSync(join(this.dir, 'v2', 'cgroup.controllers'), `${controllers}\n`);
  }

  /** v1 hierarchies, each named after its controllers. */
  mountV1(...hierarchies: string[]): void {
    for (const controllers of hierarchies) this.#mount(controllers, 'cgroup', `,${controllers}`);
  }

  path(...parts: string[]): string {
    return join(this.dir, ...parts);
  }

  read(...parts: string[]): string {
    return readFileSync(this.path(...parts), 'utf8');
  }

  /** File names and contents of a folder. */
  values(...parts: string[]): Record<string, string> {
    const entries = readdirSync(this.path(...parts), { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return Object.fromEntries(files.map(({ name }) => [name, this.read(...parts, name)]));
  }

  /** Removes the files of a cgroup: in a plain folder they would prevent its removal, in a real cgroup they do not. */
  dropFiles(...parts: string[]): void {
    for (const name of Object.keys(this.values(...parts))) rmSync(this.path(...parts, name));
  }

  remove(): void {
    rmSync(this.dir, { recursive: true });
  }

  #mount(name: string, type: string, options: string): void {
    const mountPoint = this.path(name);
    mkdirSync(mountPoint, { recursive: true });
    const line = `30 20 0:30 / ${mountPoint.replaceAll(' ', '\\040')} rw - ${type} ${type} rw${options}\n`;
    mkdirSync(dirname(this.mountinfoFile), { recursive: true });
    writeFileSync(this.mountinfoFile, line, { flag: 'a' });
  }
}
