import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { resolveConfig } from '../../src/agent/config/config.ts';
import { cgroupFacts } from '../../src/doctor/cgroup-facts.ts';
import { cgroupFindings } from '../../src/doctor/policies/cgroup-findings.ts';
import { PlainCgroups } from '../agent/runtime/cgroups/cgroup-bed.ts';

let plain: PlainCgroups;
beforeEach(() => {
  plain = new PlainCgroups();
});
afterEach(() => plain.remove());

const ALL = 'cpuset cpu io memory hugetlb pids';
async function findings(flags: Readonly<Record<string, unknown>> = {}) {
  const config = resolveConfig({ hostnameOverride: 'node', ...flags });
  return cgroupFindings(await cgroupFacts(config, plain.mountinfoFile));
}

test('a v2 tree is read with its controllers', async () => {
  plain.mountV2(ALL);
  expect(await findings()).toMatchObject([{ status: 'ok', message: expect.stringContaining('memory') }]);
});

test('a controller that the file does not list is named with the file', async () => {
  plain.mountV2('cpu io cpuset pids');
  const file = plain.path('v2/cgroup.controllers');
  expect(await findings()).toMatchObject([{ status: 'error', message: `${file} does not list memory` }]);
});

test('a group that is missing is named in each hierarchy', async () => {
  plain.mountV2(ALL);
  expect(await findings({ cgroupRoot: '/none' })).toMatchObject([
    { mend: `mkdir -p ${plain.path('v2/none')}` },
  ]);
});

test('a read-only mount is seen', async () => {
  plain.mountV2(ALL);
  const text = readFileSync(plain.mountinfoFile, 'utf8');
  writeFileSync(plain.mountinfoFile, text.replaceAll(' rw', ' ro'));
  expect(await findings()).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining(`${plain.path('v2')} is mounted read-only`) }),
  );
});
