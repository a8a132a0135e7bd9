/** `statelet demo`: the first minute. Copies the examples of this package, and runs them. `npm start` runs those of a checkout where they are. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OWN_FOLDER, rootFolder } from '../agent/config/root-folder.ts';
import { makeFolder } from '../system/make-folder.ts';
import { errnoCode } from '../system/system-errors.ts';
import { print } from '../system/terminal.ts';
import { errorMessage, invalid, StateletError } from '../types/errors.ts';
import { ownFile } from '../version.ts';
import { run } from './run.ts';

export interface DemoFlags {
  readonly rootDir?: string;
  readonly hostnameOverride?: string;
}

/** Resolves as `run` does. Rejects with `InvalidArgument` where the folder cannot be used. */
export async function demo(folder: string, { rootDir, hostnameOverride }: DemoFlags): Promise<void> {
  const found = rootFolder(rootDir);
  if (found.passedOver !== undefined)
    throw invalid(`${found.passedOver}\ngive a --root-dir, or go to another folder`);
  if (await copyExamples(folder))
    print(`The manifests are in ${folder}: change one, copy one, remove one, and its pod follows.\n`);
  await run({
    pods: [folder],
    // The default one is that of the machine, or of the user: a demo leaves nothing there.
    rootDir: found.isDefault ? resolve(OWN_FOLDER) : found.path,
    healthzPort: 'auto',
    ui: { host: '127.0.0.1', port: 0 },
    live: true,
    exitWithPods: true,
    hostnameOverride,
  });
}

/** Existing files are left unchanged: the user may have edited them. Resolves to whether one was not there. */
async function copyExamples(folder: string): Promise<boolean> {
  const examples = ownFile('examples/pods');
  let isNew = false;
  try {
    await makeFolder(folder);
    for (const name of await readdir(examples)) {
      const content = await readFile(join(examples, name));
      try {
        await writeFile(join(folder, name), content, { flag: 'wx' });
        isNew = true;
      } catch (error) {
        if (errnoCode(error) !== 'EEXIST') throw error;
      }
    }
    return isNew;
  } catch (error) {
    throw new StateletError(
      'InvalidArgument',
      `cannot copy ${examples} to ${folder}: ${errorMessage(error)}`,
      {
        cause: error,
      },
    );
  }
}
