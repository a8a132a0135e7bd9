/** `node janitor.ts <dir>` cleans up the containerd of a test that was killed. */
import { wipe } from './wipe.ts';

await wipe(process.argv[2] ?? '');
