import { join } from 'node:path';
import { build, type BuildOptions, type OutputOptions, type RolldownOutput } from 'rolldown';
import { leanHttp } from './lean-http.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Which programs are made, in the folder `dir`. */
export interface Bundle {
  /** The sources by the name of the program; their paths may be relative to the repository. */
  readonly programs: Readonly<Record<string, string>>;
  readonly dir: string;
  /** How the programs are divided into files. By default each is one file. */
  readonly codeSplitting?: OutputOptions['codeSplitting'];
  /** Packages that are not bundled. Default: none. */
  readonly external?: readonly string[];
  /** Expressions that are replaced. */
  readonly define?: Readonly<Record<string, string>>;
  /** `names`: names become short, too, which nobody can read in a stack trace. Default: nothing. */
  readonly shorten?: 'white space' | 'names';
  readonly platform?: 'browser' | 'node';
  /** The extension of the programs. Default: `js`. */
  readonly extension?: 'js' | 'mjs';
}

/** Bundles programs with the libraries that they use. Returns the files that went into them: paths from the repository. */
export async function bundle(wanted: Bundle): Promise<readonly string[]> {
  // What such a program exports is imported by nothing.
  if (wanted.codeSplitting !== undefined) {
    return filesOf(await build({ ...optionsOf(wanted, wanted.programs), preserveEntrySignatures: false }));
  }
  const files: string[] = [];
  for (const [name, source] of Object.entries(wanted.programs)) {
    files.push(...filesOf(await build(optionsOf(wanted, { [name]: source }))));
  }
  return files;
}

function optionsOf(wanted: Bundle, input: Readonly<Record<string, string>>): BuildOptions {
  const { dir, codeSplitting = false, external = [], define = {}, shorten } = wanted;
  const { platform = 'node', extension = 'js' } = wanted;
  const isForNode = platform === 'node';
  return {
    cwd: ROOT,
    input: { ...input },
    platform,
    external: [...external],
    plugins: isForNode ? [leanHttp] : [],
    // The form of rxjs in modules, of which unused ones are left out. The form for `require` would be bundled as a whole.
    resolve: { alias: { rxjs: join(ROOT, 'node_modules/rxjs/dist/esm/index.js') } },
    transform: { target: isForNode ? 'node22.19' : 'es2023', define },
    // A dynamic import may be there for the order in which things are loaded.
    checks: { ineffectiveDynamicImport: false },
    output: {
      dir,
      codeSplitting,
      format: 'esm',
      entryFileNames: `[name].${extension}`,
      // Flat: a path relative to a file of the folder is the same from all of them.
      chunkFileNames: '[name]-[hash].js',
      comments: { legal: true, annotation: false, jsdoc: false },
      minify: shorten !== undefined && {
        compress: shorten === 'names',
        mangle: shorten === 'names',
        codegen: { removeWhitespace: true },
      },
    },
  };
}

function filesOf({ output }: RolldownOutput): readonly string[] {
  return output
    .flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    .filter((id) => id.startsWith(`${ROOT}/`))
    .map((id) => id.slice(ROOT.length + 1));
}
