import all from './jest.config.js';

/** Folders whose tests start processes or containers, or take long. */
const FOLDERS = [
  'commands',
  'compare',
  'daemon',
  'doctor',
  'e2e',
  'eviction-plugin-kit',
  'runtime/cgroups',
  'runtime/cri',
  'runtime/garbage',
  'runtime/images',
  'runtime/logs',
  'runtime/node',
  'runtime/pleg',
  'runtime/pods',
  'runtime/process',
  'runtime/volumes',
  'scripts',
  'simulation/races',
  'simulation/seeds',
  'support',
];

/** Such tests in other folders. */
const FILES = [
  'actors/.*-on-control-plane',
  'actors/(measured-pods|races|supervisor|probes/probe-story)',
  'actors/cluster/(mirrors-and-events|node-credentials|node-in-cluster)',
  'actors/start/(preemptions|room-arbiter)',
  'cluster/client/(answer-times|dial|http2-connection|open-api-clients|real-api-server|wrong-certificates)',
  'cluster/credentials/(load-kubeconfig|self-signed-store|signing-request)',
  'cluster/(objects/real-tokens|reviews/reviews|watches/reflect-on-faulty-server)',
  'config/documentation',
  'daemon',
  'lint',
  'package',
  'systemd-example',
  'paths/embedded',
  'plugins/built-in/real-processes',
  'runtime/probes/(http-get|prober)',
  'runtime/shutdown/shutdown-watch',
  'server/(endpoints|inspector-page|open-logger)',
  'server/routes/system-log(s|-queries)',
  'server/ui/page-server',
  'simulation/(simulation|api/api-contract)',
  'sources/(api-source-real-server|file-source)',
  'sources/manifests/manifest-yaml',
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
