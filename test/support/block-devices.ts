/** Block devices of the machine for tests: loop devices of files. */
import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';

/** Of 1 MiB, which begins with the text. */
export function makeBlockDevice(image: string, text: string): string {
  writeFileSync(image, text);
  truncateSync(image, 2 ** 20);
  return execFileSync('losetup', ['-f', '--show', image], { encoding: 'utf8' }).trim();
}

/** The loop devices of files in the folder, with the files. */
export function loopsBelow(folder: string): readonly { readonly device: string; readonly file: string }[] {
  const rows = execFileSync('losetup', ['-n', '-O', 'NAME,BACK-FILE'], { encoding: 'utf8' }).split('\n');
  const loops = rows.map((row) => {
    const [device = '', ...file] = row.trim().split(/ +/u);
    return { device, file: file.join(' ') };
  });
  return loops.filter(({ file }) => file.startsWith(`${folder}/`));
}

/** For the end of a test: also removes devices that an agent has left. Devices that others use go last. */
export function removeBlockDevices(folder: string): void {
  for (const { device } of [...loopsBelow(folder)].reverse()) {
    try {
      execFileSync('losetup', ['-d', device], { stdio: 'pipe' });
    } catch (error) {
      // One that was let go while another process had it open has gone meanwhile.
      if (loopsBelow(folder).some((left) => left.device === device)) throw error;
    }
  }
}
