/** Builds `dist/` from `src/`. The validator of pods is generated first: compiling it at every start would cost 0.2 s. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generatePodValidator } from './generate-pod-validator.ts';

const path = (relative: string) => fileURLToPath(new URL(`../${relative}`, import.meta.url));

generatePodValidator();
execFileSync(process.execPath, [path('node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
  cwd: path('.'),
  stdio: 'inherit',
});
// tsc has read only its declaration.
mkdirSync(path('dist/generated'), { recursive: true });
copyFileSync(path('src/generated/pod-validator.js'), path('dist/generated/pod-validator.js'));
