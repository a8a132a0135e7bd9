/** For `npm run test:quick`: a test that starts a process fails. */
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

const STARTS = ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'] as const;

function refuse(): never {
  throw new Error('npm run test:quick starts no processes: name this test in jest.quick.config.js');
}

for (const name of STARTS) Object.assign(childProcess, { [name]: refuse });
syncBuiltinESMExports();
