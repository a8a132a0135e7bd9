/** `node bundle-program.ts SOURCE OUTFILE URL`: a program as one file, in which `import.meta.url` is this URL. */
import { basename, dirname } from 'node:path';
import { bundle } from './bundle.ts';

const [source, outfile, url] = process.argv.slice(2);
if (source === undefined || outfile === undefined || url === undefined)
  throw new Error('bundle-program.ts needs a source, an output file and a URL');
await bundle({
  programs: { [basename(outfile, '.mjs')]: source },
  dir: dirname(outfile),
  extension: 'mjs',
  define: { 'import.meta.url': JSON.stringify(url) },
});
