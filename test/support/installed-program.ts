import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether the machine has the program. If not, stderr says so, since tests that need it are skipped. */
export function installedProgram(name: string): boolean {
  const has = (process.env.PATH ?? '').split(delimiter).some((folder) => isProgram(join(folder, name)));
  if (!has) process.stderr.write(`${name} is not installed: its tests are skipped\n`);
  return has;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
