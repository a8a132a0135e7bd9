/** Suites that need Debian's own Python, with gRPC. */
import { execFileSync } from 'node:child_process';
import { beforeAll, describe } from '@jest/globals';
import { installPythonGrpc } from './containerd/packages.ts';

const PYTHON = '/usr/bin/python3';

/** Without gRPC, and without the right to install it, the suite is skipped, and stderr says so. */
export function describeWithPython(name: string, suite: (python: string) => void): void {
  const canRun = hasGrpc() || process.geteuid?.() === 0;
  if (!canRun)
    process.stderr.write(
      `\nSKIPPED, NOTHING PROVED: "${name}" needs gRPC for Python (apt-get install python3-grpcio).\n`,
    );
  (canRun ? describe : describe.skip)(name, () => {
    beforeAll(async () => {
      if (!hasGrpc()) await installPythonGrpc();
    });
    suite(PYTHON);
  });
}

function hasGrpc(): boolean {
  try {
    execFileSync(PYTHON, ['-c', 'import grpc, google.protobuf'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
