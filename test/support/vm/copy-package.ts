/** Builds the Debian package of this checkout, and copies it to where root of a virtual machine logs in. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { VirtualMachine } from './virtual-machine.ts';

const run = promisify(execFile);

export async function copyPackage(machine: VirtualMachine): Promise<void> {
  const { dir } = machine;
  await run('npm', ['run', 'package:deb', '--', '--destination', dir, '--compression', 'none']);
  const deb = readdirSync(dir).find((name) => name.endsWith('.deb'));
  if (deb === undefined) throw new Error(`npm run package:deb has made no package in ${dir}`);
  await machine.copyIn(join(dir, deb), `/root/${deb}`);
}
