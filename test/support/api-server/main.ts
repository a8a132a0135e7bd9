/** The program of the double: `node main.ts CONFIG.json` serves until it is ended. */
import { readFileSync } from 'node:fs';
import type { DoubleOptions } from './context.ts';
import { startControllers } from './controllers/controllers.ts';
import { DoubleServer } from './server.ts';

const [file = ''] = process.argv.slice(2);
const options = JSON.parse(readFileSync(file, 'utf8')) as DoubleOptions;
const server = new DoubleServer(options);
startControllers(server, options);
await server.listen();
