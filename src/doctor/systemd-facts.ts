/** Whether systemd runs here, and whether it takes calls of this user. */
import { stat } from 'node:fs/promises';
import type { SystemdFacts } from './policies/driver-findings.ts';
import type { Reading } from './policies/finding.ts';
import { SYSTEMD_PLACES } from '../agent/runtime/cgroups/cgroup-drivers.ts';
import { DBusConnection } from '../system/dbus/dbus-connection.ts';
import { errorMessage } from '../types/errors.ts';

const PATIENCE_MS = 5_000;

interface SystemdPlaces {
  /** The folder that systemd makes when it starts as process 1. */
  readonly booted?: string;
  /** Where it takes calls: its own socket, for root, and that of the message bus. One of them is enough. */
  readonly sockets?: readonly string[];
}

export async function systemdFacts({
  booted = SYSTEMD_PLACES.booted,
  sockets = Object.values(SYSTEMD_PLACES.sockets),
}: SystemdPlaces = {}): Promise<SystemdFacts> {
  const isRunning = await stat(booted).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  let bus: Reading<true> = { problem: 'there is no socket', isForbidden: false };
  for (const path of isRunning ? sockets : []) {
    bus = await takesCalls(path);
    if ('value' in bus) break;
  }
  return { isRunning, bus };
}

async function takesCalls(path: string): Promise<Reading<true>> {
  const nothing = () => undefined;
  try {
    const options = { path, patienceMs: PATIENCE_MS, onSignal: nothing, onClosed: nothing };
    (await DBusConnection.open(options)).close();
    return { value: true };
  } catch (error) {
    const problem = errorMessage(error);
    return { problem, isForbidden: /EACCES|EPERM/u.test(problem) };
  }
}
