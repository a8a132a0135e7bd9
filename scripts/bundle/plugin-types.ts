/** The types of `statelet/eviction-plugin` for the published package, made from its sources. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** In this order they become one file: the second one has the exports of the package, with types of the first. */
const SOURCES = ['plugin-api.ts', 'eviction-plugin-kit.ts'];
const BETWEEN_THEM = /^(?:import|export) (?:type )?(?:\{[^}]*\}|\*) from '.*';\n/gmu;

export function pluginTypes(root: string): string {
  const folder = join(root, 'src/eviction-plugin-kit');
  return SOURCES.map((name) => declarations(join(folder, name))).join('\n');
}

/** Throws when a type would have to be inferred, or refers to another file. */
function declarations(file: string): string {
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(readFileSync(file, 'utf8'), {
    fileName: file,
    reportDiagnostics: true,
    compilerOptions: { isolatedDeclarations: true, declaration: true, verbatimModuleSyntax: true },
  });
  const text = outputText.replaceAll(BETWEEN_THEM, '');
  const problem = diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))[0];
  if (problem !== undefined) throw new Error(`${file}: ${problem}`);
  if (/^(?:import|export .*from) /mu.test(text)) throw new Error(`${file}: its types refer to other files`);
  return text;
}
