/** `statelet completion`: scripts by which shells ask this program what may be typed next. */
import type { Command } from 'commander';
import { podsOf } from './chosen-pod.ts';
import { type Candidate, completions, type ObjectName } from './complete.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import { type DaemonConnection, withDaemon } from './daemon-connection.ts';
import { kindOf, type ObjectType } from './named-objects.ts';
import { COMPLETE, type Shell } from './shells.ts';

/** Short, since a person waits at the keyboard. */
const ANSWER_MS = 1_000;

export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}

/** One candidate a line: the word, a tab, and what it means. Empty where the shell should offer files. */
export async function completionLines(root: Command, words: readonly string[]): Promise<string> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const ask = <T>(rootDir: string | undefined, use: (daemon: DaemonConnection) => Promise<readonly T[]>) =>
    withDaemon(rootDir === undefined ? {} : { rootDir }, use, signal).catch((): readonly T[] => []);
  const found = await completions(root, words, {
    pods: (rootDir) => ask(rootDir, (daemon) => podsOf(daemon, signal)),
    names: (type, rootDir) => ask(rootDir, (daemon) => namesOf(daemon, type, signal)),
  });
  return found.map(lineOf).join('');
}

async function namesOf(
  daemon: DaemonConnection,
  type: ObjectType,
  signal: AbortSignal,
): Promise<readonly ObjectName[]> {
  if (type === 'nodes') {
    const { metadata } = await daemon.json<{ readonly metadata: ObjectName }>('/node', { signal });
    return [metadata];
  }
  const { items } = await daemon.json<{ readonly items: readonly NamedObject[] }>('/objects', { signal });
  return items.flatMap(({ kind, metadata }) => (kind === kindOf(type) ? [metadata] : []));
}

interface NamedObject {
  readonly kind: string;
  readonly metadata: ObjectName;
}

function lineOf({ value, description }: Candidate): string {
  return `${oneLine(value)}\t${oneLine(description)}\n`;
}

const BASH = `# bash completion for statelet: source <(statelet completion bash)
_statelet() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" ${COMPLETE} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _statelet statelet
`;

const ZSH = `#compdef statelet
# zsh completion for statelet: source <(statelet completion zsh)
_statelet() {
  local line
  local -a candidates
  for line in "\${(@f)$("\${words[1]}" ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#candidates} )); then
    _describe 'statelet' candidates
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _statelet ]]; then
  _statelet "$@"
else
  compdef _statelet statelet
fi
`;

const FISH = `# fish completion for statelet: statelet completion fish | source
function __statelet_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l candidates ($before[1] ${COMPLETE} -- $before[2..-1] "$current" 2>/dev/null)
  if set -q candidates[1]
    string join \\n $candidates
  else
    __fish_complete_path "$current"
  end
end
complete -c statelet -f -a '(__statelet_complete)'
`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
