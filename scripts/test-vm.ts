/**
 * The ten commands of examples/systemd on a Debian 13 of its own, and what follows from them: limits, OOM, eviction, logs, exec, restarts,
 * a shutdown. The machine is emulated by QEMU without KVM, which takes about an hour. Exit code 1: a step has failed.
 *
 * node scripts/test-vm.ts [--folder DIR]
 */
import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { makeDisk } from './vm/make-disk.ts';
import { runProgram } from './package/run-program.ts';
import { MANIFEST } from './package/stage-archive.ts';

const { values } = parseArgs({
  options: { folder: { type: 'string', default: join(homedir(), '.cache/statelet-vm') } },
});
const folder = resolve(values.folder);
const MEMORY = '3G';
const STEPS_END = '=== END';

mkdirSync(folder, { recursive: true });
const own = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'package-deb.ts')];
await runProgram(process.execPath, [...own, '--destination', folder, '--compression', 'gzip']);
const disk = await makeDisk(folder, join(folder, `statelet_${MANIFEST.version}_amd64.deb`));

const machine = spawn(
  'qemu-system-x86_64',
  ['-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', 'max,la57=off', '-smp', '2', '-m', MEMORY]
    .concat(['-kernel', disk.kernel, '-initrd', disk.initrd])
    .concat(['-append', 'root=/dev/vda rw console=ttyS0 quiet systemd.show_status=0'])
    .concat(['-drive', `file=${disk.image},format=raw,if=virtio,cache=unsafe`])
    .concat(['-nic', 'none', '-nographic']),
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const transcript = createWriteStream(join(folder, 'transcript.txt'));
const lines: string[] = [];
for await (const line of createInterface(machine.stdout)) {
  console.log(line);
  transcript.write(`${line}\n`);
  lines.push(line);
}
const failed = lines.filter((line) => line.includes('=== FAILED'));
const hasEnded = lines.some((line) => line.includes(STEPS_END));
console.log(`${lines.filter((line) => line.includes('=== ok')).length} steps held, ${failed.length} failed`);
if (failed.length > 0 || !hasEnded) process.exitCode = 1;
