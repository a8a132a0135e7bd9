import all from './jest.config.js';

/** Folders whose tests start processes or containers, or take long. */
const FOLDERS = [
  'commands',
  'compare',
  'run/daemon',
  'doctor',
  'e2e',
  'eviction-plugin-kit',
  'agent/runtime/cgroups',
  'agent/runtime/cri',
  'agent/runtime/garbage',
  'agent/runtime/images',
  'agent/runtime/logs',
  'agent/runtime/node',
  'agent/runtime/pleg',
  'agent/runtime/pods',
  'embedded',
  'agent/runtime/volumes',
  'scripts',
  'simulation/races',
  'simulation/seeds',
  'support',
];

/** Such tests in other folders. */
const FILES = [
  'agent/actors/.*-on-control-plane',
  'agent/actors/(measured-pods|races|supervisor|probes/probe-story)',
  'agent/actors/cluster/(mirrors-and-events|node-credentials|node-in-cluster)',
  'agent/actors/start/(preemptions|room-arbiter)',
  'agent/cluster/client/(answer-times|dial|http2-connection|open-api-clients|real-api-server|wrong-certificates)',
  'agent/cluster/credentials/(load-kubeconfig|self-signed-store|signing-request)',
  'agent/cluster/(objects/real-tokens|reviews/reviews|watches/reflect-on-faulty-server)',
  'agent/config/documentation',
  'run/daemon',
  'lint',
  'package',
  'systemd-example',
  'paths/embedded',
  'agent/plugins/built-in/real-processes',
  'agent/runtime/probes/(http-get|prober)',
  'agent/runtime/shutdown/shutdown-watch',
  'agent/server/(endpoints|inspector-page|open-logger)',
  'agent/server/routes/system-log(s|-queries)',
  'page/server/page-server',
  'simulation/(simulation|api/api-contract)',
  'agent/sources/(api-source-real-server|file-source)',
  'agent/sources/manifests/manifest-yaml',
  'system/(end-process|file-lock|plain-file|replace-file|run-command|service-manager)',
  'system/files/(foreign-file|remove-tree)',
  'vectors',
];

/** `npm run test:quick`: the tests that start no process and no container. */
export default {
  ...all,
  setupFiles: ['<rootDir>/scripts/jest/no-processes.ts'],
  testPathIgnorePatterns: [
    ...all.testPathIgnorePatterns,
    ...FOLDERS.map((folder) => `<rootDir>/test/${folder}/`),
    ...FILES.map((file) => `<rootDir>/test/${file}\\.test\\.ts$`),
  ],
};
